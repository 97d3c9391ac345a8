<?php
/* An address look-up as readers of address databases do it: from the root of a binary tree
 * bit by bit, fseek to the node and fread six bytes, until the number is no node's.
 * country.php FILE DEPTH TIMES */
[, $path, $depth, $times] = $argv;
$file = fopen($path, 'rb');
stream_set_read_buffer($file, 0);
$nodes = (1 << $depth) - 1;
$sum = 0;
mt_srand(7);
for ($i = 0; $i < $times; $i++) {
	$address = mt_rand(0, (1 << $depth) - 1);
	$node = 0;
	for ($bit = $depth - 1; $bit >= 0 && $node < $nodes; $bit--) {
		fseek($file, $node * 6);
		$both = unpack('N2', "\0" . substr($pair = fread($file, 6), 0, 3) . "\0" . substr($pair, 3));
		$node = $both[($address >> $bit & 1) + 1];
	}
	$sum = ($sum * 31 + $node) & 0xffffffff;
}
echo $sum, "\n";
