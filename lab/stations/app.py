#!/usr/bin/env python3
"""Programs at the ends: app.py listen|connect ADDRESS PORT send|read|ask|answer|beat NAME=VALUE..., or app.py
names|blocks|fetch|stream|echo ADDRESS PORT NAME=VALUE.... Times are in ms. Each prints what it did as JSON.

send     octets or seconds, chunk, pause (between chunks), works and stops, sndbuf, pace (octets/s), nodelay,
         drained (waits until all is acknowledged before it pauses)
read     rcvbuf, chunk, pause, works and stops
ask      count, request, answer, pause, split (the request in two writes, the first of so many octets), nodelay
answer   request, answer, think, spread (think times differ by this factor), header (a write of its own before the answer)
beat     count, octets, pause: a message now and then, which the other end repeats
names    a DNS server that answers each query with `to` after `after`
blocks   a server of numbered blocks over UDP, one at a time: block;    fetch asks it for `count` of them
stream   numbered datagrams (RTP): octets, pause, seconds;              echo returns datagrams, or `quiet=1` only takes them
"""

import fcntl
import json
import random
import socket
import struct
import sys
import termios
import time

ZEROS = bytes(1 << 20)


def options(words):
    return {key: float(value) if value.replace(".", "", 1).replace("e", "", 1).isdigit() else value
            for key, value in (it.split("=", 1) for it in words)}


def number(o, name, default=0):
    return int(o.get(name, default))


def sleep(milliseconds):
    if milliseconds > 0:
        time.sleep(milliseconds / 1e3)


def prepared(o):
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    for name, level, option in (("sndbuf", socket.SOL_SOCKET, socket.SO_SNDBUF), ("rcvbuf", socket.SOL_SOCKET, socket.SO_RCVBUF),
                                ("pace", socket.SOL_SOCKET, 47), ("nodelay", socket.IPPROTO_TCP, socket.TCP_NODELAY)):
        if name in o:
            s.setsockopt(level, option, number(o, name))
    return s


def opened(role, address, port, o):
    s = prepared(o)
    if role == "connect":
        s.connect((address, port))
        return s
    s.bind((address, port))
    s.listen(8)
    return s.accept()[0]


def take(s, octets):
    while octets > 0:
        data = s.recv(min(octets, 1 << 16))
        if not data:
            return False
        octets -= len(data)
    return True


def drain(s):
    s.shutdown(socket.SHUT_WR)
    while s.recv(1 << 16):
        pass


class Pauses:
    """Works for some time, then stops for some time."""

    def __init__(self, o):
        self.works, self.stops, self.since, self.count = o.get("works", 0), o.get("stops", 0), time.monotonic(), 0

    def __call__(self):
        if self.stops and (time.monotonic() - self.since) * 1e3 > self.works:
            sleep(self.stops)
            self.count += 1
            self.since = time.monotonic()


def send(s, o):
    left = number(o, "octets", 1 << 40)
    until = time.monotonic() + o.get("seconds", 1e6)
    chunk, pauses, writes = number(o, "chunk", 16384), Pauses(o), 0
    while left > 0 and time.monotonic() < until:
        part = min(left, chunk)
        s.sendall(ZEROS[:part])
        left -= part
        writes += 1
        while "drained" in o and fcntl.ioctl(s, termios.TIOCOUTQ, "    ") != bytes(4):
            time.sleep(0.0005)
        sleep(o.get("pause", 0))
        pauses()
    drain(s)
    return {"writes": writes, "stopped": pauses.count}


def read(s, o):
    chunk, pauses, got, reads = number(o, "chunk", 1 << 16), Pauses(o), 0, 0
    due = time.monotonic()
    while data := s.recv(chunk):
        got += len(data)
        reads += 1
        if "pause" in o:
            due = max(due, time.monotonic() - 0.02) + o["pause"] / 1e3 * len(data) / chunk
            sleep((due - time.monotonic()) * 1e3)
        pauses()
    return {"octets": got, "reads": reads, "stopped": pauses.count}


def ask(s, o):
    request, answer, split, done, longest = number(o, "request"), number(o, "answer"), number(o, "split"), 0, 0
    for _ in range(number(o, "count")):
        began = time.monotonic()
        if split:
            s.sendall(ZEROS[:split])
        s.sendall(ZEROS[:request - split])
        if not take(s, answer):
            break
        longest = max(longest, time.monotonic() - began)
        done += 1
        sleep(o.get("pause", 0) * random.uniform(1 - o.get("spread", 0), 1 + o.get("spread", 0)))
    drain(s)
    return {"answers": done, "longest_ms": round(longest * 1e3, 1)}


def answer(s, o):
    done, thought = 0, 0
    while take(s, number(o, "request")):
        think = o.get("think", 0) * random.uniform(1 / (1 + o.get("spread", 0)), 1 + o.get("spread", 0))
        sleep(think)
        thought += think
        if "header" in o:
            s.sendall(ZEROS[:number(o, "header")])
        s.sendall(ZEROS[:number(o, "answer") - number(o, "header")])
        done += 1
    s.close()
    return {"answered": done, "thought_ms": round(thought)}


def beat(s, o):
    for _ in range(number(o, "count")):
        s.sendall(ZEROS[:number(o, "octets")])
        if "quiet" not in o:
            take(s, number(o, "octets"))
        sleep(o.get("pause", 0))
    drain(s)
    return {}


def names(address, port, o):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, port))
    while True:
        query, client = s.recvfrom(2048)
        sleep(o.get("after", 0))
        at = 12
        while query[at]:
            at += query[at] + 1
        question, kind = query[12:at + 5], struct.unpack_from(">H", query, at + 1)[0]
        found = socket.inet_aton(o["to"]) if kind == 1 else b""
        record = b"\xc0\x0c" + struct.pack(">HHIH", 1, 1, 60, 4) + found if found else b""
        s.sendto(query[:2] + b"\x81\x80" + struct.pack(">HHHH", 1, bool(found), 0, 0) + question + record, client)


def blocks(address, port, o):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((address, port))
    while True:
        request, client = s.recvfrom(2048)
        s.sendto(request[:4] + ZEROS[:number(o, "block")], client)


def fetch(address, port, o):
    s, got, again = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0, 0
    s.settimeout(1)
    for block in range(number(o, "count")):
        while True:
            s.sendto(struct.pack(">I", block), (address, port))
            try:
                got += len(s.recv(2048))
                break
            except TimeoutError:
                again += 1
    return {"octets": got, "asked_again": again}


def stream(address, port, o):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.setblocking(False)
    began = due = time.monotonic()
    count, returned, ident = 0, 0, random.getrandbits(32)
    while due < began + o.get("seconds", 5):
        s.sendto(struct.pack(">BBHII", 0x80, number(o, "type", 8), count & 0xffff, int((due - began) * 90000) & 0xffffffff, ident)
                 + ZEROS[:number(o, "octets") - 12], (address, port))
        count += 1
        try:
            while s.recv(2048):
                returned += 1
        except OSError:
            pass
        due += o.get("pause", 20) / 1e3
        sleep((due - time.monotonic()) * 1e3)
    return {"datagrams": count, "returned": returned}


def echo(address, port, o):
    s, got = socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 20)
    s.bind((address, port))
    while True:
        data, client = s.recvfrom(2048)
        if "quiet" not in o:
            s.sendto(data, client)


def main():
    role, address, port = sys.argv[1], sys.argv[2], int(sys.argv[3])
    began = time.monotonic()
    if role in ("listen", "connect"):
        o = options(sys.argv[5:])
        done = {"send": send, "read": read, "ask": ask, "answer": answer, "beat": beat}[sys.argv[4]](opened(role, address, port, o), o)
    else:
        do = {"names": names, "blocks": blocks, "fetch": fetch, "stream": stream, "echo": echo}[role]
        done = do(address, port, options(sys.argv[4:]))
    print(json.dumps({**done, "seconds": round(time.monotonic() - began, 3)}), flush=True)


main()
