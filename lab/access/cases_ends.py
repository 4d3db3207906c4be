"""Causes at the ends: windows, buffers, programs that think, stop, or write little."""

from checks import between, both, check, faster, printed, socket
from draw import case
from setups import download, line, on_path, signalled, transfer, upload

HAPROXY = """global
 maxconn 50
defaults
 mode http
 timeout client 20s
 timeout server 20s
 timeout connect 5s
 timeout tarpit @Tms
frontend f
 bind @B:8081
 http-request tarpit deny_status 503
"""


def window_check(times=1.3):
    return both(faster(times), socket("rwnd_limited_share", 40))


@case("window-below-path", ["receive-window"], "The receiver's window is smaller than what the path holds.", 3, check=window_check())
def window_below_path(d):
    rate, window = d.log("rate", 12e6, 34e6), d.log("window", 7_000, 56_000)
    rtt = round(window * 8e3 / (rate * d.log("share", 0.1, 0.45)), 1)
    d.note(rtt_ms=rtt)
    if d.turn("how", "socket", "system", "socket") == "system":
        it = download(window * 8e3 / rtt, "nginx-curl")
        return {**line(rate, rtt, 40), **it, "sysctl": {"A": {"net.ipv4.tcp_rmem": f"4096 {window} {window}"}}, "without": {"sysctl": {}}}
    return {**line(rate, rtt, 40), **upload(rate, more=f"rcvbuf={window}"), "without": upload(rate)}


@case("window-of-64-kib", {"late": ["no-window-scaling", "receive-window"], "snapped": ["no-window-scaling", "receive-window"],
                           "else": ["no-window-scaling"]}, "Windows are not scaled, and 64 KiB are less than the path holds.", 3, check=window_check())
def window_of_64_kib(d):
    rtt, rate = d.log("rtt_ms", 90, 260), d.log("rate", 16e6, 34e6)
    it = {**line(rate, rtt, 60), **transfer(d, 65e3 * 8e3 / rtt, "down:nginx-wget", "up:ends", "down:ends", seconds=6)}
    if d.turn("how", "removed on the path", "switched off", "removed on the path") == "switched off":
        return {**it, "sysctl": {"B": {"net.ipv4.tcp_window_scaling": 0}}, "without": {"sysctl": {}}}
    return on_path(it, noscale=1)


@case("crumbs", ["silly-window", "receive-window", "late-acks"], "The window is a fraction of a segment and never zero.", 2, gain=False,
      check=check("a fifth of the path's rate at most", lambda truth, trial: 0 < truth["goodput_bits_per_s"] < 0.2 * trial["rate"]))
def crumbs(d):
    it = {**line(10e6, d.log("rtt_ms", 3, 12)), **upload(0)}
    return {**on_path(it, noscale=1, **{"ba.window": d.log("window", 170, 480)}), "route": {"B": "quickack 1"}}


@case("buffer-below-path", ["send-buffer", "congestion-window"], "The sender's buffer is smaller than what the path holds.", 2, check=faster(1.3))
def buffer_below_path(d):
    rate, buffer = d.log("rate", 10e6, 28e6), d.log("buffer", 9_000, 30_000)
    rtt = round(buffer * 8e3 / (rate * d.log("share", 0.08, 0.25)), 1)
    d.note(rtt_ms=rtt)
    it = {**line(rate, rtt, 40), "single_segments": True}
    if d.turn("program", "up", "down") == "up":
        return {**it, **upload(rate, to=f"chunk=4096 sndbuf={buffer}"), "without": upload(rate)}
    return {**it, **download(rate, "ends", more=f"chunk=4096 sndbuf={buffer}"), "without": download(rate, "ends")}


@case("reads-slowly", ["receiver-reads-slowly", "receive-window"], "The receiving program takes less than the path brings, evenly.", 3,
      check=window_check())
def reads_slowly(d):
    rtt, rate, takes, buffer = d.log("rtt_ms", 2, 26), d.log("rate", 8e6, 20e6), d.log("takes_octets_per_s", 70e3, 380e3), d.log("buffer", 13_000, 46_000)
    program = d.turn("program", "ends", "curl", "wget")
    if program == "ends":
        chunk = d.log("chunk", 1_000, 3_600)
        return {**line(rate, rtt), **upload(rate, more=f"rcvbuf={buffer} chunk={chunk} pause={1e3 * chunk / takes:.3f}"),
                "without": upload(rate, more=f"rcvbuf={buffer}")}
    name = f"nginx-{program}"
    return {**line(rate, rtt), **download(takes * 8, name, f"--limit-rate{' ' if program == 'curl' else '='}{takes}"),
            "sysctl": {"A": {"net.ipv4.tcp_rmem": f"4096 {buffer} {buffer}"}}, "without": download(takes * 8, name)}


@case("receiver-stops", ["receiver-stalls", "receiver-reads-slowly"], "The receiving program stops at intervals; its buffer fills.", 2,
      check=both(faster(1.2), socket("rwnd_limited_share", 15)))
def receiver_stops(d):
    rtt, rate, buffer = d.log("rtt_ms", 3, 26), d.log("rate", 5e6, 13e6), d.log("buffer", 26_000, 64_000)
    works, stops = d.log("works_ms", 320, 850), d.log("stops_ms", 360, 760)
    it = upload(rate, more=f"rcvbuf={buffer}")
    if d.turn("how", "program", "signal") == "program":
        return {**line(rate, rtt), **upload(rate, more=f"rcvbuf={buffer} works={works} stops={stops}"), "without": it}
    return {**line(rate, rtt), **it, "servers": [("B", signalled(it["servers"][0][1], works, stops))], "without": it}


@case("sender-stops", ["sender-stalls", "sender-idle"], "The sending program stops at intervals.", 3, check=faster(1.2))
def sender_stops(d):
    rtt, rate = d.log("rtt_ms", 3, 36), d.log("rate", 4e6, 12e6)
    works, stops = d.log("works_ms", 320, 760), d.log("stops_ms", 360, 850)
    it = upload(rate, to="chunk=4096 sndbuf=30000")
    if d.turn("how", "signal", "program", "signal") == "program":
        return {**line(rate, rtt), **upload(rate, to=f"chunk=4096 sndbuf=30000 works={works} stops={stops}"), "without": it}
    return {**line(rate, rtt), **it, "client": signalled(it["client"], works, stops), "without": it}


@case("block-then-pause", ["sender-idle", "sender-stalls", "host-pacing"], "The sending program prepares each block after it has written the one before.",
      2, check=faster(1.5))
def block_then_pause(d):
    rtt, rate, block = d.log("rtt_ms", 2, 18), d.log("rate", 10e6, 28e6), d.log("block", 22_000, 110_000)
    pause = round(block * 8e3 / rate * d.log("pauses", 2.2, 5), 1)
    d.note(pause_ms=pause)
    return {**line(rate, rtt, 40), **upload(rate, to=f"chunk={block} pause={pause}"), "without": upload(rate)}


@case("paced", ["host-pacing", "path-rate"], "The sending host limits its rate.", 2, check=faster(1.4))
def paced(d):
    rtt, rate, pace = d.log("rtt_ms", 3, 45), d.log("rate", 14e6, 34e6), int(d.log("pace_bits_per_s", 1.3e6, 7e6)) // 8
    if d.turn("program", "down", "up") == "up":
        return {**line(rate, rtt), **upload(rate, to=f"chunk=16384 pace={pace}"), "without": upload(rate)}
    return {**line(rate, rtt), **download(rate, "ends", more=f"chunk=16384 pace={pace}"), "without": download(rate, "ends")}


@case("limited-by-nginx", ["host-pacing", "sender-idle", "sender-stalls"], "nginx limits the rate of a connection.", 2, gain=False,
      check=check("a fifth of the path's rate at most", lambda truth, trial: truth["goodput_bits_per_s"] < 0.2 * trial["rate"]))
def limited_by_nginx(d):
    limit = int(d.log("kilobytes_per_s", 70, 240))
    it = download(limit * 8192, d.turn("program", "nginx-curl", "nginx-wget"), limit=f"limit_rate {limit}k;")
    return {**line(d.log("rate", 14e6, 30e6), d.log("rtt_ms", 5, 45)), **it, "or_none": True}


@case("over-a-satellite", ["congestion-window"], "A short transfer over a long path is over before the window has grown.", 2, gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85),
      check=both(check("nothing is lost", lambda truth, trial: truth["lost_segments"] == 0),
                 check("lasts four round trips or more", lambda truth, trial: truth["seconds"] > 4 * 2e-3 * trial["path"]["delay"])))
def over_a_satellite(d):
    rtt, rate, octets = d.log("rtt_ms", 250, 600), d.log("rate", 20e6, 40e6), d.log("octets", 70e3, 190e3)
    it = {**line(rate, rtt, 60), **transfer(d, octets * 8, "down:nginx-curl", "up:socat", seconds=1), "least_s": 0.3}
    it["client"] += "; sleep 2"
    return {**it, "route": {it["sender"]: f"initcwnd {d.turn('initcwnd', 10, 4)}"}, "fixed_octets": True}


@case("few-octets", ["small-writes", "sender-idle"], "The program writes a few octets at a time, without Nagle's algorithm.", 2, check=faster(1.3))
def few_octets(d):
    rtt, rate, octets = d.log("rtt_ms", 3, 26), d.log("rate", 3e6, 8e6), d.log("octets", 14, 80)
    return {**line(rate, rtt, 25), **upload(rate, to=f"chunk={octets} pause={d.log('pause_ms', 0.5, 1.5)} nodelay=1"), "without": upload(rate)}


@case("two-writes", ["delayed-ack-with-nagle"], "A request is written in two parts, with Nagle's algorithm; the other end delays acknowledgments.",
      2, check=faster(1.5))
def two_writes(d):
    rtt, request, answer, split = d.log("rtt_ms", 0.8, 7), d.log("request", 130, 800), d.log("answer", 70, 560), int(d.log("split", 8, 56))
    ask = f"@P connect @B 5104 ask request={request} answer={answer} count={int(4_500 / (rtt + 43))} split={split}"
    return {**line(10e6, rtt), "sender": "B", "servers": [("B", f"@P listen @B 5104 answer request={request} answer={answer}")], "client": ask,
            "without": {"client": ask + " nodelay=1"}}


@case("server-works", ["server-think-time", "peer-turnaround"], "The server takes its time for each answer.", 3, gain=False,
      check=check("the set think time takes 70% of the time", lambda truth, trial: trial["thinks_s"] >= 0.7 * truth["seconds"] > 1))
def server_works(d):
    rtt, think, answer = d.log("rtt_ms", 2, 26), d.log("think_ms", 170, 800), d.log("answer", 350, 16_000)
    count = max(5, round(4_800 / think))
    it = {**line(10e6, rtt), "sender": "B", "thinks_s": 0.8 * count * think / 1e3 / 0.95}
    program = d.turn("program", "haproxy", "socat", "ends")
    many = f"for i in $(seq {count}); do curl -s -o /dev/null http://@B:8081/; done"
    if program == "haproxy":
        return {**it, "thinks_s": count * think / 1e3, "files": {"haproxy.cfg": HAPROXY.replace("@T", str(think))},
                "servers": [("B", "exec haproxy -db -f @D/haproxy.cfg")], "client": f"curl -s -o /dev/null 'http://@B:8081/?[1-{count}]'; true"}
    if program == "socat":
        page = (f"read -r line; sleep {think / 1e3}; printf 'HTTP/1.0 200 OK\\r\\nContent-Length: {answer}\\r\\n\\r\\n'; "
                f"head -c {answer} /dev/zero; sleep 0.1")
        return {**it, "thinks_s": count * think / 1e3, "files": {"page.sh": page}, "client": many,
                "servers": [("B", "exec socat TCP-LISTEN:8081,bind=@B,fork,reuseaddr EXEC:'bash @D/page.sh'")]}
    return {**it, "servers": [("B", f"@P listen @B 5104 answer request=120 answer={answer} think={think}")],
            "client": f"@P connect @B 5104 ask request=120 answer={answer} count={count}"}


@case("client-works", ["client-think-time"], "The client takes its time between the parts of what it fetches.", 2, gain=False,
      check=both(between(2.5, 12), printed("answers", 5)))
def client_works(d):
    rtt, think, answer = d.log("rtt_ms", 2, 18), d.log("think_ms", 240, 650), d.log("answer", 32_000, 110_000)
    return {**line(d.log("rate", 16e6, 34e6), rtt), "sender": "B", "servers": [("B", f"@P listen @B 5104 answer request=150 answer={answer}")],
            "client": f"@P connect @B 5104 ask request=150 answer={answer} count={max(6, round(4_800 / think))} pause={think}"}


@case("one-block", ["one-in-flight"], "One block is in flight at a time, over UDP.", 3, gain=False, check=between(1.5, 20))
def one_block(d):
    rtt, block = d.log("rtt_ms", 5, 36), int(d.log("block", 512, 1_400))
    count, it = int(4_500 / rtt), {**line(10e6, rtt), "sender": "B"}
    if d.turn("program", "ends", "tftpd-hpa", "tftpd-hpa and curl") == "ends":
        return {**it, "servers": [("B", f"@P serve-blocks @B 7011 block={block}")], "client": f"@P fetch-blocks @B 7011 count={count}"}
    client = {"tftpd-hpa": "tftp -m binary @B -c get data /dev/null", "tftpd-hpa and curl": f"curl -s -o /dev/null --tftp-blksize {block} tftp://@B/data"}
    size = 512 if d.settings["program"] == "tftpd-hpa" else block
    return {**it, "client": client[d.settings["program"]],
            "servers": [("B", f"chmod 755 @D; truncate -s {count * size} @D/data; chmod 644 @D/data; exec in.tftpd -L -s -a @B -u root @D")]}
