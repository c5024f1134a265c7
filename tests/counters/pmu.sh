#!/bin/sh
# The perf back end on a PMU, in an emulated arm64 machine whose counters count exactly: see pmu.c.
. "$(dirname "$0")/../cli/common.sh"
command -v qemu-system-aarch64 >/dev/null || skip 'qemu-system-aarch64 is not installed'
command -v aarch64-linux-gnu-gcc >/dev/null || skip 'aarch64-linux-gnu-gcc is not installed'
[ -s "$build/pmu/vmlinuz" ] || skip 'there is no arm64 kernel: scripts/pmu-kernel build/pmu/vmlinuz'
# libpfm4 and the JSON library stay out, and with them groups and recipes: they would have to be built for arm64 too
aarch64-linux-gnu-gcc -std=gnu11 -O2 -static -pthread -D_GNU_SOURCE -I"$source/src" "$source/tests/counters/pmu.c" \
	$(ls "$source"/src/counters/*.c | grep -vE '/(group|recipe)\.c$') "$source"/src/base/sysfs.c "$source"/src/base/error.c "$source"/src/base/figure.c "$source"/src/base/text.c \
	"$source"/src/base/leftovers.c "$source"/src/base/plain_text.c "$source"/src/base/suggest.c "$source"/src/base/host.c -lm -o "$scratch/init" || fail 'the counters do not compile for arm64'
"$source/tests/counters/initramfs" "$scratch/init" "$scratch/initramfs" || fail 'no initramfs'
timeout 200 qemu-system-aarch64 -M virt -cpu cortex-a57 -m 512 -nographic -nic none -icount shift=0,sleep=off \
	-kernel "$build/pmu/vmlinuz" -initrd "$scratch/initramfs" -append 'console=ttyAMA0 quiet panic=-1' -no-reboot \
	>"$scratch/console" 2>&1 </dev/null
tr -d '\r' <"$scratch/console" | grep -E '^(ok|FAILED|RESULT)' >"$scratch/lines"
cat "$scratch/lines"
checks=$(grep -cE '^(ok|FAILED)' "$scratch/lines")
grep -q '^RESULT' "$scratch/lines" || fail "the machine ended early: $(tail -5 "$scratch/console")"
failures=$((failures + $(grep -c '^FAILED' "$scratch/lines")))
finish
