#!/usr/bin/env python3
"""Judges decompositions of cycles by events on generated programs: that of Molka et al. (ICPE 2017, figure 10) and Fathom's correction.

    decompose.py FATHOM --decompose build/tests/test_decompose --generator PROGRAM --seeds 3000-3049 --machine machines/haswell-ep.machine
                 [--last BYTES] [--seconds 0.004] [--work FOLDER] [--keep FILE] [--compiler gcc]

The machine's last cache is made smaller (--last, 2.5 MiB), so that programs can be short. What is true of a program comes from two places that
are no input of either decomposition: the cause that the simulator has for every stalled cycle says how many of them are memory's; how these
divide into bandwidth and latency, runs on machines without limits of bandwidth (no intervals, many buffers), without latencies, and without
both. A program that is no faster without both does not wait for memory, whatever fills its store buffer. Removing bandwidth first and latency first gives two answers where either would do, and what lies between is right.

Prints a line for each program, in percent of the cycles, then how many were wrong, and off by more than 10 points."""
import argparse, json, os, re, subprocess, sys, tempfile

PARTS = ("productive", "bandwidth", "latency", "other")
FAR = 10


def without(text, bandwidth, latency):
    """The description of a machine that lacks these limits."""
    if bandwidth:
        text = re.sub(r" (shared_interval|interval|write)=\S+", "", text)
        text = re.sub(r"(\w*gbs)=\S+", r"\1=100000", text)
        for name, count in (("fill_buffers", 128), ("super_queue", 256), ("store_buffers", 512)):
            text = re.sub(rf"{name}=\d+", f"{name}={count}", text)
    if latency:
        first = int(re.search(r"cache L1 .*?latency=(\d+)", text).group(1))
        slower = iter(range(first + 1, first + 10))
        text = re.sub(r"(cache L[2-9] .*?latency=)\d+", lambda found: found.group(1) + str(next(slower)), text)
        text = re.sub(r"(memory .*?latency=)\d+", lambda found: found.group(1) + str(next(slower)), text)
        text = re.sub(r" remote=\d+", "", text)
        text = re.sub(r"penalty=\d+", "penalty=0", text)
    return text


def stat(arguments, machine, program, *options):
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        done = subprocess.run([arguments.fathom, "stat", "--json", "-o", result.name, "--machine", machine, "--timing", *options, "--", program],
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode:
            raise RuntimeError(done.stderr.strip().splitlines()[-1] if done.stderr else f"status {done.returncode}")
        return json.load(open(result.name))


def value_of(figure):
    return figure.get("value") if isinstance(figure, dict) else figure


def causes_of(root):
    """By the simulator's cause of each stalled cycle; the first cache's own latency is no memory's."""
    cycles = root["cycles"]
    active = value_of(cycles["active"])
    shares = dict.fromkeys(PARTS, 0.0)
    shares["productive"] = 100 * value_of(cycles["productive"]) / active
    for name, figure in cycles["stalls"].items():
        part = "bandwidth" if name.startswith("bandwidth_") and name != "bandwidth_L1" or name == "stores" else \
            "latency" if name == "translation" or name.startswith("latency_") and name != "latency_L1" else "other"
        shares[part] += 100 * (value_of(figure) or 0) / active
    return shares, active


def truth_of(causes, times):
    """Least and most of each part. times: as it is, without bandwidth limits, without latencies, without both."""
    whole, wide, near, ideal = times
    causes = dict(causes)
    # what is no faster without any of memory's limits does not wait for memory: its stores are the core's own business
    if whole - ideal < 0.01 * whole:
        causes["other"] += causes["bandwidth"]
        causes["bandwidth"] = 0
    memory = causes["bandwidth"] + causes["latency"]
    shares = []
    for bandwidth, latency in ((whole - wide, wide - ideal), (near - ideal, whole - near)):
        bandwidth, latency = max(bandwidth, 0), max(latency, 0)
        shares.append(bandwidth / (bandwidth + latency) if bandwidth + latency > 0.01 * whole
                      else causes["bandwidth"] / max(memory, 1))
    low, high = dict(causes), dict(causes)
    low["bandwidth"], high["bandwidth"] = memory * min(shares), memory * max(shares)
    low["latency"], high["latency"] = memory - high["bandwidth"], memory - low["bandwidth"]
    return low, high


def line_cycles(root, machine):
    """What a line takes at least, from the place where that is most."""
    levels = {level["name"]: level for level in root["levels"]}

    def lines_of(name):
        return sum(value_of(levels[name][kind]) for kind in ("lines_demand", "lines_ownership", "lines_prefetch"))
    lines = lines_of("L1")
    memory = 64 * machine["gigahertz"] / machine["core_gbs"]
    return lines, max(machine["L2"], lines_of("L2") / max(lines, 1) * machine["L3"],
                      value_of(root["counts"]["memory_reads"]) / max(lines, 1) * memory)


def events_of(root, machine):
    """What the machine's counters count, in the order of struct fm_stall_events."""
    cycles = {name: value_of(figure) for name, figure in root["cycles"].items() if name != "stalls"}
    lines, each = line_cycles(root, machine)
    misses = next(value_of(level["load_misses"]) for level in root["levels"] if level["name"] == "L1")
    walks = machine["penalties"][-1] * value_of(root["counts"][f"tlb_misses_{len(machine['penalties'])}"])
    return {"active": cycles["active"], "no_execute": cycles["stall"], "load_pending": cycles["miss_pending_stall"],
            "stores_full": cycles["store_buffer_full"], "fill_full": cycles["fill_buffers_full"], "queue_full": cycles["super_queue_full"],
            "lines": lines, "line_cycles": each, "lookups": misses * machine["first"], "misses_pending": cycles["miss_pending"],
            "walks": walks}


def decompose(arguments, events):
    """By the formula, and corrected: the product's own code."""
    done = subprocess.run([arguments.decompose, *(str(value) for value in events.values())], capture_output=True, text=True, check=True)
    return [dict(zip(PARTS, map(float, line.split()))) for line in done.stdout.splitlines()]


def off(told, low, high):
    return max(max(low[name] - told[name], told[name] - high[name], 0) for name in PARTS)


def is_wrong(told, low, high):
    most = max(PARTS, key=told.get)
    return any(low[name] > high[most] for name in PARTS)


def judge(arguments, machines, seed):
    made = subprocess.run([arguments.generator, "--seed", str(seed), "--levels", arguments.levels, "--translations", "1024", "--gigahertz", "2.5",
                           "--seconds", str(arguments.seconds), "--out", arguments.work], capture_output=True, text=True, check=True)
    path = os.path.join(arguments.work, made.stdout.strip())
    subprocess.run([arguments.compiler, "-O2", "-pthread", path + ".c", "-o", path, "-lm"], check=True, capture_output=True)
    truth = json.load(open(path + ".json"))
    row = {"seed": seed, "cause": truth["cause"], "phases": [f"{phase['kind']}:{phase['level']}" for phase in truth["phases"]]}
    plain = stat(arguments, machines[0], path)
    row["causes"], active = causes_of(plain)
    row["times"] = [active] + [value_of(stat(arguments, machine, path)["cycles"]["active"]) for machine in machines[1:]]
    row["low"], row["high"] = truth_of(row["causes"], row["times"])
    row["events"] = events_of(plain, arguments.described)
    row["formula"], row["corrected"] = decompose(arguments, row["events"])
    return row


def print_row(row):
    def parts(shares):
        return " ".join(f"{shares[name]:3.0f}" for name in PARTS)

    def verdict(told):
        return f"({off(told, row['low'], row['high']):2.0f}){' WRONG' if is_wrong(told, row['low'], row['high']) else '':6}"
    print(f"{row['seed']:5} causes {parts(row['causes'])}  bandwidth {row['low']['bandwidth']:3.0f} … {row['high']['bandwidth']:3.0f}  "
          f"formula {parts(row['formula'])} {verdict(row['formula'])} corrected {parts(row['corrected'])} {verdict(row['corrected'])} "
          f"{row['cause']:17} {' + '.join(row['phases'])}", flush=True)


def seeds_of(text):
    for one in text.split(","):
        first, _, last = one.partition("-")
        yield from range(int(first), int(last or first) + 1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fathom")
    parser.add_argument("--generator", required=True)
    parser.add_argument("--decompose", required=True)
    parser.add_argument("--seeds", default="3000-3049")
    parser.add_argument("--machine", required=True)
    parser.add_argument("--last", type=int, default=2621440)
    parser.add_argument("--seconds", type=float, default=0.004)
    parser.add_argument("--work")
    parser.add_argument("--keep")
    parser.add_argument("--compiler", default="gcc")
    arguments = parser.parse_args()
    arguments.work = arguments.work or tempfile.mkdtemp(prefix="fathom-decompose-")
    os.makedirs(arguments.work, exist_ok=True)
    text = re.sub(r"(cache L3 .*?size=)\S+", rf"\g<1>{arguments.last}", open(arguments.machine).read())
    sizes = {name: re.search(rf"cache {name} .*?size=(\d+)(KiB)?", text) for name in ("L1", "L2", "L3")}
    arguments.levels = ",".join(f"{name}={int(found.group(1)) * (1024 if found.group(2) else 1)}" for name, found in sizes.items())
    machines = []
    for name, limits in (("as-it-is", (False, False)), ("wide", (True, False)), ("near", (False, True)), ("ideal", (True, True))):
        machines.append(os.path.join(arguments.work, name + ".machine"))
        open(machines[-1], "w").write(without(text, *limits))
    intervals = {name: float(re.search(rf"cache {name} .*? interval=([0-9.]+)", text).group(1)) for name in ("L2", "L3")}
    arguments.described = {**intervals, "penalties": [int(one) for one in re.findall(r"^tlb .*?penalty=(\d+)", text, re.M)], "first": int(re.search(r"cache L1 .*?latency=(\d+)", text).group(1)),
                           "gigahertz": float(re.search(r"frequency=([0-9.]+)", text).group(1)),
                           "core_gbs": float(re.search(r" core_gbs=([0-9.]+)", text).group(1))}
    rows, failed = [], 0
    for seed in seeds_of(arguments.seeds):
        try:
            row = judge(arguments, machines, seed)
        except (RuntimeError, subprocess.CalledProcessError, KeyError, TypeError) as reason:
            print(f"{seed:5} FAILED: {type(reason).__name__} {reason}", flush=True)
            failed += 1
            continue
        print_row(row)
        rows.append(row)
        if arguments.keep:
            json.dump(rows, open(arguments.keep, "w"), indent=1)
    print(f"{len(rows)} programs, {failed} failed")
    for name in ("formula", "corrected"):
        wrong = sum(is_wrong(row[name], row["low"], row["high"]) for row in rows)
        far = sum(off(row[name], row["low"], row["high"]) > FAR for row in rows)
        worst = max((off(row[name], row["low"], row["high"]) for row in rows), default=0)
        strictly = sum(max(PARTS, key=row[name].get) != max(PARTS, key=row["causes"].get) for row in rows)
        print(f"{name:10} dominant cause wrong in {wrong}, more than {FAR} points off in {far}, worst {worst:.0f}; "
              f"dominant cause wrong by the simulator's causes alone in {strictly}")


main()
