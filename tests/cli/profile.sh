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
head -c 300 "$source/tests/cli/example-profile.json" >"$scratch/cut.json"
expect 1 'cut.json:[0-9]+: ' "$tool" machine --show --profile "$scratch/cut.json"
echo '{"verb": "doctor"}' >"$scratch/other.json"
expect 1 'other.json: not a machine profile' "$tool" machine --show --profile "$scratch/other.json"
env -u HOME -u XDG_DATA_HOME "$tool" machine --show >"$scratch/out" 2>"$scratch/err"
holds grep -q 'set one of them' "$scratch/err"
finish
