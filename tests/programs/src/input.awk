# Input of programs that read: lines of two numbers.
BEGIN {
	x = 1
	for (i = 0; i < 200000; i++) {
		x = (x * 16807) % 2147483647
		print x % 1000003, x >out
	}
}
