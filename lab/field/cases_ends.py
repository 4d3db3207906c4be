"""Causes at the ends: windows, buffers, programs that think, stop, or write little."""

from checks import between, both, check, faster, no_payload, printed, socket, takes_at_most
from draw import case
from setups import down, from_device, line, lwip, signalled, to_device, transfer, up


def window_check():
    return both(faster(1.3), socket("rwnd_limited_share", 40))


@case("device-window", ["receive-window"], "lwIP with a window of two or four segments: less than the path holds.", 4, check=window_check())
def device_window(d):
    build = d.turn("build", "default", "two", "four", "two")
    window = {"default": 2_144, "two": 2_920, "four": 5_840}[build]
    rtt = d.log("rtt_ms", 9, 42)
    rate = round(window * 8e3 / rtt / d.log("share", 0.08, 0.4))
    d.note(rate=rate)
    it = to_device(build, rate=window * 8e3 / rtt)
    return {**line(rate, rtt, 40), **it, "without": {"servers": to_device("large")["servers"]}}


@case("small-window", ["receive-window"], "The receiving program or system has a small buffer.", 4, check=window_check())
def small_window(d):
    rate, window = d.log("rate", 10e6, 30e6), d.log("window", 8_000, 48_000)
    rtt = round(window * 8e3 / (rate * d.log("share", 0.12, 0.4)), 1)
    d.note(rtt_ms=rtt)
    program = d.turn("program", "ends", "nginx-wget", "put", "nginx-curl")
    if program in ("ends", "put"):
        return {**line(rate, rtt, 40), **up(window * 8e3 / rtt, program, read=f"rcvbuf={window}"), "without": up(rate, program)}
    it = down(window * 8e3 / rtt, program)
    return {**line(rate, rtt, 40), **it, "sysctl": {"A": {"net.ipv4.tcp_rmem": f"4096 {window} {window}"}}, "without": {"sysctl": {}}}


@case("window-unscaled", {"late": ["no-window-scaling", "receive-window"], "snapped": ["no-window-scaling", "receive-window"],
                          "else": ["no-window-scaling"]}, "An end does not scale windows, and 64 KB are less than the path holds.", 2, check=window_check())
def window_unscaled(d):
    rtt, rate = d.log("rtt_ms", 80, 210), d.log("rate", 18e6, 36e6)
    it = {**line(rate, rtt, 60), **transfer(d, 65e3 * 8e3 / rtt, "down:nginx-curl", "up:ends", seconds=5)}
    return {**it, "sysctl": {d.turn("end", "B", "A"): {"net.ipv4.tcp_window_scaling": 0}}, "without": {"sysctl": {}}}


@case("device-buffer", ["send-buffer", "congestion-window"], "lwIP sends, and keeps two or four segments at most.", 3, check=faster(1.3))
def device_buffer(d):
    build = d.turn("build", "two", "four", "two")
    buffer = {"two": 2_920, "four": 5_840}[build]
    rtt = d.log("rtt_ms", 14, 48)
    rate = round(buffer * 8e3 / rtt / d.log("share", 0.07, 0.3))
    d.note(rate=rate)
    return {**line(rate, rtt, 40), **from_device(build, rate=buffer * 8e3 / rtt), "without": {"servers": from_device("large")["servers"]}}


@case("one-segment", ["one-in-flight", "send-buffer"], "lwIP keeps one segment at most: one in flight, whatever the path holds.", 2,
      check=both(faster(1.3), takes_at_most(0.4)))
def one_segment(d):
    rtt = d.log("rtt_ms", 4, 16)
    return {**line(10e6, rtt, 25), **from_device("single", rate=1_460 * 8e3 / rtt), "without": {"servers": from_device("large")["servers"]}}


@case("two-writes", ["delayed-ack-with-nagle"], "A request is written in two parts, with Nagle's algorithm; the other end delays acknowledgments.", 4,
      check=faster(1.5))
def two_writes(d):
    rtt, request, answer, split = d.log("rtt_ms", 0.5, 9), d.log("request", 90, 1_100), d.log("answer", 30, 800), int(d.log("split", 4, 80))
    ask = f"@P connect @B 5104 ask request={request} answer={answer} count={int(4_200 / (rtt + 43))} split={split}"
    return {**line(d.log("rate", 5e6, 60e6), rtt), "sender": "B", "servers": [("B", f"@P listen @B 5104 answer request={request} answer={answer}")],
            "client": ask, "without": {"client": ask + " nodelay=1"}}


@case("flash-slow", ["receiver-reads-slowly", "receive-window"], "The receiver writes each piece to slow memory before it reads the next.", 4,
      check=window_check())
def flash_slow(d):
    rtt, rate, takes, buffer = d.log("rtt_ms", 2, 22), d.log("rate", 8e6, 24e6), d.log("takes_octets_per_s", 60e3, 330e3), d.log("buffer", 11_000, 40_000)
    program = d.turn("program", "put", "ends", "curl", "device")
    if program == "device":
        drain = max(40, round(takes / 1e3))
        it = to_device("four", f"drain={drain}", rate=drain * 8e3)
        return {**line(rate, rtt), **it, "without": {"servers": to_device("large")["servers"]}}
    if program in ("put", "ends"):
        chunk = d.log("chunk", 1_024, 4_096)
        return {**line(rate, rtt), **up(takes * 8, program, read=f"rcvbuf={buffer} chunk={chunk} pause={1e3 * chunk / takes:.3f}"),
                "without": up(rate, program, read=f"rcvbuf={buffer}")}
    return {**line(rate, rtt), **down(takes * 8, "nginx-curl", client=f"--limit-rate {takes}"),
            "sysctl": {"A": {"net.ipv4.tcp_rmem": f"4096 {buffer} {buffer}"}}, "without": down(takes * 8, "nginx-curl")}


@case("flash-erase", ["receiver-stalls", "receiver-reads-slowly"], "The receiver stands still at intervals, as while flash is erased; its buffer fills.", 3,
      check=both(faster(1.3), socket("rwnd_limited_share", 15)))
def flash_erase(d):
    rtt, rate, buffer = d.log("rtt_ms", 2, 22), d.log("rate", 4e6, 11e6), d.log("buffer", 22_000, 56_000)
    works, stops = d.log("works_ms", 280, 700), d.log("stops_ms", 380, 820)
    how = d.turn("how", "program", "device", "signal")
    if how == "device":
        rate = d.log("device_rate", 1.2e6, 3e6)
        return {**line(rate, rtt), **to_device("four", f"every={works} for={stops}", rate=rate / 2), "without": {"servers": to_device("four")["servers"]}}
    it = up(rate, "put" if how == "program" else "ends", read=f"rcvbuf={buffer}")
    if how == "program":
        return {**line(rate, rtt), **up(rate, "ends", read=f"rcvbuf={buffer} works={works} stops={stops}"), "without": up(rate, "ends", read=f"rcvbuf={buffer}")}
    return {**line(rate, rtt), **it, "servers": [("B", signalled(it["servers"][0][1], works, stops))], "without": it}


@case("card-stalls", ["sender-stalls", "sender-idle"], "The sender stands still at intervals, as while a card is busy.", 2, check=faster(1.3))
def card_stalls(d):
    rtt, rate = d.log("rtt_ms", 2, 30), d.log("rate", 4e6, 11e6)
    works, stops = d.log("works_ms", 280, 700), d.log("stops_ms", 380, 820)
    if d.turn("how", "program", "signal") == "program":
        return {**line(rate, rtt), **down(rate, "ends", send=f"chunk=4096 sndbuf=28000 works={works} stops={stops}"), "without": down(rate, "ends", send="chunk=4096 sndbuf=28000")}
    it = up(rate, "ends", send="chunk=4096 sndbuf=28000")
    return {**line(rate, rtt), **it, "client": signalled(it["client"], works, stops), "without": it}


@case("prepares-blocks", ["sender-idle", "sender-stalls", "host-pacing"], "The sender prepares each block after it has written the one before.", 2, check=faster(1.5))
def prepares_blocks(d):
    rtt, rate, block = d.log("rtt_ms", 2, 16), d.log("rate", 9e6, 26e6), d.log("block", 18_000, 90_000)
    pause = round(block * 8e3 / rate * d.log("pauses", 2, 4.5), 1)
    d.note(pause_ms=pause)
    return {**line(rate, rtt, 40), **transfer(d, rate / 4, "up:ends", "down:ends", send=f"chunk={block} pause={pause}"), "without": {
        "servers": down(rate, "ends")["servers"] if d.settings["program"].startswith("down") else up(rate, "ends")["servers"],
        "client": down(rate, "ends")["client"] if d.settings["program"].startswith("down") else up(rate, "ends")["client"], "octets": int(rate / 2)}}


@case("host-paced", ["host-pacing", "path-rate"], "The sending host limits its rate.", 3, check=faster(1.4))
def host_paced(d):
    rtt, rate, pace = d.log("rtt_ms", 3, 40), d.log("rate", 16e6, 38e6), int(d.log("pace_bits_per_s", 1.6e6, 8e6))
    program = d.turn("program", "iperf3", "ends", "ends")
    if program == "iperf3":
        return {**line(rate, rtt), **up(rate, "iperf3", send=f"--fq-rate {pace}"), "without": up(rate, "iperf3")}
    return {**line(rate, rtt), **down(pace, "ends", send=f"chunk=16384 pace={pace // 8}"), "without": down(rate, "ends")}


@case("program-limits", ["host-pacing", "sender-idle", "sender-stalls"], "The server or the client is set to a rate.", 2, check=faster(1.4))
def program_limits(d):
    limit = int(d.log("kilobytes_per_s", 90, 330))
    it = {**line(d.log("rate", 12e6, 30e6), d.log("rtt_ms", 4, 40)), "or_none": True}
    if d.turn("program", "curl", "lighttpd") == "curl":
        return {**it, **up(limit * 8192, "put", send=f"--limit-rate {limit}k"), "without": up(limit * 8192, "put")}
    return {**it, **down(limit * 8192, "lighttpd-curl", kilobytes=limit), "without": down(limit * 8192, "lighttpd-curl")}


@case("server-thinks", ["server-think-time", "peer-turnaround"], "The server takes its time for each answer.", 4, gain=False,
      check=check("the think time that was set takes 60% of the time", lambda truth, trial: trial["thinks_s"] >= 0.6 * truth["seconds"] > 1))
def server_thinks(d):
    rtt, think, answer = d.log("rtt_ms", 1.5, 30), d.log("think_ms", 130, 700), d.log("answer", 250, 20_000)
    count = max(5, round(4_200 / think))
    it = {**line(12e6, rtt), "sender": "B", "thinks_s": (count - 1) * think / 1e3}
    program = d.turn("program", "ends", "device", "cgi", "http")
    if program == "device":
        return {**it, "device": "B", "servers": [("B", lwip("four", f"role=http port=80 octets={answer} think={think}"))],
                "client": f"for i in $(seq {count}); do curl -s -m 9 -o /dev/null http://@B/; done"}
    if program == "cgi":
        page = f"#!/bin/sh\nsleep {think / 1e3}\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\nhead -c {answer} /dev/zero\n"
        return {**it, "files": {"page": page}, "servers": [("B", "mkdir -p @D/cgi-bin; mv @D/page @D/cgi-bin/; chmod 755 @D/cgi-bin/page; exec busybox httpd -f -p @B:8084 -h @D")],
                "client": f"for i in $(seq {count}); do busybox wget -q -O /dev/null http://@B:8084/cgi-bin/page; done"}
    if program == "http":
        return {**it, "servers": [("B", f"@P listen @B 8083 http octets={answer} think={think}")], "client": f"curl -s -o /dev/null 'http://@B:8083/?[1-{count}]'"}
    return {**it, "servers": [("B", f"@P listen @B 5104 answer request=100 answer={answer} think={think}")],
            "client": f"@P connect @B 5104 ask request=100 answer={answer} count={count}"}


@case("client-thinks", ["client-think-time"], "The client writes each part that it fetched before it asks for the next.", 2, gain=False,
      check=both(between(2.5, 12), printed("answers", 5)))
def client_thinks(d):
    rtt, think, answer = d.log("rtt_ms", 1.5, 20), d.log("think_ms", 210, 560), d.log("answer", 28_000, 90_000)
    return {**line(d.log("rate", 14e6, 30e6), rtt), "sender": "B", "servers": [("B", f"@P listen @B 5104 answer request=130 answer={answer}")],
            "client": f"@P connect @B 5104 ask request=130 answer={answer} count={max(6, round(4_200 / think))} pause={think}"}


@case("tftp", ["one-in-flight"], "A file by TFTP, one block in flight at a time.", 3, gain=False, check=between(1.5, 16))
def tftp(d):
    rtt, block = d.log("rtt_ms", 4, 32), int(d.log("block", 512, 1_428))
    client, it = d.turn("program", "atftp", "curl", "busybox"), {**line(10e6, rtt), "sender": "B"}
    size = 512 if client == "busybox" else block
    words = {"atftp": f"cd @D; atftp --option 'blksize {block}' -g -r data -l got @B 69", "curl": f"curl -s -o /dev/null --tftp-blksize {block} tftp://@B/data",
             "busybox": "cd @D; busybox tftp -g -r data -l got @B"}[client]
    return {**it, "client": words,
            "servers": [("B", f"chmod 755 @D; truncate -s {int(4_200 / rtt) * size} @D/data; chmod 644 @D/data; exec in.tftpd -L -s -a @B -u root @D")]}


@case("log-lines", ["small-writes", "sender-idle"], "The program writes a few octets at a time, without Nagle's algorithm.", 2, check=faster(1.3))
def log_lines(d):
    rtt, rate, octets = d.log("rtt_ms", 2, 24), d.log("rate", 3e6, 9e6), d.log("octets", 10, 70)
    pause = d.log("pause_ms", 0.4, 1.4)
    return {**line(rate, rtt, 25), **up(octets * 8e3 / (pause + 0.1), "ends", send=f"chunk={octets} pause={pause} nodelay=1 octets=@N"), "without": up(rate, "ends")}


@case("short-and-far", ["congestion-window"], "A short transfer over a long path is over before the window has grown.", 3, gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85),
      check=both(check("nothing is lost", lambda truth, trial: truth["lost_segments"] == 0),
                 check("lasts three round trips or more", lambda truth, trial: truth["seconds"] > 3 * 2e-3 * trial["hold"]["there.delay"]), takes_at_most(0.5)))
def short_and_far(d):
    rtt, rate, octets = d.log("rtt_ms", 130, 620), d.log("rate", 18e6, 44e6), d.log("octets", 60e3, 170e3)
    it = {**line(rate, rtt, 60), **transfer(d, octets * 8, "down:nginx-curl", "up:put", "down:busybox-busybox", seconds=1), "least_s": 0.3}
    it["client"] += "; sleep 1.5"
    return {**it, "fixed_octets": True, "congestion": "cubic"}


@case("turned-away", ["refused"], "The connection is refused.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"),
      truncated=(0.6, 0.9), check=no_payload())
def turned_away(d):
    it = {**line(10e6, d.log("rtt_ms", 3, 60)), "sender": "A", "one_end": "sender", "least_s": 0, "servers": [],
          "client": f"for i in 1 2 3 4 5 6; do {d.turn('program', 'curl -s -m 2 -o /dev/null http://@B:8081/', 'busybox nc -w 2 @B 1883 < /dev/null')}; sleep 0.4; done; true"}
    if d.turn("how", "no listener", "device") == "device":
        return {**it, "device": "B", "servers": [("B", lwip("four", "role=closed port=9"))]}
    return it
