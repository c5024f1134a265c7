#!/bin/sh
# The build for aarch64, in the emulator: unit and simulator tests; kept recordings give the reports of this build; what
# does not exist there is refused with the reason.
. "$(dirname "$0")/../cli/common.sh"
cd "$source" || exit 1
scripts/aarch64 "$build"
status=$?
[ "$status" = 77 ] && exit 77
holds [ "$status" = 0 ]
there() { qemu-aarch64 -L "$build/aarch64-root" "$build/aarch64/fathom" "$@"; }

holds grep -q "ARM aarch64" <<END
$(file "$build/aarch64/fathom")
END
holds [ "$(there --version)" = "$("$tool" --version)" ]
for name in simulated windows sampled squeezed; do
	gzip -dc "tests/cli/recordings-0.1.0/$name.fathom.gz" >"$scratch/$name.fathom"
	expect 0 '' there report --json "$scratch/$name.fathom"
	mv "$scratch/out" "$scratch/there.json"
	expect 0 '' "$tool" report --json "$scratch/$name.fathom"
	holds cmp "$scratch/there.json" "$scratch/out"
done
expect 0 '' there export --format csv -o "$scratch/there.csv" "$scratch/sampled.fathom"
expect 0 '' "$tool" export --format csv -o "$scratch/here.csv" "$scratch/sampled.fathom"
holds [ -s "$scratch/here.csv" ]
holds cmp "$scratch/there.csv" "$scratch/here.csv"

expect 0 'cpu +NO .*x86-64 only' there doctor
expect 3 'x86-64 only' there machine
expect 124 'x86-64 only' there stat --engine native -- /bin/true
expect 124 'x86-64 only' there record --sampler burst -- /bin/true
finish
