"""Properties of the Python end and of its measurements, with what a hostile line or peer may send: nothing raises, memory is
bounded, and messages arrive whole and in order. Argument: number of cases of each property."""

import random
import sys

import linerate_link
import linerate_measure
from linerate_link import Channel, Link, LinkError

CAPACITY = 300
SEED = 4


def ends(size: int = CAPACITY):
    return [Link(n + 1, [Channel(size), Channel(size, is_reliable=False)], max_fragment=100) for n in range(2)]


def octets(chance: random.Random, longest: int) -> bytes:
    """Octets with zeros and runs, or any."""
    length = chance.randrange(longest + 1)
    if chance.randrange(2):
        return chance.randbytes(length)
    return bytes(chance.choice((0, 0, 1, 255)) for _ in range(length))


def exchange(pair, now: int, damage=lambda frame: frame) -> None:
    """Passes frames until neither end has more to send."""
    for _ in range(1000):
        frames = [end.transmit(now) for end in pair]
        if not any(frames):
            return
        for end, frame in zip(reversed(pair), frames):
            end.receive(now, damage(frame))
    raise AssertionError("an end sends endlessly")


def is_bounded(end: Link) -> bool:
    channels = end.channels
    fits = all(c.used + len(c.partial or b"") <= CAPACITY for c in channels)
    return fits and len(end._received) <= 2 * linerate_link.MAX_FRAGMENT


def decoding_reverses_encoding(chance: random.Random) -> None:
    data = octets(chance, 1000)
    encoded = linerate_link.cobs(data)
    assert 0 not in encoded and linerate_link.uncobs(encoded) == data


def any_octets_are_harmless(chance: random.Random) -> None:
    pair = ends()
    if chance.randrange(2):
        exchange(pair, 0)
    for _ in range(chance.randrange(8)):
        pair[0].receive(0, octets(chance, 2000))
        assert is_bounded(pair[0]) and pair[0].counters.overruns == 0
        assert all(pair[0].read(n) is None for n in (0, 1)), "no octets of this kind are a frame"
    for _ in range(50):
        pair[0].transmit(0)


def frames_with_a_good_check_and_any_content_are_harmless(chance: random.Random) -> None:
    pair = ends()
    exchange(pair, 0)
    now = 0
    for _ in range(chance.randrange(20)):
        frame = bytearray(octets(chance, 120))
        if len(frame) >= 14 and chance.randrange(3) == 0:
            # A hello with a plausible beginning.
            frame[0] = 0xC0 | chance.randrange(4) << 4 | 1
            frame[1] = chance.randrange(18)
        elif len(frame) >= 4 and chance.randrange(2) == 0:
            # Data with the right number, whatever the credit.
            channel = chance.randrange(2)
            frame[0] = chance.randrange(4) << 4 | channel
            frame[1] = pair[0].channels[channel].expected
        body = linerate_link.cobs(bytes(frame))
        is_hello = bool(frame) and frame[0] >> 6 == linerate_link.HELLO
        key = 0 if is_hello else pair[0]._key_in
        pair[0].receive(now, body + linerate_link.check(body, key) + b"\0")
        assert is_bounded(pair[0])
        now += chance.randrange(1 << chance.randrange(24))
        for _ in range(300):
            if not pair[0].transmit(now):
                break
        else:
            raise AssertionError("an end sends endlessly")
        pair[0].next_timeout()
        for channel in (0, 1):
            if chance.randrange(2):
                pair[0].read(channel)


def messages_pass_damage_whole_and_in_order(chance: random.Random) -> None:
    pair = ends()
    now, sent, got = 0, [], 0

    def damage(frame: bytes) -> bytes:
        frame = bytearray(frame)
        if frame and chance.randrange(6) == 0:
            at = chance.randrange(len(frame))
            what = chance.randrange(3)
            if what == 0:
                frame[at] ^= 1 << chance.randrange(8)
            elif what == 1:
                del frame[at]
            else:
                frame.insert(at, chance.randrange(256))
        return bytes(frame)

    for _ in range(4000):
        if len(sent) < 12 and pair[0].is_up:
            message = octets(chance, 200)
            try:
                pair[0].send(0, message)
                sent.append(message)
            except LinkError:
                pass
        exchange(pair, now, damage)
        while (message := pair[1].read(0)) is not None:
            assert message == sent[got], f"message {got}"
            got += 1
        assert all(end.counters.overruns == 0 for end in pair)
        if got == 12:
            return
        # As long as nothing happens, time-outs double up to two seconds.
        due = [at for end in pair if (at := end.next_timeout()) is not None]
        now = max([now + 5_000] + ([min(due)] if due else []))
    raise AssertionError(f"{got} of 12 messages arrived")


def any_test_messages_are_harmless(chance: random.Random) -> None:
    """What a device sends instead of answers ends in a result or a `DeviceError`."""
    bench = linerate_measure.Bench.__new__(linerate_measure.Bench)
    messages = [
        bytes([chance.randrange(16)]) + octets(chance, 20) for _ in range(chance.randrange(1, 30))
    ]

    class Device:
        """Stands in for the link: always up, with these messages on each channel."""

        is_up = True
        channels = [Channel(max_message=1000)] * 3
        sends = 0

        def send(self, _channel: int, _message: bytes) -> None:
            self.sends += 1

        def pending(self, _channel: int) -> int:
            return 0

        def read(self, _channel: int):
            return messages.pop() if messages else None

    bench.link, bench.timeout, bench._train, bench.identity = Device(), 0.0, chance.randrange(20), None
    bench._turn = lambda _seconds: None
    procedures = (
        bench._connect,
        lambda: bench._receive(linerate_measure.STREAM, 0.0, 32, 0, None),
        lambda: bench._await(linerate_measure.STREAM, linerate_measure.REPORT),
        lambda: bench.to_device(0.0, 32),
    )
    try:
        chance.choice(procedures)()
    except linerate_measure.DeviceError:
        pass


PROPERTIES = (
    decoding_reverses_encoding,
    any_octets_are_harmless,
    frames_with_a_good_check_and_any_content_are_harmless,
    messages_pass_damage_whole_and_in_order,
    any_test_messages_are_harmless,
)


def main() -> None:
    cases = int(sys.argv[1])
    for check in PROPERTIES:
        for case in range(cases):
            chance = random.Random(f"{SEED} {check.__name__} {case}")
            try:
                check(chance)
            except BaseException:
                print(f"{check.__name__}, case {case}", file=sys.stderr)
                raise
        print(f"{check.__name__}: {cases} cases")


main()
