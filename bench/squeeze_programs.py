#!/usr/bin/env python3
"""fathom squeeze against simulated runs: bench/squeeze_programs.py FATHOM NEEDS [needs|pairs]...

NEEDS is build/tests/squeeze_needs, whose programs have a known need. Prints tables for RESULTS.md.
needs: is the need in the interval; are predictions for half and a quarter of the cache those of a run on such a machine?
pairs: are two programs in one cache as slow as the simulated pair ('stat --beside')?
"""
import itertools
import json
import math
import subprocess
import sys
import tempfile

MACHINE = "xeon-e5-2670"
CACHE_MIB = 20
LATENCY = {"L2": 12, "L3": 40, "memory": 210}
ACCESSES = 1000000
MIB = 1 << 20

fathom, needs = sys.argv[1:3]
what = sys.argv[3:] or ["needs", "pairs"]
folder = tempfile.mkdtemp(prefix="squeeze-")


def run(*arguments):
    done = subprocess.run([fathom, *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(arguments)}: {done.stderr}")
    return json.loads(done.stdout)


def squeeze(name, program, *options):
    return run("squeeze", "--machine", MACHINE, "--json", "-q", "--budget", "10min",
               "--record", f"{folder}/{name}.fathom", *options, "--", needs, *program.split())


def cycles_with(program, mib):
    """A machine that has so much of the cache, by itself."""
    text = subprocess.run(["sed", f"s/^cache L3 .*/& available={mib * MIB:.0f}/", f"machines/{MACHINE}.machine"],
                          capture_output=True, text=True).stdout
    path = f"{folder}/less.machine"
    open(path, "w").write(text)
    stat = run("stat", "--machine", path, "--timing", "--engine", "native", "--json", "-q", "--", needs, *program.split())
    return stat["cycles"]["active"]["value"]


def study_needs():
    cases = [("random 3", 3, "sensitive"), ("random 6", 6, "sensitive"), ("random 12", 12, "sensitive"),
             ("phases 12", 12, "sensitive"), ("stream 64", None, "insensitive-streaming"),
             ("compute 1", None, "insensitive-small")]
    print("| program | needs, MiB | interval | high/low | by the curve | kind | GB/s | runs | half: predicted, run, error "
          "| quarter: predicted, run, error |\n|---|---|---|---|---|---|---|---|---|---|")
    for program, need, kind in cases:
        full = f"{program} {ACCESSES}"
        found = squeeze(program.replace(" ", ""), full, "--predict", "l3=50%", "--predict", "l3=25%")
        interval, curve, gbs = found["capacity_in_use_bytes"], found["curve_need_bytes"], found["bandwidth_in_use_gbs"]
        holds = need is None or interval["low"] <= need * MIB <= interval["high"]
        cells = []
        for prediction, share in zip(found["predictions"], (0.5, 0.25)):
            truth = cycles_with(full, CACHE_MIB * share) / found["curve"][0]["cycles"]
            value = prediction["slowdown"]["value"]
            cells.append(f"{value:.3f}, {truth:.3f}, {100 * (value / truth - 1):+.1f} %")
        ratio = f"{interval['high'] / interval['low']:.2f}" if interval["low"] else "–"
        print(f"| {program} | {need or '–'} | {interval['low'] / MIB:.2f}–{interval['high'] / MIB:.2f} "
              f"{'' if holds else 'WRONG'} | {ratio} | {curve['low'] / MIB:.2f}–{curve['high'] / MIB:.2f} | "
              f"{found['kind']}{'' if found['kind'] == kind else ' WRONG'} | {gbs['low']:.2f}–{gbs['high']:.2f} | "
              f"{found['runs']} | {' | '.join(cells)} |", flush=True)


def clock(stat):
    """Instructions plus latencies: the order of 'stat --beside' goes by this."""
    value = lambda level, name: level[name]["value"]
    levels = {level["name"]: level for level in stat["levels"]}
    total = stat["counts"]["instructions"]["value"]
    for name in ("L2", "L3"):
        total += LATENCY[name] * (value(levels[name], "load_hits") + value(levels[name], "store_hits"))
    return total + LATENCY["memory"] * (value(levels["L3"], "load_misses") + value(levels["L3"], "store_misses"))


def study_pairs():
    programs = ["random 3", "random 6", "random 9", "random 12", "random 16", "stream 40"]
    alone = {}
    for program in programs:
        squeeze(program.replace(" ", ""), f"{program} {ACCESSES}", "--only", "capacity")
        alone[program] = clock(run("stat", "--machine", MACHINE, "--engine", "native", "--json", "-q", "--", needs,
                                   *f"{program} {ACCESSES}".split()))
    errors = []
    print("\n| first | second | first: predicted, pair, error | second: predicted, pair, error |\n|---|---|---|---|")
    for pair in itertools.combinations(programs, 2):
        foretold = run("squeeze", "--json", "--pair", *(f"{folder}/{program.replace(' ', '')}.fathom" for program in pair))
        cells = []
        for i, (program, other) in enumerate((pair, pair[::-1])):
            together = clock(run("stat", "--machine", MACHINE, "--beside", f"{needs} {other} {100 * ACCESSES}", "--json",
                                 "-q", "--", needs, *f"{program} {ACCESSES}".split()))
            truth = together / alone[program]
            value = foretold["pair"][i]["latency_slowdown"]["value"]
            errors.append(abs(value / truth - 1))
            cells.append(f"{value:.3f}, {truth:.3f}, {100 * (value / truth - 1):+.1f} %")
        print(f"| {pair[0]} | {pair[1]} | {' | '.join(cells)} |", flush=True)
    print(f"\n{len(errors) // 2} pairs: mean error {100 * sum(errors) / len(errors):.1f} %, largest {100 * max(errors):.1f} %, "
          f"within 10 %: {sum(error <= 0.1 for error in errors)} of {len(errors)}")


if "needs" in what:
    study_needs()
    print(f"\nA sweep with the same width of the interval would take {math.ceil(math.log(32) / math.log(1.2)) + 1} runs "
          "of the capacity alone.")
if "pairs" in what:
    study_pairs()
