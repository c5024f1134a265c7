#!/bin/sh
# Recordings of 0.1.0 open in this version: text, JSON, HTML and exports, with the figures that 0.1.0 printed.
. "$(dirname "$0")/common.sh"
cd "$scratch" || exit 1
# as on another machine: no profile, no program, no machine files
export FATHOM_MACHINES=/nonexistent FATHOM_GROUPS=/nonexistent
for name in simulated windows sampled squeezed; do
	gzip -dc "$source/tests/cli/recordings-0.1.0/$name.fathom.gz" >"$name.fathom"
	holds [ "$(sqlite3 "$name.fathom" 'SELECT version FROM fathom')" = 0.1.0 ]
	expect 0 'marked' "$tool" report "$name.fathom"
	mv out "$name.txt"
	expect 0 '' "$tool" report --json "$name.fathom"
	mv out "$name.json"
	expect 0 '' "$tool" report -vv "$name.fathom"
	holds jq -e '.program == "./marked" and .exit_status == 0' "$name.json" >/dev/null
	if [ -e "$build/web/page.made" ]; then
		expect 0 '' "$tool" report --html "$name.html" "$name.fathom"
		holds grep -q '/marked' "$name.html"
	fi
	# reading changes nothing
	holds [ "$(gzip -dc "$source/tests/cli/recordings-0.1.0/$name.fathom.gz" | cksum)" = "$(cksum <"$name.fathom")" ]
done

# json NAME EXPRESSION: holds for the JSON report of that recording
json() {
	holds jq -e "$2" "$1.json" >/dev/null
}

# the exact engine: whole, regions, lines, variables
holds grep -qF '17,403,963 instructions, 3,171,499 loads' simulated.txt
holds grep -qE '^gather \(1\) +1 +2,621,456 +1,048,579 ' simulated.txt
json simulated '.machine.name == "haswell-ep" and .counts.instructions.value == 17403963 and .counts.loads.value == 3171499 and .counts.stores.value == 2110209'
json simulated '[.regions[] | select(.name == "gather" and .thread) | .counts.loads.value] == [1048579, 1048579]'
json simulated '.lines[0] | .function == "work" and .line == 27 and .misses.L1 == 1103289 and .misses.L2 == 1023782'
json simulated 'any(.objects[]; .name == "order")'

# windows, with the miss-ratio curve
holds grep -qF '1,579,583,264 instructions' windows.txt
json windows '.coverage.windows == 10 and .coverage.instructions == 1579583264 and .coverage.instructions_seen == 4425035'
json windows '.machine.title == "Example Processor, as profiled 2026-01-02T03:04:05Z"'
json windows '(.curve.sizes_bytes | length) > 40 and ([.regions[].name] | unique) == ["gather", "sum"]'

# samples
holds grep -qF '678 samples of memory references' sampled.txt
json sampled '.host == "example" and .sampling.sampler == "burst" and .sampling.samples == 678 and .sampling.state == "finished"'
json sampled '([.objects[].name] | index("grid") and index("order")) and ([.regions[].name] | index("gather") and index("sum"))'
json sampled 'any(.lines[]; .line == 27)'
expect 0 '' "$tool" export --format csv -o sampled.csv sampled.fathom

# a squeeze
holds grep -qF '10 runs, back end exact' squeezed.txt
json squeezed '.level == "L3" and .level_bytes == 31457280 and .runs == 10 and .curve[0].cycles == 8502795 and .curve[0].misses == 6445'
finish
