"""Causes at hosts: their windows, buffers, programs, and whole hosts that stand still."""

from checks import both, check, faster, nothing_missing
from draw import case
from setups import base, bulk, holds, line, without


def reports(key, share):
    """What a program waited takes a share of the time."""
    return check(f"a program's waits ({key}) take at least {share:.0%} of the time", lambda truth, trial: truth["path"]["program"]["waits"].get(key, 0) >= share * truth["seconds"] > 0)


@case("window-of-a-small-buffer", ["receive-window"], "A program sets a small receive buffer.", count=2, check=both(faster(1.5), nothing_missing()))
def window_of_a_small_buffer(draw):
    rate, rtt = draw.log("rate", 1.5e7, 6e7), draw.log("rtt_ms", 25, 140)
    window = draw.log("window", 16000, 60000)
    window = min(window, int(rate / 8 * rtt / 1e3 / 2.2))
    sender = draw.turn("sender", "B", "A")
    it = base(draw, sender, [line(rate, rtt / 2, 200)], bulk(draw), rate=window * 8e3 / rtt, hosts=holds(rate, rtt, 100))
    receiver = "a" if sender == "B" else "b"
    it[receiver]["recv_octets"] = 2 * window
    return without(it, **{receiver: holds(rate, rtt, 100)})


@case("send-buffer-of-a-program", {"receiver": ["send-buffer", "receive-window", "congestion-window"], "else": ["send-buffer"]}, "A program sets a small send buffer.", count=2,
      check=both(faster(1.5), nothing_missing()))
def send_buffer_of_a_program(draw):
    rate, rtt = draw.log("rate", 1.5e7, 6e7), draw.log("rtt_ms", 20, 120)
    buffer = min(draw.log("buffer", 10000, 60000), int(rate / 8 * rtt / 1e3 / 2.5))
    sender = draw.turn("sender", "B", "A")
    it = base(draw, sender, [line(rate, rtt / 2, 200)], bulk(draw), rate=buffer * 8e3 / rtt, hosts=holds(rate, rtt, 100))
    it["a" if sender == "A" else "b"]["send_octets"] = buffer
    return without(it, **{"a" if sender == "A" else "b": {"send_octets": 0}})


@case("archive-is-packed-as-it-is-sent", ["sender-idle", "sender-stalls"], "A program prepares each block after the one before is written.", count=2, check=both(faster(1.5), reports("writer_s", 0.3)))
def archive_is_packed(draw):
    rate, rtt = draw.log("rate", 1.5e7, 4e7), draw.log("rtt_ms", 1, 20)
    block = draw.log("block", 40000, 200000)
    wait = block * 8e3 / rate * draw.log("times", 1.7, 3)
    sender = draw.turn("sender", "A", "B", "A")
    it = base(draw, sender, [line(rate, rtt / 2, 100)], bulk(draw, block=block, block_ms=wait, block_spread=draw.turn("spread", 0.05, 0.3)), rate=rate / 3, hosts=holds(rate, rtt, 70))
    return without(it, program={"block_ms": 0})


@case("host-stops-while-it-sends", ["sender-stalls", "sender-idle"], "The sending host stands still at intervals.", count=2, check=faster(1.3))
def host_stops_sending(draw):
    rate, rtt = draw.log("rate", 4e6, 1.5e7), draw.log("rtt_ms", 1, 20)
    stop = {"stop_every_ms": draw.log("every_ms", 500, 900), "stop_ms": draw.log("stop_ms", 220, 380)}
    sender = draw.turn("sender", "A", "B", "B")
    it = base(draw, sender, [line(rate, rtt / 2, 120)], bulk(draw), rate=rate / 2, hosts=holds(rate, rtt, 80))
    end = "a" if sender == "A" else "b"
    it[end].update(stop)
    return without(it, **{end: {"stop_ms": 0, "stop_every_ms": 0}})


@case("host-stops-while-it-receives", ["receiver-stalls"], "The receiving host stands still at intervals: nothing is acknowledged.", count=2, check=faster(1.3))
def host_stops_receiving(draw):
    rate, rtt = draw.log("rate", 5e6, 2e7), draw.log("rtt_ms", 2, 15)
    stop = {"stop_every_ms": draw.log("every_ms", 550, 900), "stop_ms": draw.log("stop_ms", 180, 340)}
    sender = draw.turn("sender", "A", "B", "B")
    it = base(draw, sender, [line(rate, rtt / 2, 150)], bulk(draw), rate=rate / 2, hosts=holds(rate, rtt, 60))
    end = "b" if sender == "A" else "a"
    it[end].update(stop)
    return without(it, **{end: {"stop_ms": 0, "stop_every_ms": 0}})


@case("database-imports-slowly", ["receiver-reads-slowly"], "The receiver's program reads less than the line brings.", count=2, check=both(faster(1.5), reports("reader_s", 0.5)))
def database_imports_slowly(draw):
    rate, rtt = draw.log("rate", 2e7, 6e7), draw.log("rtt_ms", 1, 30)
    block = draw.turn("block", 16384, 8192, 32768, 4096)
    reads = rate * draw.log("reads", 0.1, 0.4)
    sender = draw.turn("sender", "A", "B")
    it = base(draw, sender, [line(rate, rtt / 2, 150)], bulk(draw, read_octets=block, read_ms=block * 8e3 / reads, block_spread=0.15), rate=reads,
              hosts={"recv_octets": draw.turn("buffer", 131072, 262144, 400000)})
    return without(it, program={"read_ms": 0, "read_octets": 0})


def asks(draw, flavour, port, count, **more):
    return {"kind": "requests", "flavour": flavour, "port": port, "count": count, **more}


@case("report-takes-the-database-long", ["server-think-time"], "A database computes each answer.", count=2, check=both(faster(1.5), reports("server_s", 0.55)))
def report_takes_long(draw):
    rate, rtt, think = draw.log("rate", 1e7, 1e8), draw.log("rtt_ms", 0.6, 15), draw.log("think_ms", 60, 500)
    program = asks(draw, "sql", 3306, max(12, int(6000 / think)), answer=600, answer_most=20000, think_ms=think, think_spread=0.35)
    it = base(draw, "B", [line(rate, rtt / 2, 100)], program)
    return without(it, program={"think_ms": 0})


@case("person-or-program-thinks", ["client-think-time"], "The client works on each answer before it asks again.", count=2, check=both(faster(1.5), reports("client_s", 0.5)))
def client_thinks(draw):
    rate, rtt, wait = draw.log("rate", 8e6, 6e7), draw.log("rtt_ms", 1, 25), draw.log("wait_ms", 60, 300)
    program = asks(draw, draw.turn("flavour", "http", "smb", "sql"), draw.turn("port", 80, 445, 5432), max(16, int(5000 / wait)), answer=20000, answer_most=60000, wait_ms=wait, wait_spread=0.25)
    it = base(draw, "B", [line(rate, rtt / 2, 150)], program, hosts=holds(rate, rtt, 100))
    return without(it, program={"wait_ms": 0})


@case("one-query-after-the-other", ["one-in-flight"], "A program asks for one row after the other over a long path.", count=2, check=faster(1.8))
def one_query_after_the_other(draw):
    rate, rtt = draw.log("rate", 1e7, 5e7), draw.log("rtt_ms", 35, 160)
    program = asks(draw, draw.turn("flavour", "sql", "http", "smb"), draw.turn("port", 3306, 8080, 445), max(40, int(7000 / rtt)), answer=200, answer_most=1200, depth=1)
    it = base(draw, "B", [line(rate, rtt / 2, 100)], program)
    return without(it, program={"depth": 8})


@case("connection-for-each-request", ["one-in-flight", "slow-handshake"], "A client opens a connection for each small request.", count=2, check=faster(1.6))
def connection_for_each(draw):
    rate, rtt = draw.log("rate", 1e7, 5e7), draw.log("rtt_ms", 35, 110)
    program = asks(draw, "http", 80, max(24, int(5000 / rtt)), answer=200, answer_most=2000, is_new_each=True)
    it = base(draw, "B", [line(rate, rtt / 2, 100)], program)
    return without(it, program={"is_new_each": False, "depth": 4})


@case("files-over-new-connections-far-away", ["congestion-window"], "Each file of some hundred kilobytes begins with ten segments over a long path.", count=2, check=faster(1.3))
def files_over_new_connections(draw):
    rate, rtt = draw.log("rate", 2e7, 8e7), draw.log("rtt_ms", 120, 320)
    program = asks(draw, "http", 80, max(4, int(9000 / rtt / 5)), answer=draw.log("octets", 150000, 400000), is_new_each=True)
    it = base(draw, "B", [line(rate, rtt / 2, 400)], program, hosts={"recv_octets": int(rate / 8 * rtt / 1e3 * 2 + 400000)})
    return without(it, program={"is_new_each": False, "count": program["count"] * 4})


@case("request-in-two-writes", ["delayed-ack-with-nagle"], "A client writes each request in two parts, with Nagle's algorithm; the board delays acknowledgments.", count=2,
      check=faster(1.8))
def request_in_two_writes(draw):
    delay = draw.log("ack_delay_ms", 60, 200)
    program = asks(draw, "post", 80, max(14, int(6000 / delay)), request=draw.log("request", 200, 900), answer=60, fault="two-writes-up", block=draw.turn("first", 90, 120))
    it = base(draw, "A", [line(1e8, draw.log("delay_ms", 0.1, 4), 50)], program, a={"nagle": True, "gather_us": 0},
              b={"stack": "small", "ack_delay_ms": delay, "ack_every": 2, "frame_us": 60, "window": 5840})
    return without(it, a={"nagle": False})


@case("log-lines-one-by-one", ["small-writes"], "A program writes each line at once, without Nagle's algorithm.", count=2, gain=False,
      check=check("less than 160 octets for each segment", lambda truth, trial: 0 < truth["octets"] < 160 * truth["segments"] and truth["segments"] > 900))
def log_lines(draw):
    program = {"kind": "events", "port": 514, "size": draw.log("size", 24, 60, 2), "answer_most": 110, "each_ms": draw.log("each_ms", 0.7, 2.2), "block_spread": 0.5, "for_ms": 4500}
    program["size"] = int(program["size"])
    return base(draw, draw.turn("sender", "A", "B"), [line(draw.log("rate", 1e7, 1e8), draw.log("delay_ms", 3, 12), 100)], program)


@case("backup-limits-itself", {"receiver": ["host-pacing", "path-rate"], "else": ["host-pacing"]}, "The sending host shapes what it sends.", count=2, check=both(faster(1.8), nothing_missing()))
def backup_limits_itself(draw):
    rate, rtt, pace = draw.log("rate", 4e7, 9e7), draw.log("rtt_ms", 4, 40), draw.log("pace", 2e6, 9e6)
    sender = draw.turn("sender", "A", "B", "A")
    end = "a" if sender == "A" else "b"
    it = base(draw, sender, [line(rate, rtt / 2, 150)], bulk(draw), rate=pace, hosts=holds(pace, rtt, 150))
    it[end].update(pace_rate=pace, pace_burst=draw.turn("burst", 1514, 3028))
    it["a"].pop("merges", None), it["b"].pop("merges", None)
    return without(it, **{end: {"pace_rate": 0}})


@case("server-hangs-up", ["refused"], "The server's program ends while it sends, and its connection is reset.", count=2, gain=False, truncated=(0.995, 0.999),
      kinds=("sender", "receiver", "middle", "late", "snapped"), check=check("a program fails", lambda truth, trial: truth["octets"] < trial["octets"] * 0.6))
def server_hangs_up(draw):
    rate, rtt = draw.log("rate", 3e6, 2e7), draw.log("rtt_ms", 4, 40)
    sender = draw.turn("sender", "B", "A")
    fault = "hangs-up" if sender == "B" else "reader-quits"
    return base(draw, sender, [line(rate, rtt / 2, 120)], bulk(draw, fault=fault), rate=rate, octets=rate * 10 / 8, fixed_octets=True, limit_s=30, hosts=holds(rate, rtt, 80))


@case("tftp-over-a-long-line", ["one-in-flight"], "Blocks of 512 octets are acknowledged one by one.", count=2, check=faster(1.8))
def tftp_over_a_long_line(draw):
    rtt = draw.log("rtt_ms", 8, 40)
    program = {"kind": "tftp", "port": 69, "size": 512, "window": 1, "retry_ms": 1000}
    it = base(draw, "B", [line(draw.log("rate", 8e6, 5e7), rtt / 2, 100)], program, octets=512 * 5000 / rtt, routed=False, nat=False)
    it["sender"] = "B"
    return without(it, program={"window": 8, "size": 1428})
