"""Causes at boards: a small TCP of its own (board)."""

import checks
from setups import at, board_pushes, board_reads, board_sends, case, line, without

STOPS = checks.both(checks.faster(1.5), checks.printed("stops", 8))


def sized(trial, bits_per_s):
    trial["octets"] = int(bits_per_s * 4.5 / 8)
    return trial


def other_board(trial, **changes):
    return without(trial, board={**trial["board"], **changes})


@case("board-window-of-three", ["receive-window"], "A board's window holds a few segments.", check=checks.faster(1.5), count=3)
def window(draw):
    mss = draw.turn("mss", 1460, 1452, 1400)
    segments = draw.turn("segments", 3, 6, 4)
    trial = line(draw, (5e6, 20e6), (25, 70), sender="A", queue=3, board={"mss": mss, "window": mss * segments, "ack_every": 1})
    return other_board(sized(board_reads(trial), mss * segments * 8000 / trial["rtt_ms"]), window=65000)


@case("board-of-one-buffer", ["late-acks", "receive-window"], "A board has a window of one segment and delays its acknowledgments.", check=checks.faster(1.5), count=3)
def one_buffer(draw):
    delay, mss = draw.turn("ack_ms", 200, 100, 250), draw.turn("mss", 536, 512, 480)
    trial = line(draw, (4e6, 20e6), (2, 12), sender="A", queue=3, board={"mss": mss, "window": mss, "ack_every": 2, "ack_ms": delay})
    return other_board(sized(board_reads(trial), mss * 8000 / (delay + trial["rtt_ms"])), ack_every=1)


@case("board-one-segment-each-ack", ["late-acks", "one-in-flight"], "A board has one segment in flight; the other end delays its acknowledgments.",
      check=checks.faster(1.5), count=3)
def waits_for_delayed(draw):
    size = draw.turn("size", 1460, 1024, 512)
    trial = line(draw, (4e6, 30e6), (1, 7), sender="B", queue=3, board={"in_flight": 1, "size": size, "push": 0})
    sized(trial, size * 8 / 0.044)
    return other_board(board_sends(trial) if draw.number % 2 else board_pushes(trial), in_flight=2)


@case("board-two-segments", ["send-buffer"], "A board's buffer holds a few segments of what it sends.", check=checks.faster(1.5), count=3)
def two(draw):
    segments = draw.turn("segments", 2, 4, 6)
    trial = line(draw, (8e6, 30e6), (28, 75), sender="B", queue=3, board={"in_flight": segments})
    sized(trial, segments * 1460 * 8000 / trial["rtt_ms"])
    return other_board(board_pushes(trial) if draw.number % 2 else board_sends(trial), in_flight=40)


@case("board-looks-every-tick", ["late-acks", "receive-window"], "A board looks for frames at the ticks of its clock; its window holds two segments.", check=checks.faster(1.5), count=3)
def ticks(draw):
    tick = draw.turn("poll_us", 20000, 50000, 32000)
    trial = line(draw, (10e6, 60e6), (0.5, 3), sender="A", queue=3, board={"window": 2920, "ack_every": 1, "poll_us": tick})
    trial["data"]["queue_octets"] = 60_000
    return other_board(sized(board_reads(trial), 2920 * 8e6 / tick), poll_us=0)


@case("board-erases-sectors", ["receiver-stalls"], "A board stops while it erases a sector of flash.", check=STOPS, count=3)
def sectors(draw):
    sector, erase = draw.turn("sector", 4096, 16384, 32768), draw.turn("erase_ms", 45, 90, 140)
    trial = line(draw, (5e6, 15e6), (1, 5), sender="A", queue=3, board={"window": 8760, "erase_octets": sector, "erase_ms": erase})
    trial["data"]["queue_octets"] = 60_000
    return other_board(sized(board_reads(trial), min(trial["rate"], sector * 8000 / erase)), erase_octets=0)


@case("board-reads-card", ["sender-stalls", "sender-idle"], "A board stops while it reads its card.", check=STOPS, count=3)
def card(draw):
    octets, pause = draw.turn("block", 8192, 16384, 32768), int(draw.log("pause_ms", 40, 110))
    trial = line(draw, (6e6, 25e6), (1, 6), sender="B", queue=3, board={"in_flight": 6, "read_octets": octets, "read_ms": pause})
    sized(trial, octets * 8000 / pause)
    return other_board(board_sends(trial) if draw.number % 2 else board_pushes(trial), read_octets=0)


@case("board-slow-processor", ["main-thread-bound", "receive-window", "late-acks"], "A board's processor takes milliseconds for each frame; its window is full.",
      check=checks.faster(1.5))
def processor(draw):
    cost = draw.log("frame_us", 1800, 4200)
    trial = line(draw, (40e6, 100e6), (0.3, 1), sender="A", queue=3, board={"window": 4380, "ack_every": 1, "frame_us": cost})
    trial["data"]["queue_octets"] = 60_000
    return other_board(sized(board_reads(trial), 1460 * 8e6 / (2 * cost)), frame_us=0)


@case("board-of-tiny-writes", ["small-writes"], "A board sends each value as a segment of its own.", check=checks.faster(2))
def tiny(draw):
    size = int(draw.log("size", 24, 110))
    trial = line(draw, (6e6, 20e6), (4, 14), sender="B", queue=3, board={"in_flight": 10, "size": size, "frame_us": draw.log("frame_us", 500, 1100)})
    sized(trial, size * 8e6 / trial["board"]["frame_us"] * 0.7)
    return other_board(board_pushes(trial), size=1460)


@case("board-drains-by-drops", ["receiver-reads-slowly", "silly-window"], "A board reads slowly, and tells of each few octets by which its window opens.", check=checks.faster(1.5))
def drops(draw):
    updates = int(draw.log("updates", 40, 160))
    trial = line(draw, (3e6, 10e6), (1, 5), sender="A", queue=3, board={"window": 2920, "ack_every": 1, "drain": draw.log("drain", 90e3, 200e3), "updates": updates})
    return other_board(sized(board_reads(trial), trial["board"]["drain"]), drain=0)


@case("board-takes-its-time", ["receiver-reads-slowly"], "A board's program reads slower than the line carries.", check=checks.faster(1.5))
def takes(draw):
    trial = line(draw, (5e6, 20e6), (2, 14), sender="A", queue=3, board={"window": draw.turn("window", 5840, 11680, 17520), "ack_every": 1,
                                                                       "drain": draw.log("drain", 4e5, 12e5), "updates": 2920})
    return other_board(sized(board_reads(trial), trial["board"]["drain"]), drain=0)


@case("board-ring-of-three", ["queue-overflow", "loss-in-bursts", "no-sack", "retransmission-stalls"], "A board's ring holds three frames; its window permits more.",
      check=checks.faster(1.4))
def ring(draw):
    trial = line(draw, (50e6, 100e6), (1, 4), sender="A", queue=3, board={"window": draw.turn("window", 11680, 14600, 17520), "ack_every": 1,
                                                                        "frame_us": draw.log("frame_us", 500, 1000)}, board_ring=3)
    trial["data"]["queue_octets"] = 90_000
    return without(sized(board_reads(trial), 1460 * 8e6 / (3 * trial["board"]["frame_us"])), board_ring=200)


@case("board-waits-for-its-timer", ["retransmission-stalls", "random-loss"], "A board repeats a lost segment after its time-out only.", check=checks.both(
    checks.faster(1.5), checks.missing(4)), count=3)
def timer(draw):
    trial = line(draw, (4e6, 15e6), (3, 12), sender="B", queue=3, board={"in_flight": draw.turn("in_flight", 2, 3, 4), "fast": 0,
                                                                       "rto_ms": draw.turn("rto_ms", 500, 800, 1000)},
                 data={"loss": draw.log("loss", 0.006, 0.015)})
    trial["octets"] = 1_300_000
    return without(board_pushes(trial) if draw.number % 2 else board_sends(trial), **at(trial, "data", loss=0))


def asked(draw, trial, size, reply, **more):
    trial["board"].update(mode="answer", size=size, reply=reply)
    trial.pop("octets")
    options = " ".join(f"{key}={value}" for key, value in more.items())
    trial["client"] = ("A", f"@P/ends ask host=@B size={size} reply={reply} most_s=8 nodelay=1 {options}")
    return trial


@case("board-computes", ["server-think-time"], "A board works on each answer.", check=checks.faster(1.5), count=3)
def computes(draw):
    think = draw.log("think_ms", 50, 260)
    trial = line(draw, (4e6, 20e6), (1, 9), sender="B", board={"ack_every": 1, "think_ms": int(think)})
    return other_board(asked(draw, trial, 40, draw.log("reply", 80, 900), count=max(15, int(4500 / think))), think_ms=0)


@case("registers-one-by-one", ["one-in-flight"], "A master asks a board for one register after the other over a long way.", check=checks.faster(1.5), count=3)
def registers(draw):
    trial = line(draw, (1e6, 10e6), (32, 90), sender="B", board={"ack_every": 1})
    asked(draw, trial, 12, draw.turn("reply", 11, 61, 131), count=max(30, int(5000 / trial["rtt_ms"])))
    return without(trial, client=("A", trial["client"][1] + " depth=4"))


@case("board-writes-between-requests", ["client-think-time"], "A board asks for a block, writes it, and asks for the next one.", check=checks.faster(1.5), count=3)
def between(draw):
    reply, pause = draw.log("reply", 2000, 16000), draw.log("pause_ms", 120, 350)
    trial = line(draw, (5e6, 20e6), (2, 10), sender="A", queue=3, board={"mode": "get", "size": 64, "reply": reply, "pause_ms": int(pause), "begins": "@D/begin",
                                                                       "window": 8760, "ack_every": 1, "count": max(12, int(5000 / pause))})
    trial.pop("octets")
    trial["servers"] = [("A", f"@P/ends answer size=64 reply={reply} nodelay=1")]
    trial["opener"], trial["cold"] = "B", 1
    trial["hops"]["P"] = "bridge" if trial["hops"]["P"] == "nat" else trial["hops"]["P"]
    return other_board(trial, pause_ms=1)
