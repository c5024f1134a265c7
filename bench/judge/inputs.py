"""The generated part of the inputs, into the current folder. Everything comes from random.Random with fixed seeds."""
import math, random

import numpy

words = []


def make_words():
    draw = random.Random(1)
    syllables = [first + vowel for first in "bcdfghklmnprstvw" for vowel in "aeiou"]
    while len(words) < 20000:
        words.append("".join(draw.choices(syllables, k=draw.choice((1, 2, 2, 3, 3, 4)))))


def text(name, count, seed):
    draw = random.Random(seed)
    weights = [1 / (rank + 3) for rank in range(len(words))]
    chosen = draw.choices(words, weights, k=count)
    with open(name, "w") as file:
        at = 0
        while at < count:
            length = draw.randrange(6, 18)
            file.write(" ".join(chosen[at:at + length]) + ".\n")
            at += length


def binary(name, records, seed):
    draw = numpy.random.RandomState(seed)
    block = numpy.zeros(records, dtype=[("id", "<u4"), ("kind", "<u2"), ("flags", "<u2"), ("x", "<f4"), ("y", "<f8")])
    block["id"] = numpy.arange(records)
    block["kind"] = draw.randint(0, 40, records)
    block["flags"] = 1 << draw.randint(0, 4, records)
    block["x"] = numpy.round(numpy.cumsum(draw.randint(-50, 51, records)) / 100.0, 2)
    block["y"] = draw.randint(0, 1 << 30, records)
    block.tofile(name)


def tables():
    draw = random.Random(3)
    with open("table.csv", "w") as file:
        for row in range(700000):
            file.write("%d,%d,%d,%.2f,%d,%s\n" % (row, draw.randrange(50000), int(draw.paretovariate(0.7)) % 2000,
                                                draw.expovariate(0.01), draw.randrange(3650), draw.choice(words)))
    with open("customers.csv", "w") as file:
        for row in range(50000):
            file.write("%d,%s,%s %s\n" % (row, "region%02d" % draw.randrange(30), draw.choice(words), draw.choice(words)))
    with open("numbers.txt", "w") as file:
        for _ in range(1200000):
            file.write("%d\n" % draw.randrange(10 ** 9))
    with open("factors.txt", "w") as file:
        for _ in range(110000):
            file.write("%d\n" % draw.randrange(10 ** 17, 10 ** 18))


def pictures():
    draw = numpy.random.RandomState(5)
    height, width = 1200, 1800
    y, x = numpy.mgrid[0:height, 0:width].astype(numpy.float32)
    planes = []
    for colour in range(3):
        plane = 128 + 60 * numpy.sin(x / (37 + 9 * colour)) * numpy.cos(y / (51 - 7 * colour))
        for _ in range(25):
            centre_x, centre_y, radius = draw.randint(0, width), draw.randint(0, height), draw.randint(20, 200)
            plane[(x - centre_x) ** 2 + (y - centre_y) ** 2 < radius ** 2] += draw.randint(-60, 60)
        planes.append(plane + draw.randint(-5, 6, (height, width)))
    photo = numpy.clip(numpy.stack(planes, axis=2), 0, 255).astype(numpy.uint8)
    with open("photo.ppm", "wb") as file:
        file.write(b"P6\n%d %d\n255\n" % (width, height))
        file.write(photo.tobytes())
    height, width, frames = 288, 512, 150
    luma = photo[:, :, 1]
    with open("video.y4m", "wb") as file:
        file.write(b"YUV4MPEG2 W%d H%d F25:1 Ip A1:1 C420jpeg\n" % (width, height))
        for frame in range(frames):
            top, left = int(300 + 200 * math.sin(frame / 40)), 2 * frame
            picture = luma[top:top + height, left:left + width].copy()
            ball = 60 + frame
            picture[ball:ball + 40, 3 * ball % 400:3 * ball % 400 + 40] = 240
            file.write(b"FRAME\n" + picture.tobytes() + picture[::2, ::2].tobytes() + (255 - picture[::2, ::2]).tobytes())


def sound():
    draw = numpy.random.RandomState(6)
    rate, seconds = 44100, 120
    time = numpy.arange(rate * seconds) / rate
    left = numpy.zeros(len(time))
    for note in range(8):
        begin = draw.randint(0, len(time) // 2)
        pitch = 110 * 2 ** (draw.randint(0, 36) / 12)
        left[begin:] += numpy.sin(2 * math.pi * pitch * time[begin:]) * (0.6 + 0.4 * numpy.sin(time[begin:] * (note + 1)))
    right = 0.7 * left + 0.3 * numpy.sin(2 * math.pi * 333 * time)
    both = numpy.stack([left, right], axis=1) * 2500 + draw.normal(0, 120, (len(time), 2))
    data = numpy.clip(both, -32000, 32000).astype("<i2").tobytes()
    with open("sound.wav", "wb") as file:
        file.write(b"RIFF" + (36 + len(data)).to_bytes(4, "little") + b"WAVEfmt " + (16).to_bytes(4, "little")
                   + (1).to_bytes(2, "little") + (2).to_bytes(2, "little") + rate.to_bytes(4, "little")
                   + (rate * 4).to_bytes(4, "little") + (4).to_bytes(2, "little") + (16).to_bytes(2, "little")
                   + b"data" + len(data).to_bytes(4, "little") + data)


def sources():
    draw = random.Random(7)
    with open("large.c", "w") as file:
        file.write("struct node { struct node *next; int key; double weight; int counts[16]; };\n")
        for number in range(180):
            a, b, c = draw.randrange(2, 90), draw.randrange(1, 15), draw.randrange(3, 60)
            call = "" if number == 0 else "\ttotal += work_%d(list, limit / 2 - 1, data);\n" % draw.randrange(number)
            file.write(f"int work_{number}(struct node *list, int limit, double *data)\n{{\n\tint total = {a};\n"
                       f"\tif (limit <= 0)\n\t\treturn total;\n"
                       f"\tfor (struct node *at = list; at; at = at->next) {{\n\t\tif (at->key % {a} == {b})\n"
                       f"\t\t\ttotal += at->counts[{b}] * {c};\n\t\telse\n\t\t\tat->weight += data[{c}] * {a}.5;\n\t}}\n"
                       f"\tfor (int i = 0; i < limit; i++) {{\n\t\tdata[i] = data[i] * {c} + i;\n"
                       f"\t\tswitch (i & 7) {{\n\t\tcase 0: total ^= i << {b}; break;\n\t\tcase 3: total -= {a}; break;\n"
                       f"\t\tcase 5: total += (int)data[i]; break;\n\t\tdefault: total += {c};\n\t\t}}\n\t}}\n{call}"
                       f"\treturn total;\n}}\n")
    with open("large.cc", "w") as file:
        file.write("template <class T, int N> struct box { T v[N]; T sum() const { T s{}; for (int i = 0; i < N; i++)"
                   " s += v[i] * T(i + N); return s; } template <int M> box<T, M> to() const { box<T, M> r{};"
                   " for (int i = 0; i < M; i++) r.v[i] = v[i % N] + T(M); return r; } };\n"
                   "template <int N> struct chain { static long run(long x) { return chain<N - 1>::run(x * N + (x >> 3)); } };\n"
                   "template <> struct chain<0> { static long run(long x) { return x; } };\n")
        for number in range(210):
            n, m = number % 37 + 2, number % 23 + 3
            file.write(f"long f{number}(const box<{('int', 'long', 'double', 'float')[number % 4]}, {n}> &b) "
                       f"{{ auto c = b.template to<{m}>(); auto d = c.template to<{n + m}>(); "
                       f"return chain<{number % 60 + 1}>::run((long)(c.sum() + d.sum())); }}\n")


def history():
    """A repository of 400 commits over 60 files, as git fast-import reads it."""
    draw = random.Random(8)
    files = [[" ".join(draw.choices(words, k=8)) for _ in range(700)] for _ in range(60)]
    with open("history.txt", "w") as out:
        for commit in range(900):
            changed = range(60) if commit == 0 else sorted({0, *draw.sample(range(60), 3)})
            message = "Change %d\n" % commit
            out.write(f"commit refs/heads/main\ncommitter Some One <one@example.org> {1500000000 + 3600 * commit} +0000\n"
                      f"data {len(message)}\n{message}")
            for number in changed:
                lines = files[number]
                for _ in range(12 if commit else 0):
                    at = draw.randrange(len(lines))
                    chance = draw.random()
                    if chance < 0.3:
                        lines.insert(at, " ".join(draw.choices(words, k=8)))
                    elif chance < 0.5:
                        del lines[at]
                    else:
                        lines[at] = " ".join(draw.choices(words, k=8))
                content = "\n".join(lines) + "\n"
                out.write(f"M 644 inline folder{number % 6}/file{number}.txt\ndata {len(content)}\n{content}\n")


def trees():
    draw = random.Random(9)
    for name, count in (("large.xml", 110000), ("books.xml", 62000)):
        with open(name, "w") as file:
            file.write('<?xml version="1.0"?>\n<library>\n')
            for number in range(count):
                file.write(f'<book id="b{number}" year="{draw.randrange(1900, 2020)}"><title>{draw.choice(words)} '
                           f'{draw.choice(words)}</title><author>{draw.choice(words)}</author><price>{draw.randrange(500) / 10}'
                           f'</price></book>\n')
            file.write("</library>\n")
    with open("large.json", "w") as file:
        file.write("[\n")
        rows = ('{"id": %d, "name": "%s", "tags": ["%s", "%s"], "value": %.3f, "place": {"x": %d, "y": %d}}'
                % (number, draw.choice(words), draw.choice(words), draw.choice(words), draw.gauss(0, 100),
                   draw.randrange(1000), draw.randrange(1000)) for number in range(130000))
        file.write(",\n".join(rows) + "\n]\n")
    with open("graph.dot", "w") as file:
        file.write("digraph g {\n")
        for node in range(1, 1900):
            for _ in range(draw.choice((1, 1, 2))):
                file.write(f"n{draw.randrange(max(0, node - 60), node)} -> n{node};\n")
        file.write("}\n")
    with open("springs.dot", "w") as file:
        file.write("graph g {\n")
        for node in range(1, 5000):
            file.write(f"n{draw.randrange(node)} -- n{node};\n")
        file.write("}\n")
    with open("large.svg", "w") as file:
        file.write('<svg xmlns="http://www.w3.org/2000/svg" width="1600" height="1200">\n')
        for _ in range(11000):
            file.write(f'<circle cx="{draw.randrange(1600)}" cy="{draw.randrange(1200)}" r="{draw.randrange(5, 60)}" '
                       f'fill="#{draw.randrange(1 << 24):06x}" fill-opacity="0.4"/><path d="M{draw.randrange(1600)} '
                       f'{draw.randrange(1200)} q 90 {draw.randrange(200)} 180 {draw.randrange(100)}" stroke="black" '
                       f'fill="none"/>\n')
        file.write("</svg>\n")
    with open("large.ps", "w") as file:
        file.write("%!PS\n/Helvetica findfont 9 scalefont setfont\n")
        for page in range(110):
            for line in range(70):
                file.write(f"40 {780 - 10 * line} moveto ({' '.join(draw.choices(words, k=12))}) show\n")
            for _ in range(60):
                file.write(f"{draw.random():.2f} {draw.random():.2f} {draw.random():.2f} setrgbcolor {draw.randrange(600)} "
                           f"{draw.randrange(800)} {draw.randrange(10, 60)} 0 360 arc fill\n")
            file.write("0 setgray showpage\n")
    with open("macros.m4", "w") as file:
        file.write("define(`forloop', `pushdef(`$1', `$2')_forloop($@)popdef(`$1')')\n"
                   "define(`_forloop', `$4`'ifelse($1, `$3', `', `define(`$1', incr($1))$0($@)')')\n"
                   "define(`fib', `ifelse(eval($1 < 2), 1, $1, `eval(fib(decr($1)) + fib(eval($1 - 2)))')')\n"
                   "fib(28)\nforloop(`i', 1, 4000, `format(`%05d %s\n', i, eval(i * i % 977))')\n")


def clauses(name, variables, ratio, seed):
    draw = random.Random(seed)
    count = int(variables * ratio)
    with open(name, "w") as file:
        file.write(f"p cnf {variables} {count}\n")
        for _ in range(count):
            file.write(" ".join(str(v * draw.choice((1, -1))) for v in draw.sample(range(1, variables + 1), 3)) + " 0\n")


def pigeons(name, holes):
    def at(pigeon, hole):
        return pigeon * holes + hole + 1
    rows = [[at(p, h) for h in range(holes)] for p in range(holes + 1)]
    rows += [[-at(p, h), -at(q, h)] for h in range(holes) for p in range(holes + 1) for q in range(p)]
    with open(name, "w") as file:
        file.write(f"p cnf {holes * (holes + 1)} {len(rows)}\n" + "".join(" ".join(map(str, r)) + " 0\n" for r in rows))


def problems():
    clauses("random.cnf", 230, 4.26, 12)
    pigeons("pigeons.cnf", 9)
    draw = random.Random(14)
    with open("transport.lp", "w") as file:
        sources, sinks = 260, 320
        file.write("Minimize\n cost: " + "\n + ".join(f"{draw.randrange(5, 95)} f{i}_{k}" for i in range(sources) for k in range(sinks)))
        file.write("\nSubject To\n")
        for i in range(sources):
            file.write(f" s{i}: " + "\n + ".join(f"f{i}_{k}" for k in range(sinks)) + f" <= {draw.randrange(150, 200)}\n")
        for k in range(sinks):
            file.write(f" d{k}: " + "\n + ".join(f"f{i}_{k}" for i in range(sources)) + f" >= {draw.randrange(80, 110)}\n")
        file.write("End\n")
    with open("transport.lps", "w") as file:
        sources, sinks = 310, 400
        file.write("min: " + "\n + ".join(f"{draw.randrange(5, 95)} f{i}_{k}" for i in range(sources) for k in range(sinks)) + ";\n")
        for i in range(sources):
            file.write("\n + ".join(f"f{i}_{k}" for k in range(sinks)) + f" <= {draw.randrange(150, 200)};\n")
        for k in range(sinks):
            file.write("\n + ".join(f"f{i}_{k}" for i in range(sources)) + f" >= {draw.randrange(60, 90)};\n")
    with open("network.abc", "w") as file:
        for node in range(4000):
            for _ in range(12):
                near = node // 60 * 60 + draw.randrange(60) if draw.random() < 0.8 else draw.randrange(4000)
                file.write(f"n{node}\tn{near}\t{draw.random():.3f}\n")
    with open("circuit.cir", "w") as file:
        file.write("ladder with diodes\nV1 n0 0 SIN(0 5 1k)\n.model d D(Is=1e-14 Cjo=2p)\n")
        for i in range(60):
            file.write(f"R{i} n{i} n{i + 1} {draw.randrange(50, 500)}\nC{i} n{i + 1} 0 {draw.randrange(1, 50)}n\nD{i} n{i + 1} m{i} d\n"
                       f"RM{i} m{i} 0 1k\n")
        file.write(".tran 1u 70m\n.print tran v(n60)\n.end\n")


def sequences():
    draw = random.Random(20)

    def changed(sequence, rate, alphabet):
        return "".join(draw.choice(alphabet) if draw.random() < rate else letter for letter in sequence)
    genome = "".join(draw.choices("ACGT", k=3000000))
    with open("genome.fa", "w") as file:
        file.write(">chromosome\n")
        file.writelines(genome[at:at + 60] + "\n" for at in range(0, len(genome), 60))
    for name, count in (("reads.fq", 60000),):
        with open(name, "w") as file:
            for number in range(count):
                at = draw.randrange(len(genome) - 100)
                body = changed(genome[at:at + 100], 0.02, "ACGT")
                file.write(f"@r{number}\n{body}\n+\n{'I' * 100}\n")


make_words()
text("text.txt", 4000000, 2)
text("text-small.txt", 1500000, 21)
text("speech.txt", 4500, 24)
binary("binary.bin", 1500000, 22)
binary("binary-small.bin", 500000, 23)
tables()
pictures()
sound()
sources()
history()
trees()
problems()
sequences()
