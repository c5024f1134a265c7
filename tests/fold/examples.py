#!/usr/bin/env python3
"""What 'fathom report --json' says about the examples, against what their sources say.

examples.py stream JSON SOURCE ELEMENTS up|down [RATES]   four phases, streams, shares, bandwidth; RATES: what the program measured itself
examples.py finding JSON NAME OBJECTS FILE:LINES          the heaviest finding: its name, one of the objects, one of the lines
examples.py without JSON NAME                             no such finding
examples.py faster JSON REGION RATIO                      of a comparison: the region is faster, at most RATIO of the time

Exit status 1: it does not hold. 77: the recording cannot decide, with the reason.
"""
import json
import sys

KERNELS = ["copy", "scale", "add", "triad"]
# of each kernel: the arrays that it reads, and the one that it writes
ARRAYS = {"copy": ("a", "c"), "scale": ("c", "b"), "add": ("ab", "c"), "triad": ("bc", "a")}


def fail(text):
    print(f"FAILED: {text}")
    sys.exit(1)


def inconclusive(text):
    print(f"SKIPPED: {text}")
    sys.exit(77)


def check(holds, text):
    if not holds:
        fail(text)


def plain(function):
    return function.split(".")[0].removesuffix("_back")


def line_of(source, text):
    for number, line in enumerate(open(source), 1):
        if text in line:
            return number
    return fail(f"{source} has no '{text}'")


def within(figure, truth, slack=0.0):
    return figure["low"] * (1 - slack) <= truth <= figure["high"] * (1 + slack)


def check_phases(mode):
    phases = mode["phases"]
    check([plain(phase["function"]) for phase in phases] == KERNELS, f"phases: {[phase['function'] for phase in phases]}")
    check(phases[0]["begin"] == 0 and phases[-1]["end"] == 1, "phases from 0 to 1")


def check_streams(streams, names, copy, simulated):
    wanted = {(kernel, names[array], way) for kernel in KERNELS for reads, writes in [ARRAYS[kernel]] for array, way in [(a, "r") for a in reads] + [(writes, "w")]}
    got = {(plain(stream["function"]), stream["object"], "r" if stream["load"] else "w"): stream for stream in streams}
    check(set(got) == wanted and len(streams) == 10, f"streams: {sorted(set(got) ^ wanted)} are missing or too many")
    for key, stream in got.items():
        truth = "random" if key == ("scale", names["c"], "r") else copy if key[0] == "copy" else "up"
        if not simulated and stream["direction"] == "inconclusive":
            inconclusive(f"the order of {key} is not known: {stream['reason']}")
        check(stream["direction"] == truth, f"{key} is {truth}, not {stream['direction']}: {stream['reason']}")
    return got


def check_costs(got, names, simulated):
    random = got["scale", names["c"], "r"]["mean_cost_cycles"]
    others = [stream["mean_cost_cycles"] for key, stream in got.items() if key[:2] != ("scale", names["c"])]
    check(random, "the random references have a cost")
    dearest = max(other["value"] for other in others if other)
    text = f"random references take {random['low']:.0f}…{random['high']:.0f} cycles, others up to {dearest:.0f}"
    check(random["high"] > 2 * dearest, text)
    if random["low"] <= 2 * dearest:
        (fail if simulated else inconclusive)(text)


def check_shares(got, names, elements, simulated):
    """Of simulated references their number is known; of sampled ones, arrays of one kernel have the same share."""
    missed = 0
    count = {key: elements * 8 / (8 if key[0] == "scale" else 1) / stream["stride_bytes"]["value"] for key, stream in got.items()}
    for key, stream in got.items():
        if simulated:
            truth = count[key] / sum(count.values())
        else:
            kernel = [other["references_share"]["value"] for name, other in got.items() if name[0] == key[0]]
            truth = sum(kernel) / len(kernel)
        # intervals are of 95 %: of ten, one may be off, but not far
        missed += not within(stream["references_share"], truth)
        check(within(stream["references_share"], truth, 0.25), f"share of {key}: {truth:.4f} is not in {stream['references_share']['low']:.4f}…{stream['references_share']['high']:.4f}")
    if missed > 2:
        fail(f"{missed} of 10 shares are outside of their intervals")


def check_ranges(got, elements):
    for key, stream in got.items():
        used = elements * 8 / (8 if key[0] == "scale" and key[2] == "w" else 1)
        check(stream["lowest"] <= 0.06 * used and 0.94 * used <= stream["highest"] <= used, f"{key} goes from {stream['lowest']} to {stream['highest']} of {used:.0f} bytes")
        if stream["direction"] != "random":
            check(within(stream["passes"], 1, 0.05), f"{key} is gone through once, not {stream['passes']['low']:.2f}…{stream['passes']['high']:.2f} times")


def check_rates(got, mode, rates):
    measured = {line.split()[0]: float(line.split()[1]) for line in open(rates) if line.split()[0] in KERNELS}
    check(sorted(measured) == sorted(KERNELS), "the program says how fast it was")
    for key, stream in got.items():
        if stream["direction"] == "random":
            check(stream["gbs"] is None, "random references have no bandwidth")
            continue
        # the program tells the median of all instances, the report is about those of one mode
        check(within(stream["gbs"], measured[key[0]], 0.25), f"{key} moves {stream['gbs']['low']:.2f}…{stream['gbs']['high']:.2f} GB/s, and the program measured {measured[key[0]]:.2f}")


def stream(path, source, elements, copy, rates=None):
    report = json.load(open(path))
    elements = int(elements)
    simulated = report["clock"] == "references"
    region = next((entry for entry in report["folded"] if entry["name"] == "iteration"), None)
    check(region and not region["found"], "the marked region is folded")
    mode = region["modes"][0]
    if not simulated and mode["instances"] < 0.6 * region["instances"]:
        inconclusive(f"{mode['instances']} of {region['instances']} instances took about the same time: the machine was disturbed")
    if not simulated and mode["folded_references"] < 600:
        inconclusive(f"{mode['folded_references']} samples are too few")
    names = {"a": "a", "c": "c", "b": f"stream.c:{line_of(source, 'b = malloc(')} (main)"}
    streams = [entry for entry in report["streams"] if entry["region"] == "iteration" and entry["mode"] == 0]
    check_phases(mode)
    got = check_streams(streams, names, copy, simulated)
    check_costs(got, names, simulated)
    check_shares(got, names, elements, simulated)
    check_ranges(got, elements)
    for kernel in ["copy", "add", "triad"]:
        sets = {entry["together"] for key, entry in got.items() if key[0] == kernel}
        check(len(sets - {0}) <= 1, f"arrays of {kernel} advance together, not {sets}")
        if 0 in sets:
            (fail if simulated else inconclusive)(f"which arrays of {kernel} advance together is not known")
    if simulated:
        check(all(entry["gbs"] is None and "changes the speed" in entry["gbs_why"] for entry in streams), "simulated streams have no bandwidth")
    elif rates:
        check_rates(got, mode, rates)
    first = report["findings"][0]
    check(first["name"] == "random-access" and first["object"] == "c" and first["line"] == line_of(source, "c[random %"), f"the first finding is {first['name']} of {first['object']}, line {first['line']}")
    check(first["worth"]["low"] > 0, "it is worth something")


def finding(path, name, objects, place):
    report = json.load(open(path))
    check(report["findings"], "there is a finding")
    first = report["findings"][0]
    file, lines = place.split(":")
    check(first["name"] == name, f"the first finding is {first['name']}, not {name}")
    check(first["object"] in objects.split(","), f"it is about {first['object']}, not {objects}")
    check(first["file"].endswith("/" + file) and str(first["line"]) in lines.split(","), f"it points at {first['file']}:{first['line']}, not {place}")
    check(all(entry in first["evidence"] for entry in ([first["object"]] if name != "fields-apart" else objects.split(","))), f"the evidence names the objects: {first['evidence']}")
    check(len(first["advice"]) > 20 and first["worth"] and first["worth"]["high"] > 0.05, "it has advice and a worth")


def without(path, name):
    report = json.load(open(path))
    check(report["streams"], "streams were looked at")
    check(all(entry["name"] != name for entry in report["findings"]), f"there is a finding {name}")


def faster(path, region, ratio):
    comparison = json.load(open(path))["comparison"]
    row = next((entry for entry in comparison["regions"] if entry["name"] == region), None)
    check(row and row["time"]["verdict"] == "less", f"region {region}: {row and row['time']['verdict']}")
    check(row["time"]["ratio"]["high"] < float(ratio), f"{row['time']['ratio']['high']:.2f} is not below {ratio}")


if __name__ == "__main__":
    {"stream": stream, "finding": finding, "without": without, "faster": faster}[sys.argv[1]](*sys.argv[2:])
