#!/usr/bin/env python3
"""Judges windows: the same programs natively, through windows, and with every access seen, on one machine description.

    windows.py FATHOM MIXES [--machine haswell-ep] [--commands FILE --draw N --seed S] [--slowdown 2] [--only NAME,...]

FILE has a shell command per line (# comments); N of them are drawn by lot. Prints a row per program and a summary:
time over native time, difference of the bytes at each level, whether the stated intervals hold and how wide they are.
A level whose exact traffic is below 0.1 % of what the program loads and stores counts for intervals only."""
import argparse, json, math, os, random, statistics, subprocess, sys, tempfile, time

MIXES = ["triad 3", "chase", "chase-l2", "gather-l3", "gather 2", "columns 3", "product", "copies 8", "compute 2",
         "hashing 2", "sorting", "sharing 6", "phases"]
KINDS = ["read_bytes", "allocate_bytes", "write_bytes"]
NAMED = ["load_hits", "load_misses", "store_hits", "store_misses", "lines_demand", "lines_ownership",
         "lines_prefetch", "lines_written"]


def timed(command):
    begun = time.monotonic()
    with tempfile.TemporaryFile() as output, open("/dev/null") as nothing:
        status = subprocess.run(command, stdin=nothing, stdout=output, stderr=subprocess.DEVNULL).returncode
        size = output.tell() if output.tell() else os.fstat(output.fileno()).st_size
    return time.monotonic() - begun, status, size


def observe(arguments, more, command):
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        seconds, status, size = timed([arguments.fathom, "stat", "--json", "-o", result.name, "--machine",
                                       arguments.machine, *more, "--", *command])
        try:
            return seconds, status, json.load(open(result.name))
        except (OSError, ValueError):
            return seconds, status, None


def figures(root):
    """(name, figure) of everything that is compared."""
    for name, figure in root["counts"].items():
        if name in ("loads", "stores", "load_bytes", "store_bytes", "instructions", "memory_reads", "memory_writes"):
            yield name, figure
    for level in root["levels"]:
        for name in KINDS + NAMED:
            if name in level:
                yield level["name"] + "." + name, level[name]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fathom")
    parser.add_argument("mixes")
    parser.add_argument("--machine", default="haswell-ep")
    parser.add_argument("--commands")
    parser.add_argument("--draw", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slowdown", default="2")
    parser.add_argument("--only")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    programs = [[arguments.mixes, *mix.split()] for mix in MIXES]
    names = [" ".join(mix.split()) for mix in MIXES]
    if arguments.commands:
        lines = [line.strip() for line in open(arguments.commands)]
        lines = [line for line in lines if line and not line.startswith("#")]
        for line in random.Random(arguments.seed).sample(lines, min(arguments.draw, len(lines))):
            programs.append(["sh", "-c", "exec " + line])
            names.append(line[:40])
    ratios, differences, held, widths, all_held = [], [], 0, [], 0
    for name, command in zip(names, programs):
        if arguments.only and not any(one in name for one in arguments.only.split(",")):
            continue
        native = min(timed(command)[0] for _ in range(2))
        seconds, status, seen = observe(arguments, ["--counters", "windows", "--slowdown", arguments.slowdown], command)
        exact_seconds, _, exact = observe(arguments, ["--counters", "exact", "--engine", "native"], command)
        if not seen or not exact:
            print(f"{name:40} failed: windows {'ok' if seen else status}, exact {'ok' if exact else 'failed'}")
            continue
        truth = dict(figures(exact))
        scale = truth["load_bytes"]["value"] + truth["store_bytes"]["value"]
        own, own_held, own_all, own_widths = [], 0, 0, []
        for key, figure in figures(seen):
            true = truth.get(key, {}).get("value")
            if true is None:
                continue
            if not figure or figure.get("value") is None:
                continue
            inside = figure["low"] <= true <= figure["high"]
            own_all += 1
            own_held += inside
            if arguments.verbose:
                print(f"    {key:28} {figure['value']:>14.5g} [{figure['low']:.5g}, {figure['high']:.5g}] {true:>14.5g}"
                      f" {'' if inside else 'MISSED'}")
            unit = 64 if "bytes" not in key else 1
            if true * unit < 0.001 * scale or key == "instructions":
                continue
            own.append(abs(figure["value"] / true - 1))
            own_widths.append((figure["high"] - figure["low"]) / 2 / figure["value"] if figure["value"] else math.inf)
        coverage = seen.get("coverage", {})
        median = statistics.median(own) if own else math.nan
        print(f"{name:40} {native:6.2f} s  windows {seconds / native:5.2f}x  exact {exact_seconds / native:6.1f}x  "
              f"{coverage.get('windows', 0):4} windows  off {100 * median:5.1f} %  held {own_held}/{own_all}  "
              f"half-width {100 * statistics.median(own_widths) if own_widths else math.nan:5.1f} %", flush=True)
        ratios.append(seconds / native)
        differences += own
        widths += own_widths
        held += own_held
        all_held += own_all
    if ratios:
        print(f"{len(ratios)} programs: time {statistics.geometric_mean(ratios):.2f}x (worst {max(ratios):.2f}), "
              f"difference {100 * statistics.median(differences):.1f} % (median of {len(differences)}), intervals hold in "
              f"{100 * held / all_held:.1f} % of {all_held}, half-width {100 * statistics.median(widths):.1f} % (median)")


main()
