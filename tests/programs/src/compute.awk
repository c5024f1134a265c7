# awk: arrays, fields, regular expressions, a child.
BEGIN { if (ENVIRON["COUNTED"] != "") { print "once" >>ENVIRON["COUNTED"]; close(ENVIRON["COUNTED"]) } }
{ sum[$1 % 1000] += $2 % 1000; if ($2 ~ /77/) found++ }
END {
	for (i = 0; i < 1000; i++) mixed = (mixed * 31 + sum[i]) % 1000003
	"echo child" | getline child
	print NR, mixed, found, child
	exit 20
}
