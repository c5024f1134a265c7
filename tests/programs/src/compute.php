<?php
// PHP: arrays, strings, regular expressions, objects.
if (getenv('COUNTED')) file_put_contents(getenv('COUNTED'), "once\n", FILE_APPEND);
$table = [];
for ($i = 0; $i < 2000000; $i++) {
	$key = 'key' . $i % 3000;
	$table[$key] = ($table[$key] ?? 0) + $i;
}
ksort($table);
echo $table['key7'], ' ', md5(json_encode($table)), ' ', preg_match_all('/1\d/', implode(',', $table)), "\n";
exit(5);
