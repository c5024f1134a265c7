#!/bin/sh
# Folders depend downwards only, and libraries neither print nor exit: tests/cli/layers.txt has what is allowed.
. "$(dirname "$0")/common.sh"
cd "$source" || exit 1
rules=tests/cli/layers.txt

# every folder has a line
for folder in src/*/; do
	folder=${folder#src/}
	checks=$((checks + 1))
	grep -q "^${folder%/}:" "$rules" || fail "src/${folder%/} is not in $rules"
done

# every include as "FILE LINE INCLUDED", both below src; what is not found there is a system's or lies outside
grep -rnE '^[[:space:]]*#[[:space:]]*include[[:space:]]+"' src --include='*.[chS]' --include='*.def' |
	sed -E 's/^src\/([^:]+):([0-9]+):[^"]*"([^"]+)".*/\1 \2 \3/' |
	while read -r file line included; do
		[ -f "src/$included" ] || included=$(dirname "$file")/$included
		[ -f "src/$included" ] && included=$(realpath --relative-to=src "src/$included") || continue
		[ "${included#../}" != "$included" ] || echo "$file $line $included"
	done >"$scratch/includes"
holds [ -s "$scratch/includes" ]

# What a folder includes itself must be allowed to it, what it gets to see through headers of others must be in reach.
awk -v rules="$rules" '
	# the folder with a line of its own that the file is in
	function folder_of(file) {
		while (sub(/\/[^\/]*$/, "", file))
			if (file in uses)
				return file
		return "?"
	}
	function visit(file, through,    i, n, list, to) {
		if ((file, from) in seen)
			return
		seen[file, from] = 1
		to = folder_of(file)
		if (to != from && index(reaches[from], " " to " ") == 0 && !((from, to) in told)) {
			told[from, to] = 1
			print from " reaches " to " through " through
		}
		n = split(includes[file], list, " ")
		for (i = 1; i <= n; i++)
			visit(list[i], file)
	}
	FILENAME == rules {
		if ($0 ~ /^[a-z\/_]+:/) {
			name = $1
			sub(/:$/, "", name)
			split(substr($0, index($0, ":") + 1), halves, "|")
			uses[name] = " " halves[1] " "
			reaches[name] = " " halves[1] " " halves[2] " "
		}
		next
	}
	{
		from = folder_of($1)
		to = folder_of($3)
		if (from != to && index(uses[from], " " to " ") == 0)
			print "src/" $1 ":" $2 ": " from " may not use " to
		includes[$1] = includes[$1] " " $3
		files[$1] = from
	}
	END {
		for (file in files) {
			from = files[file]
			visit(file, file)
		}
	}' "$rules" "$scratch/includes" >"$scratch/wrong"
checks=$((checks + $(wc -l <"$scratch/includes")))
while read -r line; do fail "$line"; done <"$scratch/wrong"

# Messages travel up in struct fm_error; only the folders that talk to people print, and only programs exit.
grep -rnE '\b(v?printf|puts|putchar|perror|exit|_exit|_Exit|abort|quick_exit|warnx?|errx?)[[:space:]]*\(|\b(std(out|err))\b' src --include='*.[ch]' |
	grep -vE '^src/(cli|report|programs)/|^[^:]*:[0-9]+:[[:space:]]*(/\*|\*)|format\(printf' >"$scratch/prints" || true
while IFS=: read -r file line text; do
	checks=$((checks + 1))
	grep -qE "^! $file " "$rules" || fail "$file:$line prints or exits: $text"
done <"$scratch/prints"
# an exception that nothing needs is none
grep '^! ' "$rules" | while read -r _ file _; do
	grep -q "^$file:" "$scratch/prints" || echo "$file"
done >"$scratch/idle"
while read -r file; do fail "$rules: $file neither prints nor exits"; done <"$scratch/idle"
finish
