<?php
/* Record look-ups as PHP programs do them: seek.php FILE TIMES buffered|unbuffered */
[, $path, $times, $mode] = $argv;
$file = fopen($path, 'rb');
if ($mode === 'unbuffered') {
	stream_set_read_buffer($file, 0);
}
$last = filesize($path) - 8;
$sum = 0;
mt_srand(7);
for ($i = 0; $i < $times; $i++) {
	fseek($file, mt_rand(0, $last));
	$record = fread($file, 8);
	$sum = ($sum * 31 + ord($record[0]) + ord($record[7])) & 0xffffffff;
}
echo $sum, "\n";
