"""Links that are healthy: full, or with little to do."""

from checks import both, check, filled
from draw import control
from setups import DOWNS, ENDS, SSH, SSHD, UPS, WIDE, any_transfer, ends, exchange, line, nginx, raw, shaper, station, transfer

SOME = check("payload arrives", lambda truth, trial: truth["octets"] > 0)


def arrives(least):
    return check(f"at least {least} segments or datagrams arrive, none is lost", lambda truth, trial: truth["segments"] >= least and truth["lost_segments"] == 0)


def few_lost(most):
    return check(f"at most {most:.1%} of the segments are lost", lambda truth, trial: truth["lost_segments"] <= most * max(truth["segments"], 1))


RATES = ((0.45e6, 1.6e6), (2e6, 9e6), (11e6, 45e6), (50e6, 95e6))


def full_line(draw, sender, rtts=(2, 60), rates=RATES, **more):
    rate = draw.log("rate", *rates[draw.number % len(rates)])
    rtt = draw.log("rtt_ms", rtts[0], rtts[1] if rate > 1.5e6 else min(rtts[1], 30))
    queue = max(rate / 8e3 * min(max(1.1 * rtt, 70 if rate < 1e7 else 40), 110), 9000)
    return line(draw, rate, rtt, sender, queue=queue, **more)


@control("download-fills-the-line", "A download fills the line.", count=5, check=both(filled(0.82), few_lost(0.04)))
def _(draw):
    path = full_line(draw, "B")
    name = draw.turn("program", "nginx-curl", "lighttpd-wget", "rsync", "busybox-curl")
    return {**path, **transfer(name, "B", path["rate"] / 8 * 5), "sysctl": {"both": WIDE}}


@control("upload-fills-the-line", "An upload fills the line.", count=5, check=both(filled(0.82), few_lost(0.04)))
def _(draw):
    path = full_line(draw, "A")
    name = draw.turn("program", "nginx-curl", "ncat", "socat", "iperf")
    return {**path, **transfer(name, "A", path["rate"] / 8 * 5), "sysctl": {"both": WIDE}}


@control("copies-of-files", "scp, FTP and rsync fill the line.", count=5, check=both(filled(0.8), few_lost(0.04)))
def _(draw):
    sender = ends(draw)
    path = full_line(draw, sender, rtts=(2, 25))
    name = draw.turn("program", "scp", "ftp", "rsync", "scp")
    return {**path, **transfer(name, sender, path["rate"] / 8 * 6)}


@control("line-test", "iperf3 fills the line.", count=4, check=both(filled(0.82), few_lost(0.04)))
def _(draw):
    path = full_line(draw, "A", rates=((3e6, 9e6), (90e6, 200e6), (18e6, 60e6)))
    return {**path, **transfer("iperf3", "A", path["rate"] / 8 * 4)}


@control("gigabit", "A transfer at the rate of a fast line.", count=3, check=filled(0.82))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", *((400e6, 940e6), (200e6, 400e6))[draw.number % 2]), draw.log("rtt_ms", 0.2, 1.2)
    path = line(draw, rate, rtt, sender, queue=rate / 8e3 * 6, kind="tbf")
    return {**path, **raw(sender, octets=rate / 8 * 2.6), "merges": 1, "sysctl": {"both": WIDE}, "snap": 96}


@control("both-ways", "An upload and a download at a time, each with queues that are managed.", count=4, check=both(filled(0.7), few_lost(0.04)))
def _(draw):
    path = full_line(draw, "B", rtts=(6, 40), kind="fq_codel")
    there = raw("B", octets=path["rate"] / 8 * 5)
    there["server"], there["ports"] = [there["server"], f"{ENDS} recv listen=7009"], [7000, 7009]
    return {**path, **there, "beside": [("A", f"{ENDS} send host=@B port=7009 octets={int(path['rate'] / 8 * 6)}")], "sysctl": {"both": WIDE}}


@control("managed-queue", "fq_codel at the slowest link.", count=4, check=both(filled(0.82), few_lost(0.04)))
def _(draw):
    sender = ends(draw)
    path = full_line(draw, sender, rtts=(8, 45), kind="fq_codel")
    return {**path, **any_transfer(draw, sender, path["rate"] / 8 * 5), "sysctl": {"both": WIDE}}


@control("deep-but-bearable", "A queue of 120 to 190 ms is full.", count=4, check=both(filled(0.85), few_lost(0.04)))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", 1.5e6, 40e6), draw.log("rtt_ms", 12, 70)
    path = line(draw, rate, rtt, sender, queue=rate / 8e3 * draw.log("queue_ms", 120, 190), kind="tbf")
    return {**path, **any_transfer(draw, sender, rate / 8 * 6), "sysctl": {"both": WIDE}}


@control("a-loss-or-two", "A download loses a segment or two, which costs nothing.", count=4, check=both(filled(0.82), check("2 packets are lost by rule", lambda truth, trial: 1 <= truth["path"].get("filtered_R2", 0) + truth["path"].get("filtered_R1", 0) <= 3)))
def _(draw):
    sender = ends(draw)
    path = full_line(draw, sender, rtts=(3, 22), rates=RATES[1:3], kind="tbf")
    router, device = ("R2", "mid") if sender == "A" else ("R1", "mid")
    each = int(path["rate"] / 12000 * 5 * 0.55)
    rule = f"table ip f {{ chain c {{ type filter hook prerouting priority 0; iifname {device} ip length > 1000 numgen inc mod {each} offset 0 == {each // 2} counter drop; }} }}"
    return {**path, **raw(sender, octets=path["rate"] / 8 * 5), "nft": {router: rule}, "sysctl": {"both": WIDE}, "merges": 0, "is_timed": True}


@control("far-away", "A long way is full: windows are large enough.", count=4, check=filled(0.72))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", 2.5e6, 14e6), draw.log("rtt_ms", *((110, 190), (200, 320))[draw.number % 2])
    path = line(draw, rate, rtt, sender, queue=rate / 8e3 * min(rtt * 1.1, 190), kind="tbf")
    return {**path, **any_transfer(draw, sender, rate / 8 * 10), "sysctl": {"both": WIDE}, "is_timed": True, "late_s": 1}


@control("several-clients", "Some downloads at a time share the line.", count=4, check=both(filled(0.8), few_lost(0.04)))
def _(draw):
    path, count = full_line(draw, "B", rtts=(5, 30), rates=RATES[1:3]), draw.random.randrange(3, 6)
    draw.note(clients=count)
    there = {"sender": "B", "server": nginx(int(path["rate"] / 8 * 6 / count)), "ports": [80], "client": f"for n in $(seq {count}); do curl -sS -o /dev/null http://@B/f & done; wait", "is_timed": True}
    return {**path, **there}


@control("board-fills-its-line", "A small station receives or sends as fast as its line carries.", count=4, check=filled(0.75))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", 1.5e6, 9e6), draw.log("rtt_ms", 0.8, 5)
    path = line(draw, rate, rtt, sender, queue=60000, kind="tbf")
    options = "window=20000 ackn=2" if sender == "A" else "in_flight=10"
    return {**path, **station(sender, options, octets=rate / 8 * 4.5), "merges": 0, "timestamps": 0}


@control("half-duplex-hub", "A line of one medium for both directions (cable.c): frames wait for each other, few collide.", count=3, check=filled(0.72))
def _(draw):
    sender = ends(draw)
    path = line(draw, 9.9e6, draw.log("rtt_ms", 2, 12), sender, queue=60000, kind="tbf")
    path["disciplines"].pop("up" if sender == "A" else "down")
    return {**path, **raw(sender, octets=10e6 / 8 * 4), "merges": 0, "cable": f"rate=10e6 duplex=half ring=40 seed={draw.random.randrange(1, 999)}"}


@control("datagrams-below-the-rate", "Datagrams at less than the rate of the path.", count=5, check=arrives(60))
def _(draw):
    rate, rtt = draw.log("rate", *((0.09e6, 0.4e6), (1e6, 6e6), (10e6, 40e6))[draw.number % 3]), draw.log("rtt_ms", 0.5, 90)
    path, share, size = line(draw, rate, rtt, "A", queue=max(rate / 8e3 * 60, 9000)), draw.random.uniform(0.3, 0.8), int(draw.log("size", 160, 1300))
    draw.note(share=round(share, 2))
    seconds = 8
    if draw.turn("program", "iperf", "own") == "own" or rate < 6e5:
        there = {"server": f"{ENDS} drecv listen=5004", "ports": [5004], "client": f"{ENDS} dsend host=@B port=5004 size={size} octets={int(rate * share / 8 * seconds)} rate={rate * share:.0f}"}
    else:
        there = {"server": "exec iperf -s -u", "ports": [5001], "client": f"iperf -u -c @B -b {rate * share:.0f} -l {size} -t 5 >/dev/null"}
    return {**path, **there, "sender": "A", "merges": 0}


@control("voice", "A call: a datagram each 20 ms in both directions.", count=4, check=arrives(150))
def _(draw):
    path, size = line(draw, draw.log("rate", 0.3e6, 20e6), draw.log("rtt_ms", 5, 140), "A"), draw.turn("size", 172, 92, 214)
    seconds = draw.random.randrange(6, 12)
    octets = size * 50 * seconds
    there = {"sender": "A", "asides": [("A", f"{ENDS} drecv listen=16402")], "server": f"{ENDS} drecv listen=16400", "ports": [16400], "client": f"{ENDS} dsend host=@B port=16400 size={size} octets={octets} gap_ms=20",
             "beside": [("B", f"{ENDS} dsend host=@A port=16402 size={size} octets={octets} gap_ms=20")]}
    return {**path, **there, "merges": 0}


@control("pages", "Pages of some files on a short way.", count=4, kinds=("sender", "receiver", "middle", "snapped", "truncated"), check=SOME)
def _(draw):
    path = line(draw, draw.log("rate", 20e6, 90e6), draw.log("rtt_ms", 1, 12), "B", queue=260000)
    sizes = [int(draw.random.uniform(900, 42000)) for _ in range(draw.random.randrange(4, 9))]
    files = "".join(f"truncate -s {it} @D/www/p{i};" for i, it in enumerate(sizes))
    urls = " ".join(f"http://@B/p{i}" for i in range(len(sizes)))
    tool = draw.turn("program", "wget -q -O /dev/null", "curl -sS")
    return {**path, "sender": "B", "server": nginx(100, files=files), "ports": [80], "client": f"{tool} {urls} > /dev/null; sleep 1.3; {tool} {urls} > /dev/null; sleep 1.7; {tool} {urls} > /dev/null"}


@control("asks-on-a-lan", "Requests and answers follow each other on a short way.", count=4, check=SOME)
def _(draw):
    path = line(draw, draw.log("rate", 60e6, 95e6), draw.log("rtt_ms", 0.25, 0.9), "B", queue=100000)
    count = max(4000, int(3600 / draw.settings["rtt_ms"]))
    if draw.turn("program", "redis", "own") == "redis":
        there = {"sender": "B", "server": "exec redis-server --port 6379 --save '' --dir @D --protected-mode no", "ports": [6379], "client": f"for n in $(seq {count}); do echo set key$n value$n; done | redis-cli -h @B > /dev/null"}
    else:
        answer = int(draw.log("answer", 60, 1300))
        there = exchange(f"count={count} size=60 answer={answer} nodelay=1", f"size=60 answer={answer}")
    return {**path, **there, "merges": 0}


@control("asked-by-a-clock", "A client asks for some values each second or half second.", count=5, check=arrives(6))
def _(draw):
    path = line(draw, draw.log("rate", 0.2e6, 50e6), draw.log("rtt_ms", 0.6, 320), "B")
    each, answer = draw.turn("each_ms", 500, 1000, 700), int(draw.log("answer", 30, 1200))
    return {**path, **exchange(f"count={int(11000 / each)} size=24 answer={answer} each_ms={each} nodelay=1", f"size=24 answer={answer}", port=draw.turn("port", 502, 4840, 102)), "merges": 0}


@control("readings-by-mqtt", "A device publishes a reading now and then; a second client gets it.", count=3, check=arrives(6))
def _(draw):
    path, each = line(draw, draw.log("rate", 0.15e6, 20e6), draw.log("rtt_ms", 4, 150), "A"), draw.log("each_s", 0.4, 1.1)
    there = {"sender": "A", "server": "printf 'listener 1883\\nallow_anonymous true\\n' > @D/m.conf; exec mosquitto -c @D/m.conf", "ports": [1883],
             "client": f"for n in $(seq {int(9 / each)}); do echo value=$n; sleep {each}; done | mosquitto_pub -h @B -t plant/7 -l -q 1"}
    return {**path, **there, "merges": 0}


@control("idle-with-keep-alive", "A connection with hardly anything to say.", count=3, check=arrives(3))
def _(draw):
    path, each = line(draw, draw.log("rate", 1e6, 50e6), draw.log("rtt_ms", 2, 200), "B"), draw.random.randrange(3000, 6000)
    return {**path, **exchange(f"count=5 size=30 answer=30 each_ms={each}", "size=30 answer=30", port=8883), "merges": 0}


@control("typed-by-a-person", "A person works on another machine by ssh, or in a dialogue.", count=4, check=SOME)
def _(draw):
    path = line(draw, draw.log("rate", 1e6, 50e6), draw.log("rtt_ms", 2, 110), "B", queue=120000)
    waits = [round(draw.random.uniform(0.25, 1.6), 2) for _ in range(9)]
    if draw.turn("program", "ssh", "own") == "ssh":
        typed = "; ".join(f"sleep {it}; echo ls /etc/{name}" for it, name in zip(waits, ("ssh", "hosts", "apt", "init.d", "pam.d", "default", "cron.d", "skel", "dpkg")))
        there = {"sender": "B", "server": SSHD, "ports": [22], "client": f"(sleep 0.8; {typed}; sleep 0.7; echo exit) | ssh {SSH} root@@B sh > /dev/null"}
    else:
        there = exchange("count=40 size=48 answer=64 think_ms=240 varies=0.9 nodelay=1 seed=@SEED", "size=48 answer=64", port=23)
    return {**path, **there, "merges": 0}


@control("events-now-and-then", "A server reports events when they happen.", count=3, check=arrives(8))
def _(draw):
    path, answer = line(draw, draw.log("rate", 0.5e6, 50e6), draw.log("rtt_ms", 3, 130), "B"), int(draw.log("answer", 60, 1400))
    there = {"sender": "B", "server": f"{ENDS} answer listen=9001 answer={answer} events=18 each_ms=480", "ports": [9001], "client": f"{ENDS} recv host=@B port=9001"}
    return {**path, **there, "merges": 0}


@control("names-answered-at-once", "Names are looked up, and pages fetched.", count=3, kinds=("receiver", "sender", "middle", "snapped", "truncated"), check=SOME)
def _(draw):
    path = line(draw, draw.log("rate", 10e6, 80e6), draw.log("rtt_ms", 1, 25), "B", queue=200000)
    names = "exec dnsmasq -k --no-resolv --no-hosts --address=/example.net/@B --user=root --conf-file=/dev/null --pid-file=@D/pid2 --bind-interfaces --listen-address=@B"
    there = {"sender": "B", "server": [nginx(int(draw.log("octets", 2000, 90e3))), names], "ports": [80, 53], "client": "for n in 1 2 3 4; do curl -4 -sS -o /dev/null http://w$n.example.net/f; sleep 1.1; done",
             "resolver": "nameserver @B\n"}
    return {**path, **there, "merges": 0}


@control("polled-by-udp", "A manager asks a device by UDP each second.", count=3, check=arrives(6))
def _(draw):
    path = line(draw, draw.log("rate", 0.07e6, 20e6), draw.log("rtt_ms", 1, 160), "B")
    return {**path, "sender": "B", "server": f"{ENDS} drecv listen=161 answer={int(draw.log('answer', 60, 400))}", "ports": [161], "merges": 0,
            "client": f"for n in $(seq 9); do {ENDS} dsend host=@B port=161 from=40{draw.random.randrange(100, 999)} size=82 octets=82 waits=1 > /dev/null; sleep 0.9; done"}


@control("film-by-chunks", "A player fetches a chunk of a film each two seconds; the line carries more.", count=3, check=few_lost(0.04))
def _(draw):
    rate, rtt = draw.log("rate", 12e6, 60e6), draw.log("rtt_ms", 4, 30)
    path = line(draw, rate, rtt, "B", queue=rate / 8e3 * 190, kind="tbf")
    part = int(rate / 8 * draw.random.uniform(0.08, 0.2))
    return {**path, "sender": "B", "server": nginx(part), "ports": [80], "client": "for n in 1 2 3 4 5; do curl -sS -o /dev/null http://@B/f & sleep 2; done; wait", "merges": 0, "is_timed": True}
