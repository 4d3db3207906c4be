"""Programs that wait, write little, or ask one thing at a time."""

from programs import bulk, fetch_each, send, sink, values
from trial import Trial, both, case, counted, frames_of, path, slower


def good_path(draw, low=1.0, high=30.0):
    rate, rtt = draw.log("rate", 1.5e7, 9e7), draw.log("rtt_ms", low, high)
    return rate, rtt, path(rate, rtt, frames_of(rate, rtt, 1.2, 100))


def short_frames(truth):
    """The rule that writes did not grow together while they waited."""
    return truth["path"]["ab"]["octets"] < 330 * truth["path"]["ab"]["passed"]


def ask(**settings):
    return ("A", ["app", "ask", "host=@B", *values(settings)])


def serve(**settings):
    return ("B", ["app", "serve", *values(settings)])


@case("server-think-time", ["server-think-time"], "The server takes a while before each answer.", count=4)
def server_think_time(draw):
    _, rtt, way = good_path(draw)
    think = draw.log("think_us", max(6e4, 4e3 * rtt), 7e5)
    sizes = {"request": draw.whole("request", 60, 700), "answer": draw.whole("answer", 300, 60000)}
    count = max(5, int(4.5e6 / think))
    return Trial(way, ask(count=count, nodelay=1, **sizes), [serve(think=think, nodelay=1, spread=0.3, **sizes)],
                 sender="B", without={"servers": [serve(think=0, nodelay=1, **sizes)]}, check=slower(1.5))


@case("server-think-time-http", ["server-think-time"], "A web server takes a while before the first octet of a file.",
      count=3, steady=False, kinds=("sender", "receiver", "middle", "snapped"))
def server_think_time_http(draw):
    rate, rtt, way = good_path(draw)
    think, octets = draw.log("think_us", 4e5, 2.5e6), draw.whole("octets", 50_000, 800_000)
    web = lambda think: ("B", ["app", "web", "port=8000", f"file={octets}", f"think={think}"])
    return Trial(way, fetch_each("http://@B:8000/report", draw.whole("times", 1, 3)), [web(think)], sender="B",
                 without={"servers": [web(0)]}, check=slower(1.5))


@case("client-think-time", ["client-think-time"], "The client takes a while between an answer and its next request.",
      count=4)
def client_think_time(draw):
    _, rtt, way = good_path(draw)
    think = draw.log("think_us", max(6e4, 4e3 * rtt), 8e5)
    sizes = {"request": draw.whole("request", 60, 700), "answer": draw.whole("answer", 300, 60000)}
    count = max(5, int(4.5e6 / think))
    return Trial(way, ask(count=count, nodelay=1, think=think, spread=0.3, **sizes), [serve(nodelay=1, **sizes)],
                 sender="B", without={"client": ask(count=count, nodelay=1, **sizes)}, check=slower(1.5))


@case("sender-idle", ["sender-idle", "sender-stalls"],
      "The sender's program prepares the next block after the previous one is sent; whether the station stands still "
      "as a whole, its packets alone do not show.", count=4)
def sender_idle(draw):
    rate, rtt, way = good_path(draw)
    block, gap = draw.whole("block", 30_000, 260_000), draw.log("gap_us", max(4e4, 3e3 * rtt), 3.5e5)
    octets = min(bulk(rate, 3), block * max(6, 4e6 / gap))
    cc = draw.turn("cc", ["reno", "bbr", "cubic"])
    return Trial(way, send(octets, gap=gap, gap_after=block, cc=cc), [sink()],
                 without={"client": send(octets, cc=cc)}, check=slower(1.4))


@case("small-writes", ["small-writes", "sender-idle"],
      "Each small write becomes a packet (TCP_NODELAY); the program, not the path, sets the pace.", count=3)
def small_writes(draw):
    rate, rtt, way = good_path(draw, 4, 40)
    write, every = draw.whole("write", 12, 200), draw.log("every_us", 250, 1200)
    octets = write * 4e6 / every
    return Trial(way, send(octets, write=write, every=every, nodelay=1), [sink()],
                 without={"client": send(octets, nodelay=1)}, check=slower(2))


@case("small-writes-full", ["small-writes", "path-rate"],
      "Each small write becomes a packet, and the packets' headers fill the path.", count=3)
def small_writes_full(draw):
    rate, rtt = draw.log("rate", 8e5, 3e6), draw.log("rtt_ms", 3, 25)
    write = draw.whole("write", 20, 160)
    octets = rate * 3.5 / 8 * write / (write + 90)
    return Trial(path(rate, rtt, 400), send(octets, write=write, nodelay=1, cc="reno", sndbuf=40000, for_=7), [sink()],
                 without={"client": send(octets, nodelay=1)}, check=both(slower(1.4), short_frames))


@case("delayed-ack-with-nagle", ["delayed-ack-with-nagle"],
      "A request is written in two pieces: Nagle's algorithm holds the second until the delayed acknowledgment of the "
      "first.", count=4)
def delayed_ack_with_nagle(draw):
    _, rtt, way = good_path(draw, 0.5, 12)
    sizes = {"request": draw.whole("request", 40, 1100), "answer": draw.whole("answer", 60, 1100)}
    count = draw.whole("count", 35, 80)
    return Trial(way, ask(count=count, pieces=2, **sizes), [serve(nodelay=1, **sizes)],
                 without={"client": ask(count=count, pieces=2, nodelay=1, **sizes)}, check=slower(1.5))


@case("tftp", ["one-in-flight"],
      "TFTP: each block waits for the acknowledgment of the one before.", count=4,
      kinds=("sender", "receiver", "middle", "snapped"))
def tftp(draw):
    rate, rtt = draw.log("rate", 1e7, 9e7), draw.log("rtt_ms", 1, 30)
    block = draw.turn("block", [512, 1428, 1024])
    octets = int(4 / (rtt / 1e3 + 3e-4) * block)
    return Trial(path(rate, rtt, 60), ("A", ["app", "tftp-get", "host=@B", f"block={block}", "for=8"]),
                 [("B", ["app", "tftp-serve", f"file={octets}"])], sender="B")


@case("wake-up-latency", ["wake-up-latency", "client-think-time"],
      "The station's radio sleeps when idle: the first request after a silence, its acknowledgment and its answer come "
      "at the next beacon, those that follow at once. At the station itself nothing shows. The client "
      "pauses between series of requests, which takes longer still.", count=5,
      kinds=("receiver", "late-receiver", "snapped-receiver", "middle"))
def wake_up_latency(draw):
    rtt = draw.log("rtt_ms", 1, 10)
    sizes = {"request": draw.whole("request", 30, 300), "answer": draw.whole("answer", 100, 1200)}
    radio = {"ab_idle": draw.log("awake_us", 15e3, 8e4), "ab_beacon": 102400 * draw.turn("beacons", [1, 2, 3])}
    think, series, count = draw.log("pause_us", 2.5e5, 5e5), draw.whole("series", 3, 5), 30
    client = ask(count=count, nodelay=1, think=think, spread=0.5, last=series, **sizes)
    return Trial(path(4e7, rtt, 100, **radio), client, [serve(nodelay=1, **sizes)], sender="B",
                 check=counted("ab", "beaconed", 5))
