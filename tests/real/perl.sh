#!/bin/bash
# perl: the same output from hashes, regular expressions, sorting, string growth, fork and pipes.
. "$(dirname "$0")/../risk/lib.sh"
need perl

cat >"$TMP/script.pl" <<'END'
use strict; use warnings;
$ENV{PERL_HASH_SEED} = 0;
my (%h, @a);
for my $i (1 .. 60000) { $h{"key$i"} = "v" x ($i * 7919 % 300); push @a, [$i, $h{"key$i"}]; }
delete $h{"key" . $_ * 3} for 1 .. 20000;
my $sum = 0; $sum += length for values %h;
print "$sum ", scalar(keys %h), "\n";
my $text = join ",", map { $_->[0] } sort { length $a->[1] <=> length $b->[1] || $a->[0] <=> $b->[0] } @a;
my $n = () = $text =~ /(\d)\1(\d)\2/g;
print "$n ", length $text, "\n";
my $grow = ""; $grow .= chr(65 + $_ % 26) x ($_ % 50) for 1 .. 50000;
$grow =~ s/AAA+/<a>/g; print length $grow, " ", unpack("%32C*", $grow), "\n";
my @pids;
for my $i (1 .. 4) {
    my $pid = fork // die;
    if (!$pid) { my @x = map { "y" x $_ } 1 .. 3000; exit(@x == 3000 ? 0 : 1); }
    push @pids, $pid;
}
for (@pids) { waitpid $_, 0; print $? >> 8, " ", $? & 127, "\n"; }
open my $pipe, "-|", "echo through a pipe" or die; print <$pipe>; close $pipe;
my $fmt = sprintf "%s" x 1000, (1) x 1000; print length $fmt, "\n";
END
export PERL_HASH_SEED=0
perl "$TMP/script.pl" >"$TMP/plain" || fail "the script does not run without the library"
must perl "$TMP/script.pl" >"$TMP/seen"
same "$TMP/plain" "$TMP/seen" perl
must perl -e 'open F, "/proc/self/maps"; exit(!grep { index($_, $ARGV[0]) >= 0 } <F>)' "$(readlink -f "$VT_SO")"

# With ithreads, when this perl has them: interpreters are cloned, and freed by other threads.
if perl -Mthreads -e 1 2>/dev/null; then
    seen=$(must perl -Mthreads -e 'my @d = map { "z" x $_ } 1..2000;
        my @t = map { my $n = $_; threads->create(sub { my $s = 0; $s += length for @d; $s * $n }) } 1..6;
        print join(",", map { $_->join } @t), "\n";')
    [ "$seen" = 2001000,4002000,6003000,8004000,10005000,12006000 ] ||
        fail "perl threads: saw '$seen'"
fi
