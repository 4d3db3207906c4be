"""An end for the interoperation test: sends messages over the socket that is its standard input and checks those of its
peer. Arguments: session number, messages to send, messages to expect, largest fragment."""

import os
import select
import sys
import time

from linerate_link import Channel, Link, LinkError


def channel_of(number: int) -> int:
    return 0 if number % 10 == 9 else 1


def message_of(number: int) -> bytes:
    length = number % 40 if channel_of(number) == 0 else number * 37 % 500
    if number % 7 == 0:
        return bytes(1 + i % 255 for i in range(length))
    return bytes((number + i * i) % (number % 300 + 1) & 0xFF for i in range(length))


def now_us() -> int:
    return time.monotonic_ns() // 1000


def main() -> int:
    session, to_send, to_expect, fragment = map(int, sys.argv[1:])
    link = Link(session, [Channel(100), Channel(600)], max_fragment=fragment)
    sent = received = 0
    done = False
    expected = [9, 0]
    while True:
        while sent < to_send and link.is_up and link.pending(channel_of(sent)) < 8:
            try:
                link.send(channel_of(sent), message_of(sent))
            except LinkError as error:
                print(error, file=sys.stderr)
                return 1
            sent += 1
        for channel in 0, 1:
            while (message := link.read(channel)) is not None:
                number = expected[channel]
                if message != message_of(number):
                    print(f"wrong message {number} on channel {channel}", file=sys.stderr)
                    return 1
                expected[channel] += 10 if channel == 0 else 2 if number % 10 == 8 else 1
                received += 1
        while frame := link.transmit(now_us()):
            try:
                os.write(0, frame)
            except OSError:
                return 0
        is_acknowledged = link.is_up and not link.pending(0) and not link.pending(1)
        if not done and sent == to_send and received == to_expect and is_acknowledged:
            done = True
            print("done", flush=True)
        at = link.next_timeout()
        wait = None if at is None else max(0.0, (at - now_us()) / 1e6)
        if select.select([0], [], [], wait)[0]:
            octets = os.read(0, 4096)
            if not octets:
                return 0 if done else 1
            link.receive(now_us(), octets)


sys.exit(main())
