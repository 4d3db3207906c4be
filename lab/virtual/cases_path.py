"""Causes on the path: lines, queues, losses, what boxes on the way do."""

from checks import between, both, check, faster, filled, missing, nothing_missing
from draw import case
from setups import base, bulk, holds, line, lines, without

FAR = ("sender", "middle", "late", "truncated", "snapped")
NEAR = ("receiver", "middle", "late", "truncated", "snapped")


def counted(name, least):
    """Parts of the path count at least so many, by the end of their name."""
    return check(f"the path counts at least {least} {name}",
                 lambda truth, trial: sum(n for key, n in truth["path"]["parts"].items() if key.endswith(name)) >= least)


@case("cable-negotiates-ten", ["path-rate", "at-line-rate"], "A cable of the path runs at a tenth of the rate of its neighbours.", count=2, check=both(faster(3), filled()))
def cable_negotiates_ten(draw):
    rtt, sender = draw.log("rtt_ms", 0.6, 12), draw.turn("sender", "B", "A")
    slow = line(1e7, rtt / 2, 60)
    it = base(draw, sender, [slow], bulk(draw), rate=1e7, hosts=holds(1e7, rtt, 60), lan_a=1e9, lan_b=1e9)
    return without(it, path=[{**slow, "rate": 1e8, "queue_ms": 60}])


@case("modem-buffers-a-second", ["bufferbloat", "path-rate"], "A modem queues a second and more.", count=2, gain=False, check=both(filled(), counted("overflow", 0)))
def modem_buffers_a_second(draw):
    rate, rtt, queue = draw.log("rate", 8e5, 5e6), draw.log("rtt_ms", 15, 50), draw.log("queue_ms", 900, 2400)
    sender = draw.turn("sender", "A", "B", "A")
    slow = {"A": lines(rate * 6, rate, rtt / 2, queue), "B": lines(rate, rate, rtt / 2, queue)}[sender]
    return base(draw, sender, slow, bulk(draw), rate=rate, lasts_s=9, hosts=holds(rate, rtt, queue, 0.9))


@case("cell-line-buffers-while-it-fades", ["bufferbloat", "path-rate"], "A radio line whose rate falls keeps all that was sent before.", count=2, gain=False,
      check=counted("passed", 400))
def cell_line_buffers(draw):
    rate, rtt = draw.log("rate", 3e6, 9e6), draw.log("rtt_ms", 35, 60)
    slow = line(rate, rtt / 2, 3000, dir="down", rates=[rate, rate * 0.7, rate * 0.25, rate * 0.5], cycle_ms=4200, slot_ms=1)
    return base(draw, "B", [slow, line(rate / 3, rtt / 2, 300, dir="up")], bulk(draw), rate=rate * 0.6, lasts_s=9, hosts=holds(rate, rtt, 900, 0.9))


@case("switch-with-few-buffers", ["shallow-queue", "queue-overflow", "loss-in-bursts"], "The queue before the slow line holds a few frames.", count=2, check=both(faster(1.3), missing(12)))
def switch_with_few_buffers(draw):
    rate, rtt, frames = draw.log("rate", 6e6, 3e7), draw.log("rtt_ms", 18, 60), draw.turn("frames", 5, 8, 12, 16)
    sender = draw.turn("sender", "B", "A")
    it = base(draw, sender, [line(rate, rtt / 2, queue_frames=frames)], bulk(draw), rate=rate / 2, hosts={"recv_octets": int(rate / 8 * rtt / 1e3 * 4 + 80000)},
              congestion="reno", rate_of_line=rate)
    return without(it, path=[line(rate, rtt / 2, 400)])


@case("provider-polices", {"late": ["policed", "shallow-queue"], "else": ["policed"]}, "A policer drops what exceeds the contract.", count=2, check=both(counted("policed", 15), faster(1.3)))
def provider_polices(draw):
    rate, rtt, sender = draw.log("rate", 3e6, 1.5e7), draw.log("rtt_ms", 12, 45), draw.turn("sender", "B", "A")
    burst = int(rate / 8 * draw.log("bucket_ms", 18, 60) / 1e3) + 3000
    way = "down" if sender == "B" else "up"
    it = base(draw, sender, [line(1e8, rtt / 2, 60), {"kind": "police", "rate": rate, "burst": burst, "dir": way}], bulk(draw), rate=rate * 0.6,
              congestion=draw.turn("congestion", "cubic", "reno"), hosts={"recv_octets": int(rate / 8 * rtt / 1e3 * 5 + 90000)})
    return without(it, path=[line(1e8, rtt / 2, 60)])


def lossy(draw, share, low=6e6, high=3e7, rtt=(12, 50), sender=None, **more):
    """Random loss on a line that is otherwise sound."""
    rate, rtt_ms = draw.log("rate", low, high), draw.log("rtt_ms", *rtt)
    sender = sender or draw.turn("sender", "B", "A")
    clean = line(rate, rtt_ms / 2, 200)
    fault = {"kind": "loss", "dir": "down" if sender == "B" else "up", "share": share, **more}
    it = base(draw, sender, [clean, fault], bulk(draw), rate=rate / 3, hosts=holds(rate, rtt_ms, 120))
    return without(it, path=[clean])


@case("bad-connector", ["random-loss"], "A connector damages long frames, which the next adapter drops.", count=2, check=both(faster(1.4), missing(12)))
def bad_connector(draw):
    return lossy(draw, draw.log("share", 0.008, 0.03), least_size=600)


@case("power-line-crackles", ["random-loss", "loss-in-bursts"], "Clicks on the line take a few frames each.", count=2, check=both(faster(1.3), missing(20)))
def power_line_crackles(draw):
    return lossy(draw, 0, enter_ms=draw.log("each_ms", 100, 190), stay_ms=draw.log("click_ms", 4, 8), bad=0.7)


@case("radio-gives-up", ["random-loss"], "A radio repeats a frame twice, then gives up.", count=2, check=both(faster(1.3), missing(12)))
def radio_gives_up(draw):
    rate, retry = draw.log("rate", 1.2e7, 4e7), draw.log("retry", 0.2, 0.3)
    air = line(rate, 0.3, 300, aggregate=draw.turn("aggregate", 1, 4), access_us=90, retry=retry, retries=2)
    rtt = draw.log("rtt_ms", 20, 40)
    it = base(draw, "B", [air, line(1e8, rtt / 2)], bulk(draw), rate=rate / 6, hosts=holds(rate, rtt, 100), lan_a=1e9, lan_b=1e9)
    return without(it, path=[{**air, "retries": 9}, line(1e8, rtt / 2)])


@case("two-lines-of-different-length", ["reordering"], "Frames take turns on two lines, of which one is longer.", count=2, check=both(faster(1.2), counted("overflow", 0)))
def two_lines(draw):
    rate, rtt = draw.log("rate", 1e7, 3e7), draw.log("rtt_ms", 8, 25)
    sender = draw.turn("sender", "B", "A")
    clean = line(rate, rtt / 2, 150)
    fault = {"kind": "paths", "by_ms": rtt * draw.log("longer", 0.5, 0.9), "burst": draw.turn("turns_of", 1, 3, 2), "dir": "down" if sender == "B" else "up"}
    it = base(draw, sender, [clean, fault], bulk(draw), rate=rate / 3, hosts={**holds(rate, rtt, 120), "no_rack": True, "gather_us": 0})
    return without(it, path=[clean])


@case("loop-doubles-frames", ["duplicate-frames"], "A second way through the switches brings frames twice.", count=2, kinds=NEAR, check=both(counted("copied", 200), faster(1.25)))
def loop_doubles_frames(draw):
    rate, rtt = draw.log("rate", 4e6, 2e7), draw.log("rtt_ms", 3, 20)
    sender = draw.turn("sender", "B", "A")
    way = "down" if sender == "B" else "up"
    slow = line(rate, rtt / 2, 100)
    copies = {"kind": "copies", "share": draw.turn("share", 1, 0.6), "by_ms": draw.log("by_ms", 0.04, 0.4), "dir": way}
    # The copies are made before the slow line.
    path = [slow, copies] if sender == "B" else [copies, slow]
    it = base(draw, sender, path, bulk(draw), rate=rate / 2, hosts=holds(rate / 2, rtt, 70), one_end="receiver", middle="a" if sender == "B" else "b")
    return without(it, path=[slow])


@case("router-memory-flips-bits", {"snapped": ["random-loss"], "sender": ["random-loss"], "else": ["checksum-errors"]},
      "A router changes bits behind its check of the frame.", count=2, check=both(counted("damaged", 10), faster(1.3)))
def router_memory_flips_bits(draw):
    rate, rtt = draw.log("rate", 1.2e7, 2e7), draw.log("rtt_ms", 15, 40)
    sender = draw.turn("sender", "B", "A")
    clean = line(rate, rtt / 2, 200)
    fault = {"kind": "damage", "share": draw.log("share", 0.015, 0.04), "dir": "down" if sender == "B" else "up"}
    it = base(draw, sender, [clean, fault], bulk(draw), rate=rate / 4, hosts={**holds(rate, rtt, 120), "gather_us": 0}, snap=1600, unfilled=False,
              middle="a" if sender == "B" else "b", lasts_s=3)
    it["a"].pop("merges", None), it["b"].pop("merges", None)
    return without(it, path=[clean])


def silent(truth, trial):
    return truth["octets"] < 20000 and sum(n for key, n in truth["path"]["parts"].items() if key.endswith("too_long")) >= 4


@case("tunnel-swallows-full-segments", ["mtu-black-hole"], "A tunnel drops full segments and tells nobody.", count=2, kinds=FAR, gain=False, late=(0.01, 0.04),
      check=check("less than 20,000 octets arrive; four packets and more are too long for the tunnel", silent))
def tunnel_swallows(draw):
    rate, rtt = draw.log("rate", 8e6, 5e7), draw.log("rtt_ms", 10, 80)
    sender = draw.turn("sender", "A", "B", "A")
    return base(draw, sender, [line(rate, rtt / 2, 100), {"kind": "mtu", "mtu": draw.turn("mtu", 1400, 1380, 1280)}], bulk(draw, flavour="http", port=80), octets=2_000_000, fixed_octets=True,
                one_end="sender", limit_s=draw.turn("limit_s", 25, 40), strips_timestamps=False, merges=0)


@case("firewall-takes-window-scale", {"late": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]}, "A firewall removes the option of window scaling.", count=2,
      check=both(faster(1.4), nothing_missing()))
def firewall_takes_window_scale(draw):
    rate, rtt = draw.log("rate", 2e7, 6e7), draw.log("rtt_ms", 90, 260)
    sender = draw.turn("sender", "B", "A")
    clean = line(rate, rtt / 2, 300)
    it = base(draw, sender, [{"kind": "strip", "options": ["scale"]}, clean], bulk(draw), rate=65535 * 8e3 / rtt, hosts=holds(rate, rtt, 200))
    return without(it, path=[clean])


@case("plug-slips", ["link-interrupted", "retransmission-stalls"], "A cable has no contact for some seconds.", count=4, late=(0.05, 0.15), truncated=(0.85, 0.95),
      check=both(faster(1.25), counted("interrupted", 4), between(2, 25)))
def plug_slips(draw):
    rate, rtt = draw.log("rate", 3e6, 1.2e7), draw.log("rtt_ms", 4, 40)
    sender = draw.turn("sender", "B", "A")
    clean = line(rate, rtt / 2, 100)
    fault = {"kind": "outage", "at_ms": [draw.log("at_ms", 1200, 2000)], "for_ms": draw.log("for_ms", 1800, 5000)}
    it = base(draw, sender, [clean, fault], bulk(draw), rate=rate, octets=rate * 5 / 8, hosts=holds(rate, rtt, 70), fixed_octets=True)
    return without(it, path=[clean])


@case("uplink-too-thin-for-acknowledgments", ["ack-path-full"], "The uplink of an asymmetric line carries fewer acknowledgments than the download needs.", count=2,
      check=both(faster(1.35), nothing_missing()))
def uplink_too_thin(draw):
    rate, rtt, up = draw.log("rate", 1.6e7, 5e7), draw.log("rtt_ms", 15, 40), draw.log("up", 128e3, 256e3)
    path = lines(rate, up, rtt / 2, 400)
    it = base(draw, "B", path, bulk(draw), rate=rate / 4, hosts={"recv_octets": int(rate / 8 * 0.09) * 2, "gather_us": 0})
    it["a"].pop("merges", None), it["b"].pop("merges", None)
    return without(it, path=[path[0], {**path[1], "rate": rate / 4}])


@case("upload-beside-the-download", ["ack-path-full", "bufferbloat"], "An upload fills the queue that the download's acknowledgments need.", count=2, check=faster(1.4))
def upload_beside(draw):
    rate, rtt, up = draw.log("rate", 1e7, 3e7), draw.log("rtt_ms", 14, 30), draw.log("up", 5e5, 1.2e6)
    path = lines(rate, up, rtt / 2, 700)
    program = bulk(draw, other={"kind": "bulk", "flavour": "http", "port": 8443, "octets": int(up * 60 / 8), "up": True})
    it = base(draw, "B", path, program, rate=rate / 2, hosts={"recv_octets": int(rate / 8 * 0.12) * 2})
    return without(it, program={"other": None})


@case("stream-above-the-line", ["above-path-rate"], "A program sends datagrams faster than the line carries.", count=2, kinds=NEAR, gain=False, check=missing(60))
def stream_above(draw):
    rate, more, sender = draw.log("rate", 8e5, 8e6), draw.log("times", 1.25, 1.9), draw.turn("sender", "B", "A")
    size = draw.turn("size", 1316, 972, 1200, 700)
    program = {"kind": "datagrams", "port": 5004, "size": size, "rate": rate * more, "for_ms": draw.log("for_ms", 6000, 9000)}
    return base(draw, sender, [line(rate, draw.log("delay_ms", 1, 15), draw.log("queue_ms", 40, 120))], program, one_end="receiver", middle="a" if sender == "B" else "b")


@case("one-end-in-half-duplex", ["duplex-mismatch", "random-loss", "retransmission-stalls", "loss-in-bursts"], "One end of a cable negotiates nothing and falls back to half duplex.", count=4,
      check=both(counted("fcs_error", 8), faster(1.5)))
def one_end_in_half_duplex(draw):
    sender, half = draw.turn("sender", "B", "A"), draw.turn("half", "up", "up", "down", "down")
    rtt = draw.log("rtt_ms", 2, 9)
    cable = line(1e7, 0.002, 150, duplex=f"mismatch-{half}")
    it = base(draw, sender, [cable, line(1e8, rtt / 2)], bulk(draw), rate=2e6, hosts={"recv_octets": 90000, "gather_us": 0}, lan_a=1e8, lan_b=1e9,
              octets=1_500_000, limit_s=90)
    return without(it, path=[line(1e7, 0.002, 150), line(1e8, rtt / 2)])
