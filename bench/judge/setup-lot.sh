#!/bin/sh
# Installs the Debian 12 packages whose programs commands.txt and threaded.txt name: setup-lot.sh (as root).
set -eu
export DEBIAN_FRONTEND=noninteractive

packages="
zstd lz4 brotli lzip plzip xz-utils bzip2 pigz pbzip2 lbzip2 lrzip p7zip-full zopfli
lua5.4 ruby gawk mawk tcl guile-3.0 perl python3 python3-numpy swi-prolog-nox gforth php-cli octave
sqlite3 bc jq m4 datamash coreutils sed gzip
gnuplot-nox imagemagick graphicsmagick librsvg2-bin ghostscript pngquant webp povray
ffmpeg x264 sox flac lame opus-tools vorbis-tools espeak-ng csound
git graphviz libxml2-utils xsltproc openssl gcc g++
glpk-utils cryptominisat z3 lp-solve
stockfish gnugo
bwa bowtie2
primesieve-bin nauty pari-gp mcl qhull-bin ngspice
"
missing=
for package in $packages; do
	dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q "ok installed" || missing="$missing $package"
done
[ -z "$missing" ] && exit 0
apt-get update -qq
# shellcheck disable=SC2086
apt-get install -y --no-install-recommends $missing
