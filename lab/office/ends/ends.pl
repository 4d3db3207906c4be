# Ends of connections: perl ends.pl MODE KEY=VALUE ...
use strict;
use warnings;
use Socket qw(:all);
use Time::HiRes qw(time sleep);
my $mode = shift;
my %o = (port => 5001, host => '', octets => 0, chunk => 65536, count => 1, size => 64, answer => 64, backlog => 32);
for (@ARGV) { my ($key, $value) = split /=/, $_, 2; $o{$key} = $value; }
$SIG{PIPE} = 'IGNORE';
my %waits;
sub wait_s { my ($kind, $s) = @_; return if $s <= 0; my $from = time; sleep($s); $waits{$kind} += time - $from; }
sub spread { my ($s) = @_; return $o{spread} ? $s * (1 + $o{spread} * (2 * rand() - 1)) : $s; }
sub say_json { my %it = (%waits, @_); print '{' . join(', ', map { "\"$_\": " . (0 + sprintf('%.4f', $it{$_})) } sort keys %it) . "}\n"; $| = 1; }
sub options {
  my ($s) = @_;
  setsockopt($s, SOL_SOCKET, SO_RCVBUF, pack('i', $o{rcvbuf} / 2)) if $o{rcvbuf};
  setsockopt($s, SOL_SOCKET, SO_SNDBUF, pack('i', $o{sndbuf} / 2)) if $o{sndbuf};
  setsockopt($s, IPPROTO_TCP, TCP_MAXSEG, pack('i', $o{maxseg})) if $o{maxseg};
  setsockopt($s, IPPROTO_TCP, 10, pack('i', $o{clamp})) if $o{clamp};
  setsockopt($s, IPPROTO_TCP, TCP_NODELAY, pack('i', 1)) if $o{nodelay};
  setsockopt($s, SOL_SOCKET, 47, pack('L', $o{pace} / 8)) if $o{pace};
  setsockopt($s, IPPROTO_TCP, 12, pack('i', 0)) if $o{delays};
}
sub connected {
  socket(my $s, PF_INET, SOCK_STREAM, 0) or die "socket: $!";
  options($s);
  if (!connect($s, pack_sockaddr_in($o{port}, inet_aton($o{host})))) { say_json(failed => 1); print "connect: $!\n"; return undef; }
  return $s;
}
sub listening {
  socket(my $s, PF_INET, SOCK_STREAM, 0) or die;
  setsockopt($s, SOL_SOCKET, SO_REUSEADDR, 1);
  options($s);
  bind($s, pack_sockaddr_in($o{port}, INADDR_ANY)) or die "bind: $!";
  listen($s, $o{backlog});
  return $s;
}
sub all { my ($s, $octets) = @_; my $got = ''; while (length($got) < $octets) { my $n = sysread($s, my $part, $octets - length($got)); return undef unless $n; $got .= $part; } return $got; }
sub put { my ($s, $data) = @_; my $at = 0; while ($at < length $data) { my $n = syswrite($s, $data, length($data) - $at, $at); return 0 unless defined $n; $at += $n; } return 1; }
my $noise = join('', map { chr(int(rand(256))) } 1 .. 65536);
# Writes octets: by chunks, at a rate (bps), or with a pause of pause_ms behind each of `every` octets, or stops as a whole.
sub stream {
  my ($s) = @_;
  my ($sent, $begun, $since) = (0, time, 0);
  my $data = $noise x (1 + int($o{chunk} / 65536));
  while ($sent < $o{octets}) {
    return $sent if $o{seconds} && time - $begun > $o{seconds};
    my $n = $o{octets} - $sent < $o{chunk} ? $o{octets} - $sent : $o{chunk};
    put($s, substr($data, 0, $n)) or return $sent;
    $sent += $n; $since += $n;
    if ($o{bps}) { my $due = $begun + $sent * 8 / $o{bps}; wait_s(writer_s => $due - time); }
    if ($o{every} && $since >= $o{every} && $sent < $o{octets}) { $since = 0; wait_s(writer_s => spread($o{pause_ms} / 1e3)); }
    if ($o{gap_ms}) { wait_s(writer_s => spread($o{gap_ms} / 1e3)); }
  }
  return $sent;
}
# Reads until the end, at a rate (bps, by chunks), or with pauses.
sub drain {
  my ($s) = @_;
  my ($got, $begun, $since) = (0, time, 0);
  while (1) {
    my $n = sysread($s, my $part, $o{chunk});
    last unless $n;
    $got += $n; $since += $n;
    if ($o{bps}) { my $due = $begun + $got * 8 / $o{bps}; wait_s(reader_s => $due - time); }
    if ($o{every} && $since >= $o{every}) { $since = 0; wait_s(reader_s => spread($o{pause_ms} / 1e3)); }
  }
  return $got;
}
sub finish { my ($s) = @_; shutdown($s, 1); my $part; my $vec = ''; vec($vec, fileno($s), 1) = 1; 1 while select(my $r = $vec, undef, undef, 15) && sysread($s, $part, 65536); close $s; }
sub serve {
  my ($work) = @_;
  my $l = listening();
  $SIG{CHLD} = 'IGNORE' if $o{forks};
  while (1) {
    if ($o{late_ms}) { sleep($o{late_ms} / 1e3); }
    accept(my $s, $l) or next;
    options($s);
    if ($o{forks}) { if (fork) { close $s; next; } }
    $work->($s);
    close $s;
    exit 0 if $o{forks};
  }
}
$SIG{TERM} = sub { say_json(ended => 1); exit 0; };
if ($mode eq 'send') { my $s = connected() or exit 1; my $n = stream($s); finish($s); say_json(sent => $n); }
elsif ($mode eq 'fetch') { my $s = connected() or exit 1; my $n = drain($s); close $s; say_json(got => $n); }
elsif ($mode eq 'take') { serve(sub { drain($_[0]); }); }
elsif ($mode eq 'give') { serve(sub { stream($_[0]); finish($_[0]); }); }
elsif ($mode eq 'both') { my $s = connected() or exit 1; if (!fork) { stream($s); shutdown($s, 1); exit 0; } drain($s); say_json(got => 1); wait; }
elsif ($mode eq 'bothserve') { serve(sub { my $s = shift; my $p = fork; if (!$p) { stream($s); shutdown($s, 1); exit 0; } drain($s); waitpid $p, 0; }); }
elsif ($mode eq 'answer') {
  serve(sub {
    my $s = shift;
    my $count = 0;
    while (defined(all($s, $o{size}))) {
      $count++;
      wait_s(server_s => spread($o{think_ms} / 1e3)) if $o{think_ms} && !($o{each} && $count % $o{each});
      if ($o{hang} && $count >= $o{hang}) { wait_s(server_s => 60); }
      if ($o{resets} && $count >= $o{resets}) { setsockopt($s, SOL_SOCKET, SO_LINGER, pack('ii', 1, 0)); close $s; return; }
      my $left = $o{answer};
      if ($o{pieces}) { my $first = int($left / $o{pieces}); while ($left > 0) { my $n = $first < $left ? $first : $left; put($s, substr($noise, 0, $n)); $left -= $n; } }
      else { put($s, substr($noise x (1 + int($left / 65536)), 0, $left)); }
    }
  });
}
elsif ($mode eq 'ask') {
  my ($done, $begun) = (0, time);
  my $s;
  for my $i (1 .. $o{count}) {
    if (!$s) { $s = connected() or exit 1; }
    my $left = $o{size};
    my $first = $o{pieces} ? int($left / $o{pieces}) : $left;
    while ($left > 0) { my $n = $first < $left ? $first : $left; put($s, substr($noise, 0, $n)); $left -= $n; }
    if ($o{timeout}) { my $vec = ''; vec($vec, fileno($s), 1) = 1; if (!select($vec, undef, undef, $o{timeout})) { close $s; last; } }
    last unless defined all($s, $o{answer});
    $done++;
    if ($o{each_new}) { close $s; undef $s; }
    wait_s(client_s => spread($o{gap_ms} / 1e3)) if $o{gap_ms} && $i < $o{count};
  }
  say_json(done => $done, took_s => time - $begun);
}
elsif ($mode eq 'udpsend') {
  socket(my $s, PF_INET, SOCK_DGRAM, 0);
  my $to = pack_sockaddr_in($o{port}, inet_aton($o{host}));
  my ($n, $begun) = (0, time);
  while (time - $begun < $o{seconds}) {
    send($s, pack('N', $n) . substr($noise, 0, $o{size} - 4), 0, $to);
    $n++;
    my $due = $begun + int($n / ($o{group} || 1)) * ($o{group} || 1) * $o{size} * 8 / $o{bps} - time;
    sleep($due) if $due > 0;
  }
  say_json(sent => $n);
}
elsif ($mode eq 'udptake') {
  socket(my $s, PF_INET, SOCK_DGRAM, 0);
  setsockopt($s, SOL_SOCKET, SO_RCVBUF, pack('i', $o{rcvbuf} / 2)) if $o{rcvbuf};
  bind($s, pack_sockaddr_in($o{port}, INADDR_ANY)) or die;
  my $n = 0;
  $SIG{TERM} = sub { say_json(taken => $n); exit 0; };
  while (1) {
    my $from = recv($s, my $data, 65536, 0);
    next unless defined $from;
    $n++;
    if ($o{ack}) { sleep(spread($o{think_ms} / 1e3)) if $o{think_ms}; send($s, substr($data, 0, $o{ack}), 0, $from); }
    sleep($o{busy_us} / 1e6) if $o{busy_us};
  }
}
elsif ($mode eq 'blocks') {
  socket(my $s, PF_INET, SOCK_DGRAM, 0);
  connect($s, pack_sockaddr_in($o{port}, inet_aton($o{host})));
  my ($again, $n) = (0, 0);
  my $count = $o{octets} ? int($o{octets} / $o{size}) : $o{count};
  for (; $n < $count; $n++) {
    my $tries = 0;
    while ($tries < ($o{tries} || 6)) {
      send($s, pack('N', $n) . substr($noise, 0, $o{size} - 4), 0);
      my $vec = '';
      vec($vec, fileno($s), 1) = 1;
      if (select($vec, undef, undef, ($o{timeout} || 1) * 2 ** $tries)) { my $from = recv($s, my $data, 2000, 0); last if defined $from; }
      $tries++; $again++;
    }
    last if $tries >= ($o{tries} || 6);
    wait_s(client_s => spread($o{gap_ms} / 1e3)) if $o{gap_ms};
  }
  say_json(blocks => $n, again => $again);
}
elsif ($mode eq 'names') {
  socket(my $s, PF_INET, SOCK_DGRAM, 0);
  bind($s, pack_sockaddr_in(53, INADDR_ANY)) or die;
  my $count = 0;
  $SIG{TERM} = sub { say_json(queries => $count); exit 0; };
  while (1) {
    my $from = recv($s, my $query, 1500, 0);
    next unless defined $from;
    $count++;
    next if $o{deaf} && $count <= $o{deaf};
    sleep(spread($o{late_ms} / 1e3)) if $o{late_ms};
    my $at = 12;
    $at += 1 + ord(substr($query, $at, 1)) while ord(substr($query, $at, 1));
    my $type = unpack('n', substr($query, $at + 1, 2));
    my $is_a = $type == 1;
    my $out = substr($query, 0, 2) . pack('nnnnn', 0x8180, 1, $is_a ? 1 : 0, 0, 0) . substr($query, 12, $at + 5 - 12);
    $out .= pack('nnnNn', 0xc00c, 1, 1, 300, 4) . inet_aton($o{host}) if $is_a;
    send($s, $out, 0, $from);
  }
}
elsif ($mode eq 'storm') {
  # Broadcasts of ARP, or of a service that asks for others, out of one interface.
  socket(my $s, 17, SOCK_RAW, 0x0300) or die "raw: $!";
  open(my $f, '<', "/sys/class/net/$o{dev}/ifindex") or die;
  my $index = <$f>;
  my $mac = pack('H12', $o{mac} || '001b21aabbcc');
  my $to = pack('SnLSCCa8', 17, 0x0806, $index, 0, 0, 6, "\xff" x 6);
  my $frame = $o{size} > 100 ? "\xff" x 6 . $mac . pack('n', 0x0800) : "\xff" x 6 . $mac . pack('nnnCCn', 0x0806, 1, 0x0800, 6, 4, 1) . $mac . inet_aton($o{from}) . "\0" x 6 . inet_aton($o{asks}) . "\0" x 18;
  my ($n, $begun) = (0, time);
  while (time - $begun < $o{seconds}) {
    if ($o{size} > 100) {
      my $payload = substr($noise, 0, $o{size} - 42);
      my $ip = pack('CCnnnCCna4a4', 0x45, 0, $o{size} - 14, $n & 0xffff, 0, 64, 17, 0, inet_aton($o{from}), inet_aton('255.255.255.255'));
      my $sum = 0; $sum += $_ for unpack('n*', $ip); $sum = ($sum & 0xffff) + ($sum >> 16) while $sum >> 16;
      substr($ip, 10, 2) = pack('n', ~$sum & 0xffff);
      send($s, $frame . $ip . pack('nnnn', 5353, 6667, length($payload) + 8, 0) . $payload, 0, $to);
    } else { send($s, $frame, 0, $to); }
    $n++;
    my $due = $begun + $n / $o{pps} - time;
    sleep($due) if $due > 0.0005;
  }
  say_json(storm => $n);
}
else { die "no mode $mode"; }
