#!/usr/bin/env python3
"""How often verdicts are right, on generated programs whose cause is known: makes src/patterns/calibration.def, and judges it.

    confidence.py collect FATHOM --generator PROGRAM --seeds 1-99 --way exact|counters --machine machines/haswell-ep.machine --keep FILE
                  [--last BYTES] [--seconds 0.004] [--threads 2] [--work FOLDER] [--compiler gcc]
    confidence.py collect FATHOM --generator PROGRAM --seeds 1-99 --way windows --levels L1=…,L2=…,L3=… --seconds 1.2 --keep FILE
    confidence.py calibrate FILE... > src/patterns/calibration.def
    confidence.py calibrate-verdicts FILE... > src/patterns/verdicts.def
    confidence.py judge FILE...

collect runs programs of a set and keeps all verdicts with what is known of the program. calibrate counts, for each pattern, way of
measuring and verdict, by the distance from the threshold, how many were right: use set one (seeds 1 to 199). Doubtful verdicts, which
rest on simulated cycles that do not fit the program, are counted apart, and not by distance. Lines of ways that the files do not have
stay as they are. judge prints how often verdicts stated
with such a confidence were right, top cause only, and the doubtful ones among them: use set two, collected with the calibration in
place. Windows are of this machine: leave it alone.

A pattern that is present is right if its cause is accepted for the program, or for a phase that takes a fifth of the time. One that is
absent is wrong if its cause is the only one accepted for the program, or for a phase that stalls for three tenths of the time."""
import argparse, json, os, re, subprocess, sys, tempfile
from collections import defaultdict

INCLUDE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "include")
# metric's thresholds come with patterns.def
PATTERN = re.compile(r'PATTERN\("([^"]+)", (\w+), (\w+), ([0-9.]+), ([0-9.]+),')
BANDS = (0, 0.5, 1, 2)
SHARE, STALLED = 0.2, 0.3
CAUSES = {"bandwidth": ["bandwidth_{}"], "latency": ["latency_{}"], "tlb": ["translation"], "instruction-throughput": ["none"],
          "synchronisation": ["waiting", "sharing"], "false-sharing": ["sharing"], "core": ["compute", "branches", "front_end", "latency_L1"]}


def causes_of(name):
    """What is true if the pattern is present; nothing where the generator has no word for it."""
    pattern, _, level = name.partition(":")
    return {cause.format(level) for cause in CAUSES.get(pattern, [])}


def is_right(name, verdict, truth):
    """True, False, or None where the program does not tell."""
    causes = causes_of(name)
    if not causes:
        return None
    accepted = [truth["accept"]] + [phase["accept"] for phase in truth["phases"] if phase["share"] >= SHARE]
    if verdict == "present":
        return any(causes & set(accept) for accept in accepted)
    certain = [truth["accept"]] + [phase["accept"] for phase in truth["phases"] if phase["share"] * phase["stalled"] >= STALLED]
    if causes == {"none"}:
        return None
    return not any(causes >= set(accept) for accept in certain)


def patterns_def():
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "patterns", "patterns.def")
    return {name: (group, metric, float(present), float(absent))
            for name, group, metric, present, absent in PATTERN.findall(open(path).read())}


def is_doubtful(row, entry, patterns):
    """As patterns.c: what rests on simulated cycles, in a program that these do not fit."""
    group, metric, _, _ = patterns[entry["name"].partition(":")[0]]
    return bool(row.get("doubtful")) and metric != "waiting_share" and (group == "bottleneck" or metric == "throughput")


def distance_of(entry, patterns):
    _, _, present, absent = patterns[entry["name"].partition(":")[0]]
    figure = entry["metric"]
    if entry["verdict"] == "present":
        return abs(figure["low"] - present) / present
    return abs(figure["high"] - absent) / absent


def run_stat(arguments, program):
    options = {"exact": ["--timing"], "counters": ["--timing", "--counters", "simulated"], "windows": []}[arguments.way]
    if arguments.way != "windows":
        options += ["--machine", arguments.described, "--region", "work"]
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        done = subprocess.run([arguments.fathom, "stat", "--json", "-o", result.name, *options, "--", program],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, timeout=arguments.timeout)
        if done.returncode:
            raise RuntimeError((done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1])
        return json.load(open(result.name))


def collect_one(arguments, seed):
    made = subprocess.run([arguments.generator, "--seed", str(seed), "--levels", arguments.levels, "--seconds", str(arguments.seconds),
                           "--threads", str(arguments.threads), "--out", arguments.work, *arguments.core],
                          capture_output=True, text=True, check=True)
    path = os.path.join(arguments.work, made.stdout.strip())
    # simulated programs are short: to make their data takes as long as their work, which alone is what is known
    marked = [] if arguments.way == "windows" else ["-DWITH_REGION", "-I", INCLUDE]
    subprocess.run([arguments.compiler, "-O2", "-pthread", *marked, path + ".c", "-o", path, "-lm"], check=True, capture_output=True)
    root = run_stat(arguments, path)
    # what is too short for windows is seen by the emulator
    if arguments.way == "windows" and not (root.get("coverage") or {}).get("windows"):
        raise RuntimeError("no windows")
    return {"seed": seed, "way": arguments.way, "threads": arguments.threads, "truth": json.load(open(path + ".json")),
            "windows": (root.get("coverage") or {}).get("windows"), "doubtful": root.get("doubtful"), "patterns": [{name: entry.get(name) for name in ("name", "group", "verdict", "confidence", "metric")}
                         for entry in root["patterns"]], "verdict": {name: value for name, value in (root.get("verdict") or {}).items()
                                                                     if name in ("cause", "confidence", "share", "also")}}


def seeds_of(text):
    for one in text.split(","):
        first, _, last = one.partition("-")
        yield from range(int(first), int(last or first) + 1)


def collect(arguments):
    arguments.work = arguments.work or tempfile.mkdtemp(prefix="fathom-confidence-")
    os.makedirs(arguments.work, exist_ok=True)
    arguments.core = []
    if arguments.way != "windows":
        text = re.sub(r"(cache L3 .*?size=)\S+", rf"\g<1>{arguments.last}", open(arguments.machine).read())
        # formulas of the vendor are found by the machine's name
        arguments.described = os.path.join(arguments.work, os.path.basename(arguments.machine))
        open(arguments.described, "w").write(text)
        open(arguments.described.replace(".machine", ".events"), "w").write(open(arguments.machine.replace(".machine", ".events")).read())
        sizes = {name: re.search(rf"cache {name} .*?size=(\d+)(KiB)?", text) for name in ("L1", "L2", "L3")}
        arguments.levels = ",".join(f"{name}={int(found.group(1)) * (1024 if found.group(2) else 1)}" for name, found in sizes.items())
        arguments.core = ["--translations", "1024", "--gigahertz", "2.5"]
        # no formulas of `validate` are found there: these are of the machine with a larger last cache
        os.environ["XDG_DATA_HOME"] = os.path.join(arguments.work, "data")
    rows = json.load(open(arguments.keep)) if os.path.exists(arguments.keep) else []
    done = {(row["seed"], row["way"], row["threads"]) for row in rows}
    for seed in seeds_of(arguments.seeds):
        if (seed, arguments.way, arguments.threads) in done:
            continue
        try:
            rows.append(collect_one(arguments, seed))
        except (RuntimeError, subprocess.CalledProcessError, subprocess.TimeoutExpired) as reason:
            print(f"{seed}: {reason}", file=sys.stderr)
            rows.append({"seed": seed, "way": arguments.way, "threads": arguments.threads, "failed": str(reason)})
        json.dump(rows, open(arguments.keep, "w"))


def read(files):
    return [row for file in files for row in json.load(open(file))]


def way_of(row):
    """As confidence.h: several threads wait for each other, which cycles do not show."""
    return row["way"] + ("_threads" if row["threads"] > 1 else "")


def stated(count):
    """As confidence.c."""
    return (count[0] + 1) / (count[1] + 2)


def pool(counts):
    """A verdict farther from the threshold is not less certain: bands of which that would be stated, by chance or because there are fewer, are one."""
    pooled = {}
    for key in sorted(counts):
        pooled[key] = list(counts[key])
        while True:
            bands = sorted(other for other in pooled if other[:3] == key[:3])
            if len(bands) < 2 or stated(pooled[bands[-1]]) > stated(pooled[bands[-2]]):
                break
            for i in range(2):
                pooled[bands[-2]][i] += pooled[bands[-1]][i]
            del pooled[bands[-1]]
    return pooled


def lines_of_other_ways(ways):
    """Of the calibration in place: of what was not collected again."""
    text = open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "src", "patterns", "calibration.def")).read()
    programs = [(way, words) for words, way in re.findall(r"(\d+ \((\w+); \d+ doubtful\))", text) if way not in ways]
    lines = [line for line in text.splitlines() if (found := re.match(r"(?:CALIBRATED|DOUBTED)\(\w+, (\w+),", line)) and found.group(1) not in ways]
    return programs, lines


def calibrate(arguments):
    patterns, seeds, doubtful = patterns_def(), defaultdict(set), defaultdict(set)
    counts, doubted = defaultdict(lambda: [0, 0]), defaultdict(lambda: [0, 0])
    for row in read(arguments.files):
        seeds[way_of(row)].add((row["seed"], row["threads"]))
        if row.get("doubtful"):
            doubtful[way_of(row)].add((row["seed"], row["threads"]))
        for entry in row.get("patterns", []):
            right = is_right(entry["name"], entry["verdict"], row["truth"]) if entry["verdict"] != "inconclusive" else None
            if right is None:
                continue
            distance = distance_of(entry, patterns)
            band = max(band for band in BANDS if distance >= band)
            key = entry["name"].partition(":")[0].replace("-", "_"), way_of(row), entry["verdict"].upper()
            count = doubted[key] if is_doubtful(row, entry, patterns) else counts[(*key, band)]
            count[0] += right
            count[1] += 1
    programs, lines = lines_of_other_ways(seeds)
    programs += [(way, f"{len(some)} ({way}; {len(doubtful[way])} doubtful)") for way, some in seeds.items()]
    print("/* How often verdicts were right on generated programs of set one: CALIBRATED(pattern, way, verdict, distance from the threshold, at\n"
          "   least and relative to it, right, all). Where predicted and measured time do not fit: DOUBTED(pattern, way, verdict, right, all).\n"
          "   Made by bench/judge/confidence.py, which says what is right; not to be edited. Programs: "
          + ", ".join(words for _, words in sorted(programs)) + ". */")
    counts = pool(counts)
    for key in sorted(counts):
        lines.append(f"CALIBRATED({key[0]}, {key[1]}, {key[2]}, {key[3]}, {counts[key][0]}, {counts[key][1]})")
    for key in sorted(doubted):
        lines.append(f"DOUBTED({key[0]}, {key[1]}, {key[2]}, {doubted[key][0]}, {doubted[key][1]})")
    print("\n".join(sorted(lines)))


def top_of(row):
    for entry in row.get("patterns", []):
        if entry["verdict"] == "present" and causes_of(entry["name"]):
            return entry
    return None


def is_right_top(row, top):
    return is_right(top["name"], "present", {**row["truth"], "phases": []})


# the generator's words for the causes of a verdict
VERDICTS = {"branches": {"branches", "front_end"}, "compute": {"compute", "none", "latency_L1", "stores"}, "tlb": {"translation"},
            "io": {"waiting"}, "false-sharing": {"sharing"}, "true-sharing": {"sharing"}, "imbalance": {"waiting"},
            "synchronisation": {"waiting", "sharing"}}


def accepts(cause, truth):
    kind, _, level = cause.partition(":")
    return bool((VERDICTS.get(kind) or {f"{kind}_{level}"}) & set(truth["accept"]))


SHARES = (0, 0.7)  # of the run time
CERTAIN = 0.78  # the intervals of such a verdict do not limit its confidence


def calibrate_verdicts(arguments):
    """How often the one verdict was right, by kind of cause: src/patterns/verdicts.def."""
    counts, programs = defaultdict(lambda: [0, 0]), defaultdict(int)
    for row in read(arguments.files):
        verdict = row.get("verdict")
        if not verdict:
            continue
        programs[way_of(row)] += 1
        if verdict["cause"] != "inconclusive" and verdict["confidence"] >= CERTAIN:
            share = verdict["share"]["value"]
            count = counts[(verdict["cause"].partition(":")[0].replace("-", "_"), way_of(row), max(band for band in SHARES if share >= band))]
            count[0] += accepts(verdict["cause"], row["truth"])
            count[1] += 1
    print("/* How often the verdict about a program was right on generated programs of set one, where its interval did not limit\n"
          "   the confidence: JUDGED(cause, way, share at least, right, all). Made by bench/judge/confidence.py; not to be edited. Programs: "
          + ", ".join(f"{count} ({way})" for way, count in sorted(programs.items())) + ". */")
    for key, (right, of) in sorted(counts.items()):
        print(f"JUDGED({key[0]}, {key[1]}, {key[2]}, {right}, {of})")


def judge_verdicts(rows, wrong):
    """The one verdict of each program."""
    own = [row for row in rows if row.get("verdict")]
    stated = [row for row in own if row["verdict"]["cause"] != "inconclusive"]
    print(f"verdicts: {len(own)} programs, {len(stated)} with a cause, {sum(accepts(row['verdict']['cause'], row['truth']) for row in stated)} right")
    for low, high in ((0, 0.6), (0.6, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01)):
        some = [row for row in stated if low <= row["verdict"]["confidence"] < high]
        if some:
            print(f"  stated {low:.1f} … {min(high, 1):.1f}: {len(some):3}, right {sum(accepts(row['verdict']['cause'], row['truth']) for row in some):3}")
    for row in own:
        verdict = row["verdict"]
        if wrong and (verdict["cause"] == "inconclusive" or not accepts(verdict["cause"], row["truth"])):
            also = ", ".join(f"{one['cause']} {one['share']['value']:.2f}" for one in verdict["also"])
            print(f"    seed {row['seed']}: {verdict['cause']} {verdict['confidence']:.2f}, share {(verdict['share'].get('value') or 0):.2f}; also {also}; known {row['truth']['accept']}")


def judge(arguments):
    rows, patterns = read(arguments.files), patterns_def()
    judge_verdicts(rows, arguments.wrong)
    for way in sorted({way_of(row) for row in rows}):
        own = [row for row in rows if way_of(row) == way]
        tops = [(row, top_of(row)) for row in own]
        print(f"{way}: {len(own)} programs, {sum('failed' in row for row in own)} failed, {sum(top is not None for _, top in tops)} with a top cause")
        for low, high in ((0, 0.7), (0.7, 0.8), (0.8, 0.9), (0.9, 1.01)):
            stated = [(row, top) for row, top in tops if top and low <= top["confidence"] < high]
            right = [is_right_top(row, top) for row, top in stated]
            mean = sum(top["confidence"] for _, top in stated) / len(stated) if stated else 0
            print(f"  stated {low:.1f} … {min(high, 1):.1f}: {len(stated):4} verdicts, mean {mean:.2f}, right {sum(right):4}"
                  + (f" = {100 * sum(right) / len(stated):.1f} %" if stated else ""))
            for row, top in stated:
                if arguments.wrong and not is_right_top(row, top):
                    print(f"    seed {row['seed']}: {top['name']} {top['confidence']:.2f}, metric {top['metric']['value']:.2f}; known {row['truth']['accept']}")
        doubted = [(row, top) for row, top in tops if top and is_doubtful(row, top, patterns)]
        print(f"  of these doubtful: {len(doubted):2} verdicts, mean {sum(top['confidence'] for _, top in doubted) / max(1, len(doubted)):.2f}, "
              f"right {sum(is_right_top(row, top) for row, top in doubted):4}")


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("collect")
    verb.set_defaults(run=collect)
    verb.add_argument("fathom")
    verb.add_argument("--generator", required=True)
    verb.add_argument("--seeds", required=True)
    verb.add_argument("--way", choices=("exact", "windows", "counters"), required=True)
    verb.add_argument("--keep", required=True)
    verb.add_argument("--machine", default="machines/haswell-ep.machine")
    verb.add_argument("--levels")
    verb.add_argument("--last", type=int, default=2621440)
    verb.add_argument("--seconds", type=float, default=0.004)
    verb.add_argument("--threads", type=int, default=1)
    verb.add_argument("--work")
    verb.add_argument("--timeout", type=float, default=120)
    verb.add_argument("--compiler", default="gcc")
    for name, function in (("calibrate", calibrate), ("calibrate-verdicts", calibrate_verdicts), ("judge", judge)):
        verb = verbs.add_parser(name)
        verb.set_defaults(run=function)
        verb.add_argument("files", nargs="+")
        verb.add_argument("--wrong", action="store_true", help="name the verdicts that are wrong")
    arguments = parser.parse_args()
    arguments.run(arguments)


main()
