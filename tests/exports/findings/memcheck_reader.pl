# Reads Valgrind's XML from standard input as Test::Valgrind does, and prints a line a report: kind, blocks, bytes, the stack's
# functions.
use strict;
use warnings;
use Test::Valgrind::Parser::XML::Twig;

package Session;
use Test::Valgrind::Tool::memcheck;
sub new { bless { reports => [] }, shift }
sub report_class { 'Test::Valgrind::Tool::memcheck::Report' }
sub report { my ($self, $report) = @_; push @{ $self->{reports} }, $report }

package main;
binmode STDOUT, ':utf8';
my $session = Session->new;
my $parser = Test::Valgrind::Parser::XML::Twig->new;
$parser->start($session);
$parser->parse($session, \*STDIN);
for my $report (@{ $session->{reports} }) {
  my $data = $report->data;
  print join("\t", $report->kind, $data->{leakedblocks} // 0, $data->{leakedbytes} // 0,
    join(' < ', map { $_->[2] // '?' } @{ $data->{stack} }), $data->{auxwhat} // '', scalar @{ $data->{auxstack} // [] }), "\n";
}
