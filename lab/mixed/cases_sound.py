"""Healthy hosts, boards and lines: nothing may be named but the path's rate."""

from checks import between, both, check, filled, nothing_missing, printed
from draw import control
from programs import LIGHTTPD, PEER, TALK, board, either, line, octets_in, transfer, up
from setups import delays

ECN = {end: {"net.ipv4.tcp_ecn": 1} for end in "AB"}


@control("odd-line", "A line of some rate is full.", count=4, check=filled(0.8))
def odd_line(d):
    rate, rtt = d.log("rate", 1.1e6, 28e6), d.log("rtt_ms", 2, 32)
    it = {**line(rate, rtt), **transfer(d, rate, "up:nc", "down:lighttpd-curl", "up:rsync", "down:tls")}
    return {**it, "congestion": d.turn("congestion", "westwood", "vegas", "cubic", "htcp")}


@control("ten-line", "A line of 10 Mbit/s is full; the sender's interface segments, the receiver's merges.", count=2, check=filled(0.85))
def ten_line(d):
    it = {**line(10e6, d.log("rtt_ms", 0.6, 3), 30), **transfer(d, 10e6, "up:redis", "down:node")}
    return {**it, "tso": it["sender"], "gro": "B" if it["sender"] == "A" else "A"}


@control("hundred-line", "A line of 100 Mbit/s is full; the sender's interface segments.", count=2, check=filled(0.8))
def hundred_line(d):
    it = {**line(100e6, 1, 14), **transfer(d, 100e6, "up:nc", "down:lighttpd-wget", seconds=0.8)}
    # No netem, whose timers would keep the emulated processor busy.
    return {**it, "netem": {}, "tso": it["sender"], "gro": d.turn("gro", "", "AB"), "least_s": 0.5, "fixed_octets": True}


@control("marked-line", "A line is full whose managed queue marks packets instead of dropping them.", count=3, check=filled(0.8))
def marked_line(d):
    rate, rtt, queue = d.log("rate", 3.4e6, 18e6), d.log("rtt_ms", 5, 34), d.turn("queue", "codel", "cake", "fq_codel")
    it = {**line(rate, rtt), **transfer(d, rate, "down:tcl", "up:perl", "down:tls"), "sysctl": ECN, "congestion": "cubic"}
    shape = {"cake": f"cake bandwidth {int(rate)}bit besteffort rtt 50ms", "fq_codel": f"hfsc {int(rate)}; fq_codel ecn", "codel": f"htb {int(rate)}; codel ecn"}[queue]
    return {**it, "shape": {**it["shape"], "there": shape}}


@control("hfsc-line", "A line that HFSC shapes is full.", count=1, check=filled(0.8))
def hfsc_line(d):
    rate, rtt = d.log("rate", 2.2e6, 14e6), d.log("rtt_ms", 4, 26)
    it = {**line(rate, rtt), **transfer(d, rate, "down:ftpget", "up:perl")}
    return {**it, "shape": {**it["shape"], "there": f"hfsc {int(rate)}; bfifo limit {octets_in(rate, max(24, rtt))}"}}


@control("tunnelled-line", "A line within a tunnel is full; a router clamps the MSS to what the tunnel carries.", count=2, check=filled(0.78))
def tunnelled_line(d):
    rate, rtt = d.log("rate", 3e6, 16e6), d.log("rtt_ms", 6, 40)
    tunnel = d.turn("tunnel", "gre", "wireguard")
    mss = {"wireguard": 1380, "gre": 1436}[tunnel]
    it = {**line(rate, rtt), **transfer(d, rate, "up:rsync", "down:lighttpd-wget"), "tunnel": tunnel}
    return {**it, "nft": {"R": f"table ip mixed {{\nchain f {{\ntype filter hook forward priority -20;\ntcp flags syn tcp option maxseg size set {mss}\n}}\n}}\n"}}


@control("serial-line", "A serial line with PPP is full; the board's window or buffer is a few segments.", count=2, check=filled(0.8))
def serial_line(d):
    baud = int(d.turn("baud", "230400", "115200"))
    it = either(d, baud * 0.8, "to smol,receive=4380 perl", "from netx,depth=3 curl", seconds=5)
    return {**it, "rate": baud * 0.8, "serial": baud, "shape": {}, "netem": {}, "longest": 30}


@control("few-segments-full", "A board's window or buffer of a few segments fills the line, for the path is short.", count=3, check=filled(0.82))
def few_segments_full(d):
    rate = d.log("rate", 1.6e6, 8e6)
    it = either(d, rate, "from netx,depth=6 push-nc", "to netx,window=8760 iperf", "to smol,receive=7300 put")
    return {**line(rate, d.log("rtt_ms", 0.5, 3), 70), **it}


@control("granted-line", "A radio's medium is granted in slots; all of them are used.", count=1,
         check=check("payload takes at least 75% of the rate of the slots", lambda truth, trial: truth["goodput_bits_per_s"] >= 0.75 * trial["rate"]))
def granted_line(d):
    slot, packets, rtt = int(d.log("slot_ms", 4, 9, 1)), int(d.log("packets", 4, 12, 2)), d.log("rtt_ms", 4, 16)
    rate = packets * 1514 * 8e3 / slot
    d.note(rate=int(rate))
    it = {**line(rate * 3, rtt, 60), **transfer(d, rate, "up:perl", "down:node"), "rate": rate, "congestion": "cubic"}
    return {**it, "netem": {**delays(rtt), "there": f"limit {max(40, 12 * packets)} delay {rtt / 2:.3f}ms slot {slot}ms {slot}ms packets {packets}"}}


@control("exchanges", "A client asks now and then, by one connection; the server answers at once.", count=3, check=between(2, 9))
def exchanges(d):
    every, answer = int(d.log("interval_ms", 40, 330)), int(d.log("answer", 20, 2_400))
    it = {**line(d.log("rate", 1.4e6, 60e6), d.log("rtt_ms", 0.7, 40)), "sender": "B"}
    how = d.turn("program", "board", "asyncio", "redis")
    if how == "redis":
        return {**it, "servers": [("B", f"redis-server --bind @B --port 6379 --save '' --protected-mode no & sleep 0.6; head -c {answer} /dev/zero | tr '\\0' v | redis-cli -h @B -x set k; wait")],
                "client": f"redis-cli -h @B -r {int(3_400 / every)} -i {every / 1e3} get k"}
    if how == "board":
        return {**it, "device": "B", "servers": [("B", board("netx", f"role=answer port=502 request=12 answer={min(answer, 1_400)}"))],
                "client": f"{TALK} ask @B 502 request=12 answer={min(answer, 1_400)} count={int(3_400 / every)} pause={every}"}
    return {**it, "servers": [("B", f"{TALK} serve @B 5555 request=90 answer={answer}")],
            "client": f"{TALK} ask @B 5555 request=90 answer={answer} count={int(3_400 / every)} pause={every}"}


@control("short-pages", "Short pages are fetched one now and then, each by a connection of its own.", count=3, check=between(2, 11))
def short_pages(d):
    pause, octets, server = int(d.log("pause_ms", 180, 560)), int(d.log("octets", 300, 9_000)), d.turn("server", "board", "lighttpd", "tls")
    it = {**line(d.log("rate", 2.4e6, 60e6), d.log("rtt_ms", 0.8, 30)), "sender": "B", "octets": octets, "fixed_octets": True}
    if server == "board":
        it |= {"device": "B", "servers": [("B", board("smol", f"role=web port=80 octets={octets}"))]}
        fetch = "curl -s -o /dev/null http://@B/data"
    elif server == "tls":
        it |= {"servers": [("B", "truncate -s @N @D/data; cd @D; exec openssl s_server -accept @B:4433 -cert /tmp/tls.crt -key /tmp/tls.key -WWW -quiet")]}
        fetch = "curl -s -k -o /dev/null https://@B:4433/data"
    else:
        it |= {"files": {"lighttpd.conf": LIGHTTPD}, "servers": [("B", "truncate -s @N @D/data; exec lighttpd -D -f @D/lighttpd.conf")]}
        fetch = "wget -q -O /dev/null http://@B:8800/data"
    return {**it, "client": f"for i in $(seq {int(3_400 / pause)}); do {fetch}; sleep {pause / 1e3}; done"}


@control("datagrams", "Datagrams are sent at less than the path's rate.", count=3, check=nothing_missing())
def datagrams(d):
    rate, octets, rtt = d.log("rate", 1.8e6, 24e6), int(d.log("octets", 120, 1_400)), d.log("rtt_ms", 1, 36)
    share, how = d.log("share", 0.15, 0.6), d.turn("program", "netx", "smol", "nuttcp")
    if how == "nuttcp":
        return {**line(rate, rtt, 50), "sender": "A", "servers": [("B", "nuttcp -S --nofork")], "client": f"nuttcp -u -t -T 3 -l {max(500, octets)} -R {int(rate * share / 1e3)}k @B"}
    pause = max(1, round(octets * 8e3 / (rate * share)))
    return {**line(rate, rtt, 50), "device": "B", "sender": "B", "client_at": "B", "servers": [("A", "@P listen @A 4200 take")],
            "client": board(how, f"role=stream port=4200 chunk={octets} count=1 pause={pause} seconds=3")}


@control("readings", "A meter pushes a reading at intervals, by one connection.", count=2, check=between(2, 9))
def readings(d):
    every, octets = int(d.log("interval_ms", 90, 400)), int(d.log("octets", 24, 600))
    total = octets * int(3_400 / every)
    it = {**line(d.log("rate", 0.5e6, 30e6), d.log("rtt_ms", 1, 70)), "fixed_octets": True, "octets": total}
    if d.turn("meter", "host", "board") == "board":
        return {**it, "device": "B", "sender": "B", "client_at": "B", "servers": [("A", f"{PEER} listen @A 7007 read")],
                "client": board("netx", f"role=push port=7007 octets=@N chunk={octets} pause={every}")}
    return {**it, **{key: value for key, value in up(1e6, "perl", send=f"chunk={octets} pause={every} nodelay=1").items() if key != "octets"}}
