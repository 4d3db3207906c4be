"""Programs that ask and answer: clients and servers that think, web-like, terminal-like and failing connections."""

import random
import socket
import struct
import time
from typing import Callable

from ends import PATIENCE, PORT, Words, connection, listener, receive_exactly, spin, unsent


def pause(words: Words, key: str, chance: random.Random) -> None:
    """Sleeps `key` milliseconds, varied by the share `vary`."""
    time.sleep(words.real(key) / 1e3 * (1 + words.real("vary") * chance.uniform(-1, 1)))


def ask(words: Words) -> None:
    """Sends `count` requests of `request` bytes for `seconds` and reads answers of `reply` bytes; thinks `think_ms`
    before each but the first (`burst`: only before each so many), the last time `last_ms` more. `fresh`: a connection
    for each request. `pieces`: each request is written in so many pieces. `lookup`: the address of a name server to
    ask before each connection."""
    chance = random.Random(words.text("seed"))
    request, reply = words.whole("request", 100), words.whole("reply", 1000)
    pieces, count = words.whole("pieces", 1), words.whole("count", 1_000_000)
    end = time.perf_counter() + words.real("seconds", PATIENCE)
    sock = None
    for number in range(count):
        if time.perf_counter() > end:
            break
        if number:
            if number % words.whole("burst", 1) == 0:
                pause(words, "think_ms", chance)
            if number == count - 1:
                time.sleep(words.real("last_ms") / 1e3)
        if sock is None:
            if words.text("lookup"):
                from datagrams import look_up
                look_up(words.text("lookup"), number)
            sock = connection(words)
        for piece in range(pieces):
            sock.sendall(b"Q" * (request // pieces if piece else request - request // pieces * (pieces - 1)))
        receive_exactly(sock, reply)
        if words.whole("fresh"):
            sock.close()
            sock = None
    if sock:
        sock.close()


def answer(words: Words) -> None:
    """Reads requests of `request` bytes and answers with `reply` bytes after `think_ms` (`busy`: computing). `pieces`:
    the answer is written in so many pieces. `delay_last`: the think time is only for answer number `delay_last`."""
    chance = random.Random(words.text("seed"))
    request, reply, pieces = words.whole("request", 100), words.whole("reply", 1000), words.whole("pieces", 1)
    body = b"A" * reply
    server = listener(words)
    end = time.perf_counter() + words.real("seconds", PATIENCE)
    number = 0
    while time.perf_counter() < end:
        server.settimeout(max(0.05, end - time.perf_counter()))
        try:
            sock, _ = server.accept()
            sock.settimeout(PATIENCE)
            if words.whole("nodelay"):
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while True:
                receive_exactly(sock, request)
                number += 1
                if number == words.whole("delay_last", number):
                    if words.whole("busy"):
                        spin(words.real("think_ms") / 1e3)
                    else:
                        pause(words, "think_ms", chance)
                size = -(-reply // pieces)
                for at in range(0, reply, size):
                    sock.sendall(body[at:at + size])
        except (EOFError, ConnectionError, TimeoutError):
            continue


def type_keys(words: Words) -> None:
    """Types like a person at a terminal: a few bytes at a time, each echoed; now and then a line with its output."""
    sock = connection(words)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    chance = random.Random(words.text("seed"))
    end = time.perf_counter() + words.real("seconds", 5)
    while time.perf_counter() < end:
        line = chance.random() < 0.15
        sock.sendall(struct.pack(">HH", 36, chance.randrange(200, 3000) if line else 36) + b"k" * 32)
        received = 0
        _, wanted = struct.unpack(">HH", receive_exactly(sock, 4))
        while received < wanted:
            received += len(sock.recv(wanted - received))
        time.sleep(chance.uniform(0.06, 0.4) if not line else chance.uniform(0.3, 0.9))
    sock.close()


def echo_keys(words: Words) -> None:
    """The other end of `type`."""
    sock = connection(words)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    while True:
        _, wanted = struct.unpack(">HH", receive_exactly(sock, 4))
        receive_exactly(sock, 32)
        sock.sendall(struct.pack(">HH", 0, wanted) + b"e" * wanted)


def attempt(words: Words) -> None:
    """Tries to connect for `seconds`, `patience` each time, with pauses of `pause_ms`."""
    end = time.perf_counter() + words.real("seconds", 4)
    while time.perf_counter() < end:
        with socket.socket() as sock:
            sock.settimeout(words.real("patience", 3))
            try:
                sock.connect((words.text("to"), words.whole("port", PORT)))
                sock.sendall(b"hello")
                sock.recv(1)
            except OSError:
                pass
        time.sleep(words.real("pause_ms", 300) / 1e3)


def reset(words: Words) -> None:
    """Accepts connections and resets each at once."""
    server = listener(words)
    end = time.perf_counter() + words.real("seconds", 8)
    while time.perf_counter() < end:
        server.settimeout(max(0.05, end - time.perf_counter()))
        try:
            sock, _ = server.accept()
        except TimeoutError:
            return
        time.sleep(words.real("after_ms") / 1e3)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        sock.close()


def keep_alive(words: Words) -> None:
    """Holds a connection without data, with keep-alive probes every second."""
    sock = connection(words)
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
    for _ in range(2):
        sock.sendall(b"p" * words.whole("write", 200))
        time.sleep(words.real("seconds", 4) / 2)
    sock.close()


def absorb(words: Words) -> None:
    """Accepts connections and reads what comes, several at a time, for `seconds`."""
    import selectors
    server = listener(words)
    chooser = selectors.DefaultSelector()
    chooser.register(server, selectors.EVENT_READ)
    end = time.perf_counter() + words.real("seconds", 8)
    while time.perf_counter() < end:
        for key, _ in chooser.select(0.1):
            if key.fileobj is server:
                chooser.register(server.accept()[0], selectors.EVENT_READ)
                continue
            sock = key.fileobj
            assert isinstance(sock, socket.socket)
            try:
                alive = sock.recv(262144)
            except OSError:
                alive = b""
            if not alive:
                chooser.unregister(sock)
                sock.close()


def play(words: Words) -> None:
    """Sends like a camera: a picture every `frame_ms`, each n-th (`key_every`) five times as long."""
    sock = connection(words)
    chance = random.Random(words.text("seed"))
    due = began = time.perf_counter()
    number = 0
    while time.perf_counter() < began + words.real("seconds", 5):
        size = words.real("picture", 12000) * chance.uniform(0.7, 1.3)
        size *= 5 if number % words.whole("key_every", 25) == 0 else 1
        sock.sendall(b"v" * int(size))
        number += 1
        due += words.real("frame_ms", 40) / 1e3
        time.sleep(max(0.0, due - time.perf_counter()))
    while unsent(sock):
        time.sleep(0.01)
    sock.close()


ROLES: dict[str, Callable[[Words], None]] = {
    "ask": ask, "answer": answer, "type": type_keys, "echo": echo_keys, "attempt": attempt, "reset": reset,
    "keep-alive": keep_alive, "absorb": absorb, "play": play,
}
