#!/bin/sh
# Makes everything that commands.txt reads: inputs.sh FOLDER. The same bytes each time: seeds and dates are fixed.
set -eu
[ $# -eq 1 ] || { echo "usage: inputs.sh FOLDER" >&2; exit 2; }
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
cd "$1"
export LC_ALL=C TZ=UTC

cp "$here"/programs/* .
/usr/bin/python3 -I "$here/inputs.py"

rm -f table.db
sqlite3 table.db <<'SQL'
CREATE TABLE sales(id INTEGER PRIMARY KEY, customer INTEGER, product INTEGER, amount REAL, day INTEGER, note TEXT);
CREATE TABLE customers(customer INTEGER PRIMARY KEY, region TEXT, name TEXT);
.mode csv
.import table.csv sales
.import customers.csv customers
CREATE INDEX by_customer ON sales(customer);
SQL

rm -rf repository
git init -q -b main repository
git -C repository fast-import --quiet <history.txt
git -C repository repack -adfq --window=4 --threads=1
rm history.txt

/usr/bin/convert photo.ppm -strip -define png:exclude-chunks=date,time photo.png
rbox 40000 D3 t1 >points-3.txt
rbox 3700 D6 t2 >points-6.txt
bwa index -p genome genome.fa 2>/dev/null
bowtie2-build --quiet --seed 1 genome.fa genome
