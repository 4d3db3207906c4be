"""Causes at the ends: windows, buffers, programs that think, stop, or write little."""

from checks import between, both, check, faster, no_payload, printed, socket, takes_at_most
from draw import case
from setups import disturbed_by, down, line, stopped, transfer, up


def window_check():
    return both(faster(1.3), socket("rwnd_limited_share", 40))


@case("small-window", ["receive-window"], "The receiving program or system has a small buffer.", 3, check=window_check())
def small_window(d):
    rate, window = d.log("rate", 8e6, 24e6), d.log("window", 7_000, 40_000)
    rtt = round(window * 8e3 / (rate * d.log("share", 0.12, 0.4)), 1)
    d.note(rtt_ms=rtt)
    program = d.turn("program", "socat", "nginx-curl", "iperf3")
    if program == "nginx-curl":
        return {**line(rate, rtt, 40), **down(window * 8e3 / rtt, program), "sysctl": {"A": {"net.ipv4.tcp_rmem": f"4096 {window} {window}"}}, "without": {"sysctl": {}}}
    it = up(window * 8e3 / rtt, program)
    return {**line(rate, rtt, 40), **it, "sysctl": {"B": {"net.ipv4.tcp_rmem": f"4096 {window} {window}"}}, "without": {"sysctl": {}}}


@case("no-scaling", {"late": ["no-window-scaling", "receive-window"], "snapped": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]},
      "An end does not scale windows, and 64 KB are less than the path holds.", 1, check=window_check())
def no_scaling(d):
    rtt, rate = d.log("rtt_ms", 90, 190), d.log("rate", 14e6, 28e6)
    it = {**line(rate, rtt, 60), **transfer(d, 65e3 * 8e3 / rtt, "down:nginx-wget", seconds=4)}
    return {**it, "sysctl": {"A": {"net.ipv4.tcp_window_scaling": 0}}, "without": {"sysctl": {}}}


@case("small-buffer", ["send-buffer", "congestion-window"], "The sending system has a small buffer.", 2, check=faster(1.3))
def small_buffer(d):
    rate, buffer = d.log("rate", 8e6, 22e6), d.log("buffer", 9_000, 40_000)
    rtt = round(buffer * 8e3 / (rate * d.log("share", 0.15, 0.45)), 1)
    d.note(rtt_ms=rtt)
    it = transfer(d, buffer * 6e3 / rtt, "up:socat", "down:busybox-wget")
    return {**line(rate, rtt, 40), **it, "sysctl": {it["sender"]: {"net.ipv4.tcp_wmem": f"4096 {buffer} {buffer}"}}, "without": {"sysctl": {}}}


@case("split-request", ["delayed-ack-with-nagle"], "A request is written in two parts, with Nagle's algorithm; the other end delays acknowledgments.", 3,
      check=faster(1.5))
def split_request(d):
    rtt, request, answer, split = d.log("rtt_ms", 0.6, 11), d.log("request", 80, 900), d.log("answer", 40, 700), int(d.log("split", 3, 60))
    ask = f"@P connect @B 5204 ask request={request} answer={answer} count={int(3_600 / (rtt + 43))} split={split}"
    return {**line(d.log("rate", 4e6, 40e6), rtt), "sender": "B", "servers": [("B", f"@P listen @B 5204 answer request={request} answer={answer}")],
            "client": ask, "without": {"client": ask + " nodelay=1"}}


@case("slow-flash", ["receiver-reads-slowly", "receive-window"], "The receiver writes each piece to slow memory before it reads the next.", 3, check=window_check())
def slow_flash(d):
    rtt, rate, takes, buffer = d.log("rtt_ms", 3, 26), d.log("rate", 6e6, 20e6), d.log("takes_octets_per_s", 50e3, 260e3), d.log("buffer", 12_000, 44_000)
    if d.turn("program", "put", "curl", "ends") == "curl":
        return {**line(rate, rtt), **down(takes * 8, "nginx-curl", client=f"--limit-rate {takes}"),
                "sysctl": {"A": {"net.ipv4.tcp_rmem": f"4096 {buffer} {buffer}"}}, "without": {**down(takes * 8, "nginx-curl"), "sysctl": {}}}
    program, chunk = d.settings["program"], d.log("chunk", 900, 3_600)
    return {**line(rate, rtt), **up(takes * 8, program, read=f"rcvbuf={buffer} chunk={chunk} pause={1e3 * chunk / takes:.3f}"),
            "without": up(rate, program)}


@case("erases", ["receiver-stalls", "receiver-reads-slowly"], "The receiver stands still at intervals; its buffer fills.", 2,
      check=both(faster(1.3), socket("rwnd_limited_share", 15)))
def erases(d):
    rtt, rate, buffer = d.log("rtt_ms", 3, 26), d.log("rate", 3e6, 9e6), d.log("buffer", 20_000, 50_000)
    works, stops = d.log("works_ms", 250, 600), d.log("stops_ms", 350, 760)
    it = up(rate, "ends", read=f"rcvbuf={buffer}")
    if d.turn("how", "program", "signal") == "program":
        return {**line(rate, rtt), **up(rate, "ends", read=f"rcvbuf={buffer} works={works} stops={stops}"), "without": it}
    return {**line(rate, rtt), **it, "servers": [("B", stopped(it["servers"][0][1], works, stops))], "without": it}


@case("card-busy", ["sender-stalls", "sender-idle"], "The sender stands still at intervals.", 2, check=faster(1.3))
def card_busy(d):
    rtt, rate, works, stops = d.log("rtt_ms", 3, 36), d.log("rate", 3e6, 9e6), d.log("works_ms", 250, 600), d.log("stops_ms", 350, 760)
    options = "chunk=4096 sndbuf=26000"
    if d.turn("how", "signal", "program") == "program":
        return {**line(rate, rtt), **down(rate, "ends", send=f"{options} works={works} stops={stops}"), "without": down(rate, "ends", send=options)}
    it = up(rate, "ends", send=options)
    return {**line(rate, rtt), **it, "client": stopped(it["client"], works, stops), "without": it}


@case("fq-paced", ["host-pacing", "path-rate"], "The sending host limits its rate.", 2, check=faster(1.4))
def fq_paced(d):
    rtt, rate, pace = d.log("rtt_ms", 4, 46), d.log("rate", 14e6, 30e6), int(d.log("pace_bits_per_s", 1.4e6, 6e6))
    if d.turn("program", "iperf3", "ends") == "iperf3":
        return {**line(rate, rtt), **up(rate, "iperf3", send=f"--fq-rate {pace}"), "without": up(rate, "iperf3")}
    return {**line(rate, rtt), **down(pace, "ends", send=f"chunk=8192 pace={pace // 8}"), "without": down(rate, "ends")}


@case("server-works", ["server-think-time", "peer-turnaround"], "The server takes its time for each answer.", 3, gain=False,
      check=check("the think time that was set takes 60% of the time", lambda truth, trial: trial["thinks_s"] >= 0.6 * truth["seconds"] > 1))
def server_works(d):
    rtt, think, answer = d.log("rtt_ms", 2, 36), d.log("think_ms", 120, 640), d.log("answer", 200, 16_000)
    count = max(5, round(3_600 / think))
    it = {**line(9e6, rtt), "sender": "B", "thinks_s": (count - 1) * think / 1e3}
    if d.turn("program", "cgi", "http") == "http":
        return {**it, "servers": [("B", f"@P listen @B 8083 http octets={answer} think={think}")], "client": f"curl -s -o /dev/null 'http://@B:8083/?[1-{count}]'"}
    page = f"#!/bin/sh\nsleep {think / 1e3}\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\nhead -c {answer} /dev/zero\n"
    return {**it, "files": {"page": page}, "servers": [("B", "mkdir -p @D/cgi-bin; mv @D/page @D/cgi-bin/; chmod 755 @D/cgi-bin/page; exec busybox httpd -f -p @B:8084 -h @D")],
            "client": f"for i in $(seq {count}); do wget -q -O /dev/null http://@B:8084/cgi-bin/page; done"}


@case("client-works", ["client-think-time"], "The client works on each part that it fetched before it asks for the next.", 2, gain=False,
      check=both(between(2, 12), printed("answers", 5)))
def client_works(d):
    rtt, think, answer = d.log("rtt_ms", 2, 24), d.log("think_ms", 190, 480), d.log("answer", 22_000, 70_000)
    return {**line(d.log("rate", 10e6, 24e6), rtt), "sender": "B", "servers": [("B", f"@P listen @B 5204 answer request=110 answer={answer}")],
            "client": f"@P connect @B 5204 ask request=110 answer={answer} count={max(6, round(3_400 / think))} pause={think}"}


@case("boot-file", ["one-in-flight"], "A file by TFTP, one block in flight at a time.", 2, gain=False, check=between(1.2, 16))
def boot_file(d):
    rtt, client = d.log("rtt_ms", 5, 36), d.turn("program", "busybox", "curl")
    block = 512 if client == "busybox" else int(d.log("block", 600, 1_400))
    words = {"curl": f"curl -s -o /dev/null --tftp-blksize {block} tftp://@B/data", "busybox": "cd @D; busybox tftp -g -r data -l got @B"}[client]
    return {**line(8e6, rtt), "sender": "B", "client": words,
            "servers": [("B", f"chmod 755 @D; truncate -s {int(3_400 / rtt) * block} @D/data; chmod 644 @D/data; exec in.tftpd -L -s -a @B -u root @D")]}


@case("lines", ["small-writes", "sender-idle"], "The program writes a few octets at a time, without Nagle's algorithm.", 1, check=faster(1.3))
def lines(d):
    rtt, rate, octets, pause = d.log("rtt_ms", 3, 28), d.log("rate", 2.5e6, 7e6), d.log("octets", 12, 60), d.log("pause_ms", 0.6, 1.6)
    return {**line(rate, rtt, 30), **up(octets * 8e3 / (pause + 0.1), "ends", send=f"chunk={octets} pause={pause} nodelay=1 octets=@N"), "without": up(rate, "ends")}


@case("short-far", ["congestion-window"], "A short transfer over a long path is over before the window has grown.", 2, gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85),
      check=both(check("nothing is lost", lambda truth, trial: truth["lost_segments"] == 0), takes_at_most(0.5)))
def short_far(d):
    rtt, rate, octets = d.log("rtt_ms", 140, 560), d.log("rate", 14e6, 36e6), d.log("octets", 50e3, 150e3)
    it = {**line(rate, rtt, 60), **transfer(d, octets * 8, "down:nginx-curl", "up:socat", seconds=1), "least_s": 0.3}
    it["client"] += "; sleep 1.5"
    return {**it, "fixed_octets": True, "congestion": "cubic"}


@case("without-sack", ["no-sack", "random-loss", "wire-errors", "retransmission-stalls"], "Packets are lost, and an end knows no SACK.", 2, check=faster(1.3))
def without_sack(d):
    rtt, rate, share = d.log("rtt_ms", 20, 60), d.log("rate", 6e6, 14e6), d.log("loss_percent", 1.2, 3)
    it = {**line(rate, rtt, 40 + 6 * rtt), **transfer(d, rate * 0.2, "up:socat", "down:nginx-curl"), "congestion": "reno"}
    return {**disturbed_by(it, rtt, f"loss random {share}%"), "sysctl": {it["sender"]: {"net.ipv4.tcp_sack": 0}}}


@case("tiny-segments", ["small-mss"], "The receiver announces a small MSS; headers take much of the line.", 1, check=faster(1.3))
def tiny_segments(d):
    rtt, rate, mss = d.log("rtt_ms", 3, 20), d.log("rate", 2.5e6, 6e6), d.log("mss", 88, 130)
    it = {**line(rate, rtt, 60), **transfer(d, rate * 0.6, "up:socat")}
    return {**it, "route": {"B": f"advmss {mss}"}, "timestamps": 1, "without": {"route": {}}}


@case("refuses", ["refused"], "The connection is refused.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.9), check=no_payload())
def refuses(d):
    program = d.turn("program", "curl -s -m 2 -o /dev/null http://@B:8080/", "socat -u /dev/null TCP:@B:1883")
    return {**line(8e6, d.log("rtt_ms", 4, 70)), "sender": "A", "one_end": "sender", "least_s": 0, "servers": [],
            "client": f"for i in 1 2 3 4 5 6; do {program}; sleep 0.4; done; true"}
