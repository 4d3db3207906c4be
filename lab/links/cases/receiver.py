"""The receiving end is the limit: its window, its application, its acknowledgments, its buffers."""

from typing import Any

from model import LEFT, RIGHT, SENDER, Case, Draw, Program, Setup, bulk, into, iperf3, path

CASES: list[Case] = []
case = into(CASES)


def device(words: str, seconds: float = 4.0) -> list[Program]:
    """A small device receives from a common sender."""
    return [Program("right", f"device address={RIGHT} to={LEFT} seconds=12 {words}"),
            Program("left", f"source to={RIGHT} seconds={seconds}", awaited=True)]


@case("receive-window", "receive-window", "The window that the receiver announces is always in flight.",
      removable=True)
def receive_window(draw: Draw) -> Setup:
    delay = draw.between((15, 40), (40, 90))
    buffer = int(draw.between((8e3, 24e3), (12e3, 40e3)))
    sink = draw.cause(f"clamp={buffer}" if draw.frozen else f"rcvbuf={buffer}", "")
    return Setup(bulk("", sink), relay=path(draw, 30e6, 300, delay),
                 congestion=draw.pick(["cubic"], ["reno", "cubic"]))


@case("receive-window-download", "receive-window",
      "A small window at the client, captured beside the control connection of iperf3; trial findings 4 and 10.",
      removable=True)
def receive_window_download(draw: Draw) -> Setup:
    window = draw.cause(draw.pick(["-w 8K", "-w 12K"], ["-w 16K", "-w 32K"]), "")
    words = path(draw, 40e6, 300, delay_ms=draw.between((8, 20), (25, 50)))
    return Setup(iperf3(4, window, reverse=True), relay=words)


@case("device-window", "receive-window", "A device with room for a few segments and no window scaling.",
      by_kind={"sender": "receive-window no-window-scaling", "receiver": "receive-window no-window-scaling"},
      removable=True)
def device_window(draw: Draw) -> Setup:
    buffer = draw.cause(1460 * draw.pick([4, 6], [3, 8]), 64240)
    return Setup(device(f"buffer={buffer} ack_every={draw.pick([1], [2])} ack_ms=20"),
                 relay=path(draw, 12e6, 100, draw.between((8, 20), (20, 45))), right_address=False,
                 congestion=draw.pick(["cubic"], ["reno"]))


@case("no-window-scaling", "no-window-scaling receive-window",
      "Without window scaling at most 65,535 bytes are in flight, which a long path exceeds.", removable=True,
      by_kind={"late-sender": "receive-window no-window-scaling"})
def no_window_scaling(draw: Draw) -> Setup:
    delay = draw.between((80, 130), (120, 200))
    off = draw.cause(["sysctl -qw net.ipv4.tcp_window_scaling=0"], [])
    return Setup(bulk("", download=draw.frozen, seconds=6), relay=path(draw, 30e6, 400, delay), right=off)


@case("receiver-reads-slowly", "receiver-reads-slowly", "The application reads more slowly than the path delivers.",
      removable=True)
def receiver_reads_slowly(draw: Draw) -> Setup:
    rate = draw.between((3e5, 8e5), (1e5, 3e5))
    sink = draw.cause(f"rate={rate:.0f} read=4096", "read=4096") + f" rcvbuf={draw.pick([65536], [40000, 131072])}"
    return Setup(bulk("", sink, download=draw.frozen, seconds=5),
                 relay=path(draw, 25e6, 150, draw.between((4, 10), (10, 25))))


@case("receiver-closes-window", "receiver-reads-slowly",
      "The application reads every 10 ms, and the window is closed most of that time; trial finding 6.")
def receiver_closes_window(draw: Draw) -> Setup:
    sink = f"read=4096 rcvbuf=8192 pause_ms={draw.pick([10], [14, 22])}"
    return Setup(bulk("", sink), relay=path(draw, 50e6, 150, draw.pick([1], [2])))


@case("receiver-stalls", "receiver-stalls", "At intervals the application does not read for some time.",
      removable=True, by_kind={"sender": "receiver-stalls", "receiver": "receiver-stalls"})
def receiver_stalls(draw: Draw) -> Setup:
    every, stall = draw.between((350, 450), (550, 700)), draw.between((350, 450), (500, 650))
    sink = draw.cause(f"stall_every_ms={every:.0f} stall_ms={stall:.0f}", "") + " rcvbuf=60000"
    return Setup(bulk("", sink, download=draw.frozen, seconds=7),
                 relay=path(draw, 20e6, 120, draw.between((4, 8), (8, 16))))


@case("device-stands-still", "receiver-stalls", "At intervals the device handles no frame (as during a flash erase).",
      by_kind={"sender": "receiver-stalls retransmission-stalls link-interrupted"}, kinds=SENDER, removable=True)
def device_stands_still(draw: Draw) -> Setup:
    stall = {"start_s": 1, "period_s": draw.between((0.45, 0.55), (0.6, 0.8)),
             "length_s": draw.between((0.17, 0.19), (0.25, 0.35)), "hold": "frames"}
    words: dict[str, Any] = draw.cause({"outage": stall}, {})
    return Setup(bulk("", "rcvbuf=60000", seconds=7), relay=path(draw, 25e6, 200, 4, forward=words))


@case("silly-window", "silly-window", "The device announces every small piece of room at once.",
      by_kind={"sender": "silly-window receiver-reads-slowly", "receiver": "silly-window receiver-reads-slowly"})
def silly_window(draw: Draw) -> Setup:
    drain, step = draw.between((60e3, 120e3), (30e3, 60e3)), draw.pick([120, 200], [80, 300])
    words = f"buffer={draw.pick([1460, 2920], [2048, 4096])} silly=1 silly_step={step} drain={drain:.0f}"
    return Setup(device(words, 5), relay=path(draw, 10e6, 100, draw.between((2, 6), (6, 12))), right_address=False)


@case("window-below-segment", "silly-window receive-window", "The window is always less than one segment.")
def window_below_segment(draw: Draw) -> Setup:
    words = f"buffer={draw.pick([900, 1100], [700, 1300])} silly=1"
    return Setup(device(words), relay=path(draw, 10e6, 100, draw.between((4, 8), (8, 20))), right_address=False)


@case("stretch-acks", "stretch-acks receive-window",
      "The receiver acknowledges when its window is used up, not before: the sender stops and goes. Either more "
      "acknowledgments or a larger window would help.", removable=True)
def stretch_acks(draw: Draw) -> Setup:
    segments = draw.pick([6, 8], [5, 10])
    every = draw.cause(segments + draw.pick([2], [4]), 1)
    words = f"buffer={1460 * segments} ack_every={every} ack_ms={draw.between((25, 45), (45, 90)):.0f}"
    return Setup(device(words), relay=path(draw, 20e6, 100, draw.between((2, 4), (4, 8))), right_address=False)


@case("late-acks", "late-acks", "Every acknowledgment leaves the receiver some 10 ms later than it could.",
      by_kind={"late-sender": "late-acks receive-window"}, removable=True)
def late_acks(draw: Draw) -> Setup:
    late = draw.cause(draw.between((20, 40), (45, 80)), 0)
    words = f"buffer={1460 * draw.pick([6], [5, 8])} late_ms={late:.1f}"
    return Setup(device(words), relay=path(draw, 20e6, 100, draw.between((2, 4), (4, 8))), right_address=False)


@case("polling-receiver", "receive-window receiver-stalls late-acks",
      "The driver looks for frames at ticks of 10 ms and more: a window passes per tick.", kinds=SENDER)
def polling_receiver(draw: Draw) -> Setup:
    tick = draw.between((10, 20), (32, 64))
    sink = f"rcvbuf={draw.pick([11000], [16000])}"
    return Setup(bulk("", sink), relay=path(draw, 50e6, 200, 0.4, forward={"poll_ms": tick}))


@case("loss-in-bursts", "loss-in-bursts", "The receiver has one buffer: what follows closely is lost.",
      removable=True, by_kind={"sender": "loss-in-bursts queue-overflow", "receiver": "loss-in-bursts queue-overflow"})
def loss_in_bursts(draw: Draw) -> Setup:
    ring = {"buffers": draw.cause(1, 100), "service_us": draw.between((400, 550), (550, 750))}
    words = path(draw, draw.pick([100e6], [80e6]), 200, draw.between((2, 4), (4, 9)), forward={"ring": ring})
    return Setup(bulk("", seconds=5, download=draw.frozen), relay=words, congestion=draw.pick(["reno"], ["cubic"]))


@case("queue-overflow", "queue-overflow shallow-queue",
      "A burst is longer than the receiver's ring of a few buffers; a short queue on the path looks the same.",
      removable=True)
def queue_overflow(draw: Draw) -> Setup:
    service = draw.between((900, 1400), (1400, 2000))
    ring = {"buffers": draw.cause(draw.pick([4, 6], [5, 8]), 200), "service_us": service}
    words = path(draw, 50e6, 300, draw.between((10, 20), (20, 40)), forward={"ring": ring})
    return Setup(bulk("", seconds=6, download=draw.frozen), relay=words, congestion=draw.pick(["cubic"], ["reno"]))


@case("small-mss", "small-mss", "Segments are small, and the receiver needs the same time for each frame.",
      by_kind={"late-sender": "small-mss path-rate", "late-receiver": "small-mss path-rate",
               "sender": "small-mss path-rate", "receiver": "small-mss path-rate"},
      removable=True)
def small_mss(draw: Draw) -> Setup:
    mss = draw.cause(int(draw.between((216, 536), (160, 400))), 1460)
    legs = [{"rate_bps": 100e6, "frame_us": draw.between((700, 1000), (1000, 1500)), "queue": 60}]
    right = [f"ip route change 10.9.0.0/24 dev eth0 src {RIGHT} advmss {mss}"]
    left = ["sysctl -qw net.ipv4.tcp_min_snd_mss=100"]
    words = path(draw, delay_ms=draw.between((4, 10), (10, 20)), forward={"legs": legs})
    return Setup(bulk("", download=draw.frozen), relay=words, left=left, right=right)


@case("small-mss-window", "small-mss receive-window",
      "The window holds few segments; they are small, because the device announces a small maximum.", removable=True)
def small_mss_window(draw: Draw) -> Setup:
    mss = draw.cause(draw.pick([536], [256, 400]), 1460)
    words = f"mss={mss} buffer={mss * 4}"
    return Setup(device(words), relay=path(draw, 20e6, 100, draw.between((4, 8), (8, 16))), right_address=False)
