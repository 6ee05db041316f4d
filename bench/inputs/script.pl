# Everyday Perl: lines made, taken apart, counted in hashes, sorted and joined.
use strict;
use warnings;

my %count;
my $total = 0;
for my $i (0 .. 300_000) {
  my $line = sprintf("%s user%d GET /page/%d?q=%x", "2024-01-" . (1 + $i % 28), $i % 977, $i % 5003, $i * 2654435761 % 65536);
  my ($date, $user, $method, $path) = split / /, $line;
  my @parts = $path =~ m{/(\w+)/(\d+)\?q=(\w+)};
  push @{$count{$user}{$parts[1]}}, "$date:$parts[2]";
}
for my $user (sort keys %count) {
  my @pages = sort { $a <=> $b } keys %{$count{$user}};
  $total += length join ",", map { "$_=" . scalar @{$count{$user}{$_}} } @pages;
}
print "$total\n";
