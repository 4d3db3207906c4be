#!/usr/bin/env python3
"""Records how this kernel's TCP repeats what a device loses: the captures that `bench/tests/replay` replays.

    sudo lab/replay/record.py FOLDER [NAME...]

In a network namespace of its own, a server of this kernel sends to a device behind a TUN interface. The device is this
program: it loses what each script says, takes 1.23 ms for a segment as a line of 10 Mbit/s does, acknowledges each
after a fixed delay, and sends SACK blocks only where the script says so. `tcpdump` records at the interface, headers only. One capture for each of CUBIC and Reno
(chosen by name, whatever this kernel's default is) and each script; `ticks.txt` has, for each capture, the time from
its first packet at which the kernel's count of ticks was a multiple of 512.
"""

import ctypes
import fcntl
import os
import random
import re
import select
import socket
import struct
import subprocess
import sys
import threading
import time

HOST, DEVICE, PORT = "10.77.0.1", "10.77.0.2", 80
WINDOW, MSS, TICKS = 10_240, 1460, 512
CLONE_NEWNET = 0x4000_0000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x4004_54CA, 0x0001, 0x1000
TCP_CONGESTION = 13
# A full frame at 10 Mbit/s.
FRAME_S = 0.00123


class Script:
    """What a device loses, and how it answers."""

    def __init__(self, octets, lose, sack=False, lose_acks=0, window=WINDOW, delay=0.003):
        self.octets, self.lose, self.sack = octets, lose, sack
        self.lose_acks, self.window, self.delay = lose_acks, window, delay


def back_to_back():
    """Loses a segment that follows an accepted one without a pause, as an interrupt does that takes too long."""
    accepted = [-1.0]

    def lose(_number, start):
        lost = start - accepted[0] < 2 * FRAME_S
        if not lost:
            accepted[0] = start
        return lost

    return lose


def one_in(many, seed):
    source = random.Random(seed)
    return lambda _number, _now: source.randrange(many) == 0


SCRIPTS = {
    "every-20th": lambda: Script(300_000, lambda number, _: number % 20 == 19),
    "two-in-a-row": lambda: Script(300_000, lambda number, _: number % 25 in (10, 11)),
    "back-to-back": lambda: Script(30_000, back_to_back()),
    "one-in-10": lambda: Script(150_000, one_in(10, 1)),
    "one-in-10-sack": lambda: Script(150_000, one_in(10, 1), sack=True),
    "one-in-4": lambda: Script(40_000, one_in(4, 2)),
    "outage": lambda: Script(150_000, lambda number, _: 40 <= number < 49),
    "acks-lost": lambda: Script(150_000, one_in(30, 3), lose_acks=5),
    "large-window": lambda: Script(600_000, one_in(60, 4), window=60_000),
    "large-window-sack": lambda: Script(600_000, one_in(60, 4), window=60_000, sack=True),
}


def checksum(octets):
    total = sum(struct.unpack(f"!{len(octets) // 2}H", octets[: len(octets) // 2 * 2]))
    total += (octets[-1] << 8) if len(octets) % 2 else 0
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Device:
    """A receiver with a fixed window whose program reads at once."""

    def __init__(self, tun, script, port):
        self.tun, self.script, self.port = tun, script, port
        self.next_sent, self.expected, self.beyond = 1000, None, []
        self.number, self.acks, self.done = 0, 0, False
        self.due, self.line_free = [], 0.0

    def send(self, flags, options=b"", payload=b"", at=None):
        ack = self.expected or 0
        header = struct.pack("!HHIIBBHHH", self.port, PORT, self.next_sent, ack, (5 + len(options) // 4) << 4,
                             flags, self.script.window, 0, 0) + options
        source, target = socket.inet_aton(DEVICE), socket.inet_aton(HOST)
        pseudo = source + target + struct.pack("!BBH", 0, 6, len(header) + len(payload))
        value = checksum(pseudo + header + payload)
        header = header[:16] + struct.pack("!H", value) + header[18:]
        ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(header) + len(payload), 0, 0x4000, 64, 6, 0, source, target)
        ip = ip[:10] + struct.pack("!H", checksum(ip)) + ip[12:]
        self.due.append((at or time.monotonic(), ip + header + payload))
        self.next_sent += len(payload) + (1 if flags & 3 else 0)

    def open(self):
        self.send(0x02, struct.pack("!BBHBBBBBB", 2, 4, MSS, 3, 3, 0, 4, 2, 0) + b"\0\0\0")

    def acknowledge(self, now):
        blocks = b""
        if self.script.sack and self.beyond:
            ranges = merged(self.beyond)[-3:]
            blocks = b"\1\1" + struct.pack("!BB", 5, 2 + 8 * len(ranges))
            blocks += b"".join(struct.pack("!II", *block) for block in ranges)
        self.acks += 1
        if not self.script.lose_acks or self.acks % self.script.lose_acks:
            self.send(0x10, blocks, at=now + self.script.delay)

    def take(self, packet, now):
        ihl = (packet[0] & 15) * 4
        tcp = packet[ihl:struct.unpack("!H", packet[2:4])[0]]
        target, seq, _ack, offset, flags = struct.unpack("!2xHIIBB", tcp[:14])
        if packet[9] != 6 or target != self.port:
            return
        length = len(tcp) - (offset >> 4) * 4
        if flags & 0x02:
            self.expected = seq + 1
            self.send(0x10)
            self.send(0x18, payload=b"GET /%d HTTP/1.0\r\n\r\n" % self.script.octets)
            return
        end = seq + length + (flags & 1)
        if end == seq:
            return
        self.number += 1
        start = max(now, self.line_free)
        self.line_free = start + FRAME_S
        if self.script.lose(self.number, start):
            return
        if seq <= self.expected:
            self.expected = max(self.expected, end)
            for start, stop in merged(self.beyond):
                if start <= self.expected:
                    self.expected = max(self.expected, stop)
            self.beyond = [(a, b) for a, b in self.beyond if b > self.expected]
        else:
            self.beyond.append((seq, end))
        self.done = bool(flags & 1) and self.expected >= end or self.done
        self.acknowledge(self.line_free)

    def run(self, deadline):
        self.open()
        closing = None
        while time.monotonic() < (closing or deadline):
            now = time.monotonic()
            while self.due and self.due[0][0] <= now:
                os.write(self.tun, self.due.pop(0)[1])
            wait = max(0.0, self.due[0][0] - now) if self.due else 0.1
            ready, _, _ = select.select([self.tun], [], [], min(wait, 0.1))
            if ready:
                packet = os.read(self.tun, 65_536)
                if packet[0] >> 4 == 4:
                    self.take(packet, time.monotonic())
            if self.done and closing is None:
                closing = time.monotonic() + 0.5
        return self.done


def merged(ranges):
    result = []
    for start, end in sorted(ranges):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def serve(congestion, script):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.setsockopt(socket.IPPROTO_TCP, TCP_CONGESTION, congestion.encode())
    listener.bind((HOST, PORT))
    listener.listen()

    def answer():
        connection, _ = listener.accept()
        connection.recv(1000)
        connection.sendall(b"HTTP/1.0 200 OK\r\nContent-Type: text/plain\r\n\r\n")
        connection.sendall(bytes(script.octets))
        connection.shutdown(socket.SHUT_WR)
        time.sleep(60)

    threading.Thread(target=answer, daemon=True).start()
    return listener


def tick_phase():
    """Time in ns, by CLOCK_REALTIME, at which the kernel's count of ticks was a multiple of 512."""
    round_ns = TICKS * 4_000_000
    offset = time.clock_gettime_ns(time.CLOCK_REALTIME) - time.clock_gettime_ns(time.CLOCK_MONOTONIC)
    starts = []
    for _ in range(40):
        text = open("/proc/timer_list").read()
        now_ns = int(re.search(r"^now at (\d+) nsecs", text, re.M)[1])
        jiffies = int(re.search(r"^jiffies: (\d+)", text, re.M)[1])
        # Up to a tick late: the count changes at ticks.
        starts.append((now_ns - jiffies * 4_000_000) % round_ns)
        time.sleep(0.0037)
    # The earliest, by the shortest way around.
    return offset + min(starts, key=lambda at: (at - starts[0] + round_ns // 2) % round_ns)


def first_packet(path):
    """Time of a capture's first packet in ns."""
    with open(path, "rb") as file:
        seconds, micros = struct.unpack("<II", file.read(32)[24:])
    return seconds * 10**9 + micros * 1000


def record(folder, name, congestion, script, port):
    path = os.path.join(folder, f"{congestion}-{name}.pcap")
    tcpdump = subprocess.Popen(["tcpdump", "-i", "tun0", "-s", "80", "-n", "-w", path, "tcp"],
                               stderr=subprocess.PIPE, text=True)
    tcpdump.stderr.readline()
    time.sleep(0.3)
    listener = serve(congestion, script)
    tun = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tun, TUNSETIFF, struct.pack("16sH", b"tun0", IFF_TUN | IFF_NO_PI))
    done = Device(tun, script, port).run(time.monotonic() + 40)
    os.close(tun)
    listener.close()
    time.sleep(0.3)
    tcpdump.terminate()
    tcpdump.wait()
    tick_us = (tick_phase() - first_packet(path)) // 1000 % (TICKS * 4000)
    with open(os.path.join(folder, "ticks.txt"), "a") as ticks:
        print(os.path.basename(path), tick_us, file=ticks)
    print(path, tick_us, "complete" if done else "cut off", flush=True)


def main():
    folder, names = sys.argv[1], sys.argv[2:] or list(SCRIPTS)
    if ctypes.CDLL(None, use_errno=True).unshare(CLONE_NEWNET):
        sys.exit("cannot make a network namespace: run as root")
    for line in ("link set lo up", "tuntap add dev tun0 mode tun", f"address add {HOST}/24 dev tun0",
                 "link set tun0 up txqueuelen 1000"):
        subprocess.run(["ip", *line.split()], check=True)
    # The next connection must not start with what the last one learned.
    with open("/proc/sys/net/ipv4/tcp_no_metrics_save", "w") as setting:
        setting.write("1")
    os.makedirs(folder, exist_ok=True)
    port = 40_000
    for congestion in ("cubic", "reno"):
        for name in names:
            port += 1
            record(folder, name, congestion, SCRIPTS[name](), port)


main()
