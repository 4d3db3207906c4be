"""Causes on the path: lines, queues, losses, what boxes on the way do."""

from checks import both, check, faster, filled, missing
from draw import case
from setups import bulk, holds, link, trial, without

FAR = ("sender", "middle", "late", "truncated", "snapped")
NEAR = ("receiver", "middle", "late", "truncated", "snapped")


def counted(name, least, most=None):
    """Parts of the path, or hosts, count at least so many, by the end of their name."""
    return check(f"at least {least} {name} counted", lambda truth, trial: sum(n for key, n in truth["path"]["parts"].items() if key.endswith(name)) >= least)


def limited(by, share):
    """What limited the sender takes that share of the time."""
    names = by.split("/")
    return check(f"the sender is limited by {by} for at least {share:.0%} of the time",
                 lambda truth, trial: sum(truth["path"]["socket"].get(it, 0) for it in names) >= share * truth["seconds"] > 0)


def way_of(sender):
    return "down" if sender == "B" else "up"


def plain(draw, low, high, rtt_low, rtt_high, queue=0.15, sender=None):
    """A sound line: rate, round trip, sender, and the hosts that fill it and never overflow it."""
    rate, rtt = draw.log("rate", low, high), draw.log("rtt_ms", rtt_low, rtt_high) / 1e3
    sender = sender or draw.turn("sender_is", "B", "A", "B")
    return rate, rtt, sender, link(rate, rtt / 2, queue, slow=1), {"rcvbuf": holds(rate, rtt, queue)}


@case("access-contract", {"late": ["policed", "shallow-queue"], "receiver": ["policed", "shallow-queue"], "else": ["policed"]}, "A policer with a small bucket drops what exceeds the contract.", count=4, check=both(counted("policed", 15), faster(1.3)))
def access_contract(draw):
    rate, rtt, sender = draw.log("rate", 4e5, 4.3e7), draw.log("rtt_ms", 9, 75) / 1e3, draw.turn("sender_is", "B", "A", "B")
    line = link(max(6e7, rate * 6), rtt / 2, 0.1)
    it = trial(draw, sender, [(way_of(sender), "policer", {"rate": rate, "burst": int(rate / 8 * draw.log("bucket_ms", 14, 55) / 1e3) + 3200}), line],
               [bulk(draw, sender)], rate=rate * 0.6, a={"rcvbuf": holds(rate, rtt, 0.3, 1) * 2}, b={"rcvbuf": holds(rate, rtt, 0.3, 1) * 2})
    return without(it, drop=["policer"])


@case("port-with-few-frames", {"late": ["shallow-queue", "random-loss"], "receiver": ["shallow-queue", "random-loss"], "else": ["shallow-queue"]}, "The queue before the slow line holds a few frames.", count=3, check=both(counted("overflow", 6), faster(1.3)))
def port_with_few_frames(draw):
    rate, rtt, sender, line, _ = plain(draw, 5.5e6, 7e7, 22, 95)
    frames = draw.turn("frames", 6, 9, 14)
    reno = {"variant": draw.turn("tcp", "newreno", "sack", "reno"), "rcvbuf": holds(rate, rtt, 0.3, 2), "ts": 0}
    it = trial(draw, sender, [link(rate, rtt / 2, None, qpkts=frames, slow=1)], [bulk(draw, sender)], rate=rate / 2, a=reno, b=reno)
    return without(it, links={"qpkts": 2000, "qbytes": holds(rate, rtt, 0.3, 2)})


@case("early-detection-too-early", ["shallow-queue", "random-loss"], "A queue with random early detection drops from a few frames on.", count=2, check=both(counted("red", 8), faster(1.3)))
def early_detection(draw):
    rate, rtt, sender, line, _ = plain(draw, 8e6, 3.5e7, 35, 90)
    host = {"variant": "sack", "rcvbuf": holds(rate, rtt, 0.3, 2)}
    it = trial(draw, sender, [link(rate, rtt / 2, None, qbytes=int(rate / 8 * 0.02), red=1, slow=1)], [bulk(draw, sender)], rate=rate / 2, a=host, b=host)
    return without(it, links={"red": 0, "qbytes": holds(rate, rtt, 0.3, 2)})


def deep(truth, it):
    return max(value for key, value in truth["path"]["parts"].items() if key.endswith("deepest_s")) >= 0.55


@case("modem-with-a-large-buffer", ["bufferbloat", "path-rate"], "A modem keeps more than half a second of data.", count=3, gain=False, check=both(filled(), check("a queue of at least 0.55 s", deep)))
def modem_buffer(draw):
    rate, rtt, queue = draw.log("rate", 2.3e5, 6e6), draw.log("rtt_ms", 13, 60) / 1e3, draw.log("queue_ms", 900, 3300) / 1e3
    sender = draw.turn("sender_is", "A", "B", "A")
    host = {"rcvbuf": int(rate / 8 * (queue * 1.5 + rtt)) + 20000, "hystart": 0}
    slow = link(rate, rtt / 2, queue, way_of(sender))
    return trial(draw, sender, [slow, link(rate * 3, rtt / 2, 0.3, "up" if sender == "B" else "down")], [bulk(draw, sender)], rate=rate, a=host, b=host, lasts=9, limit=90, bounds=(5, 25), aim=9, lan=(1e8, 1e8))


def lossy(draw, fault, low=4e6, high=6e7, rtt=(11, 80), sender=None, host=None, **more):
    rate, rtt, sender, line, hold = plain(draw, low, high, *rtt, sender=sender)
    it = trial(draw, sender, [line, (way_of(sender), "loss", fault)], [bulk(draw, sender)], rate=rate / 3, a={**hold, **(host or {})}, b={**hold, **(host or {})}, **more)
    return without(it, drop=["loss"])


@case("worn-patch-cable", ["random-loss"], "Bit errors: adapters drop long frames by their FCS.", count=4, check=both(faster(1.3), counted("lost_data", 8)))
def worn_patch_cable(draw):
    return lossy(draw, {"p": draw.log("share", 0.009, 0.03), "least": draw.turn("least", 300, 0, 600)}, rtt=(18, 90), low=6e6)


@case("radio-that-fades", ["random-loss", "loss-in-bursts", "retransmission-stalls"], "A radio link loses most frames for some milliseconds now and then (Gilbert-Elliott).", count=2, check=both(faster(1.3), counted("lost_data", 15)))
def radio_that_fades(draw):
    return lossy(draw, {"p": 0.0002, "enter": draw.log("each_ms", 130, 260) / 1e3, "stay": draw.log("fade_ms", 3, 7) / 1e3, "bad": 0.75}, low=5e6, high=2.6e7)


@case("bundle-of-two-lines", {"sender": ["reordering", "random-loss"], "else": ["reordering"]}, "Some packets take a line with a longer way.", count=3, check=both(faster(1.3), counted("detoured", 25)))
def bundle_of_two_lines(draw):
    rate, rtt, sender, line, hold = plain(draw, 9e6, 7.2e7, 12, 48)
    fault = (way_of(sender), "shuffle", {"p": draw.log("share", 0.01, 0.06), "by": rtt * draw.log("longer", 0.25, 0.7), "burst": draw.turn("burst", 1, 2, 1)})
    it = trial(draw, sender, [line, fault] if sender == "A" else [fault, line], [bulk(draw, sender)], rate=rate / 3, a={**hold, "variant": "sack", "sack": 1}, b={**hold, "variant": "sack", "sack": 1})
    return without(it, drop=["shuffle"])


@case("second-bridge", ["duplicate-frames"], "Two paths between bridges bring each frame twice before a slow line.", count=3, kinds=NEAR, check=both(counted("copied", 150), faster(1.25)))
def second_bridge(draw):
    rate, rtt, sender, line, hold = plain(draw, 2.7e6, 3.3e7, 2.2, 26)
    copies = (way_of(sender), "copies", {"p": draw.turn("share", 1, 0.7, 1), "by": draw.log("by_us", 60, 500) / 1e6})
    host = {"rcvbuf": holds(rate / 2, rtt, 0.12), "ids": 1, "variant": "sack"}
    it = trial(draw, sender, [copies, line] if sender == "A" else [line, copies], [bulk(draw, sender)], rate=rate / 2, a=host, b=host, one_end="receiver", middle="a" if sender == "B" else "b", v6=0)
    it["without"] = {"drop": ["copies"], "a": {"rcvbuf": holds(rate, rtt, 0.12)}, "b": {"rcvbuf": holds(rate, rtt, 0.12)}}
    return it


@case("memory-of-a-bridge", {"snapped": ["random-loss"], "sender": ["random-loss"], "else": ["checksum-errors"]}, "A bridge changes bits in its memory and sends a valid FCS.", count=3, check=both(counted("damaged", 8), faster(1.3)))
def memory_of_a_bridge(draw):
    rate, rtt, sender, line, hold = plain(draw, 7e6, 2.4e7, 14, 55)
    fault = (way_of(sender), "damage", {"p": draw.log("share", 0.012, 0.035)})
    it = trial(draw, sender, [line, fault] if sender == "A" else [fault, line], [bulk(draw, sender)], rate=rate / 4, a=hold, b=hold, snap=2000, plain=1, middle="a" if sender == "B" else "b",
               one_end="receiver", lasts=3)
    return without(it, drop=["damage"])


@case("tunnel-without-messages", ["mtu-black-hole"], "A tunnel drops what is too long, and its messages are filtered.", count=3, kinds=FAR, gain=False, late=(0.004, 0.02), truncated=(0.5, 0.9),
      check=check("less than 20,000 octets arrive; four packets and more are too long", lambda truth, it: truth["octets"] < 20000 and sum(n for k, n in truth["path"]["parts"].items() if k.endswith("too_long")) >= 4))
def tunnel_without_messages(draw):
    rate, rtt, sender, line, hold = plain(draw, 6e6, 9e7, 12, 95)
    return trial(draw, sender, [line, ("both", "mtu", {"mtu": draw.turn("mtu", 1380, 1420, 1300)})], [bulk(draw, sender, bytes=3000000)], rate=rate, a=hold, b=hold, one_end="sender", limit=draw.turn("limit_s", 25, 40, 31), fixed=1)


@case("scaling-not-offered", {"late": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]}, "One end offers no window scaling over a long way.", count=3, check=both(faster(1.4), limited("rwnd", 0.5)))
def scaling_not_offered(draw):
    rate, rtt, sender, line, hold = plain(draw, 2.1e7, 9e7, 110, 290)
    host = {"rcvbuf": 65535, "ws": -1}
    receiver = "a" if sender == "B" else "b"
    it = trial(draw, sender, [line], [bulk(draw, sender)], rate=65535 * 8 / rtt, kinds=("linux", "linux"), **{receiver: host, ("b" if receiver == "a" else "a"): hold}, lasts=5)
    return without(it, **{receiver: {"rcvbuf": hold["rcvbuf"], "ws": 7}})


@case("plug-pulled-for-a-while", ["link-interrupted", "retransmission-stalls"], "Nothing passes for some seconds, in both directions.", count=3, late=(0.02, 0.1), truncated=(0.85, 0.95), check=both(faster(1.3), counted("interrupted", 3)))
def plug_pulled(draw):
    rate, rtt, sender, line, hold = plain(draw, 9e5, 1.6e7, 3, 55)
    at = draw.log("at_s", 1.1, 2.1)
    it = trial(draw, sender, [line, ("both", "outage", {"from": at, "to": at + draw.log("for_s", 1.7, 5.5)})], [bulk(draw, sender)], rate=rate, a=hold, b=hold, octets=rate * 5.3 / 8, fixed=1)
    return without(it, drop=["outage"])


@case("handover-of-a-cell", ["link-interrupted", "retransmission-stalls"], "A change of cells: the data's direction is dead for more than a second, twice.", count=2, late=(0.02, 0.1), truncated=(0.85, 0.95), check=both(faster(1.25), counted("interrupted", 3)))
def handover(draw):
    rate, rtt, sender, line, hold = plain(draw, 2.2e6, 9e6, 38, 70, sender="B")
    at, lasts = draw.log("at_s", 1.0, 1.6), draw.log("for_s", 1.2, 2.4)
    it = trial(draw, sender, [line, ("both", "outage", {"from": at, "to": at + lasts}), ("both", "outage", {"from": at + lasts + 2.2, "to": at + 2 * lasts + 2.2})], [bulk(draw, sender)], rate=rate, a=hold, b=hold,
               octets=rate * 5.5 / 8, fixed=1)
    return without(it, drop=["outage"])


@case("thin-uplink", ["ack-path-full"], "The uplink carries fewer acknowledgments than the download needs.", count=3, check=both(faster(1.3), counted("passed", 100)))
def thin_uplink(draw):
    rate, rtt, up = draw.log("rate", 1.7e7, 6.5e7), draw.log("rtt_ms", 14, 45) / 1e3, draw.log("up", 7e4, 2.1e5)
    host = {"rcvbuf": int(rate / 8 * (rtt + 0.06)), "ack_every": 2, "quick": 0, "ts": draw.turn("ts", 1, 0, 1)}
    it = trial(draw, "B", [link(rate, rtt / 2, 0.2, "down"), link(up, rtt / 2, 1.5, "up", slow=1)], [bulk(draw, "B")], rate=rate / 4, a=host, b=host, lan=(1e8, 1e9))
    return without(it, links={"rate": rate / 4, "qbytes": 200000})


@case("backup-beside-a-download", ["ack-path-full", "bufferbloat"], "An upload fills the queue that the download's acknowledgments need.", count=2, check=faster(1.35))
def backup_beside(draw):
    rate, rtt, up = draw.log("rate", 9e6, 3.2e7), draw.log("rtt_ms", 13, 33) / 1e3, draw.log("up", 4.2e5, 1.3e6)
    host = {"rcvbuf": int(rate / 8 * (rtt + 0.12))}
    download, upload = bulk(draw, "B", flavour="http", port=80), {"kind": "bulk", "flavour": "http", "port": 8443, "dir": "up", "bytes": 4e7, "background": 1, "arp": 0}
    it = trial(draw, "B", [link(rate, rtt / 2, 0.15, "down"), link(up, rtt / 2, 0.8, "up")], [download, upload], rate=rate / 2, a={**host, "hystart": 0}, b={"rcvbuf": int(up / 8 * 1.2)})
    return without(it, apps=[download])


@case("stream-over-a-thin-line", ["above-path-rate"], "A program sends datagrams faster than the line carries.", count=3, kinds=NEAR, gain=False, check=missing(50))
def stream_over(draw):
    rate, more, sender = draw.log("rate", 3.1e5, 4.4e7), draw.log("times", 1.2, 1.9), draw.turn("sender_is", "B", "A", "B")
    size = draw.turn("size", 1316, 1172, 960)
    app = {"kind": "datagrams", "port": draw.turn("port", 5001, 5004, 1234), "size": size, "rate": rate * more, "for": draw.log("for_s", 5, 9), "dir": way_of(sender), "flavour": draw.turn("flavour", "numbered", "rtp", "numbered")}
    return trial(draw, sender, [link(rate, draw.log("delay_ms", 1, 20) / 1e3, draw.log("queue_s", 0.04, 0.15))], [app], rate=rate, a={"ids": 1}, b={"ids": 1}, one_end="receiver", middle="a" if sender == "B" else "b", v6=0)


@case("duplex-by-hand", ["duplex-mismatch", "random-loss", "retransmission-stalls", "loss-in-bursts"], "One end of a cable is set to full duplex by hand, the other falls back to half duplex.", count=4, check=both(faster(1.5), counted("fcs_error", 8)))
def duplex_by_hand(draw):
    sender, rate = draw.turn("sender_is", "B", "A"), draw.turn("rate", 1e7, 1e8, 1e8, 1e7)
    rtt = draw.log("rtt_ms", 1.5, 9) / 1e3
    medium = ("both", "medium", {"rate": rate, "mode": 1, "half_down": draw.turn("half_is_down", 0, 1, 1, 0)})
    host = {"rcvbuf": holds(rate, rtt, 0.01) + 20000}
    it = trial(draw, sender, [medium, link(2e8, rtt / 2, 0.2)], [bulk(draw, sender)], rate=rate / 5, a=host, b=host, limit=90)
    it["without"] = {"parts": [link(rate, 0, 0.1) if x[1] == "medium" else x for x in it["parts"]]}
    return it
