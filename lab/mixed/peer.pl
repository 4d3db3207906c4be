#!/usr/bin/perl
# A stream of octets: peer.pl listen|connect HOST PORT send|read key=value…
# send: octets, chunk, pause (ms after each chunk), works and stops (ms), sndbuf, nodelay     read: chunk, pause, works, stops, rcvbuf
use strict;
use warnings;
use Socket qw(:all);
use Time::HiRes qw(sleep time);

my ($mode, $host, $port, $role, @words) = @ARGV;
my %o = map { split /=/, $_, 2 } @words;
my $place = pack_sockaddr_in($port, inet_aton($host));
my ($begun, $stopped) = (time, 0);
$| = 1;

sub tune {
    my ($it) = @_;
    setsockopt($it, SOL_SOCKET, SO_SNDBUF, pack("i", $o{sndbuf} / 2)) if $o{sndbuf};
    setsockopt($it, SOL_SOCKET, SO_RCVBUF, pack("i", $o{rcvbuf})) if $o{rcvbuf};
    setsockopt($it, IPPROTO_TCP, TCP_NODELAY, pack("i", 1)) if $o{nodelay};
}

sub pause {
    sleep($o{pause} / 1e3) if $o{pause};
    if ($o{stops} and time - $begun > $o{works} / 1e3) {
        sleep($o{stops} / 1e3);
        $begun = time;
        $stopped++;
    }
}

sub play {
    my ($it) = @_;
    my ($count, $data) = (0, "\0" x ($o{chunk} || 12288));
    $begun = time;
    if ($role eq "send") {
        while ($count < $o{octets}) {
            my $done = syswrite($it, $data) // last;
            $count += $done;
            pause();
        }
        shutdown($it, 1);
        sysread($it, $data, 1);
        print "{\"written\": $count, \"stopped\": $stopped}\n";
    } else {
        while (my $got = sysread($it, $data, $o{chunk} || 65536)) {
            $count += $got;
            pause();
        }
        print "{\"taken\": $count, \"stopped\": $stopped}\n";
    }
    close $it;
}

socket(my $it, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
tune($it);
if ($mode eq "connect") {
    connect($it, $place) or die "connect: $!";
    play($it);
    exit;
}
setsockopt($it, SOL_SOCKET, SO_REUSEADDR, pack("i", 1));
bind($it, $place) and listen($it, 5) or die "listen: $!";
while (accept(my $peer, $it)) {
    tune($peer);
    play($peer);
}
