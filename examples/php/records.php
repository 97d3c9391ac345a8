<?php
// records.php FILE COUNT BUFFER - looks up COUNT records of 64 bytes at random and
// adds up what their first 8 bytes say. BUFFER is the stream's read buffer, 0 for none.

[, $path, $count, $buffer] = $argv;
$file = fopen($path, 'rb');
stream_set_read_buffer($file, (int)$buffer);
$records = intdiv(filesize($path), 64);

mt_srand(1);
$sum = 0;
for ($i = 0; $i < $count; $i++) {
	fseek($file, 64 * mt_rand(0, $records - 1));
	$sum = ($sum * 31 + crc32(fread($file, 8))) & 0xffffffff;
}
printf("%d look-ups in %d records, position %d, checksum %08x\n",
	$count, $records, ftell($file), $sum);
