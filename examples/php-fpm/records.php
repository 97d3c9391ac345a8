<?php
// records.php?count=COUNT&seed=SEED - a page that looks up COUNT records of 64 bytes at random
// in the file "records" beside it, and prints a checksum of them.
header('Content-Type: text/plain');
$file = fopen(__DIR__ . '/records', 'rb');
stream_set_read_buffer($file, 0); // just what is asked for, not 8192 bytes
$records = intdiv(fstat($file)['size'], 64);
mt_srand((int)$_GET['seed']);
$sum = 0;
for ($i = (int)$_GET['count']; $i > 0; $i--) {
	fseek($file, 64 * mt_rand(0, $records - 1));
	$sum = ($sum * 31 + crc32(fread($file, 64))) & 0xffffffff;
}
printf("%d look-ups, checksum %08x\n", $_GET['count'], $sum);
