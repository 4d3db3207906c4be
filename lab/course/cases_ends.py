"""Causes at the ends: windows, buffers, options, programs that read, write, think or wait."""

from checks import both, check, faster, nothing_missing, socket, takes_at_most, thinks
from draw import case
from setups import ENDS, LIGHTTPD, WIDE, answered, any_transfer, changed, ends, exchange, line, nginx, raw, stalled, transfer


@case("window-of-a-program", ["receive-window"], "The receiver's program sets a small receive buffer, or the system or its route a small window, on a long way.", count=4, check=both(faster(1.4), socket("rwnd_limited", 0.4)))
def _(draw):
    sender = ends(draw)
    rate, rtt, buffer = draw.log("rate", *((9e6, 40e6), (60e6, 130e6))[draw.number // 2 % 2]), draw.log("rtt_ms", *((30, 90), (150, 420))[draw.number % 2]), int(draw.log("buffer", 7000, 40000))
    path, how = line(draw, rate, rtt, sender, queue=rate / 8e3 * rtt), draw.turn("how", "sockbuf", "route", "system", "sockbuf")
    receiver = "B" if sender == "A" else "A"
    octets = buffer * 5e3 / rtt
    clean = {"sysctl": {"both": WIDE}, "route": {}, "octets": int(rate / 8 * 3)}
    if how == "route":
        return {**path, **any_transfer(draw, sender, octets), "merges": 0, "sysctl": {"both": WIDE}, "route": {receiver: f"window {buffer}"}, "without": clean}
    if how == "system":
        return {**path, **any_transfer(draw, sender, octets), "merges": 0, "sysctl": {"both": {**WIDE, "tcp_rmem": f"4096 {buffer} {buffer}"}}, "without": clean}
    return {**path, **raw(sender, recv=f"rcvbuf={buffer}", octets=octets), "merges": 0, "sysctl": {"both": WIDE}, "without": {**raw(sender, octets=rate / 8 * 3), **clean}}


@case("scaling-off", {"late": ["receive-window", "no-window-scaling"], "else": ["no-window-scaling", "receive-window"]}, "Window scaling is off at one end.", count=4, check=both(faster(1.35), nothing_missing()))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", *((22e6, 50e6), (60e6, 120e6))[draw.number % 2]), draw.log("rtt_ms", 48, 260)
    path = line(draw, rate, rtt, sender, queue=rate / 8e3 * rtt)
    where = draw.turn("where", "A", "B", "B", "A")
    return {**path, **any_transfer(draw, sender, 65535 * 4.5e3 / rtt), "merges": 0, "sysctl": {"both": WIDE, where: {"tcp_window_scaling": 0}}, "without": {"sysctl": {"both": WIDE}, "octets": int(rate / 8 * 3)}}


@case("reads-at-its-own-rate", ["receiver-reads-slowly"], "The receiver's program reads less than arrives, in chunks.", count=3, check=both(faster(1.5), socket("rwnd_limited", 0.4)))
def _(draw):
    sender = ends(draw)
    rate, rtt, reads = draw.log("rate", 12e6, 70e6), draw.log("rtt_ms", 3, 45), draw.log("reads", 0.7e6, 6e6)
    path, chunk = line(draw, rate, rtt, sender), draw.turn("chunk", 1000, 4096, 12000)
    return {**path, **raw(sender, recv=f"rate={reads:.0f} chunk={chunk} rcvbuf={int(draw.log('buffer', 24000, 110000))}", octets=reads / 8 * 6), "without": raw(sender, octets=rate / 8 * 3)}


@case("download-limited-by-curl", ["receiver-reads-slowly"], "curl reads at the rate that its user gave.", count=2, check=both(faster(1.5), nothing_missing()))
def _(draw):
    rate, rtt, reads = draw.log("rate", 16e6, 60e6), draw.log("rtt_ms", 5, 40), draw.log("reads", 1.2e6, 5e6)
    path = line(draw, rate, rtt, "B", queue=rate / 8e3 * 120)
    there = transfer("nginx-curl", "B", reads / 8 * 8, curl=f"--limit-rate {int(reads / 8)}")
    return {**path, **there, "is_timed": True, "sysctl": {"A": {"tcp_rmem": "4096 65536 131072"}}, "without": {**transfer("nginx-curl", "B", rate / 8 * 3), "is_timed": True}}


@case("relay-on-a-slow-bus", ["receiver-reads-slowly"], "socat takes the connection and passes it on to a program that reads slowly.", count=2, check=both(faster(1.5), nothing_missing()))
def _(draw):
    rate, rtt, reads = draw.log("rate", 14e6, 50e6), draw.log("rtt_ms", 3, 30), draw.log("reads", 0.9e6, 4e6)
    path = line(draw, rate, rtt, "A", queue=rate / 8e3 * 120)
    there = raw("A", octets=reads / 8 * 7)
    there["server"] = [f"{ENDS} recv listen=7011 rate={reads:.0f} chunk=4096 rcvbuf=16000", "exec socat TCP-LISTEN:7000,reuseaddr,rcvbuf=32000 TCP:127.0.0.1:7011,sndbuf=16000"]
    there["ports"] = [7000, 7011]
    clean = {**there, "server": ["exec socat TCP-LISTEN:7000,reuseaddr OPEN:/dev/null", ], "ports": [7000], "octets": int(rate / 8 * 3)}
    return {**path, **there, "is_timed": True, "without": clean}


@case("erases-a-sector", ["receiver-reads-slowly", "receiver-stalls"], "The receiver's program stops reading for a while behind each block.", count=3, check=both(faster(1.4), stalled(0.4)))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", 9e6, 50e6), draw.log("rtt_ms", 2.5, 25)
    path, part = line(draw, rate, rtt, sender), int(draw.log("block", 90e3, 600e3))
    pause = part * 8e3 / rate * draw.log("times", 1.8, 5) + 60
    draw.note(pause_ms=round(pause))
    return {**path, **raw(sender, recv=f"every={part} pause_ms={pause:.0f} varies=0.1 rcvbuf={int(draw.log('buffer', 24000, 60000))}", octets=part * 6e3 / (pause + part * 8e3 / rate)), "without": raw(sender, octets=rate / 8 * 3)}


def kept_small():
    def holds(truth, _trial):
        it = truth["path"]["socket"]
        flying = truth["goodput_bits_per_s"] / 8e3 * it["minrtt_ms"]
        return flying <= it["sndbuf"] and it["cwnd"] * 1448 >= 1.2 * flying
    return check("what is in flight in a round trip is less than the socket's buffer, and its congestion window is larger", holds)


@case("socket-keeps-little", ["send-buffer"], "The sender's socket buffer holds less than the way.", count=4, check=both(faster(1.35), nothing_missing(), kept_small()))
def _(draw):
    sender = ends(draw)
    rate, rtt, buffer = draw.log("rate", 15e6, 90e6), draw.log("rtt_ms", *((24, 80), (100, 260))[draw.number % 2]), int(draw.log("buffer", 12000, 60000))
    path, how = line(draw, rate, rtt, sender, queue=rate / 8e3 * rtt), draw.turn("how", "socket", "system")
    path.update(merges=0, one_segment_each=True)
    octets = buffer * 3e3 / rtt
    if how == "socket":
        return {**path, **raw(sender, send=f"sndbuf={buffer}", octets=octets), "sysctl": {"both": WIDE}, "without": raw(sender, octets=rate / 8 * 3)}
    return {**path, **raw(sender, octets=octets), "sysctl": {"both": WIDE, sender: {"tcp_wmem": f"4096 {buffer} {buffer}"}}, "without": {"sysctl": {"both": WIDE}, "octets": int(rate / 8 * 3)}}


@case("files-too-short-for-the-way", ["congestion-window"], "Files are over before slow start fills the long way; each has a connection of its own.", count=4, check=both(faster(1.3), nothing_missing()))
def _(draw):
    rate, rtt, count = draw.log("rate", 15e6, 90e6), draw.log("rtt_ms", 110, 390), draw.random.randrange(3, 6)
    octets = int(rate / 8e3 * rtt * draw.log("of_the_way", 0.3, 0.9))
    draw.note(files=count, octets=octets)
    path = line(draw, rate, rtt, "B", queue=rate / 8e3 * rtt * 2)
    path["merges"] = 0
    tool = draw.turn("program", "curl -sS -o /dev/null http://@B/f", "wget -q -O /dev/null http://@B/f")
    there = {"sender": "B", "server": nginx(octets), "ports": [80], "client": f"for n in $(seq {count}); do {tool}; done", "is_timed": True}
    slow = draw.turn("initcwnd", 2, 3, 10, 1)
    return {**path, **there, "sysctl": {"both": {**WIDE, "tcp_rmem": "4096 8388608 16777216"}}, "route": {"B": f"initcwnd {slow}", "A": "initrwnd 4000"}, "without": {"route": {"B": "initcwnd 2000", "A": "initrwnd 4000"}}}


@case("written-in-two-parts", ["delayed-ack-with-nagle"], "Each request is written in two parts; the second waits for a delayed acknowledgment.", count=4, check=both(faster(1.8), answered(20)))
def _(draw):
    path = line(draw, draw.log("rate", 1.2e6, 60e6), draw.log("rtt_ms", 0.6, 17), "B")
    size, answer = int(draw.log("size", 30, 700)), int(draw.log("answer", 20, 1100))
    ask = f"count=75 size={size} answer={answer} split={draw.turn('parts', 2, 2, 3)}"
    reply = f"size={size} answer={answer}"
    return {**path, **exchange(ask, reply), "without": exchange(f"{ask} nodelay=1", reply)}


@case("one-value-at-a-time", ["small-writes", "path-rate", "sender-idle"], "The program writes a few octets at a time without Nagle's algorithm; headers fill the line.", count=4, check=faster(1.4))
def _(draw):
    sender = ends(draw)
    size = int(draw.log("write", 12, 130))
    rate, rtt = draw.log("rate", *((0.3e6, 0.8e6), (1e6, 3e6))[draw.number % 2]), draw.log("rtt_ms", 8, 50)
    path = line(draw, rate, rtt, sender, kind="tbf")
    path["merges"] = 0
    gap = (size + 66) * 8e3 / rate * 1.04
    draw.note(gap_ms=round(gap, 3))
    return {**path, **raw(sender, send=f"write={size} nodelay=1 gap_ms={gap:.4f}", octets=size * 5e3 / gap), "without": raw(sender, octets=rate / 8 * 3)}


@case("reads-a-slow-disk", ["sender-idle", "sender-stalls"], "The sender's program prepares each block when the last one is written.", count=3, check=both(faster(1.4), stalled(0.3)))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", 8e6, 60e6), draw.log("rtt_ms", 2.5, 40)
    path, part = line(draw, rate, rtt, sender), int(draw.log("block", 40e3, 300e3))
    pause = part * 8e3 / rate * draw.log("times", 1.5, 4) + 1.5 * rtt + 20
    draw.note(pause_ms=round(pause))
    return {**path, **raw(sender, send=f"every={part} pause_ms={pause:.0f} varies=0.15", octets=part * 6e3 / (pause + part * 8e3 / rate)), "without": raw(sender, octets=rate / 8 * 3)}


@case("server-throttles-a-connection", ["sender-idle", "sender-stalls", "host-pacing"], "The web server limits each connection: it writes some kilobytes, and waits.", count=3, check=both(faster(1.5), nothing_missing()))
def _(draw):
    rate, rtt, kilobytes = draw.log("rate", 14e6, 70e6), draw.log("rtt_ms", 3, 40), int(draw.log("kilobytes_per_s", 60, 420))
    path, program = line(draw, rate, rtt, "B", queue=rate / 8e3 * 150), draw.turn("server", "lighttpd", "nginx")
    octets = kilobytes * 1000 * 6
    if program == "lighttpd":
        conf = LIGHTTPD + f"connection.kbytes-per-second = {kilobytes}\n"
        server = f"mkdir -p @D/www; truncate -s {octets} @D/www/f; printf '%s' '{conf}' > @D/l.conf; exec lighttpd -D -f @D/l.conf"
    else:
        server = nginx(octets, inside=f"limit_rate {kilobytes}k;")
    there = {"sender": "B", "server": server, "ports": [80], "client": "curl -sS -o /dev/null http://@B/f", "is_timed": True}
    return {**path, **there, "without": {**transfer("nginx-curl", "B", rate / 8 * 3), "is_timed": True}}


@case("application-computes", ["server-think-time"], "The server works on each request.", count=4, gain=False, check=thinks())
def _(draw):
    path = line(draw, draw.log("rate", 0.5e6, 60e6), draw.log("rtt_ms", 0.8, 60), "B")
    work, size = draw.log("work_ms", 130, 900), int(draw.log("answer", 200, 22000))
    count = max(5, min(14, int(5500 / work)))
    if draw.turn("program", "own", "cgi") == "own":
        there = exchange(f"count={count} size=120 answer={size} nodelay=1", f"size=120 answer={size} work_ms={work}")
    else:
        server = ("mkdir -p @D/www/cgi-bin; printf '%s\\n' '#!/bin/busybox sh' 'echo Content-type: text/plain' 'echo' "
                  f"'sleep {work / 1e3:.3f}' 'head -c {size} /dev/zero' > @D/www/cgi-bin/x; chmod 755 @D/www/cgi-bin/x; exec busybox httpd -f -p 80 -h @D/www")
        there = {"sender": "B", "server": server, "ports": [80], "client": f"for n in $(seq {count}); do curl -sS -o /dev/null http://@B/cgi-bin/x; done", "is_timed": True}
    return {**path, **there, "merges": 0, "thinks_s": count * work / 1e3}


@case("requests-are-rationed", ["server-think-time"], "nginx delays requests beyond so many a second (limit_req).", count=2, gain=False, check=thinks())
def _(draw):
    path = line(draw, draw.log("rate", 4e6, 40e6), draw.log("rtt_ms", 2, 30), "B")
    each = draw.random.randrange(2, 5)
    count = each * 5
    draw.note(per_s=each)
    more = f"limit_req_zone $binary_remote_addr zone=z:1m rate={each}r/s;"
    urls = " ".join(["http://@B/f"] * count)
    there = {"sender": "B", "server": nginx(int(draw.log("answer", 900, 30000)), more=more, inside="limit_req zone=z burst=200;"), "ports": [80], "client": f"curl -sS {urls} > /dev/null", "is_timed": True}
    return {**path, **there, "merges": 0, "thinks_s": (count - 1) / each * 0.9}


@case("client-works-on-each-answer", ["client-think-time"], "The client works on each answer before it asks for the next.", count=4, gain=False,
      check=check("60% of the time is the client's", lambda truth, trial: any(it.get("thought_s", 0) >= 0.6 * truth["seconds"] > 1 for it in truth["path"]["programs"]) or trial.get("thinks_s", 0) >= 0.6 * truth["seconds"] > 1))
def _(draw):
    path = line(draw, draw.log("rate", 6e6, 80e6), draw.log("rtt_ms", 0.9, 35), "B", queue=160000)
    think, answer = draw.log("think_ms", 160, 800), int(draw.log("answer", 12e3, 140e3))
    count = int(5200 / think) + 3
    if draw.turn("program", "own", "wget") == "own":
        return {**path, **exchange(f"count={count} size=80 answer={answer} think_ms={think} nodelay=1", f"size=80 answer={answer}")}
    urls = " ".join(f"http://@B/f?{it}" for it in range(7))
    there = {"sender": "B", "server": nginx(answer), "ports": [80], "client": f"wget -q -w 1 -O /dev/null {urls}", "is_timed": True, "thinks_s": 6}
    return {**path, **there}


@case("boot-file-by-tftp", ["one-in-flight"], "TFTP has one block under way.", count=4, gain=False, check=takes_at_most(0.4))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 80e6), draw.log("rtt_ms", 4, 60)
    path = line(draw, rate, rtt, "B")
    server = "exec dnsmasq -k -p 0 --enable-tftp --tftp-root=@D/t --user=root --conf-file=/dev/null --pid-file=@D/pid"
    block = draw.turn("block", 512, 1024, 1428)
    octets = block * 5e3 / rtt
    made = "mkdir -p @D/t; chmod 755 @D @D/t; truncate -s {octets} @D/t/f; "
    return {**path, "merges": 0, "server": made + server, "ports": [69], "client": f"curl -sS --tftp-blksize {block} -o /dev/null tftp://@B/f", "octets": int(octets)}


@case("datagram-and-answer", ["one-in-flight"], "A protocol over UDP waits for the answer to each block.", count=2, gain=False, check=takes_at_most(0.4))
def _(draw):
    rate, rtt, size = draw.log("rate", 5e6, 50e6), draw.log("rtt_ms", 4, 45), int(draw.log("size", 700, 1400))
    path = line(draw, rate, rtt, "A")
    return {**path, "merges": 0, "server": f"{ENDS} drecv listen=6100 answer=24", "ports": [6100], "client": f"{ENDS} dsend host=@B port=6100 size={size} octets={{octets}} waits=1", "octets": int(size * 5e3 / rtt)}


@case("one-query-at-a-time", ["one-in-flight"], "A client asks hundreds of small things, each after the answer to the one before, over a long way.", count=4, gain=False, check=takes_at_most(0.4))
def _(draw):
    rate, rtt = draw.log("rate", 2e6, 60e6), draw.log("rtt_ms", 26, 110)
    path, count = line(draw, rate, rtt, "B"), int(6000 / draw.settings["rtt_ms"])
    path["merges"] = 0
    program = draw.turn("program", "redis", "own", "ab", "pages")
    if program == "redis":
        return {**path, "server": "exec redis-server --port 6379 --save '' --dir @D --protected-mode no", "ports": [6379], "client": f"for n in $(seq {count}); do echo set key$n value$n; done | redis-cli -h @B > /dev/null", "is_timed": True}
    if program == "ab":
        return {**path, "server": nginx(int(draw.log("answer", 200, 1300))), "ports": [80], "client": f"ab -q -c 1 -n {max(count // 2, 24)} http://@B/f > /dev/null", "is_timed": True}
    answer = int(draw.log("answer", 60, 1300))
    return {**path, **exchange(f"count={count} size=70 answer={answer} nodelay=1", f"size=70 answer={answer}")}


@case("block-and-receipt", ["one-in-flight", "sender-idle", "client-think-time"], "The program sends each block when the receipt for the last one has come.", count=3, gain=False, check=takes_at_most(0.5))
def _(draw):
    rate, rtt, part = draw.log("rate", 8e6, 60e6), draw.log("rtt_ms", 24, 110), int(draw.log("block", 3000, 13000))
    path = line(draw, rate, rtt, "A")
    return {**path, "merges": 0, **exchange(f"count={int(5500 / rtt)} size={part} answer=30 nodelay=1", f"size={part} answer=30", sender="A")}


@case("paced-by-its-host", {"sender": ["host-pacing"], "else": ["host-pacing", "path-rate"]}, "The sending host shapes what it sends: a token bucket, fq, or a rate of the socket.", count=4, check=both(faster(1.4), nothing_missing()))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", 20e6, 90e6), draw.log("rtt_ms", 5, 50)
    path, own = line(draw, rate, rtt, sender, queue=rate / 8e3 * 120), draw.log("own", 1e6, 9e6)
    path["merges"] = 0
    place = "host_a" if sender == "A" else "host_b"
    how = draw.turn("how", "tbf", "socket", "fq", "tbf")
    if how == "socket":
        return {**path, **raw(sender, send=f"pace={own:.0f}", octets=own / 8 * 5), "without": raw(sender, octets=rate / 8 * 3)}
    words = f"root tbf rate {own:.0f}bit burst 3100 limit 200000" if how == "tbf" else f"root fq maxrate {own:.0f}bit"
    return {**path, **any_transfer(draw, sender, own / 8 * 5), "disciplines": changed(path, **{place: words}), "without": {"disciplines": path["disciplines"]}}


@case("segments-kept-small", ["small-mss", "path-rate"], "Segments are small (option, route or a router's clamp) on a line that takes a time for each packet.", count=4, check=both(faster(1.3), check("at most 2% of the segments are lost", lambda truth, trial: truth["lost_segments"] <= truth["segments"] / 50)))
def _(draw):
    sender = ends(draw)
    rate, rtt, mss = draw.log("rate", 4e6, 30e6), draw.log("rtt_ms", 3, 30), draw.random.randrange(220, 560)
    path, cost = line(draw, rate, rtt, sender, kind="tbf", queue=rate / 8e3 * 100), int(draw.log("octets_each", 350, 1100))
    path["merges"] = 0
    draw.note(mss=mss)
    data = "up" if sender == "A" else "down"
    radio = changed(path, **{data: f"root netem rate {rate:.0f}bit {cost} limit {max(60, int(rate / 8e3 * 120 / (mss + cost)))}"})
    how = draw.turn("how", "route", "clamp", "option")
    octets = rate / 8 * mss / (mss + cost) * 4
    if how == "route":
        return {**path, **any_transfer(draw, sender, octets), "disciplines": radio, "route": {"A": f"advmss {mss}", "B": f"advmss {mss}"}, "without": {"route": {}}}
    if how == "clamp":
        rule = f"table ip f {{ chain c {{ type filter hook forward priority 0; tcp flags syn tcp option maxseg size set {mss}; }} }}"
        return {**path, **any_transfer(draw, sender, octets), "disciplines": radio, "nft": {"R2": rule}, "without": {"nft": {}}}
    return {**path, **raw(sender, send=f"mss={mss}", recv=f"mss={mss}", octets=octets), "disciplines": radio, "without": raw(sender, octets=octets)}
