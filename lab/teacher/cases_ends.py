"""Causes at the ends: windows, buffers, programs and stacks of hosts, in transfers."""

from cases_path import NEAR, counted, limited, plain, way_of
from checks import both, check, faster, missing
from draw import case
from setups import bulk, holds, link, trial, without


def ends(sender, at_sender=None, at_receiver=None):
    """Settings of both hosts by what they do."""
    s, r = ("b", "a") if sender == "B" else ("a", "b")
    return {s: dict(at_sender or {}), r: dict(at_receiver or {})}


def receiver(sender):
    return "a" if sender == "B" else "b"


@case("small-receive-buffer", ["receive-window"], "The receive buffer is smaller than the bandwidth-delay product.", count=4, check=both(faster(1.4), limited("rwnd", 0.5)))
def small_receive_buffer(draw):
    rate, rtt, sender, line, hold = plain(draw, 9e5, 2.5e8, 8, 570, queue=0.06)
    window = int(min(draw.log("share", 0.12, 0.55) * rate / 8 * rtt, 900000)) + 4000
    it = trial(draw, sender, [line], [bulk(draw, sender)], rate=window * 8 / rtt, lasts=3.5, kinds=("linux", "linux"), **ends(sender, hold, {"rcvbuf": window}))
    return without(it, **{receiver(sender): hold})


@case("disk-slower-than-the-line", ["receiver-reads-slowly"], "The receiving program takes data at less than the line's rate.", count=3, check=both(faster(1.4), limited("rwnd", 0.5)))
def disk_slower(draw):
    rate, rtt, sender, line, hold = plain(draw, 3e6, 9e8, 0.4, 45)
    reads = rate / 8 * draw.log("share", 0.15, 0.55)
    unit = draw.turn("unit", 4096, 16384, 8192)
    it = trial(draw, sender, [line], [bulk(draw, sender, rrate=reads, runit=unit)], rate=reads * 8, **ends(sender, hold, {"rcvbuf": max(40000, int(min(hold["rcvbuf"], reads * 0.4)))}))
    return without(it, app={"rrate": 0, "runit": None}, **{receiver(sender): hold})


@case("printer-without-paper", ["receiver-reads-slowly", "receiver-stalls"], "The receiving program stops reading for seconds; its window is closed.", count=2, late=(0.05, 0.2), truncated=(0.6, 0.9), check=both(faster(1.4), limited("rwnd", 0.4)))
def printer_without_paper(draw):
    rate, rtt, sender, line, hold = plain(draw, 8e6, 8e7, 0.6, 6, sender="A")
    each = rate / 8 * draw.log("each_s", 0.6, 1.1)
    it = trial(draw, sender, [line], [bulk(draw, sender, flavour="raw", port=9100, rpause_each=each, rpause_for=draw.log("pause_s", 1.2, 2.8))], rate=rate / 2, lasts=6, **ends(sender, hold, {"rcvbuf": int(min(hold["rcvbuf"], 60000)) + 8000, "ws": 0}))
    return without(it, app={"rpause_each": 0})


@case("flash-written-by-blocks", ["receiver-stalls", "receiver-reads-slowly"], "The receiver stands still while it erases and writes flash.", count=3, check=both(faster(1.4), counted("stalls", 8)))
def flash_written(draw):
    rate, rtt, sender, line, hold = plain(draw, 4e6, 9e7, 0.7, 22)
    each = draw.turn("each", 32768, 65536, 131072)
    it = trial(draw, sender, [line], [bulk(draw, sender, rstall_each=each, rstall_for=each * 8 / rate * draw.log("times", 1.7, 4), runit=4096)], rate=rate / 2.5, lasts=4.5,
               **ends(sender, {**hold, "rto_min": 1}, {"rcvbuf": min(hold["rcvbuf"], 70000) + 20000, "ws": draw.turn("ws", 1, 2, 1), "wiretap": 1, "ring": 600}))
    return without(it, app={"rstall_each": 0})


@case("receiver-scans-for-radios", ["receiver-stalls"], "The receiver stands still at regular intervals, whatever arrives.", count=2, check=both(faster(1.3), counted("stalls", 5)))
def receiver_scans(draw):
    rate, rtt, sender, line, hold = plain(draw, 5e6, 3.5e7, 2, 20)
    every = draw.log("every_s", 0.35, 0.8)
    it = trial(draw, sender, [line], [bulk(draw, sender)], rate=rate / 2, **ends(sender, {**hold, "rto_min": 1}, {"rcvbuf": min(hold["rcvbuf"], int(rate / 8 * 0.08)) + 9000, "wiretap": 1, "stall_every": every, "stall_for": every * 0.5, "stall_first": 0.41}))
    return without(it, **{receiver(sender): {"stall_every": 1000, "stall_first": 900}})


@case("sender-reads-a-card", ["sender-stalls", "sender-idle"], "The sender stands still while it reads each block from a card.", count=3, check=both(faster(1.4), counted("stalls", 5)))
def sender_reads_a_card(draw):
    rate, rtt, sender, line, hold = plain(draw, 3e6, 8e7, 0.8, 30)
    each = draw.turn("each", 48000, 90000, 150000)
    it = trial(draw, sender, [line], [bulk(draw, sender, wstall_each=each, unit=8192, wstall_for=each * 8 / rate * draw.log("times", 1.3, 3) + 0.03)], rate=rate / 2.5, lasts=4.5, **ends(sender, {**hold, "sndbuf": 65536, "wiretap": 1}, hold))
    return without(it, app={"wstall_each": 0})


@case("task-takes-the-processor", ["sender-stalls", "sender-idle"], "Another task of the sender takes the processor at regular intervals.", count=2, check=both(faster(1.3), counted("stalls", 5)))
def task_takes(draw):
    rate, rtt, sender, line, hold = plain(draw, 6e6, 4e7, 1, 15)
    every = draw.log("every_s", 0.25, 0.7)
    it = trial(draw, sender, [line], [bulk(draw, sender)], rate=rate / 2, **ends(sender, {**hold, "wiretap": 1, "stall_every": every, "stall_for": every * 0.55, "stall_first": 0.33}, hold))
    return without(it, **{("b" if sender == "B" else "a"): {"stall_every": 1000, "stall_first": 900}})


@case("export-computes-each-page", ["sender-idle", "sender-stalls"], "The sending program computes each block when the one before is written.", count=3, check=both(faster(1.4), check("the writer's waits take at least 35% of the time", lambda truth, it: truth["path"]["program"]["writer_s"] >= 0.35 * truth["seconds"])))
def export_computes(draw):
    rate, rtt, sender, line, hold = plain(draw, 6e5, 8e8, 0.5, 60)
    chunk = int(rate / 8 * draw.log("chunk_s", 0.12, 0.4))
    it = trial(draw, sender, [line], [bulk(draw, sender, chunk=chunk, gap=chunk * 8 / rate * draw.log("times", 0.9, 2.4) + rtt, spread=draw.turn("spread", 0.2, 0.6, 0.4))], rate=rate / 2.5, **ends(sender, hold, hold))
    return without(it, app={"chunk": 0})


@case("proxy-stores-and-forwards", ["sender-idle", "sender-stalls"], "A proxy passes blocks on when it has them: its own source is slower than the line.", count=2, check=both(faster(1.5), check("the writer's waits take at least 50% of the time", lambda truth, it: truth["path"]["program"]["writer_s"] >= 0.5 * truth["seconds"])))
def proxy_stores(draw):
    rate, rtt, sender, line, hold = plain(draw, 2e7, 3e8, 6, 28, sender="B")
    chunk = draw.turn("chunk", 65536, 262144, 131072)
    it = trial(draw, sender, [line], [bulk(draw, sender, chunk=chunk, gap=chunk * 8 / rate * draw.log("times", 1.6, 4) + 0.06, spread=0.5)], rate=rate / 4, **ends(sender, hold, hold))
    return without(it, app={"chunk": 0})


@case("small-send-buffer", {"receiver": ["send-buffer", "congestion-window"], "late": ["send-buffer", "congestion-window"], "else": ["send-buffer"]}, "The sender's buffer holds less than the bandwidth-delay product.", count=4, check=both(faster(1.4), limited("sndbuf", 0.5)))
def small_send_buffer(draw):
    rate, rtt, sender, line, hold = plain(draw, 2e6, 1.5e8, 12, 390, queue=0.08)
    size = int(min(draw.log("share", 0.1, 0.4) * rate / 8 * rtt, 700000)) + 5000
    it = trial(draw, sender, [line], [bulk(draw, sender, unit=2048)], rate=size * 8 / rtt, lasts=4, **ends(sender, {**hold, "sndbuf": size}, {**hold, "rcvbuf": hold["rcvbuf"] + size}))
    return without(it, **{("b" if sender == "B" else "a"): {"sndbuf": 8000000}})


@case("short-file-by-satellite", ["congestion-window"], "A file over a long way ends in slow start.", count=3, late=(0.12, 0.25), truncated=(0.75, 0.92), check=both(faster(1.4), limited("cwnd", 0.55)))
def short_file(draw):
    rate, rtt, sender = draw.log("rate", 2.2e7, 1.6e8), draw.log("rtt_ms", 280, 610) / 1e3, draw.turn("sender_is", "B", "A", "B")
    host = {"rcvbuf": int(rate / 8 * rtt * 2), "iw": draw.turn("iw", 4, 2, 10), "ack_every": 2, "quick": 0, "variant": "sack", "abc": draw.turn("abc", 0, 0, 1)}
    size = int(draw.turn("segments", 220, 90, 700) * 1460)
    it = trial(draw, sender, [link(rate, rtt / 2, 0.4)], [bulk(draw, sender, bytes=size)], rate=rate, fixed=1, **ends(sender, host, host), snap=192)
    return without(it, **{("b" if sender == "B" else "a"): {"iw": 400}})


@case("no-selective-acknowledgments", ["no-sack", "random-loss", "loss-in-bursts", "shallow-queue", "retransmission-stalls"], "One end offers no selective acknowledgments, and several segments of a window are lost.", count=4, check=both(faster(1.3), missing(20)))
def no_selective(draw):
    rate, rtt, sender, line, hold = plain(draw, 7e6, 3.6e7, 35, 110)
    each, lost, apart = int(draw.log("each", 500, 900)), draw.turn("lost", 14, 20, 16), draw.turn("apart", 3, 2, 4)
    loss = (way_of(sender), "loss", {"which": "/".join(str(300 + k * each + i * apart) for k in range(16) for i in range(lost))})
    it = trial(draw, sender, [line, loss] if sender == "A" else [loss, line], [bulk(draw, sender)], rate=rate / 3, lasts=7, bounds=(4, 16), aim=7,
               **ends(sender, {**hold, "variant": "sack", "sack": 1, "ts": 0}, {**hold, "sack": 0, "ts": 0}))
    return without(it, **{receiver(sender): {"sack": 1}})


@case("segments-of-536", ["small-mss", "path-rate"], "A stack offers small segments over a medium that takes time for each frame.", count=3, check=faster(1.3))
def segments_of_536(draw):
    rate, rtt, sender = draw.log("rate", 2e6, 2.2e7), draw.log("rtt_ms", 3, 35) / 1e3, draw.turn("sender_is", "B", "A", "B")
    small, over = draw.turn("mss", 536, 256, 512), draw.turn("overhead", 420, 260, 600)
    host = {"rcvbuf": holds(rate, rtt, 0.2), "ts": 0}
    it = trial(draw, sender, [link(rate, rtt / 2, 0.35, over=over)], [bulk(draw, sender)], rate=rate * small / (small + 40 + over), **ends(sender, host, {**host, "mss": small}), v6=0)
    return without(it, **{receiver(sender): {"mss": 1460}})


@case("window-by-octets", ["silly-window"], "The receiver opens its window by what its program reads, a few octets.", count=3, check=both(faster(1.3), check("most segments are small", lambda truth, it: truth["path"]["b" if it["sender"] == "B" else "a"]["small"] >= 0.6 * truth["sent"])))
def window_by_octets(draw):
    rate, rtt, sender = draw.log("rate", 1e6, 1.8e7), draw.log("rtt_ms", 0.8, 9) / 1e3, draw.turn("sender_is", "A", "B", "A")
    unit = draw.turn("unit", 128, 64, 200)
    it = trial(draw, sender, [link(rate, rtt / 2, 0.2)], [bulk(draw, sender, runit=unit, rrate=unit / draw.log("read_us", 90, 300) * 1e6)], rate=3e5,
               **ends(sender, {"nagle": 0, "sws": 0, "ts": 0}, {"is_board": 1, "sws": 0, "rcvbuf": draw.turn("rcvbuf", 2920, 2048, 4096), "rx_cost": draw.log("frame_us", 350, 900) / 1e6, "ack_every": 1}), v6=0, octets=200000, bounds=(2, 20))
    return without(it, app={"runit": 2920, "rrate": 0}, **{receiver(sender): {"sws": 1, "ack_every": 2}})


@case("one-acknowledgment-for-many", ["stretch-acks", "congestion-window"], "The receiver acknowledges many segments at once; the sender's window grows by acknowledgments.", count=3, check=faster(1.3))
def one_for_many(draw):
    rate, rtt, sender = draw.log("rate", 1.2e7, 6e7), draw.log("rtt_ms", 45, 130) / 1e3, draw.turn("sender_is", "B", "A", "B")
    host = {"rcvbuf": holds(rate, rtt, 0.15)}
    it = trial(draw, sender, [link(rate, rtt / 2, 0.2)], [bulk(draw, sender)], rate=rate / 3, lasts=3.5, **ends(sender, {**host, "variant": "newreno", "sack": 0, "abc": 0, "iw": 4, "rto_min": 1}, {**host, "ack_every": draw.turn("each", 12, 18, 10), "quick": 0, "delack": 0.06}))
    return without(it, **{receiver(sender): {"ack_every": 2}})


@case("sensor-acknowledges-late", ["late-acks", "one-in-flight"], "A sender with one segment under way, and a receiver that delays acknowledgments.", count=3, check=faster(2))
def acknowledges_late(draw):
    rate, rtt, sender = draw.log("rate", 4e5, 6e7), draw.log("rtt_ms", 0.9, 18) / 1e3, draw.turn("sender_is", "A", "B", "A")
    late = draw.turn("delay_s", 0.2, 0.1, 0.17)
    it = trial(draw, sender, [link(rate, rtt / 2, 0.2)], [bulk(draw, sender)], rate=1460 * 8 / late, lasts=5, v6=0, **ends(sender, {"is_board": 1, "variant": "fixed", "fixed_cwnd": 1460}, {"delack": late, "quick": 0, "ack_every": 2, "delack_coarse": 0}))
    return without(it, **{receiver(sender): {"ack_every": 1}})


@case("stack-polled-by-a-tick", ["late-acks", "receive-window"], "A receiver looks for frames at each tick of a clock.", count=3, check=faster(1.4))
def polled_by_a_tick(draw):
    rate, rtt, sender = draw.log("rate", 2e6, 4e7), draw.log("rtt_ms", 0.6, 5) / 1e3, draw.turn("sender_is", "A", "B", "A")
    it = trial(draw, sender, [link(rate, rtt / 2, 0.2)], [bulk(draw, sender)], rate=4e5, v6=0, lasts=4, **ends(sender, {"rto_min": 1}, {"is_board": 1, "poll": draw.log("tick_ms", 12, 60) / 1e3, "rcvbuf": 2920, "ack_every": 1}))
    return without(it, **{receiver(sender): {"poll": 0}})


@case("few-descriptors", {"receiver": ["queue-overflow", "loss-in-bursts"], "else": ["queue-overflow", "loss-in-bursts", "shallow-queue"]}, "The receiver's adapter has few descriptors and its window is larger.", count=4, check=both(faster(1.25), counted("ring_lost_data", 8)))
def few_descriptors(draw):
    rate, rtt, sender = draw.log("rate", 2.2e7, 9.3e7), draw.log("rtt_ms", 1.6, 9) / 1e3, draw.turn("sender_is", "A", "B")
    cost = 1500 * 8 / rate * draw.log("times", 1.3, 2.6)
    it = trial(draw, sender, [link(rate, rtt / 2, 0.2)], [bulk(draw, sender)], rate=1460 * 8 / cost / 3, v6=0, **ends(sender, {"rto_min": draw.turn("rto_min", 1, 0.4, 0.6), "variant": draw.turn("tcp", "reno", "tahoe", "newreno")}, {"is_board": 1, "ring": draw.turn("ring", 2, 3, 4, 3), "rx_cost": cost, "rcvbuf": min(65535, int((rtt / cost * 1.4 + 18) * 1460))}))
    return without(it, **{receiver(sender): {"ring": 200}})


@case("busy-with-the-frame-before", {"receiver": ["loss-in-bursts", "queue-overflow"], "else": ["loss-in-bursts", "queue-overflow", "shallow-queue"]}, "A receiver with one buffer misses what comes right behind another frame.", count=2, check=both(faster(1.3), counted("ring_lost_data", 10)))
def busy_with_the_frame(draw):
    rate, rtt, sender = draw.log("rate", 2.5e7, 9.1e7), draw.log("rtt_ms", 0.7, 5) / 1e3, draw.turn("sender_is", "B", "A")
    it = trial(draw, sender, [link(rate, rtt / 2, 0.2)], [bulk(draw, sender)], rate=2e6, v6=0, **ends(sender, {"rto_min": 0.2}, {"is_board": 1, "ring": 1, "rx_cost": 1500 * 8 / rate * draw.log("times", 1.15, 1.7), "rcvbuf": draw.turn("rcvbuf", 11680, 8760)}))
    return without(it, **{receiver(sender): {"ring": 64}})


@case("limit-set-at-the-host", ["host-pacing", "path-rate"], "The sending host releases segments by a rate limit of its own.", count=3, check=faster(1.4))
def limit_at_the_host(draw):
    rate, rtt, sender, line, hold = plain(draw, 1.5e7, 4e8, 3, 40)
    pace = rate * draw.log("share", 0.08, 0.5)
    host = {"rcvbuf": holds(pace, rtt, 0.1, 1)}
    it = trial(draw, sender, [line], [bulk(draw, sender)], rate=pace, **ends(sender, {"pace": pace, "wiretap": 1, **host}, host))
    s = "b" if sender == "B" else "a"
    return without(it, **{s: {"pace": 0}, receiver(sender): hold})


@case("station-in-a-storm", ["broadcast-storm"], "A loop elsewhere sends a board more broadcasts than it can look at.", count=3, kinds=("receiver", "late", "truncated", "snapped"), check=both(faster(1.3), counted("broadcasts", 800)))
def station_in_a_storm(draw):
    rate, rtt = draw.log("rate", 9e6, 6e7), draw.log("rtt_ms", 0.9, 6) / 1e3
    download = bulk(draw, "B")
    storm = {"kind": "noise", "client": "a", "server": "x", "gap": draw.log("gap_ms", 0.3, 0.42) / 1e3, "background": 1, "arp": 0, "start": 0.02}
    it = trial(draw, "B", [link(rate, rtt / 2, 0.2)], [download, storm], rate=1.5e6, v6=0, middle="a", one_end="receiver", ethernet=1, b={"rto_min": 0.2}, a={"is_board": 1, "ring": 12, "rx_cost": draw.log("frame_us", 290, 350) / 1e6},
               more_hosts={"x": {"end": "A", "ip": "0a1407f9"}})
    it["hosts"]["a"]["rcvbuf"] = 8760
    return without(it, apps=[download])


@case("window-and-some-losses", ["receive-window", "random-loss"], "A small receive buffer, and a loss now and then that costs less.", count=2, check=both(faster(1.4), limited("rwnd", 0.5), missing(2)))
def window_and_losses(draw):
    rate, rtt, sender, line, hold = plain(draw, 1.5e7, 9e7, 14, 60)
    window = int(0.22 * rate / 8 * rtt) + 6000
    loss = (way_of(sender), "loss", {"p": draw.log("share", 0.0009, 0.002)})
    it = trial(draw, sender, [line, loss] if sender == "A" else [loss, line], [bulk(draw, sender)], rate=window * 8 / rtt, lasts=5, kinds=("linux", "linux"), **ends(sender, hold, {"rcvbuf": window}))
    it["without"] = {"drop": ["loss"], receiver(sender): hold}
    return it


@case("computes-behind-a-small-buffer", ["sender-idle", "sender-stalls", "send-buffer"], "A program computes each block, and its buffer is small, too, which costs less.", count=2, check=both(faster(1.4), check("the writer's waits take at least 45% of the time", lambda truth, it: truth["path"]["program"]["writer_s"] >= 0.45 * truth["seconds"])))
def computes_behind(draw):
    rate, rtt, sender, line, hold = plain(draw, 8e6, 6e7, 10, 32)
    size = int(0.6 * rate / 8 * rtt) + 8000
    chunk = int(rate / 8 * 0.2)
    it = trial(draw, sender, [line], [bulk(draw, sender, chunk=chunk, gap=draw.log("gap_s", 0.45, 0.8), spread=0.3)], rate=rate / 3, lasts=6, **ends(sender, {**hold, "sndbuf": size}, {**hold, "rcvbuf": hold["rcvbuf"] + size}))
    return without(it, app={"chunk": 0})
