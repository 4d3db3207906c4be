#!/usr/bin/perl
# One end of a connection: talk.pl listen|connect ADDRESS PORT write|read|ask|answer NAME=VALUE...
# write: octets, chunk, works_ms and stops_ms, pacing (octets/s), sndbuf. read: rcvbuf, works_ms and stops_ms, chunk, interval_ms.
# ask: requests, request, answer, split (write the request in two parts, the first of so many octets), pause_ms.
# answer: request, answer, think_ms.
use strict; use warnings;
use IO::Socket::IP; use Socket qw(:DEFAULT IPPROTO_TCP TCP_NODELAY); use Time::HiRes qw(sleep time);
my ($role, $address, $port, $do, @rest) = @ARGV;
my %o = map { split /=/, $_, 2 } @rest;
sub set { my $s = shift; $s->setsockopt(SOL_SOCKET, SO_RCVBUF, pack 'i', $o{rcvbuf}) if $o{rcvbuf};
          $s->setsockopt(SOL_SOCKET, SO_SNDBUF, pack 'i', $o{sndbuf}) if $o{sndbuf};
          $s->setsockopt(SOL_SOCKET, 47, pack 'I', $o{pacing}) if $o{pacing}; }
my $s;
if ($role eq 'listen') {
    my $l = IO::Socket::IP->new(LocalHost => $address, LocalPort => $port, Listen => 4, ReuseAddr => 1,
                                Type => SOCK_STREAM) or die "listen: $@";
    set($l); $s = $l->accept; set($s);
} else {
    $s = IO::Socket->new; socket($s, $address =~ /:/ ? AF_INET6 : AF_INET, SOCK_STREAM, 0) or die; set($s);
    my $to = $address =~ /:/ ? pack_sockaddr_in6($port, Socket::inet_pton(AF_INET6, $address))
                             : pack_sockaddr_in($port, inet_aton($address));
    connect($s, $to) or die "connect: $!";
}
$s->setsockopt(IPPROTO_TCP, TCP_NODELAY, pack 'i', 1) if $o{nodelay};
$SIG{PIPE} = 'IGNORE';
sub gulp { my ($left, $buf) = (shift); while ($left > 0) { my $n = sysread $s, $buf, $left; return 0 unless $n; $left -= $n } 1 }
my $data = 'x' x ($o{chunk} || 16384);
if ($do eq 'write') {
    my ($left, $since) = ($o{octets}, time);
    while ($left > 0) {
        my $n = syswrite $s, $data, $left < length $data ? $left : length $data; last unless defined $n; $left -= $n;
        if ($o{stops_ms} && (time - $since) * 1e3 > $o{works_ms}) { sleep $o{stops_ms} / 1e3; $since = time }
        sleep $o{interval_ms} / 1e3 if $o{interval_ms};
    }
} elsif ($do eq 'read') {
    my ($buf, $since) = ('', time);
    while (sysread $s, $buf, $o{chunk} || 65536) {
        if ($o{stops_ms} && (time - $since) * 1e3 > $o{works_ms}) { sleep $o{stops_ms} / 1e3; $since = time }
        sleep $o{interval_ms} / 1e3 if $o{interval_ms};
    }
} elsif ($do eq 'ask') {
    for (1 .. $o{requests}) {
        my $first = $o{split} || $o{request};
        syswrite $s, 'q' x $first; syswrite $s, 'q' x ($o{request} - $first) if $first < $o{request};
        gulp($o{answer}) or last; sleep $o{pause_ms} / 1e3 if $o{pause_ms};
    }
} else {
    while (gulp($o{request})) {
        sleep $o{think_ms} / 1e3 if $o{think_ms};
        my $left = $o{answer};
        while ($left > 0) { my $n = syswrite $s, 'a' x ($left < 16384 ? $left : 16384); last unless defined $n; $left -= $n }
    }
}
shutdown $s, 1; { my $buf; 1 while sysread $s, $buf, 65536 }
