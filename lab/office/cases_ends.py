"""Causes at the ends."""

from cases_path import counter, ends, way_of
from checks import both, check, faster, missing, nothing_missing, printed, socket, takes_at_most, thinks
from draw import case
from setups import END, cable, download, exchange, from_small, line, make_file, nginx, perl_stream, shaper, stream, to_small, upload, ways


def below_window(truth, trial):
    it = truth["path"]["socket"]
    return it.get("rwnd_limited", 0) < 0.1 and (it.get("sndbuf_limited", 0) >= 0.3 or it["unacked"] <= 0.75 * it["cwnd"])


@case("small-receive-buffer", ["receive-window"], "The receiver's buffer is smaller than the path needs (SO_RCVBUF, tcp_rmem).", count=5, check=both(socket("rwnd_limited", 0.3), faster(1.4)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 33e6, 88e6, 6.9e6, 14.2e6, 51e6), draw.log("rtt_ms", 26, 160), ends(draw)
    path = line(draw, rate, rtt, sender)
    needs = rate / 8 * rtt / 1e3
    buffer = int(needs / draw.log("short", 2.2, 7))
    draw.note(window=buffer)
    by = draw.turn("by", "option", "tcp_rmem", "option")
    receiver = "B" if sender == "A" else "A"
    goes = buffer / rtt * 1e3 * 5
    whole = int(rate / 8 * 4)
    if by == "option":
        return {**path, **perl_stream(sender, goes, at_receiver=f"rcvbuf={max(2 * buffer, 4600)}"), "without": perl_stream(sender, whole)}
    return {**path, **stream(draw, sender, goes), "sysctl": {receiver: {"tcp_rmem": f"4096 {2 * buffer} {2 * buffer}"}}, "without": {"sysctl": {}, "octets": whole}}


@case("window-scaling-off", ["no-window-scaling", "receive-window"], "One end has window scaling disabled.", count=3, check=both(socket("rwnd_limited", 0.3), faster(1.4)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 57e6, 19e6, 38e6), draw.turn("rtt_ms", 83, 212, 121), ends(draw)
    path = line(draw, rate, rtt, sender)
    end = draw.turn("without_scaling", "A", "A", "B")
    return {**path, **stream(draw, sender, 65535 / rtt * 1e3 * 5), "sysctl": {end: {"tcp_window_scaling": 0}}, "without": {"sysctl": {}, "octets": int(rate / 8 * 4)}}


@case("client-limits-its-rate", ["receiver-reads-slowly"], "The receiver's program reads at a rate of its own (curl, wget and scripts with a limit).", count=4, check=both(socket("rwnd_limited", 0.3), faster(1.4)))
def _(draw):
    rate, rtt = draw.turn("rate", 29e6, 71e6, 9.4e6, 46e6), draw.log("rtt_ms", 2, 40)
    path = line(draw, rate, rtt, "B")
    slow = rate / draw.log("times", 3, 9)
    draw.note(slow=int(slow))
    by = draw.turn("by", "curl", "script", "wget", "slow-script")
    # A buffer of a small host, so that the window closes soon.
    own = {"sysctl": {"A": {"tcp_rmem": f"4096 {draw.turn('rmem', 65536, 131072, 49152)} 131072"}}}
    octets = slow / 8 * 6 + 300000
    whole = int(rate / 8 * 4)
    if by == "curl":
        return {**path, **own, **download(draw, octets, program="curl"), "client": f"curl -sS -o /dev/null --limit-rate {slow / 8:.0f} http://@B:8080/file.bin", "without": download(draw, whole, program="curl")}
    if by == "wget":
        return {**path, **own, **download(draw, octets, program="wget"), "client": f"wget -q -O /dev/null --limit-rate={slow / 8:.0f} http://@B:8080/file.bin", "without": download(draw, whole, program="wget")}
    chunk = 2048 if by == "script" else 16384
    return {**path, **own, **perl_stream("B", octets, at_receiver=f"bps={slow:.0f} chunk={chunk}"), "without": perl_stream("B", whole)}


@case("program-does-not-read-for-a-while", ["receiver-reads-slowly", "receiver-stalls"], "The receiver's program reads all that arrives, and then does something else for a while.", count=3,
      check=both(printed("reader_s", 1.2), faster(1.3)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 16e6, 63e6, 34e6), draw.log("rtt_ms", 2, 30), ends(draw)
    path = line(draw, rate, rtt, sender)
    pause = draw.log("pause_ms", 420, 900)
    receiver = "B" if sender == "A" else "A"
    every = int(rate / 8 * 0.5)
    return {**path, **perl_stream(sender, rate / 8 * 2.2, at_receiver=f"every={every} pause_ms={pause:.0f} spread=0.2"), "sysctl": {receiver: {"tcp_rmem": "4096 87380 131072"}},
            "without": perl_stream(sender, rate / 8 * 4)}


@case("board-erases-flash", ["receiver-stalls"], "A receiver stands still as a whole at intervals, and drops what its queue does not hold.", count=3, check=both(printed("small_stalls", 3), faster(1.3)))
def _(draw):
    rate, rtt = draw.turn("rate", 9.1e6, 41e6, 3.4e6), draw.log("rtt_ms", 1.2, 15)
    path = line(draw, rate, rtt, "A")
    keys = {"wnd": int(draw.log("wnd", 9000, 30000)), "mss": 1460, "every": 2, "backlog": 60}
    stalls = {"stall_every_ms": int(draw.log("every_ms", 280, 700)), "stall_ms": int(draw.log("stall_ms", 190, 520))}
    return {**path, **to_small(rate / 8 * 2, **keys, **stalls), "nat": 0, "without": to_small(rate / 8 * 3, **keys)}


@case("sender-stands-still", ["sender-stalls", "sender-idle"], "A sender stands still as a whole at intervals.", count=3, check=both(printed("small_stalls", 3), faster(1.3)))
def _(draw):
    rate, rtt = draw.turn("rate", 6.3e6, 24e6, 2.1e6), draw.log("rtt_ms", 1.2, 15)
    path = line(draw, rate, rtt, "B")
    keys = {"mss": 1460, "flight": 14, "rto_ms": 900, "wnd": 8760}
    stalls = {"stall_every_ms": int(draw.log("every_ms", 250, 600)), "stall_ms": int(draw.log("stall_ms", 180, 600))}
    return {**path, **from_small(rate / 8 * 2, **keys, **stalls), "nat": 0, "without": from_small(rate / 8 * 3, **keys)}


@case("server-is-stopped-by-its-scheduler", ["sender-stalls", "sender-idle"], "The sending program is stopped and continued.", count=2, check=faster(1.3))
def _(draw):
    rate, rtt = draw.turn("rate", 18e6, 47e6), draw.log("rtt_ms", 2, 25)
    path = line(draw, rate, rtt, "A")
    stopped = draw.log("stopped_ms", 350, 800) / 1e3
    work = perl_stream("A", rate / 8 * 2.4, at_sender="sndbuf=200000")
    client = work["client"]
    work["client"] = f"{client} & it=$!; while sleep 0.45 && kill -STOP $it 2>/dev/null; do sleep {stopped:.2f}; kill -CONT $it; done; wait"
    return {**path, **work, "without": perl_stream("A", rate / 8 * 4)}


@case("data-is-made-as-it-is-sent", ["sender-idle", "sender-stalls"], "The sending program makes its data block by block.", count=4, check=faster(1.4))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 22e6, 7.2e6, 68e6, 35e6), draw.log("rtt_ms", 2, 45), ends(draw)
    path = line(draw, rate, rtt, sender)
    block = int(rate / 8 * draw.log("block_s", 0.06, 0.2))
    pause = int(draw.log("pause_ms", 130, 420))
    by = draw.turn("by", "script", "shell")
    octets = block / (block * 8 / rate + pause / 1e3) * 5
    if by == "shell" and sender == "A":
        work = upload(draw, octets, "nc")
        work["client"] = f"for i in $(seq {max(int(octets / block), 5)}); do head -c {block} /dev/urandom; sleep {pause / 1e3}; done | nc -N @B 7070"
        return {**path, **work, "fixed_octets": 1, "without": {**upload(draw, rate / 8 * 4, "nc"), "fixed_octets": 0}}
    return {**path, **perl_stream(sender, octets, at_sender=f"every={block} chunk={min(block, 32768)} pause_ms={pause} spread=0.15"), "without": perl_stream(sender, rate / 8 * 4)}


@case("server-limits-each-transfer", ["sender-idle", "sender-stalls", "host-pacing"], "The web server limits each transfer (limit_rate): it writes a part, then waits.", count=2, check=faster(1.4))
def _(draw):
    rate, rtt = draw.turn("rate", 27e6, 73e6), draw.log("rtt_ms", 4, 40)
    path = line(draw, rate, rtt, "B")
    slow = rate / 8 / draw.log("times", 3, 8)
    return {**path, "or_none": True, **download(draw, slow * 5, more=f"limit_rate {slow:.0f};", program="curl"), "without": download(draw, rate / 8 * 4, program="curl")}


@case("small-send-buffer", {"receiver": ["send-buffer", "receive-window", "congestion-window"], "late-receiver": ["send-buffer", "receive-window", "congestion-window"],
                            "snapped-receiver": ["send-buffer", "receive-window", "congestion-window"], "truncated-receiver": ["send-buffer", "receive-window", "congestion-window"], "else": ["send-buffer", "congestion-window"]},
      "The sender's buffer is smaller than the path needs (SO_SNDBUF, tcp_wmem).", count=4, check=both(nothing_missing(), check("the socket has at most 75% of its congestion window in flight, or states sndbuf_limited of at least 0.3", below_window), faster(1.4)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 31e6, 12.3e6, 84e6, 53e6), draw.log("rtt_ms", 24, 110), ends(draw)
    path = line(draw, rate, rtt, sender)
    buffer = int(rate / 8 * rtt / 1e3 / draw.log("short", 1.8, 5))
    draw.note(buffer=buffer)
    by = draw.turn("by", "option", "option", "tcp_wmem", "tcp_wmem")
    octets = buffer / rtt * 1e3 * 4
    # Else one write fills a segment of 64 KiB, whatever the buffer.
    path["also"] = {sender: ["ip link set eth0 gso_max_size 3000 gso_max_segs 2"]}
    if by == "option":
        return {**path, **perl_stream(sender, octets, at_sender=f"sndbuf={max(int(1.6 * buffer), 4608)}"), "without": perl_stream(sender, rate / 8 * 4)}
    return {**path, **stream(draw, sender, octets), "sysctl": {sender: {"tcp_wmem": f"4096 {int(1.6 * buffer)} {int(1.6 * buffer)}"}}, "without": {"sysctl": {}, "octets": int(rate / 8 * 4)}}


@case("short-transfer-over-a-long-path", ["congestion-window"], "A transfer ends before its congestion window has grown.", count=4, truncated=(0.7, 0.9), late=(0.1, 0.25), check=both(takes_at_most(0.6), faster(1.3)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 92e6, 37e6, 240e6, 61e6), draw.turn("rtt_ms", 187, 311, 143, 236), ends(draw)
    path = line(draw, rate, rtt, sender, kind="path")
    window = draw.turn("initcwnd", 0, 2, 0, 4)
    octets = int(rate / 8 * rtt / 1e3 * draw.log("times", 0.4, 1.1))
    wide = int(octets / 1400 + 20)
    path.update(stream(draw, sender, octets))
    buffers = {"tcp_wmem": "4096 4194304 4194304", "tcp_rmem": "4096 6291456 16777216"}
    return {**path, "congestion": "cubic", "fixed_octets": 1, "least_s": 0.8, "sysctl": {"A": buffers, "B": buffers}, "route": {sender: f"initcwnd {window}"} if window else {},
            "without": {"route": {"A": f"initcwnd {wide} initrwnd {wide}", "B": f"initcwnd {wide} initrwnd {wide}"}}}


@case("no-selective-acknowledgments", ["no-sack", "shallow-queue", "loss-in-bursts"], "One end has selective acknowledgments disabled, and slow start overflows the queue of the line: what is lost is repaired one by one.", count=3,
      check=both(missing(8), faster(1.3)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 14e6, 32e6, 21e6), draw.log("rtt_ms", 60, 120), ends(draw)
    path = line(draw, rate, rtt, sender, queue_ms=0.7 * rtt)
    return {**path, **stream(draw, sender, rate / 8 * 2.5), "fixed_octets": 1, "congestion": "cubic", "sysctl": {draw.turn("without_sack", "A", "B"): {"tcp_sack": 0}}, "without": {"sysctl": {}}}


@case("segments-of-a-modem", ["small-mss", "path-rate"], "The MSS is far below what the path permits, and a router needs its time for each frame.", count=4, check=both(way_of("delivered", 200), faster(1.3)))
def _(draw):
    cost, rtt, sender = draw.log("cost_us", 300, 1300), draw.log("rtt_ms", 3, 45), ends(draw)
    path = line(draw, 95e6, rtt, sender, kind="path")
    there = ways(sender)[0]
    path[there].update(ring=int(60 + 1.5 * rtt * 1e3 / cost), cost_us=cost)
    mss = int(draw.turn("mss", 536, 256, 472, 196))
    by = draw.turn("by", "option", "nft", "route", "option")
    full = 1460 * 8e6 / cost
    path["rate"] = full
    octets = mss * 8e6 / cost / 8 * 5
    if by == "option":
        return {**path, **perl_stream(sender, octets, at_sender=f"maxseg={mss}", at_receiver=f"maxseg={mss}"), "without": perl_stream(sender, full / 8 * 4)}
    path.update(stream(draw, sender, octets))
    if by == "nft":
        rules = f"table ip lab {{\nchain out {{ type filter hook forward priority 0; tcp flags syn tcp option maxseg size set {mss}\n}}\n}}\n"
        return {**path, "nft": {"R": rules}, "without": {"nft": {}, "octets": int(full / 8 * 4)}}
    return {**path, "route": {"A": f"advmss {mss}", "B": f"advmss {mss}"}, "without": {"route": {}, "octets": int(full / 8 * 4)}}


@case("window-of-a-few-octets", ["silly-window", "receive-window", "receiver-reads-slowly"], "A receiver with a buffer of some hundred octets opens its window by the few octets that its program reads at a time.", count=3,
      check=both(printed("small_tells", 50), faster(1.3)))
def _(draw):
    rate, rtt = draw.log("rate", 4e6, 30e6), draw.log("rtt_ms", 3, 12)
    path = line(draw, rate, rtt, "A")
    wnd = int(draw.log("wnd", 140, 500))
    reads = {"read_bps": wnd * 8 / (0.6 * rtt / 1e3), "read_octets": int(wnd / draw.log("steps", 3, 7))}
    # The same program with a buffer of some segments, whose stack holds small openings back.
    return {**path, **to_small(wnd / rtt * 1e3 * 3, wnd=wnd, mss=1460, every=1, silly=1, **reads), "nat": 0, "without": to_small(wnd / rtt * 1e3 * 6, wnd=8760, mss=1460, every=1, **reads)}


@case("driver-merges-acknowledgments", ["stretch-acks", "late-acks", "receive-window"], "A receiver acknowledges each n-th segment, and waits long for it at the end of a window.", count=3, check=both(printed("small_acks", 10), faster(1.3)))
def _(draw):
    rate, rtt = draw.turn("rate", 8.6e6, 33e6, 31e6), draw.log("rtt_ms", 6, 22)
    path = line(draw, rate, rtt, "A", kind="path")
    every = int(draw.turn("every", 8, 11, 14))
    keys = {"wnd": int((every * 1.45 + 1) * 1460), "mss": 1460, "late_ms": 80}
    return {**path, **to_small(rate / 8, every=every, **keys), "nat": 0, "without": to_small(rate / 8 * 2, every=2, **keys)}


@case("board-delays-acknowledgments", ["late-acks", "receive-window"], "A board with a small window acknowledges by a timer.", count=3, check=faster(1.5))
def _(draw):
    rate, rtt = draw.log("rate", 2e6, 60e6), draw.log("rtt_ms", 0.8, 12)
    path = line(draw, rate, rtt, "A")
    segments = draw.turn("segments", 1, 2, 2)
    keys = {"wnd": 1460 * segments, "mss": 1460}
    late = {"every": 5, "late_ms": draw.log("late_ms", 60, 230)}
    return {**path, **to_small(1460 * segments / (late["late_ms"] + rtt) * 1e3 * 6, **keys, **late), "nat": 0, "without": to_small(60000 * segments, **keys, every=1)}


@case("board-looks-for-frames-at-ticks", ["late-acks", "receive-window", "wake-up-latency"], "A board with a small window looks for frames at the ticks of a clock.", count=2, check=faster(1.5))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 60e6), draw.log("rtt_ms", 0.8, 5)
    path = line(draw, rate, rtt, "A")
    segments = draw.turn("segments", 2, 1)
    tick = draw.log("tick_ms", 18, 60)
    keys = {"wnd": 1460 * segments, "mss": 1460, "every": 1}
    return {**path, **to_small(1460 * segments / tick * 1e3 * 6, tick_ms=tick, **keys), "nat": 0, "without": to_small(600000 * segments, **keys)}


@case("request-in-two-writes", ["delayed-ack-with-nagle"], "A request, or an answer, is written in two parts, and Nagle's algorithm holds the second one back.", count=4, check=faster(1.5))
def _(draw):
    rate, rtt = draw.log("rate", 2e6, 90e6), draw.log("rtt_ms", 0.4, 12)
    path = line(draw, rate, rtt, "A" if draw.number % 2 else "B")
    side = draw.turn("side", "answer", "request")
    count = int(draw.log("count", 60, 110))
    size, answer = int(draw.log("size", 60, 400)), int(draw.log("answer", 90, 700))
    at = ("pieces=2", "nodelay=1") if side == "request" else ("nodelay=1", "pieces=2")
    # The other end delays its acknowledgments once it takes the connection for a conversation.
    return {**path, **exchange("A" if side == "request" else "B", count, at[0], at[1], size=size, answer=answer),
            "without": exchange("A" if side == "request" else "B", count * 8, at[0] + " nodelay=1", at[1] + " nodelay=1", size=size, answer=answer)}


@case("octets-one-by-one", ["small-writes"], "A program writes some octets at a time, with Nagle's algorithm disabled.", count=3, check=faster(1.5))
def _(draw):
    rate, rtt, sender = draw.log("rate", 1.4e6, 2.6e6), draw.log("rtt_ms", 2, 18), ends(draw)
    path = line(draw, rate, rtt, sender)
    chunk = int(draw.log("chunk", 20, 70))
    bps = draw.log("per_s", 900, 1700) * chunk * 8
    return {**path, "timestamps": 1, **perl_stream(sender, bps / 8 * 5, at_sender=f"nodelay=1 chunk={chunk} bps={bps:.0f}"), "without": perl_stream(sender, rate / 8 * 4)}


@case("boot-file-by-tftp", ["one-in-flight"], "A file is fetched by TFTP: one block in flight.", count=4, check=takes_at_most(0.5), gain=False)
def _(draw):
    rate, rtt = draw.log("rate", 8e6, 95e6), draw.turn("rtt_ms", 2.7, 13.6, 34, 71)
    path = line(draw, rate, rtt, "B")
    path["nat"] = 0
    by = draw.turn("by", "tftpd", "dnsmasq")
    block = draw.turn("block", 512, 512, 1428, 1024)
    octets = int(block / (rtt + 0.4) * 1e3 * 5)
    files = "mkdir -p @D/tftp; head -c {octets} /dev/urandom > @D/tftp/boot.bin; chmod -R a+rX @D/tftp; "
    server = files + ("exec in.tftpd -L -s @D/tftp -u root -a @B:69" if by == "tftpd" else "exec dnsmasq -k -p 0 --enable-tftp --tftp-root=@D/tftp --user=root --conf-file=/dev/null --pid-file=@D/pid")
    client = f"tftp -m binary @B -c get boot.bin @D/got" if block == 512 else f"curl -sS --tftp-blksize {block} -o /dev/null tftp://@B/boot.bin"
    return {**path, "sender": "B", "opens": "A", "server": server, "ports": [69], "client": client, "octets": octets}


@case("blocks-are-confirmed-one-by-one", ["one-in-flight"], "A program sends a block by UDP and waits until it is confirmed.", count=2, check=takes_at_most(0.5), gain=False)
def _(draw):
    rate, rtt, size = draw.log("rate", 8e6, 60e6), draw.log("rtt_ms", 5, 45), int(draw.log("size", 700, 1400))
    path = line(draw, rate, rtt, "A")
    return {**path, "sender": "A", "opens": "A", "server": f"{END} udptake port=6060 ack=8", "ports": [6060], "client": f"{END} blocks host=@B port=6060 size={size} octets={{octets}}", "octets": int(size / rtt * 1e3 * 5)}


@case("values-are-asked-one-by-one", ["one-in-flight"], "A program asks for one value after the other over a path of tens of milliseconds.", count=4, check=takes_at_most(0.4), gain=False)
def _(draw):
    rate, rtt = draw.log("rate", 3e6, 90e6), draw.log("rtt_ms", 32, 140)
    path = line(draw, rate, rtt, "B")
    count = max(34, int(5e3 / rtt))
    by = draw.turn("by", "redis", "snmpwalk", "script", "redis")
    if by == "redis":
        server = "exec redis-server --port 6379 --save '' --dir @D --protected-mode no"
        return {**path, "server": server, "ports": [6379], "client": f"for i in $(seq {count}); do echo SET sensor:$i {'x' * 30}$i; echo GET sensor:$i; done | redis-cli -h @B > /dev/null", "unsized": 1}
    if by == "snmpwalk":
        server = "echo 'rocommunity public' > @D/snmpd.conf; exec snmpd -f -C -c @D/snmpd.conf -Lo -p @D/snmpd.pid udp:161"
        return {**path, "server": server, "ports": [161], "client": "snmpwalk -v2c -c public @B 1.3.6.1.2.1 | head -400 > /dev/null", "unsized": 1, "nat": 0, "most_s": 11}
    return {**path, **exchange("B", count, "nodelay=1", "nodelay=1", size=int(draw.log("size", 12, 120)), answer=int(draw.log("answer", 20, 900))), "unsized": 1}


@case("driver-sends-one-segment", ["one-in-flight"], "A sender has one segment in flight.", count=3, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 60e6), draw.log("rtt_ms", 4, 60)
    path = line(draw, rate, rtt, "B")
    # The kernel acknowledges a single full segment late once it takes the connection for a conversation.
    return {**path, "sysctl": {}, "route": {"A": "quickack 1"}, **from_small(1460 / rtt * 1e3 * 5, mss=1460, flight=1), "nat": 0, "without": from_small(1460 / rtt * 8e3 * 3, mss=1460, flight=8)}


@case("radio-sleeps-between-beacons", ["wake-up-latency", "client-think-time"], "A station sleeps when it is idle, and hears what waits for it at the next beacon.", count=3, gain=False, kinds=("receiver", "middle", "late", "truncated", "snapped"),
      check=check("the station slept at least eight times as something came for it", lambda truth, trial: max(truth["path"]["path"].get("up_slept", 0), truth["path"]["path"].get("down_slept", 0)) >= 8))
def _(draw):
    rate, rtt = draw.log("rate", 6e6, 50e6), draw.log("rtt_ms", 2, 12)
    path = line(draw, rate, rtt, "B")
    sleeps = {"beacon_ms": 102.4 * draw.turn("beacons", 1, 2, 3), "idle_ms": draw.log("idle_ms", 30, 80)}
    path["up"] = {**path["up"], **sleeps}
    return {**path, **exchange("B", 26, f"nodelay=1 gap_ms={draw.log('gap_ms', 190, 330):.0f} spread=0.5", "nodelay=1", size=int(draw.log("size", 30, 200)), answer=int(draw.log("answer", 60, 600))), "unsized": 1, "nat": 0, "one_end": "receiver", "mid_far": 1, "mid": "in"}


@case("server-computes-each-answer", ["server-think-time"], "The server needs long for each answer.", count=4, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 3e6, 90e6), draw.log("rtt_ms", 0.7, 45)
    path = line(draw, rate, rtt, "B")
    think = draw.log("think_ms", 140, 700)
    by = draw.turn("by", "script", "php")
    count = max(8, int(6e3 / (think + rtt)))
    if by == "php":
        php = f"<?php usleep({int(think * 1e3)}); echo str_repeat(\"row {{{{octets}}}}\\n\", {int(draw.log('rows', 60, 900))});"
        fast = php.replace(f"usleep({int(think * 1e3)})", "usleep(10)")

        def served(text):
            return f"mkdir -p @D/php; echo '{text}' > @D/php/index.php; exec php -S @B:8090 -t @D/php"
        client = "for i in $(seq %d); do curl -sS -o /dev/null http://@B:8090/index.php; done" % count
        return {**path, "server": served(php), "ports": [8090], "client": client, "unsized": 1, "without": {"server": served(fast)}}
    size, answer = int(draw.log("size", 60, 400)), int(draw.log("answer", 200, 20000))
    return {**path, **exchange("B", count, "nodelay=1", f"nodelay=1 think_ms={think:.0f} spread=0.3", size=size, answer=answer), "unsized": 1,
            "without": exchange("B", count * 3, "nodelay=1", "nodelay=1", size=size, answer=answer)}


@case("server-hangs", ["server-think-time", "no-answer"], "The server takes a request and does not answer; the client gives up.", count=2, gain=False, kinds=("sender", "receiver", "middle", "snapped"),
      check=check("no answer", lambda truth, trial: not truth["octets"]))
def _(draw):
    path = line(draw, draw.log("rate", 3e6, 60e6), draw.log("rtt_ms", 2, 80), "B")
    return {**path, **exchange("B", 1, f"timeout={draw.log('gives_up_s', 4, 8)}", "hang=1", size=int(draw.log("size", 70, 600)), answer=500), "least_s": 0, "unsized": 1, "most_s": 10}


@case("client-works-between-requests", ["client-think-time"], "The client works between an answer and its next request.", count=4, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 3e6, 90e6), draw.log("rtt_ms", 0.7, 45)
    path = line(draw, rate, rtt, "B")
    think = draw.log("think_ms", 180, 800)
    count = max(8, int(6e3 / (think + rtt)))
    size, answer = int(draw.log("size", 60, 300)), int(draw.log("answer", 5000, 90000))
    by = draw.turn("by", "script", "wget")
    if by == "wget":
        names = " ".join(f"http://@B:8080/file.bin?{i}" for i in range(7))
        draw.note(think_ms=1000)
        one = {"server": nginx(), "ports": [8080], "octets": answer, "fixed_octets": 1}
        return {**path, **one, "client": f"wget -q -O /dev/null --wait=1 {names}", "without": {"client": f"wget -q -O /dev/null {names}"}}
    return {**path, **exchange("B", count, f"nodelay=1 gap_ms={think:.0f} spread=0.3", "nodelay=1", size=size, answer=answer), "unsized": 1, "without": exchange("B", count * 2, "nodelay=1", "nodelay=1", size=size, answer=answer)}


@case("first-server-of-names-is-dead", ["name-resolution"], "The first server of names does not answer, so that each look-up waits for its time-out.", count=2, gain=False, kinds=("receiver", "snapped"),
      check=check("the transfer begins 0.9 s or more after the first packet", lambda truth, trial: truth["path"]["wait_s"] >= 0.9))
def _(draw):
    rate, rtt = draw.log("rate", 6e6, 60e6), draw.log("rtt_ms", 2, 40)
    path = line(draw, rate, rtt, "B")
    path.update(download(draw, rate / 8 * 0.07, program=draw.turn("program", "curl", "wget")))
    name = draw.turn("name", "files.lab.example", "updates.example")
    path["client"] = path["client"].replace("@B", name)
    rules = "table ip lab {\nchain out { type filter hook forward priority 0; ip daddr 100.64.0.9 counter drop\n}\n}\n"
    return {**path, "nat": 0, "fixed_octets": 1, "least_s": 0, "one_end": "receiver", "nft": {"R": rules}, "only_counts": 1, "resolver": f"nameserver 100.64.0.9\nnameserver @B\noptions timeout:{draw.turn('timeout', 1, 2)} attempts:2\n",
            "before": [("B", f"{END} names host=@B")]}


@case("server-of-names-is-slow", ["name-resolution"], "The server of names answers late.", count=2, gain=False, kinds=("receiver", "middle", "snapped"),
      check=check("the transfer begins 0.6 s or more after the first packet", lambda truth, trial: truth["path"]["wait_s"] >= 0.6))
def _(draw):
    rate, rtt = draw.log("rate", 6e6, 60e6), draw.log("rtt_ms", 2, 40)
    path = line(draw, rate, rtt, "B")
    path.update(download(draw, rate / 8 * 0.07, program=draw.turn("program", "wget", "curl")))
    path["client"] = path["client"].replace("@B", "shop.example")
    return {**path, "nat": 0, "fixed_octets": 1, "least_s": 0, "one_end": "receiver", "mid_far": 1, "mid": "in", "resolver": "nameserver @B\noptions timeout:8 attempts:1\n",
            "before": [("B", f"{END} names host=@B late_ms={draw.log('late_ms', 900, 2600):.0f}")]}


@case("server-resets-in-the-middle", ["refused"], "The server resets the connection while it should answer.", count=2, gain=False, kinds=("sender", "receiver", "middle", "snapped"), check=check("some answers", lambda truth, trial: truth["octets"] > 0))
def _(draw):
    path = line(draw, draw.log("rate", 3e6, 60e6), draw.log("rtt_ms", 20, 80), "A")
    return {**path, **perl_stream("A", 4e6), "server": f"{END} answer port=7070 size={int(draw.log('taken', 60000, 300000))} answer=10 resets=1", "least_s": 0, "fixed_octets": 1}


@case("small-window-and-some-loss", ["receive-window", "random-loss"], "The receiver's window is small, and a segment is lost now and then: two faults, of which the window is the larger one.", count=2, check=both(socket("rwnd_limited", 0.3), missing(1), faster(1.4)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 41e6, 13e6), draw.log("rtt_ms", 40, 90), ends(draw)
    path = line(draw, rate, rtt, sender)
    window = int(rate / 8 * rtt / 1e3 / 5)
    there = ways(sender)[0]
    return {**path, **perl_stream(sender, window / rtt * 1e3 * 7, at_receiver=f"rcvbuf={2 * window}"), there: {**path[there], "loss": 0.0012}, "congestion": "cubic",
            "without": perl_stream(sender, rate / 8 * 3)}


@case("slow-answers-and-some-loss", ["server-think-time", "random-loss", "retransmission-stalls"], "The server needs long for each answer, and some segments are lost: two faults, of which the server is the larger one.", count=2, check=both(missing(2), faster(1.4)))
def _(draw):
    rate, rtt = draw.turn("rate", 23e6, 57e6), draw.log("rtt_ms", 5, 20)
    path = line(draw, rate, rtt, "B")
    answer = int(draw.log("answer", 6e4, 2e5))
    think = draw.log("think_ms", 650, 1100)
    path["down"] = {**path["down"], "loss": 0.012}
    return {**path, **exchange("B", 7, "nodelay=1", f"nodelay=1 think_ms={think:.0f}", size=120, answer=answer), "unsized": 1, "without": exchange("B", 24, "nodelay=1", "nodelay=1", size=120, answer=answer)}


@case("no-scaling-and-a-pausing-sender", ["no-window-scaling", "receive-window", "sender-idle"], "One end does not scale windows, and the sender pauses now and then: two faults, of which the window is the larger one.", count=2, check=both(socket("rwnd_limited", 0.3), faster(1.4)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 28e6, 66e6), draw.turn("rtt_ms", 173, 94), ends(draw)
    path = line(draw, rate, rtt, sender)
    goes = 65535 / rtt * 1e3
    work = perl_stream(sender, goes * 4.4, at_sender=f"every={int(goes * 1.4)} pause_ms=260")
    return {**path, **work, "sysctl": {"B": {"tcp_window_scaling": 0}}, "without": {"sysctl": {}, **perl_stream(sender, rate / 8 * 4, at_sender=f"every={int(goes * 1.4)} pause_ms=260")}}


@case("gigabit-client-reads-slowly", ["receiver-reads-slowly"], "A program at a gigabit reads at a rate of its own.", count=2, check=both(socket("rwnd_limited", 0.3), faster(1.4)))
def _(draw):
    path = cable(draw, 942e6, "B", kind="tbf")
    slow = draw.turn("slow", 22e6, 79e6)
    return {**path, **perl_stream("B", slow / 8 * 4, at_receiver=f"bps={slow:.0f} chunk=16384"), "merges": 0, "sysctl": {"A": {"tcp_rmem": "4096 131072 262144"}},
            "without": {**perl_stream("B", 200e6), "fixed_octets": 1}}


@case("daemon-looks-up-its-client", ["server-think-time", "name-resolution"], "A daemon looks up the name of who connects, and no server of names answers.", count=2, check=faster(1.3), kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.92, 0.98))
def _(draw):
    rate, rtt = draw.turn("rate", 16e6, 5.1e6), draw.log("rtt_ms", 3, 24)
    path = line(draw, rate, rtt, "B")
    files = "mkdir -p @D/www; head -c {octets} /dev/urandom > @D/www/1; "
    rules = "table ip lab {\nchain out { type filter hook output priority 0; icmp type destination-unreachable drop\n}\nchain by { type filter hook forward priority 0; udp dport 53 drop\n}\n}\n"

    def served(more):
        return files + f"printf 'uid = root\\nuse chroot = no\\n{more}[data]\\npath = @D/www\\n' > @D/rsync.conf; exec rsync --daemon --no-detach --port=8730 --config=@D/rsync.conf"
    return {**path, "opens": "A", "nat": 0, "server": served(""), "ports": [8730], "octets": int(rate / 8 * 1.5), "fixed_octets": 1, "client": "rsync -a rsync://@B:8730/data/ @D/got/", "nft": {"S": rules, "R": rules}, "only_counts": 1,
            "without": {"server": served("reverse lookup = no\\n")}}


@case("too-many-clients", ["refused"], "A firewall resets what opens more connections than it permits at a time (ct count).", count=2, gain=False, kinds=("receiver", "middle", "late", "truncated", "snapped"), late=(0.1, 0.2), truncated=(0.8, 0.95),
      check=check("the firewall rejects at least two", lambda truth, trial: truth["path"]["counters"].get("filtered_S", 0) >= 2))
def _(draw):
    rate, rtt = draw.turn("rate", 12e6, 31e6), draw.log("rtt_ms", 3, 50)
    path = line(draw, rate, rtt, "B")
    rules = "table ip lab {\nset seen { type ipv4_addr; flags dynamic; size 64\n}\nchain out { type filter hook forward priority 0; iifname \"path0\" tcp dport 8080 ct state new add @seen { ip saddr ct count over 1 } counter reject with tcp reset\n}\n}\n"
    path.update(download(draw, rate / 8 * 0.05, program="curl"))
    client = f"{{{{ sleep 9; }}}} | nc @B 8080 & sleep 0.3; for i in 1 2 3 4 5 6; do curl -sS -m 3 -o /dev/null http://@B:8080/file.bin; sleep 0.7; done; kill %1"
    return {**path, "nat": 0, "fixed_octets": 1, "least_s": 0, "one_end": "receiver", "mid_far": 1, "mid": "in", "client": client, "nft": {"S": rules}, "only_counts": 1, "unsized": 1}
