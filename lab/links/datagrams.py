"""Programs that use UDP: streams, lock-step file transfer (TFTP), name look-ups, broadcasts."""

import os
import random
import socket
import struct
import time
from typing import Callable

from ends import PATIENCE, Words

TFTP_PORT, DNS_PORT, STREAM_PORT = 69, 53, 5004
READ, DATA, ACK = 1, 3, 4


def udp(port: int = 0) -> socket.socket:
    sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    sock.bind(("0.0.0.0", port))
    sock.settimeout(PATIENCE)
    return sock


def stream(words: Words) -> None:
    """Sends numbered datagrams of `size` bytes at `rate` (bits per second of payload) for `seconds`, in groups of
    `batch`."""
    sock = udp()
    to = (words.text("to"), words.whole("port", STREAM_PORT))
    size, batch = words.whole("size", 1200), words.whole("batch", 1)
    began = due = time.perf_counter()
    number = 0
    while (now := time.perf_counter()) < began + words.real("seconds", 4):
        for _ in range(batch):
            head = struct.pack(">IQ", number, int(now * 1e6))
            try:
                sock.sendto(head + b"d" * (size - len(head)), to)
            except OSError:
                pass
            number += 1
        due += batch * size * 8 / words.real("rate")
        time.sleep(max(0.0, due - time.perf_counter()))


def swallow(words: Words) -> None:
    """Receives datagrams; with `report_ms` it reports their number to the sender at intervals, as video players do."""
    sock = udp(words.whole("port", STREAM_PORT))
    sock.settimeout(0.1)
    end = time.perf_counter() + words.real("seconds", 8)
    count, report = 0, time.perf_counter()
    while time.perf_counter() < end:
        try:
            _, sender = sock.recvfrom(65536)
        except TimeoutError:
            continue
        count += 1
        if words.real("report_ms") and time.perf_counter() > report:
            sock.sendto(struct.pack(">I", count) * 8, sender)
            report = time.perf_counter() + words.real("report_ms") / 1e3


def tftp_serve(words: Words) -> None:
    """Serves a file of `bytes` for each request: one block, one acknowledgment."""
    server = udp(TFTP_PORT)
    server.settimeout(words.real("seconds", 8))
    while True:
        try:
            request, client = server.recvfrom(2048)
        except TimeoutError:
            return
        if struct.unpack(">H", request[:2])[0] != READ:
            continue
        options = request[2:].split(b"\0")
        block = int(options[options.index(b"blksize") + 1]) if b"blksize" in options else 512
        with udp() as sock:
            sock.settimeout(1)
            if b"blksize" in options:
                sock.sendto(struct.pack(">H", 6) + b"blksize\0" + str(block).encode() + b"\0", client)
                if not acknowledged(sock, 0):
                    continue
            left, number = words.whole("bytes", 300_000), 0
            while left >= 0:
                number += 1
                data = struct.pack(">HH", DATA, number & 0xFFFF) + b"f" * min(left, block)
                for _ in range(5):
                    sock.sendto(data, client)
                    if acknowledged(sock, number & 0xFFFF):
                        break
                else:
                    return
                left -= block


def acknowledged(sock: socket.socket, number: int) -> bool:
    while True:
        try:
            reply = sock.recv(2048)
        except TimeoutError:
            return False
        if struct.unpack(">HH", reply[:4]) == (ACK, number):
            return True


def tftp_get(words: Words) -> None:
    """Fetches a file in blocks of `block` bytes."""
    sock = udp()
    sock.settimeout(3)
    request = struct.pack(">H", READ) + b"image.bin\0octet\0"
    block = words.whole("block", 512)
    if block != 512:
        request += b"blksize\0" + str(block).encode() + b"\0"
    sock.sendto(request, (words.text("to"), TFTP_PORT))
    expected = 1
    end = time.perf_counter() + words.real("seconds", PATIENCE)
    while time.perf_counter() < end:
        data, server = sock.recvfrom(65536)
        kind, number = struct.unpack(">HH", data[:4])
        if kind == 6:
            sock.sendto(struct.pack(">HH", ACK, 0), server)
            continue
        sock.sendto(struct.pack(">HH", ACK, number), server)
        if number == expected & 0xFFFF:
            expected += 1
            if len(data) < block + 4:
                return


def serve_names(words: Words) -> None:
    """Answers each query for an address after `delay_ms`; ignores the first `ignore` of every query's repetitions."""
    server = udp(DNS_PORT)
    server.settimeout(words.real("seconds", 8))
    chance = random.Random(words.text("seed"))
    seen: dict[bytes, int] = {}
    address = socket.inet_aton(words.text("address"))
    while True:
        try:
            query, client = server.recvfrom(2048)
        except TimeoutError:
            return
        seen[query[12:]] = seen.get(query[12:], 0) + 1
        if seen[query[12:]] <= words.whole("ignore"):
            continue
        time.sleep(words.real("delay_ms") / 1e3 * chance.uniform(0.9, 1.1))
        reply = query[:2] + struct.pack(">HHHHH", 0x8180, 1, 1, 0, 0) + query[12:]
        reply += struct.pack(">HHHIH", 0xC00C, 1, 1, 60, 4) + address
        server.sendto(reply, client)


def look_up(server: str, number: int) -> None:
    """Asks for an address, again after 1 s without an answer."""
    name = b"".join(bytes([len(it)]) + it for it in (b"host%d" % number, b"lab", b"example")) + b"\0"
    query = os.urandom(2) + struct.pack(">HHHHH", 0x0100, 1, 0, 0, 0) + name + struct.pack(">HH", 1, 1)
    with udp() as sock:
        sock.settimeout(1)
        for _ in range(4):
            sock.sendto(query, (server, DNS_PORT))
            try:
                sock.recv(2048)
                return
            except TimeoutError:
                continue


def shout(words: Words) -> None:
    """Broadcasts datagrams of `size` bytes, `rate` per second, for `seconds`."""
    sock = udp()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    began = time.perf_counter()
    sent = 0
    while (passed := time.perf_counter() - began) < words.real("seconds", 5):
        while sent < passed * words.real("rate"):
            try:
                sock.sendto(b"s" * words.whole("size", 60), (words.text("to"), 9))
            except OSError:
                pass
            sent += 1
        time.sleep(0.001)


ROLES: dict[str, Callable[[Words], None]] = {
    "stream": stream, "swallow": swallow, "tftp-serve": tftp_serve, "tftp-get": tftp_get,
    "serve-names": serve_names, "shout": shout,
}
