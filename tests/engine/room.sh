#!/bin/sh
# Where there is hardly any room for counts, the tool says so and the program's own end is not disturbed. Needs root, for
# small file systems in a mount namespace of their own.
. "$(dirname "$0")/../cli/common.sh"
command -v qemu-x86_64 >/dev/null || skip 'qemu-x86_64 is not installed'
[ -e "$build/libfathom-exact.so" ] || skip 'the emulator was not built'
unshare -m true 2>/dev/null || skip 'unshare -m needs root'
case $build in /tmp/* | /var/tmp/*) skip 'the build folder would be hidden' ;; esac

# small SIZE PROGRAM...: run it with file systems of this size in all folders where results may lie; output in $scratch
# would be hidden, so it is given back as text
small() {
	size=$1
	shift
	checks=$((checks + 1))
	text=$(unshare -m sh -c '
		for folder in /dev/shm /tmp /var/tmp; do mount -t tmpfs -o size='"$size"' small "$folder" || exit 77; done
		unset TMPDIR
		timeout 120 "$@" 2>&1' sh "$@")
	status=$?
	[ $status != 77 ] || skip 'tmpfs cannot be mounted here'
}

small 100k "$tool" stat --machine haswell-ep -- "$build/tests/program_forks" 3
[ $status = 125 ] || fail "without room the tool ended with $status: $text"
case $text in *'no space for counts'*TMPDIR*) ;; *) fail "without room it said: $text" ;; esac
small 2m "$tool" stat --machine haswell-ep -- "$build/tests/program_forks" 40
[ $status = 0 ] || fail "with 2 MiB the tool ended with $status: $text"
small 2m "$tool" stat --machine haswell-ep --timing --cores 0-3 -- "$build/tests/program_sharing" false
[ $status = 0 ] || fail "with 2 MiB and timing the tool ended with $status: $text"
# a program that fills the folder itself
small 8m "$tool" stat --machine haswell-ep -- /bin/sh -c 'head -c 8000000 /dev/zero >/dev/shm/all; for i in 1 2 3 4 5; do /bin/true; done; exit 7'
[ $status = 7 ] || fail "in a full folder the program ended with $status: $text"
finish
