"""Healthy links: an engineer finds nothing worth mending."""

from checks import both, check, filled, nothing_missing
from cases_board import board, local
from cases_ends import asks
from draw import control
from setups import base, bulk, holds, line, lines


def full(draw, low, high, rtt, queue=(40, 90), share=0.85, sender=None, **more):
    rate, rtt_ms, queue_ms = draw.log("rate", low, high), draw.log("rtt_ms", *rtt), draw.log("queue_ms", *queue)
    sender = sender or draw.turn("sender", "B", "A")
    hosts = holds(rate, rtt_ms, queue_ms)
    return base(draw, sender, [line(rate, rtt_ms / 2, queue_ms)], bulk(draw), rate=rate, hosts=hosts, **more)


def quiet():
    return check("some messages arrive, none is lost", lambda truth, trial: truth["octets"] > 0 and truth["lost_segments"] == 0 and truth["path"]["program"]["failures"] == 0)


@control("leased-line", "A line of some hundred kilobits a second is full.", count=2, check=both(filled(0.8), nothing_missing()))
def leased_line(draw):
    return full(draw, 128e3, 512e3, (20, 50), (180, 260), lasts_s=8)


@control("dsl-download", "A DSL line is full.", count=2, check=both(filled(0.7), nothing_missing()))
def dsl_download(draw):
    rate, up, rtt, queue = draw.log("rate", 2e6, 1.6e7), draw.log("up", 5e5, 1e6), draw.log("rtt_ms", 14, 35), 110
    cells = {"cells": True, "overhead": 0}
    return base(draw, "B", lines(rate, max(up, rate / 12), rtt / 2, queue, **cells), bulk(draw), rate=rate * 0.87, hosts=holds(rate, rtt, queue))


@control("dsl-upload", "The uplink of a DSL line is full.", count=2, check=both(filled(0.8), nothing_missing()))
def dsl_upload(draw):
    rate, rtt = draw.log("rate", 7e5, 2e6), draw.log("rtt_ms", 14, 30)
    return base(draw, "A", lines(rate * 10, rate, rtt / 2, 140), bulk(draw), rate=rate, lasts_s=6, hosts=holds(rate, rtt, 140))


@control("cable-download", "A cable line of tens of megabits a second is full.", count=2, check=both(filled(0.8), nothing_missing()))
def cable_download(draw):
    return full(draw, 1.5e7, 4e7, (8, 25), (30, 70), sender="B", lasts_s=3)


@control("fibre-both-ways-in-turn", "A fibre line is full.", count=2, check=both(filled(0.8), nothing_missing()))
def fibre(draw):
    return full(draw, 5e7, 1.6e8, (3, 9), (20, 40), lasts_s=2.6, lan_a=1e9, lan_b=1e9)


@control("gigabit-in-the-house", "A gigabit of Ethernet is full.", count=2, late=(0.4, 0.6), check=both(filled(0.8), nothing_missing()))
def gigabit(draw):
    rtt = draw.log("rtt_ms", 0.15, 0.6)
    it = base(draw, draw.turn("sender", "B", "A"), [line(1e9, rtt / 2, queue_frames=1500)], bulk(draw, flavour="raw", port=5201), rate=9.2e8, octets=3.2e7, fixed_octets=True, lan_a=1e9, lan_b=1e9,
              hosts={"recv_octets": 900000, "gather_us": 40, "gather": 24}, routed=False, nat=False, least_s=0.2, snap=96)
    it["a"]["merges"] = it["b"]["merges"] = True
    return it


@control("fast-ethernet", "A switch port of 100 Mbit/s is full.", count=2, check=both(filled(0.85), nothing_missing()))
def fast_ethernet(draw):
    rtt = draw.log("rtt_ms", 0.2, 1)
    return base(draw, draw.turn("sender", "B", "A"), [line(1e8, rtt / 2, queue_frames=400)], bulk(draw), rate=9.3e7, lasts_s=2.6, hosts={"recv_octets": 400000}, routed=False, nat=False, lan_a=1e9, lan_b=1e9)


@control("hub-in-half-duplex", "A hub of 10 Mbit/s carries one transfer.", count=2, check=both(filled(0.75), nothing_missing()))
def hub(draw):
    return base(draw, draw.turn("sender", "A", "B"), [line(1e7, draw.log("delay_ms", 0.01, 0.1), queue_frames=250, duplex="half")], bulk(draw), rate=1e7, hosts={"recv_octets": 160000, "gather_us": 0},
                routed=False, nat=False, lan_a=1e8, lan_b=1e8)


@control("radio-in-the-next-room", "A radio with aggregates, repeats and other stations is full.", count=2, check=both(filled(0.3), nothing_missing()))
def radio_next_room(draw):
    rate = draw.log("rate", 2e7, 6e7)
    air = line(rate, 0.4, 120, aggregate=draw.turn("aggregate", 8, 16, 4), access_us=80, retry=draw.log("retry", 0.03, 0.1), retries=9)
    return base(draw, draw.turn("sender", "B", "A"), [air, line(2e8, draw.log("delay_ms", 1, 8))], bulk(draw), rate=rate, lasts_s=2.6, hosts=holds(rate, 20, 60), lan_a=1e9, lan_b=1e9)


@control("cell-line", "A cellular line whose rate wanders is full.", count=2, check=both(filled(0.4), nothing_missing()))
def cell_line(draw):
    rate, rtt = draw.log("rate", 5e6, 2e7), draw.log("rtt_ms", 30, 50)
    down = line(rate, rtt / 2, 900, dir="down", walk_ms=120, walk_low=0.45, slot_ms=1)
    return base(draw, "B", [down, line(rate / 3, rtt / 2, 300, dir="up", slot_ms=5)], bulk(draw), rate=rate, lasts_s=3.5, hosts=holds(rate * 0.7, rtt, 90))


@control("satellite-with-large-windows", "A satellite line in time slots is full.", count=2, late=(0.4, 0.6), check=both(filled(0.8), nothing_missing()))
def satellite(draw):
    rate = draw.log("rate", 3e6, 8e6)
    path = [line(rate, 270, 700, dir="down", slot_ms=12), line(rate / 3, 270, 700, dir="up", slot_ms=26)]
    return base(draw, "B", path, bulk(draw), rate=rate, octets=rate * 30 / 8, fixed_octets=True, hosts=holds(rate, 580, 300))


@control("rare-loss-that-costs-nothing", "A full line loses a segment now and then, which costs nothing.", count=2, check=filled(0.85))
def rare_loss(draw):
    rate, rtt = draw.log("rate", 8e6, 2e7), draw.log("rtt_ms", 4, 12)
    it = base(draw, draw.turn("sender", "B", "A"), [line(rate, rtt / 2, 120), {"kind": "loss", "share": 0, "every": draw.log("every", 900, 1500)}], bulk(draw), rate=rate, hosts=holds(rate, rtt, 100))
    return it


@control("managed-queue", "A line with CoDel or a queue for each flow is full.", count=2, check=filled(0.8))
def managed_queue(draw):
    rate, rtt = draw.log("rate", 1e7, 3e7), draw.log("rtt_ms", 12, 30)
    more = draw.turn("discipline", {"aqm": "codel", "target_ms": 25}, {"fair": True})
    return base(draw, "B", [line(rate, rtt / 2, 120, **more)], bulk(draw), rate=rate, hosts=holds(rate, rtt, 22, 0.8))


@control("board-takes-an-upload", "A board at a line of 10 Mbit/s takes all that it carries.", count=2, check=both(filled(0.8), nothing_missing()))
def board_takes_an_upload(draw):
    return base(draw, "A", [line(1e7, 0.02, queue_frames=200)], bulk(draw, flavour="http", port=80), rate=1e7, b=board(draw.turn("stack", "small", "smoltcp", "small"), window=draw.turn("window", 11680, 14600), frame_us=40),
                routed=False, nat=False, lan_a=1e9, lan_b=1e8)


@control("board-sends-a-recording", "A board sends at the full rate of its line.", count=2, check=both(filled(0.8), nothing_missing()))
def board_sends(draw):
    return base(draw, "B", [line(draw.turn("rate", 1e7, 2e6, 5e6), 0.3, queue_frames=200)], bulk(draw, flavour="http", port=80), rate=draw.settings["rate"], b=board(draw.turn("stack", "mongoose", "smoltcp", "small"), buffer=17520, frame_us=40),
                a={"recv_octets": 120000}, lan_a=1e9, lan_b=1e8)


@control("polled-by-a-clock", "A master polls a board once in a second or so; the board answers at once.", count=2, check=quiet())
def polled_by_a_clock(draw):
    program = asks(draw, "modbus", 502, 40, answer=draw.turn("registers", 10, 40), each_ms=draw.turn("each_ms", 1000, 500, 250))
    return base(draw, "B", local(draw), program, b=board(draw.turn("stack", "smoltcp", "small", "mongoose")), routed=False, nat=False)


@control("messages-by-mqtt", "Sensors report each second or few.", count=2, check=quiet())
def messages_by_mqtt(draw):
    program = asks(draw, "mqtt", 1883, 24, request=60, answer=4, each_ms=draw.turn("each_ms", 1000, 2000))
    return base(draw, "A", [line(2e7, draw.log("delay_ms", 5, 25), 100)], program, a=board(draw.turn("stack", "smoltcp", "small")))


@control("pages-read-by-a-person", "A person reads pages; each comes at once.", count=2, check=quiet())
def pages_read(draw):
    program = {"kind": "pages", "flavour": "http", "port": 80, "count": 5, "connections": draw.turn("connections", 2, 4, 3), "depth": 3, "answer": 3000, "answer_most": 16000, "wait_ms": draw.log("reads_ms", 2500, 6000), "wait_spread": 0.5}
    return base(draw, "B", [line(draw.log("rate", 3e7, 9e7), draw.log("delay_ms", 2, 9), 80)], program)


@control("call", "Two people talk.", count=2, check=quiet())
def call(draw):
    program = {"kind": "call", "port": 16384, "size": draw.turn("size", 172, 92), "rate": 64000, "each_ms": draw.turn("each_ms", 20, 30), "for_ms": 9000}
    return base(draw, draw.turn("sender", "B", "A"), [line(draw.log("rate", 1e6, 2e7), draw.log("delay_ms", 5, 30), 100, jitter_ms=draw.log("jitter_ms", 0.2, 1.5))], program)


@control("camera-by-rtp", "A camera sends less than the line carries.", count=2, check=quiet())
def camera_by_rtp(draw):
    rate = draw.log("rate", 4e6, 2e7)
    program = {"kind": "datagrams", "port": 5004, "size": 1316, "rate": rate * 0.4, "burst": draw.turn("burst", 1, 6), "for_ms": 6000}
    return base(draw, draw.turn("sender", "A", "B"), [line(rate, draw.log("delay_ms", 1, 10), 100)], program)


@control("camera-over-one-connection", "A camera sends a picture each 33 or 66 ms, less than the line carries.", count=2, check=quiet())
def camera_over_tcp(draw):
    program = {"kind": "events", "port": 554, "size": 7000, "answer_most": 16000, "each_ms": draw.turn("each_ms", 66, 33), "block_spread": 0.01, "for_ms": 7000}
    return base(draw, "B", [line(draw.log("rate", 1.5e7, 5e7), draw.log("delay_ms", 0.5, 6), 80)], program, hosts={"recv_octets": 500000})


@control("video-by-chunks", "A player fetches a chunk each two or four seconds.", count=2, check=quiet())
def video_by_chunks(draw):
    each = draw.turn("each_ms", 2000, 4000)
    rate = draw.log("rate", 1.2e7, 3e7)
    program = asks(draw, "http", 80, 6, answer=int(rate / 8 * each / 1e3 * 0.18), each_ms=each)
    return base(draw, "B", [line(rate, draw.log("delay_ms", 4, 10), 150)], program, hosts=holds(rate, 25, 90))


@control("names-and-time", "A host asks for the time, or a name, now and then.", count=2, check=quiet())
def names_and_time(draw):
    flavour, port = draw.turn("service", ("ntp", 123), ("dns", 53))
    program = {"kind": "asks", "flavour": flavour, "port": port, "count": 14, "retry_ms": 2000, "retries": 2, "wait_ms": draw.log("wait_ms", 600, 2500), "wait_spread": 0.6}
    return base(draw, "A", [line(5e7, draw.log("delay_ms", 2, 15), 80)], program)


@control("agent-polled-each-seconds", "A manager asks an agent for some values each second.", count=2, check=quiet())
def agent_polled(draw):
    flavour, port = draw.turn("service", ("snmp", 161), ("coap", 5683))
    program = {"kind": "asks", "flavour": flavour, "port": port, "count": 20, "answer": 40, "retry_ms": 2000, "retries": 2, "each_ms": draw.turn("each_ms", 1000, 500)}
    return base(draw, "B", local(draw), program, b=board(draw.turn("stack", "smoltcp", "small")))


@control("files-from-a-share", "A client reads a file of a share, with several requests under way.", count=2, check=both(filled(0.75), nothing_missing()))
def files_from_a_share(draw):
    rate = draw.log("rate", 1.5e7, 4e7)
    program = asks(draw, "smb", 445, int(rate * 3.5 / 8 / 65536), answer=65536, depth=6)
    return base(draw, "B", [line(rate, draw.log("delay_ms", 0.3, 2), 150)], program, rate=rate, octets=1, fixed_octets=True, hosts=holds(rate, 4, 130))


@control("firmware-by-tftp-windows", "A board loads its firmware with a window of blocks.", count=2, check=both(nothing_missing(), check("payload takes 60% of the line", lambda truth, trial: truth["goodput_bits_per_s"] > 0.6 * trial["rate"])))
def firmware_by_tftp(draw):
    rate = draw.turn("rate", 2e6, 1e7)
    program = {"kind": "tftp", "port": 69, "size": 1428, "window": 16, "retry_ms": 1000}
    return base(draw, "B", [line(rate, 0.2, queue_frames=100)], program, rate=rate, lasts_s=4, routed=False, nat=False, a=board("smoltcp", frame_us=30))


@control("typed-by-a-person", "A person types at a terminal.", count=2, check=quiet())
def typed(draw):
    program = {"kind": "requests", "flavour": "mqtt", "port": 22, "count": 40, "request": 20, "answer": 4, "wait_ms": draw.log("wait_ms", 150, 320), "wait_spread": 0.6}
    return base(draw, "A", [line(2e7, draw.log("delay_ms", 3, 20), 80)], program)


@control("short-files-nearby", "Short files come from nearby, each at once.", count=2, check=quiet())
def short_files(draw):
    program = asks(draw, "http", 80, 20, answer=2000, answer_most=20000, is_new_each=draw.turn("new", True, False), wait_ms=draw.log("wait_ms", 500, 1500), wait_spread=0.7)
    return base(draw, "B", [line(1e8, draw.log("delay_ms", 0.2, 2), 80)], program)
