"""What a path does to frames: delay, rate, queues, losses. Times are seconds of `time.perf_counter`.

A frame passes the stages in the order in which a real path has them: it is lost on the way into a link that is down,
policed, queued before each leg, delayed, and received by a station with a limited number of buffers.
"""

import heapq
import math
import random
from collections import Counter, deque
from typing import Any, Callable, Optional


class Schedule:
    """Functions to be called at certain times, in the order of these times."""

    def __init__(self) -> None:
        self.events: list[tuple[float, int, Callable[..., None], tuple[Any, ...]]] = []
        self.count = 0
        # The time to which the events have been handled.
        self.now = 0.0

    def at(self, due: float, function: Callable[..., None], *arguments: Any) -> None:
        self.count += 1
        heapq.heappush(self.events, (due, self.count, function, arguments))


class Leg:
    """A link with a rate and a drop-tail queue before it."""

    def __init__(self, rate_bps: float = 0, queue: int = 1000, queue_bytes: float = math.inf, overhead: int = 0,
                 frame_us: float = 0, delay_ms: float = 0) -> None:
        self.rate_bps, self.queue, self.queue_bytes = rate_bps, queue, queue_bytes
        self.overhead, self.frame_s, self.delay = overhead, frame_us / 1e6, delay_ms / 1e3
        self.free = 0.0
        # When a transmission can begin that could begin at a time.
        self.after_stall: Callable[[float], float] = lambda time: time
        # Start of transmission and size of each waiting frame.
        self.waiting: deque[tuple[float, int]] = deque()
        self.bytes_waiting = 0

    def duration(self, size: int) -> float:
        bits = (size + self.overhead) * 8
        return self.frame_s + (bits / self.rate_bps if self.rate_bps else 0.0)

    def finish(self, now: float, size: int) -> Optional[float]:
        """When a frame that arrives now is at the other end; None if the queue is full."""
        while self.waiting and self.waiting[0][0] <= now:
            self.bytes_waiting -= self.waiting.popleft()[1]
        start = self.after_stall(max(now, self.free))
        if start > now:
            if len(self.waiting) >= self.queue or self.bytes_waiting + size > self.queue_bytes:
                return None
            self.waiting.append((start, size))
            self.bytes_waiting += size
        self.free = start + self.duration(size)
        return self.free + self.delay


class Policer:
    """A token bucket: what exceeds it is dropped, nothing is queued."""

    def __init__(self, rate_bps: float, burst_bytes: float) -> None:
        self.rate, self.burst = rate_bps / 8, burst_bytes
        self.tokens, self.at = burst_bytes, 0.0

    def conforms(self, now: float, size: int) -> bool:
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        if self.tokens < size:
            return False
        self.tokens -= size
        return True


def is_tcp(frame: bytes) -> bool:
    return frame[12:14] == b"\x08\x00" and frame[23] == 6


def tcp_flags(frame: bytes) -> int:
    return frame[14 + (frame[14] & 15) * 4 + 13]


def pure_ack(frame: bytes) -> Optional[bytes]:
    """The acknowledgment number of a segment without data; None for other frames."""
    if not is_tcp(frame) or tcp_flags(frame) != 0x10:
        return None
    tcp = 14 + (frame[14] & 15) * 4
    data = int.from_bytes(frame[16:18], "big") + 14 - tcp - (frame[tcp + 12] >> 4) * 4
    return frame[tcp + 8:tcp + 12] if data == 0 else None


class Direction:
    """One direction of the path. `medium` takes the place of the legs if both directions share one."""

    def __init__(self, schedule: Schedule, words: dict[str, Any], seed: str, began: float) -> None:
        self.schedule, self.began = schedule, began
        self.random = random.Random(seed)
        self.counts: Counter[str] = Counter()
        self.medium: Optional[Callable[[float, "Direction", bytes], None]] = None
        self.deliver: Callable[[bytes], None] = lambda frame: None
        take = dict(words)
        self.legs = [Leg(**leg) for leg in take.pop("legs", [])]
        self.policer = Policer(**take.pop("police")) if "police" in take else None
        self.delay = take.pop("delay_ms", 0) / 1e3
        self.jitter, self.keep_order = take.pop("jitter_ms", 0) / 1e3, take.pop("keep_order", True)
        self.loss, self.duplicate, self.corrupt = (take.pop(it, 0) for it in ("loss", "duplicate", "corrupt"))
        self.reorder = take.pop("reorder", None)
        self.outage, self.down = take.pop("outage", None), take.pop("down", None)
        if self.outage and self.outage.get("hold") == "legs":
            for leg in self.legs:
                leg.after_stall = self.stall_end
        self.wake = take.pop("wake", None)
        self.poll = take.pop("poll_ms", 0) / 1e3
        self.max_frame = take.pop("max_frame", math.inf)
        self.ring = take.pop("ring", None)
        self.thin = take.pop("thin", None)
        self.drop_syns, self.hold_syn = take.pop("drop_syns", 0), take.pop("hold_syn_ms", 0) / 1e3
        if take:
            raise ValueError(f"unknown: {sorted(take)}")
        self.last_due = self.awake_until = self.released = 0.0
        self.in_ring: deque[float] = deque()
        self.ring_free = 0.0
        self.held: Optional[bytes] = None
        self.held_count = self.held_number = 0

    def accept(self, now: float, frame: bytes) -> None:
        """Takes a frame that enters the path now."""
        self.counts["frames"] += 1
        if self.thin and self.is_held(now, frame):
            return
        self.enter(now, frame)

    def enter(self, now: float, frame: bytes) -> None:
        if is_tcp(frame) and tcp_flags(frame) & 2:
            if self.drop_syns > 0:
                self.drop_syns -= 1
                return self.lose("syn")
            now += self.hold_syn
        if len(frame) > self.max_frame:
            return self.lose("too long")
        if self.is_down(now):
            return self.lose("down")
        if self.policer and not self.policer.conforms(now, len(frame)):
            return self.lose("policed")
        if self.medium:
            return self.medium(now, self, frame)
        for leg in self.legs:
            finished = leg.finish(now, len(frame))
            if finished is None:
                return self.lose("queue")
            now = finished
        self.leave(now, frame)

    def leave(self, now: float, frame: bytes) -> None:
        """Continues with a frame that has been transmitted at the rate of the path."""
        if self.loss and self.random.random() < self.loss:
            return self.lose("random")
        due = self.awake(self.after_stall(now)) + self.delay + self.random.random() * self.jitter
        if self.reorder and self.random.random() < self.reorder["share"]:
            due += self.reorder["by_ms"] / 1e3
            self.counts["reordered"] += 1
        elif self.keep_order:
            due = self.last_due = max(due, self.last_due)
        if self.poll:
            due = self.began + math.ceil((due - self.began) / self.poll) * self.poll
        if self.ring and not self.has_buffer(due):
            return self.lose("ring")
        if self.corrupt and self.random.random() < self.corrupt and len(frame) > 60:
            self.counts["corrupted"] += 1
            at = self.random.randrange(60, len(frame))
            frame = frame[:at] + bytes([frame[at] ^ 1 << self.random.randrange(8)]) + frame[at + 1:]
        self.schedule.at(due, self.deliver, frame)
        if self.duplicate and self.random.random() < self.duplicate:
            self.counts["duplicated"] += 1
            self.schedule.at(due + 20e-6, self.deliver, frame)

    def lose(self, why: str) -> None:
        self.counts["lost: " + why] += 1

    def is_down(self, now: float) -> bool:
        time = now - self.began
        if self.down and 0 <= time - self.down["start_s"] < self.down["length_s"]:
            return True
        return bool(self.outage) and not self.outage.get("hold") and self.in_outage(time) is not None

    def in_outage(self, time: float) -> Optional[float]:
        """Time until the present outage ends."""
        since = time - self.outage["start_s"]
        if since < 0:
            return None
        rest = self.outage["length_s"] - since % self.outage["period_s"]
        return rest if rest > 0 else None

    def after_stall(self, now: float) -> float:
        """Frames wait until a stall ends, in their order."""
        if self.outage and self.outage.get("hold") == "frames":
            return self.stall_end(now)
        return now

    def stall_end(self, now: float) -> float:
        return now + (self.in_outage(now - self.began) or 0.0)

    def awake(self, now: float) -> float:
        """When a station that sleeps after a while without frames takes this one."""
        if not self.wake:
            return now
        if now > self.awake_until:
            self.counts["woken"] += 1
            self.released = now + self.wake["delay_ms"] / 1e3
        taken = max(now, self.released)
        self.awake_until = taken + self.wake["idle_ms"] / 1e3
        return taken

    def has_buffer(self, now: float) -> bool:
        """True if the receiver has a buffer; it empties one per service time, each late by up to `work_us`."""
        while self.in_ring and self.in_ring[0] <= now:
            self.in_ring.popleft()
        if len(self.in_ring) >= self.ring["buffers"]:
            return False
        self.ring_free = max(now, self.ring_free) + self.ring["service_us"] / 1e6
        self.in_ring.append(self.ring_free)
        return True

    def is_held(self, now: float, frame: bytes) -> bool:
        """Merges acknowledgments: only the newest of `every` is forwarded, after `wait_ms` at the latest."""
        number = pure_ack(frame)
        if number is None or (self.held and pure_ack(self.held) == number):
            self.release(now, self.held_number)
            return False
        if self.held is None:
            self.schedule.at(now + self.thin["wait_ms"] / 1e3, self.release_late, self.held_number)
        else:
            self.lose("merged")
        self.held, self.held_count = frame, self.held_count + 1
        if self.held_count >= self.thin["every"]:
            self.release(now, self.held_number)
        return True

    def release_late(self, number: int) -> None:
        if number == self.held_number and self.held is not None:
            self.release(self.schedule.now, number)

    def release(self, now: float, number: int) -> None:
        frame, self.held, self.held_count = self.held, None, 0
        self.held_number += 1
        if frame is not None:
            self.enter(now, frame)
