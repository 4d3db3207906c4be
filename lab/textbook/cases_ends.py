"""Causes at the ends: windows, buffers, programs that read, write, think or wait."""

from checks import both, check, faster, takes_at_most
from draw import case
from setups import JAVA, all_answered, apache, curl, ends, java_stream, limited, line, php, postgres

BIG = {"tcp_rmem": "4096 131072 8388608", "tcp_wmem": "4096 131072 8388608"}


def exchange(draw, ask, answer="", port=4840):
    return {"sender": "B", "opens": "A", "server": f"{JAVA} answer port={port} {answer}", "ports": [port], "client": f"{JAVA} ask host=@B port={port} {ask}"}


@case("little-window", ["receive-window"], "The program grants a small window (SO_RCVBUF) on a long way.", count=3, check=both(faster(1.4), limited(0.4, "rwnd_limited")))
def _(draw):
    rate, rtt, buffer = draw.log("rate", 10e6, 50e6), draw.log("rtt_ms", 35, 140), int(draw.log("buffer", 6000, 28000))
    path = line(draw, rate, rtt)
    sender = ends(draw)
    return {**path, **java_stream(sender, sink=f"rcvbuf={buffer}", octets=int(buffer * 5000 / rtt)), "without": java_stream(sender, octets=int(rate * 0.45))}


@case("windows-of-old", {"late": ["receive-window", "no-window-scaling"], "else": ["no-window-scaling"]}, "Scaling is switched off at the receiver.", count=2,
      check=faster(1.35))
def _(draw):
    rate, rtt = draw.log("rate", 25e6, 60e6), draw.log("rtt_ms", 55, 160)
    path = line(draw, rate, rtt)
    sender = ends(draw)
    receiver = "B" if sender == "A" else "A"
    return {**path, **java_stream(sender, octets=int(rate / 16)), "sysctl": {receiver: {"tcp_window_scaling": 0}}, "without": {"sysctl": {}}}


@case("reads-at-a-rate", ["receiver-reads-slowly"], "The receiver's program takes less than arrives.", count=3, check=faster(1.5))
def _(draw):
    rate, rtt, reads = draw.log("rate", 20e6, 60e6), draw.log("rtt_ms", 4, 40), draw.log("reads", 1.5e6, 9e6)
    path, sender = line(draw, rate, rtt), ends(draw)
    chunk = draw.turn("chunk", 4096, 1460, 16384)
    return {**path, **java_stream(sender, sink=f"rate={reads} chunk={chunk} rcvbuf={int(draw.log('buffer', 20000, 90000))}", octets=int(reads / 8 * 5)),
            "without": java_stream(sender, octets=int(rate * 0.45))}


@case("half-a-kilobyte-reads", ["receiver-reads-slowly", "silly-window", "receive-window"], "The program reads 512 octets, then does something else.", count=2, check=faster(1.5))
def _(draw):
    rate, rtt, pause = draw.log("rate", 10e6, 40e6), draw.log("rtt_ms", 3, 20), draw.log("pause_ms", 2, 6)
    path, sender = line(draw, rate, rtt), ends(draw)
    return {**path, **java_stream(sender, sink=f"chunk=512 every=512 pause={pause} rcvbuf={int(draw.log('buffer', 4000, 9000))}", octets=int(512 * 4500 / pause)),
            "without": java_stream(sender, octets=int(rate * 0.45))}


@case("writes-to-card", ["receiver-reads-slowly", "receiver-stalls"], "After each block the receiver's program writes to a card, and reads nothing.", count=3, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 15e6, 60e6), draw.log("rtt_ms", 3, 25)
    path, sender = line(draw, rate, rtt), ends(draw)
    block = int(draw.log("block", 100e3, 500e3))
    pause = block * 8e3 / rate * draw.log("times", 2, 5)
    draw.note(pause_ms=round(pause))
    return {**path, **java_stream(sender, sink=f"every={block} pause={pause:.0f} rcvbuf={int(draw.log('buffer', 24000, 64000))}", octets=int(block * 4500 / pause)),
            "without": java_stream(sender, octets=int(rate * 0.45))}


@case("small-send-buffer", ["send-buffer", "congestion-window"], "The system's send buffer holds less than is in flight on a long way.", count=3, check=faster(1.35))
def _(draw):
    rate, rtt, buffer = draw.log("rate", 30e6, 70e6), draw.log("rtt_ms", 70, 190), int(draw.log("wmem", 9000, 48000))
    path, sender = line(draw, rate, rtt), ends(draw)
    least = {"tcp_wmem": f"4096 {buffer} {buffer}", "tcp_rmem": BIG["tcp_rmem"]}
    return {**path, **java_stream(sender, octets=int(rate / 16)), "sysctl": {sender: least}, "merges": 0, "without": {"sysctl": {sender: BIG}}}


@case("write-write-read", ["delayed-ack-with-nagle"], "Each request is written in two parts, and the second one waits for a delayed acknowledgment.", count=3,
      check=both(faster(2), all_answered(20)))
def _(draw):
    rtt = draw.log("rtt_ms", 1.5, 16)
    path = line(draw, draw.log("rate", 4e6, 50e6), rtt)
    ask = f"count=70 size={int(draw.log('size', 40, 600))} answer={int(draw.log('answer', 20, 900))} split=2"
    return {**path, **exchange(draw, f"{ask} nodelay=0"), "without": exchange(draw, f"{ask} nodelay=1")}


@case("script-computes", ["server-think-time"], "The server's script takes its time for each answer.", count=3, gain=False,
      check=check("60% of the time is the script's", lambda truth, trial: trial["thinks_s"] >= 0.6 * truth["seconds"] > 1))
def _(draw):
    path = line(draw, draw.log("rate", 6e6, 40e6), draw.log("rtt_ms", 4, 35))
    work, count, size = draw.log("work_ms", 150, 700), draw.random.randrange(8, 13), int(draw.log("answer", 400, 15000))
    program = draw.turn("program", "php", "java", "postgres")
    if program == "php":
        there = php(f"usleep({work * 1000:.0f}); echo str_repeat('a', {size});", f"for n in $(seq {count}); do echo url=http://@B:8080/index.php?$n; echo output=/dev/null; done | curl -sS -K -")
    elif program == "java":
        there = exchange(draw, f"count={count} size=90 answer={size} work={work:.0f} nodelay=1")
    else:
        there = postgres(f"for n in $(seq {count}); do echo 'select repeat($$a$$, {size}), pg_sleep({work / 1000});'; done | psql -q -h @B -U postgres -o /dev/null")
    return {**path, **there, "thinks_s": count * work / 1e3, "most_s": 25}


@case("one-worker", ["server-think-time"], "The server's only worker serves another client first, so that requests wait.", count=2, gain=False,
      kinds=("sender", "receiver", "middle", "snapped"), check=check("waits for more than 1.2 s", lambda truth, trial: truth["seconds"] > 1.2))
def _(draw):
    path = line(draw, draw.log("rate", 6e6, 40e6), draw.log("rtt_ms", 4, 35))
    busy = draw.log("busy_s", 1.6, 4)
    there = php(f"if ($_SERVER['QUERY_STRING'] == 'long') sleep(9); echo str_repeat('a', {int(draw.log('answer', 2000, 90000))});", "curl -sS -o /dev/null http://@B:8080/index.php?short")
    there["server"] = there["server"].replace("PHP_CLI_SERVER_WORKERS=3 ", "").replace("sleep(9)", f"usleep({busy * 1e6:.0f})")
    # The other client is on the server's own host, so that it does not show.
    return {**path, **there, "beside": [("B", "curl -sS -o /dev/null http://@B:8080/index.php?long")], "beside_s": 0.2, "least_s": 0, "most_s": 12}


@case("client-digests", ["client-think-time"], "The client works on each answer before it asks again.", count=3, gain=False,
      check=check("60% of the time is the client's", lambda truth, trial: any(it.get("thought", 0) >= 0.6 * truth["seconds"] > 1 for it in truth["path"]["programs"])))
def _(draw):
    path = line(draw, draw.log("rate", 10e6, 40e6), draw.log("rtt_ms", 4, 30))
    think, answer = draw.log("think_ms", 180, 650), int(draw.log("answer", 20e3, 130e3))
    return {**path, **exchange(draw, f"count={int(5500 / think) + 3} size=60 answer={answer} think={think} nodelay=1")}


@case("slow-disk", ["sender-idle", "sender-stalls"], "The sender reads the next block from a slow disk when the last one is written.", count=3, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 15e6, 60e6), draw.log("rtt_ms", 3, 30)
    path, sender = line(draw, rate, rtt), ends(draw)
    block = int(draw.log("block", 30e3, 260e3))
    pause = block * 8e3 / rate * draw.log("times", 1.5, 4) + rtt
    draw.note(pause_ms=round(pause))
    source = f"every={block} pause={pause:.0f} write={min(block, 32768)}"
    return {**path, **java_stream(sender, source=source, octets=int(block * 4500 / pause)), "without": java_stream(sender, octets=int(rate * 0.45))}


@case("mill-of-numbers", ["sender-idle", "sender-stalls"], "The sender's program computes what it sends: it writes less than the line carries.", count=2, check=faster(1.5))
def _(draw):
    rate, rtt, makes = draw.log("rate", 20e6, 50e6), draw.log("rtt_ms", 4, 40), draw.log("makes", 0.8e6, 4e6)
    path, sender = line(draw, rate, rtt), ends(draw)
    write = int(draw.log("write", 3000, 12000))
    return {**path, "or_none": True, **java_stream(sender, source=f"rate={makes} write={write} nodelay=1", octets=int(makes / 8 * 5)), "without": java_stream(sender, octets=int(rate * 0.45))}


@case("boot-file", ["one-in-flight"], "TFTP has one block under way.", count=3, gain=False, check=takes_at_most(0.4))
def _(draw):
    rate, rtt = draw.log("rate", 8e6, 50e6), draw.log("rtt_ms", 7, 45)
    path = line(draw, rate, rtt)
    block = draw.turn("block", 512, 1024, 1428)
    client = f"cd @D && curl -sS --tftp-blksize {block} -o /dev/null tftp://@B/boot.bin -w '{{\"fetched\": %{{size_download}}}}\\n'"
    server = "mkdir -p @D/tftp; head -c {octets} /dev/urandom > @D/tftp/boot.bin; chmod -R a+rX @D/tftp; exec dnsmasq -k -p 0 --enable-tftp --tftp-root=@D/tftp --user=root --conf-file=/dev/null --pid-file=@D/pid"
    return {**path, "sender": "B", "opens": "A", "server": server, "ports": [69], "client": client, "octets": int(block * 4500 / rtt)}


@case("acknowledged-datagrams", ["one-in-flight"], "A protocol of its own over UDP waits for the answer to each block.", count=2, gain=False, check=takes_at_most(0.4))
def _(draw):
    rate, rtt, size = draw.log("rate", 8e6, 40e6), draw.log("rtt_ms", 6, 30), int(draw.log("size", 900, 1400))
    path = line(draw, rate, rtt)
    return {**path, "sender": "A", "opens": "A", "server": f"{JAVA} receive port=6000 ack=1", "ports": [6000], "octets": int(size * 4500 / rtt),
            "client": f"{JAVA} blocks host=@B port=6000 size={size} octets={{octets}}"}


@case("backlog-full", ["slow-handshake", "no-answer"], "The server's backlog is full while it works, so it drops what opens another connection.", count=2,
      kinds=("receiver", "truncated", "snapped"), gain=False, truncated=(0.9, 0.97),
      check=check("opening takes 0.9 s or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.9))
def _(draw):
    path = line(draw, draw.log("rate", 8e6, 30e6), draw.log("rtt_ms", 5, 30))
    late = draw.log("late_ms", 1900, 3400)
    there = exchange(draw, "count=4 size=60 answer=8000 nodelay=1", f"late={late:.0f} backlog=1")
    # Two others of the server's own host fill the backlog.
    fill = [("B", f"{JAVA} ask host=@B port=4840 count=1") for _ in range(2)]
    return {**path, **there, "beside": fill, "beside_s": 0.9, "one_end": "receiver", "least_s": 0, "sysctl": {"B": {"tcp_syncookies": 0}}}


@case("shaped-by-host", {"receiver": ["host-pacing", "path-rate"], "late-receiver": ["host-pacing", "path-rate"], "truncated-receiver": ["host-pacing", "path-rate"],
                         "snapped-receiver": ["host-pacing", "path-rate"], "middle": ["host-pacing", "path-rate"], "else": ["host-pacing"]}, "A shaper of the sending host releases a segment at a time.", count=3, check=faster(1.5))
def _(draw):
    rate, rtt, shaped = draw.log("rate", 30e6, 70e6), draw.log("rtt_ms", 4, 30), draw.log("shaped", 3e6, 14e6)
    path, sender = line(draw, rate, rtt), ends(draw)
    words = f"tbf rate {shaped:.0f}bit burst 1600 limit 60000"
    return {**path, **java_stream(sender, octets=int(shaped / 8 * 5)), "tc": {sender: words}, "merges": 0, "without": {"tc": {}, **java_stream(sender, octets=int(rate * 0.45))}}


@case("limit-rate", ["sender-idle", "sender-stalls", "host-pacing"], "The web server limits each transfer (mod_ratelimit): it writes a part, then waits.", count=2, check=faster(1.5))
def _(draw):
    rate, rtt, limit = draw.log("rate", 20e6, 60e6), draw.log("rtt_ms", 4, 30), int(draw.log("limit_kib_per_s", 180, 900))
    path = line(draw, rate, rtt)
    limits = f"LoadModule ratelimit_module /usr/lib/apache2/modules/mod_ratelimit.so\n<Location />\nSetOutputFilter RATE_LIMIT\nSetEnv rate-limit {limit}\n</Location>\nLoadModule env_module /usr/lib/apache2/modules/mod_env.so"
    return {**path, "or_none": True, **apache(draw, curl(), limit * 1024 * 5, limits), "without": apache(draw, curl(), int(rate * 0.45))}


@case("hangs", ["server-think-time", "no-answer"], "The server takes the request and never answers; the client gives up.", count=2, gain=False,
      kinds=("sender", "receiver", "middle", "snapped"), check=check("one request and no answer", lambda truth, trial: not truth["octets"]))
def _(draw):
    path = line(draw, draw.log("rate", 6e6, 40e6), draw.log("rtt_ms", 4, 50))
    return {**path, **php("sleep(30);", f"curl -sS -m {draw.random.randrange(4, 8)} http://@B:8080/index.php"), "least_s": 0, "most_s": 10}
