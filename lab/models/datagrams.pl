#!/usr/bin/perl
# Datagrams: datagrams.pl send HOST PORT octets=N every=S seconds=S, or datagrams.pl take HOST PORT
use strict;
use warnings;
use Socket qw(:all);
use Time::HiRes qw(sleep time);

my ($mode, $host, $port, @words) = @ARGV;
my %o = map { split /=/, $_, 2 } @words;
$| = 1;
socket(my $it, PF_INET, SOCK_DGRAM, 0) or die "socket: $!";
my $place = pack_sockaddr_in($port, inet_aton($host));
if ($mode eq "take") {
    bind($it, $place) or die "bind: $!";
    my $count = 0;
    $SIG{TERM} = sub { print "{\"datagrams\": $count}\n"; exit };
    $count++ while defined recv($it, my $data, 65536, 0);
    exit;
}
my ($begun, $sent) = (time, 0);
while ((my $now = time - $begun) < $o{seconds}) {
    my $wait = $sent * $o{every} - $now;
    sleep($wait) if $wait > 0;
    send($it, "\0" x $o{octets}, 0, $place);
    $sent++;
}
print "{\"sent\": $sent}\n";
