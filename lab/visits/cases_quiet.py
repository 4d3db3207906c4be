"""Causes of exchanges: requests one by one, programs that think, names, doors; and kinds that have no name of their own."""

from checks import both, check, faster, filled, no_payload
from draw import case
from setups import KIT, WEB, appended, arrives, counted, dropped, fault, kernel, line, lossless, opens_after, pauses, said, stream


def asks(draw, path, port, size, answer, client="", server="", **more):
    """A device asks a server again and again."""
    return {**path, "client_at": "A", "sender": "B", "server": f"{KIT} do=answer port={port} size={size} answer={answer} nodelay=1 {server}", "ports": [port],
            "client": f"{KIT} do=ask to=@B port={port} size={size} answer={answer} nodelay=1 {client}", **more}


def wan(draw, low, high, rate=(6e6, 80e6)):
    return line(draw, draw.log("rate", *rate), draw.log("rtt_ms", low, high))


@case("boot-file-by-tftp", ["one-in-flight"], "A device loads its boot file by TFTP, a block at a time.", count=3, gain=False, check=both(arrives(60), lossless()))
def _(draw):
    path = wan(draw, 2.2, 48)
    server = draw.turn("server", "exec in.tftpd --foreground --listen --user root --address 0.0.0.0:69 --secure @D", "exec dnsmasq -k -u root -p 0 --enable-tftp --tftp-root=@D --pid-file=/run/t.pid", "exec atftpd --daemon --no-fork --user root --group root --port 69 @D")
    size = draw.turn("client", "busybox tftp -g -r fw.bin -l /dev/null @B 69", "atftp --get -r fw.bin -l /dev/null @B 69", "curl -sS -o /dev/null --tftp-no-options tftp://@B/fw.bin")
    return {**path, "client_at": "A", "sender": "B", "server": server, "ports": [69], "client": size, "files": {"fw.bin": "{octets}"}, "octets": int(512 / (path["rtt_ms"] + 0.8) * 1e3 * 6), "fixed_octets": True}


@case("updater-by-datagrams", ["one-in-flight", "server-think-time"], "An updater sends a block by UDP and waits for its receipt.", count=2, gain=False, check=both(arrives(60), lossless()))
def _(draw):
    path = line(draw, draw.log("rate", 5e6, 60e6), draw.log("rtt_ms", 5, 70), sender="A")
    size = int(draw.log("block", 256, 1300))
    return {**path, "client_at": "A", "sender": "A", "server": f"{KIT} do=reply port=10069 answer=16", "ports": [10069], "client": f"{KIT} do=poll to=@B port=10069 size={size} count={int(6000 / path['rtt_ms'])}"}


@case("keys-one-by-one", ["one-in-flight"], "A program asks for one value after the other over a long way.", count=3, gain=False, check=both(arrives(21), lossless()))
def _(draw):
    path = wan(draw, 26, 170)
    n = int(6500 / path["rtt_ms"])
    which = draw.turn("program", "kit", "redis", "memcached")
    if which == "redis":
        return {**path, "client_at": "A", "sender": "B", "server": "exec redis-server --port 6379 --save '' --protected-mode no --dir @D", "ports": [6379], "client": f"redis-cli -h @B set k {'x' * int(draw.log('value', 40, 700))} > /dev/null; redis-cli -h @B -r {n} get k > /dev/null"}
    if which == "memcached":
        return {**path, "client_at": "A", "sender": "B", "server": "exec memcached -u root -l 0.0.0.0 -p 11211 -U 0 -t 1", "ports": [11211], "client":
                f"exec 3<>/dev/tcp/@B/11211; for n in $(seq {n}); do printf 'set m%s 0 0 5\\r\\nhello\\r\\n' $n >&3; read -r x <&3; done"}
    return asks(draw, path, 3306, int(draw.log("size", 40, 200)), int(draw.log("answer", 60, 900)), f"count={n}")


@case("connection-for-each-value", ["one-in-flight", "slow-handshake", "congestion-window"], "A program opens a connection for each value, over a long way.", count=2, gain=False, check=both(arrives(20), lossless()))
def _(draw):
    path = wan(draw, 24, 110)
    return asks(draw, path, 8080, int(draw.log("size", 60, 250)), int(draw.log("answer", 100, 1100)), f"each=1 count={max(25, int(3200 / path['rtt_ms']))}")


@case("database-computes", ["server-think-time"], "A server computes each answer.", count=3, check=both(faster(1.5), pauses(0.5)))
def _(draw):
    think, n = draw.log("think_ms", 130, 900), int(draw.log("answer", 300, 26000))
    path = wan(draw, 2, 28)
    there = asks(draw, path, 5432, 140, n, f"count={max(6, int(7000 / think))}", f"think_ms={think} spread=0.5 seed=@SEED")
    return {**there, "without": {"server": asks(draw, path, 5432, 140, n)["server"]}}


@case("report-made-on-demand", ["server-think-time", "no-answer"], "A server makes a report for seconds, then sends it.", count=3, gain=False, truncated=(0.9, 0.97), late=(0.1, 0.3), check=pauses(0.5))
def _(draw):
    think, n = draw.log("think_ms", 1900, 4300), int(draw.log("answer", 50e3, 400e3))
    return asks(draw, wan(draw, 4, 40), 8080, 230, n, "count=2", f"think_ms={think} spread=0.2 seed=@SEED")


@case("greeting-comes-late", ["server-think-time", "slow-handshake", "name-resolution"], "A server looks up the client's name before it greets.", count=2, gain=False, kinds=("sender", "receiver", "middle", "snapped"), check=opens_after(2))
def _(draw):
    late = draw.log("late_ms", 2400, 7200)
    return {**wan(draw, 4, 40), **stream(draw, int(draw.log("octets", 60e3, 400e3)), "B", send=f"accept_ms={late:.0f}"), "fixed_octets": True}


@case("agent-by-udp-is-slow", ["server-think-time"], "An agent takes its time for each value that it is asked for by UDP.", count=2, check=both(faster(1.5), pauses(0.4)))
def _(draw):
    think, n = draw.log("think_ms", 42, 260), int(draw.log("answer", 60, 500))
    there = {**wan(draw, 1.2, 14), "client_at": "A", "sender": "B", "server": f"{KIT} do=reply port=161 answer={n} think_ms={think} spread=0.3 seed=@SEED", "ports": [161], "client": f"{KIT} do=poll to=@B port=161 size=78 count={max(30, int(6000 / think))}"}
    return {**there, "without": {"server": f"{KIT} do=reply port=161 answer={n}"}}


@case("kiosk-draws-between", ["client-think-time"], "A kiosk works on each answer before it asks for the next.", count=3, check=both(faster(1.5), pauses(0.4)))
def _(draw):
    think, n = draw.log("think_ms", 170, 780), int(draw.log("answer", 9000, 90000))
    path = wan(draw, 2, 32)
    there = asks(draw, path, 8080, 190, n, f"count={max(7, int(7000 / think))} think_ms={think} spread=0.4 seed=@SEED")
    return {**there, "without": {"client": there["client"].replace(f"think_ms={think}", "")}}


DEAD = "table ip it { chain d { type filter hook prerouting priority -300; ip daddr @GONE counter drop; }; }"


@case("old-name-server", ["name-resolution"], "The first name server of a device is gone.", count=3, kinds=("receiver", "snapped"), gain=False, check=opens_after(1.8))
def _(draw):
    wait = draw.turn("timeout_s", 2, 3, 4)
    names = "exec dnsmasq -k -u root -p 53 --no-resolv --no-hosts --address=/cloud.example.org/@B -i eth0 --pid-file=/run/d.pid"
    get = draw.turn("client", "curl -sS -o /dev/null", "wget -q -O /dev/null", "axel -q -n 1 -o @D/got")
    return {**wan(draw, 5, 44), "client_at": "A", "sender": "B", "server": [names, WEB["mini_httpd"][0]], "ports": [53, 8000], "resolver": f"nameserver @GONE\nnameserver @B\noptions timeout:{wait} attempts:2\n", "nft": {"G": DEAD},
            "files": {"fw.bin": int(draw.log("octets", 30e3, 400e3))}, "client": f"{get} http://cloud.example.org:8000/fw.bin", "one_end": "receiver", "least_s": 0}


@case("answer-of-names-lost", ["name-resolution"], "The answers of the name server are lost at first.", count=2, kinds=("receiver", "snapped"), gain=False, check=opens_after(1.8))
def _(draw):
    wait = draw.turn("timeout_s", 3, 2)
    names = "exec dnsmasq -k -u root -p 53 --no-resolv --no-hosts --address=/cloud.example.org/@B -i eth0 --pid-file=/run/d.pid"
    rule = "table ip it { chain d { type filter hook forward priority 0; udp sport 53 quota until 140 bytes counter drop; }; }"
    return {**wan(draw, 5, 44), "client_at": "A", "sender": "B", "server": [names, WEB["webfs"][0]], "ports": [53, 8000], "resolver": f"nameserver @B\noptions timeout:{wait} attempts:4\n", "nft": {"P": rule},
            "files": {"fw.bin": int(draw.log("octets", 30e3, 400e3))}, "client": "curl -4 -sS -o /dev/null http://cloud.example.org:8000/fw.bin", "one_end": "receiver", "least_s": 0}


@case("meter-does-not-reply", ["no-answer"], "A meter does not answer requests by UDP.", count=2, kinds=("sender", "middle", "truncated", "snapped"), gain=False, truncated=(0.8, 0.95), check=both(counted("filtered_P", 3), said("failures", 3)))
def _(draw):
    rule = "table ip it { chain d { type filter hook prerouting priority -300; udp dport 4059 counter drop; }; }"
    return {**line(draw, draw.log("rate", 1e6, 20e6), draw.log("rtt_ms", 8, 90), sender="A"), "client_at": "A", "sender": "A", "client": f"{KIT} do=poll to=@B port=4059 size={int(draw.log('size', 22, 160))} count=1 tries=4 grow=2 wait_ms={draw.log('wait_ms', 1100, 1700)}", "nft": {"P": rule},
            "one_end": "sender", "most_s": 28, "least_s": 0}


@case("server-hangs", ["no-answer", "server-think-time"], "A server takes a request and never answers.", count=2, kinds=("sender", "receiver", "middle", "snapped"), gain=False, check=check("a request arrives, and nothing comes back", lambda truth, trial: truth["segments"] in (1, 2) and not truth["path"]["kernel"]["A"].get("TcpRetransSegs")))
def _(draw):
    wait = draw.log("gives_up_s", 3.5, 9)
    return {**wan(draw, 4, 44), "client_at": "A", "sender": "A", "server": f"{KIT} do=answer port=8080 size=20 answer=100 think_ms=60000", "ports": [8080], "client": f"curl -sS -m {wait} -o /dev/null http://@B:8080/status", "least_s": 0}


@case("absent-from-the-switch", ["no-answer"], "A device asks for a station of the site that is off.", count=2, kinds=("sender", "snapped"), gain=False, check=no_payload())
def _(draw):
    client = draw.turn("client", "for n in 1 2; do curl -sS -m 4 http://@NOBODY/; done", "for n in 1 2 3; do nc -w 3 -z @NOBODY 502; sleep 0.4; done")
    return {**wan(draw, 4, 44), "client_at": "A", "sender": "A", "client": client, "least_s": 0, "one_end": "sender"}


@case("backlog-is-full", ["slow-handshake"], "A server's backlog is full: requests to connect come again.", count=2, kinds=("sender", "receiver", "middle", "snapped"), gain=False, check=both(kernel("TcpExtListenDrops", 1, "B"), opens_after(0.95)))
def _(draw):
    late = draw.log("accept_ms", 900, 1900)
    there = stream(draw, int(draw.log("octets", 60e3, 300e3)), "B", send="backlog=1")
    others = [("O", f"for n in 1 2 3; do @P/kit do=recv to=@B port={there['ports'][0]} & done; wait")]
    return {**wan(draw, 4, 44), **there, "server": f"{there['server']} accept_late_ms={late + 900:.0f}", "fixed_octets": True, "beside": others, "beside_s": 0.35}


@case("server-dies", ["refused", "receiver-reads-slowly"], "A server's program dies while a device uploads.", count=2, gain=False, kinds=("sender", "receiver", "middle", "snapped"), check=kernel("TcpOutRsts", 1, "B"))
def _(draw):
    rate, rtt = draw.log("rate", 4e6, 22e6), draw.log("rtt_ms", 6, 40)
    port, after = 9100, draw.log("after_s", 2.6, 4.8)
    chunk = 16384
    return {**line(draw, rate, rtt, sender="A"), "client_at": "A", "sender": "A", "server": f"timeout -s KILL {after} @P/kit do=recv port={port} chunk={chunk} every_ms={chunk * 8e3 / rate * 1.15:.2f}", "ports": [port],
            "client": f"{KIT} do=send to=@B port={port} octets=90000000", "fixed_octets": True, "octets": 90000000}


@case("archiver-starved", ["sender-idle", "sender-stalls"], "The program that sends is stopped at intervals: another one has the processor.", count=2, check=faster(1.3))
def _(draw):
    rate, rtt = draw.log("rate", 9e6, 50e6), draw.log("rtt_ms", 2, 25)
    runs, rests = draw.log("runs_s", 0.2, 0.5), draw.log("rests_s", 0.35, 0.9)
    path = line(draw, rate, rtt, queue_ms=50)
    there = stream(draw, int(rate / 8 * 6 * runs / (runs + rests)), "B", send="notsent=16384")
    stopper = [("B", f"while sleep {runs}; do kill -STOP $(pgrep -f '[d]o=send.*port={there['ports'][0]}') 2>/dev/null; sleep {rests}; kill -CONT $(pgrep -f '[d]o=send.*port={there['ports'][0]}') 2>/dev/null; done")]
    return {**path, **there, "beside": stopper, "beside_s": 0.1, "fixed_octets": True, "without": {"beside": []}}


@case("player-starved", ["receiver-reads-slowly", "receiver-stalls"], "The program that reads is stopped at intervals.", count=2, check=faster(1.3))
def _(draw):
    rate, rtt = draw.log("rate", 9e6, 50e6), draw.log("rtt_ms", 2, 25)
    runs, rests = draw.log("runs_s", 0.2, 0.5), draw.log("rests_s", 0.5, 1.1)
    path = line(draw, rate, rtt, queue_ms=50)
    there = stream(draw, int(rate / 8 * 6 * runs / (runs + rests)), "B")
    stopper = [("A", f"while sleep {runs}; do kill -STOP $(pgrep -f '[d]o=recv.*port={there['ports'][0]}') 2>/dev/null; sleep {rests}; kill -CONT $(pgrep -f '[d]o=recv.*port={there['ports'][0]}') 2>/dev/null; done")]
    return {**path, **there, "beside": stopper, "beside_s": 0.1, "fixed_octets": True, "sysctl": {"A": {"tcp_rmem": "4096 32768 65536"}}, "without": {"beside": []}}


@case("stream-above-the-plan", ["above-path-rate", "policed", "random-loss"], "A camera sends more than the operator's plan, which drops the rest at once.", count=2, gain=False, kinds=("receiver", "late", "truncated", "snapped"), check=both(filled(0.75), dropped(60)))
def _(draw):
    plan, size = draw.log("plan", 1.5e6, 9e6), int(draw.log("size", 600, 1390))
    path = line(draw, draw.log("rate", 30e6, 90e6), draw.log("rtt_ms", 6, 30), sender="A")
    return {**path, "rate": plan, "client_at": "A", "sender": "A", "server": f"{KIT} do=hear port=5004", "ports": [5004], "client": f"{KIT} do=shoot to=@B port=5004 size={size} rate={plan * draw.log('times', 1.25, 1.9):.0f} seconds=6", "police": {"P": {"wan": f"rate {plan:.0f}bit burst 9000"}},
            "one_end": "receiver", "is_timed": True}


@case("computes-behind-a-lossy-line", ["server-think-time", "retransmission-stalls", "random-loss"], "A server computes each answer; besides, the line loses a packet now and then.", count=2, check=both(faster(1.5), pauses(0.5)))
def _(draw):
    think, n = draw.log("think_ms", 240, 800), int(draw.log("answer", 4000, 30000))
    path = wan(draw, 4, 28)
    lossy = appended(path, fault("B"), f"loss {draw.log('loss_percent', 0.5, 1.4)}%")
    there = asks(draw, path, 5432, 140, n, f"count={max(6, int(7000 / think))}", f"think_ms={think} spread=0.5 seed=@SEED")
    return {**there, **lossy, "without": {"server": asks(draw, path, 5432, 140, n)["server"]}}
