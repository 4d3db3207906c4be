"""The sending end is the limit: its application, its buffer, its window, its pacing."""

from model import LEFT, RIGHT, Case, Draw, Program, Setup, bulk, into, iperf3, path

CASES: list[Case] = []
case = into(CASES)


@case("host-pacing", "host-pacing", "The sender's kernel spaces the segments at a set rate below the path's.",
      removable=True, by_kind={"receiver": "host-pacing path-rate sender-idle"})
def host_pacing(draw: Draw) -> Setup:
    rate = draw.between((3e5, 8e5), (8e5, 1.5e6))
    words = path(draw, 30e6, 200, draw.between((6, 15), (15, 30)))
    if draw.frozen:
        limit = draw.cause(f"--fq-rate {rate * 8:.0f}", "")
        return Setup(iperf3(4, limit), relay=words)
    return Setup(bulk(draw.cause(f"pacing={rate:.0f}", "")), relay=words)


@case("host-pacing-lan", "host-pacing", "Paced at a fixed rate on a short path.",
      by_kind={"receiver": "host-pacing path-rate sender-idle"})
def host_pacing_lan(draw: Draw) -> Setup:
    return Setup(bulk(f"pacing={draw.between((1e6, 2e6), (4e5, 9e5)):.0f}", download=True), middle=[],
                 timestamps=not draw.frozen)


@case("sender-idle", "sender-idle", "The sending application computes or waits before each block.", removable=True,
      by_kind={"sender": "sender-idle sender-stalls", "receiver": "sender-idle sender-stalls"})
def sender_idle(draw: Draw) -> Setup:
    block, wait = int(draw.between((8e3, 24e3), (24e3, 50e3))), draw.between((20, 40), (40, 70))
    kind = draw.pick(["pause_ms", "think_ms"], ["think_ms", "pause_ms"])
    source = f"write={block} " + draw.cause(f"{kind}={wait:.1f} vary=0.3 seed={draw.tag}", "")
    return Setup(bulk(source, download=draw.frozen), relay=path(draw, 25e6, 150, draw.between((2, 6), (6, 10))))


@case("sender-stalls", "sender-stalls", "The sender is fast, but at intervals it has nothing for a while.",
      removable=True, by_kind={"sender": "sender-stalls sender-idle", "receiver": "sender-stalls sender-idle"})
def sender_stalls(draw: Draw) -> Setup:
    every, stall = draw.between((350, 450), (550, 700)), draw.between((350, 450), (500, 650))
    source = "write=16384 " + draw.cause(f"stall_every_ms={every:.0f} stall_ms={stall:.0f}", "")
    return Setup(bulk(source + " sndbuf=60000", download=draw.frozen, seconds=7),
                 relay=path(draw, 12e6, 100, draw.between((4, 8), (8, 20))))


@case("small-writes", "small-writes", "Each small write becomes a segment of its own (TCP_NODELAY).",
      by_kind={"sender": "small-writes sender-idle", "receiver": "small-writes sender-idle"}, removable=True)
def small_writes(draw: Draw) -> Setup:
    size = draw.cause(int(draw.between((40, 120), (120, 300))), 1448)
    wait = draw.between((0.3, 0.8), (0.5, 1.2))
    return Setup(bulk(f"write={size} nodelay=1 pause_ms={wait:.2f}", download=draw.frozen),
                 relay=path(draw, 25e6, 150, draw.between((2, 6), (6, 10))))


@case("small-writes-full", "small-writes path-rate",
      "Small segments fill the path with headers: most of what it carries is overhead.", removable=True)
def small_writes_full(draw: Draw) -> Setup:
    size = draw.cause(draw.pick([100, 64], [150, 48]), 1448)
    legs = [{"rate_bps": draw.pick([4e6], [3e6]), "queue": 1000, "overhead": 24}]
    source = f"write={size} nodelay=1 pause_ms=0.05 sndbuf=30000"
    return Setup(bulk(source, download=draw.frozen), relay=path(draw, delay_ms=4, forward={"legs": legs}))


@case("delayed-ack-with-nagle", "delayed-ack-with-nagle",
      "A request is written in two pieces: Nagle's algorithm holds the second back for an acknowledgment that the "
      "server delays.", removable=True)
def delayed_ack_with_nagle(draw: Draw) -> Setup:
    pieces, request = draw.cause(draw.pick([2], [3]), 1), int(draw.between((300, 900), (900, 1800)))
    programs = [Program("right", f"answer request={request} reply=40 nodelay=1"),
                Program("left", f"ask to={RIGHT} request={request} reply=40 pieces={pieces} seconds=4", awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((1, 4), (4, 10))))


@case("nagle-in-answers", "delayed-ack-with-nagle",
      "The server writes header and body separately; the client delays its acknowledgment of the header.",
      removable=True)
def nagle_in_answers(draw: Draw) -> Setup:
    reply = int(draw.between((400, 1200), (800, 2000)))
    programs = [Program("left", f"answer reply={reply} pieces={draw.cause(draw.pick([2], [3]), 1)}"),
                Program("right", f"ask to={LEFT} reply={reply} seconds=4", awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((1, 4), (4, 10))), timestamps=not draw.frozen)


@case("one-in-flight", "one-in-flight", "The sender waits for the acknowledgment of each segment.", removable=True)
def one_in_flight(draw: Draw) -> Setup:
    flight = draw.cause(1, 16)
    device = f"device address={LEFT} to={RIGHT} active=1 flight={flight} bytes=100000000 seconds=4"
    programs = [Program("right", "sink quickack=1"), Program("left", device, awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((4, 12), (12, 30))), left_address=False,
                 right=[f"ip route change 10.9.0.0/24 dev eth0 src {RIGHT} quickack 1"])


@case("one-in-flight-delayed-acks", "one-in-flight late-acks",
      "One segment in flight, and the receiver delays the acknowledgment of a single segment: both cost.",
      removable=True)
def one_in_flight_delayed(draw: Draw) -> Setup:
    wait = draw.between((35, 50), (80, 200))
    device = f"device address={RIGHT} to={LEFT} buffer=17520 ack_every=2 ack_ms={wait:.0f} seconds=12"
    programs = [Program("right", device),
                Program("left", f"source to={RIGHT} seconds=4 write=1460 nodelay=1 {draw.cause('lockstep=1', '')}",
                        awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((1, 4), (4, 10))), right_address=False)


@case("tftp", "one-in-flight", "TFTP: each block waits for the acknowledgment of the one before.")
def tftp(draw: Draw) -> Setup:
    block = draw.pick([512], [1428, 1024])
    programs = [Program("left", f"tftp-serve bytes={block * 300}"),
                Program("right", f"tftp-get to={LEFT} block={block} seconds=5", awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((3, 10), (10, 18))))


@case("congestion-window-start", "congestion-window",
      "Short transfers over a long path end before the congestion window has opened.",
      kinds=("sender", "receiver", "snapped-sender", "snapped-receiver"))
def congestion_window_start(draw: Draw) -> Setup:
    size = int(draw.between((150e3, 300e3), (300e3, 500e3)))
    words = path(draw, 50e6, 500, draw.between((150, 220), (220, 320)))
    return Setup(bulk(f"bytes={size} sndbuf=2000000", "rcvbuf=2000000", download=True, seconds=8), relay=words,
                 timestamps=not draw.frozen)


@case("congestion-window-fixed", "congestion-window send-buffer",
      "The sender keeps a fixed number of segments in flight, fewer than the receiver's window; a small send buffer "
      "looks the same.", removable=True)
def congestion_window_fixed(draw: Draw) -> Setup:
    flight = draw.cause(draw.pick([6, 9], [8, 12]), 44)
    device = f"device address={LEFT} to={RIGHT} active=1 flight={flight} bytes=100000000 seconds=5"
    programs = [Program("right", "sink"), Program("left", device, awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 200, draw.between((20, 40), (40, 60))), left_address=False)


@case("send-buffer", "send-buffer congestion-window",
      "The sender's buffer holds less than the path needs; a fixed congestion window looks the same.", removable=True)
def send_buffer(draw: Draw) -> Setup:
    size = draw.cause(f"sndbuf={draw.between((6e3, 14e3), (12e3, 30e3)):.0f}", "")
    write = draw.pick([4096], [8192])
    return Setup(bulk(f"{size} write={write}", download=draw.frozen),
                 relay=path(draw, 25e6, 200, draw.between((20, 40), (40, 60))))


@case("initial-window", "congestion-window", "Transfers begin with one or two segments, on a path that takes far more.",
      kinds=("sender", "receiver", "snapped-sender", "snapped-receiver"), removable=True)
def initial_window(draw: Draw) -> Setup:
    first = draw.cause(draw.pick([1], [2, 1]), 60)
    left = [f"ip route change 10.9.0.0/24 dev eth0 src {LEFT} congctl cubic initcwnd {first}"]
    size = int(draw.between((60e3, 80e3), (50e3, 70e3)))
    words = path(draw, 50e6, 500, draw.between((100, 150), (160, 220)))
    return Setup(bulk(f"bytes={size}", "rcvbuf=1000000", download=True, seconds=8), relay=words, left=left)
