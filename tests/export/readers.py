#!/usr/bin/env python3
"""Readers of exported files, each written from the description of its format, and compared with the recording's own tables.

readers.py FORMAT EXPORTED RECORDING: everything must be there, sorted, labelled, and say what the recording says."""
import collections
import csv
import json
import re
import sqlite3
import struct
import sys

LEVEL_ONLY, UNTIMED = 16, 4
checks = 0


def must(condition, *words):
    global checks
    checks += 1
    if not condition:
        sys.exit("FAILED: " + " ".join(str(word) for word in words))


def clean(raw, room):
    """Texts of recordings as they are shown: cut to their room, what cannot be printed is a question mark."""
    out, used, at = "", 0, 0
    raw = raw[: room - 1]
    while at < len(raw):
        for length in (1, 2, 3, 4):
            try:
                character = raw[at : at + length].decode("utf-8")
                break
            except UnicodeDecodeError:
                continue
        else:
            character, length = "?", 1
        if len(character) == 1 and (ord(character) < 32 or ord(character) == 127):
            character = "?"
        if length > 1 and used + length >= room:
            break
        out, used, at = out + character, used + length, at + length
    return out


class Recording:
    """What docs/recording.md says of the tables."""

    def __init__(self, path):
        self.base = sqlite3.connect("file:%s?immutable=1" % path, uri=True)
        self.base.text_factory = bytes
        self.codes = [
            dict(function=clean(f, 200), inlined=clean(i, 200), file=clean(p, 256), line=l, module=clean(m, 64), offset=o)
            for f, i, p, l, m, o in self.rows("SELECT function, inlined, file, line, module, offset FROM codes ORDER BY row")
        ]
        self.frames = self.rows("SELECT code, caller FROM frames ORDER BY row")
        self.memories = [
            clean(g, 96) or clean(n, 200) for n, g in self.rows("SELECT name, group_name FROM memories ORDER BY row")
        ]
        self.threads = self.rows("SELECT thread, name FROM sampled_threads ORDER BY row")
        self.instances = [
            (clean(n, 96), round(b * 1e9), round(e * 1e9), t)
            for n, b, e, t in self.rows("SELECT name, began, ended, thread FROM instances ORDER BY row")
        ]
        self.sampler = clean(self.rows("SELECT sampler FROM sampling")[0][0], 16)
        self.levels = clean(self.rows("SELECT level_names FROM sampling")[0][0], 64).split()
        self.samples = self.rows(
            "SELECT at, thread, address, kind & 3, size, code, frame, memory, weight, cost, baseline, level, instance, cpu, flags "
            "FROM samples ORDER BY at, row"
        )
        # those that stand for processor time; the others are timed, for levels
        self.references = [s for s in self.samples if not s[14] & LEVEL_ONLY]
        self.exact = self.sampler == "exact"

    def rows(self, query):
        return self.base.execute(query).fetchall()

    def object(self, memory):
        return self.memories[memory] if memory >= 0 else "unknown memory"

    def function(self, code):
        return self.codes[code]["function"] or "unknown in " + (self.codes[code]["module"] or "unknown")

    def place(self, code):
        row = self.codes[code]
        if row["line"] and row["file"]:
            return "%s:%d (%s)" % (row["file"], row["line"], row["inlined"] or row["function"])
        return row["function"] or "%s+0x%x" % (row["module"] or "unknown", row["offset"])

    def weight(self, sample):
        if sample[14] & LEVEL_ONLY:
            return 0
        return round(sample[8]) if self.exact else round(sample[8] * 1e9)

    def stack(self, sample):
        """Codes, innermost first."""
        codes, frame = [sample[5]], sample[6]
        frame = self.frames[frame][1] if frame >= 0 else -1
        while frame >= 0:
            codes.append(self.frames[frame][0])
            frame = self.frames[frame][1]
        return codes


def same(got, wanted, what):
    """Two lists of tuples whose first member is a time in ns that may be rounded either way."""
    must(len(got) == len(wanted), what, "there are", len(got), "and not", len(wanted))
    for a, b in zip(got, wanted):
        must(abs(a[0] - b[0]) <= 1 and a[1:] == b[1:], what, a, "is not", b)


def one_line(text):
    """How a text looks in a format of lines."""
    return text or "?"


# Paraver: header, states, events; labels in the .pcf, names in the .row

def read_paraver_labels(path):
    types, current, values, section = {}, [], None, None
    for line in open(path, encoding="utf-8", newline="\n").read().split("\n"):
        if line == "EVENT_TYPE":
            current, values, section = [], None, "types"
        elif line == "VALUES":
            values = {}
            for number in current:
                types[number]["values"] = values
            section = "values"
        elif not line.strip():
            if section == "values":
                section = None
        elif section == "types":
            gradient, number, label = re.fullmatch(r"(\d+) +(\d+) +(.+)", line).groups()
            must(number not in types, "type", number, "is there twice")
            types[number] = {"label": label, "values": None}
            current.append(number)
        elif section == "values":
            number, label = re.fullmatch(r"(-?\d+) +(.+)", line).groups()
            must(number not in values, "value", number, "is there twice")
            values[number] = label
    return types


def read_paraver_rows(path):
    levels, level, left = {}, None, 0
    for line in open(path, encoding="utf-8", newline="\n").read().split("\n"):
        if left:
            levels[level].append(line)
            left -= 1
        elif line.startswith("LEVEL "):
            _, level, _, size = line.split(" ")
            levels[level], left = [], int(size)
        else:
            must(not line, "a line of the .row stands nowhere:", line)
    must(not left, "the .row is short")
    return levels


def check_paraver(path, recording):
    types = read_paraver_labels(path.replace(".prv", ".pcf"))
    rows = read_paraver_rows(path.replace(".prv", ".row"))
    lines = open(path, encoding="ascii").read().split("\n")
    must(lines.pop() == "", "the last line has no end")
    header = re.fullmatch(
        r"#Paraver \(\d\d/\d\d/\d{4} at \d\d:\d\d\):(\d+)_ns:1\((\d+)\):1:(\d+)\((\d+:1(?:,\d+:1)*)\)", lines[0]
    )
    must(header, "the header is wrong:", lines[0])
    duration, cpus, tasks = int(header[1]), int(header[2]), int(header[3])
    threads = [int(part.split(":")[0]) for part in header[4].split(",")]
    must(len(threads) == tasks == len(rows["TASK"]) and sum(threads) == len(rows["THREAD"]), "tasks and threads")
    must(len(rows["CPU"]) == cpus and len(rows["NODE"]) == 1, "resources")
    first = [sum(threads[:i]) for i in range(tasks)]
    last, got, open_regions, begun, states = 0, [], collections.Counter(), collections.Counter(), 0
    for line in lines[1:]:
        fields = line.split(":")
        kind, cpu, application, task, thread = (int(field) for field in fields[:5])
        must(application == 1 and 1 <= task <= tasks and 1 <= thread <= threads[task - 1] and 0 <= cpu <= cpus, line)
        at = int(fields[5])
        must(last <= at <= duration, "not in the order of time:", line)
        last = at
        if kind == 1:
            must(len(fields) == 8 and at <= int(fields[6]) <= duration and fields[7] == "1", line)
            states += 1
            continue
        must(kind == 2 and len(fields) % 2 == 0 and len(fields) >= 8, line)
        event = dict(zip(fields[6::2], fields[7::2]))
        must(len(event) == (len(fields) - 6) / 2, "a type is there twice:", line)
        for number, value in event.items():
            must(number in types, "type", number, "has no label")
            must(-(2**63) <= int(value) < 2**63, value)
            if types[number]["values"] is not None:
                must(value in types[number]["values"], "value", value, "of type", number, "has no label")
        row = rows["THREAD"][first[task - 1] + thread - 1]
        if "60000019" in event:
            name = types["60000019"]["values"][event["60000019"]]
            if event["60000019"] == "0":
                open_regions[row] -= 1
                must(open_regions[row] >= 0, "a region ends that had not begun")
            else:
                open_regions[row] += 1
                begun[name] += 1
        address = event.get("32000000", event.get("32000001"))
        if address is None:
            continue
        stack = []
        while "300000%02d" % len(stack) in event:
            depth = len(stack)
            stack.append(
                (
                    types["300000%02d" % depth]["values"][event["300000%02d" % depth]],
                    types["300001%02d" % depth]["values"][event["300001%02d" % depth]],
                )
            )
        got.append(
            (
                at,
                row,
                int(address) % 2**64,
                ("32000000" in event) + 2 * ("32000001" in event),
                types["32000007"]["values"][event["32000007"]],
                tuple(stack),
                int(event["32000100"]),
                int(event["32000006"]) if "32000006" in event else None,
                types["32000002"]["values"][event["32000002"]] if recording.exact else None,
            )
        )
    must(not +open_regions, "regions stay open")
    must(begun == collections.Counter(one_line(name) for name, *_ in recording.instances), "regions", begun)
    must(states == len(recording.threads), "states of threads")
    same(
        got,
        [
            (
                round(s[0] * 1e9),
                "%d %s" % (recording.threads[s[1]][0], clean(recording.threads[s[1]][1], 16) or "thread"),
                s[2] % 2**64,
                s[3],
                one_line(recording.object(s[7])),
                tuple((recording.function(c), recording.place(c)) for c in recording.stack(s)[:5]),
                recording.weight(s),
                None if s[14] & UNTIMED else max(s[9] - s[10], 0),
                recording.levels[s[11] - 1] if recording.exact else None,
            )
            for s in recording.samples
        ],
        "samples:",
    )


def check_paraver_folded(path, recording):
    """One instance of each region: every sample within it stands at its place."""
    types = read_paraver_labels(path.replace(".prv", ".pcf"))
    rows = read_paraver_rows(path.replace(".prv", ".row"))
    lines = open(path, encoding="ascii").read().split("\n")[:-1]
    header = re.fullmatch(r"#Paraver \(.*\):(\d+)_ns:1\(1\):1:(\d+)\((\d+:1(?:,\d+:1)*)\)", lines[0])
    must(header, "the header is wrong:", lines[0])
    threads = [int(part.split(":")[0]) for part in header[3].split(",")]
    must(len(threads) == int(header[2]) == len(rows["TASK"]) and sum(threads) == len(rows["THREAD"]), "tasks and threads")
    last, got, state, ends, counters = 0, collections.defaultdict(list), {}, {}, 0
    for line in lines[1:]:
        fields = line.split(":")
        must(fields[0] == "2" and len(fields) % 2 == 0, line)
        task, thread, at = int(fields[3]), int(fields[4]), int(fields[5])
        must(1 <= task <= len(threads) and 1 <= thread <= threads[task - 1] and last <= at <= int(header[1]), line)
        last = at
        row = rows["THREAD"][sum(threads[: task - 1]) + thread - 1]
        event = dict(zip(fields[6::2], fields[7::2]))
        for number, value in event.items():
            must(number in types, "type", number, "has no label")
            must(types[number]["values"] is None or value in types[number]["values"], "value", value, "has no label")
        if "60000019" in event:
            must(state.get(row) == (None if event["60000019"] != "0" else "open"), "a region goes on once")
            state[row] = "open" if event["60000019"] != "0" else "closed"
            must(row.startswith(types["60000019"]["values"][event["60000019"]]) or event["60000019"] == "0", row)
            ends[row] = at
            continue
        must(state[row] == "open", "something stands outside of its region")
        if any(int(number) >= 49000000 for number in event if number < "5"):
            counters += 1
            continue
        got[row].append((at, types["32000007"]["values"][event["32000007"]], types["30000000"]["values"][event["30000000"]]))
    must(state and set(state.values()) == {"closed"} and counters > 0, "regions are complete, rates are there")
    for row, samples in got.items():
        name, used, all_ = re.fullmatch(r"(.*): (\d+) of (\d+) instances, marked", row).groups()
        spans = [(b, e, t) for n, b, e, t in recording.instances if n == name]
        must(len(spans) == int(all_), "instances of", name)
        if used != all_:
            continue
        wanted = []
        for s in recording.samples:
            at = s[0] * 1e9
            for began, ended, thread in spans:
                if thread == s[1] and began <= at < ended:
                    wanted.append(
                        ((at - began) / (ended - began) * ends[row], recording.object(s[7]), recording.function(s[5]))
                    )
        must(len(wanted) == len(samples), len(samples), "samples in", name, "and not", len(wanted))
        # places are kept with 24 bits
        for a, b in zip(sorted(samples), sorted(wanted)):
            must(abs(a[0] - b[0]) <= 2 + ends[row] * 1e-6, a, "is not", b)
        must(
            collections.Counter(s[1:] for s in samples) == collections.Counter(w[1:] for w in wanted), "what was sampled in", name
        )


# Perfetto: Protocol Buffers

def fields_of(data):
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                must(value < 2**64, "a number is too long")
                return value

    while at < len(data):
        key = varint()
        if key & 7 == 0:
            yield key >> 3, varint()
        elif key & 7 == 1:
            yield key >> 3, struct.unpack_from("<d", data, at)[0]
            at += 8
        else:
            must(key & 7 == 2, "a field of kind", key & 7)
            length = varint()
            must(at + length <= len(data), "a field is cut")
            yield key >> 3, data[at : at + length]
            at += length


def message(data):
    out = collections.defaultdict(list)
    for number, value in fields_of(data):
        out[number].append(value)
    return out


def one(fields, number, default=None):
    must(len(fields[number]) <= 1, "field", number, "is there several times")
    return fields[number][0] if fields[number] else default


INTERNED = {1: "categories", 2: "names", 3: "annotations", 4: "locations", 29: "strings"}


def check_perfetto(path, recording):
    interned = {name: {} for name in INTERNED.values()}
    tracks, last, got, slices, counted = {}, 0, [], collections.defaultdict(list), collections.Counter()
    regions, cleared = collections.Counter(), False
    data = open(path, "rb").read()
    for number, raw in fields_of(data):
        must(number == 1, "a trace has packets alone")
        packet = message(raw)
        flags = one(packet, 13, 0)
        must(one(packet, 10) == 1, "the sequence of a packet")
        must(flags == 1 if not cleared else flags == 2, "names must begin anew once, and be needed later")
        cleared = True
        for data_of in packet[12]:
            for kind, entry in fields_of(data_of):
                entry = message(entry)
                table = interned[INTERNED[kind]]
                must(one(entry, 1) and one(entry, 1) not in table, "a number of a name is there twice")
                if kind == 4:
                    table[one(entry, 1)] = (one(entry, 2).decode(), one(entry, 3).decode(), one(entry, 4, 0))
                else:
                    table[one(entry, 1)] = one(entry, 2).decode()
        for track in packet[60]:
            track = message(track)
            must(one(track, 1) and one(track, 1) not in tracks, "a track is described twice")
            parent = one(track, 5)
            must(parent is None or parent in tracks, "a track's parent is not there")
            tracks[one(track, 1)] = track
        for event in packet[11]:
            event = message(event)
            at, kind, uuid = one(packet, 8), one(event, 9), one(event, 11)
            must(at is not None and at >= last, "not in the order of time:", at, last)
            last = at
            must(uuid in tracks, "a track is not described")
            if kind == 4:
                must(tracks[uuid][8] and one(tracks[uuid], 2), "a counter has no name")
                must(one(message(one(tracks[uuid], 8)), 6), "a counter has no unit")
                must(0 <= one(event, 44) <= 100.0001, "a share", one(event, 44))
                counted[at] += one(event, 44)
                continue
            if kind == 2:
                must(slices[uuid], "a slice ends that had not begun")
                name, began = slices[uuid].pop()
                regions[(name, began, at)] += 1
                continue
            name = interned["names"][one(event, 10)]
            category = interned["categories"][one(event, 3)]
            if kind == 1:
                must(category == "region", category)
                slices[uuid].append((name, at))
                continue
            must(kind == 3, "a kind of event", kind)
            values = {}
            for annotation in event[4]:
                annotation = message(annotation)
                key = interned["annotations"][one(annotation, 1)]
                values[key] = (
                    interned["strings"][one(annotation, 17)] if annotation[17] else one(annotation, 7, one(annotation, 3))
                )
                must(values[key] is not None, key, "has no value")
            if category == "allocation":
                must(name in ("malloc", "free"), name)
                continue
            thread = message(one(tracks[uuid], 4))
            got.append(
                (
                    at,
                    one(thread, 2),
                    one(thread, 5).decode(),
                    values["address"],
                    category,
                    values["object"],
                    name,
                    interned["locations"][one(event, 34)],
                    values["bytes"],
                    values["stands for (references)" if recording.exact else "stands for (ns of processor time)"],
                    values["level"] if recording.exact else None,
                )
            )
    must(not any(slices.values()), "slices stay open")
    must(counted and all(abs(sum_ - 100) < 0.001 for sum_ in counted.values()), "shares of levels")
    must(
        regions == collections.Counter((one_line(n), b, max(b, e)) for n, b, e, _ in recording.instances),
        "regions",
        len(regions),
    )
    kinds = {1: "load", 2: "store", 3: "load and store"}
    same(
        got,
        [
            (
                round(s[0] * 1e9),
                recording.threads[s[1]][0],
                clean(recording.threads[s[1]][1], 16) or "thread",
                s[2] % 2**64,
                kinds[s[3]],
                one_line(recording.object(s[7])),
                recording.function(s[5]),
                (
                    recording.codes[s[5]]["file"] or recording.codes[s[5]]["module"],
                    recording.codes[s[5]]["inlined"] or recording.codes[s[5]]["function"],
                    recording.codes[s[5]]["line"],
                ),
                s[4],
                recording.weight(s),
                recording.levels[s[11] - 1] if recording.exact else None,
            )
            for s in recording.samples
        ],
        "samples:",
    )


# speedscope

def check_speedscope(path, recording):
    data = json.load(open(path, encoding="utf-8"))
    must(data["$schema"] == "https://www.speedscope.app/file-format-schema.json", "the schema")
    frames = data["shared"]["frames"]
    for frame in frames:
        must(frame["name"] and set(frame) <= {"name", "file", "line", "col"}, frame)
        must("line" not in frame or (isinstance(frame["line"], int) and "file" in frame), frame)
    got, names = [], []
    for profile in data["profiles"]:
        must(profile["type"] == "sampled" and profile["unit"] in ("seconds", "none"), profile["type"])
        must(len(profile["samples"]) == len(profile["weights"]), "a weight for each sample")
        must(profile["startValue"] == 0 and abs(sum(profile["weights"]) - profile["endValue"]) < 1e-3, "the sum")
        names.append(profile["name"])
        for stack, weight in zip(profile["samples"], profile["weights"]):
            must(stack and all(0 <= index < len(frames) for index in stack) and weight >= 0, stack)
            got.append((profile["name"], tuple(frames[index]["name"] for index in stack), weight))
    wanted = []
    for number, (thread, name) in enumerate(recording.threads):
        title = "%s (%d)" % (clean(name, 16) or "thread", thread)
        for s in recording.references:
            if s[1] != number:
                continue
            stack = []
            for code in reversed(recording.stack(s)):
                stack.append(recording.function(code))
                if recording.codes[code]["inlined"]:
                    stack.append(recording.codes[code]["inlined"])
            wanted.append((title, tuple(stack), recording.weight(s) / (1 if recording.exact else 1e9)))
    must(len(got) == len(wanted), len(got), "samples and not", len(wanted))
    for a, b in zip(got, wanted):
        must(a[:2] == b[:2] and abs(a[2] - b[2]) < 1e-8, a, "is not", b)


# callgrind

def check_callgrind(path, recording):
    text = open(path, encoding="utf-8", newline="\n").read()
    must(text.startswith("# callgrind format\n"), "the first line")
    events, described, totals = None, set(), None
    names = {"ob": {}, "fl": {}, "fn": {}}
    spaces = {"ob": "ob", "cob": "ob", "fl": "fl", "fi": "fl", "fe": "fl", "cfi": "fl", "cfl": "fl", "fn": "fn", "cfn": "fn"}
    now, call, self_costs, arcs = {}, None, collections.Counter(), []
    for line in text.split("\n")[1:]:
        match = re.match(r"(ob|cob|fl|fi|fe|cfi|cfl|fn|cfn)=\((\d+)\)(?: (.*))?$", line)
        if match:
            table = names[spaces[match[1]]]
            if match[3] is not None:
                must(match[2] not in table, "a name is given twice")
                table[match[2]] = match[3]
            must(match[2] in table, "a name is not given")
            now[match[1]] = table[match[2]]
            if match[1] == "fl":
                now.pop("fi", None)
        elif line.startswith("calls="):
            call = [int(number) for number in line[6:].split(" ")]
            must(len(call) == 2 and call[0] > 0, line)
        elif re.match(r"\d", line):
            numbers = [int(number) for number in line.split(" ")]
            must(1 < len(numbers) <= 1 + len(events), "too many costs:", line)
            costs = numbers[1:] + [0] * (len(events) + 1 - len(numbers))
            if call:
                arcs.append((now["fn"], now["cfn"], costs))
                call = None
            else:
                self_costs[(now["ob"], now.get("fi", now["fl"]), now["fn"], numbers[0])] += 1
                for event, cost in zip(events, costs):
                    self_costs[(now["ob"], now.get("fi", now["fl"]), now["fn"], numbers[0], event)] += cost
        elif line:
            key, value = line.split(": ", 1) if ": " in line else line.split(":", 1)
            must(
                key in ("version", "creator", "pid", "cmd", "part", "desc", "positions", "event", "events", "totals"), line
            )
            if key == "event":
                described.add(value.split(" : ")[0])
            elif key == "events":
                events = value.split(" ")
                must(set(events) == described and len(set(events)) == len(events), "every event has a long name")
                must(all(re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", event) for event in events), events)
            elif key == "totals":
                totals = dict(zip(events, [int(n) for n in value.split()] + [0] * len(events)))
            elif key == "positions":
                must(value == "line", line)
    must(totals and not call, "the file is not complete")
    for event in events:
        must(totals[event] == sum(v for k, v in self_costs.items() if len(k) == 5 and k[4] == event), "the total of", event)
    wanted = collections.Counter()
    through = collections.Counter()
    for s in recording.references:
        row = recording.codes[s[5]]
        key = (row["module"] or "???", row["file"] or "???", recording.function(s[5]), max(row["line"], 0))
        wanted[key] += 1
        stack = [recording.function(code) for code in recording.stack(s)]
        for arc in set(zip(stack[1:], stack)):
            through[arc] += 1
    must(totals["Samples"] == len(recording.references), totals["Samples"], "samples")
    must(totals["Timed"] == sum(not s[14] & UNTIMED for s in recording.samples), totals["Timed"], "timed samples")
    must(totals["Cost"] == sum(max(s[9] - s[10], 0) for s in recording.samples if not s[14] & UNTIMED), "costs")
    must(totals["Loads"] + totals["Stores"] >= totals["Samples"], "loads and stores")
    levels = [event for event in events if event.startswith("From_")]
    # each sample's time is divided among the levels, in whole nanoseconds
    weight = totals["References" if recording.exact else "Time_ns"]
    must(abs(sum(totals[event] for event in levels) - weight) <= len(levels) * len(recording.references), "levels")
    got = collections.Counter({k[:4]: v for k, v in self_costs.items() if len(k) == 5 and k[4] == "Samples" and v})
    must(got == wanted, "samples by line differ:", (got - wanted), (wanted - got))
    called = collections.Counter()
    for caller, callee, costs in arcs:
        called[(caller, callee)] += costs[events.index("Samples")]
    must(called == through, "calls differ:", (called - through), (through - called))


# CSV and JSON

def check_csv(path, recording):
    raw = open(path, "rb").read()
    must(raw.count(b"\r\n") == raw.count(b"\n"), "lines end with CR LF")
    rows = list(csv.reader(open(path, encoding="utf-8", newline="")))
    header = rows.pop(0)
    must(len(set(header)) == len(header) and all(header), "names of columns")
    kinds = {1: "load", 2: "store", 3: "load and store"}

    def safe(text):
        return "'" + text if text[:1] in ("=", "+", "-", "@") else text

    got = []
    for row in rows:
        must(len(row) == len(header), row)
        r = dict(zip(header, row))
        must(re.fullmatch(r"\d+\.\d{9}", r["time_s"]) and r["cost_unit"] and r["weight_unit"] and r["level"], row)
        must((r["level"] == "unknown") == (r["level_probability"] == ""), row)
        must(r["level"] == "unknown" or 0 < float(r["level_probability"]) <= 1, row)
        got.append(
            (
                int(r["time_s"].replace(".", "")),
                int(r["thread"]),
                int(r["address"], 16),
                r["kind"],
                r["object"],
                r["function"],
                r["inlined"],
                r["file"],
                r["line"],
                r["stack"],
                int(r["weight"].replace(".", "")),
                r["level"] if recording.exact else None,
                r["cost"],
                r["region"],
            )
        )
    same(
        got,
        [
            (
                round(s[0] * 1e9),
                recording.threads[s[1]][0],
                s[2] % 2**64,
                kinds[s[3]],
                safe(recording.object(s[7])),
                safe(recording.function(s[5])),
                safe(recording.codes[s[5]]["inlined"]),
                safe(recording.codes[s[5]]["file"]),
                str(recording.codes[s[5]]["line"]) if recording.codes[s[5]]["line"] > 0 else "",
                safe(" < ".join(recording.place(c) for c in recording.stack(s)[1:])),
                recording.weight(s),
                recording.levels[s[11] - 1] if recording.exact else None,
                "" if s[14] & UNTIMED else str(max(s[9] - s[10], 0)),
                safe(one_line(recording.instances[s[12]][0])) if s[12] >= 0 else "",
            )
            for s in recording.samples
        ],
        "samples:",
    )


def check_json(path, recording):
    data = json.load(open(path, encoding="utf-8"), parse_constant=lambda name: must(False, name, "is no JSON"))
    must(data["fathom"] and data["verb"] == "export" and data["units"]["cost"] and data["units"]["weight"], "the head")
    tables = {table["name"]: table for table in data["tables"]}
    stored = {name.decode() for (name,) in recording.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
    must(stored - {"fathom", "documents", "counts"} == set(tables), "tables", stored ^ set(tables))
    for name, table in tables.items():
        must(table["words"] and len(set(table["columns"])) == len(table["columns"]), name)
        must(len(table["rows"]) == recording.rows('SELECT count(*) FROM "%s"' % name)[0][0], "rows of", name)
        must(all(len(row) == len(table["columns"]) for row in table["rows"]), "columns of", name)
    samples = [dict(zip(tables["samples"]["columns"], row)) for row in tables["samples"]["rows"]]
    must(
        [(s["at"], s["address"], s["code"], s["frame"], s["memory"], s["weight"]) for s in samples]
        == [
            (at, address % 2**64, *rest)
            for at, address, *rest in recording.rows("SELECT at, address, code, frame, memory, weight FROM samples ORDER BY row")
        ],
        "samples differ",
    )
    must(all(s["likely_level"] for s in samples), "every sample has a level or is unknown")
    functions = tables["codes"]["columns"].index("function")
    must([row[functions] for row in tables["codes"]["rows"]] == [code["function"] for code in recording.codes], "functions")


def main():
    name, path, source = sys.argv[1:]
    globals()["check_" + name](path, Recording(source))
    must(checks > 0, "nothing was checked")
    print("%s: %d checks" % (name, checks))


main()
