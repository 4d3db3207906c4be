"""What opens late or not at all, and names."""

from checks import both, check, no_payload
from draw import case
from setups import ENDS, busybox, ends, exchange, line, nginx, transfer, waits

CLIENT = ("receiver", "late", "truncated", "snapped")


def drop_in(name, rule, hook="input"):
    return f"table ip f {{ chain c {{ type filter hook {hook} priority 0; {rule} counter drop; }} }}"


def no_octets():
    return check("no payload arrives", lambda truth, trial: not truth["octets"])


@case("server-says-nothing", ["no-answer"], "A firewall drops what opens a connection, or what UDP asks.", count=4, gain=False, late=(0.03, 0.08), truncated=(0.6, 0.9), check=both(check("nothing but what asks arrives", lambda truth, trial: truth["octets"] < 400), check("nftables drops 3 packets", lambda truth, trial: sum(
    truth["path"].get(f"filtered_{it}", 0) for it in ("R1", "R2", "B")) >= 3)))
def _(draw):
    path = line(draw, draw.log("rate", 2e6, 60e6), draw.log("rtt_ms", 2, 90), "A")
    how = draw.turn("how", "syn", "udp", "syn-at-router", "syn")
    patience = draw.log("patience_s", 8, 17)
    if how == "udp":
        return {**path, "merges": 0, "sender": "A", "client": "dig +tries=4 +time=3 @@B printer.example.org A > /dev/null", "nft": {"B": drop_in("f", "udp dport 53")}, "least_s": 0, "counts": (), "most_s": 30}
    port = draw.random.choice((22, 80, 502, 1883, 8080))
    draw.note(port=port)
    end, hook = ("B", "input") if how == "syn" else ("R2", "forward")
    client = f"curl -sS --connect-timeout {patience} http://@B:{port}/" if draw.number % 2 else f"socat -u TCP:@B:{port},connect-timeout={int(patience)} OPEN:/dev/null"
    return {**path, "merges": 0, "sender": "A", "client": client, "nft": {end: drop_in("f", f"tcp dport {port}", hook)}, "least_s": 0, "one_end": "sender" if end == "R2" else None,
            "most_s": 30, **({"counts": ()})}


@case("program-hangs", ["no-answer", "server-think-time"], "The server's system acknowledges the request; its program never answers, and the client gives up.", count=3, gain=False, kinds=("sender", "receiver", "middle", "snapped"),
      check=check("the server sends no payload, the client waits 4 s or more", lambda truth, trial: not truth["octets"] and truth["path"]["socket"].get("waited", 1)))
def _(draw):
    path = line(draw, draw.log("rate", 2e6, 60e6), draw.log("rtt_ms", 2, 60), "B")
    patience = draw.log("patience_s", 5, 12)
    there = {"sender": "B", "server": f"{ENDS} recv listen=80 chunk=4096", "ports": [80], "client": f"curl -sS --max-time {patience} http://@B/state; true"}
    return {**path, **there, "merges": 0, "least_s": 0, "settle_s": 0.1}


@case("data-connection-is-dropped", ["no-answer"], "FTP's server opens the connection for the data to the client, whose firewall drops it.", count=2, gain=False, kinds=("sender", "receiver", "middle", "snapped"),
      check=check("nftables drops 2 packets", lambda truth, trial: truth["path"].get("filtered_A", 0) >= 2))
def _(draw):
    path = line(draw, draw.log("rate", 2e6, 60e6), draw.log("rtt_ms", 4, 60), "B")
    there = transfer("ftp", "B", 200000)
    there["client"] = f"curl -sS --max-time {draw.log('patience_s', 9, 16)} -P - --disable-eprt -o /dev/null ftp://@B/f"
    return {**path, **there, "merges": 0, "is_timed": True, "nft": {"A": drop_in("f", "tcp flags & (syn | ack) == syn")}, "counts": (), "least_s": 0}


@case("port-is-closed", ["refused"], "No program listens, or a firewall rejects; the client tries again.", count=4, gain=False, late=(0.1, 0.3), check=no_octets())
def _(draw):
    path = line(draw, draw.log("rate", 0.5e6, 60e6), draw.log("rtt_ms", 0.9, 120), "A")
    how = draw.turn("how", "closed", "icmp", "reset", "admin")
    port = draw.random.choice((22, 80, 502, 1883, 8080))
    draw.note(port=port)
    rules = {"icmp": "reject with icmp type port-unreachable", "reset": "reject with tcp reset", "admin": "reject with icmp type admin-prohibited"}
    nft = {} if how == "closed" else {"B": f"table ip f {{ chain c {{ type filter hook input priority 0; tcp dport {port} counter {rules[how]}; }} }}"}
    pause = draw.log("again_s", 0.8, 1.9)
    return {**path, "merges": 0, "sender": "A", "client": f"for n in 1 2 3 4; do curl -sS --connect-timeout 5 -o /dev/null http://@B:{port}/; sleep {pause}; done", "nft": nft, "counts": (), "least_s": 0}


@case("server-breaks-off", ["refused"], "The server's program ends in the middle of an upload, and its system resets the connection.", count=3, gain=False, kinds=("sender", "receiver", "middle", "late", "snapped"),
      check=check("the receiver sends a reset", lambda truth, trial: sum(truth["path"]["kernel"][it].get("TcpOutRsts", 0) for it in ("A", "B")) >= 1))
def _(draw):
    rate = draw.log("rate", 2e6, 30e6)
    path = line(draw, rate, draw.log("rtt_ms", 4, 60), "A")
    octets = int(rate / 8 * draw.log("after_s", 2.4, 4.5))
    there = {"sender": "A", "server": f"{ENDS} recv listen=7000 abort_after={octets}", "ports": [7000], "client": f"{ENDS} send host=@B port=7000 octets={octets * 3}", "is_timed": True}
    return {**path, **there, "merges": 0}


@case("first-syn-is-lost", ["slow-handshake"], "The first packet of each connection is lost; the system repeats it after a second.", count=3, gain=False, kinds=CLIENT, late=(0.2, 0.4), truncated=(0.6, 0.9),
      check=check("opening takes 0.9 s or more, more than one SYN is lost", lambda truth, trial: truth["path"]["opening_s"] >= 0.9 and truth["path"].get("filtered_R2", 0) >= 2))
def _(draw):
    path = line(draw, draw.log("rate", 3e6, 70e6), draw.log("rtt_ms", 2, 90), "B", queue=200000)
    rule = "table ip f { chain c { type filter hook forward priority 0; tcp flags & (syn | ack) == syn numgen inc mod 2 == 0 counter drop; } }"
    there = {"sender": "B", "server": nginx(int(draw.log("octets", 900, 150e3))), "ports": [80], "client": "for n in 1 2 3 4 5; do curl -sS -o /dev/null http://@B/f; done"}
    return {**path, **there, "merges": 0, "nft": {"R2": rule}, "counts": (), "one_end": "receiver"}


@case("answer-to-syn-is-late", ["slow-handshake"], "What answers the first packet of a connection is late or lost on its way.", count=3, gain=False, kinds=CLIENT, late=(0.2, 0.4), truncated=(0.6, 0.9),
      check=check("opening takes 0.4 s or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.4))
def _(draw):
    path = line(draw, draw.log("rate", 3e6, 70e6), draw.log("rtt_ms", 2, 50), "B", queue=200000)
    there = {"sender": "B", "server": busybox(int(draw.log("octets", 900, 90e3))), "ports": [80], "client": "for n in 1 2 3 4 5 6; do wget -q -O /dev/null http://@B/f; done", "merges": 0, "one_end": "receiver"}
    if draw.turn("how", "late", "late", "lost") == "lost":
        rule = "table ip f { chain c { type filter hook forward priority 0; tcp flags & (syn | ack) == (syn | ack) numgen inc mod 2 == 0 counter drop; } }"
        return {**path, **there, "nft": {"R2": rule}, "counts": ()}
    base = path["disciplines"]["to_a"]
    late = draw.log("late_ms", 450, 930)
    two = ["root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", base.replace("root", "parent 1:1"), f"parent 1:2 netem limit 1000 delay {late}ms",
           "filter add dev @dev parent 1: protocol ip prio 1 handle 1 fw flowid 1:2"]
    rule = "table ip f { chain c { type filter hook postrouting priority 0; oifname ga tcp flags & (syn | ack) == (syn | ack) counter meta mark set 1; } }"
    return {**path, **there, "nft": {"R1": rule}, "counts": (), "disciplines": {**path["disciplines"], "to_a": two}}


@case("backlog-is-full", ["slow-handshake", "no-answer", "server-think-time"], "The server accepts one connection in a while, and its backlog is full; the system drops what opens more.", count=2, gain=False, kinds=("receiver", "truncated", "snapped"), truncated=(0.7, 0.95),
      check=check("the server's kernel drops connections of a full backlog", lambda truth, trial: truth["path"]["kernel"]["B"].get("TcpExtListenDrops", 0) >= 2))
def _(draw):
    path = line(draw, draw.log("rate", 3e6, 70e6), draw.log("rtt_ms", 2, 40), "B", queue=200000)
    each = draw.log("accepts_each_ms", 700, 1300)
    there = {"sender": "B", "server": f"{ENDS} answer listen=80 size=40 answer=3000 backlog=0 once=1 accepts_each_ms={each}", "ports": [80],
             "client": f"for n in 1 2 3 4 5; do {ENDS} ask host=@B port=80 size=40 answer=3000 count=1 & done; wait", "merges": 0, "one_end": "receiver", "most_s": 25}
    return {**path, **there}


LATE_NAMES = check("a name takes 0.4 s or more, before its connection", lambda truth, trial: truth["path"]["wait_s"] - truth["path"]["opening_s"] >= 0.4)


@case("name-server-is-gone", ["name-resolution"], "The first name server does not answer any more; the second one is asked after a time-out.", count=4, gain=False, kinds=CLIENT, late=(0.2, 0.4), truncated=(0.6, 0.95), check=LATE_NAMES)
def _(draw):
    path = line(draw, draw.log("rate", 2e6, 60e6), draw.log("rtt_ms", 2, 60), "B", queue=200000)
    seconds = draw.turn("timeout_s", 1, 2)
    name = draw.random.choice(("files.example.net", "intranet.example.org", "update.example.com"))
    names = f"exec dnsmasq -k --no-resolv --no-hosts --address=/{name}/@B --user=root --conf-file=/dev/null --pid-file=@D/pid2 --bind-interfaces --listen-address=@B"
    there = {"sender": "B", "server": [nginx(int(draw.log("octets", 2000, 200e3))), names], "ports": [80, 53], "client": f"for n in 1 2 3; do curl -4 -sS -o /dev/null http://{name}/f; sleep 0.2; done", "merges": 0,
             "resolver": f"nameserver @DEAD\nnameserver @B\noptions timeout:{seconds} attempts:2\n", "one_end": "receiver",
             "nft": {"R2": drop_in("f", "ip daddr @DEAD", "prerouting")}, "counts": ()}
    return {**path, **there}


@case("name-server-is-slow", ["name-resolution"], "The name server takes its time for each answer.", count=3, gain=False, kinds=CLIENT, late=(0.1, 0.3), truncated=(0.6, 0.95), check=LATE_NAMES)
def _(draw):
    path = line(draw, draw.log("rate", 2e6, 60e6), draw.log("rtt_ms", 2, 60), "B", queue=200000)
    late = draw.log("delay_ms", 600, 2300)
    there = {"sender": "B", "server": [nginx(int(draw.log("octets", 2000, 200e3))), f"{ENDS} names delay_ms={late} gives=@B"], "ports": [80, 53], "merges": 0,
             "client": "for n in 1 2 3 4; do curl -4 -sS -o /dev/null http://shop$n.example.net/f; sleep 0.3; done", "resolver": "nameserver @B\noptions timeout:6\n", "one_end": "receiver"}
    return {**path, **there}
