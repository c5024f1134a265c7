# Perl: hashes, regular expressions, sorting, a fork, a pipe from a child.
if ($ENV{COUNTED}) { open(my $mark, '>>', $ENV{COUNTED}); print $mark "once\n"; close($mark); }
my %table;
$table{$_ % 1000} += $_ for 1 .. ($ARGV[0] || 200000);
my $text = join(',', map { "$_=$table{$_}" } sort { $a <=> $b } keys %table);
my $count = () = $text =~ /(\d)\1/g;
$| = 1;
print length($text), " $count\n";
my $child = fork();
if ($child == 0) { exit(9); }
waitpid($child, 0);
print $? >> 8, ' ', `echo child`;
exit(4);
