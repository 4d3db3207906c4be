"""Causes at simulated ends: windows, buffers, processors, rings, flash, sleep; programs that read, write, think or stop."""

from checks import both, check, faster, nothing_missing, takes_at_most
from draw import case
from simulated import ROOMY, SEGMENT, WIDE, counted, exchange, far, thought, without, world
from stacks import in_flight_at_most


@case("window-of-few", ["receive-window"], "The board grants a window of a few segments.", 4, check=faster(1.3))
def window_of_few(d):
    window = int(d.log("segments", 3, 10, 1)) * SEGMENT
    rate, rtt = far(d, window)
    it = world("A", "B", rate, rtt, 4, goodput=window * 7e3 / rtt, queue_ms=60, board_receives=window, opens=d.turn("opens", "A", "B"), tcp=d.turn("tcp", "TcpCubic", "TcpLinuxReno"))
    return without(it, octets=rate / 3, queue=WIDE, **ROOMY)


@case("window-and-loss", ["receive-window"], "The board grants a window of a few segments; a packet is lost now and then, which costs little.", 2, check=faster(1.5))
def window_and_loss(d):
    window = int(d.log("segments", 4, 9, 1)) * SEGMENT
    rate, rtt = far(d, window)
    it = world("A", "AB", rate, rtt, 5, goodput=window * 7e3 / rtt, queue_ms=60, board_receives=window, board_sends=390_000, loss=d.log("loss", 0.0005, 0.0012), ring=400, stack="full")
    return without(it, octets=rate / 3, board_receives=390_000, queue=WIDE)


@case("window-not-scaled", {"late": ["no-window-scaling", "receive-window"], "snapped": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]},
      "The board does not scale its window, and 64 KB are less than the path holds.", 3, check=faster(1.3))
def window_not_scaled(d):
    rate, rtt = d.log("rate", 12e6, 26e6), d.log("rtt_ms", 75, 170)
    it = world("A", "B", rate, rtt, 4, goodput=65e3 * 7e3 / rtt, queue_ms=80, board_receives=65_535, ring=400, tcp=d.turn("tcp", "TcpCubic", "TcpHtcp"))
    return without(it, octets=rate / 2, stack="full", board_receives=390_000, queue=4 * it["simulated"]["queue"])


@case("buffer-of-board", ["send-buffer", "congestion-window"], "The board keeps a few segments until they are acknowledged.", 4, check=both(faster(1.3), nothing_missing()))
def buffer_of_board(d):
    buffer = int(d.log("segments", 3, 9, 1)) * SEGMENT
    rate, rtt = far(d, buffer, 5e6, 20e6)
    it = world("B", "B", rate, rtt, 4, goodput=buffer * 7e3 / rtt, queue_ms=60, board_sends=buffer, opens=d.turn("opens", "B", "A"), acks_each=1)
    return without(it, octets=rate / 3, queue=WIDE, **ROOMY)


@case("buffer-of-host", ["send-buffer", "congestion-window"], "The sending host has a small buffer.", 2, check=both(faster(1.3), nothing_missing()))
def buffer_of_host(d):
    buffer = int(d.log("buffer", 9_000, 36_000))
    rate, rtt = far(d, buffer)
    it = world("A", d.turn("boards", "", "B"), rate, rtt, 4, goodput=buffer * 7e3 / rtt, queue_ms=60, host_sends=buffer, acks_each=1, **{**ROOMY, "board_receives": 390_000})
    return without(it, octets=rate / 3, host_sends=190_000, board_receives=390_000, queue=WIDE)


@case("one-segment-buffer", ["one-in-flight"], "The board's buffer holds one segment, which has to be acknowledged first.", 4, check=both(faster(1.3), in_flight_at_most(SEGMENT + 1)))
def one_segment_buffer(d):
    mss, rtt = d.turn("mss", SEGMENT, 536, SEGMENT, 1_024), d.log("rtt_ms", 1.5, 50)
    rate = d.log("rate", 4e6, 60e6)
    it = world("B", "B", rate, rtt, 4, goodput=mss * 7e3 / rtt, board_sends=mss, board_mss=mss, host_mss=1_448, acks_each=1, opens=d.turn("opens", "B", "A"), queue_ms=60)
    return without(it, octets=rate / 3, **{**ROOMY, "board_mss": mss}, queue=WIDE)


@case("one-segment-late-ack", ["late-acks", "one-in-flight"], "The board has one segment in flight, and the host delays its acknowledgment.", 3, check=both(faster(1.3), in_flight_at_most(SEGMENT + 1)))
def one_segment_late_ack(d):
    rtt, delay = d.log("rtt_ms", 1, 15), d.turn("acks_after", 40, 200, 100)
    it = world("B", "B", d.log("rate", 4e6, 40e6), rtt, 4, goodput=SEGMENT * 7e3 / (rtt + delay), board_sends=SEGMENT, acks_each=2, acks_after=delay, queue_ms=60)
    return without(it, octets=SEGMENT * 3e3 / rtt, acks_each=1)


@case("reads-in-steps", ["receiver-reads-slowly", "receive-window", "silly-window"], "The board's program reads a little at a time, and works on it.", 4, check=faster(1.3))
def reads_in_steps(d):
    rate, window = d.log("rate", 3e6, 30e6), int(d.log("segments", 3, 12, 1)) * SEGMENT
    chunk, share = int(d.log("chunk", 400, 1_460)), d.log("share", 0.08, 0.45)
    it = world("A", "B", rate, d.log("rtt_ms", 0.6, 12), 4, goodput=rate * share, queue_ms=60, board_receives=window, read_chunk=chunk, read_pause=max(1, round(chunk * 8e3 / (rate * share), 2)))
    return without(it, octets=rate / 3, read_chunk=0, read_pause=0)


@case("erases-sectors", ["receiver-stalls", "receiver-reads-slowly"], "The board stands still while it erases flash: nothing is acknowledged.", 3, check=faster(1.3))
def erases_sectors(d):
    sector, takes, rate = int(d.turn("sector", 65_536, 32_768, 131_072)), d.log("takes_ms", 90, 420), d.log("rate", 3e6, 12e6)
    it = world("A", "AB", rate, d.log("rtt_ms", 0.8, 20), 4, slow="B", board_sends=40_000, goodput=sector * 8e3 / (takes + sector * 9e3 / rate), queue_ms=120, board_receives=12 * SEGMENT, ring=64, still_each=sector, still_ms=takes)
    return without(it, octets=rate / 3, still_each=0, still_ms=0, queue=WIDE)


@case("card-is-read", ["sender-stalls", "sender-idle"], "The board stands still at intervals, while it reads its card.", 3, check=faster(1.3))
def card_is_read(d):
    works, still, rate = d.log("works_ms", 120, 460), d.log("still_ms", 180, 640), d.log("rate", 2e6, 12e6)
    it = world("B", "B", rate, d.log("rtt_ms", 1, 24), 5, goodput=rate * 0.8 * works / (works + still), queue_ms=60, board_sends=10 * SEGMENT, board_receives=8 * SEGMENT, ring=64, acks_each=1)
    words = {"still_works": works, "still_ms": still} if d.turn("who", "board", "program", "board") == "board" else {"works": works, "stops": still}
    it["simulated"] |= words
    return without(it, octets=rate / 3, **{key: 0 for key in words})


@case("sensor-fills-block", ["sender-idle", "sender-stalls"], "The board's program waits for each block before it writes it.", 3, check=faster(1.3))
def sensor_fills_block(d):
    block, pause, rate = int(d.log("block", 1_500, 9_000)), d.log("pause_ms", 12, 80), d.log("rate", 4e6, 40e6)
    it = world("B", "B", rate, d.log("rtt_ms", 0.6, 9), 4, goodput=block * 8e3 / pause, board_sends=12 * SEGMENT, chunk=block, pause=pause, acks_each=1, queue_ms=60)
    return without(it, octets=rate / 4, pause=0)


@case("bytes-from-uart", ["small-writes", "sender-idle"], "The board's program writes a few octets at a time, without Nagle's algorithm.", 3, check=faster(1.3))
def bytes_from_uart(d):
    octets, rtt, rate = int(d.log("octets", 12, 90)), d.log("rtt_ms", 5, 30), d.log("rate", 1.2e6, 6e6)
    it = world("B", "B", rate, rtt, 4, goodput=octets * 8e3 / 1.0, board_sends=40 * SEGMENT, chunk=octets, pause=1, no_delay=True, acks_each=2, queue_ms=60)
    return without(it, octets=rate / 4, chunk=0, pause=0)


@case("request-in-two-writes", ["delayed-ack-with-nagle"], "A request is written in two parts; the second one waits for the first one's late acknowledgment.", 3, check=faster(1.3))
def request_in_two_writes(d):
    after, answer = d.turn("acks_after", 200, 40, 200), int(d.log("answer", 30, 900))
    it = exchange("A", d.log("rate", 3e6, 40e6), d.log("rtt_ms", 0.6, 12), request=140, split=int(d.log("split", 8, 60)), answer=answer, asks=int(3_600 / (after + 4)),
                  acks_after=after, acks_each=2, nagle=True)
    # The data, most of it answers, comes from B; the client at A writes in two parts.
    return without(it, split=0)


@case("far-and-short", ["congestion-window"], "A short transfer over a long path ends before the window has grown.", 3, gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85), check=both(nothing_missing(), takes_at_most(0.5)))
def far_and_short(d):
    it = world(d.turn("sender", "B", "A"), d.turn("boards", "B", "", "B"), d.log("rate", 12e6, 40e6), d.log("rtt_ms", 100, 290), first_window=d.turn("first_window", 2, 4), queue_ms=80, acks_each=1, **ROOMY)
    return {**it, "octets": int(d.log("octets", 30e3, 120e3)), "fixed_octets": True, "least_s": 0.3}


@case("board-computes", ["server-think-time", "peer-turnaround"], "The board takes its time for each answer.", 3, gain=False, check=thought("think"))
def board_computes(d):
    think = d.log("think_ms", 90, 600)
    return exchange("B", d.log("rate", 2e6, 40e6), d.log("rtt_ms", 0.6, 40), request=int(d.log("request", 16, 300)), answer=int(d.log("answer", 20, 6_000)), think=think, asks=max(7, int(4_000 / think)),
                    board_sends=8_760)


@case("master-computes", ["client-think-time"], "The client works on each part before it asks for the next.", 3, gain=False, check=thought("client_pause"))
def master_computes(d):
    pause = d.log("pause_ms", 160, 520)
    return exchange(d.turn("boards", "A", "B", "AB"), d.log("rate", 9e6, 40e6), d.log("rtt_ms", 0.6, 20), request=int(d.log("request", 40, 200)), answer=int(d.log("answer", 9_000, 50_000)), think=0,
                    client_pause=pause, asks=max(7, int(4_000 / pause)), board_sends=12 * SEGMENT, board_receives=12 * SEGMENT, acks_each=1)


@case("doze", ["wake-up-latency", "server-think-time", "peer-turnaround"], "The board sleeps when idle, and looks for frames at intervals.", 3, check=faster(1.3))
def doze(d):
    wakes, awake = d.log("wakes_ms", 50, 300), d.log("awake_ms", 4, 14)
    it = exchange("B", d.log("rate", 2e6, 50e6), d.log("rtt_ms", 0.5, 12), request=int(d.log("request", 12, 90)), answer=int(d.log("answer", 12, 1_000)), think=0,
                  client_pause=awake + wakes * d.log("pause_share", 0.12, 0.45), asks=int(3_600 / wakes), wakes_ms=wakes, awake_ms=awake)
    return without(it, wakes_ms=0)


@case("polled-driver", ["late-acks", "receive-window", "delayed-ack-with-nagle", "main-thread-bound"], "The board's driver is polled at intervals; its window holds little more than a segment.", 3, check=faster(1.3))
def polled_driver(d):
    poll, rtt = d.log("poll_ms", 10, 60), d.log("rtt_ms", 0.6, 8)
    it = world("A", "B", d.log("rate", 6e6, 40e6), rtt, 4, goodput=1_500 * 8e3 / (poll + rtt), board_receives=d.turn("window", 2_920, 2_048, 1_460), poll_ms=poll, queue_ms=60)
    return without(it, octets=1_460 * 3e3 / (rtt + 1), poll_ms=0)


@case("small-processor", ["main-thread-bound", "per-frame-cost", "receive-window", "late-acks", "path-rate"], "The board's processor takes its time for each frame.", 3, check=faster(1.3))
def small_processor(d):
    each, window = int(d.log("frame_us", 900, 4_000)), int(d.log("segments", 4, 10, 1)) * SEGMENT
    it = world("A", "B", d.log("rate", 20e6, 60e6), d.log("rtt_ms", 0.3, 2), 4, goodput=1_448 * 8e6 / each, board_receives=window, frame_us=each, ring=64, queue_ms=60)
    return without(it, octets=6e6, frame_us=0)


@case("ring-of-few", {"late": ["queue-overflow", "shallow-queue", "loss-in-bursts", "random-loss", "retransmission-stalls", "no-sack"],
                       "else": ["queue-overflow", "shallow-queue", "loss-in-bursts", "retransmission-stalls", "no-sack"]},
      "Frames that arrive in a burst overrun the board's receive ring.", 3, check=both(faster(1.3), counted("ring_full", 5)))
def ring_of_few(d):
    each, rtt = int(d.log("frame_us", 300, 900)), d.log("rtt_ms", 8, 40)
    it = world("A", "AB", 50e6, rtt, 4, goodput=4e6, board_receives=60_000, frame_us=each, ring=int(d.log("ring", 3, 8, 1)), queue_ms=60, slow="B", board_sends=60_000)
    return without(it, ring=1_000)


@case("segments-of-few", ["small-mss", "path-rate"], "The board takes segments of a few octets only; headers take much of the line.", 3, check=faster(1.3))
def segments_of_few(d):
    mss, rate = int(d.log("mss", 68, 130)), d.log("rate", 0.2e6, 2e6)
    it = world("A", "AB", rate, d.log("rtt_ms", 1, 8), 4, goodput=rate * 0.55, board_mss=mss, board_receives=5_840, board_sends=8_760, queue_ms=400)
    return without(it, board_mss=SEGMENT)


@case("segment-full-of-broadcasts", ["broadcast-storm", "main-thread-bound", "receive-window", "late-acks"], "The board's segment is full of broadcasts, each of which takes its time.", 3,
      kinds=("receiver", "late", "truncated", "snapped"), check=both(faster(1.3), counted("broadcasts", 1_000)))
def segment_full_of_broadcasts(d):
    each, storm = int(d.log("frame_us", 360, 560)), d.log("broadcasts_per_s", 1_150, 1_600)
    it = world("A", "B", d.log("rate", 12e6, 40e6), d.log("rtt_ms", 0.4, 3), 4, goodput=4e6, board_receives=8 * SEGMENT, frame_us=each, ring=64, storm=round(storm), queue_ms=60)
    return without({**it, "one_end": "receiver"}, storm=0)


@case("nothing-listens", ["refused"], "No program of the station listens on the port.", 2, gain=False, kinds=("sender", "middle", "snapped"), check=check("no payload", lambda truth, trial: not truth["octets"]))
def nothing_listens(d):
    it = world("A", d.turn("boards", "B", ""), 9e6, d.log("rtt_ms", 1, 70), listens=0)
    return {**it, "octets": 20_000, "fixed_octets": True, "one_end": "sender", "least_s": 0, "simulated": {**it["simulated"], "seconds": 5}}


@case("nobody-home", ["no-answer"], "What opens the connection does not arrive, or what answers it.", 2, gain=False, kinds=("sender", "middle", "snapped"),
      check=check("no payload", lambda truth, trial: not truth["octets"]))
def nobody_home(d):
    it = world("A", d.turn("boards", "AB", "B"), 9e6, d.log("rtt_ms", 1, 70), longest_packet=1)
    return {**it, "octets": 20_000, "fixed_octets": True, "one_end": "sender", "least_s": 0, "simulated": {**it["simulated"], "seconds": 9}}


@case("acks-by-timer", ["stretch-acks", "late-acks", "send-buffer"], "The host acknowledges many segments at once, more than the board keeps, so its timer has to expire each time.", 3, check=faster(1.3))
def acks_by_timer(d):
    segments, rtt, after = int(d.log("segments", 4, 9, 1)), d.log("rtt_ms", 2, 30), d.turn("acks_after", 200, 40, 80)
    it = world("B", "B", d.log("rate", 8e6, 40e6), rtt, 4, goodput=segments * SEGMENT * 7e3 / (rtt + after), board_sends=segments * SEGMENT, acks_each=16, acks_after=after, queue_ms=60)
    return without(it, octets=segments * SEGMENT * 2e4 / rtt, acks_each=1)
