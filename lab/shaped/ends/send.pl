# Waits for a connection and sends so many octets (the first argument) in blocks of 16 KB.
use strict;
use warnings;
use IO::Socket::INET;

my $left = shift;
my $server = IO::Socket::INET->new(LocalPort => 7000, Listen => 4, ReuseAddr => 1) or die "listen: $!";
my $peer = $server->accept();
while ($left > 0) {
    my $size = $left < 16384 ? $left : 16384;
    my $sent = syswrite($peer, "x" x $size) or last;
    $left -= $sent;
}
shutdown($peer, 1);
sysread($peer, my $rest, 1);
