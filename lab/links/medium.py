"""Links whose two directions disturb each other: half duplex, and duplex mismatch."""

import random
from collections import deque
from typing import Optional

from impair import Direction, Schedule


class HalfDuplex:
    """A medium with one transmission at a time; stations that have something to send take turns."""

    def __init__(self, schedule: Schedule, rate_bps: float, queue: int = 200, overhead: int = 24) -> None:
        self.schedule, self.rate_bps, self.queue, self.overhead = schedule, rate_bps, queue, overhead
        self.waiting: dict[int, deque[tuple[Direction, bytes]]] = {}
        self.busy = False
        self.last: Optional[int] = None

    def offer(self, now: float, direction: Direction, frame: bytes) -> None:
        waiting = self.waiting.setdefault(id(direction), deque())
        if len(waiting) >= self.queue:
            return direction.lose("queue")
        waiting.append((direction, frame))
        if not self.busy:
            self.start(now)

    def start(self, now: float) -> None:
        ready = [it for it, frames in self.waiting.items() if frames]
        others = [it for it in ready if it != self.last]
        if not ready:
            return
        self.last = (others or ready)[0]
        direction, frame = self.waiting[self.last].popleft()
        self.busy = True
        end = now + (len(frame) + self.overhead) * 8 / self.rate_bps
        self.schedule.at(end, self.end, end, direction, frame)

    def end(self, now: float, direction: Direction, frame: bytes) -> None:
        self.busy = False
        direction.leave(now, frame)
        if not self.busy:
            self.start(now)


class Mismatch:
    """One end (`full`) transmits at any time. The other (`half`) defers to the frame it hears, and takes a frame
    that arrives while it transmits for a collision: that frame is lost, and its own is sent again unless the
    collision came too late."""

    SLOT_BITS = 512
    GAP_BITS = 96
    ATTEMPTS = 16

    def __init__(self, schedule: Schedule, rate_bps: float, full: Direction, seed: str, queue: int = 200) -> None:
        self.schedule, self.rate_bps, self.full, self.queue = schedule, rate_bps, full, queue
        self.random = random.Random(seed)
        self.bit = 1 / rate_bps
        self.full_waiting: deque[bytes] = deque()
        self.half_waiting: deque[tuple[Direction, bytes]] = deque()
        self.full_busy_until = 0.0
        self.full_active = self.half_active = False
        # The transmission of the half-duplex end: its start, its number to tell it from later ones.
        self.half_began: Optional[float] = None
        self.half_number = 0
        self.attempt = 0

    def offer(self, now: float, direction: Direction, frame: bytes) -> None:
        waiting = self.full_waiting if direction is self.full else self.half_waiting
        if len(waiting) >= self.queue:
            return direction.lose("queue")
        if direction is self.full:
            self.full_waiting.append(frame)
            if not self.full_active:
                self.full_active = True
                self.start_full(now)
        else:
            self.half_waiting.append((direction, frame))
            if not self.half_active:
                self.half_active = True
                self.start_half(now)

    def duration(self, frame: bytes) -> float:
        return (len(frame) + 12) * 8 * self.bit

    def start_full(self, now: float) -> None:
        if not self.full_waiting:
            self.full_active = False
            return
        frame = self.full_waiting.popleft()
        self.full_busy_until = now + self.duration(frame)
        if self.half_began is not None:
            self.full.lose("collision")
            self.collide(now)
        else:
            self.schedule.at(self.full_busy_until, self.full.leave, self.full_busy_until, frame)
        following = self.full_busy_until + self.GAP_BITS * self.bit
        self.schedule.at(following, self.start_full, following)

    def collide(self, now: float) -> None:
        late = now - (self.half_began or now) > self.SLOT_BITS * self.bit
        self.half_began = None
        self.half_number += 1
        self.attempt += 1
        if late or self.attempt >= self.ATTEMPTS:
            direction, _ = self.half_waiting.popleft()
            direction.lose("late collision" if late else "excessive collisions")
            self.attempt = 0
            again = now
        else:
            slots = self.random.randrange(1 << min(self.attempt, 10))
            again = now + (32 + slots * self.SLOT_BITS) * self.bit
        self.schedule.at(again, self.start_half, again)

    def start_half(self, now: float) -> None:
        if not self.half_waiting:
            self.half_active = False
            return
        if now < self.full_busy_until:
            # Just before the next frame of the other end, which does not defer.
            then = self.full_busy_until + (self.GAP_BITS - 1) * self.bit
            self.schedule.at(then, self.start_half, then)
            return
        self.half_began = now
        end = now + self.duration(self.half_waiting[0][1])
        self.schedule.at(end, self.end_half, end, self.half_number)

    def end_half(self, now: float, number: int) -> None:
        if number != self.half_number:
            return
        self.half_began, self.attempt = None, 0
        self.half_number += 1
        direction, frame = self.half_waiting.popleft()
        direction.leave(now, frame)
        then = now + self.GAP_BITS * self.bit
        self.schedule.at(then, self.start_half, then)
