"""Prints the time that the reader of this package needs for a message: `python3 reader_cost.py OCTETS MESSAGES`.

Two ends in one process; the clock runs while one takes octets, reads the messages and makes its acknowledgments. The Rust
counterpart is `lab/src/bench/readers.rs`; `cargo xtask bench --readers` runs both.
"""

import sys
import time

from linerate_link import Channel, Link

#: Messages that are sent together, as a port returns them.
TOGETHER = 8


def drain(end: Link) -> bytes:
    octets = bytearray()
    while frame := end.transmit(0):
        octets += frame
    return bytes(octets)


def ns_per_message(octets: int, messages: int) -> float:
    """Nanoseconds for each message of so many octets."""
    sender, reader = (Link(session, [Channel(16_384)]) for session in (1, 2))
    while not (sender.is_up and reader.is_up):
        reader.receive(0, drain(sender))
        sender.receive(0, drain(reader))
    message = bytes(at % 255 + 1 for at in range(octets))
    spent = received = 0
    while received < messages:
        for _ in range(TOGETHER):
            sender.send(0, message)
        wire = drain(sender)
        begin = time.perf_counter_ns()
        reader.receive(0, wire)
        while reader.read(0) is not None:
            received += 1
        answer = drain(reader)
        spent += time.perf_counter_ns() - begin
        sender.receive(0, answer)
    return spent / received


if __name__ == "__main__":
    print(ns_per_message(int(sys.argv[1]), int(sys.argv[2])))
