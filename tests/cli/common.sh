# For the command-line tests: sh script.sh TOOL SOURCE BUILD. Counts checks; a script that made none fails.
set -u
tool=$1
source=$2
build=$3
checks=0
failures=0
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
export XDG_DATA_HOME="$scratch/data"

fail() { failures=$((failures + 1)); echo "FAILED: $*" >&2; }

# expect STATUS PATTERN COMMAND...: exit status, and a pattern that standard output or error must match
expect() {
	status=$1 pattern=$2
	shift 2
	checks=$((checks + 1))
	"$@" >"$scratch/out" 2>"$scratch/err"
	got=$?
	[ "$got" = "$status" ] || fail "'$*' ended with $got instead of $status: $(cat "$scratch/err")"
	[ -z "$pattern" ] || cat "$scratch/out" "$scratch/err" | grep -qE -- "$pattern" ||
		fail "'$*' did not say \"$pattern\": $(cat "$scratch/out" "$scratch/err" | head -5)"
}

holds() {
	checks=$((checks + 1))
	"$@" || fail "'$*' does not hold"
}

# change RECORDING SQL: a change that SQLite refuses would leave nothing to test
change() {
	sqlite3 -bail "$1" "$2" >"$scratch/sqlite" 2>&1 || fail "SQLite refused '$2': $(head -3 "$scratch/sqlite")"
}

skip() { echo "SKIPPED: $*"; exit 77; }

# A part of the test has no answer here and now: it is counted as skipped (scripts/skips), and the rest goes on.
inconclusive() { echo "SKIPPED: inconclusive: $*"; }

# material NAME: a file from outside, its path in $material; FATHOM_MATERIAL names their folder. Skips the test when it is not there.
material() {
	[ -n "${FATHOM_MATERIAL-}" ] || skip 'FATHOM_MATERIAL is not set'
	[ -r "$FATHOM_MATERIAL/$1" ] || skip "there is no $FATHOM_MATERIAL/$1"
	material=$FATHOM_MATERIAL/$1
}

finish() {
	echo "$checks checks, $failures failed"
	[ "$checks" -gt 0 ] && [ "$failures" = 0 ]
	exit $?
}
