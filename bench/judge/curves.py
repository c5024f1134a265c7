#!/usr/bin/env python3
"""Judges the miss-ratio curves of `fathom record`, or with --way stat those of `fathom stat --counters windows --curve`, by
exact ones of the same programs.

    curves.py FATHOM LOOPS [--way record|stat] [--commands FILE] [--only NAME,...] [--scale 1] [--exact-scale 0.1]
              [--overhead 3%] [--runs 4] [--keep FOLDER] [--verbose]

LOOPS is bench/judge/loops.c, compiled. FILE has a command per line (# comments), and
after " ### " a shorter one that does the same, for the exact curve. The exact curve is that of every
load and store by the native engine on haswell-ep: the misses of its first cache, 32 KiB, without prefetchers, which would
hide some of them, go through one stack of lines, and ratios are of all loads and stores, as are those of `record`; sizes below 64 KiB say little there. Prints for each
program the mean and the largest difference in points over 32 KiB to 64 MiB, the share of sizes at which the 95 %
interval holds the exact value, its mean half-width, the processor time over that of the program by itself in user mode,
and what record says of its overhead. With --way stat both curves are of the same command, and the time is the elapsed time
of all of stat over that of the program; --runs 0 leaves times out. Loops do the same all the time, so their exact curve is that of a shorter run."""
import argparse, json, os, shlex, statistics, subprocess, sys, tempfile, time

LOOPS = ["scattered-256k", "scattered-4m", "scattered-32m", "sweep-1m", "sweep-16m", "records-4m", "mixed", "chase-8m",
         "product", "phases"]
SMALLEST, LARGEST = 32 << 10, 64 << 20


def run(command):
    with open("/dev/null") as nothing:
        subprocess.run(command, stdin=nothing, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def timed(before, command):
    """Seconds of user time of the command itself, not of what is put before it."""
    with tempfile.NamedTemporaryFile() as result:
        run([*before, "bash", "-c", 'TIMEFORMAT=%U; result=$1; shift; { time "$@" >&3 3>&-; } 2>"$result" 3>/dev/null',
             "bash", result.name, *command])
        return float(result.read().split()[-1])


def exact(arguments, folder, name, command):
    path = os.path.join(folder, name + ".exact.json")
    if not os.path.exists(path):
        run([arguments.fathom, "stat", "--counters", "exact", "--engine", "native", "--machine", "haswell-ep",
             "--no-prefetch", "--curve", "--json", "-o", path, "--", *command])
    return json.load(open(path))


def recorded(arguments, folder, name, command):
    path = os.path.join(folder, name + ".fathom")
    run([arguments.fathom, "record", "--force", "-q", "--overhead", arguments.overhead, "-o", path, "--", *command])
    result = subprocess.run([arguments.fathom, "report", "--json", path], capture_output=True, text=True)
    return json.loads(result.stdout)


def by_windows(arguments, folder, name, command):
    path = os.path.join(folder, name + ".stat.json")
    run([arguments.fathom, "stat", "-q", "--counters", "windows", "--curve", "--json", "-o", path, "--", *command])
    return json.load(open(path))


def elapsed(command):
    began = time.monotonic()
    run(command)
    return time.monotonic() - began


def compare(arguments, truth, curve):
    """Differences in points, how many of the intervals hold, and their half-widths."""
    off, held, width = [], 0, []
    for size, right, point in zip(truth["sizes_bytes"], truth["miss_ratio"], curve["miss_ratio"]):
        if not SMALLEST <= size <= LARGEST:
            continue
        off.append(100 * abs(point["value"] - right["value"]))
        held += point["low"] - 1e-9 <= right["value"] <= point["high"] + 1e-9
        width.append(50 * (point["high"] - point["low"]))
        if arguments.verbose:
            print(f"    {size // 1024:7} KiB  exact {right['value']:.4f}  found {point['value']:.4f}  "
                  f"{point['low']:.4f}-{point['high']:.4f}")
    return off, held, width


def judge_stat(arguments, programs, folder):
    print("program             error  worst  holds  width   span   time windows   touches")
    errors, holds, points, ratios, spans = [], [], 0, [], []
    for name, command, shorter in programs:
        try:
            truth = exact(arguments, folder, name, shorter)["curve"]
            report = by_windows(arguments, folder, name, shorter)
            stat = [arguments.fathom, "stat", "-q", "--counters", "windows", "--curve", "-o", "/dev/null", "--"]
            times = [(elapsed(shorter), elapsed([*stat, *shorter])) for _ in range(arguments.runs)]
        except (OSError, ValueError, KeyError, IndexError) as problem:
            print(f"{name:18} failed: {problem}")
            continue
        curve = report.get("curve")
        if not curve:
            print(f"{name:18} no curve")
            continue
        off, held, width = compare(arguments, truth, curve)
        errors.append(statistics.mean(off))
        holds.append(held)
        points += len(off)
        ratio = min(column[1] for column in times) / min(column[0] for column in times) if times else float("nan")
        ratios.append(ratio)
        within = [point["value"] for size, point in zip(truth["sizes_bytes"], truth["miss_ratio"])
                  if SMALLEST <= size <= LARGEST]
        spans.append(100 * (within[0] - within[-1]))
        print(f"{name:18} {errors[-1]:6.2f} {max(off):6.2f} {100 * held / len(off):5.0f}% {statistics.mean(width):6.2f} "
              f"{spans[-1]:6.1f} {ratio:6.2f} {curve['windows']:7} {curve['samples']:9.0f}", flush=True)
    if errors:
        print(f"{len(errors)} programs, {sum(span >= 20 for span in spans)} of which span 20 points: mean error "
              f"{statistics.mean(errors):.2f} points (median {statistics.median(errors):.2f}), intervals hold at "
              f"{100 * sum(holds) / points:.1f} % of {points} sizes, elapsed time over native "
              f"{statistics.median(ratios):.2f} (median)")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fathom")
    parser.add_argument("loops")
    parser.add_argument("--way", choices=("record", "stat"), default="record")
    parser.add_argument("--commands")
    parser.add_argument("--only")
    parser.add_argument("--scale", default="1")
    parser.add_argument("--exact-scale", default="0.1")
    parser.add_argument("--overhead", default="3%")
    parser.add_argument("--runs", type=int, default=4)
    parser.add_argument("--keep")
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    programs = [(name, [arguments.loops, name, arguments.scale], [arguments.loops, name, arguments.exact_scale])
                for name in LOOPS]
    if arguments.commands:
        lines = [line.strip() for line in open(arguments.commands)]
        for number, line in enumerate(lines):
            if line and not line.startswith("#"):
                name = "%s-%d" % (os.path.basename(line.split()[0])[:14], number)
                longer, _, shorter = line.partition(" ### ")
                programs.append((name, shlex.split(longer), shlex.split(shorter or longer)))
    scratch = tempfile.TemporaryDirectory()
    folder = arguments.keep or scratch.name
    os.makedirs(folder, exist_ok=True)
    if arguments.only:
        programs = [program for program in programs if any(one in program[0] for one in arguments.only.split(","))]
    if arguments.way == "stat":
        judge_stat(arguments, programs, folder)
        return
    print("program             error  worst  holds  width   time  overhead windows watched   pace  paces phases")
    errors, holds, ratios = [], [], []
    for name, command, shorter in programs:
        try:
            truth = exact(arguments, folder, name, shorter)["curve"]
            report = recorded(arguments, folder, name, command)
            record = [arguments.fathom, "record", "--force", "-q", "--overhead", arguments.overhead, "-o",
                      os.path.join(folder, "time.fathom"), "--"]
            # alternating, and the least of each: others use the machine as well
            times = [(timed([], command), timed(record, command)) for _ in range(arguments.runs)]
            alone, with_record = (min(column) for column in zip(*times))
        except (OSError, ValueError, KeyError, IndexError) as problem:
            print(f"{name:18} failed: {problem}")
            continue
        curve = report["curve"]
        if not curve:
            print(f"{name:18} no windows")
            continue
        off, held, width = compare(arguments, truth, curve)
        sampling = report["sampling"]
        errors.append(statistics.mean(off))
        holds.append(held / len(off))
        ratios.append(with_record / alone if alone > 0 else float("nan"))
        print(f"{name:18} {errors[-1]:6.2f} {max(off):6.2f} {100 * holds[-1]:5.0f}% {statistics.mean(width):6.2f} "
              f"{ratios[-1]:6.3f} {100 * sampling['overhead']['value']:7.1f}% {curve['windows']:7} "
              f"{curve['watched']:7} {curve['pace']:6.3g} {curve['paces']:6} {curve['phases']:6}", flush=True)
    if errors:
        print(f"{len(errors)} programs: mean error {statistics.mean(errors):.2f} points (median "
              f"{statistics.median(errors):.2f}), intervals hold at {100 * statistics.mean(holds):.0f} % of sizes, user "
              f"time over native {statistics.median(ratios):.3f} (median)")


if __name__ == "__main__":
    main()
