#!/usr/bin/env python3
"""Every access seen by the native engine (three levels, coherence) against valgrind's cachegrind (two levels).

    cachegrind.py FATHOM [--pairs 5] [--only NAME,...] [--machine haswell-ep]

Programs are those of bench/programs, gzip, sort and python3. Pairs are interleaved; printed is the median of the ratios of the
pairs, everything included, with the least and the largest, with simulated prefetchers and without. Cachegrind has none.
Needs valgrind and a compiler; the machine should be quiet."""
import argparse, math, os, statistics, subprocess, tempfile, time

HERE = os.path.dirname(os.path.abspath(__file__))
PYTHON = "d = {}\nfor i in range(400000): d[i % 1000] = d.get(i % 1000, 0) + i"


def build(folder):
    for name, source, flags in [("stream-O2", "stream", ["-O2"]), ("stream-O3-avx2", "stream", ["-O3", "-mavx2"]),
                                ("chase", "chase", ["-O2"]), ("matmul", "matmul", ["-O2"]), ("nbody", "nbody", ["-O2"])]:
        subprocess.run(["cc", *flags, "-g", "-o", f"{folder}/{name}", f"{HERE}/../programs/{source}.c", "-lm"], check=True)
        yield name, [f"{folder}/{name}"]
    with open(f"{folder}/numbers", "w") as file:
        value = 1
        for _ in range(200000):
            value = value * 6364136223846793005 + 1442695040888963407 & (1 << 64) - 1
            file.write(f"{value >> 33}\n")
    yield "sort", ["sort", "--parallel=1", f"{folder}/numbers"]
    yield "gzip", ["gzip", "-c", f"{folder}/numbers"]
    yield "python3", ["/usr/bin/python3", "-S", "-s", "-c", PYTHON]


def seconds(command):
    begun = time.monotonic()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=True)
    return time.monotonic() - begun


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fathom")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only")
    parser.add_argument("--machine", default="haswell-ep")
    arguments = parser.parse_args()
    os.environ.update(LC_ALL="C", PYTHONHASHSEED="0")
    ways = {"with prefetchers": [], "without": ["--no-prefetch"]}
    medians = {way: [] for way in ways}
    with tempfile.TemporaryDirectory() as folder:
        for name, command in build(folder):
            if arguments.only and not any(one in name for one in arguments.only.split(",")):
                continue
            ratios, native, theirs = {way: [] for way in ways}, [], []
            for _ in range(arguments.pairs):
                native.append(seconds(command))
                theirs.append(seconds(["valgrind", "--tool=cachegrind", "--cache-sim=yes", "--cachegrind-out-file=/dev/null",
                                       *command]))
                for way, options in ways.items():
                    ours = seconds([arguments.fathom, "stat", "--engine", "native", "--counters", "exact", "--no-timing",
                                    "--machine", arguments.machine, *options, "-o", "/dev/null", "--", *command])
                    ratios[way].append(ours / theirs[-1])
            print(f"{name:16} native {statistics.median(native):6.2f} s  cachegrind {statistics.median(theirs):6.2f} s", end="")
            for way, values in ratios.items():
                medians[way].append(statistics.median(values))
                print(f"   {way} {medians[way][-1]:.2f} ({min(values):.2f} … {max(values):.2f})", end="")
            print(flush=True)
    for way, values in medians.items():
        print(f"geometric mean, {way}: {math.exp(statistics.fmean(map(math.log, values))):.2f}, largest {max(values):.2f}")


main()
