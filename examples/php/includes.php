<?php
// includes.php FOLDER FILES LOOPS - includes small files again and again, as a program
// does that keeps its settings and templates in files and has no opcode cache.

[, $folder, $files, $loops] = $argv;

$sum = 0;
for ($loop = 0; $loop < $loops; $loop++)
	for ($i = 0; $i < $files; $i++)
		foreach (include "$folder/$i.php" as $key => $value)
			$sum = ($sum * 31 + $value + strlen($key)) & 0xffffffff;
printf("%d includes, checksum %08x\n", $files * $loops, $sum);
