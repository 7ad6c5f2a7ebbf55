#!/bin/bash
# php: with its own memory manager and with USE_ZEND_ALLOC=0, where every block comes from malloc.
. "$(dirname "$0")/../risk/lib.sh"
need php

cat >"$TMP/script.php" <<'END'
<?php
$h = []; for ($i = 0; $i < 60000; $i++) { $h["k" . ($i * 7919 % 10007)][] = str_repeat("v", $i % 100); }
ksort($h); $n = 0; foreach ($h as $k => $v) { $n += strlen($k) + count($v); } echo $n, "\n";
$s = ""; for ($i = 0; $i < 30000; $i++) { $s .= chr(65 + $i % 26); } echo md5(preg_replace('/ABC(D+)/', '<$1>', $s)), "\n";
class Node { public $next; public $data; } $first = null;
for ($i = 0; $i < 50000; $i++) { $n = new Node; $n->next = $first; $n->data = [$i, "x$i"]; $first = $n; }
$c = 0; for ($p = $first; $p; $p = $p->next) { $c += $p->data[0]; } echo $c, "\n"; 
while ($first) { $first = $first->next; } gc_collect_cycles();
echo strlen(serialize($h)), " ", count(unserialize(serialize($h))), "\n";
function gen($n) { for ($i = 0; $i < $n; $i++) yield str_repeat("g", $i % 1000); } $t = 0; foreach (gen(20000) as $g) $t += strlen($g); echo $t, "\n";
END
php -n "$TMP/script.php" >"$TMP/plain" || fail "the script does not run without the library"
for zend in 1 0; do
    USE_ZEND_ALLOC=$zend must php -n "$TMP/script.php" >"$TMP/seen"
    same "$TMP/plain" "$TMP/seen" "php with USE_ZEND_ALLOC=$zend"
done
must php "$TMP/script.php" >"$TMP/seen"               # with its modules
same "$TMP/plain" "$TMP/seen" "php with modules"
must php -n -r 'exit(strpos(file_get_contents("/proc/self/maps"), $argv[1]) === false ? 1 : 0);' "$(readlink -f "$VT_SO")"
