"""Programs at the ends. Arguments: a mode, then key=value. Each prints a line of JSON when it is done."""

import json
import random
import socket
import struct
import sys
import time

MODE, OPTIONS = sys.argv[1], dict(it.split("=", 1) for it in sys.argv[2:])
START = time.monotonic()


def number(name, default=0.0):
    return float(OPTIONS.get(name, default))


def count(name, default=0):
    return int(float(OPTIONS.get(name, default)))


def say(**more):
    print(json.dumps({**more, "seconds": round(time.monotonic() - START, 6)}), flush=True)


def prepare(it):
    """Buffers have to be set before the connection opens."""
    if "rcvbuf" in OPTIONS:
        it.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, count("rcvbuf"))
    if "nodelay" in OPTIONS:
        it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return it


def listener():
    it = prepare(socket.socket())
    it.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    it.bind(("0.0.0.0", count("port", 7000)))
    it.listen(count("backlog", 16))
    return it


def dial():
    it = prepare(socket.socket())
    it.connect((OPTIONS["to"], count("port", 7000)))
    return it


def opened():
    """`to` dials; otherwise the program waits for a connection."""
    if "to" in OPTIONS:
        return dial()
    it = listener().accept()[0]
    if "nodelay" in OPTIONS:
        it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return it


def exactly(it, octets):
    data = b""
    while len(data) < octets:
        part = it.recv(min(octets - len(data), 65536))
        if not part:
            return data
        data += part
    return data


def source():
    """Sends `octets` in writes of `chunk`; pauses `pause` seconds after each `every` octets; or `per_second` writes a second."""
    it, left, chunk, every = opened(), count("octets"), count("chunk", 65536), count("every")
    sent = since = stops = 0
    data = random.randbytes(chunk)
    due = time.monotonic()
    while left > 0:
        part = data[:min(left, chunk)]
        it.sendall(part)
        left, sent, since = left - len(part), sent + len(part), since + len(part)
        if every and since >= every and left > 0:
            since, stops = 0, stops + 1
            time.sleep(number("pause") * random.uniform(0.9, 1.1))
        if "per_second" in OPTIONS:
            due += 1 / number("per_second")
            time.sleep(max(0, due - time.monotonic()))
    it.shutdown(socket.SHUT_WR)
    it.settimeout(60)
    try:
        it.recv(1)
    except OSError:
        pass
    say(sent=sent, stops=stops)


def sink():
    """Reads all; at `rate` octets a second in reads of `chunk`, or stops `pause` seconds after each `every` octets."""
    it, chunk, rate, every = opened(), count("chunk", 65536), number("rate"), count("every")
    got = since = stops = 0
    due = time.monotonic()
    while True:
        part = it.recv(chunk)
        if not part:
            break
        got, since = got + len(part), since + len(part)
        if rate:
            due = max(due + len(part) / rate, time.monotonic() - 0.2)
            time.sleep(max(0, due - time.monotonic()))
        if every and since >= every:
            since, stops = 0, stops + 1
            time.sleep(number("pause") * random.uniform(0.95, 1.05))
    it.close()
    say(read=got, stops=stops)


def ask():
    """`times` requests of `ask` octets (in `parts` writes) with answers of `answer` octets; waits `think` in between, or for a clock of
    `each` seconds. `spread` varies the wait. `dial` connects for each."""
    it = None if "dial" in OPTIONS else opened()
    asks, answer, parts, done, idle = count("ask", 64), count("answer", 256), count("parts", 1), 0, 0.0
    due, waits = time.monotonic(), []
    for _ in range(count("times", 10)):
        if "dial" in OPTIONS:
            it = dial()
        began = time.monotonic()
        request = struct.pack(">II", asks, answer) + bytes(asks - 8)
        size = -(-asks // parts)
        for at in range(0, asks, size):
            it.sendall(request[at:at + size])
        if len(exactly(it, answer)) < answer:
            break
        waits.append(time.monotonic() - began)
        done += 1
        if "dial" in OPTIONS:
            it.close()
        if "each" in OPTIONS:
            due += number("each")
            rest = due - time.monotonic()
        else:
            rest = number("think") * random.uniform(1 - number("spread"), 1 + number("spread"))
        if rest > 0:
            idle += rest
            time.sleep(rest)
    if it:
        it.close()
    waits.sort()
    say(answers=done, idle_s=round(idle, 3), median_s=round(waits[len(waits) // 2], 5) if waits else None)


def answer():
    """Answers requests of `ask`, after `think` seconds (`spread` varies it), in `parts` writes."""
    server, total, thought = listener(), 0, 0.0
    server.settimeout(number("patience", 90))
    for _ in range(count("connections", 1)):
        try:
            it = server.accept()[0]
        except OSError:
            break
        if "nodelay" in OPTIONS:
            it.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if "greeting" in OPTIONS:
            time.sleep(number("greeting"))
        while True:
            head = exactly(it, 8)
            if len(head) < 8:
                break
            asked, octets = struct.unpack(">II", head)
            exactly(it, asked - 8)
            if "think" in OPTIONS:
                rest = number("think") * random.uniform(1 - number("spread"), 1 + number("spread"))
                thought += rest
                time.sleep(rest)
            data, parts = bytes(octets), count("parts", 1)
            size = -(-octets // parts)
            for at in range(0, octets, size):
                it.sendall(data[at:at + size])
            total += octets
        it.close()
    say(answered=total, thought_s=round(thought, 3))


def crowded():
    """Listens with a backlog of one, and accepts nobody for `deaf` seconds; then sends `octets` to who asks last."""
    server = listener()
    time.sleep(number("deaf"))
    while True:
        it = server.accept()[0]
        head = it.recv(8)
        if head:
            break
        it.close()
    it.sendall(bytes(count("octets")))
    it.close()
    say(sent=count("octets"))


def fill():
    """Opens `times` connections, sends nothing, and closes them after `lasts` seconds."""
    held = []
    for _ in range(count("times", 2)):
        it = socket.socket()
        it.setblocking(False)
        it.connect_ex((OPTIONS["to"], count("port", 7000)))
        held.append(it)
        time.sleep(0.05)
    time.sleep(number("lasts"))
    for it in held:
        it.close()
    say(held=len(held))


def ask_all():
    """Sends a request and reads until the end."""
    it, got = dial(), 0
    it.sendall(b"GET data")
    while part := it.recv(65536):
        got += len(part)
    say(read=got)


def datagrams():
    """Datagrams of `size` octets, `per_second`, for `lasts` seconds; `burst` at a time; `sizes` varies them."""
    it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    it.connect((OPTIONS["to"], count("port", 7000)))
    burst, due, sent = count("burst", 1), time.monotonic(), 0
    ends = due + number("lasts")
    while due < ends:
        for _ in range(burst):
            size = int(count("size") * random.uniform(1 - number("sizes"), 1 + number("sizes")))
            try:
                it.send(struct.pack(">I", sent) + bytes(max(0, size - 4)))
            except OSError:
                pass
            sent += 1
        due += burst / number("per_second")
        time.sleep(max(0, due - time.monotonic()))
    say(datagrams=sent)


def gather():
    """Counts datagrams until `quiet` seconds pass without one."""
    it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    it.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 21)
    it.bind(("0.0.0.0", count("port", 7000)))
    it.settimeout(30)
    got = octets = 0
    try:
        while True:
            octets += len(it.recv(65536))
            got += 1
            it.settimeout(number("quiet", 2))
    except TimeoutError:
        pass
    say(got=got, octets=octets)


def names():
    """A name server that answers all questions for addresses with `address`, after `think` seconds."""
    it = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    it.bind(("0.0.0.0", 53))
    it.settimeout(90)
    while True:
        try:
            query, peer = it.recvfrom(512)
        except TimeoutError:
            break
        time.sleep(number("think"))
        end = 12
        while query[end]:
            end += query[end] + 1
        question = query[12:end + 5]
        has = question[-4:-2] == b"\0\1"
        reply = query[:2] + b"\x81\x80\0\1" + (b"\0\1" if has else b"\0\0") + b"\0\0\0\0" + question
        if has:
            reply += b"\xc0\x0c\0\1\0\1" + struct.pack(">IH", 60, 4) + socket.inet_aton(OPTIONS["address"])
        it.sendto(reply, peer)


def storm():
    """Broadcasts on `device`, `per_second`, for `lasts` seconds."""
    it = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
    it.bind((OPTIONS["device"], 0))
    due = time.monotonic()
    ends, sent = due + number("lasts"), 0
    frame = b"\xff" * 6 + b"\x02\x16\x3e\x11\x22\x33" + b"\x08\x06\0\1\x08\0\6\4\0\1" + b"\x02\x16\x3e\x11\x22\x33" + socket.inet_aton(
        OPTIONS["from"]) + bytes(6) + socket.inet_aton(OPTIONS["asks"]) + bytes(18)
    while due < ends:
        it.send(frame)
        sent += 1
        due += random.expovariate(number("per_second"))
        time.sleep(max(0, due - time.monotonic()))
    say(broadcasts=sent)


try:
    globals()[MODE]()
except OSError as error:
    say(error=str(error))
