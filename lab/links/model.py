"""What a case consists of: its label, and a function that draws values and builds the set-up."""

import random
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Sequence, TypeVar

T = TypeVar("T")

KINDS = ("sender", "receiver", "late-sender", "late-receiver", "snapped-sender", "snapped-receiver")
LEFT, RIGHT = "10.9.0.1", "10.9.0.2"
# Overhead of Ethernet that a TAP interface does not carry: check sequence, preamble, gap.
ETHERNET = 24


class Draw:
    """Values of one run. Both parts draw in the same order, each within its own bounds."""

    def __init__(self, part: str, case: str, seed: int, without: bool = False) -> None:
        self.part, self.seed, self.without = part, seed, without
        self.random = random.Random(f"{part} {case} {seed}")
        self.tag = str(self.random.randrange(1 << 30))

    @property
    def frozen(self) -> bool:
        return self.part == "frozen"

    def between(self, development: tuple[float, float], frozen: tuple[float, float]) -> float:
        return self.random.uniform(*(frozen if self.frozen else development))

    def pick(self, development: Sequence[T], frozen: Sequence[T]) -> T:
        """One of these; the seeds take them in turn, so that a few seeds show all."""
        values = frozen if self.frozen else development
        return values[self.seed % len(values)]

    def cause(self, value: T, otherwise: T) -> T:
        """`value` provokes the cause; `otherwise` takes it away."""
        return otherwise if self.without else value


@dataclass
class Program:
    """A program at one end: arguments of `ends.py`, or of another program after `!`."""

    end: str
    words: str
    # The run ends when all of these have ended; others are terminated then.
    awaited: bool = False
    after: float = 0.0


@dataclass
class Setup:
    """Two ends and what is between them.

    `relay` are the words of `relay.py`; None for none. `middle` are commands in a namespace with a bridge between
    both ends, whose ports are `toleft` and `toright`; None for none. `left` and `right` are commands at the ends.
    """

    programs: list[Program]
    relay: Optional[dict[str, Any]] = None
    middle: Optional[list[str]] = None
    left: list[str] = field(default_factory=list)
    right: list[str] = field(default_factory=list)
    # Algorithm of both ends; in a namespace, a route selects it.
    congestion: str = "cubic"
    timestamps: bool = True
    # Bytes of each packet that are captured.
    snap: int = 128
    # False if an end's address belongs to `device.py`.
    left_address: bool = True
    right_address: bool = True
    # True if segments are formed by the (virtual) interface, as most interfaces do.
    offload: bool = False
    # Greatest time that the relay may be late, for 99% of the events.
    lateness_us: int = 500
    seconds: float = 12.0


@dataclass(frozen=True)
class Case:
    name: str
    # Acceptable first causes; empty for a control.
    expected: tuple[str, ...]
    reason: str
    build: Callable[[Draw], Setup]
    # Other labels for some kinds of capture.
    by_kind: dict[str, tuple[str, ...]] = field(default_factory=dict)
    kinds: tuple[str, ...] = KINDS
    # True if a second run without the cause tells what it costs.
    removable: bool = False

    @property
    def control(self) -> bool:
        return not self.expected

    def label(self, kind: str) -> tuple[str, ...]:
        """The label of a kind; `sender` and `receiver` stand for the late and snapped kinds of that end, too."""
        return self.by_kind.get(kind, self.by_kind.get(kind.split("-")[-1], self.expected))


AT_BOTH = ("sender", "receiver", "snapped-sender", "snapped-receiver")
SENDER = ("sender", "late-sender", "snapped-sender")
RECEIVER = ("receiver", "late-receiver", "snapped-receiver")


def path(draw: Draw, rate: float = 0, queue: int = 100, delay_ms: float = 0, forward: Optional[dict[str, Any]] = None,
         backward: Optional[dict[str, Any]] = None, back_rate: float = 0, overhead: int = 0) -> dict[str, Any]:
    """Words of the relay: the round trip's delay on both directions, a rate from left to right."""
    words: dict[str, Any] = {"seed": draw.tag, "forward": {"delay_ms": delay_ms / 2, **(forward or {})},
                             "backward": {"delay_ms": delay_ms / 2, **(backward or {})}}
    if rate:
        words["forward"].setdefault("legs", [{"rate_bps": rate, "queue": queue, "overhead": overhead}])
    if back_rate:
        words["backward"].setdefault("legs", [{"rate_bps": back_rate, "queue": queue, "overhead": overhead}])
    return words


def shaped(rate: float, limit: int, burst: int = 3200, port: str = "toright") -> str:
    """A shaper of the kernel."""
    return f"tc qdisc add dev {port} root tbf rate {rate:.0f}bit burst {burst} limit {limit:.0f}"


def filtered(rule: str, port: str = "toleft") -> list[str]:
    """A rule of nftables for what comes in through a port of the bridge."""
    return ["nft add table netdev path",
            f"nft add chain netdev path in {{ type filter hook ingress device {port} priority 0 ; }}",
            f"nft add rule netdev path in {rule}"]


def bulk(source: str, sink: str = "", download: bool = False, seconds: float = 4.0) -> list[Program]:
    """A transfer from left to right; the right end connects if it is a download."""
    if download:
        return [Program("left", f"source seconds={seconds} {source}"),
                Program("right", f"sink to={LEFT} {sink}", awaited=True)]
    return [Program("right", f"sink {sink}"),
            Program("left", f"source to={RIGHT} seconds={seconds} {source}", awaited=True)]


def iperf3(seconds: float = 4.0, words: str = "", reverse: bool = False) -> list[Program]:
    """iperf3 with its control connection; the data flow from left to right in both directions of use."""
    server, client, to = ("left", "right", LEFT) if reverse else ("right", "left", RIGHT)
    return [Program(server, "!iperf3 -s -1"),
            Program(client, f"!iperf3 -c {to} -t {seconds:.0f} {'-R' if reverse else ''} {words}", awaited=True)]


def into(cases: list[Case]) -> Callable[..., Callable[[Callable[[Draw], Setup]], Callable[[Draw], Setup]]]:
    """A decorator that adds a case; several acceptable causes are separated by blanks."""
    def case(name: str, expected: str, reason: str, by_kind: Optional[dict[str, str]] = None,
             **more: Any) -> Callable[[Callable[[Draw], Setup]], Callable[[Draw], Setup]]:
        def add(build: Callable[[Draw], Setup]) -> Callable[[Draw], Setup]:
            labels = {kind: tuple(it.split()) for kind, it in (by_kind or {}).items()}
            cases.append(Case(name, tuple(expected.split()), reason, build, labels, **more))
            return build
        return add
    return case
