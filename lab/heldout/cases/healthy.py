"""Healthy links and programs: nothing is to blame."""

from programs import (bulk, curl, fetch_each, file_of, http_server, iperf, iperf3, iperf3_server, iperf_server, send,
                      sink, values, wget)
from trial import Trial, control, frames_of, full, path


def switch_queue(rate, frames):
    """A queue of so many frames, but of 30 ms at most: more is bufferbloat on a path as short as this."""
    return min(frames, round(0.03 * rate / 8 / 1514))


def cc_of(draw):
    return draw.turn("cc", ["reno", "bbr", "cubic"])


@control("full-standard", "An Ethernet link of a standard rate is full; its queue is that of a switch.", count=4)
def full_standard(draw):
    rate, rtt = draw.turn("rate", [10e6, 100e6]), draw.log("rtt_ms", 0.3, 6)
    queue = switch_queue(rate, draw.whole("queue", 20, 110))
    return Trial(path(rate, rtt, queue), send(bulk(rate, 4 if rate > 5e7 else 6), cc=cc_of(draw)), [sink()],
                 check=full(0.85, rate))


@control("full-odd", "A path of an odd rate is full; its queue is about a bandwidth-delay product.", count=5)
def full_odd(draw):
    rate, rtt = draw.log("rate", 6e6, 75e6), draw.log("rtt_ms", 8, 80)
    queue = frames_of(rate, rtt, draw.between("queue_bdp", 0.9, 1.3))
    seconds = 7 if rate < 3e7 else 5
    return Trial(path(rate, rtt, queue), iperf3("-C", cc_of(draw), seconds=seconds), [iperf3_server()],
                 measure="iperf3", check=full(0.72, rate))


@control("full-iperf", "iperf 2 fills a link, client to server.", count=3)
def full_iperf(draw):
    rate, rtt = draw.turn("rate", [10e6, 33e6, 100e6]), draw.log("rtt_ms", 0.5, 12)
    queue = switch_queue(rate, frames_of(rate, rtt, 1.2, 60))
    return Trial(path(rate, rtt, queue), iperf("-Z", cc_of(draw), seconds=4), [iperf_server()],
                 measure="iperf", check=full(0.8, rate))


@control("download", "A file is fetched from a web server at the full rate of a good link.", count=4)
def download(draw):
    rate, rtt = draw.log("rate", 8e6, 60e6), draw.log("rtt_ms", 1, 30)
    octets = int(bulk(rate, 4.5))
    url = f"http://@B:8000/{file_of(octets)}"
    get = draw.turn("program", ["curl", "wget"])
    queue = frames_of(rate, rtt, 1.2, switch_queue(rate, 50))
    return Trial(path(rate, rtt, queue), curl(url) if get == "curl" else wget(url, octets), [http_server()],
                 sender="B", check=full(0.72, rate),
                 sysctl={"B": {"net.ipv4.tcp_congestion_control": draw.turn("cc", ["bbr", "reno"])}})


@control("parallel", "Parallel streams share a link that they fill.", count=3)
def parallel(draw):
    rate, rtt = draw.turn("rate", [10e6, 27e6, 100e6]), draw.log("rtt_ms", 1, 20)
    streams = draw.whole("streams", 2, 5)
    return Trial(path(rate, rtt, frames_of(rate, rtt, 1.2, switch_queue(rate, 80))),
                 iperf3("-P", streams, "-C", cc_of(draw), seconds=4), [iperf3_server()], measure="iperf3",
                 check=full(0.7, rate))


@control("both-ways", "Full duplex: transfers in both directions, each at the rate of the link.", count=2)
def both_ways(draw):
    rate, rtt = draw.turn("rate", [100e6, 10e6]), draw.log("rtt_ms", 0.5, 4)
    return Trial(path(rate, rtt, switch_queue(rate, 60) // 2), iperf3("--bidir", "-C", "reno", seconds=3.5),
                 [iperf3_server()], measure="iperf3", check=full(0.6, rate))


@control("offload", "A LAN is full; the interfaces segment and join, so the captures show segments beyond the MSS.",
         count=4)
def offload(draw):
    rate, rtt = draw.turn("rate", [100e6, 10e6]), draw.log("rtt_ms", 0.4, 3)
    return Trial(path(rate, rtt, switch_queue(rate, 90)), send(bulk(rate, 4), cc=cc_of(draw)), [sink()],
                 offload=draw.turn("ends", ["AB", "A", "B"]), check=full(0.8, rate))


@control("exchanges", "Requests and answers over a LAN, one after another: each takes its round trip.", count=3)
def exchanges(draw):
    rtt = draw.log("rtt_ms", 0.4, 3)
    sizes = {"request": draw.whole("request", 60, 400), "answer": draw.whole("answer", 200, 1300)}
    return Trial(path(100e6, rtt), ("A", ["app", "ask", "host=@B", "nodelay=1", "for=3",
                 f"count={draw.whole('count', 200, 700)}", *values(sizes)]),
                 [("B", ["app", "serve", "nodelay=1", *values(sizes)])], sender="B")


@control("short-fetches", "Small files over a LAN, a connection each: a few round trips, nothing to gain.", count=3,
         kinds=("sender", "receiver", "middle", "snapped"))
def short_fetches(draw):
    rtt, octets = draw.log("rtt_ms", 0.4, 4), draw.whole("octets", 2000, 60000)
    return Trial(path(100e6, rtt, 120), fetch_each(f"http://@B:8000/{file_of(octets)}", draw.whole("times", 3, 9)),
                 [http_server()], sender="B")


@control("names-and-fetch", "Names are resolved at once, and small files fetched.", count=3,
         kinds=("sender", "receiver", "middle", "snapped"))
def names_and_fetch(draw):
    rtt, octets = draw.log("rtt_ms", 0.5, 6), draw.whole("octets", 1000, 30000)
    port, times = 8000, draw.whole("times", 3, 7)
    loop = f"for i in $(seq {times}); do curl -s -o /dev/null http://host$i.example.org:{port}/{file_of(octets)}; done"
    return Trial(path(100e6, rtt, 120), ("A", ["sh", "-c", loop]),
                 [http_server(), ("B", ["app", "names", "host=@B", f"late={draw.log('late_us', 300, 6000):g}"])],
                 sender="B", measure="none", resolver=True)


@control("keep-alive", "A connection that carries a few octets now and then, as of MQTT.", count=2)
def keep_alive(draw):
    sizes = {"request": draw.whole("request", 2, 30), "answer": draw.whole("answer", 2, 30)}
    return Trial(path(20e6, draw.log("rtt_ms", 2, 50)), ("A", ["app", "ask", "host=@B", "count=6", "spread=0.02",
                 f"think={draw.log('every_us', 1e6, 1.6e6):g}", *values(sizes)]),
                 [("B", ["app", "serve", *values(sizes)])], measure="none")


@control("pings", "Pings over some seconds, nothing else.", count=3)
def pings(draw):
    return Trial(path(draw.log("rate", 5e6, 1e8), draw.log("rtt_ms", 0.5, 180)),
                 ("A", ["ping", "-n", "-c", "12", "-i", draw.turn("interval_s", [0.3, 0.5]), "-s",
                        draw.whole("size", 24, 1400), "@B"]), measure="none")


@control("video-datagrams", "Pictures as bursts of datagrams, well within the path's rate.", count=3)
def video_datagrams(draw):
    size, burst = draw.whole("size", 700, 1400), draw.whole("burst", 4, 14)
    return Trial(path(draw.log("rate", 2.5e7, 9e7), draw.log("rtt_ms", 2, 40), 100),
                 ("A", ["app", "telemetry", "host=@B", f"size={size}", f"burst={burst}",
                        f"every={draw.turn('every_us', [33333, 40000, 66667])}", "for=4.5", "from=9001", "port=9000"]),
                 [("B", ["app", "telemetry", "host=@A", "from=9000", "port=9001", "size=40", "every=1000000", "for=3.5",
                         "reply=1"])],
                 measure="none")


@control("datagrams-within-rate", "iperf sends datagrams at less than the path's rate; all arrive.", count=3)
def datagrams_within_rate(draw):
    rate = draw.log("rate", 8e6, 5e7)
    sent = rate * draw.between("share", 0.3, 0.75)
    program = draw.turn("program", ["iperf3", "iperf"])
    if program == "iperf":
        return Trial(path(rate, draw.log("rtt_ms", 2, 60), 100), iperf("-u", "-b", f"{sent:.0f}", seconds=4),
                     [iperf_server("-u")], measure="none")
    return Trial(path(rate, draw.log("rtt_ms", 2, 60), 100), iperf3("-u", "-b", f"{sent:.0f}", seconds=4),
                 [iperf3_server()], measure="none")


@control("call", "A call: a datagram every 20 ms in each direction.", count=2)
def call(draw):
    size = draw.whole("size", 60, 330)
    one = ["app", "telemetry", f"size={size}", "every=20000"]
    return Trial(path(2e7, draw.log("rtt_ms", 5, 90)), ("A", [*one, "host=@B", "from=4000", "port=4000", "for=5"]),
                 [("B", [*one, "host=@A", "from=4000", "port=4000", "for=4.5", "reply=1"])], measure="none")


@control("camera-stream", "A camera sends pictures over TCP at its own rate, well within the path's.", count=2)
def camera_stream(draw):
    picture, rate = draw.whole("picture", 12000, 40000), draw.log("rate", 3e7, 9e7)
    return Trial(path(rate, draw.log("rtt_ms", 1, 15), 120),
                 send(picture * 100, write=picture, every=draw.turn("every_us", [40000, 33333]), cc="cubic"), [sink()],
                 measure="none")
