<?php
// seek.php?how=HOW - what the pages of a site do with files: those in $_SERVER["IN"], and some
// of their own in $_SERVER["HERE"].
$in = $_SERVER["IN"];
chdir($_SERVER["HERE"]);
switch ($_GET["how"]) {
case "records":
	// look-ups in a file of records of 17 bytes
	$f = fopen("$in/records", "rb");
	stream_set_read_buffer($f, (int)$_GET["buffer"]);
	for ($i = 0, $at = (int)$_GET["from"]; $i < 3000; $i++) {
		$at = ($at * 75 + 74) % 65537;
		fseek($f, $at % 4096 * 17);
		$sum = crc32(($sum ?? "") . fread($f, 17));
	}
	echo "$sum ", ftell($f), "\n";
	break;
case "upload":
	$f = fopen("php://input", "rb");
	fseek($f, 1000);
	echo fread($f, 10) === substr(file_get_contents("php://input"), 1000, 10) ? "same" : "other", " ";
	echo stream_copy_to_stream(fopen("php://input", "rb"), fopen("uploaded", "wb")), "\n";
	break;
case "form":
	echo $_FILES["it"]["size"], " ", md5_file($_FILES["it"]["tmp_name"]), " ";
	var_dump(move_uploaded_file($_FILES["it"]["tmp_name"], "formed"));
	break;
case "session":
	session_save_path(getcwd());
	session_id("one");
	session_start();
	echo $_SESSION["n"] = ($_SESSION["n"] ?? 0) + 1, "\n";
	break;
case "counter":
	$f = fopen("counter", "c+");
	flock($f, LOCK_EX);
	$n = (int)fgets($f) + 1;
	rewind($f);
	fwrite($f, "$n\n");
	fclose($f);
	break;
case "accel":
	header("X-Accel-Redirect: /in/bytes");
	break;
default:
	readfile("$in/holes");
	fpassthru(fopen("$in/text", "rb"));
}
