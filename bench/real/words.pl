# Strings, hashes and arrays of a text-processing script.   perl words.pl LINES
use strict;
use warnings;

my $n_lines = shift;
my $state   = 12345;

sub draw {    # a fixed sequence: perl's own generator may differ between builds
    my ($below) = @_;
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
    return ($state >> 8) % $below;
}

my (%count, %lines_of, @recent);
for my $line_number (1 .. $n_lines) {
    my $line = join ' ', map { 'word' . draw(20000) . ('x' x draw(24)) } 1 .. 12;
    for my $word (split / /, $line) {
        $count{$word}++;
        push @{ $lines_of{ substr $word, 0, 7 } }, $line_number;
    }
    (my $changed = $line) =~ s/word(\d)/W<$1>/g;
    push @recent, [ $line_number, $changed, { reversed => scalar reverse $line } ];
    shift @recent if @recent > 500;
    %count = () if keys %count > 60000;
}
my $longest = 0;
for my $list (values %lines_of) { $longest = @$list if @$list > $longest }
print join(' ', scalar(keys %lines_of), $longest, scalar(@recent), length $recent[-1][1]), "\n";
