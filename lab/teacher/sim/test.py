"""Small tests of the simulator's TCP: what tshark reads of single runs. test.py PROGRAM"""

import subprocess
import sys
import tempfile
from pathlib import Path

PROGRAM = sys.argv[1] if len(sys.argv) > 1 else "/var/tmp/teacher"


def run(host_a, host_b, parts, app, extra=""):
    folder = Path(tempfile.mkdtemp(prefix="teacher-"))
    text = f"""sim all seed=9 limit=60 routed=1
host a ip=0a140715 end=A tap=1 jitter_us=0 {host_a}
host b ip=c6336409 end=B tap=1 jitter_us=0 {host_b}
{extra}
both link rate=1e7 delay=0.02 qbytes=500000
{parts}
app {app}
out A file={folder}/a.pcap snap=65535
out B file={folder}/b.pcap snap=65535
"""
    subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
    return folder


def rows(file, show, *fields):
    words = [word for it in fields for word in ("-e", it)]
    done = subprocess.run(["tshark", "-r", file, "-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE", "-o", "udp.check_checksum:TRUE", "-Y", show, "-T", "fields", *words], capture_output=True, text=True)
    return [line.split("\t") for line in done.stdout.splitlines()]


def sound(folder):
    for end in "ab":
        assert not rows(folder / f"{end}.pcap", "(_ws.malformed || tcp.checksum.status == 0 || ip.checksum.status == 0 || udp.checksum.status == 0) && !icmp && !icmpv6", "frame.number")


def near(value, wanted, by):
    assert abs(value - wanted) <= by, (value, wanted)


BULK = "bulk dir=down bytes=800000 flavour=http port=80"

# Fast retransmit: with selective acknowledgments, the third segment above the lost one begins it (RFC 6675 section 4), long before a time-out.
it = run("ts=0", "ts=0 variant=newreno", "down loss which=120", BULK)
sound(it)
again = rows(it / "b.pcap", "tcp.analysis.fast_retransmission", "frame.time_relative", "tcp.seq")
assert len(again) == 1, again
dups = rows(it / "b.pcap", f"tcp.srcport != 80 && tcp.ack == {again[0][1]}", "frame.time_relative")
near(float(again[0][0]), float(dups[2][0]), 0.001)

# Selective acknowledgments: blocks lie above the acknowledgment, and only what is missing is sent again.
it = run("", "variant=sack", "down loss which=200/203/207/210", BULK)
sound(it)
assert len(rows(it / "b.pcap", "tcp.analysis.retransmission", "tcp.seq")) == 4
for ack, left, right in rows(it / "a.pcap", "tcp.options.sack_le", "tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re"):
    for low, high in zip(left.split(","), right.split(",")):
        assert int(ack) < int(low) < int(high)

# Time-outs: nothing passes for a while; intervals double.
it = run("", "variant=sack rto_min=0.3", "both outage from=0.3 to=6", BULK)
times = [float(x[0]) for x in rows(it / "b.pcap", "tcp.srcport == 80 && tcp.analysis.retransmission", "frame.time_relative")][:4]
gaps = [b - a for a, b in zip(times, times[1:])]
near(gaps[1] / gaps[0], 2, 0.1), near(gaps[2] / gaps[1], 2, 0.1)

# SYNs: one second, then two.
it = run("", "absent=1", "", "calls n=1")
times = [float(x[0]) for x in rows(it / "a.pcap", "tcp.flags.syn == 1", "frame.time_relative")]
near(times[1] - times[0], 1, 0.02), near(times[2] - times[1], 2, 0.02)

# Zero window: probes until the program reads, then a window update.
it = run("rcvbuf=30000 ws=0", "", "", "bulk dir=down bytes=120000 flavour=http port=80 rpause_each=30000 rpause_for=3")
sound(it)
assert rows(it / "a.pcap", "tcp.window_size == 0 && tcp.srcport != 80", "frame.number")
assert len(rows(it / "b.pcap", "tcp.analysis.zero_window_probe || (tcp.srcport == 80 && tcp.len == 1)", "frame.number")) >= 3

# Delayed acknowledgments: each second segment at once, a single one after the timer.
it = run("delay=0 delack=0.2 quick=0", "", "", "messages dir=down n=4 size=100 gap=1 port=1883")
sent = [float(x[0]) for x in rows(it / "a.pcap", "tcp.srcport == 1883 && tcp.len > 0", "frame.time_relative")]
acks = [float(x[0]) for x in rows(it / "a.pcap", "tcp.dstport == 1883 && tcp.len == 0 && tcp.flags.fin == 0", "frame.time_relative")][2:]
near(acks[0] - sent[0], 0.2, 0.01) if acks[0] > sent[0] else near(acks[1] - sent[0], 0.2, 0.01)
it = run("delack=0.2 quick=0 ts=0", "ts=0", "", BULK)
data, acks = len(rows(it / "a.pcap", "tcp.srcport == 80 && tcp.len > 0", "frame.number")), len(rows(it / "a.pcap", "tcp.dstport == 80 && tcp.len == 0", "frame.number"))
near(data / acks, 2, 0.1)

# Slow start: the first flights are 10, 20, 40 segments.
it = run("rcvbuf=2000000", "iw=10 hystart=0", "", BULK)
times = [float(x[0]) for x in rows(it / "b.pcap", "tcp.srcport == 80 && tcp.len > 1000", "frame.time_relative")]
flights = [1]
for a, b in zip(times, times[1:]):
    if b - a > 0.015:
        flights.append(0)
    flights[-1] += 1
assert 9 <= flights[0] <= 10 and 17 <= flights[1] <= 21, flights[:4]

# Nagle: a second small message waits for the acknowledgment of the first.
it = run("nagle=2", "delack=0.15 quick=0", "", "calls n=3 req=100 body=60 ans=100 flavour=http port=80")
times = [float(x[0]) for x in rows(it / "a.pcap", "tcp.dstport == 80 && tcp.len > 0", "frame.time_relative")]
near(times[1] - times[0], 0.19, 0.015)
# Other forms: IPv6, datagrams, ICMP.
for host, app, extra in (("v6=1", BULK, ""), ("", "asks flavour=dns port=53 n=5", ""), ("", "asks flavour=tftp port=69 n=50 gap=0", ""), ("", "datagrams flavour=rtp port=5004 dir=both rate=1e5 size=172 for=3", "")):
    sound(run(host, host, "both mtu mtu=1400 tells=1", app, extra))
print("all tests pass")
