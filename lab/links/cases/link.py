"""The link: duplex, sleep, storms."""

from model import ETHERNET, LEFT, SENDER, Case, Draw, Program, Setup, bulk, into, iperf3, path, shaped

CASES: list[Case] = []
case = into(CASES)


@case("half-duplex", "path-rate", "Both directions share one transmitter, which is always busy.",
      by_kind={"sender": "path-rate transmit-holds-receiver collisions",
               "receiver": "path-rate transmit-holds-receiver collisions"})
def half_duplex(draw: Draw) -> Setup:
    words = path(draw, delay_ms=draw.between((0.5, 2), (2, 5)))
    words["half_duplex"] = {"rate_bps": draw.pick([10e6], [6e6, 10e6]), "queue": 60, "overhead": ETHERNET}
    programs = iperf3(4, reverse=True) if draw.frozen else bulk("")
    return Setup(programs, relay=words, lateness_us=600)


@case("duplex-mismatch", "duplex-mismatch", "One end transmits at any time, the other takes that for collisions.")
def duplex_mismatch(draw: Draw) -> Setup:
    words = path(draw, delay_ms=draw.between((0.2, 0.6), (0.6, 1.2)))
    words["mismatch"] = {"rate_bps": 10e6, "full": draw.pick(["left"], ["left"]), "queue": 100}
    programs = iperf3(6, reverse=True) if draw.frozen else bulk("", seconds=6)
    return Setup(programs, relay=words, congestion=draw.pick(["cubic"], ["reno"]), seconds=14)


@case("duplex-mismatch-other-way", "duplex-mismatch", "The half-duplex end sends, and late collisions cost its frames.")
def duplex_mismatch_other_way(draw: Draw) -> Setup:
    words = path(draw, delay_ms=draw.between((0.2, 0.6), (0.6, 1.2)))
    words["mismatch"] = {"rate_bps": draw.pick([10e6], [10e6]), "full": "right", "queue": 100}
    programs = iperf3(6, reverse=True) if draw.frozen else bulk("", seconds=6)
    return Setup(programs, relay=words, seconds=14)


@case("broadcast-storm", "broadcast-storm", "Broadcasts take most of the link's rate from the transfer.",
      removable=True)
def broadcast_storm(draw: Draw) -> Setup:
    rate = draw.cause(draw.between((500, 700), (800, 1100)), 20)
    size = draw.pick([1000], [700])
    programs = [Program("left", f"shout to=10.9.0.255 rate={rate:.0f} size={size} seconds=6"), *bulk("", seconds=4)]
    words = path(draw, 10e6, 60, 3, overhead=ETHERNET)
    return Setup(programs, relay=words)


@case("paused", "paused", "The receiver asks for pauses, which take most of the time; the capture shows its frames.",
      kinds=SENDER, removable=True)
def paused(draw: Draw) -> Setup:
    period, share = draw.between((0.04, 0.06), (0.07, 0.12)), draw.between((0.6, 0.7), (0.65, 0.75))
    outage = draw.cause({"start_s": 0.5, "period_s": period, "length_s": period * share, "hold": "legs"}, None)
    words = path(draw, draw.pick([25e6], [18e6]), 150, 2, forward={"outage": outage})
    if outage:
        words["pause"] = {"source": "02:4c:00:00:00:02", "rate_bps": 100e6}
    return Setup(iperf3(4) if draw.frozen else bulk(""), relay=words)


@case("harmless-broadcasts", "path-rate", "Some broadcasts cross a slow link that a transfer fills; trial finding 12.")
def harmless_broadcasts(draw: Draw) -> Setup:
    rate = draw.between((60, 120), (120, 200))
    programs = [Program("left", f"shout to=10.9.0.255 rate={rate:.0f} size=60 seconds=6"), *bulk("", seconds=4)]
    words = path(draw, draw.pick([6e6], [4.4e6]), 60, draw.between((4, 10), (10, 20)))
    return Setup(programs, relay=words)


@case("wake-up-latency", "wake-up-latency",
      "The client's radio sleeps when idle: the first frame after a while waits for it, those that follow do not.",
      removable=True)
def wake_up_latency(draw: Draw) -> Setup:
    wake = draw.cause({"idle_ms": draw.between((50, 70), (40, 60)), "delay_ms": draw.between((150, 190), (190, 280))},
                      None)
    ask = (f"reply={draw.pick([3000], [6000])} count=24 burst={draw.pick([4], [3])} "
           f"think_ms={draw.between((90, 110), (80, 100)):.0f}")
    programs = [Program("left", f"answer reply={draw.pick([3000], [6000])}"),
                Program("right", f"ask to={LEFT} {ask} vary=0.1 seed={draw.tag}", awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((3, 8), (6, 10)), forward={"wake": wake}))


@case("slow-link-chatter", "path-rate", "A link of 3 Mbit/s is full; what else it carries is small.")
def slow_link_with_chatter(draw: Draw) -> Setup:
    programs = [Program("left", "answer port=7000 reply=200"),
                Program("right", f"ask port=7000 to={LEFT} think_ms=300 reply=200 seconds=5"),
                *iperf3(5, reverse=draw.frozen)]
    words = path(draw, delay_ms=draw.between((6, 12), (12, 25)))
    return Setup(programs, relay=words, middle=[shaped(draw.between((2.5e6, 3.5e6), (3.6e6, 4.6e6)), 25_000)])
