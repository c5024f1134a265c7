#!/usr/bin/env python3
"""The one verdict of programs with a stated cause. verdicts.py FATHOM LOOPS PARALLEL [--threads 2] [--rounds 1] [--list FILE]
LOOPS and PARALLEL: laboratory.c and parallel.c, compiled with -O2 (and -fopenmp -lm). Prints each case and the sums."""
import argparse, json, os, subprocess, tempfile

parser = argparse.ArgumentParser()
parser.add_argument("fathom")
parser.add_argument("loops")
parser.add_argument("parallel")
parser.add_argument("--threads", default="2")
parser.add_argument("--rounds", type=int, default=1)
parser.add_argument("--list", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "verdicts.txt"))
options = parser.parse_args()
right = wrong = open_ = sure = sure_right = 0
for line in open(options.list):
    if line.startswith("#") or not line.strip():
        continue
    accepted, command = (part.strip() for part in line.split("|", 1))
    command = command.format(loops=os.path.abspath(options.loops), parallel=os.path.abspath(options.parallel), threads=options.threads)
    for _ in range(options.rounds):
        with tempfile.TemporaryDirectory() as folder:
            done = subprocess.run([options.fathom, "stat", "--json", "-o", folder + "/json", "--", "sh", "-c", "exec " + command if not command.startswith("sh ") else command],
                                  stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
            try:
                verdict = json.load(open(folder + "/json"))["verdict"]
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
        also = ", ".join(f"{one['cause']} {one['share']['value']:.2f}" for one in verdict["also"])
        print(f"{judged:6} {cause:18} {confidence:.2f} share {verdict['share'].get('value') or 0:.2f}  also {also:60} {' '.join(command.split('/')[-1].split()[:4])}", flush=True)
print(f"{right} right, {wrong} wrong, {open_} open; at 0.9 or more: {sure_right} of {sure} right")
