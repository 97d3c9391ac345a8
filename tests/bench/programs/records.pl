# records.pl FILE TIMES read|sysread: 32-byte records at random
use strict;
use warnings;

my ($path, $times, $how) = @ARGV;
open my $file, '<:raw', $path or die "$path: $!\n";
my $records = (-s $path) / 32;
my ($state, $sum, $record) = (7, 0, '');
for (1 .. $times) {
	$state = ($state * 1103515245 + 12345) & 0x7fffffff;
	my $at = 32 * int(($state >> 8) % $records);
	if ($how eq 'read') {
		seek $file, $at, 0 or die "seek: $!\n";
		read($file, $record, 32) == 32 or die "read: $!\n";
	} else {
		sysseek $file, $at, 0 or die "sysseek: $!\n";
		sysread($file, $record, 32) == 32 or die "sysread: $!\n";
	}
	$sum = ($sum * 31 + unpack 'N', substr $record, 6, 4) & 0xffffffff;
}
print "$sum\n";
