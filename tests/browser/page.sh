#!/bin/sh
# The page of 'fathom report --html' in headless Chromium: page.sh TOOL SOURCE BUILD. SCREENSHOTS=FOLDER keeps pictures.
. "$(dirname "$0")/../cli/common.sh"
folder=$build/tests/browser
command -v node >/dev/null && command -v npm >/dev/null || skip 'there is no Node.js or npm'
[ -x "${FATHOM_CHROMIUM:-/usr/bin/chromium}" ] || skip 'there is no Chromium (apt-get install chromium)'
mkdir -p "$folder"
if ! cmp -s "$source/tests/browser/package-lock.json" "$folder/installed-lock.json"; then
	cp "$source/tests/browser/package.json" "$source/tests/browser/package-lock.json" "$source/tests/browser/.npmrc" "$folder"
	(cd "$folder" && npm ci --fetch-retries=1 >npm.log 2>&1) || skip "npm could not fetch playwright-core: $(tail -1 "$folder/npm.log")"
	cp "$source/tests/browser/package-lock.json" "$folder/installed-lock.json"
fi
cp "$source"/tests/browser/*.mjs "$folder"

# a recording whose truth is known, with a machine profile and with source that is there; the same with hostile names
make_recording() {
	"$build/tests/sampled_recording" "$1" "$2" 0
	change "$1" "INSERT INTO documents VALUES ('profile', CAST(readfile('$source/tests/cli/example-profile.json') AS TEXT));
		UPDATE codes SET file = '$scratch/solver.c' WHERE file = 'solver.c'"
}
awk 'BEGIN { for (i = 1; i <= 60; i++) print "\tline " i ";" }' >"$scratch/solver.c"
make_recording "$scratch/samples.fathom" 200000
expect 0 '' "$tool" report "$scratch/samples.fathom" --html "$scratch/samples.html"
holds [ "$(stat -c %s "$scratch/samples.html")" -lt 8388608 ]

make_recording "$scratch/hostile.fathom" 5000
awk 'BEGIN { for (i = 1; i <= 60; i++) print i == 40 ? "</script><b>source</b><!--" : "line " i }' >"$scratch/hostile.c"
change "$scratch/hostile.fathom" "UPDATE codes SET function = '<script>window.hacked=1</script>', inlined = '' WHERE function = 'lookup';
	UPDATE codes SET file = '$scratch/hostile.c' WHERE file = '$scratch/solver.c';
	UPDATE memories SET name = '<img src=x onerror=window.hacked=2>' WHERE name = 'table';
	UPDATE instances SET name = '</script><!--' WHERE name = 'search';
	UPDATE sampled_threads SET name = '\"><svg/onload=1' WHERE name = 'worker';
	UPDATE run SET program = '</title><script>window.hacked=3</script>'"
expect 0 '' "$tool" report "$scratch/hostile.fathom" --html "$scratch/hostile.html"
# nothing of the data ends the element that it is in: two scripts begin, two end
holds [ "$(grep -o '</script' "$scratch/hostile.html" | wc -l)" = 2 ]
expect 0 '' "$tool" report "$scratch/hostile.fathom" --html "$scratch/bare.html" --no-source
holds sh -c "! grep -q 'b>source' '$scratch/bare.html'"
# a recording may name any file; only source is shown
printf 'secret\n%.0s' $(seq 60) >"$scratch/id_rsa"
change "$scratch/hostile.fathom" "UPDATE codes SET file = '$scratch/id_rsa' WHERE file = '$scratch/hostile.c'"
expect 0 '' "$tool" report "$scratch/hostile.fathom" --html "$scratch/bare.html"
holds sh -c "! grep -q secret '$scratch/bare.html'"

expect 0 '' "$tool" stat --record "$scratch/stat.fathom" --machine haswell-ep --timing -- "$build/tests/program_phases"
expect 0 '' "$tool" report "$scratch/stat.fathom" --html "$scratch/stat.html"

expect 0 '' "$tool" record --force -q --sampler exact --machine haswell-ep --every 500 -o "$scratch/simulated.fathom" -- "$build/examples/stream-folded-stream" 6 65536
expect 0 '' "$tool" report "$scratch/simulated.fathom" --html "$scratch/simulated.html"
expect 0 '' "$tool" squeeze -q --machine xeon-e5-2670 --only capacity --record "$scratch/squeeze.fathom" -- "$build/examples/stream-folded-stream" 2 65536
expect 0 '' "$tool" report "$scratch/squeeze.fathom" --html "$scratch/squeeze.html"
expect 0 '' "$tool" scale -q --machine haswell-ep -t 1,2,4 --record "$scratch/scale.fathom" -- "$build/tests/scale_team" serial "{threads}" 500
expect 0 '' "$tool" report "$scratch/scale.fathom" --html "$scratch/scale.html"
make_recording "$scratch/empty.fathom" 300
change "$scratch/empty.fathom" 'DELETE FROM samples'
expect 0 '' "$tool" report "$scratch/empty.fathom" --html "$scratch/empty.html"

checks=$((checks + 1))
node "$folder/test.mjs" "$scratch/samples.html" "$scratch/hostile.html" "$scratch/stat.html" "$scratch/simulated.html" "$scratch/squeeze.html" "$scratch/scale.html" "$scratch/empty.html" ${SCREENSHOTS:+"$SCREENSHOTS"} || fail 'in the browser'
finish
