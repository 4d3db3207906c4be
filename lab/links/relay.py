"""A relay between two TAP interfaces: `relay.py '{"left": "tap0", "right": "tap1", "forward": {…}, …}'`.

It prints a line when the interfaces exist, forwards until it is terminated, and then prints what it did as JSON,
with the lateness of the deliveries: a capture is only valid if the machine kept up.
"""

import fcntl
import gc
import heapq
import json
import os
import select
import signal
import struct
import sys
from time import perf_counter
from typing import Any

from impair import Direction, Schedule
from medium import HalfDuplex, Mismatch

TUNSETIFF = 0x400454CA
IFF_TAP, IFF_NO_PI = 0x0002, 0x1000
# The kernel wakes a process about this late; the relay waits actively instead. No longer: a real-time process that
# always runs is stopped by the kernel for 50 ms each second.
WAKE_UP = 50e-6
# Frames that are read from one interface before the other gets its turn.
BATCH = 16
LATENESS_STEP = 10e-6
LATENESS_STEPS = 5000


def open_tap(name: str) -> int:
    tap = os.open("/dev/net/tun", os.O_RDWR | os.O_NONBLOCK)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TAP | IFF_NO_PI))
    return tap


class Lateness:
    """Histogram of how late frames were delivered."""

    def __init__(self) -> None:
        self.steps = [0] * (LATENESS_STEPS + 1)
        self.greatest = 0.0

    def add(self, late: float) -> None:
        self.steps[min(int(late / LATENESS_STEP), LATENESS_STEPS)] += 1
        if late > self.greatest:
            self.greatest = late

    def quantile(self, share: float) -> float:
        """Upper bound of the lateness of this share of the frames, seconds."""
        rest = share * sum(self.steps)
        for step, count in enumerate(self.steps):
            rest -= count
            if rest <= 0:
                return (step + 1) * LATENESS_STEP
        return self.greatest


class Relay:
    def __init__(self, words: dict[str, Any]) -> None:
        self.schedule, self.lateness = Schedule(), Lateness()
        self.began = perf_counter()
        self.taps = [open_tap(words["left"]), open_tap(words["right"])]
        seed = str(words.get("seed", 0))
        self.directions = [Direction(self.schedule, words.get(name, {}), seed + name, self.began)
                           for name in ("forward", "backward")]
        medium: Any = None
        if "half_duplex" in words:
            medium = HalfDuplex(self.schedule, **words["half_duplex"])
        elif "mismatch" in words:
            mismatch = dict(words["mismatch"])
            full = self.directions[0 if mismatch.pop("full") == "left" else 1]
            medium = Mismatch(self.schedule, full=full, seed=seed, **mismatch)
        for direction, tap in zip(self.directions, reversed(self.taps)):
            direction.deliver = self.writer(tap)
            direction.medium = medium.offer if medium else None
        self.ended = False
        if "pause" in words:
            self.pause_at(self.began + words["forward"]["outage"]["start_s"], **words["pause"])

    def pause_at(self, due: float, source: str, rate_bps: float) -> None:
        """Has the receiver `source` ask for a pause whenever the forward direction is held."""
        outage = self.directions[0].outage
        quanta = min(65535, round(outage["length_s"] * rate_bps / 512))

        def send(at: float) -> None:
            frame = bytes.fromhex("0180c2000001" + source.replace(":", "") + "88080001") + struct.pack(">H", quanta)
            self.directions[1].deliver(frame + bytes(60 - len(frame)))
            self.schedule.at(at + outage["period_s"], send, at + outage["period_s"])
        self.schedule.at(due, send, due)

    def writer(self, tap: int) -> Any:
        def deliver(frame: bytes) -> None:
            try:
                os.write(tap, frame)
            except OSError:
                pass  # The interface is not up yet, or no longer.
        return deliver

    def end(self, *_: Any) -> None:
        self.ended = True

    def run_due(self) -> None:
        """Handles the events that are due; their own times are exact even if this comes late."""
        events, schedule, clock = self.schedule.events, self.schedule, perf_counter
        while events:
            now = clock()
            due = events[0][0]
            if due > now:
                return
            _, _, function, arguments = heapq.heappop(events)
            schedule.now = due
            function(*arguments)
            self.lateness.add(now - due)

    def read(self) -> bool:
        some = False
        for tap, direction in zip(self.taps, self.directions):
            for _ in range(BATCH):
                try:
                    frame = os.read(tap, 65536)
                except OSError:
                    break
                some = True
                direction.accept(perf_counter(), frame)
        return some

    def run(self) -> None:
        events, clock = self.schedule.events, perf_counter
        while not self.ended:
            self.run_due()
            if self.read():
                continue
            wait = events[0][0] - clock() - WAKE_UP if events else 0.2
            if wait > 0:
                select.select(self.taps, [], [], min(wait, 0.2))

    def report(self) -> dict[str, Any]:
        return {
            "late_p99_us": round(self.lateness.quantile(0.99) * 1e6),
            "late_max_us": round(self.lateness.greatest * 1e6),
            "forward": {"frames": 0, **self.directions[0].counts},
            "backward": {"frames": 0, **self.directions[1].counts},
        }


def main() -> None:
    relay = Relay(json.loads(sys.argv[1]))
    signal.signal(signal.SIGTERM, relay.end)
    signal.signal(signal.SIGINT, relay.end)
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))
    except OSError:
        os.nice(-10)
    # A collection of garbage would delay frames by milliseconds; there are no cycles to collect.
    gc.disable()
    print("ready", flush=True)
    relay.run()
    print(json.dumps(relay.report()), flush=True)


if __name__ == "__main__":
    main()
