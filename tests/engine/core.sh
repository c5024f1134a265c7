#!/bin/sh
# What the kernels of `fathom machine` find of simulated cores is what the machines' files say: of ours, and of an odd one.
. "$(dirname "$0")/../cli/common.sh"
cd "$scratch" || exit 1

cat > odd.machine <<'MACHINE'
title      A core that nobody has built
machine    sockets=1 cores=3 frequency=1.7GHz
cache L1   size=24KiB ways=6 latency=3
cache L2   size=320KiB ways=5 latency=19 interval=3
tlb        entries=48 ways=6 penalty=11
tlb        entries=360 ways=6 penalty=90
memory     latency=433 gbs=9
core       width=3 window=97 load_buffers=41 store_buffers=23 fill_buffers=7 super_queue=9 load_ports=2 store_ports=1 multiply_ports=2 ports=5 loads_32=1 stores_16=0.75 forward=7 reload=3 blocked=29 taken=100 taken_wait=3 return_wait=5 indirect_wait=4 misprediction=23 code=40KiB code_ways=5 code_interval=9.75
operation  shift latency=1 interval=1.25
operation  multiply latency=7 interval=1.5
operation  divide latency=31 interval=27
operation  float_add latency=6 interval=0.75
operation  float_multiply latency=9 interval=2
operation  float_fused latency=11 interval=1.25
operation  float_divide latency=44 interval=33
operation  float_root latency=50 interval=47
MACHINE

cat > prefetch.machine <<'MACHINE'
title      Prefetchers that nobody has built
machine    sockets=1 cores=3 frequency=1.7GHz
cache L1   size=24KiB ways=6 latency=3
cache L2   size=320KiB ways=5 latency=19 interval=3 streams=12 distance=11 crosses=yes strides=5 jumps=2
tlb        entries=48 ways=6 penalty=11
tlb        entries=360 ways=6 penalty=90
memory     latency=433 gbs=9
core       width=3 window=97 load_buffers=41 store_buffers=23 fill_buffers=7 super_queue=19 load_ports=1 store_ports=1 multiply_ports=2 ports=5
MACHINE
sed 's/ strides=5 jumps=2/ jumps=1/' prefetch.machine > one.machine
sed 's/ crosses=yes strides=5 jumps=2/ adjacent=yes jumps=2/' prefetch.machine > pairs.machine
sed 's/ strides=5 jumps=2/ strides=2 gaps=4 jumps=2/' prefetch.machine > gaps.machine

# our machines, and an instruction cache: their files say nothing of it
with_code() {
	sed "s/^core .*/& $2/" "$source/machines/$1.machine" > "$1-code.machine"
}
with_code haswell-ep 'code=32KiB code_interval=4.5 return_wait=2'
with_code icelake-sp 'code=48KiB code_ways=12 code_interval=5.2 blocked=17 taken=128 taken_wait=1'
with_code xeon-e5-2670 'code=16KiB code_ways=4 code_interval=8'
with_code zen3 'code=64KiB code_ways=2 code_interval=13.25'

"$tool" machine --machine ./odd.machine --json > odd.json 2> odd.err || skip "the engine does not run here: $(cat odd.err)"
for name in ./odd.machine ./prefetch.machine ./one.machine ./pairs.machine ./gaps.machine haswell-ep zen3 ./haswell-ep-code.machine ./icelake-sp-code.machine ./xeon-e5-2670-code.machine \
	./zen3-code.machine; do
	checks=$((checks + 1))
	"$tool" machine --machine "$name" --json > found.json || fail "$name was not measured"
	jq -r '. as $all | .described | to_entries[] | $all.core[.key] as $found |
		select(($found == null) or $found.value == null or .value < $found.low or .value > $found.high) |
		"\(.key): \($found.low) … \($found.high), not \(.value)"' found.json > wrong.txt
	case $name in ./odd.machine | *-code.machine)
		[ "$(jq '[.described | keys[] | select(startswith("code_"))] | length' found.json)" -eq 2 ] || fail "$name: nothing is known of its code" ;;
	*) jq -e '.core.code_bytes == null' found.json > /dev/null || fail "$name: an instruction cache was found where there is none" ;;
	esac
	case $name in ./odd.machine | *icelake*)
		[ "$(jq '[.described | keys[] | select(startswith("taken") or . == "blocked")] | length' found.json)" -eq 3 ] || fail "$name: nothing is known of its branches" ;;
	*) jq -e '.core.taken == null' found.json > /dev/null || fail "$name: late branches were found where there are none" ;;
	esac
	[ "$(jq '.described | length' found.json)" -ge 24 ] || fail "$name: few values are known of it"
	[ "$(jq '[.described | keys[] | select(startswith("prefetch_") or . == "fill_buffers")] | length' found.json)" -ge 7 ] ||
		fail "$name: few values are known of its prefetchers"
	[ -s wrong.txt ] && fail "$name: $(cat wrong.txt)"
done
checks=$((checks + 1))
"$tool" machine --machine ./odd.machine > odd.txt
grep -q '^  float_fused_latency  *1[01]\.[0-9]* .* 11.00  cycles$' odd.txt || fail "the table: $(cat odd.txt)"
checks=$((checks + 1))
jq -e '.core | [.prefetch_adjacent, .prefetch_next, .prefetch_crosses] | all(.high < 0.5)' odd.json > /dev/null &&
	jq -e '.core | [.prefetch_streams, .prefetch_distance, .prefetch_strides, .prefetch_jumps] | all(.value == 0)' odd.json > /dev/null ||
	fail "prefetchers were found where there are none: $(jq -c .core odd.json)"
checks=$((checks + 1))
"$tool" machine --machine haswell-ep --quick > /dev/null 2> both.err
[ $? -eq 2 ] || fail '--machine and --quick were taken together'
checks=$((checks + 1))
sed 's/ code_interval=9.75//' odd.machine > half.machine
"$tool" machine --machine ./half.machine > /dev/null 2> half.err && fail 'code without its interval was taken'
grep -q 'half.machine:8: code and code_interval belong together' half.err || fail "the message: $(cat half.err)"
checks=$((checks + 1))
sed -i 's/^operation  divide /operation  division /' odd.machine
"$tool" machine --machine ./odd.machine > /dev/null 2> wrong.err && fail 'an operation that does not exist was taken'
grep -q 'odd.machine:11: there is no operation "division"' wrong.err || fail "the message: $(cat wrong.err)"
finish
