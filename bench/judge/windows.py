#!/usr/bin/env python3
"""Judges windows: the same programs natively, through windows, and with every access seen, on one machine description.

    windows.py FATHOM MIXES [--machine haswell-ep] [--commands FILE --draw N --seed S] [--slowdown 2] [--shortest 1]
               [--longest 12] [--no-mixes] [--no-timing] [--only NAME,...] [--timeout SECONDS] [--json FILE] [--verbose]
               [--keep FOLDER [--keep-only]]

FILE has a shell command per line (# comments); N of them are drawn by lot, those that fail or do not take --shortest to
--longest seconds natively are passed over. The commands of commands.txt read FATHOM_LOT, the folder that inputs.sh
made. Time is that of `fathom stat` without options, everything included; counts and patterns are those of the machine,
through windows and with every access seen (core timing of stretches in both; --no-timing: none of the latter, which is two
to three times faster, and no patterns that need cycles).

Runs in which every access is seen take long and need no quiet machine: --keep has them kept in FOLDER and found there
again; --keep-only makes them and nothing else.

Prints a row per program and a summary: time over native time, difference of the bytes at each level, whether the stated
intervals hold and how wide they are, and whether the patterns' verdicts are those of the exact run: equal, inconclusive
(in one of the two runs only) or contradictory (present in one, absent in the other).
A level whose exact traffic is below 0.1 % of what the program loads and stores counts for intervals only."""
import argparse, hashlib, json, math, os, random, re, signal, statistics, subprocess, sys, tempfile, time

MIXES = ["triad 3", "chase", "chase-l2", "gather-l3", "gather 2", "columns 3", "product", "copies 8", "compute 2",
         "hashing 2", "sorting", "sharing 6", "phases"]
KINDS = ["read_bytes", "allocate_bytes", "write_bytes"]
NAMED = ["load_hits", "load_misses", "store_hits", "store_misses", "lines_demand", "lines_ownership",
         "lines_prefetch", "lines_written"]
COUNTS = ["loads", "stores", "load_bytes", "store_bytes", "instructions", "memory_reads", "memory_writes"]
VERDICTS = ["equal", "inconclusive", "contradictory"]


def timed(arguments, command):
    """Seconds and status; the status is None when the time was up. In a folder of its own, for what programs leave."""
    with tempfile.TemporaryDirectory() as folder:
        begun = time.monotonic()
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL, cwd=folder, start_new_session=True)
        try:
            status = process.wait(arguments.timeout)
        except BaseException as reason:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            if not isinstance(reason, subprocess.TimeoutExpired):
                raise
            status = None
        return time.monotonic() - begun, status


def natively(arguments, command):
    """The shorter of two runs; a command that is passed over anyway is run once."""
    seconds, status = timed(arguments, command)
    if status == 0 and seconds >= arguments.shortest:
        seconds = min(seconds, timed(arguments, command)[0])
    return seconds, status


def observe(arguments, more, command):
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        seconds, status = timed(arguments, [arguments.fathom, "stat", "--json", "-o", result.name, "--machine",
                                            arguments.machine, *more, "--", *command])
        try:
            return seconds, status, json.load(open(result.name))
        except (OSError, ValueError):
            return seconds, status, None


def see_everything(arguments, command):
    """As observe(), with every access; from the folder of kept runs if it is there."""
    more = ["--counters", "exact", "--engine", "native", *([] if arguments.no_timing else ["--timing=sampled"])]
    if not arguments.keep:
        return observe(arguments, more, command)
    key = hashlib.sha256(json.dumps([arguments.machine, more, command]).encode()).hexdigest()
    path = os.path.join(arguments.keep, key[:24] + ".json")
    try:
        return tuple(json.load(open(path)))
    except (OSError, ValueError):
        result = observe(arguments, more, command)
    if result[1] == 0 and result[2]:
        with open(path, "w") as file:
            json.dump(result, file)
    return result


def figures(root):
    """(name, figure) of everything that is compared."""
    for name, figure in (root.get("counts") or {}).items():
        if name in COUNTS and figure:
            yield name, figure
    for level in root.get("levels") or []:
        for name in KINDS + NAMED:
            if level.get(name):
                yield level["name"] + "." + name, level[name]


def verdicts(root):
    return {(pattern["group"], pattern["name"]): pattern["verdict"] for pattern in root.get("patterns") or []}


def compare_patterns(seen, exact):
    counts, differing = dict.fromkeys(VERDICTS, 0), []
    exact_verdicts = verdicts(exact)
    for key, verdict in verdicts(seen).items():
        true = exact_verdicts.get(key)
        if true is None:
            continue
        agreement = "equal" if verdict == true else "inconclusive" if "inconclusive" in (verdict, true) else "contradictory"
        counts[agreement] += 1
        if agreement != "equal":
            differing.append({"name": key[1], "group": key[0], "windows": verdict, "exact": true})
    return counts, differing


def compare_figures(seen, exact):
    """A row for each figure that both have; "off" and "half_width" only where the traffic is worth comparing."""
    truth = {key: figure["value"] for key, figure in figures(exact) if figure.get("value") is not None}
    scale = truth["load_bytes"] + truth["store_bytes"]
    rows = []
    for key, figure in figures(seen):
        value, true = figure.get("value"), truth.get(key)
        if value is None or true is None:
            continue
        low, high = figure.get("low"), figure.get("high")
        low, high = value if low is None else low, value if high is None else high
        row = {"name": key, "value": value, "low": low, "high": high, "exact": true, "held": low <= true <= high,
               "off": None, "half_width": None}
        unit = 64 if "bytes" not in key else 1
        if true * unit >= 0.001 * scale and true and key != "instructions":
            row["off"] = abs(value / true - 1)
            row["half_width"] = (high - low) / 2 / value if value else math.inf
        rows.append(row)
    return rows


def median_of(rows, name):
    values = [row[name] for row in rows if row[name] is not None]
    return statistics.median(values) if values else math.nan


def judge(arguments, name, command, native):
    """A row, or None where a run failed; prints either."""
    if arguments.keep_only:
        seconds, status, _ = see_everything(arguments, command)
        print(f"{name:40} {native:6.2f} s  exact {seconds:6.1f} s, status {status}", flush=True)
        return {"name": name, "command": command, "native_seconds": native, "failed": {"windows": "not run"}}
    seconds, status = timed(arguments, [arguments.fathom, "stat", "--json", "-o", "/dev/null", "--slowdown",
                                        arguments.slowdown, "--", *command])
    _, seen_status, seen = observe(arguments, ["--counters", "windows", "--slowdown", arguments.slowdown], command)
    status = status or seen_status
    exact_seconds, exact_status, exact = see_everything(arguments, command)
    row = {"name": name, "command": command, "native_seconds": native, "seconds": seconds,
           "exact_seconds": exact_seconds, "status": status, "exact_status": exact_status}
    # The tool ends with the program's status, which was 0 natively: anything else is a failure, whatever was written.
    ended = {label: "ok" if one == 0 and root else "time was up" if one is None else f"status {one}" if one else "no result"
             for label, one, root in (("windows", status, seen), ("exact", exact_status, exact))}
    if list(ended.values()) != ["ok", "ok"]:
        row["failed"] = ended
        print(f"{name:40} {native:6.2f} s  failed: windows {ended['windows']}, exact {ended['exact']}", flush=True)
        return row
    row["figures"] = compare_figures(seen, exact)
    row["patterns"], row["patterns_differing"] = compare_patterns(seen, exact)
    row["windows"] = (seen.get("coverage") or {}).get("windows", 0)
    row["off"], row["half_width"] = median_of(row["figures"], "off"), median_of(row["figures"], "half_width")
    row["held"], row["compared"] = sum(figure["held"] for figure in row["figures"]), len(row["figures"])
    if arguments.verbose:
        for figure in row["figures"]:
            print(f"    {figure['name']:28} {figure['value']:>14.5g} [{figure['low']:.5g}, {figure['high']:.5g}] "
                  f"{figure['exact']:>14.5g} {'' if figure['held'] else 'MISSED'}")
        for pattern in row["patterns_differing"]:
            print(f"    {pattern['group']}: {pattern['name']}: {pattern['windows']}, exact {pattern['exact']}")
    print(f"{name:40} {native:6.2f} s  windows {seconds / native:5.2f}x  exact {exact_seconds / native:6.1f}x  "
          f"{row['windows']:4} windows  off {100 * row['off']:5.1f} %  held {row['held']}/{row['compared']}  "
          f"half-width {100 * row['half_width']:5.1f} %  "
          f"patterns {'/'.join(str(row['patterns'][one]) for one in VERDICTS)}", flush=True)
    return row


def summary(rows):
    judged = [row for row in rows if "failed" not in row]
    if not judged:
        return None
    all_figures = [figure for row in judged for figure in row["figures"]]
    native = sum(row["native_seconds"] for row in judged)
    ratios = [row["seconds"] / row["native_seconds"] for row in judged]
    return {"programs": len(judged), "failed": len(rows) - len(judged), "native_seconds": native,
            "seconds": sum(row["seconds"] for row in judged), "exact_seconds": sum(row["exact_seconds"] for row in judged),
            "time_mean": statistics.geometric_mean(ratios), "time_worst": max(ratios),
            "off": median_of(all_figures, "off"), "off_count": sum(figure["off"] is not None for figure in all_figures),
            "held": sum(figure["held"] for figure in all_figures), "compared": len(all_figures),
            "half_width": median_of(all_figures, "half_width"),
            "patterns": {one: sum(row["patterns"][one] for row in judged) for one in VERDICTS}}


def print_summary(total):
    print(f"{total['programs']} programs ({total['failed']} failed): time {total['time_mean']:.2f}x (worst "
          f"{total['time_worst']:.2f}), difference {100 * total['off']:.1f} % (median of {total['off_count']}), intervals "
          f"hold in {100 * total['held'] / max(total['compared'], 1):.1f} % of {total['compared']}, half-width "
          f"{100 * total['half_width']:.1f} % (median)")
    print(f"total: native {total['native_seconds']:.1f} s, windows {total['seconds']:.1f} s "
          f"({total['seconds'] / total['native_seconds']:.2f}x), exact {total['exact_seconds']:.1f} s "
          f"({total['exact_seconds'] / total['native_seconds']:.1f}x)")
    print("patterns: " + ", ".join(f"{total['patterns'][one]} {one}" for one in VERDICTS))


def candidates(arguments):
    """Lines of the list in the order of the lot."""
    with open(arguments.commands) as file:
        lines = [line.strip() for line in file]
    lines = [line for line in lines if line and not line.startswith("#")]
    if any("FATHOM_LOT" in line for line in lines) and not os.environ.get("FATHOM_LOT"):
        sys.exit("windows.py: set FATHOM_LOT to the folder that inputs.sh made")
    return random.Random(arguments.seed).sample(lines, len(lines))


def finite(value):
    """JSON has neither infinity nor "not a number"."""
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fathom")
    parser.add_argument("mixes")
    parser.add_argument("--machine", default="haswell-ep")
    parser.add_argument("--commands")
    parser.add_argument("--draw", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--slowdown", default="2")
    parser.add_argument("--shortest", type=float, default=1)
    parser.add_argument("--longest", type=float, default=12)
    parser.add_argument("--no-mixes", action="store_true")
    parser.add_argument("--no-timing", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--timeout", type=float, default=900)
    parser.add_argument("--json")
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep")
    parser.add_argument("--keep-only", action="store_true")
    arguments = parser.parse_args()
    arguments.fathom, arguments.mixes = os.path.abspath(arguments.fathom), os.path.abspath(arguments.mixes)
    # The same run each time: interpreters would draw the seeds of their hash tables anew.
    os.environ.update(LC_ALL="C", PYTHONHASHSEED="0", PERL_HASH_SEED="0")
    if arguments.keep:
        os.makedirs(arguments.keep, exist_ok=True)
        arguments.keep = os.path.abspath(arguments.keep)
    elif arguments.keep_only:
        parser.error("--keep-only keeps nothing without --keep")
    if os.environ.get("FATHOM_LOT"):
        os.environ["FATHOM_LOT"] = os.path.abspath(os.environ["FATHOM_LOT"])

    def wanted(name):
        return not arguments.only or any(one in name for one in arguments.only.split(","))

    rows, skipped = [], []

    def write():
        """After each program, so that a run that is ended early leaves what it has."""
        if arguments.json:
            content = {"arguments": vars(arguments), "rows": rows, "skipped": skipped, "total": summary(rows)}
            with open(arguments.json, "w") as file:
                json.dump(finite(content), file, indent=1)

    def skip(name, command, native, why):
        print(f"{name:40} skipped: {why}", flush=True)
        skipped.append({"name": name, "command": command, "native_seconds": native, "why": why})

    for mix in filter(wanted, [] if arguments.no_mixes else MIXES):
        command = [arguments.mixes, *mix.split()]
        native, status = natively(arguments, command)
        if status == 0:
            rows.append(judge(arguments, mix, command, native))
        else:
            skip(mix, command, native, "natively the time was up" if status is None else f"natively status {status}")
        write()
    drawn = 0
    for line in candidates(arguments) if arguments.commands else []:
        name, command = re.sub(r"\S*/", "", line.split(" >")[0])[:40], ["sh", "-c", "exec " + line]
        if drawn == arguments.draw:
            break
        if not wanted(name):
            continue
        native, status = natively(arguments, command)
        if status == 0 and arguments.shortest <= native <= arguments.longest:
            rows.append(judge(arguments, name, command, native))
            drawn += 1
        else:
            skip(name, command, native, "natively the time was up" if status is None
                 else f"natively status {status}" if status else f"natively {native:.2f} s")
        write()
    write()
    total = summary(rows)
    if total:
        print_summary(total)


if __name__ == "__main__":
    main()
