#!/bin/sh
# Threads that get in each other's way on this machine: never called absent, never called imbalance; threads that do not are
# not said to wait. How much they wait depends on the machine and the moment: inconclusive is an answer.
. "$(dirname "$0")/../cli/common.sh"
program="$build/tests/program_contention"
[ -x "$program" ] || skip 'the emulator was not built'
[ "$(nproc)" -ge 2 ] || skip 'one processor: threads cannot get in each other'"'"'s way'
mkdir -p "$XDG_DATA_HOME/fathom/machines"
cp "$source/tests/cli/example-profile.json" "$XDG_DATA_HOME/fathom/machines/$(hostname).json"
verdict() { jq -r --arg name "$1" '.patterns[] | select(.name == $name).verdict' "$scratch/stat.json"; }
waiting() { jq -r '.patterns[] | select(.name == "synchronisation").metric | .value, .high | . // 0' "$scratch/stat.json" | tr '\n' ' '; }
for kind in mutex rwlock atomic queue; do
	expect 0 '' "$tool" stat -r 5 --json -o "$scratch/stat.json" -- "$program" "$kind" 300000
	holds [ "$(verdict synchronisation)" != absent ]
	holds [ "$(verdict imbalance)" != present ]
	echo "$kind: $(verdict synchronisation), waiting $(waiting)"
	# each of them waits for more than a tenth of its time, on any machine. The interval includes this; without it, there is no claim.
	holds [ "$(waiting | awk '{ print ($2 > 0.1) }')" = 1 ]
	if [ "$(verdict synchronisation)" = present ]; then
		holds [ "$(waiting | awk '{ print ($1 > 0.1) }')" = 1 ]
	else
		inconclusive "$kind: waiting $(waiting)"
	fi
done
expect 0 '' "$tool" stat -r 5 --json -o "$scratch/stat.json" -- "$program" alone 3000000
holds [ "$(verdict synchronisation)" != present ]
holds [ "$(verdict imbalance)" = absent ]
# a thread that spins with an atomic exchange does no work; in the engine's order of threads its turn may come when the other is done
expect 0 '' "$tool" stat -r 5 --json -o "$scratch/stat.json" -- "$program" spin 300000
if [ "$(jq '[.threads[].counts.stores.value] | sort | .[-2] > 20000' "$scratch/stat.json")" = true ]; then
	holds [ "$(verdict imbalance)" != absent ]
else
	inconclusive 'no thread had to spin'
fi
# threads that share nothing: nothing is added to their own work; an atomic counter costs more than its additions. The parts add up.
time_of() { jq -e ".native.threads_time | (.user.value - .work.value - .sharing.value - .spinning.value | fabs) < 0.01 * .user.value and ($1)" \
	"$scratch/stat.json"; }
expect 0 '' "$tool" stat -r 4 --counters exact --engine qemu --json -o "$scratch/stat.json" -- "$program" alone 300000
holds time_of '.sharing.high + .spinning.high < 0.02 * .user.value'
expect 0 '' "$tool" stat -r 4 --counters exact --engine qemu --json -o "$scratch/stat.json" -- "$program" atomic 300000
holds time_of '.sharing.high > .work.value and .spinning.value < 0.01 * .user.value and .sharing.origin == "combined"'
finish
