#!/usr/bin/perl
# Stores a value in memcached and looks it up: lookups.pl HOST PORT value=OCTETS count=N pause=MS
use strict;
use warnings;
use Socket qw(:all);
use Time::HiRes qw(sleep);

my ($host, $port, @words) = @ARGV;
my %o = map { split /=/, $_, 2 } @words;
socket(my $it, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
connect($it, pack_sockaddr_in($port, inet_aton($host))) or die "connect: $!";
setsockopt($it, IPPROTO_TCP, TCP_NODELAY, pack("i", 1));
my $found = 0;

sub ask {
    my ($request, $end, $data) = (@_, "");
    syswrite($it, $request);
    while ($data !~ /$end\r\n\z/) {
        sysread($it, $data, 65536, length $data) or last;
    }
    return $data;
}

ask("set reading 0 0 $o{value}\r\n" . "v" x $o{value} . "\r\n", "STORED");
for (1 .. $o{count}) {
    sleep($o{pause} / 1e3);
    $found++ if ask("get reading\r\n", "END") =~ /^VALUE/;
}
print "{\"answers\": $found}\n";
