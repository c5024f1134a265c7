#!/bin/sh
# The installed tree works from any folder, fathom.pc too; what the Debian package says of itself and what is in it.
# soak.package installs it in a clean Debian.
. "$(dirname "$0")/common.sh"
version=$("$tool" --version)
version=${version#fathom }
cc=${CC:-cc}

# the version stands in one place
holds grep -qx "#define FM_VERSION \"$version\"" "$source/src/base/version.h"
holds grep -q "^## $version\b" "$source/CHANGELOG.md"
holds [ "$(cd "$source" && grep -rlF "\"$version\"" src man packaging CMakeLists.txt)" = src/base/version.h ]

# marked PREFIX: a marked program finds the header there by pkg-config
marked() {
	PKG_CONFIG_PATH="$1/share/pkgconfig"
	export PKG_CONFIG_PATH
	expect 0 "^$version\$" pkg-config --modversion fathom
	expect 0 '^-I' pkg-config --cflags fathom
	flags=$(sed 's/ *$//' "$scratch/out")
	holds [ "$(realpath "${flags#-I}")" = "$(realpath "$1/include")" ]
	expect 0 '' "$cc" -Wall -Wextra -Werror "$flags" "$source/tests/cli/recordings-0.1.0/marked.c" -o "$scratch/marked" -pthread
	expect 0 '^2\.09715e\+06$' "$scratch/marked" 1
}

# works PREFIX: the tool finds its machines, libraries and the marked regions there
works() {
	expect 0 "^fathom $version\$" "$1/bin/fathom" --version
	for engine in qemu native; do
		[ -f "$build/libfathom-exact.so" ] || continue
		expect 0 '^gather' "$1/bin/fathom" stat --machine haswell-ep --engine "$engine" -- "$scratch/marked" 1
		holds grep -q 'on haswell-ep' "$scratch/out"
	done
	expect 0 'available' "$1/bin/fathom" doctor
}

expect 0 '' cmake --install "$build" --prefix "$scratch/first"
marked "$scratch/first"
holds grep -q 'BSD-3-Clause' "$scratch/first/share/doc/fathom/copyright"
mkdir "$scratch/elsewhere"
mv "$scratch/first" "$scratch/elsewhere/tree"
marked "$scratch/elsewhere/tree"
works "$scratch/elsewhere/tree"
# nothing in it knows the folder that it was installed into
holds sh -c '! grep -rlF "$1" "$2"' sh "$scratch/first" "$scratch/elsewhere"

# the package, where it can be made
for needed in cpack dpkg-deb dpkg-shlibdeps file; do
	command -v "$needed" >/dev/null || { echo "SKIPPED: no package is made: there is no $needed"; finish; }
done
expect 0 '' "$source/scripts/deb" "$build" "$scratch/package"
package="$scratch/package/fathom_${version}_$(dpkg --print-architecture).deb"
holds [ -f "$package" ]
expect 0 '' dpkg-deb -f "$package"
mv "$scratch/out" "$scratch/fields"
field() { # NAME PATTERN
	checks=$((checks + 1))
	grep -qE "^$1: $2" "$scratch/fields" || fail "$1 of the package is not \"$2\": $(grep "^$1:" "$scratch/fields")"
}
field Package 'fathom$'
field Version "$version\$"
field Maintainer '.+ <.+>$'
for library in libc6 libdw1 libhwloc15 libjansson4 libsqlite3-0; do
	field Depends ".*\b$library\b"
done
field Recommends 'qemu-user$'
# only the emulator runs QEMU, and nothing here needs a script to be installed
holds sh -c '! grep -q "^Depends:.*qemu" "$1"' sh "$scratch/fields"
holds [ "$(dpkg-deb --ctrl-tarfile "$package" | tar -t | grep -c '^./p[or]')" = 0 ]

expect 0 '' dpkg-deb -c "$package"
mv "$scratch/out" "$scratch/list"
# root owns all of it, and others only read
holds [ "$(awk '$2 != "root/root" || substr($1, 6, 1) == "w" || substr($1, 9, 1) == "w"' "$scratch/list" | wc -l)" = 0 ]
expect 0 '' dpkg-deb -x "$package" "$scratch/tree"
for page in "$source"/man/*.1; do
	holds cmp -s "$page" - <<END
$(gzip -dc "$scratch/tree/usr/share/man/man1/$(basename "$page").gz")
END
done
for file in share/doc/fathom/changelog.gz share/doc/fathom/CHANGELOG.md.gz share/doc/fathom/copyright share/pkgconfig/fathom.pc include/fathom.h include/fathom.f90 \
	include/fathom/likwid-marker.h share/bash-completion/completions/fathom share/zsh/vendor-completions/_fathom share/fish/vendor_completions.d/fathom.fish \
	lib/fathom/fathom-kernel share/fathom/machines/haswell-ep.machine; do
	holds [ -s "$scratch/tree/usr/$file" ]
done
holds [ "$(gzip -dc "$scratch/tree/usr/share/doc/fathom/changelog.gz" | sed 1q)" = "fathom ($version) unstable; urgency=medium" ]
# nothing of the machine that built it
holds sh -c '! grep -rlF "$1" "$2"' sh "$source" "$scratch/tree"
holds sh -c '! readelf -S "$1" | grep -q "\.debug_"' sh "$scratch/tree/usr/bin/fathom"
marked "$scratch/tree/usr"
works "$scratch/tree/usr"
finish
