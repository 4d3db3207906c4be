"""Programs at the ends: `ends.py ROLE key=value …`.

Bulk transfers are here, requests and answers in `talk.py`, datagrams in `datagrams.py`, a small device in `device.py`.
Each program ends by itself: after `seconds`, after `bytes`, or when the other end closes.
"""

import errno
import fcntl
import random
import socket
import struct
import sys
import termios
import time
from typing import Callable, Optional

PORT = 5201
PATIENCE = 20
SO_MAX_PACING_RATE = 47
TCP_WINDOW_CLAMP = 10


class Words:
    """Arguments `key=value`; each must be used."""

    def __init__(self, words: list[str]) -> None:
        self.values = dict(it.split("=", 1) for it in words)

    def text(self, key: str, usual: str = "") -> str:
        return self.values.get(key, usual)

    def real(self, key: str, usual: float = 0) -> float:
        return float(self.values.get(key, usual))

    def whole(self, key: str, usual: int = 0) -> int:
        return int(float(self.values.get(key, usual)))


def prepare(sock: socket.socket, words: Words) -> None:
    """Socket options that both ends understand; buffers have to be set before the connection is opened."""
    options = [
        ("sndbuf", socket.SOL_SOCKET, socket.SO_SNDBUF),
        ("rcvbuf", socket.SOL_SOCKET, socket.SO_RCVBUF),
        ("pacing", socket.SOL_SOCKET, SO_MAX_PACING_RATE),
        ("maxseg", socket.IPPROTO_TCP, socket.TCP_MAXSEG),
        ("clamp", socket.IPPROTO_TCP, TCP_WINDOW_CLAMP),
        ("nodelay", socket.IPPROTO_TCP, socket.TCP_NODELAY),
    ]
    for key, level, option in options:
        if words.whole(key):
            sock.setsockopt(level, option, words.whole(key))
    if words.text("congestion"):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, words.text("congestion").encode())


def listener(words: Words) -> socket.socket:
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    prepare(sock, words)
    sock.bind(("0.0.0.0", words.whole("port", PORT)))
    sock.listen(16)
    sock.settimeout(PATIENCE)
    return sock


def connection(words: Words) -> socket.socket:
    """Connects to `to`, or accepts a connection where there is no `to`."""
    if words.text("to"):
        sock = socket.socket()
        prepare(sock, words)
        sock.settimeout(PATIENCE)
        sock.connect((words.text("to"), words.whole("port", PORT)))
    else:
        sock, _ = listener(words).accept()
        prepare(sock, words)
        sock.settimeout(PATIENCE)
    return sock


def spin(seconds: float) -> None:
    """Computes for a while, as a program does that prepares its data."""
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        pass


def unsent(sock: socket.socket) -> int:
    """Bytes in the send buffer that are not acknowledged."""
    return struct.unpack("i", fcntl.ioctl(sock, termios.TIOCOUTQ, b"\0" * 4))[0]


def receive_exactly(sock: socket.socket, count: int) -> bytes:
    data = b""
    while len(data) < count:
        piece = sock.recv(count - len(data))
        if not piece:
            raise EOFError
        data += piece
    return data


def source(words: Words) -> None:
    """Writes blocks of `write` bytes for `seconds`, or `bytes` in all. Between them it thinks `think_ms`, waits
    `pause_ms` or until `rate` (bytes per second) is met; at intervals of `stall_every_ms` it stalls `stall_ms`;
    with `lockstep` it writes on only after everything was acknowledged."""
    sock = connection(words)
    block = bytes(i * 7 & 255 for i in range(256)) * (words.whole("write", 65536) // 256 + 1)
    block = block[:words.whole("write", 65536)]
    began = due = time.perf_counter()
    stall_at = began + words.real("stall_every_ms") / 1e3
    jitter = random.Random(words.text("seed"))
    end, left = began + words.real("seconds", PATIENCE), words.real("bytes", 1e15)
    try:
        while left > 0 and time.perf_counter() < end:
            piece = block[:int(min(left, len(block)))]
            sock.sendall(piece)
            left -= len(piece)
            while words.whole("lockstep") and unsent(sock):
                time.sleep(20e-6)
            if words.real("think_ms"):
                spin(words.real("think_ms") / 1e3)
            if words.real("pause_ms"):
                time.sleep(words.real("pause_ms") / 1e3 * (1 + words.real("vary") * jitter.uniform(-1, 1)))
            if words.real("rate"):
                due += len(piece) / words.real("rate")
                time.sleep(max(0.0, due - time.perf_counter()))
            if words.real("stall_ms") and time.perf_counter() >= stall_at:
                time.sleep(words.real("stall_ms") / 1e3)
                stall_at = time.perf_counter() + words.real("stall_every_ms") / 1e3
        sock.shutdown(socket.SHUT_WR)
        while sock.recv(65536):
            pass
    except OSError as error:
        # The other end may have left at the end of its time.
        if error.errno not in (errno.EPIPE, errno.ECONNRESET) and not isinstance(error, TimeoutError):
            raise


def sink(words: Words) -> None:
    """Reads up to `read` bytes at a time, pauses `pause_ms` after each or keeps to `rate` (bytes per second); at
    intervals of `stall_every_ms` it does not read for `stall_ms`. `quickack` is set again after each read."""
    sock = connection(words)
    began = due = time.perf_counter()
    stall_at = began + words.real("stall_every_ms") / 1e3
    end = began + words.real("seconds", PATIENCE)
    count = 0
    while time.perf_counter() < end:
        data = sock.recv(words.whole("read", 65536))
        if not data:
            break
        count += len(data)
        if words.whole("quickack"):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        if words.real("pause_ms"):
            time.sleep(words.real("pause_ms") / 1e3)
        if words.real("rate"):
            due = max(due + len(data) / words.real("rate"), time.perf_counter() - 0.05)
            time.sleep(max(0.0, due - time.perf_counter()))
        if words.real("stall_ms") and time.perf_counter() >= stall_at:
            time.sleep(words.real("stall_ms") / 1e3)
            stall_at = time.perf_counter() + words.real("stall_every_ms") / 1e3
    sock.close()


def roles() -> dict[str, Callable[[Words], Optional[object]]]:
    import datagrams
    import device
    import talk
    return {"source": source, "sink": sink, **talk.ROLES, **datagrams.ROLES, **device.ROLES}


if __name__ == "__main__":
    try:
        roles()[sys.argv[1]](Words(sys.argv[2:]))
    except (TimeoutError, EOFError, ConnectionResetError, BrokenPipeError) as gone:
        print(f"{sys.argv[1]}: {gone!r}", file=sys.stderr)
