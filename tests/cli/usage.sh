#!/bin/sh
# Wrong usage: exit status 2, one line on standard error that says what to do, nothing on standard output.
. "$(dirname "$0")/common.sh"
wrong() {
	pattern=$1
	shift
	expect 2 "$pattern" "$tool" "$@"
	holds [ ! -s "$scratch/out" ]
	holds [ "$(wc -l <"$scratch/err")" = 1 ]
	holds grep -q '^fathom: ' "$scratch/err"
}
wrong 'no verb "machin", did you mean "machine"' machin
wrong 'no verb "frobnicate"' frobnicate
wrong 'no verb "frobnicate"' help frobnicate
for verb in $("$tool" --complete); do
	wrong 'unknown option or argument "--nonsense"' "$verb" --nonsense
	wrong 'unknown option or argument "-Z"' "$verb" -Z
	case $verb in help | diagnose | stat | record | squeeze | scale | events | report | export) continue ;; esac
	wrong 'unknown option or argument "stray"' "$verb" stray
done
wrong 'did you mean --quick' machine --quikc
wrong 'exclude each other' machine --quick --full
wrong 'omit the other options' machine --show --quick
wrong 'is not a duration' machine --budget soon
wrong 'is not a duration' machine --budget 0
wrong 'needs a value' machine --budget
wrong 'needs a value' machine -C
wrong 'takes no value' machine --quick=yes
wrong 'does not exist: this machine has CPUs' machine -C 4090
wrong 'is not a CPU list' machine -C 1-
wrong 'is not a CPU list' machine -C zero
wrong 'takes a whole number from 0 to 100' machine --tolerate 101
wrong '--seed takes a whole number' machine --seed -1
wrong 'no program given' stat --machine haswell-ep
wrong 'no simulated machine "pdp-11"' stat --machine pdp-11 -- true
wrong '--instances needs --region' stat --machine zen3 --instances 1-2 -- true
wrong 'takes a range' stat --machine zen3 --window x -- true
wrong 'power of two' stat --machine zen3 --pages 5000 -- true
wrong 'numbers and ranges' stat --machine zen3 --cores a -- true
wrong 'needs a value' stat --machine
wrong 'no recording given' report
wrong 'two recordings can be compared, not three' report one two three
FATHOM_CPU=avx9 expect 2 'unknown instruction set "avx9"' "$tool" doctor
finish
