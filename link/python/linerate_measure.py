"""Measures a byte link from Python: the procedures of `linerate test`, for notebooks and scripts.

The device runs linerate-link with its responder (or try `linerate serve pty://`):

    from linerate_measure import Bench, Port

    with Bench(Port.open("/dev/ttyACM0", baud=3_000_000)) as bench:
        down = bench.from_device(seconds=5)
        print(down.bits_per_s, down.quantile_gap_us(0.99))
        print(bench.round_trips(count=200).quantile_us(0.99))

From a shell: `linerate-link /dev/ttyACM0 --baud 3000000`. Messages: docs/link-self-test.md.
"""

from __future__ import annotations

import argparse
import json
import os
import secrets
import select
import sys
import time
from dataclasses import asdict, dataclass, field
from typing import Any, Callable, Dict, List, Optional, Sequence, Union

from linerate_link import Channel, Link

__all__ = ["Bench", "DeviceError", "Flow", "Identity", "Port", "RoundTrips"]

CONTROL, STREAM, DATAGRAM = range(3)
TRAIN, QUERY, REPORT, ASK, DONE, STOP, ECHO, ANSWER, IDENTIFY, IDENTITY = range(1, 11)
#: Octets in front of the filler of a message of a train.
TRAIN_HEAD = 6
#: Octets of a message of a kind, at least: shorter ones are no answer.
SHORTEST = {TRAIN: TRAIN_HEAD, REPORT: 14, DONE: 6, ANSWER: 5, IDENTITY: 8}
#: Messages that wait for acknowledgments.
QUEUED = 32
#: Time for the last answer to an echo, seconds.
LAST_ANSWER = 1.0

Progress = Callable[[float, int], None]


class DeviceError(Exception):
    """The device does not do what was asked; the message tells what, and what to try."""


class Port:
    """A file descriptor that carries octets both ways."""

    def __init__(self, descriptor: int, owner: Any = None) -> None:
        self.descriptor = descriptor
        self._owner = owner
        os.set_blocking(descriptor, False)

    @classmethod
    def open(cls, path: str, baud: int = 115_200, rtscts: bool = False) -> "Port":
        """Opens a serial port (with pyserial) or a pseudo-terminal."""
        if path.startswith("/dev/pts/"):
            import tty

            descriptor = os.open(path, os.O_RDWR | os.O_NOCTTY)
            tty.setraw(descriptor)
            return cls(descriptor, owner=descriptor)
        try:
            import serial  # type: ignore[import-untyped]
        except ImportError as error:
            raise DeviceError("serial ports need pyserial: pip install 'linerate-link[serial]'") from error
        port = serial.Serial(path, baud, rtscts=rtscts, exclusive=True, timeout=0)
        return cls(port.fileno(), owner=port)

    def wait(self, seconds: float) -> None:
        """Waits until octets arrive."""
        select.select([self.descriptor], [], [], max(0.0, seconds))

    def read(self) -> bytes:
        """What has arrived."""
        try:
            octets = os.read(self.descriptor, 65_536)
        except BlockingIOError:
            return b""
        except OSError as error:
            raise DeviceError(f"the port was closed: {error}") from error
        if not octets:
            raise DeviceError("the other end was closed")
        return octets

    def write(self, octets: bytes) -> None:
        """Writes everything; waits for room."""
        while octets:
            try:
                octets = octets[os.write(self.descriptor, octets) :]
            except BlockingIOError:
                select.select([], [self.descriptor], [], 1.0)

    def close(self) -> None:
        """Closes it, if this object opened it."""
        if isinstance(self._owner, int):
            os.close(self._owner)
        elif self._owner is not None:
            self._owner.close()
        self._owner = None


@dataclass
class Identity:
    """What sits at the other end."""

    version: int
    octets_per_s: int
    hardware_fifo: int
    name: str


@dataclass
class Flow:
    """Messages that arrived in one direction."""

    messages: int
    octets: int
    missing: int
    seconds: float
    #: Microseconds from message to message, if this end received them.
    gaps_us: List[float] = field(default_factory=list, repr=False)

    @property
    def bits_per_s(self) -> float:
        """Goodput."""
        return self.octets * 8 / self.seconds if self.seconds > 0 else 0.0

    def quantile_gap_us(self, share: float) -> float:
        """Gap that is longer than this share of the gaps."""
        return quantile(self.gaps_us, share)


@dataclass
class RoundTrips:
    """Answers to echoes."""

    sent: int
    #: Microseconds, in the order of the answers.
    us: List[float] = field(repr=False)

    @property
    def lost(self) -> int:
        """Echoes without an answer."""
        return self.sent - len(self.us)

    def quantile_us(self, share: float) -> float:
        """Round trip that is longer than this share of them."""
        return quantile(self.us, share)


def quantile(values: Sequence[float], share: float) -> float:
    """Value at this share of the sorted values (nearest rank); nan without values."""
    if not values:
        return float("nan")
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def filler(index: int, octets: int) -> bytes:
    """A message of a train behind its head."""
    start = index * 31
    return bytes((start + at * 7) & 0xFF for at in range(TRAIN_HEAD, octets))


def progress_bar(seconds: float) -> Progress:
    """A bar on stderr, if that is a terminal."""
    if not sys.stderr.isatty():
        return lambda _elapsed, _octets: None

    def show(elapsed: float, octets: int) -> None:
        done = min(1.0, elapsed / seconds) if seconds > 0 else 1.0
        bar = "#" * int(done * 30)
        end = "\n" if done >= 1.0 else ""
        print(f"\r[{bar:<30}] {octets * 8 / max(elapsed, 1e-6) / 1e6:8.2f} Mbit/s{end}", end="", file=sys.stderr)

    return show


class Bench:
    """A device at the other end of a port."""

    def __init__(self, port: Port, timeout: float = 5.0) -> None:
        self.port = port
        self.timeout = timeout
        self.link = Link(
            secrets.randbelow(2**32 - 1) + 1,
            [Channel(2048), Channel(16_384), Channel(16_384, is_reliable=False)],
            max_fragment=512,
            min_timeout_us=20_000,
        )
        self.identity: Optional[Identity] = None
        self._train = 0
        self._connect()

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the port."""
        self.port.close()

    # Procedures.

    def to_device(self, seconds: float = 5.0, octets: int = 256, progress: Optional[Progress] = None) -> Flow:
        """A stream to the device, which counts it."""
        self._check(STREAM, octets)
        train = self._new_train()
        begin = time.monotonic()
        sent = 0
        while time.monotonic() - begin < seconds:
            while self.link.pending(STREAM) < QUEUED:
                head = bytes([TRAIN, train]) + sent.to_bytes(4, "little")
                self.link.send(STREAM, head + filler(sent, octets))
                sent += 1
            self._turn(0.001)
            self._read(STREAM)
            if progress:
                progress(time.monotonic() - begin, sent * octets)
        while self.link.pending(STREAM):
            self._turn(0.02)
            self._expire(begin, seconds)
        elapsed = time.monotonic() - begin
        self.link.send(STREAM, bytes([QUERY, train]) + sent.to_bytes(4, "little"))
        report = self._await(STREAM, REPORT)
        received, counted, missing = (int.from_bytes(report[at : at + 4], "little") for at in (2, 6, 10))
        return Flow(received, counted, missing, elapsed)

    def from_device(
        self, seconds: float = 5.0, octets: int = 256, progress: Optional[Progress] = None
    ) -> Flow:
        """A stream from the device."""
        return self._receive(STREAM, seconds, octets, 0, progress)

    def datagrams_from_device(
        self, seconds: float = 5.0, octets: int = 256, bits_per_s: float = 0.0, progress: Optional[Progress] = None
    ) -> Flow:
        """Datagrams from the device, as fast as they go or at a rate: what is lost is missing."""
        interval_us = int(octets * 8e6 / bits_per_s) if bits_per_s else 0
        return self._receive(DATAGRAM, seconds, octets, interval_us, progress)

    def round_trips(
        self, count: int = 200, octets: int = 44, interval: float = 0.01, progress: Optional[Progress] = None
    ) -> RoundTrips:
        """Echoes at even intervals."""
        if not 5 <= octets <= 512:
            raise DeviceError("an echo has 5 to 512 octets")
        begin = time.monotonic()
        sent: List[float] = []
        answered: Dict[int, float] = {}
        while len(answered) < count and time.monotonic() < begin + count * interval + LAST_ANSWER:
            now = time.monotonic()
            if len(sent) < count and now >= begin + len(sent) * interval:
                head = bytes([ECHO]) + len(sent).to_bytes(4, "little")
                self.link.send(CONTROL, head + bytes(octets - 5))
                sent.append(now)
            due = begin + len(sent) * interval if len(sent) < count else now + 0.02
            self._turn(due - time.monotonic())
            now = time.monotonic()
            for message in self._read(CONTROL):
                if message[0] == ANSWER:
                    number = int.from_bytes(message[1:5], "little")
                    if number < len(sent):
                        answered.setdefault(number, (now - sent[number]) * 1e6)
            if progress:
                progress(now - begin, len(answered) * octets)
        return RoundTrips(len(sent), list(answered.values()))

    # Inside.

    def _connect(self) -> None:
        begin = time.monotonic()
        ask_at = begin
        while self.identity is None:
            now = time.monotonic()
            if now > begin + self.timeout:
                what = "no responder answers on channel 0" if self.link.is_up else "no link comes up"
                raise DeviceError(f"{what}: is it the right port, and its baud rate? `linerate test` tells what it hears")
            if self.link.is_up and now >= ask_at:
                self.link.send(CONTROL, bytes([IDENTIFY]))
                ask_at = now + 0.2
            self._turn(0.02)
            for message in self._read(CONTROL):
                if message[0] == IDENTITY:
                    name = message[8:].rstrip(b"\0").decode("utf-8", "replace")
                    octets_per_s = int.from_bytes(message[2:6], "little")
                    fifo = int.from_bytes(message[6:8], "little")
                    self.identity = Identity(message[1], octets_per_s, fifo, name)

    def _new_train(self) -> int:
        self._train = self._train % 127 + 1
        return self._train

    def _check(self, channel: int, octets: int) -> None:
        longest = self.link.channels[channel].max_message
        if not TRAIN_HEAD <= octets <= longest:
            raise DeviceError(f"the device takes messages of {TRAIN_HEAD} to {longest} octets")

    def _receive(
        self, channel: int, seconds: float, octets: int, interval_us: int, progress: Optional[Progress]
    ) -> Flow:
        self._check(channel, octets)
        train = self._new_train()
        numbers = ((octets, 2), (2**32 - 1, 4), (interval_us, 4), (int(seconds * 1000), 4))
        ask = bytes([ASK, train, channel]) + b"".join(value.to_bytes(size, "little") for value, size in numbers)
        self.link.send(CONTROL, ask)
        begin = time.monotonic()
        arrived: List[float] = []
        received = 0
        sent: Optional[int] = None
        while sent is None:
            self._turn(0.02)
            now = time.monotonic()
            for message in self._read(channel):
                if message[0] == TRAIN and message[1] == train:
                    arrived.append(now)
                    received += len(message)
                elif message[0] == DONE and message[1] == train:
                    sent = int.from_bytes(message[2:6], "little")
            self._expire(begin, seconds)
            if progress:
                progress(now - begin, received)
        gaps = [(late - early) * 1e6 for early, late in zip(arrived, arrived[1:])]
        elapsed = arrived[-1] - begin if arrived else 0.0
        return Flow(len(arrived), received, sent - len(arrived), elapsed, gaps)

    def _expire(self, begin: float, seconds: float) -> None:
        if time.monotonic() > begin + seconds + 2 * self.timeout:
            raise DeviceError("the transfer does not end")

    def _await(self, channel: int, kind: int) -> bytes:
        begin = time.monotonic()
        while True:
            for message in self._read(channel):
                if message[0] == kind:
                    return message
            self._expire(begin, 0.0)
            self._turn(0.02)

    def _read(self, channel: int) -> List[bytes]:
        messages: List[bytes] = []
        while (message := self.link.read(channel)) is not None:
            if message and len(message) >= SHORTEST.get(message[0], 1):
                messages.append(message)
        return messages

    def _turn(self, seconds: float) -> None:
        """Sends what is due and takes what arrives within `seconds`."""
        now = time.monotonic_ns() // 1000
        while frame := self.link.transmit(now):
            self.port.write(frame)
        due = self.link.next_timeout()
        if due is not None:
            seconds = min(seconds, (due - now) / 1e6)
        self.port.wait(seconds)
        self.link.receive(time.monotonic_ns() // 1000, self.port.read())
        now = time.monotonic_ns() // 1000
        while frame := self.link.transmit(now):
            self.port.write(frame)


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """The command `linerate-link`."""
    parser = argparse.ArgumentParser(description="Measure a device with linerate-link on a serial port.")
    parser.add_argument("port", help="/dev/ttyACM0, or the /dev/pts/N that `linerate serve pty://` prints")
    parser.add_argument("--baud", type=int, default=115_200)
    parser.add_argument("--rtscts", action="store_true", help="flow control by the hardware")
    parser.add_argument("--seconds", type=float, default=5.0, help="duration of each stream")
    parser.add_argument("--octets", type=int, default=256, help="octets of a message")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args(arguments)
    try:
        with Bench(Port.open(given.port, given.baud, given.rtscts)) as bench:
            show = progress_bar(given.seconds)
            flows = {
                "to_device": bench.to_device(given.seconds, given.octets, show),
                "from_device": bench.from_device(given.seconds, given.octets, show),
            }
            trips = bench.round_trips()
            identity = bench.identity
    except (DeviceError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 3
    quantiles = {f"p{share:g}_us": trips.quantile_us(share / 100) for share in (50, 99)}
    if given.json:
        result: Dict[str, Union[Dict[str, Any], None]] = {"device": asdict(identity) if identity else None}
        for name, flow in flows.items():
            result[name] = {"bits_per_s": flow.bits_per_s, "messages": flow.messages, "missing": flow.missing}
        result["round_trips"] = {"sent": trips.sent, "lost": trips.lost, **quantiles}
        print(json.dumps(result))
        return 0
    if identity and identity.name:
        print(f"device: {identity.name}")
    for name, flow in flows.items():
        print(f"{name.replace('_', ' ')}: {flow.bits_per_s / 1e6:.2f} Mbit/s, {flow.missing} of {flow.messages} missing")
    print(f"round trips: {quantiles['p50_us']:.0f} us, 99% at most {quantiles['p99_us']:.0f} us, {trips.lost} lost")
    return 0


if __name__ == "__main__":
    sys.exit(main())
