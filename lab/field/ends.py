"""Programs at the ends, for what the stock ones do not do: ends.py listen|connect ADDRESS PORT ROLE key=value…

send      octets or seconds; chunk, pause (ms after each chunk), works and stops (ms), sndbuf, pace (octets/s), nodelay
read      chunk, pause, works, stops, rcvbuf
answer    request, answer, think (ms)                      ask     request, answer, count, pause (ms), split, nodelay
http      octets: any GET is answered with so many, any PUT is read; think (ms), chunk, pause
frames    octets of a picture, every (ms), seconds         (over TCP)
stream    octets of a datagram, pause, at_once, seconds    take    reads datagrams, prints how many
echo      sends datagrams back                             names   answers A queries with the address `to` after `after` ms
lwip      program, and its arguments: a station of lab/foreign behind this namespace's eth0
"""

import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

SO_MAX_PACING_RATE = 47


def wait(ms):
    if ms > 0:
        time.sleep(ms / 1e3)


class Turns:
    """Works for a time, then stops for a time."""

    def __init__(self, o):
        self.works, self.stops, self.begun, self.count = o.get("works", 0), o.get("stops", 0), time.monotonic(), 0

    def take(self):
        if self.stops and (time.monotonic() - self.begun) * 1e3 > self.works:
            wait(self.stops)
            self.begun, self.count = time.monotonic(), self.count + 1


def tune(it, o):
    if o.get("nodelay"):
        it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if o.get("sndbuf"):
        it.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, int(o["sndbuf"] // 2))
    if o.get("rcvbuf"):
        it.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, int(o["rcvbuf"]))
    if o.get("pace"):
        it.setsockopt(socket.SOL_SOCKET, SO_MAX_PACING_RATE, int(o["pace"]))


def send(it, o):
    chunk, turns, sent = bytes(int(o.get("chunk", 16384))), Turns(o), 0
    until = time.monotonic() + o.get("seconds", 60)
    while sent < o.get("octets", 1 << 40) and time.monotonic() < until:
        it.sendall(chunk)
        sent += len(chunk)
        wait(o.get("pause", 0))
        turns.take()
    it.shutdown(socket.SHUT_WR)
    it.settimeout(15)
    it.recv(1)
    return {"written": sent, "stopped": turns.count}


def read(it, o):
    turns, taken = Turns(o), 0
    while True:
        found = it.recv(int(o.get("chunk", 65536)))
        if not found:
            return {"taken": taken, "stopped": turns.count}
        taken += len(found)
        wait(o.get("pause", 0))
        turns.take()


def exactly(it, octets):
    left = int(octets)
    while left:
        found = it.recv(min(left, 65536))
        if not found:
            return False
        left -= len(found)
    return True


def answer(it, o):
    it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    answers = 0
    while exactly(it, o["request"]):
        wait(o.get("think", 0))
        it.sendall(bytes(int(o["answer"])))
        answers += 1
    return {"served": answers}


def ask(it, o):
    answers, longest, split = 0, 0, int(o.get("split", 0))
    for _ in range(int(o["count"])):
        begun = time.monotonic()
        if split:
            it.sendall(bytes(split))
        it.sendall(bytes(int(o["request"]) - split))
        if not exactly(it, o["answer"]):
            break
        answers, longest = answers + 1, max(longest, time.monotonic() - begun)
        wait(o.get("pause", 0))
    return {"answers": answers, "longest_ms": round(longest * 1e3, 1)}


def http(it, o):
    file = it.makefile("rb")
    while line := file.readline():
        length = 0
        while (head := file.readline()) not in (b"\r\n", b""):
            if head.lower().startswith(b"content-length:"):
                length = int(head.split(b":")[1])
            if head.lower().startswith(b"expect:"):
                it.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        while length > 0:
            found = file.read1(min(length, int(o.get("chunk", 16384))))
            if not found:
                return {}
            length -= len(found)
            wait(o.get("pause", 0))
        wait(o.get("think", 0))
        body = b"stored" if line.startswith(b"PUT") else bytes(int(o["octets"]))
        it.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    return {}


def frames(it, o):
    it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    due = time.monotonic()
    until, sent = due + o["seconds"], 0
    while due < until:
        it.sendall(bytes(int(o["octets"])))
        sent += 1
        due += o["every"] / 1e3
        wait((due - time.monotonic()) * 1e3)
    it.shutdown(socket.SHUT_WR)
    it.recv(1)
    return {"frames": sent}


def stream(it, to, o):
    sent, due = 0, time.monotonic()
    until = due + o.get("seconds", 4)
    while due < until:
        for _ in range(int(o.get("at_once", 1))):
            it.sendto(struct.pack(">I", sent) + bytes(int(o["octets"]) - 4), to)
            sent += 1
        due += o["pause"] / 1e3
        wait((due - time.monotonic()) * 1e3)
    return {"sent": sent}


def names(it, o):
    def later(query, to):
        wait(o.get("after", 0))
        name = query[12:query.index(b"\0", 12) + 5]
        is_a = name[-4:-2] == b"\0\1"
        record = b"\xc0\x0c\0\1\0\1\0\0\0\x3c\0\4" + socket.inet_aton(o["to"]) if is_a else b""
        it.sendto(query[:2] + b"\x81\x80\0\1" + struct.pack(">H", is_a) + b"\0\0\0\0" + name + record, to)

    while True:
        query, to = it.recvfrom(512)
        threading.Thread(target=later, args=(query, to), daemon=True).start()


def udp(mode, to, role, o):
    it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if mode == "connect":
        print(json.dumps(stream(it, to, o)), flush=True)
        return
    it.bind(to)
    if role == "names":
        names(it, o)
    taken = 0
    it.settimeout(2)
    try:
        while True:
            found, back = it.recvfrom(2048)
            if not taken:
                it.settimeout(2)
            taken += 1
            if role == "echo":
                it.sendto(found, back)
    except TimeoutError:
        if taken:
            print(json.dumps({"received": taken}), flush=True)
        else:
            it.settimeout(None)
            udp_again(it, role)


def udp_again(it, role):
    """Nobody has sent yet."""
    taken = 0
    while True:
        try:
            found, back = it.recvfrom(2048)
        except TimeoutError:
            print(json.dumps({"received": taken}), flush=True)
            return
        it.settimeout(2)
        taken += 1
        if role == "echo":
            it.sendto(found, back)


def lwip(program, words):
    """Frames of eth0 to and from the station's descriptor 3."""
    own, its = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
    wire.bind(("eth0", 3))
    if its.fileno() != 3:
        os.dup2(its.fileno(), 30)
    child = subprocess.Popen(["bash", "-c", f"exec 3<&30; exec {program} {' '.join(words)}"], pass_fds=[30])
    its.close()

    def out():
        while found := own.recv(2048):
            wire.send(found)

    threading.Thread(target=out, daemon=True).start()
    while child.poll() is None:
        found, where = wire.recvfrom(2048)
        if where[2] != socket.PACKET_OUTGOING:
            try:
                own.send(found)
            except OSError:
                break


def value(text):
    try:
        return float(text)
    except ValueError:
        return text


def main():
    if sys.argv[1] == "lwip":
        return lwip(sys.argv[2], sys.argv[3:])
    mode, host, port, role, *words = sys.argv[1:]
    o = {key: value(text) for key, text in (it.split("=") for it in words)}
    if role in ("stream", "take", "echo", "names"):
        return udp(mode, (host, int(port)), role, o)
    role = {"send": send, "read": read, "answer": answer, "ask": ask, "http": http, "frames": frames}[role]

    def play(it):
        begun = time.monotonic()
        try:
            print(json.dumps({**(role(it, o) or {}), "seconds": round(time.monotonic() - begun, 3)}), flush=True)
        except OSError as error:
            print(json.dumps({"error": str(error)}), flush=True)
        it.close()

    it = socket.socket()
    tune(it, o)
    if mode == "connect":
        it.settimeout(20)
        it.connect((host, int(port)))
        it.settimeout(None)
        return play(it)
    it.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    it.bind((host, int(port)))
    it.listen(8)
    while True:
        peer, _ = it.accept()
        threading.Thread(target=play, args=(peer,), daemon=True).start()


main()
