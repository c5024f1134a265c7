#!/usr/bin/env python3
"""The one verdict of programs with a stated cause. verdicts.py FATHOM LOOPS PARALLEL [--threads 2] [--rounds 1] [--list FILE]
LOOPS and PARALLEL: laboratory.c and parallel.c, compiled with -O2 (and -fopenmp -lm). Prints each case and the sums.
--times: a native run before and after each case; prints the stated time over the native one, whether the stated interval overlaps the
native runs, and the cost: time of 'fathom stat' over the native time."""
import argparse, json, os, statistics, subprocess, tempfile, time

parser = argparse.ArgumentParser()
parser.add_argument("fathom")
parser.add_argument("loops")
parser.add_argument("parallel")
parser.add_argument("--threads", default="2")
parser.add_argument("--rounds", type=int, default=1)
parser.add_argument("--times", action="store_true")
parser.add_argument("--list", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "verdicts.txt"))
options = parser.parse_args()
right = wrong = open_ = sure = sure_right = 0
ratios, costs, holds = [], [], []


def run(command):
    """Wall clock of a native run."""
    begun = time.time()
    subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return time.time() - begun


for line in open(options.list):
    if line.startswith("#") or not line.strip():
        continue
    accepted, command = (part.strip() for part in line.split("|", 1))
    command = command.format(loops=os.path.abspath(options.loops), parallel=os.path.abspath(options.parallel), threads=options.threads)
    for _ in range(options.rounds):
        words = ["sh", "-c", "exec " + command if not command.startswith("sh ") else command]
        native = [run(words)] if options.times else []
        with tempfile.TemporaryDirectory() as folder:
            begun = time.time()
            done = subprocess.run([options.fathom, "stat", "--json", "-o", folder + "/json", "--", *words],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            took = time.time() - begun
            try:
                document = json.load(open(folder + "/json"))
                verdict = document["verdict"]
            except (OSError, KeyError, ValueError):
                print(f"{'FAILED':16} {command}: {done.stderr[-200:]}")
                wrong += 1
                continue
        cause, confidence = verdict["cause"], verdict["confidence"]
        judged = "open" if cause == "inconclusive" else "right" if cause in accepted.split() else "WRONG"
        right += judged == "right"
        wrong += judged == "WRONG"
        open_ += judged == "open"
        if confidence >= 0.9 and judged != "open":
            sure += 1
            sure_right += judged == "right"
        times = ""
        if options.times:
            native.append(run(words))
            own = document["elapsed"]
            ratios.append(own["value"] / statistics.mean(native))
            costs.append(took / statistics.mean(native))
            holds.append(own["low"] <= max(native) and own["high"] >= min(native))
            times = f"native {native[0]:.2f} {native[1]:.2f} s, stated {own['value']:.2f} ({own['low']:.2f} … {own['high']:.2f}), cost {costs[-1]:.2f}  "
        also = ", ".join(f"{one['cause']} {one['share']['value']:.2f}" for one in verdict["also"])
        print(f"{judged:6} {cause:18} {confidence:.2f} share {(verdict['share'] or {}).get('value') or 0:.2f}  also {also:60} {times}{' '.join(command.split('/')[-1].split()[:4])}", flush=True)
print(f"{right} right, {wrong} wrong, {open_} open; at 0.9 or more: {sure_right} of {sure} right")
if ratios:
    off = sorted(abs(ratio - 1) for ratio in ratios)
    print(f"stated time off by {100 * statistics.median(off):.1f} % (median), {100 * off[int(0.9 * (len(off) - 1))]:.0f} % (nine tenths), worst {100 * off[-1]:.0f} %; "
          f"interval overlaps the native runs in {sum(holds)} of {len(holds)}; cost {statistics.geometric_mean(costs):.2f} (geometric mean), worst {max(costs):.2f}")
