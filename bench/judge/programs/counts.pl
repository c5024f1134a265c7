# Words, pairs of words and a substitution over a text.
use strict;
my (%words, %pairs, $last);
open my $file, "<", $ARGV[0] or die;
while (<$file>) {
	s/([aeiou])\1/$1/g;
	for my $word (split /[^a-z]+/) {
		$words{$word}++;
		$pairs{"$last $word"}++ if defined $last;
		$last = $word;
	}
}
my @top = sort { $words{$b} <=> $words{$a} || $a cmp $b } keys %words;
print "$_ $words{$_}\n" for @top[0 .. 20];
print scalar(keys %pairs), "\n";
