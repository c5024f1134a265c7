#!/bin/sh
# Saved profiles: shown, refused when damaged, missing with advice.
. "$(dirname "$0")/common.sh"
expect 1 "no machine profile at .*: 'fathom machine --quick' makes one" "$tool" machine --show
cp "$source/tests/cli/example-profile.json" "$scratch/profile.json"
expect 0 'L3 +48 MiB +1.58 MiB' "$tool" machine --show --profile "$scratch/profile.json"
expect 0 'measured on another processor' "$tool" machine --show --profile "$scratch/profile.json"
expect 0 'Example Processor' "$tool" machine --show -q --profile "$scratch/profile.json"
holds [ ! -s "$scratch/err" ]
holds env LC_ALL=C awk '{ gsub(/[\200-\277]/, ""); if (length > 100) exit 1 }' "$scratch/out"
expect 0 '^latency,L2,,5.1,ns,' "$tool" machine --show -q -x , --profile "$scratch/profile.json"
expect 0 '"effective_bytes"' "$tool" machine --show -q --json --profile "$scratch/profile.json"
cp "$scratch/out" "$scratch/again.json"
holds "$source/tests/cli/schema" "$source/docs/schemas/machine.schema.json" "$scratch/again.json"
jq -S . "$scratch/profile.json" >"$scratch/sorted"
jq -S . "$scratch/again.json" >"$scratch/again.sorted"
holds cmp "$scratch/sorted" "$scratch/again.sorted"
# What is published of the family: beside what was measured, and alone.
figure() { printf '{"value": %s, "unit": "", "low": %s, "high": %s, "origin": "measured", "backend": "kernels", "trials": 9, "set_aside": 0}' "$1" "$2" "$3"; }
jq --argjson loads "$(figure 2.9 2.8 3)" --argjson width "$(figure 4.4 4.1 5.1)" '.machine.vendor = "AuthenticAMD" | .machine.family = 25 |
	.machine.model = 1 | .core = {loads_8: $loads, width: $width, window: null, window_why: "not conclusive"}' "$scratch/profile.json" >"$scratch/zen3.json"
expect 0 '^ +measured +interval +published' "$tool" machine --show --core -q --profile "$scratch/zen3.json"
holds grep -qE '^  width +4.40 +4.10 … 5.10 +6 differs ' "$scratch/out"
holds grep -qE '^  loads_8 +2.90 +2.80 … 3.00 +3  ' "$scratch/out"
holds grep -qE '^  window +- +256  ' "$scratch/out"
holds grep -qE '^Published values are of AMD Zen 3. Known from them only: .*window' "$scratch/out"
expect 0 '^window,core,published,256,instruction[^,]*,256,256,published,0$' "$tool" machine --show -q -x , --profile "$scratch/zen3.json"
expect 0 '"published"' "$tool" machine --show -q --json --profile "$scratch/zen3.json"
cp "$scratch/out" "$scratch/published.json"
holds "$source/tests/cli/schema" "$source/docs/schemas/machine.schema.json" "$scratch/published.json"
holds jq -e >"$scratch/jq" '.published.family == "AMD Zen 3" and .published.window.origin == "published" and (.published.sources.window | test("Guide"))' "$scratch/published.json"
expect 0 'The core was not measured' "$tool" machine --show --core -q --profile "$scratch/profile.json"
holds sh -c "! grep -q published '$scratch/out'"
head -c 300 "$source/tests/cli/example-profile.json" >"$scratch/cut.json"
expect 1 'cut.json:[0-9]+: ' "$tool" machine --show --profile "$scratch/cut.json"
echo '{"verb": "doctor"}' >"$scratch/other.json"
expect 1 'other.json: not a machine profile' "$tool" machine --show --profile "$scratch/other.json"
env -u HOME -u XDG_DATA_HOME "$tool" machine --show >"$scratch/out" 2>"$scratch/err"
holds grep -q 'set one of them' "$scratch/err"
finish
