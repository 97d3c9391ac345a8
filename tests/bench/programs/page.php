<?php
/* A page that looks up fifty records in a data file, for php-fpm: FILE and SIZE are
 * parameters of the server. */
$file = fopen($_SERVER['FILE'], 'rb');
$last = $_SERVER['SIZE'] - 64;
$sum = 0;
for ($i = 0; $i < 50; $i++) {
	fseek($file, mt_rand(0, $last));
	$sum = ($sum * 31 + crc32(fread($file, 64))) & 0xffffffff;
}
echo "<p>$sum</p>\n";
