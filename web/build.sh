#!/bin/sh
# Makes OUTPUT/page.c, the page of 'fathom report --html' without its data: web/build.sh OUTPUT
# Without node, npm or the package the build goes on: the page then says what is missing, and OUTPUT/page.made is not
# there, so that the next build tries again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
output=$1
mkdir -p "$output"
rm -f "$output/page.made"

lacks() {
	echo "fathom: no 'report --html' in this build: $1" >&2
	cat >"$output/page.new" <<END
/* Made by web/build.sh. */
#include "report/page.h"

const char fm_page_lacks[] = "$1";
const unsigned char fm_page_head[1] = {0}, fm_page_tail[1] = {0};
const size_t fm_page_head_bytes = 0, fm_page_tail_bytes = 0;
END
	put
	exit 0
}

# the same content keeps its time: nothing is compiled again
put() {
	cmp -s "$output/page.new" "$output/page.c" || cp "$output/page.new" "$output/page.c"
	rm -f "$output/page.new"
}

command -v node >/dev/null || lacks 'it was built without Node.js (apt-get install nodejs npm, then build again)'
if ! cmp -s "$here/package-lock.json" "$output/installed-lock.json" || [ ! -f "$output/node_modules/uplot/package.json" ]; then
	command -v npm >/dev/null || lacks 'it was built without npm (apt-get install npm, then build again)'
	cp "$here/package.json" "$here/package-lock.json" "$here/.npmrc" "$output"
	(cd "$output" && npm ci --fetch-retries=1 --fetch-timeout=30000 >npm.log 2>&1) ||
		lacks 'npm could not fetch uPlot when it was built (is there a network? then build again)'
	cp "$here/package-lock.json" "$output/installed-lock.json"
fi
node "$here/build.mjs" "$output/node_modules/uplot" "$output/page.new"
put
touch "$output/page.made"
