<?php
// Word counts, Levenshtein distances and sorting.
ini_set("memory_limit", "1G");
$counts = [];
foreach (file($argv[1]) as $line)
	foreach (explode(" ", rtrim($line, ".\n")) as $word)
		$counts[$word] = ($counts[$word] ?? 0) + 1;
arsort($counts);
$names = array_slice(array_keys($counts), 0, (int)$argv[2]);
$near = 0;
foreach ($names as $a)
	foreach ($names as $b)
		$near += levenshtein($a, $b) < 2;
echo count($counts), " ", $near, "\n";
