# A shell script: arithmetic, substitutions, pipes, a subshell with a status.
echo once >>"$COUNTED"
i=0 sum=0
while [ $i -lt ${1:-50000} ]; do
	sum=$(((sum * 31 + i) % 1000003))
	i=$((i + 1))
done
echo "$sum $(echo one two | wc -w) $(seq 100 | sort -n | tail -1)"
(exit 3)
echo $?
echo talk >&2
exit 26
