"""Causes at the ends: windows, buffers, programs, stations that stop."""

from checks import both, check, faster, socket
from draw import case
from setups import LIGHTTPD, REDIS, counted, download, line, transfer, upload, wide_congestion_window

CGI = "#!/bin/sh\nsleep @T\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\nhead -c @S /dev/zero\n"


def window_check(times=1.3):
    return both(faster(times), socket("rwnd_limited_share", 40))


@case("small-window", ["receive-window"], "The receiver's window is smaller than what the path holds.", 4, check=window_check())
def small_window(d):
    rate, window = d.log("rate", 12e6, 36e6), d.log("window", 6_000, 60_000)
    # The window fills the path to a twelfth up to a half.
    rtt = round(window * 8e3 / (rate * d.log("share", 0.09, 0.5)), 1)
    d.note(rtt_ms=rtt)
    how = d.turn("how", "route", "socket", "socket", "socket")
    if how == "route":
        it = transfer(d, window * 8e3 / rtt, "down:lighttpd-curl", "down:redis", "up:ncat", "down:lighttpd-lftp")
        receiver = "B" if it["sender"] == "A" else "A"
        return {**line(rate, rtt, 40), **it, "route": {receiver: f"window {window}"}, "without": {"route": {}}}
    return {**line(rate, rtt, 40), **upload(rate, more=f"rcvbuf={window}"), "without": upload(rate)}


@case("board-window", ["receive-window"], "An emulated board with a small window, far from its peer.", 2, gain=False,
      check=check("the path is less than half full; no loss", lambda truth, trial: truth["goodput_bits_per_s"] < 0.5 * trial["rate"]
                  and truth["lost_segments"] == 0))
def board_window(d):
    return {**line(d.log("rate", 14e6, 36e6), d.log("rtt_ms", 24, 90), 40), **upload(0, "iperf-board")}


@case("not-scaled", {"late": ["no-window-scaling", "receive-window"], "snapped": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]},
      "Windows are not scaled, and 64 KiB are less than the path holds.", 3, check=window_check())
def not_scaled(d):
    rtt, rate = d.log("rtt_ms", 80, 300), d.log("rate", 16e6, 36e6)
    it = {**line(rate, rtt, 60), **transfer(d, 65e3 * 8e3 / rtt, "down:lighttpd-curl", "up:app", "down:app", seconds=6)}
    how = d.turn("how", "sender", "receiver", "removed on the path")
    if how == "removed on the path":
        return {**it, "path": {**it["path"], "noscale": 1}, "without": {"path": it["path"]}}
    end = it["sender"] if how == "sender" else "B" if it["sender"] == "A" else "A"
    return {**it, "sysctl": {end: {"net.ipv4.tcp_window_scaling": 0}}, "without": {"sysctl": {}}}


@case("crumbs", ["silly-window", "receive-window", "late-acks"], "The window is a fraction of a segment and never zero.", 2, gain=False,
      check=check("windows below a segment; slow", lambda truth, trial: truth["path"]["counts"]["ab"]["passed"] > 100
                  and truth["goodput_bits_per_s"] < 0.2 * trial["rate"]))
def crumbs(d):
    window = d.log("window", 150, 500)
    it = {**line(10e6, d.log("rtt_ms", 2, 12)), **upload(0, "app")}
    it["path"] = {**it["path"], "noscale": 1, "ba.window": window}
    return {**it, "route": {"B": "quickack 1"}}


@case("small-send-buffer", ["send-buffer", "congestion-window"], "The sender's buffer is smaller than what the path holds.", 3,
      check=both(faster(1.3), wide_congestion_window(1.3)))
def small_send_buffer(d):
    rate, buffer = d.log("rate", 10e6, 30e6), d.log("buffer", 8_000, 30_000)
    rtt = round(buffer * 8e3 / (rate * d.log("share", 0.08, 0.25)), 1)
    d.note(rtt_ms=rtt)
    small, program = f"sndbuf={buffer}", d.turn("program", "up:app", "down:app", "down:lighttpd-wget")
    it = {**line(rate, rtt, 40), "single_segments": "A" if program == "up:app" else "B"}
    if program == "up:app":
        return {**it, **upload(rate, to=small), "without": upload(rate)}
    if program == "down:app":
        return {**it, **download(rate, "app", more=small), "without": download(rate, "app")}
    return {**it, **download(buffer * 6e3 / rtt, "lighttpd-wget"), "sysctl": {"B": {"net.ipv4.tcp_wmem": f"4096 {2 * buffer} {2 * buffer}"}},
            "without": {"sysctl": {}}}


@case("slow-reader", ["receiver-reads-slowly", "receive-window"], "The receiving program takes less than the path brings, evenly.", 4,
      check=window_check())
def slow_reader(d):
    rtt, rate, takes, buffer = d.log("rtt_ms", 1, 30), d.log("rate", 8e6, 20e6), d.log("takes_octets_per_s", 60e3, 400e3), d.log("buffer", 12_000, 50_000)
    program = d.turn("program", "app", "wget", "app", "curl")
    if program == "app":
        chunk = d.log("chunk", 1_000, 4_000)
        reads = f"rcvbuf={buffer} chunk={chunk} pause={1e3 * chunk / takes:.3f}"
        return {**line(rate, rtt), **upload(rate, more=reads), "without": upload(rate, more=f"rcvbuf={buffer}")}
    name = f"lighttpd-{program}"
    return {**line(rate, rtt), **download(takes * 8, name, f"--limit-rate{' ' if program == 'curl' else '='}{takes}"),
            "sysctl": {"A": {"net.ipv4.tcp_rmem": f"4096 {buffer} {buffer}"}}, "without": download(takes * 8, name)}


def signalled(command, works_ms, stops_ms):
    """The command, stopped and continued by signals."""
    return (f"{command} & p=$!; while sleep {works_ms / 1e3}; do kill -STOP $p 2>/dev/null || break; sleep {stops_ms / 1e3}; "
            "kill -CONT $p 2>/dev/null || break; done; wait $p")


@case("receiver-stopped", ["receiver-stalls", "receiver-reads-slowly"], "The receiving program is stopped at intervals; its buffer fills.", 3,
      check=both(faster(1.2), socket("rwnd_limited_share", 15)))
def receiver_stopped(d):
    rtt, rate, buffer = d.log("rtt_ms", 2, 30), d.log("rate", 5e6, 14e6), d.log("buffer", 24_000, 70_000)
    works, stops = d.log("works_ms", 300, 900), d.log("stops_ms", 350, 800)
    it = upload(rate, more=f"rcvbuf={buffer}")
    if d.turn("how", "signal", "program", "signal") == "program":
        return {**line(rate, rtt), **upload(rate, more=f"rcvbuf={buffer} works={works} stops={stops}"), "without": it}
    return {**line(rate, rtt), **it, "servers": [("B", signalled(it["servers"][0][1], works, stops))], "without": it}


@case("sender-stopped", ["sender-stalls", "sender-idle"], "The sending program is stopped at intervals.", 3, check=faster(1.2))
def sender_stopped(d):
    rtt, rate = d.log("rtt_ms", 2, 40), d.log("rate", 4e6, 12e6)
    works, stops = d.log("works_ms", 300, 800), d.log("stops_ms", 350, 900)
    if d.turn("how", "client", "server", "program") == "server":
        it = download(rate * 0.5, "lighttpd-curl")
        stopped = signalled(it["servers"][0][1].replace("exec ", "").replace("@N @D/data && ", "@N @D/data; "), works, stops)
        return {**line(rate, rtt), **it, "servers": [("B", stopped)], "without": it, "sysctl": {"B": {"net.ipv4.tcp_wmem": "4096 30000 30000"}}}
    it = upload(rate, to="sndbuf=30000")
    if d.settings["how"] == "program":
        return {**line(rate, rtt), **upload(rate, to=f"sndbuf=30000 works={works} stops={stops}"), "without": it}
    return {**line(rate, rtt), **it, "client": signalled(it["client"], works, stops), "without": it}


@case("board-stopped", ["receiver-stalls"], "An emulated board that receives stands still at intervals, as a whole.", 2, check=faster(1.2))
def board_stopped(d):
    rtt, rate = d.log("rtt_ms", 2, 12), d.log("rate", 3e6, 8e6)
    works, stops = d.log("works_ms", 400, 900), d.log("stops_ms", 250, 600)
    return {**line(rate, rtt), **upload(0, "iperf-board"), "stop_board": (works, stops), "without": {"stop_board": None}}


@case("board-stopped-sending", ["sender-stalls", "sender-idle"], "An emulated board that sends stands still at intervals, as a whole.", 2,
      check=faster(1.2))
def board_stopped_sending(d):
    rtt, rate = d.log("rtt_ms", 2, 6), d.log("rate", 8e6, 12e6)
    works, stops = d.log("works_ms", 400, 900), d.log("stops_ms", 350, 700)
    return {**line(rate, rtt, 60), **download(rate * 0.5, "board"), "stop_board": (works, stops), "without": {"stop_board": None}}


@case("board-overflows", ["queue-overflow", "shallow-queue", "retransmission-stalls", "no-sack"],
      "An emulated board without congestion control sends more at a time than the queue before the slowest link holds.", 2,
      check=both(counted("queue_full", 10), faster(1.5)))
def board_overflows(d):
    rtt, rate = d.log("rtt_ms", 2, 20), d.log("rate", 3e6, 9e6)
    it = {**line(rate, rtt), **download(rate * 0.1, "board")}
    it["path"]["queue"] = 1514 * int(d.log("frames", 6, 11, 1))
    return {**it, "without": {"path": {**it["path"], "queue": 120_000}}}


@case("block-by-block", ["sender-idle", "sender-stalls", "host-pacing"], "The sending program prepares each block after it has sent the one before.",
      2, check=faster(1.5))
def block_by_block(d):
    rtt, rate = d.log("rtt_ms", 1, 20), d.log("rate", 10e6, 30e6)
    block = d.log("block", 20_000, 120_000)
    # The pause is one to four times as long as the block.
    pause = round(block * 8e3 / rate * d.log("pauses", 1.2, 4), 1)
    d.note(pause_ms=pause)
    return {**line(rate, rtt), **upload(rate, to=f"chunk={block} pause={pause} drained=1"), "without": upload(rate)}


@case("paced", ["host-pacing", "path-rate"], "The sending host limits its rate.", 4, check=faster(1.4))
def paced(d):
    rtt, rate, pace = d.log("rtt_ms", 2, 50), d.log("rate", 14e6, 36e6), d.log("pace_bits_per_s", 1.2e6, 8e6)
    how = d.turn("how", "SO_MAX_PACING_RATE", "tbf", "SO_MAX_PACING_RATE", "tbf")
    if how == "tbf":
        command = f"qdisc replace dev eth0 root tbf rate {pace}bit burst 3100 limit {max(20_000, int(pace / 8 * 0.02))}"
        it = transfer(d, pace, "down:lighttpd-wget", "down:lighttpd-wget", "up:nc", "up:nc")
        return {**line(rate, rtt), **it, "tc": {it["sender"]: [command]}, "without": {"tc": {}}}
    if d.turn("program", "up", "down") == "up":
        return {**line(rate, rtt), **upload(rate, to=f"pace={pace // 8}"), "without": upload(rate)}
    return {**line(rate, rtt), **download(rate, "app", more=f"pace={pace // 8}"), "without": download(rate, "app")}


@case("limited-server", ["host-pacing", "sender-idle", "sender-stalls"], "lighttpd limits the rate of a connection.", 2, gain=False,
      check=check("a fifth of the path's rate at most", lambda truth, trial: truth["goodput_bits_per_s"] < 0.2 * trial["rate"]))
def limited_server(d):
    limit = int(d.log("kilobytes_per_s", 60, 250))
    it = download(limit * 8192, d.turn("program", "lighttpd-curl", "lighttpd-wget"), limit=f"connection.kbytes-per-second = {limit}")
    return {**line(d.log("rate", 14e6, 30e6), d.log("rtt_ms", 4, 50)), **it, "or_none": True}


@case("short-and-far", ["congestion-window"], "A short transfer over a long path is over before the window has grown.", 3, gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85),
      check=check("no loss, no queue; four round trips or more", lambda truth, trial: truth["lost_segments"] == 0
                  and truth["seconds"] > 4 * 2e-3 * trial["path"]["delay"]))
def short_and_far(d):
    rtt, rate, octets = d.log("rtt_ms", 110, 500), d.log("rate", 20e6, 40e6), d.log("octets", 60e3, 200e3)
    it = {**line(rate, rtt, 60), **transfer(d, octets * 8, "down:lighttpd-curl", "down:python-wget", "up:ncat", seconds=1), "least_s": 0.3}
    return {**it, "route": {it["sender"]: f"initcwnd {d.turn('initcwnd', 2, 4, 10)}"}, "fixed_octets": True}


@case("tiny-writes", ["small-writes", "sender-idle"], "The program writes a few octets at a time, without Nagle's algorithm.", 2,
      check=faster(1.3))
def tiny_writes(d):
    rtt, rate, octets = d.log("rtt_ms", 2, 30), d.log("rate", 3e6, 8e6), d.log("octets", 12, 90)
    return {**line(rate, rtt, 25), **upload(rate, to=f"chunk={octets} pause={d.log('pause_ms', 0.4, 1.5)} nodelay=1"),
            "without": upload(rate)}


@case("held-back", ["delayed-ack-with-nagle"], "A message is written in two parts, with Nagle's algorithm; the other end delays acknowledgments.",
      3, check=faster(1.5))
def held_back(d):
    rtt, request, answer, split = d.log("rtt_ms", 0.6, 8), d.log("request", 120, 900), d.log("answer", 60, 600), int(d.log("split", 8, 60))
    count = int(4_500 / (rtt + 43))
    if d.turn("who", "client", "server", "client") == "client":
        ask = f"@P connect @B 5004 ask request={request} answer={answer} count={count} split={split}"
        it = {"servers": [("B", f"@P listen @B 5004 answer request={request} answer={answer}")], "client": ask}
        return {**line(10e6, rtt), "sender": "B", **it, "without": {"client": ask + " nodelay=1"}}
    server = f"@P listen @B 5004 answer request={request} answer={answer + split} header={split}"
    return {**line(10e6, rtt), "sender": "B", "servers": [("B", server)],
            "client": f"@P connect @B 5004 ask request={request} answer={answer + split} count={count}",
            "without": {"servers": [("B", server + " nodelay=1")]}}


@case("server-thinks", ["server-think-time", "peer-turnaround"], "The server takes its time for each answer.", 3, gain=False,
      check=check("five answers or more took 80% of the time", lambda truth, trial: truth["seconds"] > 1.5))
def server_thinks(d):
    rtt, think, answer = d.log("rtt_ms", 2, 40), d.log("think_ms", 150, 900), d.log("answer", 300, 20_000)
    count, it = max(5, round(5_000 / think)), {**line(10e6, rtt), "sender": "B"}
    program = d.turn("program", "app", "cgi", "redis")
    if program == "cgi":
        script = CGI.replace("@T", str(think / 1e3)).replace("@S", str(answer))
        return {**it, "files": {"lighttpd.conf": LIGHTTPD.replace("@L", ""), "page.cgi": script},
                "servers": [("B", "chmod +x @D/page.cgi; exec lighttpd -D -f @D/lighttpd.conf")],
                "client": f"curl -s -o /dev/null 'http://@B:8080/page.cgi?[1-{count}]'"}
    if program == "redis":
        return {**it, "servers": [("B", REDIS)], "client": f"redis-cli -h @B -r {count} debug sleep {think / 1e3} > /dev/null"}
    return {**it, "servers": [("B", f"@P listen @B 5004 answer request=120 answer={answer} think={think} spread=0.5")],
            "client": f"@P connect @B 5004 ask request=120 answer={answer} count={count}"}


@case("client-thinks", ["client-think-time"], "The client takes its time between the parts of what it fetches.", 2, gain=False)
def client_thinks(d):
    rtt, think, answer = d.log("rtt_ms", 2, 20), d.log("think_ms", 220, 700), d.log("answer", 30_000, 120_000)
    return {**line(d.log("rate", 16e6, 36e6), rtt), "sender": "B", "servers": [("B", f"@P listen @B 5004 answer request=150 answer={answer}")],
            "client": f"@P connect @B 5004 ask request=150 answer={answer} count={max(6, round(5_000 / think))} pause={think} spread=0.3"}


@case("lockstep", ["one-in-flight"], "One block is in flight at a time, over UDP.", 3, gain=False)
def lockstep(d):
    rtt, block = d.log("rtt_ms", 4, 40), int(d.log("block", 500, 1_400))
    count = int(4_500 / rtt)
    if d.turn("program", "app", "atftp", "curl") == "app":
        return {**line(10e6, rtt), "sender": "B", "servers": [("B", f"@P blocks @B 7001 block={block}")], "client": f"@P fetch @B 7001 count={count}"}
    client = {"atftp": f"atftp --option 'blksize {block}' -g -r data -l /dev/null @B 69", "curl": f"curl -s -o /dev/null --tftp-blksize {block} tftp://@B/data"}
    return {**line(10e6, rtt), "sender": "B", "client": client[d.settings["program"]],
            "servers": [("B", f"truncate -s {count * block} @D/data; chmod 777 @D; exec atftpd --daemon --no-fork --user root --group root --bind-address @B @D")]}


@case("polled-receiver", ["receive-window", "late-acks", "stretch-acks", "peer-turnaround"],
      "The receiver looks for frames at intervals only, and has a small window.", 2, check=faster(1.3))
def polled_receiver(d):
    rtt, rate, poll, buffer = d.log("rtt_ms", 1, 6), d.log("rate", 10e6, 24e6), d.log("poll_ms", 8, 30), d.log("buffer", 6_000, 20_000)
    it = {**line(rate, rtt), **upload(rate, more=f"rcvbuf={buffer}"), "route": {}}
    it["path"] = {**it["path"], "ab.poll": poll}
    return {**it, "without": {**upload(rate), "path": {key: value for key, value in it["path"].items() if key != "ab.poll"}}}
