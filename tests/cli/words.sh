#!/bin/sh
# Words that the texts for users do not have: help, man pages, the page's scripts, README, docs outside of code, string literals of the source.
# Areas that still have some are listed with their number of hits, which may only fall.
. "$(dirname "$0")/common.sh"
command -v python3 >/dev/null || skip 'python3 is not installed'

mkdir "$scratch/help"
"$tool" --help >"$scratch/help/fathom" 2>&1
for verb in $("$tool" --complete); do
	"$tool" "$verb" --help >"$scratch/help/$verb" 2>&1
done
cat >"$scratch/pending" <<'END'
END
cat >"$scratch/words.py" <<'END'
import pathlib, re, sys

source, help_texts, pending = map(pathlib.Path, sys.argv[1:4])
WORDS = re.compile(r"\b(?:told|tells?|of what|what is made of|hand(?:ed|ing) over|so many|so much|as much(?: as)?|whoever|nobody|somebody|by itself|the same of each|set aside|is none of)\b", re.I)


def literals(text):
    """String literals with their lines, neighbours joined; no comments, no names of included files."""
    token = re.compile(r'//[^\n]*|/\*.*?\*/|^[ \t]*#[ \t]*include[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|\s+|.', re.S | re.M)
    joined, first = [], 0
    for match in token.finditer(text):
        found = match.group()
        if found.startswith('"'):
            first = first if joined else match.start()
            joined.append(found[1:-1])
        elif joined and not found.isspace() and not found.startswith(("//", "/*")):
            yield text.count("\n", 0, first) + 1, "".join(joined)
            joined = []
    if joined:
        yield text.count("\n", 0, first) + 1, "".join(joined)


def prose(text):
    """Markdown without code, fenced or in the line."""
    return re.sub(r"`[^`\n]*`", " ", re.sub(r"^(```|~~~).*?^\1[^\n]*$", " ", text, flags=re.S | re.M))


def texts():
    for path in sorted(help_texts.iterdir()):
        yield f"help/{path.name}", path.read_text()
    for path in sorted(source.glob("man/*.1")):
        yield f"man/{path.name}", re.sub(r"\\f[A-Z]|^\.[A-Z]+ ", "", path.read_text(), flags=re.M)
    for path in sorted(source.glob("web/src/*.js")):
        yield f"web/src/{path.name}", re.sub(r"(^|\s)//[^\n]*", r"\1", path.read_text())
    for path in [source / "README.md", *sorted(source.glob("docs/*.md"))]:
        yield str(path.relative_to(source)), prose(path.read_text())
    for path in sorted(source.glob("src/**/*.[ch]")) + sorted(source.glob("src/**/*.def")):
        for line, literal in literals(path.read_text()):
            yield f"{path.relative_to(source)}:{line}", literal.replace("\\n", " ").replace('\\"', '"')


allowed = {area: int(number) for area, number in (line.split() for line in pending.read_text().splitlines())}
hits, places, failed = dict.fromkeys(allowed, 0), dict.fromkeys(allowed, ""), 0
read = set()
for place, text in texts():
    read.add(place.split("/")[0])
    for match in WORDS.finditer(" ".join(text.split())):
        joined = " ".join(text.split())
        shown = f"{place}: {joined[max(0, match.start() - 40):match.end() + 40]}"
        area = next((area for area in allowed if place.partition(":")[0] == area or place.startswith(f"{area}/")), None)
        if area is None:
            failed = 1
            print(f"'{match.group()}' in {shown}", file=sys.stderr)
        else:
            hits[area] += 1
            places[area] += f"\n  {shown}"
for area, number in hits.items():
    if number > allowed[area]:
        failed = 1
        print(f"{area}: {number} hits, more than the {allowed[area]} that are listed:{places[area]}", file=sys.stderr)
    elif number < allowed[area]:
        print(f"{area}: {number} hits are left; lower its number from {allowed[area]}")
if read != {"help", "man", "web", "README.md", "docs", "src"}:
    failed = 1
    print(f"not everything was read: only {sorted(read)}", file=sys.stderr)
sys.exit(failed)
END
holds python3 "$scratch/words.py" "$source" "$scratch/help" "$scratch/pending"
# the check finds what it is for: in a literal, but not in a comment or a name
mkdir -p "$scratch/tree/src" "$scratch/tree/man" "$scratch/tree/web/src" "$scratch/tree/docs"
touch "$scratch/tree/README.md" "$scratch/tree/man/a.1" "$scratch/tree/web/src/a.js"
# shellcheck disable=SC2016
printf '```\nnobody\n```\n`tell`\n' >"$scratch/tree/docs/a.md"
printf '/* nobody "tells" */\nint set_aside; // told\nputs("set_aside");\n' >"$scratch/tree/src/a.c"
holds python3 "$scratch/words.py" "$scratch/tree" "$scratch/help" /dev/null
printf 'puts("it is set "\n     "aside");\n' >>"$scratch/tree/src/a.c"
expect 1 "'set aside' in src/a.c:4" python3 "$scratch/words.py" "$scratch/tree" "$scratch/help" /dev/null
finish
