#!/usr/bin/env python3
"""Figures 9 to 12 of active measurement by 'fathom squeeze --ranks': bench/squeeze_mappings.py FATHOM STAND_IN [NAME [MAPPING]]

STAND_IN is build/bench/stand_in. Prints the table of RESULTS.md: what each of p processes uses that share one simulated
Xeon E5-2670, beside what the study has. Footprints are the study's; nothing else is.
"""
import json
import subprocess
import sys

MACHINE = "xeon-e5-2670"
MIB = 1 << 20
VISITS = 6  # of each line, about

# name: MiB at random, MiB in sweeps, percent of sweeps, additions, mappings
STAND_INS = {"MCB": (5, 0, 0, 12, "1,2,3,4"), "Lulesh 22": (3, 2, 50, 8, "1,2,3,4"), "Lulesh 36": (8, 6, 50, 8, "1,2")}
# what the study prints: MB and GB/s of a process
STUDY = {("MCB", 1): ("4–7", "11.4–14.2"), ("MCB", 2): ("3.5–6", "7.1–8.5"), ("MCB", 3): ("–", "3.8–4.7"),
         ("MCB", 4): ("3.75–5", "3.5–4.25"), ("Lulesh 22", 1): ("3.5–7", "–"), ("Lulesh 22", 4): ("> 3.5", "–"),
         ("Lulesh 36", 1): ("7–20", "–")}

fathom, stand_in = sys.argv[1:3]
wanted = sys.argv[3:4] or list(STAND_INS)


def interval(figure, unit):
    if figure is None:
        return "none"
    low, high = figure["low"] / unit, figure["high"] / unit
    return f"{low:.2f}–{high:.2f}" if low > 0 else f"< {high:.2f}"


print("| stand-in | processes | slower than alone | MiB of a process | the study, MB | GB/s of a process | the study, GB/s | moves, GB/s | runs |\n"
      "|---|---|---|---|---|---|---|---|---|")
for name in wanted:
    random, sweep, percent, additions, mapping = STAND_INS[name]
    mapping = sys.argv[4] if len(sys.argv) > 4 else mapping
    accesses = VISITS * (random + sweep) * MIB // 64
    done = subprocess.run([fathom, "squeeze", "--machine", MACHINE, "--json", "-q", "--budget", "30min", "--ranks", "24",
                           "--mapping", mapping, "--", stand_in, *map(str, (random, sweep, percent, additions, accesses))],
                          capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr}")
    for row in json.loads(done.stdout)["mappings"]:
        study = STUDY.get((name, row["ranks_per_cache"]), ("–", "–"))
        print(f"| {name}, {random + sweep} MiB | {row['ranks_per_cache']} | {100 * (row['slowdown']['value'] - 1):.1f} % "
              f"| {interval(row['capacity_in_use_bytes'], MIB)} | {study[0]} | {interval(row['bandwidth_in_use_gbs'], 1)} | {study[1]} "
              f"| {row['traffic_gbs']['value']:.2f} | {row['runs']} |", flush=True)
