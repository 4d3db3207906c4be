"""A link layer for byte links, in one file without dependencies: docs/link-protocol.md.

Written from that page. An end takes received octets and gives frames to send; the caller owns the port and the clock:

    end = Link(session=secrets.randbits(32) or 1, channels=[Channel(), Channel(capacity=4096)])
    while True:
        end.receive(now_us(), port.read())
        while frame := end.transmit(now_us()):
            port.write(frame)
        if end.is_up: ...

Times are microseconds of any monotonic clock.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Deque, List, NamedTuple, Optional, Sequence, Tuple

__all__ = ["Channel", "Counters", "Link", "LinkError", "NotUp", "Probe", "TooLong"]

DATA, ACKNOWLEDGMENT, PROBE, HELLO = range(4)
FIRST = POLL = REPLY = WANTED = 0x20
LAST = REJECT = 0x10
VERSION = 1
ABORT = 1
MAX_CAPACITY = 32_767
MAX_FRAGMENT = 512
MAX_TIMEOUT_US = 2_000_000
WINDOW = 127


class LinkError(Exception):
    """A message was not accepted."""


class NotUp(LinkError):
    """There is no session yet."""


class TooLong(LinkError):
    """The peer's FIFO does not take messages of this length."""


def _crc_table() -> List[int]:
    table = []
    for octet in range(256):
        for _ in range(8):
            octet = octet >> 1 ^ (0x82F63B78 if octet & 1 else 0)
        table.append(octet)
    return table


_TABLE = _crc_table()


def crc32c(octets: bytes) -> int:
    """CRC-32C (Castagnoli)."""
    register = 0xFFFFFFFF
    for octet in octets:
        register = register >> 8 ^ _TABLE[(register ^ octet) & 0xFF]
    return register ^ 0xFFFFFFFF


def check(body: bytes, key: int) -> bytes:
    """The five octets behind an encoded body."""
    value = crc32c(body) ^ key
    return bytes(0x80 | value >> 7 * i & 0x7F for i in range(5))


def cobs(octets: bytes) -> bytes:
    """Encodes octets so that none is zero."""
    encoded = bytearray()
    blocks = octets.split(b"\0")
    for number, block in enumerate(blocks):
        is_last = number == len(blocks) - 1
        while len(block) > 254 or (len(block) == 254 and not is_last):
            encoded += b"\xff" + block[:254]
            block = block[254:]
        encoded += bytes([len(block) + 1]) + block
    return bytes(encoded)


def uncobs(encoded: bytes) -> Optional[bytes]:
    """Decodes octets; None if the last block is cut off."""
    octets = bytearray()
    at = 0
    while at < len(encoded):
        code = encoded[at]
        block = encoded[at + 1 : at + code]
        if len(block) != code - 1:
            return None
        octets += block
        at += code
        if code != 255 and at < len(encoded):
            octets.append(0)
    return bytes(octets)


def credit_shift(capacity: int) -> int:
    """Binary logarithm of the unit of a FIFO's credit."""
    shift = 0
    while capacity >> shift > 255:
        shift += 1
    return shift


def longest_message(capacity: int) -> int:
    """Longest message of a channel whose receiver's FIFO has this capacity."""
    unit = 1 << credit_shift(capacity)
    return max(0, capacity // unit * unit - 2 - unit + 1)


class Fragment(NamedTuple):
    """A part of a message."""

    octets: bytes
    first: bool
    last: bool

    @property
    def cost(self) -> int:
        return len(self.octets) + (2 if self.first else 0)


@dataclass(frozen=True)
class Probe:
    """Time stamps of a probe and its answer, modulo 2^32 microseconds."""

    number: int
    sent: int
    peer_received: int
    peer_sent: int
    received: int

    @property
    def round_trip_us(self) -> int:
        """Time on the link in both directions, without the peer's."""
        return (self.received - self.sent - self.peer_sent + self.peer_received) & 0xFFFFFFFF


@dataclass
class Counters:
    """Events since the link was made."""

    frames: int = 0
    damaged: int = 0
    aborted: int = 0
    duplicates: int = 0
    overruns: int = 0
    retransmitted: int = 0
    polls: int = 0
    peer_restarts: int = 0
    dropped: int = 0


@dataclass
class Channel:
    """A channel at this end: octets of its receive FIFO (each message takes two more), and what is done about loss."""

    capacity: int = 1024
    is_reliable: bool = True
    # Sending.
    waiting: Deque[Fragment] = field(default_factory=deque)
    outstanding: Deque[Fragment] = field(default_factory=deque)
    sent_again: int = 0  # of the waiting ones, those that were sent before
    done: Deque[Fragment] = field(default_factory=deque)  # acknowledged, of a message that is not
    oldest: int = 0
    credit: int = 0
    shift: int = 0
    max_message: int = 0
    max_fragment: int = 1
    deadline: Optional[int] = None
    backoff: int = 0
    is_polling: bool = False
    poll_due: bool = False
    # Receiving.
    messages: Deque[bytes] = field(default_factory=deque)
    partial: Optional[bytearray] = None
    used: int = 0
    peer_is_reliable: bool = True
    expected: int = 0
    is_rejected: bool = False
    acknowledgment_due: bool = False
    reject_due: bool = False
    granted: int = 0
    lost: int = 0

    @property
    def next(self) -> int:
        return (self.oldest + len(self.outstanding)) % 256

    @property
    def newest(self) -> int:
        return (self.next + self.sent_again) % 256

    @property
    def is_outstanding(self) -> bool:
        return bool(self.outstanding) or self.sent_again > 0

    @property
    def free(self) -> int:
        return self.capacity - self.used - (2 + len(self.partial) if self.partial is not None else 0)

    def may_send(self) -> bool:
        """True if the next fragment has credit."""
        cost = sum(f.cost for f in self.outstanding) + self.waiting[0].cost
        return cost <= self.credit and len(self.outstanding) < WINDOW

    def is_blocked(self) -> bool:
        return bool(self.waiting) and not self.may_send()

    def cut(self, message: bytes) -> None:
        """Appends the fragments of a message."""
        size = self.max_fragment
        starts = range(0, len(message), size) if message else [0]
        for start in starts:
            part = message[start : start + size]
            self.waiting.append(Fragment(part, start == 0, start + size >= len(message)))

    def rewind(self) -> None:
        """What is on its way is sent again."""
        self.sent_again += len(self.outstanding)
        self.waiting.extendleft(reversed(self.outstanding))
        self.outstanding.clear()

    def units(self) -> int:
        """Credit for the peer; counts it as granted."""
        shift = credit_shift(self.capacity)
        units = self.free >> shift
        self.granted = units << shift
        return units

    def restart(self, capacity: int, units: int, max_fragment: int, peer_is_reliable: bool) -> int:
        """Begins a session; returns the number of messages that were dropped."""
        was_sent = len(self.done) + len(self.outstanding) + self.sent_again
        self.rewind()
        messages: List[Tuple[bytes, bool]] = []
        octets, was_begun = b"", False
        for number, fragment in enumerate([*self.done, *self.waiting]):
            if fragment.first:
                octets, was_begun = b"", number < was_sent
            octets += fragment.octets
            if fragment.last:
                messages.append((octets, was_begun))
        self.waiting.clear()
        self.done.clear()
        self.sent_again = 0
        self.oldest = 0
        self.shift = credit_shift(capacity)
        self.credit = units << self.shift
        self.max_message = longest_message(capacity)
        self.max_fragment = max(1, min(max_fragment, self.max_message))
        self.deadline, self.backoff, self.is_polling, self.poll_due = None, 0, False, False
        kept = [
            octets
            for octets, was_begun in messages
            if 0 < self.max_message >= len(octets) and (self.is_reliable or not was_begun)
        ]
        for octets in kept:
            self.cut(octets)
        self.partial = None
        self.peer_is_reliable = peer_is_reliable
        self.expected = 0
        self.is_rejected = self.acknowledgment_due = self.reject_due = False
        self.units()
        return len(messages) - len(kept)


class Link:
    """One end of a link. Channel 0 is the most urgent."""

    def __init__(
        self,
        session: int,
        channels: Sequence[Channel],
        max_fragment: int = 256,
        initial_timeout_us: int = 100_000,
        min_timeout_us: int = 2_000,
    ) -> None:
        if not 0 < session < 1 << 32:
            raise ValueError("session: 1 to 2^32 - 1")
        if not 1 <= len(channels) <= 16 or any(c.capacity > MAX_CAPACITY for c in channels):
            raise ValueError("1 to 16 channels of at most 32,767 octets")
        self.session = session
        self.channels = list(channels)
        self.max_fragment = min(max_fragment, MAX_FRAGMENT)
        self.initial_timeout_us = initial_timeout_us
        self.min_timeout_us = min_timeout_us
        self.is_up = False
        self.peer = 0
        self.open = 0
        self.counters = Counters()
        self.probes: Deque[Probe] = deque()
        self._hello_due = True
        self._hello_deadline: Optional[int] = None
        self._key_in = 0
        self._key_out = 0
        self._received = bytearray()
        self._smoothed_us = 0.0
        self._variation_us = 0.0
        self._timed: Optional[Tuple[int, int, int]] = None
        self._probe_due = False
        self._probe_number = 0
        self._reply: Optional[Tuple[int, int, int]] = None

    # Messages.

    def send(self, channel: int, message: bytes) -> None:
        """Queues a message; raises LinkError if it cannot be sent."""
        if not self.is_up:
            raise NotUp("no session yet")
        if channel >= self.open or self.channels[channel].max_message == 0:
            raise LinkError(f"channel {channel} is not open at both ends")
        end = self.channels[channel]
        if len(message) > end.max_message:
            raise TooLong(f"the peer takes at most {end.max_message} octets on channel {channel}")
        end.cut(bytes(message))

    def pending(self, channel: int) -> int:
        """Fragments of a channel that are not acknowledged."""
        end = self.channels[channel]
        return len(end.waiting) + len(end.outstanding)

    def read(self, channel: int) -> Optional[bytes]:
        """The oldest received message of a channel, which is removed."""
        end = self.channels[channel]
        if not end.messages:
            return None
        message = end.messages.popleft()
        end.used -= len(message) + 2
        fragment = 2 + min(self.max_fragment, longest_message(end.capacity))
        was_short = end.granted < fragment <= end.free
        if was_short or end.free - end.granted >= end.capacity // 2:
            end.acknowledgment_due = True
        return message

    def probe(self) -> int:
        """Sends a probe; its answer is appended to `probes`."""
        self._probe_due = True
        self._probe_number = (self._probe_number + 1) % 256
        return self._probe_number

    # Receiving.

    def receive(self, now: int, octets: bytes) -> None:
        """Handles received octets."""
        *frames, rest = bytes(octets).split(b"\0")
        for part in frames:
            self._received += part
            if self._received:
                self._on_octets(now, bytes(self._received))
            self._received.clear()
        self._received += rest
        # More than any frame: keep what shows that it is damaged.
        del self._received[2 * MAX_FRAGMENT :]

    def _on_octets(self, now: int, octets: bytes) -> None:
        if octets[-1] == ABORT:
            self.counters.aborted += 1
            return
        body, tail = octets[:-5], octets[-5:]
        frame = uncobs(body)
        if frame is None or len(frame) < 4:
            self.counters.damaged += 1
            return
        kind = frame[0] >> 6
        if tail != check(body, 0 if kind == HELLO else self._key_in) or (kind != HELLO and not self.peer):
            self.counters.damaged += 1
            return
        self.counters.frames += 1
        if kind == HELLO:
            self._on_hello(frame)
            return
        self._come_up()
        if kind == PROBE:
            self._on_probe(now, frame)
        elif frame[0] & 15 < self.open:
            self._on_channel(now, kind, frame)

    def _on_hello(self, frame: bytes) -> None:
        count = frame[1]
        if frame[0] & 15 != VERSION or count > 16 or len(frame) < 14 + 3 * count:
            return
        session = int.from_bytes(frame[4:8], "little")
        echo = int.from_bytes(frame[8:12], "little")
        if session in (0, self.session):
            return
        if session != self.peer or (self.is_up and echo != self.session):
            self._begin(session, frame)
        if echo == self.session:
            self._come_up()
        if frame[0] & WANTED:
            self._hello_due = True

    def _begin(self, session: int, frame: bytes) -> None:
        if self.is_up:
            self.counters.peer_restarts += 1
        self.is_up = False
        self.peer = session
        own, peer = self.session.to_bytes(4, "little"), session.to_bytes(4, "little")
        self._key_in, self._key_out = crc32c(peer + own), crc32c(own + peer)
        self.open = min(len(self.channels), frame[1])
        self._timed = None
        self._reply = None
        fragment = max(1, min(self.max_fragment, int.from_bytes(frame[2:4], "little")))
        reliable = int.from_bytes(frame[12:14], "little")
        for number, end in enumerate(self.channels):
            size = frame[14 + 3 * number : 17 + 3 * number] if number < self.open else b"\0\0\0"
            capacity = int.from_bytes(size[:2], "little")
            is_reliable = bool(reliable >> number & 1)
            self.counters.dropped += end.restart(capacity, size[2], fragment, is_reliable)

    def _come_up(self) -> None:
        if self.peer and not self.is_up:
            self.is_up = True
            self._hello_deadline = None

    def _on_channel(self, now: int, kind: int, frame: bytes) -> None:
        number = frame[0] & 15
        end = self.channels[number]
        self._on_acknowledged(now, number, frame[2], frame[3])
        if kind == DATA:
            self._on_data(end, frame)
            return
        if frame[0] & POLL:
            self._on_poll(end, frame[1])
        if frame[0] & REJECT:
            end.is_polling = False
            if end.is_reliable:
                end.rewind()
            end.deadline = None
            self._start_timer(now, end)
            if self._timed and self._timed[0] == number:
                self._timed = None

    def _on_acknowledged(self, now: int, number: int, acknowledged: int, units: int) -> None:
        end = self.channels[number]
        first = end.oldest
        count = (acknowledged - first) % 256
        if count > (end.newest - first) % 256:
            return
        for _ in range(count):
            if end.outstanding:
                fragment = end.outstanding.popleft()
            else:
                fragment = end.waiting.popleft()
                end.sent_again -= 1
            end.done.append(fragment)
            if fragment.last:
                end.done.clear()
        end.oldest = acknowledged
        credit = units << end.shift
        if count or credit > end.credit:
            end.backoff = 0
            end.deadline = None
        end.credit = credit
        if not end.is_outstanding:
            end.is_polling = False
        self._start_timer(now, end)
        if self._timed and self._timed[0] == number and (self._timed[1] - first) % 256 < count:
            self._measured(now - self._timed[2])
            self._timed = None

    def _on_data(self, end: Channel, frame: bytes) -> None:
        octets = frame[4:]
        is_first, is_last = bool(frame[0] & FIRST), bool(frame[0] & LAST)
        ahead = (frame[1] - end.expected) % 256
        if ahead >= 128:
            self.counters.duplicates += 1
            end.acknowledgment_due = True
            return
        if ahead and end.peer_is_reliable:
            end.reject_due = end.reject_due or not end.is_rejected
            end.is_rejected = True
            return
        cost = len(octets) + (2 if is_first else 0)
        if cost > end.free:
            self.counters.overruns += 1
            return
        if ahead:
            end.lost += ahead
            end.partial = None
        if is_first:
            end.partial = bytearray()
        if end.partial is not None:
            end.partial += octets
            if is_last:
                end.messages.append(bytes(end.partial))
                end.used += len(end.partial) + 2
                end.partial = None
        end.granted = max(0, end.granted - cost)
        end.expected = (frame[1] + 1) % 256
        end.is_rejected = False
        end.acknowledgment_due = True

    @staticmethod
    def _on_poll(end: Channel, newest: int) -> None:
        end.acknowledgment_due = True
        ahead = (newest - end.expected) % 256
        if end.peer_is_reliable:
            end.reject_due = ahead != 0
        elif 0 < ahead < 128:
            end.lost += ahead
            end.partial = None
            end.expected = newest

    def _on_probe(self, now: int, frame: bytes) -> None:
        if len(frame) < 16:
            return
        sent, received, replied = (int.from_bytes(frame[at : at + 4], "little") for at in (4, 8, 12))
        if frame[0] & REPLY:
            self.probes.append(Probe(frame[1], sent, received, replied, now & 0xFFFFFFFF))
        else:
            self._reply = (frame[1], sent, now & 0xFFFFFFFF)

    # Time.

    def _measured(self, us: float) -> None:
        us = min(max(us, 1), MAX_TIMEOUT_US)
        if not self._smoothed_us:
            self._smoothed_us, self._variation_us = us, us / 2
            return
        self._variation_us += (abs(us - self._smoothed_us) - self._variation_us) / 4
        self._smoothed_us += (us - self._smoothed_us) / 8

    def _timeout_us(self) -> int:
        if not self._smoothed_us:
            return self.initial_timeout_us
        timeout = self._smoothed_us + 4 * self._variation_us
        return int(min(max(timeout, self.min_timeout_us), MAX_TIMEOUT_US))

    def _start_timer(self, now: int, end: Channel) -> None:
        if end.deadline is None and (end.is_outstanding or end.is_blocked()):
            end.deadline = now + min(self._timeout_us() << end.backoff, MAX_TIMEOUT_US)

    def _check_timers(self, now: int) -> None:
        if self._hello_deadline is not None and now >= self._hello_deadline:
            self._hello_deadline = None
            self._hello_due = True
        for end in self.channels[: self.open] if self.is_up else []:
            if end.deadline is None or now < end.deadline:
                continue
            end.deadline = None
            if not end.is_outstanding and not end.is_blocked():
                continue
            end.poll_due = True
            end.is_polling = end.is_outstanding
            end.backoff = min(end.backoff + 1, 6)
            self.counters.polls += 1
            self._start_timer(now, end)

    def next_timeout(self) -> Optional[int]:
        """The time at which `transmit` has to be called although nothing was received or sent."""
        times = [self._hello_deadline, *(end.deadline for end in self.channels)]
        return min((time for time in times if time is not None), default=None)

    # Sending.

    def transmit(self, now: int) -> bytes:
        """The next frame to send, empty if there is none. Call it after every other call, and at `next_timeout`."""
        self._check_timers(now)
        frame = self._next_frame(now)
        if self.is_up:
            for end in self.channels[: self.open]:
                self._start_timer(now, end)
        return frame

    def _next_frame(self, now: int) -> bytes:
        if self._hello_due:
            return self._hello(now)
        if not self.is_up:
            return b""
        for number in range(self.open):
            frame = self._channel_frame(now, number)
            if not frame and number == 0:
                frame = self._probe_frame(now)
            if frame:
                return frame
        return b""

    def _hello(self, now: int) -> bytes:
        self._hello_due = False
        if not self.is_up:
            # Up to 4 ms more, by no rhythm: a disturbance with a period would meet each hello, or none.
            more = (now * 0x9E3779B1 & 0xFFFFFFFF) >> 20
            self._hello_deadline = now + self.initial_timeout_us + more
        frame = bytearray([HELLO << 6 | VERSION | (0 if self.is_up else WANTED), len(self.channels)])
        frame += self.max_fragment.to_bytes(2, "little")
        frame += self.session.to_bytes(4, "little") + self.peer.to_bytes(4, "little")
        frame += sum(end.is_reliable << n for n, end in enumerate(self.channels)).to_bytes(2, "little")
        for end in self.channels:
            frame += end.capacity.to_bytes(2, "little") + bytes([end.units()])
        return b"\0" + self._encoded(bytes(frame), 0)

    def _channel_frame(self, now: int, number: int) -> bytes:
        end = self.channels[number]
        if not end.poll_due and not end.reject_due and not end.is_polling:
            if end.waiting and end.may_send():
                return self._data(now, number)
        if not end.poll_due and not end.reject_due and not end.acknowledgment_due:
            return b""
        flags = (POLL if end.poll_due else 0) | (REJECT if end.reject_due else 0)
        lead = b"\0" if end.poll_due else b""
        end.poll_due = end.reject_due = end.acknowledgment_due = False
        first = ACKNOWLEDGMENT << 6 | flags | number
        return lead + self._encoded(bytes([first, end.newest, end.expected, end.units()]), self._key_out)

    def _data(self, now: int, number: int) -> bytes:
        end = self.channels[number]
        fragment = end.waiting.popleft()
        flags = (FIRST if fragment.first else 0) | (LAST if fragment.last else 0)
        sequence = end.next
        end.acknowledgment_due = False
        header = bytes([DATA << 6 | flags | number, sequence, end.expected, end.units()])
        end.outstanding.append(fragment)
        if end.sent_again:
            end.sent_again -= 1
            self.counters.retransmitted += 1
        elif self._timed is None:
            self._timed = (number, sequence, now)
        return self._encoded(header + fragment.octets, self._key_out)

    def _probe_frame(self, now: int) -> bytes:
        stamp = (now & 0xFFFFFFFF).to_bytes(4, "little")
        if self._reply:
            number, sent, received = self._reply
            self._reply = None
            stamps = sent.to_bytes(4, "little") + received.to_bytes(4, "little") + stamp
            return self._encoded(bytes([PROBE << 6 | REPLY, number, 0, 0]) + stamps, self._key_out)
        if self._probe_due:
            self._probe_due = False
            header = bytes([PROBE << 6, self._probe_number, 0, 0])
            return self._encoded(header + stamp + bytes(8), self._key_out)
        return b""

    @staticmethod
    def _encoded(frame: bytes, key: int) -> bytes:
        body = cobs(frame)
        return body + check(body, key) + b"\0"
