#!/usr/bin/env python3
"""Judges predicted time and causes of stalled cycles: generated programs, whose cause is known, and programs drawn by lot.

    predict.py FATHOM --generator PROGRAM --seeds 1000-1059 [--threads 2] [--seconds 1.5] [--levels L1=...,L2=...,L3=...]
               [--commands FILE --lot SEED --count 15] [--shortest 0.5] [--longest 12]
               [--exact] [--runs 5] [--work FOLDER] [--keep FILE] [--verdicts FILE] [--timeout SECONDS] [--compiler gcc]

Each program is measured natively --runs times, then looked at by `fathom stat --json` (through windows, on the simulated
host); --exact: by `fathom stat --machine host --timing`, with every access seen. Sizes are relative to the caches of the
machine profile: L1 and L2 as measured, the effective L3, and memory well beyond the advertised L3; --levels overrides.

Measured is user time, the least and the median of the runs. If threads are simulated and the result has no threads_time,
it is time of the wall clock without the kernel's share, since that is what `predicted` means then.

FILE has a shell command per line, as for windows.py; --count of them are drawn by lot, those that fail or do not take
--shortest to --longest seconds natively are passed over, and named. No cause is known of these.

Prints a line for each program, then a summary. A program that cannot be compiled, run or predicted is printed as failed and
counts as one whose time and cause are wrong. --keep writes everything as JSON, after each program;
--verdicts what was said of generated programs, as `confidence.py collect --way windows` does, for `confidence.py judge`."""
import argparse, json, math, os, random, re, resource, signal, statistics, subprocess, sys, tempfile, time

# A program is stalled by nothing if fewer of its cycles than this executed nothing.
LITTLE = 0.25
WITHIN = 0.35
# What the simulator tells apart and the generator does not.
SAME = {"none": "front_end", "latency_remote": "latency_memory", "bandwidth_remote": "bandwidth_memory",
        "latency_core": "sharing", "bandwidth_core": "sharing"}


def run(arguments, command):
    """Status (None when the time was up), seconds of the wall clock, user and system seconds."""
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
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
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return {"status": status, "wall": time.monotonic() - begun, "user": after.ru_utime - before.ru_utime,
            "system": after.ru_stime - before.ru_stime}


def user_time(one):
    return one["user"]


def outside_kernel(one):
    """Of the time of the wall clock, what was not the kernel's: what `predicted` means for threads without threads_time."""
    processor = one["user"] + one["system"]
    return one["wall"] * one["user"] / processor if processor > 0 else 0


def set_measured(row, of_run):
    times = [of_run(one) for one in row["runs"]]
    row["measured"] = {"least": min(times), "median": statistics.median(times),
                       "system": statistics.median(one["system"] for one in row["runs"]),
                       "wall": statistics.median(one["wall"] for one in row["runs"])}


def measure(arguments, row, command):
    row["runs"] = []
    for _ in range(arguments.runs):
        one = run(arguments, command)
        if one["status"] != 0:
            row["failed"] = "natively the time was up" if one["status"] is None else f"natively status {one['status']}"
            return
        row["runs"].append(one)
    set_measured(row, user_time)


def value_of(figure):
    return figure.get("value") if isinstance(figure, dict) else figure


def add_threads(root, shares):
    """Of all threads' time: what they wait for each other, beside the stalls of their own work."""
    times = (root.get("native") or {}).get("threads_time")
    if times:
        parts = {name: value_of(times.get(name)) or 0 for name in ("work", "sharing", "spinning", "waiting")}
        whole = sum(parts.values())
        if whole > 0:
            # what the simulator takes for handing lines over is in `sharing`, measured contention included
            shares = {name: share * parts["work"] / whole for name, share in shares.items() if name != "sharing"}
            shares.update(sharing=parts["sharing"] / whole, waiting=(parts["spinning"] + parts["waiting"]) / whole)
        return shares
    waiting = [value_of(pattern.get("metric")) for pattern in root.get("patterns") or []
               if pattern["name"] == "synchronisation"]
    if waiting and waiting[0]:
        shares = {name: share * (1 - waiting[0]) for name, share in shares.items()}
        shares["waiting"] = waiting[0]
    return shares


def found_cause(root):
    """The dominant cause of stalled cycles, and every cause's share of the active cycles."""
    cycles = root.get("cycles") or {}
    stalls, active = cycles.get("stalls"), value_of(cycles.get("active"))
    if not stalls or not active:
        return None, {}
    shares = {}
    for name, figure in stalls.items():
        name = SAME.get(name, name)
        shares[name] = shares.get(name, 0) + (value_of(figure) or 0) / active
    shares = add_threads(root, shares)
    if sum(shares.values()) < LITTLE:
        return "none", shares
    return max(shares, key=shares.get), shares


def predict(arguments, row, command):
    how = ["--machine", "host", "--timing"] if arguments.exact else []
    with tempfile.NamedTemporaryFile(suffix=".json") as result:
        one = run(arguments, [arguments.fathom, "stat", "--json", "-o", result.name, *how, "--", *command])
        row["fathom_seconds"] = one["wall"]
        try:
            root = json.load(open(result.name))
        except (OSError, ValueError):
            root = None
    if one["status"] != 0 or not root:
        row["failed"] = "stat: the time was up" if one["status"] is None else f"stat: status {one['status']}" \
            if one["status"] else "stat: no result"
        return
    predicted = root.get("predicted") or {}
    row["predicted"] = value_of(predicted)
    row["predicted_low"], row["predicted_high"] = predicted.get("low"), predicted.get("high")
    native = root.get("native") or {}
    row["predicted_kernel"] = value_of(native.get("predicted_page_fault_seconds"))
    row["threads_time"] = native.get("threads_time")
    row["doubtful"], row["engine"] = root.get("doubtful"), (root.get("coverage") or {}).get("engine")
    row["windows"] = (root.get("coverage") or {}).get("windows")
    row["patterns"] = [{name: entry.get(name) for name in ("name", "group", "verdict", "confidence", "metric")} for entry in root["patterns"]]
    row["own_user_seconds"] = value_of(native.get("user_seconds"))
    row["found"], row["stall_shares"] = found_cause(root)
    if row["predicted"] is None:
        row["failed"] = "no predicted time: " + str(root.get("predicted_why") or root.get("cycles_why") or "no reason given")
        return
    if len(root.get("threads") or []) > 1 and not row["threads_time"]:
        set_measured(row, outside_kernel)
    for reference in ("least", "median"):
        row["error_" + reference] = row["predicted"] / row["measured"][reference] - 1 if row["measured"][reference] > 0 \
            else math.inf


def describe(truth):
    return " + ".join(f"{phase['kind']}:{phase['level']}" + (f" {100 * phase['share']:.0f}%" if phase["share"] < 1 else "")
                      for phase in truth["phases"])


def generate(arguments, seed):
    """A row with the command to run, or why there is none."""
    row = {"name": f"seed {seed}", "seed": seed}
    made = subprocess.run([arguments.generator, "--seed", str(seed), "--levels", arguments.levels, "--seconds",
                           str(arguments.seconds), "--threads", str(arguments.threads), "--out", arguments.work],
                          capture_output=True, text=True)
    if made.returncode:
        row["failed"] = "generator: " + made.stderr.strip()
        return row
    path = os.path.join(arguments.work, made.stdout.strip())
    row["truth"] = truth = json.load(open(path + ".json"))
    row["name"], row["kinds"] = made.stdout.strip(), describe(truth)
    built = subprocess.run([arguments.compiler, "-O2", "-pthread", path + ".c", "-o", path, "-lm"], capture_output=True,
                           text=True)
    if built.returncode:
        row["failed"] = "compiler: " + built.stderr.strip()[:200]
    row["command"] = [path]
    return row


def judge(arguments, row):
    if "failed" not in row and "measured" not in row:
        measure(arguments, row, row["command"])
    if "failed" not in row:
        predict(arguments, row, row["command"])
    if "truth" in row:
        row["right"] = "failed" not in row and row.get("found") in row["truth"]["accept"]


def print_row(row):
    measured, truth = row.get("measured"), row.get("truth")
    text = f"{row['name']:22.22} "
    text += f"{measured['least']:7.3f} {measured['median']:7.3f} " if measured else f"{'-':>7} {'-':>7} "
    if row.get("predicted") is not None and "error_least" in row:
        text += f"{row['predicted']:7.3f} {100 * row['error_least']:+7.1f} % {'DOUBT' if row.get('doubtful') else '     '} "
    else:
        text += f"{'-':>7} {'-':>9} {'':5} "
    kernel = row.get("predicted_kernel")
    text += (f"{kernel:6.3f}" if kernel is not None else f"{'-':>6}") + \
        (f" {measured['system']:6.3f} " if measured else f" {'-':>6} ")
    if truth:
        text += f"{truth['cause']:17} {row.get('found') or '-':17} {'right' if row['right'] else 'WRONG':5} "
    else:
        text += f"{'-':17} {row.get('found') or '-':17} {'':5} "
    print(text + row.get("kinds", "") + (f"  FAILED: {row['failed']}" if "failed" in row else ""), flush=True)


def main_kind(row):
    phases = row["truth"]["phases"]
    main = max(phases, key=lambda phase: phase["share"])
    return main["kind"] + ":" + main["level"]


def part(rows):
    """Failures are infinitely wrong."""
    result = {"programs": len(rows), "failed": sum("failed" in row for row in rows),
              "doubtful": sum(bool(row.get("doubtful")) for row in rows)}
    for reference in ("least", "median"):
        errors = [abs(row.get("error_" + reference, math.inf)) if "failed" not in row else math.inf for row in rows]
        result[reference] = {"median_error": statistics.median(errors),
                             "within": sum(error <= WITHIN for error in errors) / len(errors)}
    known = [row for row in rows if "right" in row]
    result["causes"], result["right"] = len(known), sum(row["right"] for row in known)
    return result


def print_part(name, rows):
    total = part(rows)
    text = f"{name:28} {total['programs']:8} {total['failed']:6} {total['doubtful']:5}"
    for reference in ("least", "median"):
        text += f"  {100 * total[reference]['median_error']:7.1f} % {100 * total[reference]['within']:6.1f} %"
    if total["causes"]:
        text += f"  {total['right']:3}/{total['causes']:3} = {100 * total['right'] / total['causes']:5.1f} %"
    print(text)


def print_summary(rows):
    generated, drawn = [row for row in rows if "seed" in row], [row for row in rows if "seed" not in row]
    kinds = {}
    for row in generated:
        kinds.setdefault(main_kind(row) if "truth" in row else "-", []).append(row)
    print(f"\n{'kind with most of the time' if generated else '':28} programs failed doubt  error (median, within {100 * WITHIN:.0f} %)"
          "  the same against the median  causes right")
    for kind in sorted(kinds):
        print_part(kind, kinds[kind])
    print()
    if generated:
        print_part("generated", generated)
    if drawn:
        print_part("drawn by lot", drawn)


def profile_levels():
    """As the generator wants them."""
    data = os.environ.get("XDG_DATA_HOME") or os.path.join(os.path.expanduser("~"), ".local", "share")
    path = os.path.join(data, "fathom", "machines", os.uname().nodename + ".json")
    try:
        levels = json.load(open(path))["levels"]
    except (OSError, ValueError, KeyError):
        sys.exit(f"predict.py: {path}: no profile; 'fathom machine' makes one, or give --levels")
    caches = [level for level in levels if level["name"] != "memory"]
    sizes = [int(min(filter(None, (value_of(level.get("effective_bytes")), level.get("advertised_bytes")))))
             for level in caches]
    if len(sizes) != 3:
        sys.exit("predict.py: the profile has not three caches; give --levels")
    last = caches[2].get("effective_bytes") or {}
    if (last.get("high") or 0) > 2 * (last.get("low") or 0):
        sizes[2] = max(sizes[1], int(last.get("low") or 0))
        print(f"the profile is not sure of the last cache ({last.get('low'):.0f} … {last.get('high'):.0f} B): "
              f"taken as {sizes[2]} B")
    memory = 3 * max(sizes[2], caches[2].get("advertised_bytes") or 0)
    return f"L1={sizes[0]},L2={sizes[1]},L3={sizes[2]},memory={memory}"


def seeds_of(text):
    for one in text.split(","):
        first, _, last = one.partition("-")
        yield from range(int(first), int(last or first) + 1)


def candidates(arguments):
    with open(arguments.commands) as file:
        lines = [line.strip() for line in file]
    lines = [line for line in lines if line and not line.startswith("#")]
    if any("FATHOM_LOT" in line for line in lines) and not os.environ.get("FATHOM_LOT"):
        sys.exit("predict.py: set FATHOM_LOT to the folder that inputs.sh made")
    return random.Random(arguments.lot).sample(lines, len(lines))


def finite(value):
    if isinstance(value, dict):
        return {key: finite(one) for key, one in value.items()}
    if isinstance(value, list):
        return [finite(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("fathom")
    parser.add_argument("--generator")
    parser.add_argument("--seeds", default="")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=1.5)
    parser.add_argument("--levels")
    parser.add_argument("--commands")
    parser.add_argument("--lot", type=int, default=1)
    parser.add_argument("--count", type=int, default=15)
    parser.add_argument("--shortest", type=float, default=0.5)
    parser.add_argument("--longest", type=float, default=12)
    parser.add_argument("--exact", action="store_true")
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--work")
    parser.add_argument("--keep")
    parser.add_argument("--verdicts")
    parser.add_argument("--timeout", type=float, default=600)
    parser.add_argument("--compiler", default="gcc")
    arguments = parser.parse_args()
    if not arguments.seeds and not arguments.commands:
        parser.error("nothing to judge: give --seeds or --commands")
    if arguments.seeds and not arguments.generator:
        parser.error("--seeds needs --generator")
    arguments.fathom = os.path.abspath(arguments.fathom)
    if os.environ.get("FATHOM_LOT"):
        os.environ["FATHOM_LOT"] = os.path.abspath(os.environ["FATHOM_LOT"])
    # The same run each time: interpreters would draw the seeds of their hash tables anew.
    os.environ.update(LC_ALL="C", PYTHONHASHSEED="0", PERL_HASH_SEED="0")
    if arguments.seeds:
        arguments.generator = os.path.abspath(arguments.generator)
        arguments.levels = arguments.levels or profile_levels()
        print(f"levels {arguments.levels}")
    with tempfile.TemporaryDirectory() as temporary:
        arguments.work = os.path.abspath(arguments.work or temporary)
        os.makedirs(arguments.work, exist_ok=True)
        judge_all(arguments)


def verdicts(arguments, row):
    kept = {"seed": row["seed"], "way": "windows", "threads": arguments.threads}
    if "patterns" not in row or not row["windows"]:
        return {**kept, "failed": row.get("failed", "no windows")}
    return {**kept, **{name: row[name] for name in ("truth", "windows", "doubtful", "patterns")}}


def judge_all(arguments):
    rows, passed_over = [], []

    def note(row):
        print_row(row)
        rows.append(row)
        write()

    def write():
        """After each program, so that a run that is ended early leaves what it has."""
        if arguments.keep:
            total = {name: part(some) for name, some in (("generated", [row for row in rows if "seed" in row]),
                                                         ("drawn", [row for row in rows if "seed" not in row])) if some}
            with open(arguments.keep, "w") as file:
                json.dump(finite({"arguments": vars(arguments), "rows": rows, "passed_over": passed_over,
                                  "total": total}), file, indent=1)

        if arguments.verdicts:
            with open(arguments.verdicts, "w") as file:
                json.dump([finite(verdicts(arguments, row)) for row in rows if "seed" in row], file)

    print(f"{'program':22} {'least':>7} {'median':>7} {'predict':>7} {'error':>9} {'':5} {'kernel':>6} {'system':>6} "
          f"{'known cause':17} {'found':17} {'':5} phases")
    for seed in seeds_of(arguments.seeds) if arguments.seeds else []:
        row = generate(arguments, seed)
        judge(arguments, row)
        note(row)
    drawn = 0
    for line in candidates(arguments) if arguments.commands else []:
        if drawn == arguments.count:
            break
        row = {"name": re.sub(r"\S*/", "", line.split(" >")[0])[:40], "command": ["sh", "-c", "exec " + line]}
        measure(arguments, row, row["command"])
        wall = row.get("measured", {}).get("wall", 0)
        if "failed" in row or not arguments.shortest <= wall <= arguments.longest:
            why = row.get("failed") or f"natively {wall:.2f} s"
            print(f"{row['name']:22.22} passed over: {why}", flush=True)
            passed_over.append({"name": row["name"], "command": row["command"], "why": why})
            write()
            continue
        drawn += 1
        judge(arguments, row)
        note(row)
    if rows:
        print_summary(rows)


main()
