"""A small device: its own TCP over AF_PACKET, with one connection, as little firmware has it.

It owns an address that the kernel of its namespace does not have. It lacks selective acknowledgments, timestamps and
window scaling, drops what arrives out of order, and can be told to be clumsy in several ways.
"""

import select
import socket
import struct
import time
from typing import Callable, Optional

from ends import PORT, Words

FIN, SYN, RST, PSH, ACK = 1, 2, 4, 8, 16


def checksum(data: bytes) -> int:
    if len(data) % 2:
        data += b"\0"
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


class Device:
    """One TCP connection with the peer `to`.

    `mss`, `buffer`: what it announces. `ack_every`, `ack_ms`: it acknowledges each n-th segment, or after so long.
    `late_ms`: each acknowledgment is sent so much later. `drain`: its application reads so many bytes per second;
    `silly`: it announces every byte of room at once, and again as soon as some were read.
    `flight`: segments that it sends before it waits; `rto_ms`: its fixed retransmission time.
    """

    def __init__(self, words: Words) -> None:
        self.words = words
        self.sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0003))
        self.sock.bind((words.text("interface", "eth0"), 0))
        self.mac = self.sock.getsockname()[4]
        self.address = socket.inet_aton(words.text("address"))
        self.peer_mac: Optional[bytes] = None
        self.peer, self.peer_port, self.port = socket.inet_aton(words.text("to")), 0, PORT
        self.mss, self.buffer = words.whole("mss", 1460), words.whole("buffer", 8760)
        self.received = self.sent = self.acked = 0
        self.unread, self.read_at = 0.0, time.perf_counter()
        self.unacknowledged, self.ack_due = 0, 0.0
        self.announced = self.buffer
        self.state = "closed"
        self.identification = 0
        self.peer_mss, self.peer_window = 536, 0
        self.later: list[tuple[float, bytes]] = []
        self.end = time.perf_counter() + words.real("seconds", 8)

    # Frames

    def ethernet(self, kind: int, payload: bytes) -> None:
        frame = (self.peer_mac or b"\xff" * 6) + self.mac + struct.pack(">H", kind) + payload
        self.sock.send(frame + b"\0" * (60 - len(frame)))

    def tcp(self, flags: int, sequence: int, data: bytes = b"", options: bytes = b"") -> None:
        head = struct.pack(">HHIIBBHHH", self.port, self.peer_port, sequence & 0xFFFFFFFF,
                           self.received & 0xFFFFFFFF if flags & ACK else 0, (20 + len(options)) // 4 << 4, flags,
                           self.window(), 0, 0)
        segment = head + options + data
        pseudo = self.address + self.peer + struct.pack(">HH", 6, len(segment))
        segment = segment[:16] + struct.pack(">H", checksum(pseudo + segment)) + segment[18:]
        self.identification += 1
        ip = struct.pack(">BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), self.identification & 0xFFFF, 0x4000, 64, 6, 0,
                         self.address, self.peer)
        ip = ip[:10] + struct.pack(">H", checksum(ip)) + ip[12:]
        late = self.words.real("late_ms") / 1e3
        if late and flags == ACK and not data:
            self.later.append((time.perf_counter() + late, ip + segment))
        else:
            self.ethernet(0x0800, ip + segment)

    def arp(self, packet: bytes) -> None:
        operation, = struct.unpack(">H", packet[6:8])
        if operation == 1 and packet[24:28] == self.address:
            answer = packet[:6] + struct.pack(">H", 2) + self.mac + self.address + packet[8:18]
            self.peer_mac = self.peer_mac or packet[8:14]
            self.ethernet(0x0806, answer)
        elif operation == 2 and packet[14:18] == self.peer:
            self.peer_mac = packet[8:14]

    # The receiving side

    def window(self) -> int:
        """Room in the buffer; unless silly, only announced in steps of a segment or half the buffer."""
        room = max(0, int(self.buffer - self.unread))
        if not self.words.whole("silly") and room - self.announced < min(self.mss, self.buffer // 2):
            # Never take back what was announced: what has arrived since then has used it up.
            room = max(0, min(room, self.announced))
        self.announced = room
        return min(room, 65535)

    def drain(self, now: float) -> None:
        rate = self.words.real("drain")
        before = self.unread
        self.unread = max(0.0, self.unread - (now - self.read_at) * rate) if rate else 0.0
        self.read_at = now
        if self.state != "open" or before == self.unread:
            return
        room = int(self.buffer - self.unread)
        step = self.words.whole("silly_step", 100) if self.words.whole("silly") else min(self.mss, self.buffer // 2)
        if room - self.announced >= step and self.announced < self.mss:
            self.acknowledge()

    def acknowledge(self) -> None:
        self.unacknowledged = 0
        self.tcp(ACK, self.sent)

    def take(self, sequence: int, data: bytes, flags: int) -> None:
        if sequence != self.received & 0xFFFFFFFF or len(data) > self.buffer - self.unread:
            self.acknowledge()
            return
        self.received += len(data)
        self.unread += len(data)
        self.announced = max(0, self.announced - len(data))
        if flags & FIN:
            self.received += 1
            self.acknowledge()
            self.tcp(FIN | ACK, self.sent)
            self.state = "closing"
            return
        self.unacknowledged += 1
        if self.unacknowledged == 1:
            self.ack_due = time.perf_counter() + self.words.real("ack_ms", 50) / 1e3
        if self.unacknowledged >= self.words.whole("ack_every", 1):
            self.acknowledge()

    # The sending side

    def transfer(self) -> None:
        """Sends `bytes`, at most `flight` segments ahead of the acknowledgments; resends after a fixed time."""
        first = self.sent
        total = self.words.whole("bytes", 1_000_000)
        size = min(self.peer_mss, self.mss)
        stall = resend = time.perf_counter()
        while self.acked - first < total and time.perf_counter() < self.end and self.state == "open":
            if self.sent - self.acked + size <= min(self.words.whole("flight", 1) * size, self.peer_window) \
                    and self.sent - first < total:
                time.sleep(self.words.real("work_ms") / 1e3)
                data = b"z" * min(size, total - (self.sent - first))
                at, self.sent = self.sent, self.sent + len(data)
                self.tcp(ACK | PSH, at, data)
                resend = time.perf_counter() + self.words.real("rto_ms", 500) / 1e3
                continue
            before = self.acked
            self.poll(0.01)
            stall = time.perf_counter()
            if before != self.acked:
                resend = stall + self.words.real("rto_ms", 500) / 1e3
            elif stall > resend:
                self.sent = self.acked
        self.tcp(FIN | ACK, self.sent)
        self.sent += 1
        self.state = "closing"

    # The connection

    def poll(self, wait: float) -> None:
        now = time.perf_counter()
        self.drain(now)
        if self.unacknowledged and now >= self.ack_due:
            self.acknowledge()
        while self.later and self.later[0][0] <= now:
            self.ethernet(0x0800, self.later.pop(0)[1])
        if self.later:
            wait = min(wait, max(0.0, self.later[0][0] - now))
        if self.unacknowledged:
            wait = min(wait, max(0.0, self.ack_due - now))
        if self.unread:
            wait = min(wait, 0.002)
        if not select.select([self.sock], [], [], wait)[0]:
            return
        frame, sender = self.sock.recvfrom(65536)
        if sender[2] == socket.PACKET_OUTGOING:
            return
        if frame[12:14] == b"\x08\x06":
            self.arp(frame[14:])
        elif frame[12:14] == b"\x08\x00" and frame[23] == 6 and frame[30:34] == self.address:
            self.input(frame)

    def input(self, frame: bytes) -> None:
        tcp = 14 + (frame[14] & 15) * 4
        length, = struct.unpack(">H", frame[16:18])
        source, port, sequence, number, offset, flags, window = struct.unpack(">HHIIBBH", frame[tcp:tcp + 16])
        data = frame[tcp + (offset >> 4) * 4:14 + length]
        if port != self.port:
            return
        options = b"\x02\x04" + struct.pack(">H", self.mss)
        if flags & RST:
            self.state = "closed"
        elif flags & SYN:
            self.peer_mac, self.peer_port = frame[6:12], source
            announced = frame[tcp + 20:tcp + 24]
            if announced[:2] == b"\x02\x04":
                self.peer_mss, = struct.unpack(">H", announced[2:])
            self.received = sequence + 1
            if not flags & ACK:
                self.sent = 10_000
                self.acked = self.sent + 1
                self.tcp(SYN | ACK, self.sent, options=options)
                self.sent += 1
            else:
                self.acked = number
                self.acknowledge()
            self.state = "open"
        elif self.state != "closed":
            self.peer_window = window
            advance = (number - self.acked) & 0xFFFFFFFF
            if flags & ACK and 0 < advance < 1 << 30:
                self.acked += advance
            if data or flags & FIN:
                self.take(sequence, data, flags)
            elif sequence == (self.received - 1) & 0xFFFFFFFF:
                self.acknowledge()  # A probe of the window.

    def run(self) -> None:
        if self.words.text("active"):
            self.peer_port, self.port = PORT, 49152
            request = struct.pack(">HHBBH6s4s6s4s", 1, 0x0800, 6, 4, 1, self.mac, self.address, b"\0" * 6, self.peer)
            while not self.peer_mac and time.perf_counter() < self.end:
                self.ethernet(0x0806, request)
                self.poll(0.2)
            self.sent = 5_000
            self.tcp(SYN, self.sent, options=b"\x02\x04" + struct.pack(">H", self.mss))
            self.sent += 1
        while time.perf_counter() < self.end and self.state != "closing":
            self.poll(0.2)
            if self.state == "open" and self.words.whole("bytes"):
                self.peer_window = self.peer_window or 8192
                self.transfer()
        last = time.perf_counter() + 0.3
        while time.perf_counter() < last:
            self.poll(0.05)
            if self.unacknowledged:
                self.acknowledge()


def run(words: Words) -> None:
    Device(words).run()


ROLES: dict[str, Callable[[Words], None]] = {"device": run}
