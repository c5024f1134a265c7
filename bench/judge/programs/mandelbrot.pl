use strict;
my ($size, $inside) = ($ARGV[0], 0);
for my $row (0 .. $size - 1) {
	for my $column (0 .. $size - 1) {
		my ($cx, $cy, $x, $y, $i) = (3 * $column / $size - 2, 2 * $row / $size - 1, 0, 0, 0);
		while ($i++ < 60 && $x * $x + $y * $y < 4) { ($x, $y) = ($x * $x - $y * $y + $cx, 2 * $x * $y + $cy) }
		$inside++ if $i > 60;
	}
}
print "$inside\n";
