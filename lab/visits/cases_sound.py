"""Nothing is wrong: full lines, short pages, exchanges, telemetry, calls, sessions."""

from checks import both, check, filled
from draw import control
from setups import KIT, WEB, arrives, delays, fetch, line, lossless, stream, transfer

FULL = both(filled(0.8), check("the queue of the line takes 200 ms at most", lambda truth, trial: truth["path"]["socket"].get("rtt_ms", 0) <= trial["rtt_ms"] + 200))
WORKS = both(arrives(4), lossless(0))


def lan(draw, low=0.2, high=1.9):
    rtt = draw.log("rtt_ms", low, high)
    return {"rate": 1e9, "rtt_ms": rtt, "disciplines": delays(draw, rtt)}


def wan(draw, low=7, high=70, rate=(6e6, 80e6)):
    return line(draw, draw.log("rate", *rate), draw.log("rtt_ms", low, high))


@control("camera-uploads-over-dsl", "A camera's clip fills the uplink.", count=2, check=FULL)
def _(draw):
    rate, rtt = draw.log("rate", 0.7e6, 9e6), draw.log("rtt_ms", 9, 44)
    return {**line(draw, rate, rtt, queue_ms=draw.log("queue_ms", 45, 140), sender="A"), **transfer(draw, int(rate / 8 * 6), "A")}


@control("firmware-fills-the-line", "A device's update fills the line.", count=4, check=FULL)
def _(draw):
    rate, rtt = draw.log("rate", 2.3e6, 70e6), draw.log("rtt_ms", 5, 60)
    return {**line(draw, rate, rtt, queue_ms=max(1.3 * rtt, draw.log("queue_ms", 25, 90))), **fetch(draw, int(rate / 8 * 5))}


@control("meter-over-narrow-band", "A meter's archive fills a line of some hundred kilobits.", count=2, check=filled(0.7))
def _(draw):
    rate, rtt = draw.log("rate", 190e3, 390e3), draw.log("rtt_ms", 90, 210)
    return {**line(draw, rate, rtt, queue_ms=170, sender="A", kind="tbf"), **stream(draw, int(rate / 8 * 9), "A"), "congestion": "cubic"}


@control("recorder-on-gigabit", "A recorder copies over its switch at line rate.", count=2, kinds=("sender", "receiver", "middle", "truncated", "snapped"), check=filled(0.85))
def _(draw):
    rate, rtt = draw.log("rate", 0.91e9, 0.97e9), draw.log("rtt_ms", 0.21, 0.5)
    return {**line(draw, rate, rtt, queue_ms=3, sender="A", kind="tbf"), **stream(draw, int(rate / 8 * 0.55), "A"), "fixed_octets": True, "least_s": 0.3, "snap": 78, "merges": draw.turn("merges", 1, 1)}


@control("hundred-megabit-port", "A set-top box with a port of 100 Mbit/s.", count=2, check=filled(0.85))
def _(draw):
    rate, rtt = 94.9e6 + draw.log("above", 0.1e6, 2.4e6), draw.log("rtt_ms", 0.4, 3.2)
    return {**line(draw, rate, rtt, queue_ms=12, kind="tbf"), **fetch(draw, int(rate / 8 * 2.6)), "snap": 96}


@control("both-ways-at-once", "An upload and a download at the same time, each fills its own way.", count=2, check=filled(0.75))
def _(draw):
    rate, rtt = draw.log("rate", 7e6, 33e6), draw.log("rtt_ms", 8, 35)
    path = line(draw, rate, rtt, queue_ms=60)
    beside = [("B", f"{KIT} do=recv port=5210"), ("A", f"sleep 0.5; exec {KIT[5:]} do=send to=@B port=5210 octets=400000000 seconds=30")]
    return {**path, **fetch(draw, int(rate / 8 * 5)), "beside": beside, "beside_s": 1, "disciplines": {**path["disciplines"], "up": ["root handle 1: htb default 1 r2q 1", f"class parent 1: classid 1:1 htb rate {rate:.0f}bit burst 1600 cburst 1600", "parent 1:1 fq_codel"],
            "down": ["root handle 1: htb default 1 r2q 1", f"class parent 1: classid 1:1 htb rate {rate:.0f}bit burst 1600 cburst 1600", "parent 1:1 fq_codel"]}}


@control("managed-queue", "The gateway has fq_codel before the slow line.", count=2, check=filled(0.8))
def _(draw):
    rate, rtt = draw.log("rate", 3.4e6, 45e6), draw.log("rtt_ms", 11, 48)
    path = line(draw, rate, rtt)
    return {**path, **fetch(draw, int(rate / 8 * 5)), "disciplines": {**path["disciplines"], "down": ["root handle 1: htb default 1 r2q 1", f"class parent 1: classid 1:1 htb rate {rate:.0f}bit burst 1600 cburst 1600", "parent 1:1 fq_codel"]}}


@control("tolerable-queue", "The line's queue takes some 150 ms, which callers bear.", count=2, check=FULL)
def _(draw):
    rate, rtt = draw.log("rate", 1.7e6, 12e6), draw.log("rtt_ms", 22, 55)
    return {**line(draw, rate, rtt, queue_ms=draw.log("queue_ms", 120, 165)), **transfer(draw, int(rate / 8 * 6), "B")}


@control("bbr-backup", "A backup with BBR fills the line.", count=2, check=filled(0.75))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 40e6), draw.log("rtt_ms", 18, 90)
    return {**line(draw, rate, rtt, queue_ms=max(70, 1.6 * rtt), sender="A"), **stream(draw, int(rate / 8 * 6), "A"), "congestion": "bbr"}


@control("long-way-full", "An update from another continent, with large buffers, fills the line.", count=2, check=filled(0.75))
def _(draw):
    rate, rtt = draw.log("rate", 4e6, 13e6), draw.log("rtt_ms", 190, 330)
    big = {"both": {"tcp_rmem": "4096 1000000 12000000", "tcp_wmem": "4096 1000000 12000000"}}
    return {**line(draw, rate, rtt, queue_ms=170), **stream(draw, int(rate / 8 * 11), "B"), "sysctl": big, "fixed_octets": True}


@control("a-loss-or-two", "A download with a loss or two.", count=3, check=both(filled(0.75), check("one to three segments are lost", lambda truth, trial: 1 <= truth["lost_segments"] <= 3)))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 22e6), draw.log("rtt_ms", 4, 16)
    every = int(rate / 8 * 5 / 1448 / draw.random.uniform(1.6, 3.4))
    path = line(draw, rate, rtt, queue_ms=70)
    rule = {"P": f"table ip it {{ chain up {{ type filter hook forward priority 0; oifname wan tcp sport 1-65535 meta length gt 1000 numgen inc mod {every} == {every // 2} counter drop; }}; }}"}
    return {**path, **fetch(draw, int(rate / 8 * 5)), "nft": rule, "fixed_octets": True, "sysctl": {"A": {"tcp_rmem": f"4096 {int(rate * (rtt + 40) / 8e3)} {int(rate * (rtt + 40) / 4e3)}"}}}


@control("two-boxes-share", "Two stations of a site load at a time; together they fill the line.", count=2, check=both(arrives(300), check("this one gets a quarter to four fifths of the line", lambda truth, trial: 0.25 * trial["rate"] <= truth["goodput_bits_per_s"] <= 0.8 * trial["rate"])))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 30e6), draw.log("rtt_ms", 10, 40)
    path = line(draw, rate, rtt, queue_ms=max(60, 1.5 * rtt), kind="tbf")
    beside = [("B", f"{KIT} do=send port=5210 octets=900000000 seconds=30"), ("O", f"{KIT} do=recv to=@B port=5210")]
    return {**path, **fetch(draw, int(rate / 8 * 3)), "beside": beside, "beside_s": 1.2, "congestion": "cubic"}


@control("page-of-a-controller", "A short page of a controller.", count=2, kinds=("sender", "receiver", "middle", "snapped"), check=both(arrives(2), lossless()))
def _(draw):
    server = draw.turn("server", "weborf", "busybox httpd")
    octets = int(draw.log("octets", 1800, 11000))
    path = wan(draw, 3, 40)
    return {**path, "client_at": "A", "sender": "B", "server": WEB[server][0], "ports": [8000], "files": {"fw.bin": octets}, "client": "for n in 1 2 3; do curl -sS -o /dev/null http://@B:8000/fw.bin; sleep 1.3; done"}


@control("modbus-on-lan", "A controller is read over the LAN, ten times a second.", count=2, check=WORKS)
def _(draw):
    each = draw.log("each_ms", 70, 260)
    work = draw.log("work_ms", 0.3, 3.1)
    return {**lan(draw), "sender": "B", "client_at": "A", "server": f"{KIT} do=answer port=502 size=12 answer={int(draw.log('answer', 29, 250))} nodelay=1 think_ms={work}", "ports": [502],
            "client": f"{KIT} do=ask to=@B port=502 size=12 answer={draw.settings['answer']} nodelay=1 count={int(6000 / each)} think_ms={each}"}


@control("cloud-polled-by-a-clock", "A gateway reports and gets an answer each few seconds.", count=2, check=WORKS)
def _(draw):
    each = draw.log("each_ms", 700, 2100)
    n = int(draw.log("answer", 40, 420))
    return {**wan(draw), "sender": "B", "client_at": "A", "server": f"{KIT} do=answer port=8883 size=180 answer={n} nodelay=1 think_ms=2.4", "ports": [8883],
            "client": f"{KIT} do=ask to=@B port=8883 size=180 answer={n} nodelay=1 count={int(11000 / each)} think_ms={each} spread=0.05 seed=@SEED"}


@control("telemetry-by-mqtt", "A logger publishes its values by MQTT.", count=2, check=WORKS)
def _(draw):
    each = draw.log("each_s", 0.3, 1.2)
    words = f"for n in $(seq {int(9 / each)}); do echo '{{\"t\": 21.'$n', \"p\": 1013}}'; sleep {each}; done | mosquitto_pub -h @B -p 1883 -q 1 -t site/logger -l"
    return {**wan(draw, rate=(65e3, 900e3)), "sender": "A", "client_at": "A", "server": "printf 'listener 1883\\nallow_anonymous true\\nuser root\\n' > @D/m.conf; exec mosquitto -c @D/m.conf", "ports": [1883], "client": words}


@control("voice-of-an-intercom", "A call of an intercom: a datagram each 20 ms, both ways.", count=2, check=WORKS)
def _(draw):
    size = draw.turn("size", 172, 92)
    path = wan(draw, 10, 80, (1e6, 20e6))
    return {**path, "sender": "A", "client_at": "A", "server": f"{KIT} do=hear port=5004", "ports": [5004], "client": f"{KIT} do=shoot to=@B port=5004 size={size} rate={size * 400} seconds=8",
            "beside": [("A", f"{KIT} do=hear port=5006"), ("B", f"{KIT} do=shoot to=@A port=5006 size={size} rate={size * 400} seconds=8")], "beside_s": 0.1}


@control("video-below-the-line", "A camera's RTP stream is below the line's rate.", count=3, check=both(arrives(100), lossless()))
def _(draw):
    rate, rtt = draw.log("rate", 4e6, 60e6), draw.log("rtt_ms", 2, 50)
    sent, size = rate * draw.random.uniform(0.2, 0.62), int(draw.log("size", 700, 1400))
    path = line(draw, rate, rtt, sender="A", queue_ms=80)
    return {**path, "sender": "A", "client_at": "A", "server": f"{KIT} do=hear port=5004", "ports": [5004], "client": f"{KIT} do=shoot to=@B port=5004 size={size} rate={sent:.0f} seconds=6 frame={draw.random.choice((1, 2, 4))}"}


@control("session-with-a-person", "A technician types in a telnet session.", count=2, check=WORKS)
def _(draw):
    words = draw.random.sample(("ls", "cat /proc/uptime", "date", "hostname", "id", "free", "echo ok", "cat /proc/loadavg"), 5)
    typed = "sleep 0.7; " + "".join("".join(f"printf %s '{c}'; sleep 0.{draw.random.randrange(10, 34)}; " for c in word) + f"echo; sleep 0.{draw.random.randrange(40, 90)}; " for word in words)
    return {**wan(draw, 4, 50), "sender": "A", "client_at": "A", "server": "exec socat TCP-LISTEN:2323,reuseaddr,nodelay,fork EXEC:'bash -i',pty,stderr,setsid", "ports": [2323], "client": f"({typed}) | socat - TCP:@B:2323,nodelay > /dev/null"}


@control("idle-with-keep-alives", "A connection rests, with keep-alives and a report now and then.", count=2, kinds=("sender", "receiver", "middle", "late", "snapped"), check=both(arrives(2), lossless()))
def _(draw):
    return {**wan(draw), "sender": "A", "client_at": "A", "server": f"{KIT} do=answer port=4059 size=60 answer=20 nodelay=1", "ports": [4059], "client": f"{KIT} do=ask to=@B port=4059 size=60 answer=20 nodelay=1 keepalive=2 count=4 think_ms={draw.log('each_ms', 2500, 5200)}", "most_s": 30}


@control("names-and-short-pages", "A kiosk looks up a name and loads a short page.", count=2, kinds=("sender", "receiver", "middle", "snapped"), check=both(arrives(3), lossless()))
def _(draw):
    n = int(draw.log("octets", 3000, 14000))
    return {**wan(draw, 4, 35), "sender": "B", "client_at": "A", "server": ["exec dnsmasq -k -u root -p 53 --no-resolv --no-hosts --address=/shop.example.net/@B -i eth0 --pid-file=/run/d.pid", WEB["mini_httpd"][0]], "ports": [53, 8000], "resolver": "nameserver @B\n",
            "files": {"fw.bin": n}, "client": "for n in 1 2 3; do curl -sS -o /dev/null http://shop.example.net:8000/fw.bin; sleep 0.8; done"}


@control("several-clients", "Some clients fetch small files from a device's server over the LAN.", count=2, check=both(arrives(30), lossless()))
def _(draw):
    words = " & ".join(f"for n in 1 2 3 4 5; do sleep 0.{draw.random.randrange(3, 9)}; curl -sS -o /dev/null http://@B:8000/fw.bin; done" for _ in range(4))
    return {**lan(draw), "sender": "B", "client_at": "A", "server": WEB["webfs"][0], "ports": [8000], "files": {"fw.bin": int(draw.log("octets", 4000, 40000))}, "client": f"{words} & wait"}


@control("snmp-each-second", "A manager asks an agent each second.", count=2, check=both(arrives(3), lossless()))
def _(draw):
    each = draw.log("each_ms", 600, 1400)
    n = int(draw.log("answer", 60, 500))
    return {**lan(draw, 0.3, 4), "sender": "B", "client_at": "A", "server": f"{KIT} do=reply port=161 answer={n} think_ms=1.3", "ports": [161], "client": f"{KIT} do=poll to=@B port=161 size=82 count={int(9000 / each)} think_ms={each}"}


@control("redis-on-lan", "A kiosk's program reads keys over the LAN, one after the other.", count=2, check=both(arrives(50), lossless()))
def _(draw):
    words = "; ".join(f"redis-cli -h @B -p 6379 -r 60 -i 0.0{draw.random.randrange(1, 4)} get k{n} > /dev/null" for n in range(4))
    return {**lan(draw, 0.2, 0.9), "sender": "B", "client_at": "A", "server": "exec redis-server --port 6379 --save '' --protected-mode no --dir @D", "ports": [6379], "client": f"redis-cli -h @B set k1 {'x' * 90} > /dev/null; {words}"}


@control("through-a-proxy", "A box loads by a proxy at the provider; the line is full.", count=2, check=FULL)
def _(draw):
    rate, rtt = draw.log("rate", 3e6, 26e6), draw.log("rtt_ms", 9, 40)
    servers = ["printf 'Port 3128\\nListen 0.0.0.0\\nTimeout 60\\nMaxClients 20\\nLogLevel Critical\\n' > @D/t.conf; exec tinyproxy -d -c @D/t.conf", WEB["mini_httpd"][0]]
    return {**line(draw, rate, rtt, queue_ms=80), "client_at": "A", "sender": "B", "server": servers, "ports": [3128, 8000], "files": {"fw.bin": "{octets}"}, "octets": int(rate / 8 * 5), "client": "curl -sS -o /dev/null -x http://@B:3128 http://@B:8000/fw.bin"}


@control("measured-with-nuttcp", "A technician measures the line; it is full.", count=2, check=filled(0.8))
def _(draw):
    rate, rtt = draw.log("rate", 2e6, 55e6), draw.log("rtt_ms", 6, 30)
    sender = draw.turn("sender", "A", "B")
    return {**line(draw, rate, rtt, queue_ms=90, sender=sender), "client_at": "A", "sender": sender, "server": "exec nuttcp -S --nofork", "ports": [5000], "client": f"nuttcp {'-r ' if sender == 'B' else ''}-T 5 @B", "is_timed": True}


@control("radio-with-jitter", "A line with some jitter in order, full.", count=2, check=filled(0.75))
def _(draw):
    rate, rtt = draw.log("rate", 4e6, 24e6), draw.log("rtt_ms", 14, 40)
    path = line(draw, rate, rtt, queue_ms=90)
    d = rtt * 300
    path["disciplines"]["to_a"] = f"root netem limit 60000 delay {d:.0f}us {d / 3:.0f}us rate 1gbit"
    return {**path, **fetch(draw, int(rate / 8 * 5))}
