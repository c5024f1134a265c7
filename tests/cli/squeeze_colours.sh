#!/bin/sh
# fathom squeeze with the back end colours: wrong usage, refusals, programs that cannot be squeezed, what is left behind. What it
# measures is tested by soak.colours.
. "$(dirname "$0")/common.sh"
access=$build/tests/squeeze_access
schema=$source/docs/schemas/squeeze.schema.json
[ -e "$build/libfathom-colours.so" ] || skip 'the runtime was not built'

# refusals need no measuring: the sysfs of other machines
cache=devices/system/cpu/cpu0/cache
for index in 0 2; do
	mkdir -p "$scratch/sys/$cache/index$index"
	echo 64 >"$scratch/sys/$cache/index$index/coherency_line_size"
	echo 8 >"$scratch/sys/$cache/index$index/ways_of_associativity"
	echo 64 >"$scratch/sys/$cache/index$index/number_of_sets"
done
echo 1 >"$scratch/sys/$cache/index0/level"
echo Data >"$scratch/sys/$cache/index0/type"
echo 2 >"$scratch/sys/$cache/index2/level"
echo Unified >"$scratch/sys/$cache/index2/type"
mv "$scratch/sys/$cache/index2" "$scratch/sys/$cache/index1"
expect 124 'an L2 of 64 sets has no page colours.*|--machine host' env FATHOM_SYSFS="$scratch/sys" "$tool" squeeze --backend colours -- true
echo 200 >"$scratch/sys/$cache/index1/ways_of_associativity"
expect 124 '200 ways' env FATHOM_SYSFS="$scratch/sys" "$tool" squeeze --backend colours -- true
expect 124 'does not report the ways' env FATHOM_SYSFS="$scratch" "$tool" squeeze --backend colours -- true
expect 127 'no such program' "$tool" squeeze --backend colours -- no-such-program
expect 126 '' "$tool" squeeze --backend colours -- /etc/passwd
expect 2 'colours limits L2, not L3' "$tool" squeeze --level L3 --backend colours -- "$access" heap 64 10
[ "$("$access" heap 64 10)" = 0 ] || fail 'the program itself does not work'

# What follows needs colours on this machine. A machine that is busy may refuse at any time, which is an answer: it is asked
# again a few times, and then the test ends with what it has checked.
cat >"$scratch/live" <<SCRIPT
#!/bin/sh
for try in 1 2 3 4 5; do
	"$tool" "\$@" 2>"$scratch/live_errors"
	status=\$?
	[ \$status = 124 ] && grep -q 'colours cannot limit this program here' "$scratch/live_errors" || break
done
cat "$scratch/live_errors" >&2
[ \$status = 124 ] && touch "$scratch/refused"
exit \$status
SCRIPT
chmod +x "$scratch/live"
refused() {
	[ -e "$scratch/refused" ] || return 1
	echo "colours were refused here: $(cat "$scratch/live_errors")"
}
live() {
	before=$failures
	expect "$@"
	if refused; then
		failures=$before
		finish
	fi
}
"$scratch/live" squeeze --backend colours --budget 1ms -q -o "$scratch/text" -- "$access" heap 64 100000 >"$scratch/out" 2>"$scratch/err"
status=$?
refused && finish
holds [ "$status" = 0 ]
holds [ "$(cat "$scratch/out")" = 0 ]
holds grep -q 'budget of 0.001 s is spent' "$scratch/text"
holds grep -q 'Bandwidth in use, memory: n/a (page colours limit cache, not bandwidth)' "$scratch/text"
# sizes beyond the cache, none, of another cache, and an axis that there is not
for wrong in l2=64M l2=0 l2=0% l2=-1K l3=1M bw=50% l2=; do
	live 2 'predict' "$scratch/live" squeeze --backend colours --predict $wrong -- "$access" heap 64 100
done
live 2 'not bandwidth' "$scratch/live" squeeze --backend colours --only bandwidth -- "$access" heap 64 100
# programs that fail, are too short, or differ from run to run
live 3 'ended with exit status 3, so it was not run again' "$scratch/live" squeeze --backend colours -- sh -c 'exit 3'
live 0 'run is too short' "$scratch/live" squeeze --backend colours -- true
# (without other processes: of a program that forks it would be said that it cannot be confined)
cat >"$scratch/ends" <<'SCRIPT'
[ -e "$1" ] && exit 5
i=0
while [ $i -lt 100000 ]; do i=$((i + 1)); done
: >"$1"
SCRIPT
cat >"$scratch/writes" <<'SCRIPT'
echo x >>"$1"
i=0
while [ $i -lt 100000 ]; do i=$((i + 1)); done
while read -r line; do echo "$line"; done <"$1"
SCRIPT
live 0 'does not repeat its work: it ended with' "$scratch/live" squeeze --backend colours -- sh "$scratch/ends" "$scratch/seen"
live 0 'does not repeat its work: it wrote' "$scratch/live" squeeze --backend colours -- sh "$scratch/writes" "$scratch/more"
# the answer and its recording; with a profile, also the miss-ratio curve of 300 KiB at random; long enough on any processor (0.02 s)
mkdir -p "$XDG_DATA_HOME/fathom/machines"
cp "$source/tests/cli/example-profile.json" "$XDG_DATA_HOME/fathom/machines/$(hostname).json"
live 0 '' "$scratch/live" squeeze --backend colours --budget 13s --json -q --predict l2=50% --record "$scratch/live.fathom" -o "$scratch/live.json" -- "$access" heap 300 9000
expect 0 '' "$source/tests/cli/schema" "$schema" "$scratch/live.json"
holds jq -e 'if .curve_need_bytes then .curve_need_bytes.value > 150e3 and .curve_need_bytes.value < 450e3
	else .curve_need_bytes_why | test("the budget was spent|the cost of a miss is unknown") end' "$scratch/live.json" >/dev/null
holds jq -e '.level == "L2" and .bandwidth_in_use_gbs == null and .bandwidth_in_use_gbs_why != "" and .memory_gbs == null' "$scratch/live.json" >/dev/null
holds jq -e '.calibration.statement | test("colours")' "$scratch/live.json" >/dev/null
"$tool" report --json "$scratch/live.fathom" | sed 's/"verb": "report"/"verb": "squeeze"/' >"$scratch/again.json"
holds cmp -s "$scratch/live.json" "$scratch/again.json"
if jq -e '.runs > 3' "$scratch/live.json" >/dev/null; then
	expect 0 'Control without a limit' "$tool" report "$scratch/live.fathom"
else
	echo 'the machine was too busy for more than a run within the budget: the control is not looked at'
fi
# what was found out about the cache is kept, and something wrong in its place is not believed
kept=$(echo "$XDG_DATA_HOME"/fathom/machines/*.colours.json)
holds [ -s "$kept" ]
sed -i 's/"hash": "[^"]*"/"hash": "3"/' "$kept"
live 0 '' "$scratch/live" squeeze --backend colours --budget 1ms -q -- "$access" heap 64 1000
holds [ "$(jq -r .hash "$kept")" != 3 ]
echo '{' >"$kept"
live 0 '' "$scratch/live" squeeze --backend colours --budget 1ms -q -- "$access" heap 64 1000

# it does not disturb what programs do: threads, forks, much memory, memory from elsewhere
live 0 '^0$' "$scratch/live" squeeze --backend colours --budget 2s -q -o "$scratch/text" -- "$access" thread 300 3000
live 0 '^0$' "$scratch/live" squeeze --backend colours --budget 2s -q -o "$scratch/text" -- "$access" static 300 3000
live 0 '^0$' "$scratch/live" squeeze --backend colours --budget 2s -q -o "$scratch/text" -- "$access" mapped 300 3000
live 0 '^6$' "$scratch/live" squeeze --backend colours --budget 2s -q -o "$scratch/text" -- sh -c 'for i in 1 2 3; do (true); done; echo $((1 + 2 + 3)) | cat'
# one that forbids itself system calls is not ended for ours
for way in prctl syscall; do
	"$build/tests/colours_filtered" $way >/dev/null
	[ $? = 99 ] && break
	live 0 '^0$' "$scratch/live" squeeze --backend colours --budget 2s -q -o "$scratch/text" -- "$build/tests/colours_filtered" $way
done
# ended in the middle: nothing is left, whoever ends it
for signal in TERM KILL; do
	"$tool" squeeze --backend colours --budget 60s -q -o "$scratch/text" -- "$access" heap 301 20000 >/dev/null 2>&1 &
	running=$!
	sleep 1.5
	kill -$signal $running
	wait $running 2>/dev/null
	# the program itself may end in its own time
	for try in $(seq 100); do
		[ -z "$(pgrep -f "$access heap 301")" ] && break
		sleep 0.1
	done
	holds [ -z "$(pgrep -f "$access heap 301")" ]
done
holds [ -z "$(find /tmp /dev/shm -maxdepth 1 -name '*fathom-colours*' 2>/dev/null)" ]
finish
