"""Causes at boards: smoltcp, Mongoose, and small stacks on slow processors with few buffers."""

from checks import both, check, faster, missing, nothing_missing
from cases_ends import asks, reports
from draw import case
from setups import base, bulk, line, without


def board(stack, **more):
    return {"stack": stack, "frame_us": 45, **more}


def adapter(name, least):
    """The adapter of the board (B) counts at least so many."""
    return check(f"the board's adapter counts {name} at least {least} times", lambda truth, trial: truth["path"]["adapter_b"].get(name, 0) >= least)


def local(draw, rate=1e8, low=0.15, high=3, queue_ms=60):
    """A switch or a router between the host and the board."""
    return [line(rate, draw.log("delay_ms", low, high), queue_ms)]


@case("board-with-four-segments-of-window", ["receive-window"], "A board's window holds four segments, over a longer path.", count=2, check=both(faster(1.5), nothing_missing()))
def board_with_small_window(draw):
    rtt, window = draw.log("rtt_ms", 25, 90), draw.turn("window", 5840, 4380, 8760)
    it = base(draw, "A", [line(2e7, rtt / 2, 100)], bulk(draw), octets=window * 1e3 / rtt * 5, b=board("smoltcp", window=window))
    return without(it, b={"window": 65000})


@case("mongoose-takes-an-upload-from-afar", ["receive-window"], "Mongoose's window is 6,000 octets, over a longer path.", count=2, check=both(faster(1.5), nothing_missing()))
def mongoose_from_afar(draw):
    rtt = draw.log("rtt_ms", 30, 90)
    it = base(draw, "A", [line(2e7, rtt / 2, 100)], bulk(draw, flavour="http", port=80), octets=5000 * 1e3 / rtt * 5, b=board("mongoose"))
    return without(it, path=[line(2e7, 0.5, 100)])


@case("board-with-a-small-send-buffer", {"receiver": ["send-buffer", "congestion-window"], "else": ["send-buffer"]}, "A board keeps a few segments until they are acknowledged.", count=2,
      check=both(faster(1.5), nothing_missing()))
def board_with_small_send_buffer(draw):
    rtt, buffer = draw.log("rtt_ms", 15, 80), draw.turn("buffer", 4380, 5840, 8760, 7300)
    stack = draw.turn("stack", "smoltcp", "small", "smoltcp", "mongoose")
    it = base(draw, "B", [line(2e7, rtt / 2, 100)], bulk(draw), octets=buffer * 1e3 / rtt * 5, b=board("smoltcp" if stack == "mongoose" else stack, buffer=buffer))
    return without(it, b={"buffer": 60000})


@case("board-waits-for-each-acknowledgment", ["one-in-flight"], "A board sends a segment only after the one before is acknowledged.", count=2, check=both(faster(1.6), nothing_missing()))
def board_waits_for_each(draw):
    rtt = draw.log("rtt_ms", 4, 40)
    it = base(draw, "B", [line(2e7, rtt / 2, 60)], bulk(draw), octets=1460 * 5e3 / (rtt + 1), b=board("small", one_in_flight=True, buffer=8760))
    return without(it, b={"one_in_flight": False})


@case("board-acknowledges-by-a-timer", ["late-acks", "receive-window"], "A board with a window of two segments delays its acknowledgments.", count=2, check=both(faster(1.6), nothing_missing()))
def board_acknowledges_by_a_timer(draw):
    delay = draw.log("ack_delay_ms", 40, 200)
    it = base(draw, "A", local(draw), bulk(draw), octets=2920 * 5e3 / delay, b=board("small", window=2920, ack_delay_ms=delay, ack_every=9))
    return without(it, b={"ack_delay_ms": 0, "ack_every": 1})


@case("board-looks-at-each-tick", ["late-acks", "receive-window"], "A board's main loop looks for frames at ticks.", count=2, check=both(faster(1.5), nothing_missing()))
def board_looks_at_ticks(draw):
    tick = draw.log("tick_ms", 10, 50)
    stack, window = draw.turn("stack", "smoltcp", "small", "smoltcp"), draw.turn("window", 2920, 2920, 2920)
    it = base(draw, "A", local(draw), bulk(draw), octets=window * 5e3 / tick, b=board(stack, window=window, tick_ms=tick))
    return without(it, b={"tick_ms": 0})


@case("board-with-two-descriptors", ["queue-overflow", "loss-in-bursts", "retransmission-stalls", "no-sack"], "A board has two descriptors, and a window that lets more arrive together.", count=2, check=both(faster(1.4), adapter("no_descriptor", 8)))
def board_with_few_descriptors(draw):
    stack = draw.turn("stack", "smoltcp", "small", "smoltcp", "mongoose")
    it = base(draw, "A", local(draw, 1e8, 1, 6), bulk(draw), octets=600_000, lan_b=1e8,
              b=board(stack, window=draw.turn("window", 14600, 11680, 17520), descriptors=2, frame_us=draw.log("frame_us", 300, 700)))
    return without(it, b={"descriptors": 0})


@case("card-writer-reads-small-blocks", ["receiver-reads-slowly"], "A board's program reads small blocks and writes each to a card.", count=2, check=both(faster(1.5), reports("reader_s", 0.5)))
def card_writer(draw):
    block, wait = draw.turn("block", 512, 1024, 2048), draw.log("read_ms", 6, 22)
    stack = draw.turn("stack", "smoltcp", "small", "smoltcp")
    it = base(draw, "A", local(draw), bulk(draw, read_octets=block, read_ms=wait, block_spread=0.12), octets=block * 5e3 / wait, b=board(stack, window=draw.turn("window", 8760, 11680, 16384)))
    return without(it, program={"read_ms": 0, "read_octets": 0})


@case("board-tells-each-octet", ["silly-window", "receiver-reads-slowly"], "A board opens its window by what its program has just read.", count=2, check=both(faster(1.5), reports("reader_s", 0.4)))
def board_tells_each_octet(draw):
    block, wait = draw.turn("block", 64, 100, 128), draw.log("read_ms", 2, 6)
    it = base(draw, "A", local(draw), bulk(draw, read_octets=block, read_ms=wait, block_spread=0.1), octets=block * 5e3 / wait, a={"gather_us": 0},
              b=board("small", window=draw.turn("window", 1460, 2048, 1460), tells_octets=True))
    return without(it, program={"read_ms": 0, "read_octets": 0}, b={"tells_octets": False})


@case("board-erases-flash", ["receiver-stalls"], "A board stands still while it erases a sector for what has arrived.", count=2, check=both(faster(1.4), check("the board stands still at least 5 times", lambda truth, trial: truth["path"]["b"].get("stops", 0) >= 5)))
def board_erases_flash(draw):
    sector, erase = draw.turn("sector", 32768, 16384, 65536, 32768), draw.log("erase_ms", 90, 350)
    stack = draw.turn("stack", "smoltcp", "small", "mongoose", "smoltcp")
    it = base(draw, "A", local(draw, 2e7), bulk(draw, flavour="http", port=80), octets=sector * 11, b=board(stack, window=draw.turn("window", 8760, 5840), stop_per_octets=sector, stop_ms=erase, frame_us=250))
    return without(it, b={"stop_per_octets": 0})


@case("board-reads-a-card-between", ["sender-idle", "sender-stalls"], "A board reads each block from a card before it sends it.", count=2, check=both(faster(1.5), reports("writer_s", 0.45)))
def board_reads_a_card(draw):
    block, wait = draw.turn("block", 4096, 8192, 2048), draw.log("wait_ms", 25, 70)
    stack = draw.turn("stack", "mongoose", "smoltcp", "small")
    it = base(draw, "B", local(draw, 1e7), bulk(draw, block=block, block_ms=wait, block_spread=0.15), octets=block * 5e3 / wait, b=board(stack, buffer=8760, frame_us=120))
    return without(it, program={"block_ms": 0})


@case("board-sleeps-between-beacons", ["wake-up-latency"], "A board's radio sleeps; the access point keeps frames until the next beacon.", count=2, gain=False, check=adapter("held_for_beacon", 7))
def board_sleeps(draw):
    beacon = draw.turn("beacon_ms", 102.4, 204.8, 307.2, 102.4)
    flavour, port = draw.turn("service", ("modbus", 502), ("http", 80), ("modbus", 502), ("http", 8080))
    program = asks(draw, flavour, port, 26, answer=20 if flavour == "modbus" else 300, wait_ms=draw.log("wait_ms", 900, 2400), wait_spread=0.4)
    stack = draw.turn("stack", "smoltcp", "small", "mongoose", "smoltcp")
    return base(draw, "B", local(draw, 2e7), program, b=board(stack, beacon_ms=beacon, awake_ms=draw.turn("awake_ms", 30, 50)))


@case("processor-takes-long-for-each-frame", ["main-thread-bound", "receive-window", "path-rate", "late-acks"], "A board's processor takes milliseconds for each frame.", count=2, check=both(faster(1.5), nothing_missing()))
def processor_takes_long(draw):
    cost = draw.log("frame_us", 1500, 5000)
    stack = draw.turn("stack", "small", "smoltcp")
    it = base(draw, "A", local(draw), bulk(draw), octets=1460 * 4.5e6 / (cost * 1.5), b=board(stack, window=draw.turn("window", 4380, 5840, 2920), frame_us=cost))
    return without(it, b={"frame_us": 100})


@case("board-with-tiny-segments", ["small-mss", "main-thread-bound"], "A board offers segments of 128 to 536 octets, and takes a time for each.", count=2, check=both(faster(1.5), nothing_missing()))
def board_with_tiny_segments(draw):
    mss = draw.turn("mss", 128, 256, 536)
    stack = draw.turn("stack", "smoltcp", "small")
    it = base(draw, "A", local(draw, 1e8, 0.1, 1), bulk(draw), octets=1_200_000 * mss / 536, b=board(stack, mss=mss, window=5840, frame_us=draw.log("frame_us", 250, 500)))
    return without(it, b={"mss": 1460})


@case("board-forgets-what-is-out-of-order", ["random-loss", "no-sack", "retransmission-stalls"], "Frames are lost, and a board without selective acknowledgments drops what follows them.", count=2,
      check=both(faster(1.4), missing(8)))
def board_forgets(draw):
    rtt = draw.log("rtt_ms", 8, 30)
    clean = [line(1e7, rtt / 2, 100)]
    it = base(draw, "A", [*clean, {"kind": "loss", "dir": "up", "share": draw.log("share", 0.02, 0.05)}], bulk(draw), octets=900_000, b=board("small", window=draw.turn("window", 11680, 17520), frame_us=100))
    return without(it, path=clean)


@case("board-waits-for-its-timer", ["retransmission-stalls", "random-loss", "no-sack"], "Frames are lost, and a board repeats them only when its timer ends.", count=2, check=both(faster(1.5), missing(5)))
def board_waits_for_its_timer(draw):
    rtt = draw.log("rtt_ms", 2, 20)
    clean = [line(1e7, rtt / 2, 100)]
    it = base(draw, "B", [*clean, {"kind": "loss", "dir": "down", "share": draw.log("share", 0.008, 0.02)}], bulk(draw), octets=1_000_000,
              b=board("small", buffer=8760, rto_ms=draw.log("rto_ms", 400, 1500), no_fast_resend=True, frame_us=100))
    return without(it, path=clean)


@case("broadcasts-drown-a-board", ["broadcast-storm"], "A loop brings broadcasts, for each of which the board takes time.", count=2, kinds=("receiver", "late", "truncated", "snapped"),
      check=faster(1.3))
def broadcasts_drown(draw):
    stack = draw.turn("stack", "smoltcp", "mongoose", "small")
    it = base(draw, "A", local(draw, 1e8, 0.1, 1), bulk(draw, flavour="http", port=80), octets=1_200_000, storm=draw.log("storm", 2000, 2500), one_end="receiver",
              b=board(stack, window=5840, frame_us=draw.log("frame_us", 290, 340), descriptors=16))
    return without(it, storm=0)


@case("board-measures-before-it-answers", ["server-think-time"], "A board measures for a while before it answers.", count=2, check=both(faster(1.5), reports("server_s", 0.6)))
def board_measures(draw):
    think = draw.log("think_ms", 30, 250)
    flavour, port = draw.turn("service", ("modbus", 502), ("http", 80), ("modbus", 502))
    program = asks(draw, flavour, port, int(7000 / think), answer=30 if flavour == "modbus" else 500, think_ms=think, think_spread=0.08)
    it = base(draw, "B", local(draw), program, b=board(draw.turn("stack", "mongoose", "smoltcp", "small")))
    return without(it, program={"think_ms": 0})


@case("loader-writes-flash-between-blocks", ["client-think-time", "one-in-flight"], "A loader asks for the next block when the one before is in its flash.", count=2, check=both(faster(1.6), reports("client_s", 0.55)))
def loader_writes_flash(draw):
    wait = draw.log("wait_ms", 12, 40)
    program = {"kind": "tftp", "port": 69, "size": draw.turn("size", 512, 1024), "window": 1, "retry_ms": 1500, "wait_ms": wait, "wait_spread": 0.08}
    it = base(draw, "B", local(draw, 1e8, 0.1, 0.5), program, octets=program["size"] * 5500 / wait, a=board(draw.turn("stack", "smoltcp", "small")), routed=False, nat=False)
    return without(it, program={"wait_ms": 0})


@case("polled-values-lost-on-the-radio", ["retransmission-stalls", "random-loss"], "Some requests and answers of a poll are lost, and come again when a timer ends.", count=2, check=both(faster(1.4), missing(4)))
def polled_values_lost(draw):
    clean = local(draw, 1e7, 2, 8)
    loss = {"kind": "loss", "share": draw.log("share", 0.05, 0.1)}
    program = asks(draw, "modbus", 502, 130, answer=20, wait_ms=5, wait_spread=0.3)
    it = base(draw, "B", [*clean, loss], program, b=board("small", rto_ms=draw.log("rto_ms", 500, 1000), no_fast_resend=True))
    return without(it, path=clean)
