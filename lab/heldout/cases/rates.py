"""The rate of the path, its queue, and what polices it."""

from programs import bulk, curl, file_of, http_server, iperf, iperf3, iperf3_server, iperf_server, send, sink, wget
from trial import Trial, both, case, counted, frames_of, full, path, slower


@case("odd-rate-upload", ["path-rate"], "An upload fills a slow path of an odd rate, with a queue of some size.",
      count=4, bloat=True)
def odd_rate_upload(draw):
    rate, rtt = draw.log("rate", 1.2e6, 22e6), draw.log("rtt_ms", 4, 60)
    queue = frames_of(rate, rtt, 1.2, draw.whole("queue", 12, 30))
    cc = draw.turn("cc", ["reno", "bbr", "cubic"])
    if draw.turn("program", ["iperf3", "iperf"]) == "iperf3":
        return Trial(path(rate, rtt, queue), iperf3("-C", cc, seconds=6), [iperf3_server()], measure="iperf3",
                     check=full(0.78, rate))
    return Trial(path(rate, rtt, queue), iperf("-Z", cc, seconds=6), [iperf_server()], measure="iperf",
                 check=full(0.78, rate))


@case("odd-rate-download", ["path-rate"], "A download fills a slow path of an odd rate.", count=4, bloat=True)
def odd_rate_download(draw):
    rate, rtt = draw.log("rate", 1.5e6, 30e6), draw.log("rtt_ms", 3, 60)
    octets = int(bulk(rate, 5))
    url = f"http://@B:8000/{file_of(octets)}"
    get = curl(url) if draw.turn("program", ["wget", "curl"]) == "curl" else wget(url, octets)
    return Trial(path(rate, rtt, frames_of(rate, rtt, 1.2, 20), ba_rate=rate, ab_rate=rate / 4), get, [http_server()],
                 sender="B", check=full(0.75, rate),
                 sysctl={"B": {"net.ipv4.tcp_congestion_control": draw.turn("cc", ["reno", "reno", "bbr"])}})


@case("half-duplex", ["path-rate", "at-line-rate", "transmit-holds-receiver", "collisions"],
      "Both directions share one medium, which is always busy.", bloat=True)
def half_duplex(draw):
    rate, rtt = draw.turn("rate", [10e6, 5.5e6, 24e6]), draw.log("rtt_ms", 1, 8)
    cc = draw.turn("cc", ["cubic", "reno", "bbr"])
    return Trial(path(rate, rtt, 50, shared=1), send(bulk(rate, 5), cc=cc), [sink()], check=full(0.7, rate))


@case("bufferbloat", ["bufferbloat", "path-rate"],
      "A slow path is full, which is its rate; its queue adds half a second and more.", count=3)
def bufferbloat(draw):
    rate, rtt = draw.log("rate", 1.5e6, 8e6), draw.log("rtt_ms", 10, 45)
    queue = int(rate * draw.between("queue_s", 0.6, 1.6) / 8 / 1514)
    return Trial(path(rate, rtt, queue), send(bulk(rate, 8), cc=draw.turn("cc", ["cubic", "reno"])), [sink()],
                 beside=[("A", ["ping", "-n", "-i", "0.5", "@B"])], check=full(0.75, rate), longest=30)


@case("shallow-queue", ["shallow-queue", "queue-overflow"],
      "The queue before the slowest link holds a few frames, so each burst overflows it; a receiver with a short queue "
      "looks the same.", count=4)
def shallow_queue(draw):
    rate, rtt = draw.log("rate", 9e6, 45e6), draw.log("rtt_ms", 14, 70)
    queue, cc = draw.whole("queue", 3, 9), draw.turn("cc", ["reno", "cubic"])
    return Trial(path(rate, rtt, queue), iperf3("-C", cc, seconds=8), [iperf3_server()], measure="iperf3",
                 without={"path": {"queue": frames_of(rate, rtt, 1.3)}},
                 check=both(slower(1.25), counted("ab", "overflowed", 12)))


def policer(draw, cc):
    line, rtt = draw.log("line", 3e7, 9e7), draw.log("rtt_ms", 8, 60)
    rate, bucket = draw.log("rate", 1.5e6, 12e6), draw.log("bucket", 9e3, 9e4)
    return line, rtt, rate, bucket, path(line, rtt, frames_of(line, rtt, 1.2, 100), ab_police=rate, ab_bucket=bucket)


@case("policed", ["policed"], "A token bucket drops what exceeds its rate; nothing is queued.", count=4)
def policed(draw):
    cc = draw.turn("cc", ["reno", "cubic"])
    *_, rate, _, way = policer(draw, cc)
    return Trial(way, send(bulk(rate, 5), cc=cc, for_=8), [sink()],
                 without={"path": {"ab.police": 0}}, check=both(slower(1.5), counted("ab", "policed", 10)))


@case("policed-bbr", ["policed"], "A token bucket before a sender with BBR, which keeps sending at its rate and more.",
      count=3)
def policed_bbr(draw):
    *_, rate, _, way = policer(draw, "bbr")
    return Trial(way, iperf3("-C", "bbr", seconds=6), [iperf3_server()], measure="iperf3",
                 without={"path": {"ab.police": 0}}, check=both(slower(1.5), counted("ab", "policed", 10)))


@case("above-path-rate", ["above-path-rate"], "More datagrams are sent than the path carries.", count=4,
      kinds=("receiver", "late-receiver", "snapped-receiver"))
def above_path_rate(draw):
    rate = draw.log("rate", 2e6, 18e6)
    sent = f"{rate * draw.between('times', 1.3, 3):.0f}"
    way = path(rate, draw.log("rtt_ms", 4, 60), draw.whole("queue", 20, 90))
    if draw.turn("program", ["iperf", "iperf3"]) == "iperf":
        return Trial(way, iperf("-u", "-b", sent, seconds=4), [iperf_server("-u")], measure="none",
                     check=counted("ab", "overflowed", 50))
    return Trial(way, iperf3("-u", "-b", sent, seconds=4), [iperf3_server()], measure="none",
                 check=counted("ab", "overflowed", 50))


@case("broadcast-storm", ["broadcast-storm"], "Broadcasts of another program take much of the link from the transfer.")
def broadcast_storm(draw):
    rate, rtt = draw.turn("line", [10e6, 10e6, 20e6]), draw.log("rtt_ms", 1, 8)
    storm, size = draw.log("broadcasts", 900, 2600), draw.whole("size", 60, 280)
    return Trial(path(rate, rtt, 60), send(bulk(rate, 4), cc="reno"), [sink()],
                 beside=[("A", ["app", "broadcast", f"rate={storm:g}", f"size={size}", f"host=@S.255", "for=60"])],
                 without={"beside": []}, check=slower(1.12))


@case("host-pacing", {"sender": ["host-pacing"], "else": ["host-pacing", "path-rate"]},
      "The sender's kernel spaces its segments at a set rate below the path's. Elsewhere a slower link before looks "
      "the same.")
def host_pacing(draw):
    rate, rtt = draw.log("rate", 4e7, 9e7), draw.log("rtt_ms", 1, 30)
    pace = draw.log("pace", 1.5e6, 12e6)
    way = path(rate, rtt, frames_of(rate, rtt, 1.2, 100))
    if draw.turn("program", ["iperf3", "app"]) == "iperf3":
        return Trial(way, iperf3("-C", "reno", "--fq-rate", f"{pace:.0f}", seconds=5), [iperf3_server()],
                     measure="iperf3", without={"client": iperf3("-C", "reno", seconds=4)}, check=slower(2))
    return Trial(way, send(bulk(pace, 5), cc="cubic", pacing=f"{pace:.0f}"), [sink()],
                 without={"client": send(bulk(rate, 4), cc="cubic")}, check=slower(2))


@case("capture-incomplete", ["capture-incomplete"], "The capture lacks packets that were on the wire and acknowledged.",
      count=4, kinds=("sender", "receiver", "late"))
def capture_incomplete(draw):
    rate, rtt = draw.log("rate", 6e6, 60e6), draw.log("rtt_ms", 2, 40)
    cc = draw.turn("cc", ["reno", "bbr"])
    return Trial(path(rate, rtt, frames_of(rate, rtt, 1.2, 60)), iperf3("-C", cc, seconds=4),
                 [iperf3_server()], measure="iperf3", missing=draw.between("missing", 0.03, 0.15))
