#!/usr/bin/env python3
"""Judges the clock of native rests: instructions that `fathom stat --overhead` estimates, against callgrind's count.

    clock.py FATHOM [--commands FILE] [--rounds 2] [--keep TRUTH.json] [--option --overhead=10% ...]

FILE has a shell command per line: programs that do the same each time, of a second or more. Callgrind takes 50 times as
long; --keep remembers its counts. Prints a row per command, then the median and the largest error."""
import argparse, json, os, re, statistics, subprocess, tempfile

COMMANDS = """\
gzip -1 -c {input} {input} {input} {input}
gzip -9 -c {input} {input} {input}
bzip2 -c {input} {input} {input}
xz -1 -c {input}
perl -e 'my %h; for my $i (0..15000000){$h{$i%50000}.="x"; } print scalar(keys %h)'
awk 'BEGIN{for(i=0;i<9000000;i++){s+=i%7; a[i%1000]=s} print s}'
"""


def silent(command, **more):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **more)


def truth(command, folder):
    log = os.path.join(folder, "log")
    silent(["sh", "-c", f"exec valgrind --tool=callgrind --callgrind-out-file=/dev/null --log-file={log} {command}"])
    return int(re.search(r"Collected : (\d+)", open(log).read()).group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fathom")
    parser.add_argument("--commands")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--keep")
    parser.add_argument("--option", action="append", default=[])
    arguments = parser.parse_args()
    known = json.load(open(arguments.keep)) if arguments.keep and os.path.exists(arguments.keep) else {}
    errors = []
    with tempfile.TemporaryDirectory() as folder:
        given = os.path.join(folder, "input")
        with open(given, "w") as file:
            for i in range(700000):
                file.write(f"{i * 7919 % 1000003:x} {i % 97}\n")
        for line in open(arguments.commands) if arguments.commands else COMMANDS.splitlines():
            line = line.strip()
            if not line or line.startswith("#"):
                continue
            command = line.replace("{input}", given)
            if line not in known:
                known[line] = truth(command, folder)
                if arguments.keep:
                    json.dump(known, open(arguments.keep, "w"), indent=1)
            seen = []
            for _ in range(arguments.rounds):
                out = os.path.join(folder, "stat.json")
                silent(["sh", "-c", f"exec {arguments.fathom} stat --json -o {out} {' '.join(arguments.option or ['--overhead=10%'])} -- {command}"])
                seen.append(json.load(open(out))["counts"]["instructions"]["value"] / known[line] - 1)
            errors += [abs(error) for error in seen]
            print(f"{line[:40]:40} {known[line] * 1e-9:8.3f} G  " + " ".join(f"{100 * error:+6.1f} %" for error in seen), flush=True)
    print(f"median {100 * statistics.median(errors):.1f} %, largest {100 * max(errors):.1f} % of {len(errors)}")


main()
