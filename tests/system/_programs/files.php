<?php
// files.php IN: the ways in which PHP reads and writes files.
$in = $argv[1];

// records at random, by fseek and fread, without and with PHP's own buffer
foreach ([0, 8192] as $buffer) {
	$f = fopen("$in/records", "rb");
	stream_set_read_buffer($f, $buffer);
	$sum = 0;
	for ($i = 0, $at = 1; $i < 20000; $i++) {
		$at = ($at * 75 + 74) % 65537;
		fseek($f, $at % 4096 * 17);
		$record = fread($f, 17);
		$sum = crc32($sum . $record);
	}
	echo "records $sum ", ftell($f), "\n";
	fclose($f);
}

// lines, and where they end
$f = fopen("$in/text", "r");
for ($n = 0, $hash = hash_init("md5"); ($line = fgets($f)) !== false; $n++) {
	hash_update($hash, ftell($f) . $line);
}
echo "lines $n ", hash_final($hash), " ", var_export(feof($f), true), "\n";
rewind($f);
echo fgets($f), fgetc($f), stream_get_line($f, 100, " "), stream_get_contents($f, 40, 500), "\n";
echo fseek($f, -20, SEEK_END), " ", fread($f, 100), fread($f, 1), var_export(feof($f), true);
echo fseek($f, 10, SEEK_CUR), fseek($f, -1), ftell($f), "\n";
fclose($f);

$f = fopen("$in/csv", "r");
for ($sum = 0; ($row = fgetcsv($f)) !== false;) {
	$sum += (int)$row[3];
}
echo "csv $sum\n";

$spl = new SplFileObject("$in/text");
foreach ([2500, 7, 1200, 2999] as $n) {
	$spl->seek($n);
	echo $spl->key(), " ", $spl->current();
}
$spl->fseek(1000);
echo $spl->fread(10), $spl->ftell(), "\n";
foreach (new LimitIterator(new SplFileObject("$in/odd"), 100, 3) as $n => $line) {
	echo "$n $line";
}

// read and written by turns
copy("$in/text", "both");
$f = fopen("both", "r+");
for ($i = 0; $i < 200; $i++) {
	fseek($f, $i * 131 % 50000);
	$was = fread($f, 11);
	fseek($f, $i * 257 % 50000);
	fwrite($f, strrev($was));
	if ($i % 50 == 49) {
		ftruncate($f, 60000 - $i * 10);
		echo fstat($f)["size"], " ", md5(stream_get_contents($f, -1, 0)), "\n";
	}
}
flock($f, LOCK_EX);
fwrite($f, "the end");
fflush($f);
echo md5_file("both"), " ", filesize("both"), "\n";
flock($f, LOCK_UN);
fclose($f);
$f = fopen("log", "a+");
for ($i = 0; $i < 30; $i++) {
	fwrite($f, "entry $i\n");
	fseek($f, $i);
	echo fgetc($f);
	file_put_contents("log", "other $i\n", FILE_APPEND | LOCK_EX);
}
rewind($f);
echo "\n", md5(stream_get_contents($f)), "\n";

// code
for ($i = 0; $i < 40; $i++) {
	file_put_contents("part" . $i % 4 . ".php", "<?php return [" . str_repeat("$i,", 900) . "];");
	$sum += array_sum(include "part" . $i % 4 . ".php");
	$sum += count(require "part0.php");
}
echo "included $sum\n";

// other processes
$p = popen("sort -r " . escapeshellarg("$in/odd") . " | tail -n 3", "r");
echo stream_get_contents($p), pclose($p), "\n";
$f = fopen("$in/text", "r");
stream_set_read_buffer($f, 0);
fread($f, 26);
for ($i = 0; $i < 3000; $i++) {
	fseek($f, $i % 100);
	fread($f, 10);
}
$p = proc_open(["head", "-c", "50"], [0 => $f, 1 => ["pipe", "w"]], $pipes);
echo stream_get_contents($pipes[1]), "\n", proc_close($p), " ", fread($f, 20), "\n";
echo shell_exec("tail -n 2 " . escapeshellarg("$in/text")), system("wc -c <both"), "\n";

echo stream_copy_to_stream(fopen("$in/bytes", "r"), fopen("copy", "w")), " ";
echo md5(file_get_contents("$in/holes", false, null, 99990, 30)), " ";
echo count(file("$in/unended")), " ", readfile("$in/empty"), " ", var_export(@fopen("none", "r"), true), "\n";
$f = gzopen("z.gz", "w6");
gzwrite($f, file_get_contents("copy"));
gzclose($f);
echo md5(implode("", gzfile("z.gz"))), "\n";
fpassthru(fopen("$in/odd", "r"));
