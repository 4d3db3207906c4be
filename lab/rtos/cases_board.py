"""Causes at the ends: windows, buffers, programs, flash and sleep of a board, programs of the host."""

from boards import REDUCED, SEGMENT, board, either, from_board, to_board
from checks import between, both, check, faster, no_payload, nothing_missing, printed, socket, takes_at_most, thinks
from draw import case
from setups import disturbed_by, line
from stacks import in_flight_at_most, seen

LOSSES = ["random-loss", "wire-errors", "loss-in-bursts", "retransmission-stalls"]
OCTETS = {"wolfip-small": 4_095, "sockets-4": 4 * SEGMENT, "sockets-7": 7 * SEGMENT, "mongoose": 6_000}


def octets_of(stack):
    return OCTETS.get(stack) or int(stack.split(":")[1]) * REDUCED


def slow_rtt(d, octets):
    """A rate, and a round trip at which so many octets in flight take a share of it."""
    rate = d.log("rate", 7e6, 44e6)
    rtt = round(octets * 8e3 / (rate * d.log("share", 0.07, 0.4)), 2)
    d.note(rtt_ms=rtt)
    return rate, rtt


@case("few-segments", ["receive-window"], "The board's stack grants a window of a few segments.", 4, check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def few_segments(d):
    stack = d.turn("stack", "wolfip-small", "freertos:3", "sockets-4", "freertos:6")
    program = d.turn("program", "socat", "iperf", "post", "nc")
    rate, rtt = slow_rtt(d, octets_of(stack))
    it = {**line(rate, rtt, 40), **to_board(octets_of(stack) * 8e3 / rtt, stack, program)}
    return {**it, "without": to_board(rate * 0.3, "sockets-wide", program)}


@case("acks-by-half", ["receive-window", "stretch-acks"], "Mongoose grants 6,000 octets, and acknowledges when half of them have come.", 2,
      check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def acks_by_half(d):
    rate, rtt = slow_rtt(d, octets_of("mongoose"))
    program = d.turn("program", "nc", "put")
    return {**line(rate, rtt, 40), **to_board(48e6 / rtt, "mongoose", program), "without": to_board(rate * 0.3, "sockets-wide", program)}


@case("no-scaling", {"late": ["no-window-scaling", "receive-window"], "snapped": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]},
      "lwIP without window scaling: 64 KB are less than the path holds.", 2, check=both(faster(1.3), socket("rwnd_limited_share", 30)))
def no_scaling(d):
    rate, rtt, program = d.log("rate", 30e6, 46e6), d.log("rtt_ms", 36, 58), d.turn("program", "nc", "post")
    it = {**line(rate, rtt, 70), **to_board(65_535 * 8e3 / rtt, "sockets-wide", program, 3)}
    return {**it, "without": to_board(rate * 0.5, "sockets-scaled", program, 3)}


@case("far-window", ["receive-window", "stretch-acks"], "FreeRTOS+TCP offers window scaling, but its socket's buffer is less than the path holds.", 1,
      check=both(faster(1.3), socket("rwnd_limited_share", 30)))
def far_window(d):
    rate, rtt = d.log("rate", 26e6, 42e6), d.log("rtt_ms", 44, 96)
    it = {**line(rate, rtt, 70), **to_board(40 * SEGMENT * 8e3 / rtt, "freertos:wide", "iperf", 3)}
    return {**it, "without": to_board(rate * 0.5, "freertos:scaled", "iperf", 3)}


@case("small-buffer", ["send-buffer", "congestion-window"], "The board's buffer holds a few segments to send.", 3, check=faster(1.3))
def small_buffer(d):
    stack, program = d.turn("stack", "wolfip-small", "freertos:4", "sockets-7"), d.turn("program", "curl", "push-nc", "wget")
    rate, rtt = slow_rtt(d, octets_of(stack))
    it = {**line(rate, rtt, 40), **from_board(octets_of(stack) * 8e3 / rtt, stack, program)}
    return {**it, "without": from_board(rate * 0.3, "sockets-wide", program)}


@case("tiny-sends", ["one-in-flight"], "FreeRTOS+TCP without its windows has one segment in flight.", 2, check=both(faster(1.3), in_flight_at_most(1_461)))
def tiny_sends(d):
    rtt, program = d.log("rtt_ms", 5, 60), d.turn("program", "curl", "push-iperf")
    it = {**line(d.log("rate", 4e6, 40e6), rtt), **from_board(SEGMENT * 8e3 / rtt, "freertos-tiny", program)}
    return {**it, "without": from_board(3e6, "sockets-wide", program)}


@case("tiny-receives", ["receive-window", "one-in-flight"], "The window of FreeRTOS+TCP is one segment.", 1, check=both(faster(1.3), in_flight_at_most(1_461)))
def tiny_receives(d):
    rtt, program = d.log("rtt_ms", 5, 34), d.turn("program", "iperf", "nc")
    it = {**line(d.log("rate", 4e6, 40e6), rtt), **to_board(SEGMENT * 8e3 / rtt, "freertos-tiny", program)}
    return {**it, "without": to_board(3e6, "sockets-wide", program)}


@case("board-splits", ["delayed-ack-with-nagle"], "The board writes a request in two parts, with Nagle's algorithm; the host delays acknowledgments.", 1,
      check=both(faster(1.5), printed("answers", 10)))
def board_splits(d):
    rtt, request, answer, split = d.log("rtt_ms", 0.6, 12), d.log("request", 50, 900), d.log("answer", 40, 1_200), int(d.log("split", 2, 40))
    ask = f"role=ask port=8123 request={request} answer={answer} split={split} count={int(3_000 / (rtt + 42))}"
    return {**line(d.log("rate", 2e6, 60e6), rtt), "sender": "A", "client_at": "B", "servers": [("A", f"@P listen @A 8123 answer request={request} answer={answer}")],
            "client": board("sockets-12", ask), "without": {"client": board("sockets-12", f"{ask} nodelay=1")}}


@case("host-splits", ["delayed-ack-with-nagle"], "The host writes a request in two parts, with Nagle's algorithm; the board delays its acknowledgment.", 2,
      check=both(faster(1.5), printed("answers", 8)))
def host_splits(d):
    rtt, request, answer, split = d.log("rtt_ms", 0.6, 14), d.log("request", 80, 700), d.log("answer", 60, 1_000), int(d.log("split", 4, 60))
    stack = d.turn("stack", "sockets-4", "mongoose")
    ask = f"@P connect @B 4711 ask request={request} answer={answer} split={split} count={int(d.log('count', 12, 18))}"
    return {**line(d.log("rate", 2e6, 60e6), rtt), "sender": "B", "client": ask, "without": {"client": ask + " nodelay=1"},
            "servers": [("B", board(stack, f"role=answer port=4711 request={request} answer={answer} nodelay=1"))]}


@case("board-to-board", ["late-acks", "one-in-flight"], "FreeRTOS+TCP has one segment in flight, and Mongoose at the other end delays its acknowledgment.", 1,
      check=faster(1.4))
def board_to_board(d):
    rtt = d.log("rtt_ms", 1, 14)
    it = {**line(d.log("rate", 2e6, 24e6), rtt), "sender": "B", "device": "AB", "octets": int(d.log("segments", 18, 26)) * SEGMENT, "longest": 40, "fixed_octets": True}
    return {**it, "client": board("mongoose", "role=fetch port=80", "A"), "servers": [("B", board("freertos-tiny", "role=web port=80 octets=@N chunk=1460"))],
            "without": {"servers": [("B", board("sockets-wide", "role=web port=80 octets=@N"))], "octets": 600_000}}


@case("flash-writer", ["receiver-reads-slowly", "receive-window", "receiver-stalls"], "The board writes each sector to flash before it reads more.", 3,
      check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def flash_writer(d):
    stack, program = d.turn("stack", "wolfip", "freertos:8", "sockets-7"), d.turn("program", "post", "put", "nc")
    sector, takes, rate = int(d.turn("sector", "4096", "2048")), d.log("takes_ms", 12, 70), d.log("rate", 6e6, 50e6)
    it = {**line(rate, d.log("rtt_ms", 1, 18)), **to_board(sector * 8e3 / takes, stack, program, words=f"flash={sector} stops={int(takes)}")}
    return {**it, "without": to_board(rate * 0.3, stack, program)}


@case("erases", ["receiver-stalls", "receiver-reads-slowly", "stretch-acks"], "The board stands still while it erases flash: nothing is acknowledged.", 3, check=faster(1.3))
def erases(d):
    stack, program = d.turn("stack", "sockets-12", "wolfip", "freertos:wide"), d.turn("program", "socat", "post", "iperf")
    sector, takes, rate = int(d.turn("sector", "65536", "32768", "49152")), int(d.log("takes_ms", 90, 400)), d.log("rate", 3e6, 12e6)
    it = {**line(rate, d.log("rtt_ms", 1, 26), 120), **to_board(sector * 8e3 / (takes + sector * 8e3 / rate), stack, program, 4, f"flash={sector} stops={takes} still=1")}
    return {**it, "without": to_board(rate * 0.7, stack, program)}


@case("slow-reader", ["receiver-reads-slowly", "receive-window", "silly-window"], "The board's program reads a few octets, and works on them.", 2,
      check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def slow_reader(d):
    stack, program = d.turn("stack", "sockets-12", "freertos:6"), d.turn("program", "socat", "iperf")
    chunk, pause, rate = int(d.log("chunk", 300, 1_400)), int(d.log("pause_ms", 3, 9, 1)), d.log("rate", 8e6, 40e6)
    it = {**line(rate, d.log("rtt_ms", 1, 16)), **to_board(chunk * 8e3 / pause, stack, program, words=f"chunk={chunk} pause={pause}")}
    return {**it, "without": to_board(rate * 0.3, stack, program)}


@case("host-stops-reading", ["receiver-reads-slowly", "receiver-stalls", "receive-window"], "The host's program stops reading at intervals, as for a collection of garbage.", 2,
      check=faster(1.3))
def host_stops_reading(d):
    stack, rate = d.turn("stack", "sockets-wide", "freertos:wide"), d.log("rate", 5e6, 24e6)
    works, stops, buffer = int(d.log("works_ms", 90, 320)), int(d.log("stops_ms", 200, 700)), int(d.log("buffer", 8_000, 30_000))
    it = {**line(rate, d.log("rtt_ms", 1, 16), 100), **from_board(rate * 0.35, stack, "nc")}
    reads = f"@P connect @B 9100 read rcvbuf={buffer}"
    return {**it, "client": f"{reads} works={works} stops={stops}", "without": {"client": reads}}


@case("reads-sd", ["sender-idle", "sender-stalls"], "The board waits for its card before each part of the file.", 3, check=faster(1.3))
def reads_sd(d):
    stack, program = d.turn("stack", "sockets-12", "freertos:8", "wolfip"), d.turn("program", "wget", "curl", "push-nc")
    part, pause, rate = int(d.log("part", 1_400, 7_000)), int(d.log("pause_ms", 18, 76)), d.log("rate", 5e6, 50e6)
    it = {**line(rate, d.log("rtt_ms", 0.8, 12)), **from_board(part * 8e3 / pause, stack, program, words=f"chunk={part} pause={pause}")}
    return {**it, "without": from_board(rate * 0.4, stack, program)}


@case("log-shipper", ["sender-idle", "sender-stalls"], "A script of the host sends a block now and then.", 1, gain=False, check=both(between(2, 9), takes_at_most(0.35), nothing_missing()))
def log_shipper(d):
    block, pause = int(d.log("block", 16_000, 60_000)), int(d.log("pause_ms", 90, 320))
    it = {**line(d.log("rate", 4e6, 40e6), d.log("rtt_ms", 2, 40)), **to_board(1e6, d.turn("stack", "freertos:12", "sockets-12"), "nc"), "fixed_octets": True}
    return {**it, "client": f"(for i in $(seq {int(3_400 / (pause + 6))}); do head -c {block} /dev/zero; sleep {pause / 1e3}; done) | nc -N @B 9100"}


@case("stands-still", ["sender-stalls", "sender-idle"], "The board stands still at intervals while it sends.", 3, check=faster(1.3))
def stands_still(d):
    stack, program = d.turn("stack", "wolfip", "sockets-12", "freertos:12"), d.turn("program", "curl", "wget", "nc")
    works, stops, rate = int(d.log("works_ms", 120, 380)), int(d.log("stops_ms", 160, 560)), d.log("rate", 1.6e6, 7e6)
    it = {**line(rate, d.log("rtt_ms", 1, 22), 100), **from_board(rate * 0.4, stack, program, words=f"works={works} stops={stops} still=1")}
    return {**it, "without": from_board(rate * 0.7, stack, program)}


@case("short-lines", ["small-writes", "sender-idle"], "The board's program writes a few octets at a time, without Nagle's algorithm.", 2, check=faster(1.3))
def short_lines(d):
    stack, program = d.turn("stack", "wolfip", "freertos:6"), d.turn("program", "nc", "push-socat")
    octets, pause, rate = int(d.log("octets", 20, 140)), int(d.turn("pause_ms", "2", "3")), d.log("rate", 1.5e6, 8e6)
    it = {**line(rate, d.log("rtt_ms", 6, 30)), **from_board(octets * 8e3 / (pause + 0.5), stack, program, words=f"chunk={octets} pause={pause}")}
    return {**it, "without": from_board(rate * 0.5, stack, program)}


@case("thinks", ["server-think-time", "peer-turnaround"], "The board takes its time for each answer.", 3, gain=False, check=thinks())
def board_thinks(d):
    rtt, think, answer = d.log("rtt_ms", 1, 34), int(d.log("think_ms", 90, 460)), int(d.log("answer", 90, 14_000))
    stack, count = d.turn("stack", "freertos:8", "mongoose", "wolfip"), max(5, round(3_200 / think))
    it = {**line(d.log("rate", 3e6, 40e6), rtt), "sender": "B", "thinks_s": (count - 1) * think / 1e3}
    if stack == "freertos:8":
        return {**it, "servers": [("B", board(stack, f"role=answer port=1503 request=33 answer={answer} think={think}"))],
                "client": f"@P connect @B 1503 ask request=33 answer={answer} count={count}"}
    return {**it, "servers": [("B", board(stack, f"role=web port=80 octets={answer} think={think}"))], "client": f"curl -s -o /dev/null 'http://@B/?[1-{count}]'"}


@case("works-on", ["client-think-time"], "The client works on each part that it fetched before it asks for the next.", 2, gain=False, check=both(between(2, 12), printed("answers", 5)))
def works_on(d):
    think, answer = int(d.log("think_ms", 130, 480)), int(d.log("answer", 6_000, 32_000))
    # Mongoose sends what the window permits at once, and never again.
    it = {**line(d.log("rate", 9e6, 50e6), d.log("rtt_ms", 0.8, 18), 60)}
    count = max(6, round(3_200 / think))
    if d.turn("client", "host", "board") == "host":
        return {**it, "sender": "B", "servers": [("B", board("mongoose", f"role=answer port=9090 request=120 answer={answer}"))],
                "client": f"@P connect @B 9090 ask request=120 answer={answer} count={count} pause={think}"}
    return {**it, "sender": "A", "client_at": "B", "servers": [("A", f"@P listen @A 9090 answer request=120 answer={answer}")],
            "client": board("freertos:16", f"role=ask port=9090 request=120 answer={answer} count={count} pause={think}")}


@case("lost-exchanges", ["retransmission-stalls", "random-loss", "wire-errors"], "Exchanges are lost, and timers repair them.", 2, check=faster(1.3))
def lost_exchanges(d):
    rtt, share, answer = d.log("rtt_ms", 2, 30), d.log("loss_percent", 2, 6), int(d.log("answer", 30, 900))
    stack = d.turn("stack", "wolfip", "freertos:8")
    it = {**line(9e6, rtt), "sender": "B", "servers": [("B", board(stack, f"role=answer port=20000 request=60 answer={answer}"))], "longest": 40,
          "client": f"@P connect @B 20000 ask request=60 answer={answer} count={int(7 / (rtt / 1e3 + share * 0.01))}"}
    return disturbed_by(it, rtt, f"loss random {share}%", f"loss random {share / 4:.2f}%")


@case("sleeps", ["wake-up-latency", "server-think-time", "peer-turnaround"], "The board sleeps when idle, and looks for frames at intervals.", 2, check=faster(1.3))
def board_sleeps(d):
    wakes, after, answer = int(d.log("wakes_ms", 70, 300)), int(d.log("after_ms", 5, 16, 2)), int(d.log("answer", 24, 1_100))
    pause, stack = int(after + wakes * d.log("pause_share", 0.1, 0.4)), d.turn("stack", "sockets-7", "freertos:6")
    served = f"role=answer port=502 request=20 answer={answer}"
    return {**line(d.log("rate", 4e6, 50e6), d.log("rtt_ms", 0.8, 11)), "sender": "B", "servers": [("B", board(stack, f"{served} wakes={wakes} after={after}"))],
            "client": f"@P connect @B 502 ask request=20 answer={answer} count={int(3_400 / wakes)} pause={pause}", "without": {"servers": [("B", board(stack, served))]}}


@case("slow-processor", ["main-thread-bound", "per-frame-cost", "receive-window", "late-acks", "path-rate"], "The board's processor takes its time for each frame.", 1, check=faster(1.3))
def slow_processor(d):
    stack, each, program = d.turn("stack", "sockets-7"), int(d.log("frame_us", 800, 3_200)), d.turn("program", "put", "iperf")
    it = {**line(60e6, d.log("rtt_ms", 0.5, 2)), **to_board(SEGMENT * 8e6 / each, stack, program, words=f"frame_us={each}")}
    return {**it, "without": to_board(12e6, stack, program)}


@case("overruns", {"late": ["queue-overflow", "shallow-queue", "loss-in-bursts", "random-loss", "stretch-acks"],
                   "else": ["queue-overflow", "shallow-queue", "loss-in-bursts", "stretch-acks"]},
      "Frames that arrive in a burst overrun the board's receive ring.", 2,
      check=both(faster(1.3), check("the ring drops at least 5", lambda truth, trial: truth["path"]["counts"]["ring_drops_B"] >= 5)))
def overruns(d):
    ring, each, rtt = int(d.log("ring", 3, 7, 1)), int(d.log("frame_us", 240, 600)), d.log("rtt_ms", 8, 36)
    stack = d.turn("stack", "sockets-sack", "freertos:wide")
    it = {**line(50e6, rtt, 1.5 * rtt), **to_board(5e6, stack, d.turn("program", "nc", "put"), words=f"frame_us={each}"), "congestion": "reno"}
    return {**it, "ring": {"B": ring}, "without": {"ring": {"B": 1000}}}


@case("without-sack", ["no-sack", *LOSSES], "Several packets at a time are lost, and lwIP does not acknowledge selectively; with SACK it is faster.", 1, check=faster(1.3))
def without_sack(d):
    rtt, rate = d.log("rtt_ms", 16, 60), d.log("rate", 9e6, 30e6)
    begins, length = d.log("begins_percent", 0.3, 0.7), d.log("length_packets", 3, 6)
    program = d.turn("program", "nc", "put")
    it = {**line(rate, rtt, 40 + 2 * rtt), **to_board(rate * 0.1, "sockets-wide", program, 4), "congestion": "reno"}
    it = disturbed_by(it, rtt, f"loss gemodel {begins}% {100 / length:.1f}%")
    return {**it, "without": to_board(rate * 0.15, "sockets-sack", program, 4)}


@case("mss-of-100", ["small-mss", "path-rate"], "The board announces an MSS of 100 octets; headers take much of the line.", 2, check=faster(1.3))
def mss_of_100(d):
    rate = d.log("rate", 0.9e6, 2.2e6)
    way, program = d.turn("way", "from curl", "to iperf").split()
    make = to_board if way == "to" else from_board
    it = {**line(rate, d.log("rtt_ms", 2, 14), 60), **make(rate * 0.5, "sockets-mss-100", program), "timestamps": 0}
    return {**it, "without": make(rate * 0.9, "sockets-mss-1460", program)}


@case("short-far", ["congestion-window"], "A short file over a long path is over before the window has grown.", 2, gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85), check=both(nothing_missing(), takes_at_most(0.5)))
def short_far(d):
    rtt, octets = d.log("rtt_ms", 120, 460), int(d.log("octets", 26_000, 70_000))
    it = {**line(d.log("rate", 10e6, 40e6), rtt, 60), **either(d, octets * 8, "from sockets-scaled curl", "to freertos:scaled nginx", seconds=1)}
    return {**it, "client": it["client"].replace("exec ", "") + "; sleep 1.2", "least_s": 0.3, "fixed_octets": True}


@case("refuses", ["refused"], "The board refuses connections.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.9), check=no_payload())
def refuses(d):
    stack = d.turn("stack", "wolfip", "freertos:4")
    return {**line(8e6, d.log("rtt_ms", 1, 60)), "sender": "A", "one_end": "sender", "least_s": 0, "servers": [("B", board(stack, "role=sink port=23"))],
            "client": f"for i in 1 2 3 4 5; do nc -w 2 -d @B {int(d.log('port', 80, 9_000))}; sleep 0.6; done; true"}


@case("late-name", ["name-resolution"], "The name of the board is resolved late.", 2, gain=False, kinds=("receiver", "middle", "snapped"),
      check=check("payload comes late", lambda truth, trial: truth["path"]["wait_s"] >= 0.4))
def late_name(d):
    octets, after = int(d.log("octets", 4_000, 60_000)), d.log("after_ms", 460, 1_100)
    it = from_board(octets * 8, d.turn("stack", "mongoose", "freertos:8"), "curl", 1)
    return {**line(8e6, d.log("rtt_ms", 2, 50), 80), **it, "one_end": "receiver", "least_s": 0, "fixed_octets": True, "resolver": "nameserver 10.53.3.2\n",
            "servers": [*it["servers"], ("B", f"@P listen 10.53.3.2 53 names to=10.53.4.2 after={after}")], "client": "curl -s -o /dev/null http://board.test/data"}


@case("paced", ["host-pacing", "path-rate"], "The sending host limits its rate.", 2, check=faster(1.4))
def paced(d):
    rtt, rate, pace = d.log("rtt_ms", 3, 40), d.log("rate", 12e6, 36e6), int(d.log("pace_bits_per_s", 1e6, 5e6))
    it = to_board(pace, d.turn("stack", "wolfip-large", "sockets-wide"), "nc")
    send = "@P connect @B 9100 send octets=@N chunk=8192"
    return {**line(rate, rtt), **it, "client": f"{send} pace={pace // 8}", "without": {"client": send, "octets": int(rate / 8)}}


@case("spoiled-frames", ["checksum-errors"], "The board's driver changes octets of some frames after their checksum was computed.", 2,
      kinds=("sender", "receiver", "middle", "late", "truncated"),
      check=both(faster(1.3), seen("sent_again", 5), nothing_missing()))
def spoiled_frames(d):
    stack, program = d.turn("stack", "freertos:16", "sockets-wide"), d.turn("program", "curl", "push-nc")
    rtt, rate, spoils = d.log("rtt_ms", 8, 50), d.log("rate", 5e6, 24e6), int(d.log("spoils", 26, 48))
    it = {**line(rate, rtt, 40 + 3 * rtt), **from_board(rate * 0.15, stack, program, words=f"spoils={spoils}")}
    return {**it, "without": from_board(rate * 0.4, stack, program)}
