"""Causes of hosts and their programs in transfers: windows, buffers, readers, writers, pacing."""

from checks import both, check, faster, socket, takes_at_most
from draw import case
from setups import KIT, RSYNC, appended, at_most, either, fault, fetch, kernel, line, lossless, pauses, stream, transfer

@case("viewer-with-a-small-buffer", ["receive-window"], "A viewer sets a small receive buffer.", count=3, check=both(faster(1.3), socket("rwnd_limited", 0.4)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 19e6, 95e6), draw.log("rtt_ms", 17, 140), either(draw)
    window = draw.log("rcvbuf", 5200, 31000)
    path = line(draw, rate, rtt, sender=sender, queue_ms=60)
    wanted = window * 8e3 / rtt / 8 * 5
    return {**path, **stream(draw, int(wanted), sender, recv=f"rcvbuf={window:.0f}", opens=draw.random.choice("AB")), "without": {**stream(draw, int(wanted), sender)}}


@case("route-with-a-window", ["receive-window"], "The route of the device has a window, set by hand once.", count=2, check=both(faster(1.3), socket("rwnd_limited", 0.4)))
def _(draw):
    rate, rtt = draw.log("rate", 24e6, 80e6), draw.log("rtt_ms", 22, 110)
    window = int(draw.log("window", 5900, 41000))
    return {**line(draw, rate, rtt, queue_ms=60), **transfer(draw, int(window * 8 / rtt * 1000 / 8 * 5), "B"), "route": {"A": f"window {window}"}, "without": {"route": {}}}


@case("scaling-turned-off", {"snapped": ["no-window-scaling", "receive-window"], "late": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]}, "Window scaling was turned off at one end.", count=4, check=both(faster(1.35), socket("rwnd_limited", 0.3)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 21e6, 88e6), draw.log("rtt_ms", 62, 230), either(draw)
    big = {"tcp_rmem": "4096 2000000 12000000", "tcp_wmem": "4096 2000000 12000000"}
    off = draw.turn("off_at", "A", "B", "B", "A")
    sizes = {it: {**big, **({"tcp_window_scaling": 0} if it == off else {})} for it in "AB"}
    return {**line(draw, rate, rtt, sender=sender, queue_ms=max(90, rtt)), **transfer(draw, int(65535 / rtt * 1000 * 6), sender), "sysctl": sizes, "congestion": "cubic", "without": {"sysctl": {"both": big}}}


@case("display-decodes-as-it-reads", ["receiver-reads-slowly"], "A display reads in blocks, and takes its time for each.", count=3, check=both(faster(1.3), socket("rwnd_limited", 0.4), pauses(0.5)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 11e6, 90e6), draw.log("rtt_ms", 0.6, 33), either(draw)
    reads, chunk = rate * draw.random.uniform(0.08, 0.45), int(draw.log("chunk", 2900, 33000))
    every = chunk * 8e3 / reads
    draw.note(every_ms=round(every, 2))
    path = line(draw, rate, rtt, sender=sender, queue_ms=40)
    one = {"octets": int(reads / 8 * 6), "sysctl": {"both": {"tcp_rmem": "4096 65536 180000"}}}
    return {**path, **stream(draw, 0, sender, recv=f"chunk={chunk} every_ms={every:.3f}"), **one, "without": stream(draw, one["octets"], sender)}


@case("box-writes-flash", ["receiver-reads-slowly", "receiver-stalls"], "A program writes each block to flash, and does not read meanwhile.", count=3, check=both(faster(1.3), pauses(0.3)))
def _(draw):
    rate, rtt = draw.log("rate", 8e6, 60e6), draw.log("rtt_ms", 0.7, 24)
    block, pause = draw.log("block", 90e3, 600e3), draw.log("pause_ms", 230, 900)
    path = line(draw, rate, rtt, queue_ms=40)
    sizes = {"sysctl": {"both": {"tcp_rmem": "4096 32768 49152"}}}
    octets = int(5 / (block * 8 / rate + pause / 1e3) * block)
    return {**path, **stream(draw, octets, "B", recv=f"stall_octets={block:.0f} stall_ms={pause:.0f} chunk=16384"), **sizes, "without": stream(draw, octets, "B")}


@case("loader-limits-itself", ["receiver-reads-slowly"], "A program limits its own download.", count=3, check=both(faster(1.3), socket("rwnd_limited", 0.3)))
def _(draw):
    rate, rtt = draw.log("rate", 22e6, 80e6), draw.log("rtt_ms", 6, 35)
    limit = draw.log("octets_per_s", 120e3, 900e3)
    path = line(draw, rate, rtt, queue_ms=50)
    octets = int(limit * 6)
    there = fetch(draw, octets, client="wget")
    which = draw.turn("limit_of", "wget", "curl", "aria2")
    words = {"curl": f"curl -sS --limit-rate {limit:.0f} -o /dev/null http://@B:8000/fw.bin", "wget": f"wget -q --limit-rate={limit:.0f} -O /dev/null http://@B:8000/fw.bin",
             "aria2": f"aria2c -q -x1 -s1 --max-download-limit={limit:.0f} -d @D -o got --allow-overwrite=true --file-allocation=none http://@B:8000/fw.bin"}[which]
    return {**path, **there, "client": words, "fixed_octets": True, "sysctl": {"A": {"tcp_rmem": f"4096 30000 {int(limit / 3)}"}}, "without": {"client": there["client"]}, "most_s": 25}


@case("logger-reads-its-card", ["sender-idle", "sender-stalls"], "A logger reads each block from its card before it sends it.", count=3, check=both(faster(1.3), pauses(0.3), lossless(3)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 9e6, 92e6), draw.log("rtt_ms", 0.4, 28), either(draw)
    block, pause = draw.log("block", 30e3, 400e3), draw.log("pause_ms", 60, 480)
    path = line(draw, rate, rtt, sender=sender, queue_ms=60)
    octets = int(6 / (block * 8 / rate + pause / 1e3 + rtt / 1e3) * block)
    return {**path, **stream(draw, octets, sender, send=f"stall_octets={block:.0f} stall_ms={pause:.0f} chunk={min(16384, block):.0f}", opens=draw.random.choice("AB")), "without": stream(draw, octets, sender)}


@case("camera-encodes-slowly", ["sender-idle"], "A camera writes a picture at a time, fewer than the line carries.", count=3, check=both(faster(1.3), pauses(0.4), lossless(3)))
def _(draw):
    rate, rtt = draw.log("rate", 14e6, 90e6), draw.log("rtt_ms", 1.3, 40)
    picture = draw.log("picture", 7000, 80000)
    every = max(2.2 * picture * 8e3 / rate, draw.log("every_ms", 66, 330))
    path = line(draw, rate, rtt, sender="A", queue_ms=60)
    octets = int(7e3 / every * picture)
    return {**path, **stream(draw, octets, "A", send=f"chunk={picture:.0f} every_ms={every:.2f}"), "fixed_octets": True, "without": {**stream(draw, octets * 3, "A"), "fixed_octets": False}}


@case("upload-limits-itself", {"sender": ["sender-idle", "host-pacing"], "else": ["sender-idle", "host-pacing", "path-rate"]}, "A program limits its own upload.", count=2, check=both(faster(1.3), lossless(3)))
def _(draw):
    rate, rtt = draw.log("rate", 19e6, 80e6), draw.log("rtt_ms", 6, 35)
    limit = draw.log("octets_per_s", 110e3, 800e3)
    path = line(draw, rate, rtt, sender="A", queue_ms=60)
    base = {"files": {"fw.bin": "{octets}"}, "octets": int(limit * 6), "client_at": "A", "sender": "A", "fixed_octets": True}
    put = "rsync -W {} @D/fw.bin rsync://@B/b/"
    return {**path, **base, **RSYNC, "client": put.format(f"--bwlimit={limit / 1024:.0f}"), "without": {"client": put.format("")}}


@case("encoder-with-a-small-send-buffer", {"sender": ["send-buffer", "congestion-window"], "late-sender": ["send-buffer", "congestion-window"], "else": ["send-buffer", "congestion-window", "receive-window"]}, "A device is set to small send buffers.", count=3,
      check=both(faster(1.3), lossless(), at_most("rwnd_limited", 0.1)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 21e6, 93e6), draw.log("rtt_ms", 19, 130), either(draw)
    size = draw.log("wmem", 9000, 34000)
    path = line(draw, rate, rtt, sender=sender, queue_ms=60)
    octets = int(size * 0.6 / rtt * 1e3 * 6)
    return {**path, **stream(draw, octets, sender, opens=draw.random.choice("AB")), "sysctl": {sender: {"tcp_wmem": f"4096 {size:.0f} {size:.0f}"}}, "setup": {sender: ["ip link set eth0 gso_max_segs 1"]}, "without": {"sysctl": {}}}


PACED = {"sender": ["host-pacing"], "late-sender": ["host-pacing"], "truncated-sender": ["host-pacing"], "snapped-sender": ["host-pacing"], "else": ["host-pacing", "path-rate"]}


@case("shaped-by-the-server", PACED, "The server's own shaper lets less out than the line carries.", count=3, check=both(faster(1.3), takes_at_most(0.7), lossless()))
def _(draw):
    rate, rtt, sender = draw.log("rate", 24e6, 95e6), draw.log("rtt_ms", 5, 50), either(draw)
    allowed = rate * draw.random.uniform(0.12, 0.5)
    draw.note(allowed=round(allowed))
    path = line(draw, rate, rtt, sender=sender)
    place = "host_a" if sender == "A" else "host_b"
    words = f"root tbf rate {allowed:.0f}bit burst 1600 limit {draw.log('limit', 90e3, 200e3):.0f}"
    return {**path, **transfer(draw, int(allowed / 8 * 5), sender), "disciplines": {**path["disciplines"], place: words}, "sysctl": {"both": {"tcp_wmem": "4096 16384 60000"}}, "without": {"disciplines": path["disciplines"]}}


@case("streamer-paces", PACED, "A program sets the rate of its socket.", count=2, check=both(faster(1.3), takes_at_most(0.7), lossless()))
def _(draw):
    rate, rtt, sender = draw.log("rate", 24e6, 95e6), draw.log("rtt_ms", 9, 60), either(draw)
    pace = rate * draw.random.uniform(0.1, 0.5)
    draw.note(pace=round(pace))
    path = line(draw, rate, rtt, sender=sender)
    place = "host_a" if sender == "A" else "host_b"
    return {**path, **stream(draw, int(pace / 8 * 5), sender, send=f"pacing={pace / 8:.0f}"), "disciplines": {**path["disciplines"], place: "root fq"}, "without": stream(draw, int(pace / 8 * 5), sender)}


@case("register-by-register", ["small-writes", "sender-idle"], "A program writes some octets at a time, without Nagle's algorithm.", count=3, gain=False,
      check=both(lossless(2), check("segments have a fifth of a full one at most on average, 150 a second or more", lambda truth, trial: 0 < truth["octets"] / truth["segments"] < 290 and truth["segments"] / truth["seconds"] >= 150)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 3e6, 40e6), draw.log("rtt_ms", 14, 70), either(draw)
    piece, every = int(draw.log("piece", 14, 160)), draw.log("every_ms", 0.9, 3.4)
    return {**line(draw, rate, rtt, sender=sender), **stream(draw, int(6e3 / every * piece), sender, send=f"nodelay=1 chunk={piece} every_ms={every}", opens=draw.random.choice("AB")), "fixed_octets": True}


@case("head-and-body-apart", ["delayed-ack-with-nagle"], "A program writes head and body apart, and its partner delays its acknowledgments.", count=3, check=both(faster(1.3), kernel("TcpExtDelayedACKs", 10, "receiver")))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 90e6), draw.log("rtt_ms", 0.5, 16)
    size, n, count = int(draw.log("size", 90, 900)), int(draw.log("answer", 16, 300)), int(draw.log("count", 55, 110))
    which = draw.turn("apart", "request", "answer")
    path = line(draw, rate, rtt)
    if which == "request":
        there = {"sender": "A", "server": f"{KIT} do=answer port=4001 size={size} answer={n} nodelay=1", "client": f"{KIT} do=ask to=@B port=4001 size={size} head=12 answer={n} count={count}"}
    else:
        there = {"sender": "B", "server": f"{KIT} do=answer port=4001 size={size} answer={n + 40} ahead=18", "client": f"{KIT} do=ask to=@B port=4001 size={size} answer={n + 40} count={count} nodelay=1"}
    key = "client" if which == "request" else "server"
    return {**path, "client_at": "A", "ports": [4001], **there, "without": {key: f"{there[key]} nodelay=1"}}


@case("frames-of-a-short-mss", ["small-mss", "path-rate"], "Segments are short, and the radio takes most of its time for each frame.", count=3, check=faster(1.3))
def _(draw):
    rate, rtt = draw.log("rate", 7e6, 22e6), draw.log("rtt_ms", 3, 22)
    mss, extra = draw.turn("mss", 536, 368, 216), int(draw.log("octets_per_frame", 420, 1300))
    path = line(draw, rate, rtt)
    radio = {**path["disciplines"], "down": f"root netem rate {rate:.0f}bit {extra} limit 90", "up": f"root netem rate {rate:.0f}bit {extra // 6} limit 90"}
    return {**path, **transfer(draw, int(rate / 22), "B"), "disciplines": radio, "route": {"A": f"advmss {mss}"}, "without": {"route": {}}}


@case("lossy-and-read-slowly", ["receiver-reads-slowly", "random-loss"], "A display reads slowly; besides, the line loses a frame now and then.", count=2, check=both(faster(1.5), socket("rwnd_limited", 0.4), pauses(0.5)))
def _(draw):
    rate, rtt = draw.log("rate", 18e6, 60e6), draw.log("rtt_ms", 4, 22)
    reads, chunk = rate * draw.random.uniform(0.05, 0.14), int(draw.log("chunk", 5000, 24000))
    path = line(draw, rate, rtt, queue_ms=50)
    lossy = appended(path, fault("B"), f"loss {draw.log('loss_percent', 0.1, 0.3)}%")
    octets = int(reads / 8 * 7)
    return {**path, **lossy, **stream(draw, octets, "B", recv=f"chunk={chunk} every_ms={chunk * 8e3 / reads:.3f}"), "sysctl": {"both": {"tcp_rmem": "4096 65536 120000"}}, "without": stream(draw, octets, "B")}


@case("lossy-with-a-small-window", ["receive-window", "random-loss", "retransmission-stalls"], "A viewer's window is small; besides, the line loses a frame now and then.", count=2, check=both(faster(1.4), socket("rwnd_limited", 0.4)))
def _(draw):
    rate, rtt = draw.log("rate", 30e6, 80e6), draw.log("rtt_ms", 40, 110)
    window = draw.log("rcvbuf", 9000, 20000)
    path = line(draw, rate, rtt, queue_ms=60)
    lossy = appended(path, fault("B"), f"loss {draw.log('loss_percent', 0.04, 0.1)}%")
    octets = int(window / rtt * 1e3 * 7)
    return {**path, **lossy, **stream(draw, octets, "B", recv=f"rcvbuf={window:.0f}"), "without": stream(draw, octets, "B")}
