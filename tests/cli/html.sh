#!/bin/sh
# report --html: what does not go together, damaged recordings, filters, and a build without Node.js.
. "$(dirname "$0")/common.sh"
make="$build/tests/sampled_recording"
[ -x "$make" ] || skip 'sampled_recording was not built'
"$make" "$scratch/0.fathom" 3000 0
"$make" "$scratch/1.fathom" 3000 1
"$make" "$scratch/small.fathom" 300 0

# a build without it says so, and still builds; the next one tries again
mkdir "$scratch/bin"
for name in sh mkdir rm cat cmp cp dirname touch; do
	ln -s "$(command -v $name)" "$scratch/bin/$name"
done
expect 0 "no 'report --html' in this build: it was built without Node.js" env PATH="$scratch/bin" sh "$source/web/build.sh" "$scratch/web"
holds grep -q 'apt-get install nodejs' "$scratch/web/page.c"
holds [ ! -e "$scratch/web/page.made" ]
expect 0 '' "${CC:-cc}" -I "$source/src" -c "$scratch/web/page.c" -o "$scratch/page.o"
# no addresses of downloads in what pins the packages
for lock in web tests/browser; do
	holds sh -c "! grep -qE 'resolved|https?:' '$source/$lock/package-lock.json'"
	holds grep -q '"integrity": "sha512-' "$source/$lock/package-lock.json"
done

expect 2 'omit --json, -x, -o' "$tool" report "$scratch/0.fathom" --html "$scratch/x.html" --json
expect 2 'omit --json, -x, -o' "$tool" report "$scratch/0.fathom" --html "$scratch/x.html" --curve
expect 2 'needs --html' "$tool" report "$scratch/0.fathom" --no-source
if ! "$tool" report "$scratch/0.fathom" --html "$scratch/0.html" 2>"$scratch/err"; then
	holds grep -q 'not in this build' "$scratch/err"
	finish
fi
expect 1 'cannot write' "$tool" report "$scratch/0.fathom" --html "$scratch/no/folder.html"
expect 2 'no object' "$tool" report "$scratch/0.fathom" --html "$scratch/x.html" --object nothing
holds [ ! -e "$scratch/x.html" ]
# data: what is between the element's tags is JSON
data() { sed -n 's/.*<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' "$1"; }
data "$scratch/0.html" >"$scratch/0.json"
expect 0 '^3000 3000 samples$' jq -r '.timelines[-1] | "\(.points.count) \(.points.total) samples"' "$scratch/0.json"
expect 0 '^./solver samples 9$' jq -r '"\(.program) \(.kind) \(.objects | length)"' "$scratch/0.json"
expect 0 '' "$tool" report "$scratch/0.fathom" --html "$scratch/part.html" --object table --time 2-4
data "$scratch/part.html" >"$scratch/part.json"
expect 0 'objects "table", from 2 s to 4 s' jq -r .filter "$scratch/part.json"
holds jq -e '.timelines[-1] | .points.total < 400 and .begin >= 2 and .end <= 4' "$scratch/part.json"
expect 0 '' "$tool" report "$scratch/1.fathom" --html "$scratch/1.html"
expect 0 '^simulated$' sh -c "sed -n 's/.*id=\"data\">\(.*\)<\/script>\$/\1/p' '$scratch/1.html' | jq -r .origin"
# the same recording is the same page
"$tool" report "$scratch/0.fathom" --html "$scratch/again.html"
holds cmp "$scratch/0.html" "$scratch/again.html"
# the policy names hashes, and nothing is fetched
holds grep -qE "default-src 'none'; script-src 'sha256-[A-Za-z0-9+/=]+'; style-src 'sha256-" "$scratch/0.html"
holds sh -c "! grep -qE '<(link|img|iframe|object|embed)|src=|@import|url\(' '$scratch/0.html'"

for change in 'UPDATE samples SET at = 1e17, weight = -1' 'UPDATE samples SET address = -1' 'UPDATE memories SET address = -1, bytes = -1' 'DELETE FROM memories' \
	'UPDATE samples SET cost = 4000000000, baseline = 0' 'UPDATE codes SET line = -5' "UPDATE codes SET file = '/dev/zero'" "UPDATE codes SET file = '/proc/self/mem.c'" \
	'DELETE FROM calibration' 'DELETE FROM samples' 'UPDATE sampling SET ticks_per_second = 0' 'UPDATE instances SET began = -1e17, ended = 1e17'; do
	cp "$scratch/small.fathom" "$scratch/damaged.fathom"
	change "$scratch/damaged.fathom" "$change"
	"$tool" report "$scratch/damaged.fathom" --html "$scratch/damaged.html" >/dev/null 2>"$scratch/err"
	status=$?
	checks=$((checks + 1))
	[ $status -le 1 ] || fail "'$change' ended with $status: $(head -3 "$scratch/err")"
	[ $status = 1 ] || data "$scratch/damaged.html" | jq -e .format >/dev/null || fail "'$change' gave a page without data"
done
finish
