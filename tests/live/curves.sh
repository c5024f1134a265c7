#!/bin/sh
# The curve of a recorded program whose working set is known: 1 MiB is swept again and again. A machine that others use may make it
# inconclusive (the interval is wide), but not wrong.
. "$(dirname "$0")/../cli/common.sh"
cd "$scratch" || exit 1
cat >sweep.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
int main(void)
{
	unsigned long *block = aligned_alloc(4096, 1 << 20), sum = 0;
	memset(block, 1, 1 << 20);
	while (clock() < 2 * CLOCKS_PER_SEC)
		for (unsigned round = 0; round < 20; round++)
			for (unsigned i = 0; i < 1 << 17; i++)
				sum += block[i] * 3;
	printf("%lu\n", sum);
	return 0;
}
END
cc -O2 -o sweep sweep.c 2>/dev/null || skip 'there is no compiler'
"$tool" record --force -q -o run.fathom -- ./sweep >/dev/null 2>err || skip "nothing can be recorded here: $(cat err)"
"$tool" report --json run.fathom >run.json || fail 'the recording cannot be read'
windows=$(jq '.curve.windows // 0' run.json)
[ "$windows" -ge 4 ] || skip "there were $windows windows only"
# an eighth of the references touches another line; 16 MiB and more hold all of them
at() { jq --argjson size "$1" --arg which "$2" '.curve as $c | $c.miss_ratio[($c.sizes_bytes | index($size))][$which]' run.json; }
holds awk -v value="$(at 65536 value)" 'BEGIN { exit !(value > 0.1 && value < 0.15) }'
holds awk -v low="$(at 65536 low)" -v high="$(at 65536 high)" 'BEGIN { exit !(low <= 0.126 && high >= 0.124) }'
holds awk -v low="$(at 33554432 low)" 'BEGIN { exit !(low < 0.02) }'
"$tool" report --curve run.fathom >text || fail 'the curve cannot be drawn'
holds grep -q 'miss a cache of this size' text
holds grep -q 'Estimated from .* windows with' text
if [ "$(jq '.curve.watched' run.json)" -eq 0 ]; then
	inconclusive "no line was watched ($(jq -r '.curve.remark' run.json))"
else
	echo "$windows windows, pace $(jq .curve.pace run.json), at 256 KiB $(at 262144 value), at 4 MiB $(at 4194304 value)"
fi
# stat follows lines for the whole run: the step is where it is, and the interval says so
if "$tool" stat --machine haswell-ep --counters windows --no-timing --curve --json -o run.json -- ./sweep >/dev/null 2>err; then
	holds jq -e '.curve.origin == "sampled" and .curve.one_line_in == 32' run.json >/dev/null
	holds awk -v value="$(at 65536 value)" 'BEGIN { exit !(value > 0.115 && value < 0.135) }'
	holds awk -v low="$(at 524288 low)" -v high="$(at 524288 high)" 'BEGIN { exit !(low <= 0.126 && high >= 0.124 && high < 0.2) }'
	holds awk -v high="$(at 4194304 high)" 'BEGIN { exit !(high < 0.02) }'
	echo "stat: at 256 KiB $(at 262144 value), at 4 MiB $(at 4194304 value)"
else
	echo "stat has no windows here: $(cat err)"
fi
# without windows there is nothing to draw, and it says so
"$tool" record --force -q --no-curve -o none.fathom -- ./sweep >/dev/null
"$tool" report --curve none.fathom >/dev/null 2>err && fail 'a curve from nothing'
holds grep -q 'no-curve' err
finish
