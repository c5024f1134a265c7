#!/bin/sh
# The ten programs of docs/case-studies.md: makes their inputs in FOLDER, then runs each by itself three times and once through `stat`.
# Leave the machine alone meanwhile. Needs a machine profile.
#     case-studies.sh FATHOM FOLDER
set -e
fathom=$(realpath "$1")
mkdir -p "$2"
cd "$2"
if [ ! -e records.json ]; then
	python3 -s - <<'EOF'
import itertools, json, random
random.seed(1)
words = ["".join(random.choice("abcdefghiklmnoprstuw") for _ in range(random.randint(2, 11))) for _ in range(30000)]
weights = list(itertools.accumulate(1 / rank for rank in range(1, 30001)))
with open("text.txt", "w") as file:
    for _ in range(110000):
        file.write(" ".join(random.choices(words, cum_weights=weights, k=14)) + "\n")
with open("numbers.txt", "w") as file:
    for _ in range(1200000):
        file.write(f"{random.randrange(10 ** 9)}\n")
open("binary.bin", "wb").write(random.randbytes(100000000))
json.dump([{"name": random.choice(words), "value": random.random(), "tags": random.choices(words, k=2)} for _ in range(120000)],
          open("records.json", "w"))
open("lookups.py", "w").write("""import random
random.seed(1)
keys = [random.randrange(1 << 60) for _ in range(1000000)]
table = {key: key & 255 for key in keys}
random.shuffle(keys)
print(sum(table[key] for key in keys + keys))
""")
open("numbers.pl", "w").write("my %count; while (<>) { $count{$_ % 1000003}++ } print scalar(keys %count), qq{\\n};\n")
open("join.sql", "w").write("""create table left_side(id integer primary key, other integer, value real);
create table right_side(id integer primary key, value real);
with recursive n(i) as (select 1 union all select i + 1 from n where i < 500000)
  insert into right_side select i, i * 0.5 from n;
with recursive n(i) as (select 1 union all select i + 1 from n where i < 500000)
  insert into left_side select i, 1 + (i * 7919) % 500000, i * 0.25 from n;
select sum(l.value * r.value) from left_side l join right_side r on r.id = l.other;
""")
EOF
fi
export LC_ALL=C PYTHONHASHSEED=0 PERL_HASH_SEED=0
study() {
	name=$1
	shift
	for _ in 1 2 3; do
		/usr/bin/time -f '%U s user, %S s system, %e s' -a -o "$name.native" "$@" >/dev/null 2>&1 </dev/null || true
	done
	"$fathom" stat -o "$name.txt" -- "$@" >/dev/null 2>&1 </dev/null || echo "$name: status $?"
	echo "== $name: $(tail -1 "$name.native")"
	grep -E '^DOUBTFUL|Predicted from|^Cycles|present|^Not conclusive' "$name.txt" || true
}
rm -f ./*.native
study gzip gzip -9 -c text.txt
study bzip2 bzip2 -c text.txt
study xz xz -T2 -1 --block-size=1MiB -c text.txt
study zstd zstd -q -T2 -13 -c text.txt
study sort sort --parallel=2 -S 400M -n numbers.txt
study python3 python3 -s lookups.py
study perl perl numbers.pl numbers.txt
study sqlite3 sqlite3 :memory: '.read join.sql'
study jq jq 'map(.value) | add' records.json
study openssl openssl dgst -sha256 binary.bin binary.bin binary.bin
