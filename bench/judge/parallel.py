#!/usr/bin/env python3
"""Judges `fathom stat` on parallel programs: native run time, processor time, cost, and leading verdict.

    parallel.py FATHOM PROGRAM [--threads 2,16] [--kinds triad,lock] [--seconds 1] [--rounds 3] [--commands FILE]
                [--keep FILE] [--option --counters=counted ...]

PROGRAM is bench/judge/parallel.c, compiled with -O2 -fopenmp. Each kind gets an amount of work that takes --seconds
natively. Then native runs and `fathom stat` take turns, --rounds times. FILE has a shell command per line, with {threads}
for the number of threads. Prints a row per case and round medians, then a summary; --keep writes all as JSON."""
import argparse, json, math, os, resource, statistics, subprocess, sys, tempfile, time

# Leading causes that are right. A cause that depends on the machine has several.
CAUSES = {"triad": ["bandwidth:memory", "bandwidth:L3"], "stencil": ["bandwidth:memory", "bandwidth:L3", "bandwidth:L2", "latency:L2", "core"],
          "gather": ["latency:memory", "latency:L3", "tlb", "bandwidth:memory", "erratic"],
          "chase": ["latency:memory", "latency:L3", "tlb", "erratic"],
          "compute": ["core", "instruction-throughput", None], "private": ["core", "instruction-throughput", None],
          "copy": ["bandwidth:L2", "core", "instruction-throughput", "bandwidth:L1", None], "false": ["false-sharing"],
          "padded": ["core", "instruction-throughput", None], "true": ["synchronisation"], "lock": ["synchronisation"],
          "triangle": ["imbalance"], "serial": ["imbalance", "synchronisation"], "fine": ["synchronisation"],
          "spin": ["synchronisation", "imbalance"], "pipeline": ["core", "instruction-throughput", None],
          "churn": ["core", "instruction-throughput", "synchronisation", None],
          "tasks": ["core", "instruction-throughput", "branches", None], "crowd": ["core", "instruction-throughput", "synchronisation", None],
          "product": ["core", "instruction-throughput", "bandwidth:L1", "bandwidth:L2", None]}
MINOR = {"code-composition"}  # never the cause


def run(command, timeout):
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        output, _ = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"status": process.returncode, "wall": time.monotonic() - begun, "output": output.decode(errors="replace"),
            "cpu": after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime}


def amount(arguments, kind, threads):
    """Work that takes the wanted time."""
    work = 4
    for _ in range(20):
        one = run([arguments.program, kind, str(threads), str(work)], 60)
        other = run([arguments.program, kind, str(threads), str(2 * work)], 60)
        if not one or not other:
            return work
        if other["wall"] > arguments.seconds / 3:
            per = max(1e-9, (other["wall"] - one["wall"]) / work)
            return max(1, int(work + (arguments.seconds - one["wall"]) / per)) if per * work > 0.02 * other["wall"] else 2 * work
        work *= 4
    return work


def leading(report):
    present = [p for p in report["patterns"] if p["verdict"] == "present" and p["name"] not in MINOR]
    return (present[0]["name"], present[0]["confidence"]) if present else (None, None)


def look(arguments, command):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "stat.json")
        one = run([arguments.fathom, "stat", "--json", "-o", path] + arguments.option + ["--"] + command, arguments.timeout)
        if not one:
            return None
        try:
            one["report"] = json.load(open(path))
        except (OSError, ValueError):
            return None
    return one


def wall_of(report):
    for name in ("elapsed", "seconds"):
        if isinstance(report.get(name), dict):
            return report[name]
    return None


def case(arguments, name, threads, command):
    native, seen = [], []
    for _ in range(arguments.rounds):
        native.append(run(command, arguments.timeout))
        seen.append(look(arguments, command))
    native.append(run(command, arguments.timeout))
    native = [n for n in native if n]
    good = [s for s in seen if s]
    if not native or not good:
        print(f"{name:10} {threads:3}  failed")
        return {"name": name, "threads": threads, "failed": True}
    wall, cpu = (statistics.median(n[key] for n in native) for key in ("wall", "cpu"))
    spread = sorted(n["wall"] for n in native)
    walls = [wall_of(s["report"]) for s in good]
    row = {"name": name, "threads": threads, "native_wall": wall, "native_cpu": cpu, "native_walls": spread,
           "walls": [w and w["value"] for w in walls],
           "cpus": [s["report"]["native"]["cpu_seconds"] for s in good],
           "holds": [bool(w) and w["low"] <= spread[-1] and w["high"] >= spread[0] for w in walls],
           "cost": [s["wall"] for s in good], "verdicts": [leading(s["report"]) for s in good],
           "same": all(s["output"].startswith(native[0]["output"]) for s in good),
           "traffic": [[(l["name"], l["read_bytes"] and (l["read_bytes"]["value"], l["read_bytes"]["low"], l["read_bytes"]["high"]))
                        for l in s["report"]["levels"]] for s in good],
           "instructions": [(s["report"]["counts"].get("instructions") or {}).get("value") for s in good],
           "command": command}
    row["wall_error"] = statistics.median(abs(w / wall - 1) for w in row["walls"] if w) if any(row["walls"]) else None
    row["cpu_error"] = statistics.median(abs(c / cpu - 1) for c in row["cpus"])
    row["cost_ratio"] = statistics.median(row["cost"]) / wall
    if name in CAUSES:
        right = list(CAUSES[name])
        if wall and cpu / wall < 0.75 * threads:  # processors are of different speed, or other guests have them
            right.append("imbalance")
        if threads < 4 and name in ("serial", "spin"):  # less than a quarter of the time is lost
            right.append(None)
        row["right"] = [v[0] in right for v in row["verdicts"]]
    error = "    n/a" if row["wall_error"] is None else f"{100 * row['wall_error']:6.1f}%"
    print(f"{name:10} {threads:3}  {wall:6.2f} s {error} {sum(row['holds'])}/{len(good)}  cpu {cpu:7.2f} s {100 * row['cpu_error']:6.1f}%"
          f"  cost {row['cost_ratio']:5.2f}  {'' if row['same'] else 'OUTPUT DIFFERS '}"
          + " ".join(f"{v[0]}:{v[1]:.2f}" if v[0] else "-" for v in row["verdicts"])
          + ("" if "right" not in row else f"  {sum(row['right'])}/{len(good)} right"), flush=True)
    return row


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fathom")
    parser.add_argument("program")
    parser.add_argument("--threads", default="2")
    parser.add_argument("--kinds", default=",".join(CAUSES))
    parser.add_argument("--seconds", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--commands")
    parser.add_argument("--keep")
    parser.add_argument("--option", action="append", default=[])
    arguments = parser.parse_args()
    rows = []
    for threads in map(int, arguments.threads.split(",")):
        for kind in filter(None, arguments.kinds.split(",")):
            work = amount(arguments, kind, threads)
            rows.append(case(arguments, kind, threads, [arguments.program, kind, str(threads), str(work)]))
        for line in open(arguments.commands) if arguments.commands else []:
            if line.strip() and not line.startswith("#"):
                command = line.strip().replace("{threads}", str(threads))
                rows.append(case(arguments, command.split()[0].split("/")[-1], threads, ["sh", "-c", "exec " + command]))
        if arguments.keep:
            json.dump(rows, open(arguments.keep, "w"), indent=1)
    for threads in sorted({r["threads"] for r in rows}):
        own = [r for r in rows if r["threads"] == threads and not r.get("failed")]
        if not own:
            continue
        errors = [r["wall_error"] for r in own if r["wall_error"] is not None]
        cpus = [r["cpu_error"] for r in own]
        costs = [r["cost_ratio"] for r in own]
        judged = [x for r in own for x in r.get("right", [])]
        holds = [x for r in own for x in r["holds"]]
        print(f"{threads} threads, {len(own)} programs: wall {100 * statistics.median(errors):.1f} % (median), "
              f"{100 * sorted(errors)[int(0.9 * (len(errors) - 1))]:.0f} % (nine tenths), worst {100 * max(errors):.0f} %; "
              f"processor time {100 * statistics.median(cpus):.1f} %, worst {100 * max(cpus):.0f} %; "
              f"intervals hold {sum(holds)}/{len(holds)}; "
              f"cost {math.exp(statistics.mean(map(math.log, costs))):.2f} (geometric mean), worst {max(costs):.2f}; "
              f"cause right {sum(judged)}/{len(judged)}; output differs {sum(not r['same'] for r in own)}")


main()
