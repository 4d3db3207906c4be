"""Healthy links: full paths, and exchanges that nothing slows."""

from cases_path import plain, way_of
from checks import both, check, filled, missing, nothing_missing
from draw import control
from setups import bulk, holds, link, trial

BOTH = ("linux", "linux")


def lasts(least):
    return check(f"lasts {least} s and more, and ends", lambda truth, it: truth["ended_s"] >= least)


def lost_few(most):
    return check(f"at most {most} segments are lost", lambda truth, it: 0 <= truth["lost_segments"] <= most)


def quiet(draw, rtt_low, rtt_high, apps, sender="B", rates=(2e6, 9e8), **more):
    rate, rtt = draw.log("rate", *rates), draw.log("rtt_ms", rtt_low, rtt_high) / 1e3
    return trial(draw, sender, [link(rate, rtt / 2, 0.15)], apps, rate=rate, limit=more.pop("limit", 90), **more)


def full(draw, low, high, rtt_low, rtt_high, queue=0.08, share=0.5, sender=None, **more):
    rate, rtt, sender, line, hold = plain(draw, low, high, rtt_low, rtt_high, queue=queue, sender=sender)
    hold = {"rcvbuf": holds(rate, rtt, queue, share)}
    return trial(draw, sender, [line], [bulk(draw, sender)], rate=rate, a={**hold, **more.pop("host", {})}, b={**hold, **more.pop("other", {})}, **more)


@control("copy-at-a-gigabit", "A file over a gigabit LAN.", count=3, check=both(filled(), lost_few(0)))
def copy_gigabit(draw):
    offload = draw.turn("offload", 0, 1, 1)
    return full(draw, 8.6e8, 1e9, 0.25, 1.2, queue=0.007, share=0.3, kinds=BOTH, lasts=0.9, bounds=(0.5, 1.6), aim=0.9, lan=(1e9, 1e9), hops=1, snap=96, host={"tso": offload, "gro": offload, "tx_cost": 0.000001}, other={"tso": offload, "gro": offload, "tx_cost": 0.000001})


@control("copy-over-fast-ethernet", "A file over 100 Mbit/s.", count=3, check=both(filled(), lost_few(0)))
def copy_fast(draw):
    return full(draw, 8.9e7, 1e8, 0.3, 4, queue=0.015, lasts=2.6, bounds=(1.8, 5), aim=2.6)


@control("fibre-download", "A download that fills an access line of some hundred megabits.", count=3, check=both(filled(0.8), lost_few(0)))
def fibre_download(draw):
    return full(draw, 1.4e8, 5.2e8, 3, 14, queue=0.03, kinds=BOTH, lasts=1.6, bounds=(1, 3), aim=1.6, snap=96)


@control("line-of-a-household", "A transfer fills an access line.", count=4, check=both(filled(), lost_few(0)))
def household(draw):
    return full(draw, 1.7e6, 5.6e7, 11, 42, queue=0.12, lasts=5, bounds=(3, 9))


@control("modem-of-the-nineties", "A transfer fills a slow line with small segments.", count=3, check=both(filled(0.7), lost_few(0)))
def modem_nineties(draw):
    # The queue holds two tenths of a second and hardly fills.
    mss = draw.turn("mss", 536, 576, 512)
    rate, rtt, sender, line, _ = plain(draw, 6.4e4, 3.8e5, 90, 190, queue=0.9)
    host = {"mss": mss, "ws": -1, "ts": 0, "delack": 0.1, "rcvbuf": int(rate / 8 * (rtt + 0.13)) + mss}
    return trial(draw, sender, [line], [bulk(draw, sender)], rate=rate, a=host, b=host, lasts=12, bounds=(7, 25), aim=12, v6=0, limit=120, lan=(1e8, 1e8), kinds=("bsd", "bsd"))


@control("transfer-across-an-ocean", "A long transfer fills a line with a long round trip.", count=3, late=(0.3, 0.5), check=both(filled(0.8), lost_few(0)))
def across_an_ocean(draw):
    return full(draw, 2.1e6, 1.6e7, 85, 230, queue=0.12, kinds=BOTH, lasts=12, bounds=(9, 18), aim=12)


@control("slow-radio-that-is-full", "A slow radio link whose rate varies is full.", count=3, check=both(filled(0.6), lost_few(0)))
def slow_radio(draw):
    rate, rtt, sender = draw.log("rate", 1.6e5, 6e6), draw.log("rtt_ms", 24, 110) / 1e3, draw.turn("sender_is", "B", "A", "B")
    host = {"rcvbuf": holds(rate, rtt, 0.12)}
    return trial(draw, sender, [link(rate, rtt / 2, 0.5, vary=draw.log("vary", 0.12, 0.3), cycle=draw.log("cycle_s", 1.3, 3.5), jitter=0.0015)], [bulk(draw, sender)], rate=rate, a=host, b=host, lasts=8, bounds=(5, 14), aim=8, lan=(1e8, 1e9))


@control("queue-that-fills-and-drains", "A loss-based TCP fills a queue of less than 150 ms that is as long as the path needs.", count=3, check=filled(0.8))
def queue_fills(draw):
    rate, rtt = draw.log("rate", 5e6, 4.5e7), draw.log("rtt_ms", 18, 75) / 1e3
    sender = draw.turn("sender_is", "B", "A")
    host = {"rcvbuf": int(rate / 8 * 0.5) + 30000, "variant": "cubic"}
    return trial(draw, sender, [link(rate, rtt / 2, min(0.145, max(0.06, rtt * 1.3)))], [bulk(draw, sender)], rate=rate, a=host, b=host, lasts=8, bounds=(5, 12), aim=8, kinds=BOTH)


@control("managed-queue", "A line with CoDel is full, and its queue is short.", count=2, check=filled(0.8))
def managed_queue(draw):
    rate, rtt, sender = draw.log("rate", 8e6, 4e7), draw.log("rtt_ms", 9, 28) / 1e3, draw.turn("sender_is", "B", "A")
    host = {"rcvbuf": int(rate / 8 * 0.4), "variant": "cubic"}
    return trial(draw, sender, [link(rate, rtt / 2, 0.5, codel=1)], [bulk(draw, sender)], rate=rate, a=host, b=host, lasts=6, bounds=(4, 10), aim=6, kinds=BOTH)


@control("download-with-a-loss-or-two", "A full line loses one or two segments.", count=4, check=both(filled(0.8), missing(1), lost_few(3)))
def loss_or_two(draw):
    rate, rtt, sender, line, _ = plain(draw, 2.4e6, 4.6e7, 9, 36, queue=0.15)
    hold = {"rcvbuf": holds(rate, rtt, 0.13, 0.9)}
    segments = rate * 6 / 8 / 1460
    lost = "/".join(str(int(segments * x)) for x in ((0.35,), (0.3, 0.62), (0.7,), (0.44, 0.45))[draw.number % 4])
    fault = (way_of(sender), "loss", {"which": lost})
    return trial(draw, sender, [line, fault] if sender == "A" else [fault, line], [bulk(draw, sender)], rate=rate, a=hold, b=hold, lasts=6, bounds=(4, 9), aim=6, kinds=BOTH)


@control("up-and-down-at-once", "Files in both directions fill a symmetric line.", count=3, check=both(filled(0.68), lost_few(0)))
def up_and_down(draw):
    rate, rtt = draw.log("rate", 6e6, 9.4e7), draw.log("rtt_ms", 3, 26) / 1e3
    hold = {"rcvbuf": holds(rate, rtt, 0.08)}
    down, up = bulk(draw, "B", flavour="http", port=80), {"kind": "bulk", "flavour": "http", "port": 8443, "dir": "up", "arp": 0, "start": 0.05}
    return trial(draw, "B", [link(rate, rtt / 2, 0.12)], [down, up], rate=rate, a=hold, b=hold, lasts=4, kinds=BOTH)


@control("four-connections-share-a-line", "Four downloads of one client fill a line.", count=2, check=filled(0.8))
def four_connections(draw):
    rate, rtt = draw.log("rate", 1.1e7, 6e7), draw.log("rtt_ms", 9, 30) / 1e3
    hold = {"rcvbuf": int(holds(rate, rtt, 0.1) / 4) + 9000}
    return trial(draw, "B", [link(rate, rtt / 2, 0.14)], [{"kind": "bulk", "flavour": "http", "port": 80, "dir": "down", "arp": 0, "share": 0.25, "start": 0.01 + 0.004 * k} for k in range(1)] +
                 [{"kind": "bulk", "flavour": "http", "port": 8080 + k, "dir": "down", "arp": 0, "share": 0.25, "start": 0.02 + 0.006 * k} for k in range(3)], rate=rate, a=hold, b=hold, lasts=5)


@control("line-shared-with-others", "Other traffic takes a part of a line; a transfer takes the rest.", count=2, check=filled(0.45))
def line_shared(draw):
    rate, rtt = draw.log("rate", 7e6, 5e7), draw.log("rtt_ms", 8, 30) / 1e3
    hold = {"rcvbuf": holds(rate, rtt, 0.09)}
    other = ("down", "cross", {"rate": rate * draw.log("share", 0.15, 0.4), "size": 1100})
    return trial(draw, "B", [("down", "sink", {}), link(rate, rtt / 2, 0.16), other], [bulk(draw, "B")], rate=rate, a=hold, b=hold, lasts=5)


@control("hub-in-half-duplex", "A transfer over Ethernet in half duplex; collisions are repeated.", count=2, check=both(filled(0.62), lost_few(0)))
def hub(draw):
    rate, rtt, sender = 1e7, draw.log("rtt_ms", 0.8, 4) / 1e3, draw.turn("sender_is", "B", "A")
    host = {"rcvbuf": holds(rate, rtt, 0.02)}
    return trial(draw, sender, [("both", "medium", {"rate": rate, "mode": 0}), link(1e8, rtt / 2, 0.1)], [bulk(draw, sender)], rate=rate, a=host, b=host, lasts=4)


@control("datagrams-below-the-rate", "A stream of datagrams takes less than the line's rate.", count=4, check=both(lost_few(0), lasts(3)))
def datagrams_below(draw):
    rate, sender = draw.log("rate", 4e5, 3e8), draw.turn("sender_is", "A", "B")
    app = {"kind": "datagrams", "port": draw.turn("port", 5001, 1234, 5004), "size": draw.turn("size", 1200, 1316, 700), "rate": rate * draw.log("share", 0.35, 0.85), "for": draw.log("for_s", 3.5, 7) if rate < 5e7 else 3, "dir": way_of(sender), "wobble": draw.turn("wobble", 0.02, 0.3)}
    return trial(draw, sender, [link(rate, draw.log("rtt_ms", 0.6, 60) / 2e3, 0.15)], [app], rate=rate, snap=96)


@control("call", "Voice in both directions.", count=3, check=both(lost_few(2), lasts(5)))
def call(draw):
    app = {"kind": "datagrams", "flavour": "rtp", "port": 16384 + 2 * draw.number, "same_port": 1, "size": draw.turn("size", 172, 92, 52), "rate": draw.turn("size", 172, 92, 52) * 400, "for": draw.log("for_s", 6, 12), "dir": "both", "wobble": 0.01}
    return quiet(draw, 6, 140, [app], rates=(4e5, 9e7))


@control("camera", "Pictures by datagrams in groups.", count=2, check=both(lost_few(0), lasts(4)))
def camera(draw):
    rate = draw.log("stream", 8e5, 8e6)
    app = {"kind": "datagrams", "flavour": "rtp", "port": 5004, "size": 1200, "group": max(1, int(rate / 8 / 1200 / 25)), "rate": rate, "for": draw.log("for_s", 5, 8), "dir": "up"}
    return quiet(draw, 2, 30, [app], sender="A", rates=(3e7, 4e8))


@control("registers-polled-by-a-clock", "A controller polls registers at a steady interval.", count=3, check=both(lost_few(0), lasts(5)))
def registers(draw):
    each = draw.turn("each_s", 0.25, 1.0, 0.1)
    app = {"kind": "calls", "flavour": "modbus", "port": 502, "n": int(8 / each), "req": 12, "ans": 41, "each": each, "each_jitter": 0.01, "sthink": draw.log("turn_ms", 0.7, 5) / 1e3, "spread": 0.15}
    return quiet(draw, 0.4, 24, [app], rates=(1e7, 1e8), b={"nagle": 0})


@control("telemetry-now-and-then", "A sensor publishes small values.", count=3, check=both(lost_few(0), lasts(5)))
def telemetry(draw):
    gap = draw.log("gap_s", 0.4, 1.8)
    app = {"kind": "messages", "flavour": "mqtt", "port": 1883, "n": int(12 / gap), "size": draw.turn("size", 46, 90, 61), "spread": 0.1, "gap": gap, "gap_jitter": 0.05}
    return quiet(draw, 3, 160, [app], sender="A", rates=(2e5, 9e7))


@control("pages-read-by-a-person", "A person reads short pages.", count=3, check=both(lost_few(0), lasts(5)))
def pages(draw):
    app = {"kind": "calls", "flavour": "http", "port": 80, "n": draw.turn("n", 5, 7, 4), "req": 420, "ans": draw.turn("ans", 9000, 26000, 4000), "cthink": draw.log("reads_s", 1.6, 4), "sthink": draw.log("work_ms", 0.6, 5) / 1e3, "spread": 0.7}
    return quiet(draw, 0.7, 38, [app], rates=(1.5e7, 6e8))


@control("short-files-nearby", "Short files over a LAN, a connection for each.", count=3, check=both(lost_few(0), lasts(3)))
def short_files(draw):
    app = {"kind": "calls", "flavour": "http", "port": 8080, "n": 8, "per_conn": 1, "req": 120, "ans": draw.turn("ans", 6000, 45000, 130000), "each": draw.log("each_s", 0.6, 1.4), "each_jitter": 0.6, "sthink": 0.0004, "spread": 0.6}
    return quiet(draw, 0.25, 1.9, [app], rates=(9.4e7, 9.9e8))


@control("questions-nearby", "Requests and answers follow each other over a LAN without waiting.", count=3, check=both(lost_few(0), lasts(1)))
def questions_nearby(draw):
    app = {"kind": "calls", "flavour": "rpc", "port": draw.turn("port", 7180, 12040, 48020), "n": int(draw.log("n", 900, 2600)), "req": 70, "ans": draw.turn("ans", 120, 600, 1300), "sthink": 0.00003, "cthink": 0.00002, "spread": 0.1}
    return quiet(draw, 0.22, 0.7, [app], rates=(2e8, 9.9e8), a={"nagle": 0}, b={"nagle": 0}, snap=128)


@control("connection-kept-alive", "An idle connection with keep-alives.", count=2, check=both(lost_few(0), lasts(8)))
def kept_alive(draw):
    every = draw.log("every_s", 1.7, 6)
    app = {"kind": "messages", "flavour": "mqtt", "port": 8883, "n": 2, "size": 60, "gap": every * 5.5, "linger": every * 2.5}
    return quiet(draw, 8, 90, [app], sender="A", a={"keepalive": every}, limit=120)


@control("typed-by-a-person", "A person types; each key is echoed.", count=3, check=both(lost_few(0), lasts(5)))
def typed(draw):
    app = {"kind": "messages", "flavour": "ssh", "port": 22, "n": int(draw.log("keys", 40, 90)), "size": 36, "spread": 0, "gap": draw.log("gap_s", 0.13, 0.3), "random": 1, "echo": 52, "sthink": 0.001}
    return quiet(draw, 0.9, 70, [app], sender="A", a={"nagle": 0}, b={"nagle": 0})


@control("events-pushed", "A server pushes events when they happen.", count=2, check=both(lost_few(0), lasts(5)))
def events(draw):
    app = {"kind": "messages", "flavour": "rpc", "dir": "down", "port": 8443, "n": int(draw.log("n", 25, 60)), "size": draw.turn("size", 240, 900), "spread": 0.8, "gap": draw.log("gap_s", 0.15, 0.4), "random": 1}
    return quiet(draw, 5, 110, [app], b={"nagle": 0})


@control("film-by-chunks", "A player fetches a chunk at an interval; each comes at the line's rate.", count=3, check=both(lost_few(0), lasts(6)))
def film(draw):
    rate, rtt = draw.log("rate", 1.4e7, 9e7), draw.log("rtt_ms", 6, 22) / 1e3
    each = draw.turn("each_s", 2, 3, 2.4)
    app = {"kind": "calls", "flavour": "http", "port": 80, "n": 5, "req": 300, "ans": int(min(rate * 0.45 * each / 8, 2200000)), "each": each, "each_jitter": 0.03, "sthink": 0.0012, "spread": 0.25}
    host = {"rcvbuf": holds(rate, rtt, 0.09)}
    return trial(draw, "B", [link(rate, rtt / 2, 0.15)], [app], rate=rate, a=host, b=host, kinds=BOTH, snap=128)


@control("names-looked-up", "Names are looked up now and then.", count=2, check=both(lost_few(0), lasts(4)))
def names(draw):
    app = {"kind": "asks", "flavour": "dns", "port": 53, "n": 14, "gap": draw.log("gap_s", 0.3, 0.9), "gap_jitter": 1.2, "ans": 60, "sthink": draw.log("work_ms", 0.3, 6) / 1e3, "spread": 0.5}
    return quiet(draw, 0.8, 32, [app])


@control("clock-is-set", "A client asks a server for the time at an interval.", count=2, check=both(lost_few(0), lasts(5)))
def clock_set(draw):
    app = {"kind": "asks", "flavour": "ntp", "port": 123, "n": 7, "gap": draw.turn("gap_s", 2, 4), "ans": 48, "req": 48, "sthink": 0.00007}
    return quiet(draw, 4, 60, [app])


@control("values-asked-by-coap", "Values are asked for at an interval by CoAP.", count=2, check=both(lost_few(0), lasts(5)))
def values_asked(draw):
    app = {"kind": "asks", "flavour": "coap", "port": 5683, "n": 12, "gap": draw.log("gap_s", 0.5, 1.2), "ans": 0, "req": 0, "sthink": draw.log("turn_ms", 1, 9) / 1e3}
    return quiet(draw, 1, 24, [app], rates=(2.5e5, 5e6))


@control("several-clients", "A copy beside polled registers and a few look-ups on a LAN.", count=2, check=both(filled(0.7), lost_few(0)))
def several_clients(draw):
    rate, rtt = draw.log("rate", 4e7, 9.6e7), draw.log("rtt_ms", 0.5, 3) / 1e3
    hold = {"rcvbuf": holds(rate, rtt, 0.02)}
    apps = [bulk(draw, "B", flavour="http", port=80), {"kind": "calls", "client": "c", "flavour": "modbus", "port": 502, "n": 40, "req": 12, "ans": 41, "each": 0.2, "arp": 0, "sthink": 0.001, "background": 1}, {"kind": "asks", "client": "c", "flavour": "dns", "port": 53, "n": 9, "gap": 0.4, "ans": 60, "arp": 0, "background": 1}]
    return trial(draw, "B", [link(rate, rtt / 2, 0.08)], apps, rate=rate, a=hold, b=hold, more_hosts={"c": {"end": "A", "ip": "0a1407f3", "nagle": 0}}, v6=0, lasts=4)


@control("tunnel-that-tells", "A tunnel with a smaller MTU tells the sender by ICMP; the transfer fills the line.", count=2, check=both(filled(0.75), lost_few(40)))
def tunnel_that_tells(draw):
    rate, rtt, sender, line, _ = plain(draw, 5e6, 3.5e7, 9, 30)
    hold = {"rcvbuf": holds(rate, rtt, 0.1)}
    return trial(draw, sender, [line, ("both", "mtu", {"mtu": draw.turn("mtu", 1420, 1400), "tells": 1, "back": rtt / 2})] if sender == "B" else [("both", "mtu", {"mtu": draw.turn("mtu", 1420, 1400), "tells": 1, "back": 0.001}), line],
                 [bulk(draw, sender)], rate=rate, a=hold, b=hold, lasts=6, bounds=(4, 9), aim=6, kinds=BOTH)
