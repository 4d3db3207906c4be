"""Causes at the ends: windows, buffers, programs that read, write, think or stop, boards that sleep or erase flash."""

from checks import between, both, check, faster, filled, no_payload, nothing_missing, printed, socket, takes_at_most, thinks
from draw import case
from path_checks import filtered
from programs import LIGHTTPD, PEER, TALK, board, either, from_board, line, to_board, transfer, up, down
from stacks import in_flight_at_most, seen

SEGMENT = 1_460


def rules(text, hook="forward"):
    return f"table ip mixed {{\nchain f {{\ntype filter hook {hook} priority -20;\n{text}\n}}\n}}\n"


def slow_path(d, octets, low=5e6, high=40e6):
    """A rate, and a round trip at which so many octets in flight take a share of it."""
    rate = d.log("rate", low, high)
    rtt = round(octets * 8e3 / (rate * d.log("share", 0.09, 0.42)), 2)
    d.note(rtt_ms=rtt)
    return rate, rtt


@case("granted-little", ["receive-window"], "The receiving host grants a small window.", 2, check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def granted_little(d):
    window = d.log("window", 9_000, 30_000)
    rate, rtt = slow_path(d, window, 6e6, 24e6)
    it = {**line(rate, rtt, 40), **transfer(d, window * 8e3 / rtt, "up:nc", "down:node")}
    receiver = "B" if it["sender"] == "A" else "A"
    gro = d.turn("gro", "", receiver)
    return {**it, "sysctl": {receiver: {"net.ipv4.tcp_rmem": f"4096 {window} {window}"}}, "gro": gro, "without": {"sysctl": {}, "octets": int(rate / 10)}}


@case("board-grants-little", ["receive-window"], "The board grants a window of a few segments.", 4, check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def board_grants_little(d):
    segments = int(d.log("segments", 2, 9, 1))
    stack, program = d.turn("stack", "netx", "smol", "netx", "smol"), d.turn("program", "perl", "lighttpd", "put", "iperf")
    octets = segments * SEGMENT
    rate, rtt = slow_path(d, octets)
    small, large = {"netx": (f"netx,window={octets}", "netx-scaled,window=260000"), "smol": (f"smol,receive={octets}", "smol,receive=260000")}[stack]
    return {**line(rate, rtt, 60), **to_board(octets * 8e3 / rtt, small, program), "without": to_board(rate * 0.3, large, program)}


@case("scaling-stripped", {"late": ["no-window-scaling", "receive-window"], "snapped": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]},
      "A firewall removes the option for window scaling, and 64 KB are less than the path holds.", 2,
      check=both(faster(1.3), socket("rwnd_limited_share", 30)))
def scaling_stripped(d):
    rate, rtt = d.log("rate", 12e6, 22e6), d.log("rtt_ms", 76, 150)
    it = {**line(rate, rtt, 60), **transfer(d, 65e3 * 8e3 / rtt, "down:lighttpd-curl", "up:redis", seconds=4)}
    it["sysctl"] = {it["sender"]: {"net.ipv4.tcp_wmem": "4096 1000000 4000000"}}
    return {**it, "nft": {"R": rules("tcp flags syn reset tcp option window")}, "without": {"nft": {}}}


@case("buffer-of-host", ["send-buffer", "congestion-window"], "The sending system has a small buffer.", 2,
      check=both(faster(1.3), nothing_missing(), check("the congestion window is 1.3 times what is in flight at most, or more",
                                                lambda truth, trial: truth["path"]["socket"]["cwnd"] * truth["path"]["socket"]["mss"] >= 1.3 * truth["path"]["seen"]["most_in_flight"])))
def buffer_of_host(d):
    buffer = d.log("buffer", 12_000, 46_000)
    rate, rtt = slow_path(d, buffer, 6e6, 20e6)
    it = {**line(rate, rtt, 40), **transfer(d, buffer * 5e3 / rtt, "up:redis", "down:node"), "buffer": buffer}
    return {**it, "sysctl": {it["sender"]: {"net.ipv4.tcp_wmem": f"4096 {buffer} {buffer}"}}, "without": {"sysctl": {}, "octets": int(rate / 10)}}


@case("buffer-of-board", ["send-buffer", "congestion-window"], "The board keeps a few segments for what is not acknowledged.", 3, check=faster(1.3))
def buffer_of_board(d):
    segments, stack, program = int(d.log("segments", 3, 8, 1)), d.turn("stack", "smol", "netx", "netx"), d.turn("program", "curl", "push-perl", "wget")
    rate, rtt = slow_path(d, segments * SEGMENT)
    small, large = {"netx": (f"netx,depth={segments}", "netx,depth=400"), "smol": (f"smol,send={segments * SEGMENT}", "smol,send=400000")}[stack]
    return {**line(rate, rtt, 40), **from_board(segments * SEGMENT * 8e3 / rtt, small, program), "without": from_board(rate * 0.3, large, program)}


@case("queue-of-one", ["one-in-flight"], "The board sends a segment only after the one before is acknowledged.", 2, check=both(faster(1.3), in_flight_at_most(1_461)))
def queue_of_one(d):
    rtt, program = d.log("rtt_ms", 4, 44), d.turn("program", "wget", "push-nc")
    it = {**line(d.log("rate", 5e6, 50e6), rtt), **from_board(SEGMENT * 8e3 / rtt, "netx,depth=1", program), "route": {"A": "quickack 1"}}
    return {**it, "without": from_board(3e6, "netx,depth=40", program)}


@case("boot-image", ["one-in-flight"], "A boot image by TFTP, one block in flight at a time.", 2, gain=False, check=between(1.2, 16))
def boot_image(d):
    rtt, client = d.log("rtt_ms", 3, 30), d.turn("client", "curl", "tftp")
    block = 512 if client == "tftp" else int(d.log("block", 700, 1_428))
    words = {"curl": f"curl -s -o /dev/null --tftp-blksize {block} tftp://@B/data", "tftp": "cd @D; tftp -m binary @B -c get data got"}[client]
    return {**line(9e6, rtt), "sender": "B", "client": words,
            "servers": [("B", f"chmod 755 @D; truncate -s {int(3_000 / rtt) * block} @D/data; chmod 644 @D/data; "
                              "exec dnsmasq -C /dev/null -d -u root --port=0 --enable-tftp --tftp-root=@D --listen-address=@B --bind-interfaces")]}


@case("two-writes", ["delayed-ack-with-nagle"], "A request is written in two parts, with Nagle's algorithm; the other end delays acknowledgments.", 3,
      check=both(faster(1.5), printed("answers", 10)))
def two_writes(d):
    rtt, request, answer, split = d.log("rtt_ms", 0.5, 10), int(d.log("request", 60, 900)), int(d.log("answer", 40, 900)), int(d.log("split", 4, 50))
    served = f"{TALK} serve {{}} 5210 request={request} answer={answer}"
    it = {**line(d.log("rate", 3e6, 50e6), rtt)}
    count = int(3_000 / (rtt + 43))
    if d.turn("client", "board", "host", "host") == "host":
        ask = f"{TALK} ask @B 5210 request={request} answer={answer} count={count} split={split}"
        return {**it, "sender": "B", "servers": [("B", served.format("@B"))], "client": ask + " nagle=1", "without": {"client": ask}}
    ask = f"role=ask port=5210 request={request} answer={answer} split={split} count={count}"
    return {**it, "device": "B", "sender": "A", "client_at": "B", "servers": [("A", served.format("@A"))], "client": "sleep 1.5; " + board("smol", ask),
            "without": {"client": "sleep 1.5; " + board("smol", f"{ask} nodelay=1")}}


@case("reads-little", ["receiver-reads-slowly", "receive-window"], "The receiving program takes less than arrives.", 2, check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def reads_little(d):
    rtt, rate, takes, buffer = d.log("rtt_ms", 2, 30), d.log("rate", 5e6, 18e6), d.log("takes_octets_per_s", 40e3, 220e3), d.log("buffer", 10_000, 36_000)
    if d.turn("program", "perl", "wget") == "wget":
        return {**line(rate, rtt), **down(takes * 8, "lighttpd-wget", client=f"--limit-rate={takes}"),
                "sysctl": {"A": {"net.ipv4.tcp_rmem": f"4096 {buffer} {buffer}"}}, "without": {**down(rate * 0.4, "lighttpd-wget"), "sysctl": {}}}
    chunk = int(d.log("chunk", 1_000, 4_000))
    return {**line(rate, rtt), **up(takes * 8, "perl", read=f"rcvbuf={buffer} chunk={chunk} pause={1e3 * chunk / takes:.3f}"), "without": up(rate * 0.4, "perl")}


@case("writes-flash", ["receiver-reads-slowly", "receive-window", "receiver-stalls"], "The board writes each sector to flash before it reads more.", 3,
      check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def writes_flash(d):
    stack, program = d.turn("stack", "netx,window=11680", "smol,receive=8192", "netx,window=5840"), d.turn("program", "put", "perl", "post")
    sector, takes, rate = int(d.turn("sector", "1024", "4096", "2048")), int(d.log("takes_ms", 8, 60)), d.log("rate", 5e6, 36e6)
    it = {**line(rate, d.log("rtt_ms", 1, 16)), **to_board(sector * 8e3 / takes, stack, program, words=f"flash={sector} stops={takes}")}
    return {**it, "without": to_board(rate * 0.25, stack, program)}


@case("collects-garbage", ["receiver-reads-slowly", "receiver-stalls", "receive-window"], "The receiving program stops at intervals; its buffer fills.", 1,
      check=both(faster(1.3), socket("rwnd_limited_share", 15)))
def collects_garbage(d):
    rtt, rate, buffer = d.log("rtt_ms", 2, 24), d.log("rate", 3e6, 9e6), d.log("buffer", 16_000, 44_000)
    works, stops = d.log("works_ms", 150, 480), d.log("stops_ms", 300, 700)
    return {**line(rate, rtt), **up(rate * 0.6, "perl", seconds=3, read=f"rcvbuf={buffer} works={works} stops={stops}"), "without": up(rate * 0.8, "perl", read=f"rcvbuf={buffer}")}


@case("erases-flash", ["receiver-stalls", "receiver-reads-slowly"], "The board stands still while it erases flash: nothing is acknowledged.", 2, check=faster(1.3))
def erases_flash(d):
    stack, program = d.turn("stack", "smol,receive=20000", "netx,window=17520"), d.turn("program", "put", "nc")
    sector, takes, rate = int(d.turn("sector", "40960", "65536")), int(d.log("takes_ms", 80, 360)), d.log("rate", 3e6, 11e6)
    it = {**line(rate, d.log("rtt_ms", 1, 20), 120), **to_board(sector * 8e3 / (takes + sector * 8e3 / rate), stack, program, 4, f"flash={sector} stops={takes} still=1")}
    return {**it, "without": to_board(rate * 0.7, stack, program)}


@case("sender-stops", ["sender-stalls", "sender-idle"], "The sender stands still at intervals.", 3, check=faster(1.3))
def sender_stops(d):
    how, rate, works, stops = d.turn("who", "netx", "smol", "host"), d.log("rate", 3e6, 12e6), int(d.log("works_ms", 120, 480)), int(d.log("stops_ms", 180, 700))
    it = line(rate, d.log("rtt_ms", 2, 30))
    if how == "host":
        plain = down(rate * 0.6, "perl", seconds=3, send="chunk=4096 sndbuf=24000")
        words = f"chunk=4096 sndbuf=24000 works={works} stops={stops}"
        return {**it, **down(rate * 0.5, "perl", seconds=3, send=words), "without": plain}
    stack = {"netx": "netx,depth=12", "smol": "smol,send=16000"}[how]
    program = {"netx": "push-nc", "smol": "curl"}[how]
    return {**it, **from_board(rate * 0.4, stack, program, 3, f"works={works} stops={stops} still=1"), "without": from_board(rate * 0.5, stack, program)}


@case("reads-card", ["sender-idle", "sender-stalls"], "The sender's program waits for each part of the file before it writes it.", 3, check=faster(1.3))
def reads_card(d):
    how, part, pause, rate = d.turn("who", "smol", "netx", "host"), int(d.log("part", 2_000, 9_000)), int(d.log("pause_ms", 14, 70)), d.log("rate", 5e6, 40e6)
    it = line(rate, d.log("rtt_ms", 0.8, 10))
    if how == "host":
        return {**it, **up(part * 8e3 / pause, "perl", send=f"chunk={part} pause={pause}"), "without": up(rate * 0.3, "perl", send=f"chunk={part}")}
    stack, program = {"netx": ("netx,depth=8", "wget"), "smol": ("smol,send=11680", "push-perl")}[how]
    return {**it, **from_board(part * 8e3 / pause, stack, program, words=f"chunk={part} pause={pause}"), "without": from_board(rate * 0.3, stack, program)}


@case("host-shapes", ["host-pacing", "path-rate"], "A discipline of the sending host limits its rate.", 2, check=faster(1.4))
def host_shapes(d):
    rtt, rate, pace = d.log("rtt_ms", 3, 40), d.log("rate", 12e6, 30e6), int(d.log("pace_bits_per_s", 1.2e6, 5e6))
    how = d.turn("how", "fq", "tbf")
    it = {**line(rate, rtt), **transfer(d, pace, "down:lighttpd-curl", "up:nc")}
    words = f"fq maxrate {pace}" if how == "fq" else f"tbf rate {pace} burst 3200 limit 60000"
    return {**it, "host_shape": {it["sender"]: words}, "without": {"host_shape": {}, "octets": int(rate / 10)}}


@case("server-works", ["server-think-time", "peer-turnaround"], "The server takes its time for each answer.", 3, gain=False, check=thinks())
def server_works(d):
    rtt, think, answer = d.log("rtt_ms", 1, 40), int(d.log("think_ms", 100, 520)), int(d.log("answer", 120, 12_000))
    count = max(5, round(3_000 / think))
    it = {**line(d.log("rate", 4e6, 30e6), rtt), "sender": "B", "thinks_s": (count - 1) * think / 1e3}
    how = d.turn("server", "netx", "asyncio", "cgi")
    if how == "asyncio":
        return {**it, "servers": [("B", f"{TALK} serve @B 5556 request=70 answer={answer} think={think}")], "client": f"{TALK} ask @B 5556 request=70 answer={answer} count={count}"}
    if how == "netx":
        return {**it, "device": "B", "servers": [("B", board("netx", f"role=answer port=1503 request=33 answer={answer} think={think}"))],
                "client": f"{TALK} ask @B 1503 request=33 answer={answer} count={count}"}
    page = f"sleep {think / 1e3}\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\nhead -c {answer} /dev/zero\n"
    return {**it, "files": {"page.cgi": page, "lighttpd.conf": LIGHTTPD}, "servers": [("B", "exec lighttpd -D -f @D/lighttpd.conf")],
            "client": f"curl -s -o /dev/null 'http://@B:8800/page.cgi?[1-{count}]'"}


@case("client-works", ["client-think-time"], "The client works on each part that it fetched before it asks for the next.", 2, gain=False, check=both(between(2, 12), printed("answers", 5)))
def client_works(d):
    think, answer = int(d.log("think_ms", 120, 450)), int(d.log("answer", 5_000, 50_000))
    it, count = line(d.log("rate", 9e6, 40e6), d.log("rtt_ms", 0.8, 20), 60), max(6, round(3_000 / think))
    if d.turn("client", "host", "board") == "host":
        return {**it, "sender": "B", "servers": [("B", f"{TALK} serve @B 5557 request=120 answer={answer}")], "client": f"{TALK} ask @B 5557 request=120 answer={answer} count={count} pause={think}"}
    return {**it, "device": "B", "sender": "A", "client_at": "B", "servers": [("A", f"{TALK} serve @A 5557 request=120 answer={answer}")],
            "client": "sleep 1.5; " + board("smol,receive=11680", f"role=ask port=5557 request=120 answer={answer} count={count} pause={think}")}


@case("few-octets", ["small-writes", "sender-idle"], "The program writes a few octets at a time, without Nagle's algorithm.", 2, check=faster(1.3))
def few_octets(d):
    rtt, rate, octets = d.log("rtt_ms", 4, 26), d.log("rate", 1.4e6, 6e6), int(d.log("octets", 14, 90))
    if d.turn("who", "netx", "host") == "host":
        pause = d.log("pause_ms", 0.5, 1.5)
        return {**line(rate, rtt, 30), **up(octets * 8e3 / (pause + 0.1), "perl", send=f"chunk={octets} pause={pause} nodelay=1"), "without": up(rate * 0.5, "perl")}
    return {**line(rate, rtt, 30), **from_board(octets * 8e3 / 1.5, "netx,depth=60", "push-perl", words=f"chunk={octets} pause=1"),
            "without": from_board(rate * 0.5, "netx,depth=60", "push-perl")}


@case("clamped", ["small-mss", "path-rate"], "A router clamps the MSS to less than a tenth; headers take much of the line.", 1, check=faster(1.3))
def clamped(d):
    rate, mss = d.log("rate", 1.2e6, 4e6), int(d.log("mss", 96, 150))
    it = {**line(rate, d.log("rtt_ms", 2, 16), 60), **transfer(d, rate * 0.5, "down:lighttpd-wget", "up:nc"), "timestamps": 1}
    return {**it, "nft": {"R": rules(f"tcp flags syn tcp option maxseg size set {mss}")}, "without": {"nft": {}}}


@case("board-segments", ["small-mss", "path-rate"], "The board announces a small MSS; headers take much of the line.", 2, check=faster(1.3))
def board_segments(d):
    rate, mss = d.log("rate", 0.8e6, 2.4e6), int(d.log("mss", 88, 128))
    stack, program = d.turn("stack", "netx", "smol"), d.turn("program", "iperf", "put")
    small, large = {"netx": (f"netx,window=4380,mss={mss}", "netx,window=4380"), "smol": (f"smol,receive=4380,mtu={mss + 40}", "smol,receive=4380")}[stack]
    it = {**line(rate, d.log("rtt_ms", 1, 8), 60), **to_board(rate * 0.5, small, program), "timestamps": 0}
    return {**it, "without": to_board(rate * 0.8, large, program)}


@case("tiny-openings", ["silly-window", "receiver-reads-slowly", "receive-window"], "The receiver opens its window by the few octets that its program reads, and the sender fills each opening.", 2,
      check=both(faster(1.3), check("most segments have less than 500 octets", lambda truth, trial: 0 < truth["path"]["seen"]["usual_segment"] < 500)))
def tiny_openings(d):
    chunk, pause, rate = int(d.log("chunk", 60, 320)), int(d.log("pause_ms", 2, 5, 1)), d.log("rate", 3e6, 20e6)
    stack = d.turn("reader", "smol,receive=1460", "smol,receive=2920")
    it = {**line(rate, d.log("rtt_ms", 1, 10)), "device": "AB", "sender": "B", "octets": int(chunk * 1e3 / pause * 2.4)}
    fetch = {"servers": [("B", board("netx,depth=10", "role=web port=8800 octets=@N"))], "client": board(stack, f"role=fetch port=8800 chunk={chunk} pause={pause}", "A")}
    return {**it, **fetch, "without": {"client": board(stack, "role=fetch port=8800", "A"), "octets": 300_000}}


@case("waits-to-acknowledge", ["late-acks", "one-in-flight"], "The receiver acknowledges late, and the sender has one segment in flight.", 2, check=both(faster(1.3), in_flight_at_most(1_461)))
def waits_to_acknowledge(d):
    rtt, rate, delay = d.log("rtt_ms", 1, 14), d.log("rate", 3e6, 40e6), int(d.log("delay_ms", 16, 60))
    it = {**line(rate, rtt), "device": "AB", "sender": "B", "octets": int(SEGMENT * 2.4e3 / (rtt + delay)),
          "servers": [("B", board("netx,depth=1", f"role=web port=80 octets=@N chunk={5 * SEGMENT}"))]}
    reads = "role=fetch port=80"
    return {**it, "client": board(f"smol,receive=8760,ack_delay={delay}", reads, "A"),
            "without": {"client": board("smol,receive=8760,ack_delay=-1", reads, "A"), "octets": int(SEGMENT * 2e3 / rtt)}}


@case("acknowledges-by-timer", ["stretch-acks", "late-acks"], "NetX Duo as it comes acknowledges by its timer of 200 ms, or when half of its window is free again.", 2, check=faster(1.3))
def acknowledges_by_timer(d):
    rtt, rate, window, program = d.log("rtt_ms", 2, 30), d.log("rate", 6e6, 30e6), d.log("window", 60_000, 200_000), d.turn("program", "perl", "put")
    it = {**line(rate, rtt, 50), **to_board(1.2e6, f"netx-timer,window={window}", program)}
    return {**it, "without": to_board(rate * 0.2, f"netx-scaled,window={window}", program)}


@case("board-sleeps", ["wake-up-latency", "server-think-time", "peer-turnaround"], "The board sleeps when idle, and looks for frames at intervals.", 2, check=faster(1.3))
def board_sleeps(d):
    wakes, after, answer = int(d.log("wakes_ms", 60, 260)), int(d.log("after_ms", 4, 14, 2)), int(d.log("answer", 16, 1_000))
    pause, stack = int(after + wakes * d.log("pause_share", 0.1, 0.4)), d.turn("stack", "netx", "smol")
    served = f"role=answer port=502 request=20 answer={answer}"
    return {**line(d.log("rate", 3e6, 50e6), d.log("rtt_ms", 0.6, 9)), "device": "B", "sender": "B", "servers": [("B", board(stack, f"{served} wakes={wakes} after={after}"))],
            "client": f"{TALK} ask @B 502 request=20 answer={answer} count={int(3_200 / wakes)} pause={pause}", "without": {"servers": [("B", board(stack, served))]}}


@case("slow-start", ["congestion-window"], "A short transfer over a long path is over before the window has grown, which begins with two segments.", 3,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85), check=both(nothing_missing(), takes_at_most(0.5), faster(1.3)))
def slow_start(d):
    rtt, rate, octets = d.log("rtt_ms", 110, 420), d.log("rate", 12e6, 40e6), d.log("octets", 30e3, 110e3)
    it = {**line(rate, rtt, 60), **transfer(d, octets * 8, "down:node", "up:nc", "down:tcl", seconds=1), "least_s": 0.3, "fixed_octets": True, "congestion": "cubic"}
    it["client"] += "; sleep 1.5"
    peer = "A" if it["sender"] == "B" else "B"
    return {**it, "route": {it["sender"]: "initcwnd 2"}, "without": {"route": {it["sender"]: "initcwnd 90", peer: "initrwnd 90"}}}


@case("prohibited", ["refused"], "A firewall refuses the connection, with an ICMP message or a reset.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"),
      truncated=(0.6, 0.9), check=no_payload())
def prohibited(d):
    how = d.turn("how", "icmp type admin-prohibited", "tcp reset")
    return {**line(9e6, d.log("rtt_ms", 2, 60)), "sender": "A", "one_end": "sender", "least_s": 0, "servers": [],
            "client": f"for i in 1 2 3 4 5; do nc -w 2 -d @B {d.turn('port', '8883', '22')}; sleep 0.5; done; true", "nft": {"R": rules(f"ip protocol tcp counter reject with {how}")}}


@case("hangs", ["no-answer"], "The server accepts the request and never answers; its client gives up.", 1, gain=False, kinds=("sender", "receiver", "middle", "snapped"),
      check=check("the request arrives, and no answer", lambda truth, trial: 0 < truth["octets"] < 1_000))
def hangs(d):
    # The data, of which there is a request only, is that of the client.
    return {**line(9e6, d.log("rtt_ms", 2, 60)), "sender": "A", "least_s": 0, "servers": [("B", f"{TALK} serve @B 5558 request=64 answer=900 think=99000")],
            "client": f"timeout {d.log('patience_s', 3, 8, 2)} {TALK} ask @B 5558 request=64 answer=900 count=3; true"}


@case("first-server-silent", ["name-resolution"], "The first name server does not answer.", 2, gain=False, kinds=("receiver", "middle", "snapped"),
      check=check("payload comes late", lambda truth, trial: truth["path"]["wait_s"] >= 0.9))
def first_server_silent(d):
    octets, rtt = d.log("octets", 5_000, 60_000), d.log("rtt_ms", 3, 50)
    it = {**line(9e6, rtt), **down(octets * 8, d.turn("program", "lighttpd-wget", "node"), seconds=1), "least_s": 0, "one_end": "receiver", "fixed_octets": True}
    it["client"] = it["client"].replace("http://@B:", "http://logger.example.net:")
    return {**it, "resolver": f"nameserver 10.53.3.77\nnameserver 10.53.3.2\noptions timeout:{d.turn('timeout_s', '1', '2')}\n",
            "servers": [*it["servers"], ("B", "@P listen @B 53 names to=10.53.3.2 after=1")], "nft": {"R": rules("ip daddr 10.53.3.77 counter drop")}}


@case("lost-answers", ["retransmission-stalls", "random-loss", "wire-errors"], "Requests and answers are lost; only timers repair them.", 3, check=faster(1.3))
def lost_answers(d):
    rtt, share, answer = d.log("rtt_ms", 4, 34), int(d.log("loss_permille", 20, 60)), int(d.log("answer", 40, 1_100))
    who = d.turn("server", "netx", "asyncio", "smol")
    it = {**line(9e6, rtt), "sender": "B", "longest": 40, "nft": {"R": rules(f"ip protocol tcp numgen random mod 1000 < {share} counter drop")}, "without": {"nft": {}}}
    count = int((3.4 if who == "asyncio" else 6) / (rtt / 1e3 + share * 2 * 0.4e-3))
    if who == "asyncio":
        return {**it, "servers": [("B", f"{TALK} serve @B 5559 request=60 answer={answer}")], "client": f"{TALK} ask @B 5559 request=60 answer={answer} count={count}"}
    return {**it, "device": "B", "servers": [("B", board(f"{who}", f"role=answer port=5559 request=60 answer={answer} timer=400"))],
            "client": f"{TALK} ask @B 5559 request=60 answer={answer} count={count}"}


@case("storm", ["broadcast-storm", "main-thread-bound", "receive-window", "late-acks"], "The board's segment is full of broadcasts, each of which takes its time.", 2,
      kinds=("receiver", "late", "truncated", "snapped"), check=faster(1.3))
def storm(d):
    each, broadcasts, stack = int(d.log("frame_us", 260, 520)), int(d.log("broadcasts_per_s", 900, 1_500)), d.turn("stack", "netx,window=11680", "smol,receive=11680")
    it = {**line(d.log("rate", 20e6, 40e6), d.log("rtt_ms", 0.8, 3)), **to_board(3e6, stack, d.turn("program", "perl", "put"), words=f"frame_us={each}"), "one_end": "receiver"}
    sends = (f"perl -MSocket -MTime::HiRes=sleep -e 'socket(S, PF_INET, SOCK_DGRAM, 0); setsockopt(S, SOL_SOCKET, SO_BROADCAST, 1); my $to = pack_sockaddr_in(1900, inet_aton(\"10.53.4.255\")); "
             f"while (1) {{ send(S, \"x\" x 180, 0, $to); sleep({1 / broadcasts:.6f}) }}'")
    return {**it, "servers": [*it["servers"], ("B", f"sleep 1; {sends}")], "without": {"servers": it["servers"]}}
