<?php
// search.php FILE COUNT - looks for COUNT keys in a file of sorted 32-byte lines, by
// halving: fseek to the middle, fread the key there, go left or right.

const WIDTH = 32;
const KEY = 10;

function find($file, int $lines, string $key): ?string
{
	$low = 0;
	$high = $lines;
	while ($low < $high) {
		$middle = ($low + $high) >> 1;
		fseek($file, WIDTH * $middle);
		$order = strcmp(fread($file, KEY), $key);
		if ($order === 0)
			return rtrim(fgets($file));
		if ($order < 0)
			$low = $middle + 1;
		else
			$high = $middle;
	}
	return null;
}

[, $path, $count] = $argv;
$file = fopen($path, 'rb');
$lines = intdiv(filesize($path), WIDTH);

mt_srand(2);
$found = 0;
$sum = 0;
for ($i = 0; $i < $count; $i++) {
	$line = find($file, $lines, sprintf('%010d', mt_rand(0, 3 * $lines)));
	if ($line === null)
		continue;
	$found++;
	$sum = ($sum * 31 + crc32($line)) & 0xffffffff;
}
printf("%d of %d keys found, checksum %08x\n", $found, $count, $sum);
