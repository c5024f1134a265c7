# Input of jq: an array of objects.
BEGIN {
	printf "[" >out
	for (i = 0; i < 50000; i++)
		printf "%s{\"key\": %d, \"name\": \"name%d\"}", i ? ",\n" : "", i * 7919 % 1000, i % 77 >out
	print "]" >out
}
