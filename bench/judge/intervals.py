#!/usr/bin/env python3
"""How often stated 95 % intervals hold, on generated programs: windows against every access, on the same simulated machine.

    intervals.py collect FATHOM --generator PROGRAM --seeds 8000-8039 --keep FILE [--machine haswell-ep] [--levels L1=…,L2=…,L3=…]
                 [--seconds 0.3] [--work FOLDER] [--compiler gcc] [--timeout SECONDS]
    intervals.py judge FILE [--draws 2000]

collect runs each program twice on the machine, without core timing: --counters windows, and --counters exact --engine native. The figures are
those of windows.py: counts, and what each level moved. Programs that end before there is a window are kept as failed.
judge prints the share of the figures whose interval holds the exact value. Figures of one program are not independent, so the interval of the
share comes from drawing programs with replacement. Figures with an interval of no width are counted, not estimated: the share without them is
printed too."""
import argparse, json, os, random, subprocess, tempfile

import windows

LEVELS = "L1=32768,L2=262144,L3=31457280"


def seeds_of(text):
    for one in text.split(","):
        first, _, last = one.partition("-")
        yield from range(int(first), int(last or first) + 1)


def stat(arguments, program, *more):
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        subprocess.run([arguments.fathom, "stat", "--json", "-o", result.name, "--machine", arguments.machine, "--no-timing", *more,
                        "--", program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True, timeout=arguments.timeout)
        return json.load(open(result.name))


def collect_one(arguments, seed):
    made = subprocess.run([arguments.generator, "--seed", str(seed), "--levels", arguments.levels, "--seconds", str(arguments.seconds),
                           "--out", arguments.work], capture_output=True, text=True, check=True)
    path = os.path.join(arguments.work, made.stdout.strip())
    subprocess.run([arguments.compiler, "-O2", "-pthread", path + ".c", "-o", path, "-lm"], check=True, capture_output=True)
    seen = stat(arguments, path, "--counters", "windows")
    count = (seen.get("coverage") or {}).get("windows")
    if not count:
        return {"seed": seed, "failed": "no windows"}
    exact = stat(arguments, path, "--counters", "exact", "--engine", "native")
    truth = json.load(open(path + ".json"))
    return {"seed": seed, "windows": count, "phases": [f"{phase['kind']}:{phase['level']}" for phase in truth["phases"]],
            "figures": windows.compare_figures(seen, exact)}


def collect(arguments):
    arguments.work = arguments.work or tempfile.mkdtemp(prefix="fathom-intervals-")
    os.makedirs(arguments.work, exist_ok=True)
    rows = json.load(open(arguments.keep)) if os.path.exists(arguments.keep) else []
    done = {row["seed"] for row in rows}
    for seed in seeds_of(arguments.seeds):
        if seed in done:
            continue
        try:
            rows.append(collect_one(arguments, seed))
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired, KeyError) as reason:
            rows.append({"seed": seed, "failed": f"{type(reason).__name__}"})
        json.dump(windows.finite(rows), open(arguments.keep, "w"))


def share_of(rows):
    return sum(figure["held"] for row in rows for figure in row) / max(sum(len(row) for row in rows), 1)


def print_share(words, rows, draws):
    lot = random.Random(1)
    drawn = sorted(share_of(lot.choices(rows, k=len(rows))) for _ in range(draws))
    print(f"{words}: {100 * share_of(rows):.1f} % of {sum(len(row) for row in rows)} figures hold "
          f"({100 * drawn[int(0.025 * draws)]:.1f} … {100 * drawn[int(0.975 * draws)]:.1f}, drawing programs)")


def judge(arguments):
    rows = json.load(open(arguments.file))
    judged = [row for row in rows if "failed" not in row]
    print(f"{len(judged)} programs, {len(rows) - len(judged)} failed")
    print_share("all", [row["figures"] for row in judged], arguments.draws)
    print_share("estimated", [[figure for figure in row["figures"] if figure["high"] > figure["low"]] for row in judged], arguments.draws)
    missed = {}
    for row in judged:
        for figure in row["figures"]:
            if not figure["held"]:
                missed.setdefault(figure["name"], []).append(row["seed"])
    for name, seeds in sorted(missed.items(), key=lambda item: -len(item[1]))[:8]:
        print(f"  missed {len(seeds):3} {name}")
    for row in sorted(judged, key=lambda row: sum(figure["held"] for figure in row["figures"]) - len(row["figures"]))[:5]:
        print(f"  seed {row['seed']}: {sum(not figure['held'] for figure in row['figures'])} missed, {row['windows']} windows, "
              f"{' + '.join(row['phases'])}")


def main():
    parser = argparse.ArgumentParser()
    verbs = parser.add_subparsers(required=True)
    verb = verbs.add_parser("collect")
    verb.set_defaults(run=collect)
    verb.add_argument("fathom")
    verb.add_argument("--generator", required=True)
    verb.add_argument("--seeds", required=True)
    verb.add_argument("--keep", required=True)
    verb.add_argument("--machine", default="haswell-ep")
    verb.add_argument("--levels", default=LEVELS)
    verb.add_argument("--seconds", type=float, default=0.3)
    verb.add_argument("--work")
    verb.add_argument("--compiler", default="gcc")
    verb.add_argument("--timeout", type=float, default=120)
    verb = verbs.add_parser("judge")
    verb.set_defaults(run=judge)
    verb.add_argument("file")
    verb.add_argument("--draws", type=int, default=2000)
    arguments = parser.parse_args()
    arguments.run(arguments)


main()
