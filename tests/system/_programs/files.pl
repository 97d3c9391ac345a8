# files.pl IN: the ways in which Perl reads and writes files.
use strict;
use warnings;
use Fcntl qw(:seek :flock O_RDWR O_CREAT O_RDONLY);
use IO::Handle;

my $in = shift;
$| = 1;

sub sum { unpack "%32C*", join "", @_ }

# records by system calls, then the same ones through Perl's buffer
my ($f, $g, $record);
open $f, "<:raw", "$in/records" or die;
open $g, "<:raw", "$in/records" or die;
my ($sum, $at) = (0, 1);
for my $i (1 .. 20000) {
	$at = ($at * 75 + 74) % 65537;
	sysseek $f, $at % 4096 * 17, SEEK_SET or die;
	sysread($f, $record, 17) == 17 or die;
	$sum = ($sum * 31 + sum $record) % 1000003;
	next if $i % 10;
	seek $g, $at % 4096 * 17, SEEK_SET;
	read $g, my $other, 17;
	die "differ" if $other ne $record;
}
print "records $sum ", sysseek($f, 0, SEEK_CUR), " ", tell($g), "\n";
print sysseek($f, -5, SEEK_END), sysread($f, $record, 100), $record, sysread($f, $record, 1), "\n";
print sysseek($f, -1, SEEK_SET) ? "moved" : "refused: $!", "\n";

# lines, their places, the last one without its end
open $f, "<", "$in/unended" or die;
my @places = (0);
while (<$f>) { push @places, tell $f }
print "$. lines, eof ", eof $f, "\n";
for my $i (reverse 0 .. 9) { seek $f, $places[$i * 50], SEEK_SET; print scalar <$f> }
{ local $/ = \100; print sum(<$f>), "\n" }
{ local $/; seek $f, 100, SEEK_SET; print sum(<$f>), "\n" }
print "data: ", scalar <DATA>, tell(DATA) - $places[0] > 0 ? "after\n" : "before\n";

# one description in two handles, a child, another program
open $f, "<:raw", "$in/text" or die;
sysread $f, $record, 10 for 1 .. 100;
open my $dup, "<&", $f or die;
sysread $dup, $record, 10;
print sysseek($f, 0, SEEK_CUR), " $record\n";
unless (fork) { sysread $f, $record, 26; print "child $record"; exit }
wait;
sysread $f, $record, 26;
print "parent $record\n";
sysseek $f, 52, SEEK_SET;
open STDIN, "<&", $f or die;
system "head -n 1";
print `head -c 30`, "\n", sysseek($f, 0, SEEK_CUR), "\n";
my $pid = open my $pipe, "-|", "cat | wc -c" or die;
print <$pipe>;
close $pipe;
print "$? ", sysread($f, $record, 1), "\n";

# read and written by turns, shortened, locked
sysopen $f, "both", O_RDWR | O_CREAT or die;
syswrite $f, sprintf "%08d\n", $_ * 7919 for 1 .. 1000;
for my $i (1 .. 300) {
	sysseek $f, $i * 37 % 1000 * 9, SEEK_SET;
	sysread $f, my $one, 9;
	sysseek $f, $i * 91 % 1000 * 9, SEEK_SET;
	syswrite $f, reverse($one), 8;
	if ($i % 100 == 0) {
		flock $f, LOCK_EX;
		truncate $f, 9000 - 9 * $i;
		sysseek $f, 0, SEEK_END;
		syswrite $f, "end $i\n";
		flock $f, LOCK_UN;
	}
}
sysseek $f, 0, SEEK_SET;
my $all = "";
1 while sysread $f, $all, 777, length $all;
print length $all, " ", sum($all), " ", -s "both", "\n";
open $g, "+<", "both" or die;
for (1 .. 50) { my $line = <$g>; seek $g, 0, SEEK_CUR; print $g uc "x$_"; seek $g, 0, SEEK_CUR }
print tell $g, "\n";
close $g;
open $g, ">>", "both" or die;
print $g "appended\n";
close $g;
{
	local ($^I, @ARGV) = (".old", "both");
	while (<>) { print "$.:$_" if $. % 3 }
}
print -s "both", " ", -s "both.old", "\n";
__DATA__
of the script
