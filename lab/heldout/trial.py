"""What a trial consists of, and the cases by name."""

from dataclasses import dataclass, field

CASES = {}


@dataclass
class Trial:
    """A: the client's end, B: the server's. @A and @B in a command stand for their addresses."""
    path: dict
    client: tuple                     # (end, command); its end ends the trial
    servers: list = field(default_factory=list)
    beside: list = field(default_factory=list)
    sender: str = "A"                 # the end that sends the data
    measure: str = "app"              # where the goodput comes from, see measure.py
    sysctl: dict = field(default_factory=dict)
    offload: str = ""                 # ends with segmentation and receive offload
    device: dict = None               # B is a device (src/device.c) with these settings
    resolver: bool = False            # A resolves names at B
    without: dict = None              # the same set-up without the cause: other values of these fields
    check: callable = lambda truth: True
    longest: float = 25.0
    missing: float = 0.0              # share of the packets that the captures lack


@dataclass
class Case:
    name: str
    make: callable
    expected: list                    # or a dict by "sender", "receiver", "middle", and "late-sender" and so on
    reason: str
    count: int = 3
    kinds: tuple = ("sender", "receiver", "middle", "late", "snapped")
    control: bool = False
    late: tuple = (0.3, 0.55)         # share of the time after which late captures begin
    steady: bool = True               # the gain also holds for a part of the transfer
    gain: bool = True                 # it is the gain of each of the expected causes
    bloat: bool = False               # its queue may be long enough to be called bufferbloat
    blind: callable = lambda settings: None   # the end at which these settings leave no trace

    def answer(self, kind, settings=None, path=None):
        """The causes that may come first. A full path whose queue is as long as docs/causes/bufferbloat.md says (four
        times the shortest round trip, by the forwarder's own figures) may be called that."""
        if self.bloat and path:
            waits = sum(it.get("queued_ns", 0) / max(1, it["frames"]) / 1e6 for it in (path["ab"], path["ba"]))
            if waits > 40 and waits > 3 * settings["rtt_ms"]:
                return [*self.plain_answer(kind), "bufferbloat"]
        return self.plain_answer(kind)

    def plain_answer(self, kind):
        if isinstance(self.expected, list):
            return self.expected
        for key in (kind, kind.split("-")[0], kind.split("-")[-1], "else"):
            if key in self.expected:
                return self.expected[key]
        raise KeyError(kind)


def case(name, expected, reason, **options):
    """Registers the function that draws a trial."""
    def register(make):
        CASES[name] = Case(name, make, expected, reason, **options)
        return make
    return register


def control(name, reason, **options):
    return case(name, [], reason, control=True, **options)


def path(rate=None, rtt_ms=1.0, queue=None, middle=0.5, **more):
    """Settings of the forwarder: the same rate in both directions, a queue in frames, the middle at this share of the
    way from A. Further settings as the forwarder names them, with `ab_` and `ba_` for one direction."""
    one_way = rtt_ms * 500
    it = {"ab.before": one_way * middle, "ab.after": one_way * (1 - middle),
          "ba.before": one_way * (1 - middle), "ba.after": one_way * middle}
    if rate:
        it["rate"] = rate
        it["queue"] = queue or frames_of(rate, rtt_ms)
    for name, value in more.items():
        it[name.replace("_", ".", 1) if name[:3] in ("ab_", "ba_") else name] = value
    return it


def frames_of(rate, rtt_ms, times=1.2, least=40):
    """A queue of `times` the bandwidth-delay product, in frames."""
    return max(least, round(times * rate * rtt_ms / 1e3 / 8 / 1514))


def slower(times):
    """The rule that the cause did limit the transfer: without it, the same set-up is so many times faster."""
    return lambda truth: truth["without_bits_per_s"] >= times * truth["goodput_bits_per_s"]


def full(share, rate):
    """The rule that the path was full."""
    return lambda truth: truth["goodput_bits_per_s"] >= share * rate


def both(*rules):
    return lambda truth: all(rule(truth) for rule in rules)


def counted(direction, counter, least=1):
    return lambda truth: truth["path"][direction].get(counter, 0) >= least
