"""What limits the data in flight: windows, buffers, the way back."""

from programs import (bulk, curl, fetch_each, file_of, http_server, iperf, iperf3, iperf3_server, iperf_server, send,
                      sink)
from trial import Trial, both, case, frames_of, path, slower


def long_path(draw, low=25, high=160):
    rate, rtt = draw.log("rate", 15e6, 60e6), draw.log("rtt_ms", low, high)
    return rate, rtt, path(rate, rtt, frames_of(rate, rtt, 1.3, 80))


def cc_of(draw):
    return draw.turn("cc", ["bbr", "reno", "cubic"])


@case("receive-window", ["receive-window"], "The program's receive buffer is smaller than the path needs.", count=4)
def receive_window(draw):
    rate, rtt, way = long_path(draw)
    buffer = int(draw.between("share", 0.05, 0.3) * rate * rtt / 8e3)
    limited = max(4600, buffer)
    return Trial(way, send(bulk(limited * 8e3 / rtt, 5), cc=cc_of(draw), for_=7), [sink(rcvbuf=limited)],
                 without={"servers": [sink()], "client": send(bulk(rate, 3), cc=cc_of(draw))}, check=slower(1.8))


@case("receive-window-iperf", ["receive-window"], "iperf's server has a small window (-w).", count=3)
def receive_window_iperf(draw):
    rate, rtt, way = long_path(draw)
    window = int(draw.between("share", 0.06, 0.3) * rate * rtt / 8e3)
    return Trial(way, iperf("-Z", cc_of(draw), seconds=5), [iperf_server("-w", max(5000, window))], measure="iperf",
                 without={"servers": [iperf_server()]}, check=slower(1.8))


@case("device-window", ["receive-window"], "A device announces a window of few segments.", count=4)
def device_window(draw):
    rate, rtt = draw.log("rate", 10e6, 50e6), draw.log("rtt_ms", 8, 60)
    window = draw.whole("segments", 3, 8) * 1460
    way = path(rate, rtt, frames_of(rate, rtt, 1.3, 80))
    return Trial(way, send(bulk(window * 8e3 / rtt, 5), cc=cc_of(draw), for_=8), measure="device",
                 device={"window": window}, without={"device": {"window": 65535}, "client": send(bulk(4e6, 4))},
                 check=slower(1.8))


@case("no-window-scaling", {"late": ["no-window-scaling", "receive-window"],
                            "snapped": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]},
      "Without window scaling at most 65,535 octets are in flight; begun late, or cut to 72 octets and less, a capture "
      "does not show whether the option is missing.", count=4)
def no_window_scaling(draw):
    rate, rtt, way = long_path(draw, 60, 200)
    by = draw.turn("by", ["path", "receiver", "sender"])
    octets, options = 65535 / rtt * 1e3 * 5, {"cc": cc_of(draw), "for_": 8}
    if by == "path":
        return Trial({**way, "strip": 2}, send(octets, **options), [sink()], check=slower(1.5),
                     without={"path": {"strip": 0}, "client": send(bulk(rate, 4), **options)})
    end = "B" if by == "receiver" else "A"
    return Trial(way, send(octets, **options), [sink()], sysctl={end: {"net.ipv4.tcp_window_scaling": 0}},
                 check=slower(1.5), without={"sysctl": {end: {}}, "client": send(bulk(rate, 4), **options)})


@case("send-buffer", ["send-buffer", "congestion-window"],
      "The sender's socket buffer holds less than the path needs; a congestion window that does not grow looks the "
      "same.", count=4)
def send_buffer(draw):
    rate, rtt, way = long_path(draw)
    buffer = max(5000, int(draw.between("share", 0.02, 0.12) * rate * rtt / 8e3))
    options = {"cc": "bbr", "for_": 8}
    return Trial(way, send(bulk(1.5 * buffer * 8e3 / rtt, 5), sndbuf=buffer, **options), [sink()],
                 without={"client": send(bulk(rate, 3.5), **options)}, check=both(slower(1.8), waits_for_buffer))


def waits_for_buffer(truth):
    """The rule that the sender's kernel counted a quarter of the time as limited by the send buffer, without losses."""
    info = truth["programs"][0]
    return info["buffer_limited_us"] >= 0.25 * info["busy_us"] and not truth["path"]["ab"].get("overflowed")


@case("device-send-buffer", ["send-buffer", "congestion-window"],
      "A device's web server keeps few segments in flight whatever the window: its transmit buffer holds no more.",
      count=3)
def device_send_buffer(draw):
    rate, rtt = draw.log("rate", 10e6, 40e6), draw.log("rtt_ms", 10, 70)
    in_flight = draw.whole("segments", 2, 8) * 1460
    way = path(rate, rtt, frames_of(rate, rtt, 1.3, 80))
    octets = int(bulk(in_flight * 8e3 / rtt, 5))
    return Trial(way, curl("http://@B:5001/firmware.bin"), sender="B", device={"in_flight": in_flight, "file": octets},
                 without={"device": {"in_flight": 60000, "file": octets * 4}}, check=slower(1.8))


@case("congestion-window", ["congestion-window"],
      "Short transfers over a long path, a connection each, end before the congestion window has opened.", count=4,
      kinds=("sender", "receiver", "middle", "snapped"))
def congestion_window(draw):
    rate, rtt = draw.log("rate", 3e7, 9e7), draw.log("rtt_ms", 60, 190)
    octets = draw.whole("octets", 40_000, 240_000)
    way, url = path(rate, rtt, frames_of(rate, rtt, 1.3)), f"http://@B:8000/{file_of(octets)}"
    return Trial(way, fetch_each(url, draw.whole("times", 3, 5)), [http_server()], sender="B",
                 sysctl={"B": {"net.ipv4.tcp_congestion_control": draw.turn("cc", ["reno", "bbr"])}})


@case("ack-path-slow", ["ack-path-full"], "The way back is too slow for the acknowledgments of the transfer.", count=4,
      kinds=("sender", "receiver", "late", "snapped"))
def ack_path_slow(draw):
    rate, rtt = draw.log("rate", 2e7, 6e7), draw.log("rtt_ms", 8, 50)
    back = rate * draw.between("share", 0.0035, 0.012)
    way = path(rate, rtt, ab_rate=rate, ba_rate=back, ab_queue=frames_of(rate, rtt, 1.3, 100),
               ba_queue=draw.whole("back_queue", 10, 70))
    return Trial(way, send(bulk(rate * 0.5, 5), cc=draw.turn("cc", ["cubic", "bbr", "reno"]), for_=7), [sink()],
                 without={"path": {"ba.rate": rate}, "client": send(bulk(rate, 4), cc="cubic")}, check=slower(1.25))


@case("upload-beside-download", ["ack-path-full", "bufferbloat"],
      "An upload fills the narrow way back of a download, whose acknowledgments wait in its long queue.", count=4,
      kinds=("sender", "receiver", "late", "snapped"))
def upload_beside_download(draw):
    down, rtt = draw.log("down", 2e7, 5e7), draw.log("rtt_ms", 10, 40)
    up = down * draw.between("share", 0.025, 0.08)
    way = path(1e9, rtt, ab_rate=up, ba_rate=down, ab_queue=int(up * draw.between("queue_s", 0.4, 1.0) / 8 / 1514) + 8,
               ba_queue=frames_of(down, rtt, 1.2, 60))
    octets = int(bulk(down, 4))
    get = fetch_each(f"http://@B:8000/{file_of(octets)}", 1)
    delayed = ("A", ["sh", "-c", f"sleep 1.5; {get[1][2]}"])
    cc = {"net.ipv4.tcp_congestion_control": draw.turn("cc", ["reno", "bbr"])}
    return Trial(way, delayed, [http_server(), sink()], sender="B", sysctl={"A": cc, "B": cc},
                 beside=[send(1e9, for_=30)], without={"beside": []}, check=slower(1.3), longest=22)


@case("slow-reader", ["receiver-reads-slowly"],
      "The receiver's program takes less than arrives: its buffer fills, and the window closes.", count=4)
def slow_reader(draw):
    rate, rtt = draw.log("rate", 2e7, 8e7), draw.log("rtt_ms", 1, 25)
    way = path(rate, rtt, frames_of(rate, rtt, 1.2, 100))
    every, share = draw.log("every_us", max(3000, 2500 * rtt), 70000), draw.between("share", 0.05, 0.3)
    read = int(rate * share * every / 8e6)
    return Trial(way, send(bulk(rate * share, 4) + 12 * read, cc=cc_of(draw), for_=7),
                 [sink(read=read, every=every, rcvbuf=10 * read + 10000)],
                 without={"servers": [sink()], "client": send(bulk(rate, 3))}, check=slower(1.6))


@case("small-mss-clamped", ["small-mss", "path-rate"],
      "A device on the path lowers the MSS, and headers and gaps take a good part of the link, which is full.", count=4,
      kinds=("sender", "receiver", "late", "snapped"))
def small_mss_clamped(draw):
    rate, rtt = draw.log("rate", 3e6, 12e6), draw.log("rtt_ms", 4, 40)
    way = path(rate, rtt, frames_of(rate, rtt, 6, 200), mss=draw.whole("mss", 200, 420))
    cc = cc_of(draw)
    return Trial(way, iperf3("-C", cc, seconds=5), [iperf3_server()], measure="iperf3", without={"path": {"mss": 0}},
                 check=slower(1.15))
