#!/bin/sh
# The Debian package in a clean Debian 12: it installs with its dependencies alone, every part of it works for an ordinary
# user, and nothing of it stays behind. scripts/chroot makes the archive that the clean Debian comes from.
. "$(dirname "$0")/../cli/common.sh"
archive="$build/debian12.tar"

if [ -z "${FATHOM_SMOKE_INSIDE-}" ]; then
	[ "$(id -u)" = 0 ] || skip 'only root can use a chroot'
	[ -s "$archive" ] || skip "there is no $archive: 'make soak' makes it with scripts/chroot, where that can run"
	grep -q '^VERSION_CODENAME=bookworm$' /etc/os-release || skip 'this system is not Debian 12: its programs need other libraries'
	unshare --mount --propagation private true 2>"$scratch/err" || skip "mounting is not permitted: $(cat "$scratch/err")"
	# a mount namespace: nothing stays mounted, however this ends
	rm -rf "$scratch"
	FATHOM_SMOKE_INSIDE=1 exec unshare --mount --propagation private "$0" "$@"
fi

# beside the archive, where scripts/chroot could make devices and programs could run
root=$(mktemp -d "$archive.XXXXXX")
finished() {
	umount "$root/dev/shm" "$root/proc" "$root/sys" 2>/dev/null
	rm -rf --one-file-system "$root" "$scratch"
}
trap finished EXIT
trap 'exit 1' INT TERM HUP
tar -C "$root" --numeric-owner -xpf "$archive" || skip 'the archive cannot be unpacked here'
mkdir -p "$root/dev/shm"
mount -t proc proc "$root/proc" 2>"$scratch/err" && mount -t tmpfs tmpfs "$root/dev/shm" 2>"$scratch/err" ||
	skip "mounting is not permitted: $(cat "$scratch/err")"
chmod 1777 "$root/dev/shm"
mount -t sysfs -o ro sysfs "$root/sys" 2>/dev/null # without: caches and topology come from the processor alone
cp /etc/resolv.conf "$root/etc/resolv.conf"
echo 'user:x:1000:1000::/home/user:/bin/sh' >>"$root/etc/passwd"
echo 'user:x:1000:' >>"$root/etc/group"
mkdir -p "$root/home/user"

# the environment of the tests is not that of a clean system
as_root() {
	chroot "$root" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive \
		${http_proxy:+http_proxy="$http_proxy"} ${https_proxy:+https_proxy="$https_proxy"} "$@"
}
as_user() {
	chroot --userspec=1000:1000 "$root" env -i PATH=/usr/bin:/bin HOME=/home/user LC_ALL=C.UTF-8 sh -c 'cd && exec "$@"' sh "$@"
}
files() { find "$root/usr" "$root/etc" -name '*fathom*' 2>/dev/null; }

# the package, and its dependencies alone. An unknown dependency fails the test; a failed download skips it.
expect 0 '' "$source/scripts/deb" "$build" "$root/tmp/package"
[ "$failures" = 0 ] || finish
package=$(cd "$root" && ls tmp/package/*.deb)
chmod 755 "$root/tmp/package"
as_root apt-get update -qq -o APT::Update::Error-Mode=any >"$scratch/out" 2>&1 || skip "packages cannot be fetched: $(head -1 "$scratch/out")"
holds [ -z "$(files)" ]
expect 0 '' as_root apt-get install --simulate --no-install-recommends "/$package"
[ "$failures" = 0 ] || finish
as_root apt-get install -y --download-only --no-install-recommends "/$package" >"$scratch/out" 2>&1 ||
	skip "packages cannot be fetched: $(tail -1 "$scratch/out")"
expect 0 'Setting up fathom' as_root apt-get install -y --no-install-recommends "/$package"
expect 0 '^install ok installed' as_root dpkg-query -W -f '${Status}' fathom
expect 0 '' as_root dpkg --verify fathom
holds [ ! -s "$scratch/out" ]
holds [ ! -e "$root/usr/bin/qemu-x86_64" ]
holds [ ! -e "$root/usr/bin/man" ]
expect 0 "^$("$tool" --version)\$" as_user fathom --version
[ "$failures" = 0 ] || finish
for file in "$root"/usr/bin/fathom "$root"/usr/lib/fathom/*; do
	expect 0 'libc\.so' as_root ldd "${file#"$root"}"
	holds sh -c '! grep "not found" "$1"' sh "$scratch/out"
done

# a program to look at, compiled for the installed header
cc=${CC:-cc}
# shellcheck disable=SC2046 # several options
expect 0 '' "$cc" -O2 -g $(PKG_CONFIG_PATH="$root/usr/share/pkgconfig" pkg-config --cflags fathom) \
	"$source/tests/cli/recordings-0.1.0/marked.c" -o "$root/home/user/marked" -pthread
chown -R 1000:1000 "$root/home/user"

expect 0 '^cpu +yes' as_user fathom doctor
expect 0 'apt-get install qemu-user' as_user fathom doctor
# a machine that others use is no failure of the package
expect 0 '^memory +' as_user fathom machine --quick --tolerate 100
expect 0 '^Level +advertised' as_user fathom machine --show
expect 0 'marked.c:[0-9]+ \(work\)' as_user fathom stat --record stat.fathom -- ./marked 300
expect 0 'marked.c:[0-9]+ \(work\)' as_user fathom report stat.fathom
expect 0 '' as_user fathom report --json stat.fathom
holds jq -e '.coverage.engine == "windows" and ([.regions[].name] | unique) == ["gather", "sum"]' "$scratch/out" >/dev/null
expect 0 '[1-9][0-9,]* samples,' as_user fathom record --force -o record.fathom -- ./marked 3000
expect 0 '^gather ' as_user fathom report record.fathom
expect 0 '' as_user fathom report --html record.html record.fathom
expect 0 '' as_user fathom report --html stat.html stat.fathom
for page in record stat; do
	holds [ "$(wc -c <"$root/home/user/$page.html")" -gt 100000 ]
	holds grep -q 'marked.c' "$root/home/user/$page.html"
done
# only simulated machines need what is recommended, and say so
expect 124 'apt-get install qemu-user' as_user fathom stat --machine haswell-ep -- ./marked 1

# manual: a page for each verb, found by name
for verb in '' $(as_user fathom --complete | grep -vx help); do
	page="fathom${verb:+-$verb}"
	holds gzip -t "$root/usr/share/man/man1/$page.1.gz"
	! command -v man >/dev/null || expect 0 "^$page|^FATHOM" env MANWIDTH=80 man -P cat -M "$root/usr/share/man" 1 "$page"
done
holds gzip -t "$root/usr/share/doc/fathom/changelog.gz"
holds grep -q 'BSD-3-Clause' "$root/usr/share/doc/fathom/copyright"

# completions
holds [ -s "$root/usr/share/zsh/vendor-completions/_fathom" ]
holds [ -s "$root/usr/share/fish/vendor_completions.d/fathom.fish" ]
expect 0 '^machine$' as_user bash -c '. /usr/share/bash-completion/completions/fathom; COMP_WORDS=(fathom mach) COMP_CWORD=1; _fathom; printf "%s\n" "${COMPREPLY[@]}"'

# removed as a whole
expect 0 'Purging|Removing fathom' as_root apt-get purge -y fathom
holds [ -z "$(files)" ]
finish
