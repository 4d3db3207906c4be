"""Limits and faults of the path: its rate, its queues, and what it loses."""

from typing import Any

from model import AT_BOTH, ETHERNET, RECEIVER, RIGHT, Case, Draw, Program, Setup, bulk, filtered, into, iperf3, path, \
    shaped

CASES: list[Case] = []
case = into(CASES)


def transfer(draw: Draw, seconds: float = 4.0, download: bool = False) -> list[Program]:
    """A bulk transfer: by our own program in development, by iperf3 in the frozen part."""
    if draw.frozen:
        return iperf3(seconds, reverse=download)
    return bulk("", download=download, seconds=seconds)


@case("slow-link-download", "path-rate",
      "The path carries 8.5 Mbit/s (frozen: another odd rate) and its queue is never empty; trial finding 1.")
def slow_link_download(draw: Draw) -> Setup:
    rate = draw.pick([8.5e6], [5.7e6, 12.6e6])
    words = path(draw, rate=rate, queue=100, forward={"delay_ms": 1}, backward={"delay_ms": 1})
    return Setup(iperf3(5, reverse=True), relay=words, congestion="reno")


@case("slow-link-upload", "path-rate", "The queue before the slowest link is never empty.")
def slow_link_upload(draw: Draw) -> Setup:
    rate = draw.between((5.5e6, 9e6), (4e6, 15e6))
    if draw.frozen:
        return Setup(iperf3(5), middle=[shaped(rate, 75_000)], congestion=draw.pick(["cubic"], ["cubic", "reno"]))
    return Setup(bulk("", seconds=5), relay=path(draw, rate, 70, delay_ms=draw.between((4, 20), (4, 20))))


@case("shaped-3m", "path-rate", "A shaper passes some Mbit/s and queues the rest.")
def shaped_3m(draw: Draw) -> Setup:
    rate = draw.between((1.5e6, 3.5e6), (0.9e6, 2.4e6))
    middle = [shaped(rate, 30_000)]
    words = path(draw, delay_ms=draw.between((10, 20), (25, 50)))
    return Setup(transfer(draw, 6, download=True), relay=words, middle=middle, timestamps=not draw.frozen)


@case("slow-link-bbr", "path-rate", "BBR keeps the slowest link busy with a short queue.")
def slow_link_bbr(draw: Draw) -> Setup:
    rate = draw.between((6e6, 12e6), (3e6, 7e6))
    words = path(draw, rate, 120, delay_ms=draw.between((10, 30), (30, 60)))
    return Setup(transfer(draw, 6), relay=words, congestion="bbr")


@case("slower-leg", "path-rate", "A fast leg comes first; the slower one behind it is always busy.")
def slower_leg(draw: Draw) -> Setup:
    slow = draw.between((10e6, 14e6), (6e6, 8e6))
    legs = [{"rate_bps": draw.pick([50e6], [30e6]), "queue": 100, "delay_ms": 2},
            {"rate_bps": slow, "queue": draw.pick([50], [40]), "overhead": ETHERNET}]
    return Setup(transfer(draw, 4, download=draw.frozen), relay=path(draw, delay_ms=8, forward={"legs": legs}))


@case("own-interface-shaped", "path-rate", "The sending host's own interface is the slowest link.",
      by_kind={"sender": "path-rate host-pacing", "receiver": "path-rate host-pacing"})
def own_interface_shaped(draw: Draw) -> Setup:
    # The kernel keeps its own queue short, so the even segments look paced.
    rate = draw.between((4e6, 8e6), (10.5e6, 18e6))
    left = [f"tc qdisc add dev eth0 root tbf rate {rate:.0f}bit burst 3200 limit 60000"]
    return Setup(transfer(draw), relay=path(draw, delay_ms=draw.between((5, 10), (12, 25))), left=left)


@case("policed", "policed", "A policer drops what exceeds its rate; nothing is queued.", removable=True)
def policed(draw: Draw) -> Setup:
    rate = draw.between((5e6, 9e6), (3e6, 12e6))
    burst = draw.between((12e3, 30e3), (20e3, 60e3))
    delay = draw.between((10, 25), (15, 40))
    if draw.frozen:
        rule = f"limit rate over {rate / 8e3:.0f} kbytes/second burst {burst / 1e3:.0f} kbytes drop"
        return Setup(iperf3(5), relay=path(draw, 40e6, 200, delay), middle=draw.cause(filtered(rule), []))
    forward: dict[str, Any] = draw.cause({"police": {"rate_bps": rate, "burst_bytes": burst}}, {})
    return Setup(bulk("", seconds=5), relay=path(draw, 40e6, 200, delay, forward=forward))


@case("policed-lan", "policed", "A policer on a short path; the whole rest is fast.")
def policed_lan(draw: Draw) -> Setup:
    rate = draw.between((4e6, 8e6), (9e6, 14e6))
    rule = f"limit rate over {rate / 8e3:.0f} kbytes/second burst {draw.pick([16], [40])} kbytes drop"
    return Setup(transfer(draw, download=True), middle=filtered(rule))


@case("shallow-queue", "shallow-queue queue-overflow",
      "The queue before the slowest link holds a small part of what the path needs, so it overflows early; a "
      "receiver with few buffers at the end of the path looks the same.", removable=True)
def shallow_queue(draw: Draw) -> Setup:
    rate, delay = draw.between((12e6, 20e6), (9e6, 15e6)), draw.between((40, 60), (60, 90))
    words = path(draw, rate, draw.cause(draw.pick([4, 6], [3, 7]), 150), delay)
    return Setup(transfer(draw, 6), relay=words, congestion="reno")


@case("bufferbloat", "bufferbloat path-rate",
      "A slow link is full, which is its rate; its queue adds a second or more, from which everything else suffers.")
def bufferbloat(draw: Draw) -> Setup:
    rate = draw.between((2.5e6, 4e6), (1.2e6, 2.2e6))
    programs = [Program("left", "answer port=7000 reply=300"),
                Program("right", "ask port=7000 to=10.9.0.1 think_ms=200 reply=300 seconds=7"),
                *transfer(draw, 8)]
    return Setup(programs, relay=path(draw, rate, draw.pick([700], [500]), delay_ms=10,
                                    back_rate=draw.pick([1e6], [2e6])), congestion="reno", seconds=14)


@case("random-loss", "random-loss", "Packets are lost at random, whatever the load.", removable=True)
def random_loss(draw: Draw) -> Setup:
    share, delay = draw.between((0.01, 0.02), (0.015, 0.04)), draw.between((15, 30), (8, 20))
    if draw.frozen:
        rule = f"numgen random mod 1000 < {share * 1000:.0f} drop"
        return Setup(iperf3(5), relay=path(draw, 30e6, 200, delay), middle=draw.cause(filtered(rule), []),
                     congestion=draw.pick(["cubic"], ["cubic", "reno"]))
    return Setup(bulk("", seconds=5), relay=path(draw, 30e6, 200, delay, forward=draw.cause({"loss": share}, {})))


@case("random-loss-download", "random-loss", "Packets are lost at random on the way to the client.", removable=True)
def random_loss_download(draw: Draw) -> Setup:
    share = draw.between((0.008, 0.02), (0.005, 0.01))
    words = path(draw, 20e6, 100, draw.between((30, 50), (50, 80)), forward=draw.cause({"loss": share}, {}))
    return Setup(transfer(draw, 5, download=True), relay=words, timestamps=not draw.frozen)


@case("reordering", "reordering", "Some packets overtake others, which a sender without tolerance takes for losses.",
      removable=True)
def reordering(draw: Draw) -> Setup:
    share, late = draw.between((0.01, 0.02), (0.015, 0.03)), draw.between((8, 14), (6, 10))
    forward: dict[str, Any] = draw.cause({"reorder": {"share": share, "by_ms": late}}, {})
    # Linux learns to tolerate reordering from timestamps and duplicate SACKs; many a stack does not.
    strict = ["sysctl -qw net.ipv4.tcp_max_reordering=3", "sysctl -qw net.ipv4.tcp_recovery=0"]
    return Setup(transfer(draw, 5, download=draw.frozen), relay=path(draw, 25e6, 150, 20, forward=forward), left=strict,
                 right=["sysctl -qw net.ipv4.tcp_dsack=0"], congestion="reno", timestamps=False)


@case("duplicate-frames", "duplicate-frames path-rate",
      "A good part of the frames arrives twice; the path is busy besides.")
def duplicate_frames(draw: Draw) -> Setup:
    share = draw.between((0.1, 0.3), (0.05, 0.6))
    words = path(draw, draw.pick([10e6], [6e6]), 60, 6, forward={"duplicate": share})
    return Setup(transfer(draw), relay=words)


@case("checksum-errors", "checksum-errors",
      "Bits are flipped on the way: what arrives with a wrong checksum is discarded. The sender only sees losses.",
      by_kind={"sender": "random-loss wire-errors checksum-errors"},
      kinds=("sender", "receiver", "late-sender", "late-receiver", "snapped-sender"), removable=True)
def checksum_errors(draw: Draw) -> Setup:
    share = draw.between((0.01, 0.02), (0.02, 0.04))
    words = path(draw, 20e6, 120, draw.between((15, 25), (8, 15)), forward=draw.cause({"corrupt": share}, {}))
    return Setup(transfer(draw, 4, download=draw.frozen), relay=words, snap=0)


@case("link-interrupted", "link-interrupted", "For a while nothing passes in either direction, then all goes on.",
      kinds=AT_BOTH, removable=True)
def link_interrupted(draw: Draw) -> Setup:
    down = {"start_s": draw.between((2, 2.6), (2.4, 3.2)), "length_s": draw.between((1.2, 2), (1.6, 2.6))}
    words: dict[str, Any] = draw.cause({"down": down}, {})
    size = draw.pick([4.5e6], [3.5e6])
    programs = bulk(f"bytes={size}", seconds=12, download=draw.frozen)
    return Setup(programs, relay=path(draw, 9e6, 60, 10, forward=words, backward=words))


@case("outages", "link-interrupted", "At intervals nothing passes for half a second.", removable=True,
      by_kind={"sender": "link-interrupted retransmission-stalls",
               "receiver": "link-interrupted retransmission-stalls"})
def outages(draw: Draw) -> Setup:
    outage = {"start_s": 1.5, "period_s": draw.between((1.4, 1.8), (1.8, 2.2)),
              "length_s": draw.between((0.45, 0.6), (0.6, 0.8))}
    words: dict[str, Any] = draw.cause({"outage": outage}, {})
    return Setup(transfer(draw, 8), relay=path(draw, 9e6, 60, 8, forward=words, backward=words))


@case("retransmission-stalls", "retransmission-stalls random-loss",
      "With two or three segments in flight a loss has to wait for the timer; the losses are the deeper cause.",
      removable=True)
def retransmission_stalls(draw: Draw) -> Setup:
    share, segments = draw.between((0.01, 0.02), (0.02, 0.03)), draw.pick([2, 3], [3, 2])
    words = path(draw, delay_ms=draw.between((3, 6), (6, 12)), forward=draw.cause({"loss": share}, {}))
    device = f"device address={RIGHT} to=10.9.0.1 buffer={1460 * segments} ack_every=1 seconds=12"
    programs = [Program("right", device), Program("left", f"source to={RIGHT} seconds=6", awaited=True)]
    return Setup(programs, relay=words, right_address=False, left=["sysctl -qw net.ipv4.tcp_early_retrans=0"])


@case("no-sack", "no-sack", "A queue overflows, as queues do; without selective acknowledgments the sender repairs "
      "one loss per round trip.", kinds=AT_BOTH, removable=True)
def no_sack(draw: Draw) -> Setup:
    words = path(draw, draw.between((18e6, 24e6), (12e6, 16e6)), draw.pick([60], [50, 70]),
                 draw.between((50, 70), (70, 100)))
    right = draw.cause(["sysctl -qw net.ipv4.tcp_sack=0"], [])
    # The repair has to take most of the time.
    return Setup(transfer(draw, draw.pick([6], [3]), download=True), relay=words, right=right, congestion="reno")


@case("mtu-black-hole", "mtu-black-hole", "Packets above a size vanish without a message; small ones pass.",
      kinds=("sender", "snapped-sender", "receiver", "snapped-receiver"))
def mtu_black_hole(draw: Draw) -> Setup:
    most = int(draw.between((1300, 1450), (1200, 1400)))
    words = path(draw, 20e6, 100, draw.between((10, 20), (20, 40)), forward={"max_frame": most})
    programs = [Program("left", "answer reply=11900 seconds=8"),
                Program("right", "ask to=10.9.0.1 reply=11900 count=2", awaited=True)]
    return Setup(programs, relay=words, timestamps=not draw.frozen, seconds=draw.pick([7], [9]))


@case("ack-path-full", "ack-path-full", "The way back is too slow for the acknowledgments of a fast download.",
      removable=True)
def ack_path_full(draw: Draw) -> Setup:
    back = draw.cause(draw.between((70e3, 110e3), (50e3, 80e3)), 5e6)
    # A queue of few packets thins the acknowledgments out, which costs a good sender nothing.
    queue = draw.pick([100, 80], [60, 50])
    words = path(draw, draw.pick([24e6], [18e6]), draw.pick([150], [400]), draw.between((12, 20), (20, 30)),
                 backward={"legs": [{"rate_bps": back, "queue": queue}]})
    return Setup(bulk("", download=True, seconds=4), relay=words, timestamps=not draw.frozen)


@case("udp-above-path-rate", "above-path-rate", "More datagrams are sent than the path carries.", kinds=RECEIVER)
def udp_above_path_rate(draw: Draw) -> Setup:
    offered = draw.between((12, 20), (9, 14))
    if draw.frozen:
        programs = [Program("right", "!iperf3 -s -1"),
                    Program("left", f"!iperf3 -u -c {RIGHT} -b {offered:.1f}M -t 4 -l 1400", awaited=True)]
        return Setup(programs, middle=[shaped(6e6, 60_000)])
    programs = [Program("right", "!iperf -s -u"),
                Program("left", f"!iperf -u -c {RIGHT} -b {offered:.1f}M -t 4", awaited=True)]
    return Setup(programs, relay=path(draw, 8.5e6, 60, 6))
