"""Causes at the ends: programs, their sockets, their hosts."""

import checks
from checks import both, check, faster, socket
from draw import case
from setups import RUBY, back, forward, line, ruby_stream, stream, sysctl, wide, without

NO_LATE = ("sender", "receiver", "middle", "truncated", "snapped")
MARIA = ("T=/var/tmp/branches-db0-@L; test -d $T || mariadb-install-db --no-defaults --user=root --datadir=$T "
         "--auth-root-authentication-method=normal --skip-test-db > /dev/null 2>&1; rm -rf /var/tmp/branches-db-@L; cp -r $T /var/tmp/branches-db-@L; "
         "echo \"create user b@'%' identified by ''; grant all on *.* to b@'%'; create database s; use s; "
         "create table t (k int primary key, v varbinary(60000)); "
         "insert into t select seq, repeat(char(65+seq%26), {row}) from seq_1_to_{rows};\" | sed 's/; */;\\n/g' > @D/init.sql")
MARIAD = ("exec mariadbd --no-defaults --user=root --datadir=/var/tmp/branches-db-@L --socket=@D/m.sock --port=7306 --bind-address=0.0.0.0 --skip-name-resolve "
          "--innodb-buffer-pool-size=20M --innodb-log-file-size=8M --innodb-flush-log-at-trx-commit=0 --init-file=@D/init.sql --pid-file=@D/m.pid")


def mariadb(trial, row, rows, query):
    """A server at B with `rows` rows of `row` octets; `query` is a command that prints statements for the client at A."""
    trial["before"] = [("B", MARIA.replace("{row}", str(row)).replace("{rows}", str(rows)))]
    trial["servers"] = [("B", MARIAD)]
    trial["ready"] = [("B", 7306)]
    trial["clients"] = [("A", f"sleep 0.7; {query} | mariadb --no-defaults --skip-ssl -u b -h @B -P 7306 -D s -N -B --skip-reconnect --quick > /dev/null")]
    trial.update(fixed_octets=True, limit_s=18)
    return trial


def limited(name, share):
    return check(f"the sender's socket is {name} for at least {share:.0%} of its busy time",
                 lambda truth, trial: truth["path"]["socket"].get(name, 0) >= share * truth["path"]["socket"].get("busy", 1e9))


@case("plc-buffer", ["receive-window"], "The program sets a small receive buffer, as for a LAN, on a long path.", count=3, check=both(limited("rwnd_limited", 0.4), faster(1.4)))
def plc_buffer(d):
    trial = wide(line(d, (6e6, 70e6), (20, 120), share=0.3))
    ruby_stream(trial, read=f"rcvbuf={int(d.log('rcvbuf', 6e3, 34e3))}")
    plain = ruby_stream(dict(trial))
    trial["without"] = {key: plain[key] for key in ("servers", "clients")}
    return trial


@case("host-wide-rmem", ["receive-window"], "An administrator lowered tcp_rmem of the whole host.", count=3, check=both(limited("rwnd_limited", 0.4), faster(1.4)))
def host_wide_rmem(d):
    trial = line(d, (20e6, 120e6), (25, 160), share=0.25)
    sysctl(trial, "AB", tcp_wmem="4096 500000 33554432")
    most = int(d.log("rmem", 12_000, 110_000))
    sysctl(trial, "receiver", tcp_rmem=f"4096 {most} {most}")
    stream(d, trial, ("ruby", "ncat", "webrick", "sftp", "stunnel"))
    other = wide({"sender": trial["sender"]})
    trial["without"] = {"sysctl": other["sysctl"]}
    return trial


@case("tape-archive", ["receiver-reads-slowly", "receive-window"], "The receiver writes to a tape that is slower than the line, octet by octet at an even rate.", count=3,
      check=both(limited("rwnd_limited", 0.4), faster(1.4)))
def tape_archive(d):
    trial = line(d, (20e6, 120e6), (3, 30), share=0.2)
    rate = trial["rate"] * d.log("of_line", 0.12, 0.4)
    trial["octets"] = int(rate * 6 / 8)
    ruby_stream(trial, read=f"rate={rate} block={int(d.log('block', 2e3, 16e3))} rcvbuf={int(d.log('rcvbuf', 40e3, 160e3))}")
    plain = ruby_stream(dict(trial))
    trial["without"] = {key: plain[key] for key in ("servers", "clients")}
    return trial


@case("viewer-stops", ["receiver-reads-slowly", "receiver-stalls"], "The receiver's program stops reading for a while, again and again (a pager, a player whose buffer is full).", count=3,
      check=both(limited("rwnd_limited", 0.25), faster(1.4)))
def viewer_stops(d):
    trial = line(d, (15e6, 90e6), (3, 30), share=0.3)
    every = trial["rate"] / 8 * d.log("reads_s", 0.12, 0.35)
    ruby_stream(trial, read=f"every={int(every)} pause={d.log('pause_s', 0.35, 1.1)} rcvbuf={int(d.log('rcvbuf', 24e3, 120e3))}")
    plain = ruby_stream(dict(trial))
    trial["without"] = {key: plain[key] for key in ("servers", "clients")}
    return trial


@case("station-erases", ["receiver-stalls"], "The receiving station as a whole stops at intervals; its adapter keeps what comes.", count=3, kinds=("sender", "middle", "late", "truncated", "snapped"),
      check=faster(1.3))
def station_erases(d):
    trial = wide(line(d, (4e6, 30e6), (2, 16), share=0.5))
    period, stall = d.log("period_ms", 550, 950), d.log("stall_ms", 210, 420)
    forward(trial, stall_period_ms=period, stall_ms=stall)
    trial["one_end"] = "sender"
    sysctl(trial, "receiver", tcp_rmem="4096 30000 60000")
    stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))
    return without(trial, forward=("stall_period_ms", "stall_ms"))


@case("report-in-parts", ["sender-idle", "sender-stalls"], "The sending program prepares the next part only after the one before is out.", count=4, check=faster(1.4))
def report_in_parts(d):
    trial = wide(line(d, (4e6, 80e6), (2, 60), share=0.4))
    ruby_stream(trial, send=f"every={int(trial['rate'] / 8 * d.log('part_s', 0.1, 0.4))} pause={d.log('prepares_s', 0.25, 0.9)}")
    plain = ruby_stream(dict(trial))
    trial["without"] = {key: plain[key] for key in ("servers", "clients")}
    return trial


@case("slow-query", ["server-think-time"], "A database works on each query (MariaDB).", count=3, kinds=("sender", "receiver", "middle", "late", "truncated", "snapped"),
      check=both(checks.thinks(), faster(1.4)))
def slow_query(d):
    trial = line(d, (3e6, 60e6), (2, 30), sender="B")
    think, turns = d.log("think_s", 0.12, 0.6), 0
    turns = int(5.5 / think)
    mariadb(trial, 2000, 60, f"for i in $(seq 1 {turns}); do echo \"select v, sleep({think}) from t where k=$((i % 60 + 1));\"; done")
    trial["thinks_s"] = think * turns
    quick = mariadb(dict(trial), 2000, 60, f"for i in $(seq 1 {turns}); do echo \"select v, 0 from t where k=$((i % 60 + 1));\"; done")
    trial["without"] = {"clients": quick["clients"]}
    return trial


@case("one-worker-app", ["server-think-time"], "An application server works on each request before it answers, for one client after the other.", count=3, check=both(checks.thinks(), faster(1.4)))
def one_worker_app(d):
    trial = line(d, (3e6, 60e6), (4, 80), sender="B")
    think = d.log("think_s", 0.05, 0.4)
    turns = max(10, int(5.5 / (think + trial["rtt_ms"] / 1e3)))
    give = int(d.log("give", 900, 20_000))
    ask = f"{RUBY} ask host=@B port=7012 ask=220 give={give} nodelay=1 turns={turns}"
    trial.update(servers=[("B", f"{RUBY} answer port=7012 ask=220 give={give} nodelay=1 think={think}")], ready=[("B", 7012)], clients=[("A", ask)],
                 fixed_octets=True, thinks_s=think * turns * (1 if think * 4 > trial["rtt_ms"] / 1e3 else 0))
    trial["without"] = {"servers": [("B", f"{RUBY} answer port=7012 ask=220 give={give} nodelay=1")]}
    return trial


@case("greeting-after-lookup", ["server-think-time", "name-resolution"], "The server looks up the client's name before it says anything.", count=3, kinds=NO_LATE, truncated=(0.2, 0.5), check=faster(1.4))
def greeting_after_lookup(d):
    trial = line(d, (6e6, 60e6), (3, 40), sender="B")
    trial.update(octets=int(trial["rate"] * d.log("takes_s", 0.7, 1.6) / 8), fixed_octets=True)
    trial["servers"] = [("B", f"{RUBY} send listen=1 port=7000 octets=@N accepts_after={d.turn('lookup_s', 5, 3, 10)}")]
    trial["clients"], trial["ready"] = [("A", f"{RUBY} read host=@B port=7000")], [("B", 7000)]
    trial["without"] = {"servers": [("B", f"{RUBY} send listen=1 port=7000 octets=@N")]}
    return trial


@case("operator-reads", ["client-think-time"], "The client works on each answer, or a person reads it, before it asks again.", count=4, check=both(checks.thinks(), faster(1.4)))
def operator_reads(d):
    trial = line(d, (3e6, 60e6), (3, 50), sender="B")
    think = d.log("think_s", 0.15, 0.8)
    give = int(d.log("give", 8_000, 90_000))
    turns = max(6, int(5.5 / (think + give * 8 / trial["rate"] + trial["rtt_ms"] * 2e-3)))
    ask = f"{RUBY} ask host=@B port=7012 ask=200 give={give} nodelay=1 turns={turns}"
    trial.update(servers=[("B", f"{RUBY} answer port=7012 ask=200 give={give} nodelay=1")], ready=[("B", 7012)], clients=[("A", f"{ask} think={think}")],
                 fixed_octets=True, thinks_s=think * (turns - 1))
    trial["without"] = {"clients": [("A", ask)]}
    return trial


@case("row-by-row", ["one-in-flight"], "A program fetches each row with a query of its own over a WAN (MariaDB).", count=3,
      check=both(faster(1.5), check("twenty rows and more", lambda truth, trial: truth["path"]["segments"] >= 30)))
def row_by_row(d):
    trial = line(d, (4e6, 60e6), (26, 110), sender="B")
    turns = int(5.5e3 / trial["rtt_ms"])
    row = int(d.log("row", 60, 1100))
    mariadb(trial, row, 250, f"for i in $(seq 1 {turns}); do echo \"select v from t where k=$((i % 250 + 1));\"; done")
    quick = mariadb(dict(trial), row, 250, f"echo 'select a.v from t a, t b where b.k <= 4;'")
    trial["without"] = {"clients": quick["clients"]}
    return trial


@case("queue-put-by-put", ["one-in-flight"], "A producer puts each job only after the one before was acknowledged (beanstalkd).", count=2, check=faster(1.5))
def queue_put_by_put(d):
    trial = line(d, (4e6, 40e6), (24, 90), sender="A")
    turns, size = int(5.5e3 / trial["rtt_ms"]), int(d.log("job", 300, 6000))
    program = ("exec ruby -rsocket -e 's = TCPSocket.new(\"@B\", 7130); s.setsockopt(:TCP, Socket::TCP_NODELAY, 1); job = \"put 1 0 60 %d\\r\\n\" + \"j\" * %d + \"\\r\\n\"; "
               "n = %d; d = %d; d.times { s.write(job) }; (n - d).times { s.gets; s.write(job) }; d.times { s.gets }'")
    trial.update(servers=[("B", "exec beanstalkd -l @B -p 7130")], ready=[("B", 7130)], fixed_octets=True, clients=[("A", program % (size, size, turns, 1))])
    trial["without"] = {"clients": [("A", program % (size, size, turns, 24))]}
    return trial


@case("connection-each", ["one-in-flight", "slow-handshake"], "A client opens a connection for each of many requests over a WAN.", count=3, check=faster(1.4))
def connection_each(d):
    trial = line(d, (4e6, 60e6), (25, 90), sender="B")
    turns = int(5.5e3 / trial["rtt_ms"] / 2)
    give = int(d.log("give", 300, 9000))
    ask = f"{RUBY} ask host=@B port=7012 ask=150 give={give} nodelay=1 turns={turns}"
    trial.update(servers=[("B", f"{RUBY} answer port=7012 ask=150 give={give} nodelay=1")], ready=[("B", 7012)], clients=[("A", f"{ask} connect_each=1")], fixed_octets=True)
    trial["without"] = {"clients": [("A", ask)]}
    return trial


@case("boot-loader-blocks", ["one-in-flight"], "A boot loader fetches blocks over UDP, one after the other, over a WAN.", count=3, check=faster(1.5))
def boot_loader_blocks(d):
    trial = line(d, (4e6, 60e6), (24, 100), sender="A")
    size = int(d.log("block", 500, 1400))
    count = int(6e3 / trial["rtt_ms"])
    blocks = f"{RUBY} blocks host=@B port=7200 size={size} octets={size * count}"
    trial.update(servers=[("B", f"{RUBY} blocks listen=1 port=7200")], ready=[("B", 7200)], clients=[("A", blocks)], fixed_octets=True, merges=False)
    trial["without"] = {"clients": [("A", f"{blocks} window=8")]}
    return trial


@case("two-writes-per-request", ["delayed-ack-with-nagle"], "A program writes the head and the body of each request apart, with Nagle's algorithm.", count=4, check=faster(1.4))
def two_writes_per_request(d):
    trial = line(d, (3e6, 40e6), (1, 20), sender="A")
    ask = int(d.log("ask", 120, 1200))
    turns = int(6e3 / (45 + trial["rtt_ms"]))
    words = f"{RUBY} ask host=@B port=7012 ask={ask} give=40 writes=2 turns={turns}"
    trial.update(servers=[("B", f"{RUBY} answer port=7012 ask={ask} give=40 nodelay=1")], ready=[("B", 7012)], clients=[("A", words)], fixed_octets=True, merges=False)
    trial["without"] = {"clients": [("A", f"{words} nodelay=1")]}
    return trial


@case("log-by-line", ["small-writes"], "A program writes a few octets at a time without Nagle's algorithm.", count=3,
      check=both(faster(1.5), check("a quarter of a segment on average at most", lambda truth, trial: truth["octets"] <= 340 * truth["path"]["segments"])))
def log_by_line(d):
    trial = wide(line(d, (8e6, 60e6), (2, 25)))
    block = int(d.log("block", 20, 150))
    rate = block * 8 * d.log("writes_per_s", 700, 2500)
    trial.update(octets=int(rate * 4.5 / 8), merges=False)
    ruby_stream(trial, send=f"block={block} rate={rate} nodelay=1")
    plain = ruby_stream(dict(trial), send="nodelay=1")
    trial["without"] = {**{key: plain[key] for key in ("servers", "clients")}, "octets": int(trial["rate"] * 3 / 8)}
    return trial


@case("sndbuf-of-the-manual", {"receiver": ["send-buffer", "congestion-window"], "else": ["send-buffer"]}, "The program keeps what it sent until it is acknowledged, in a small buffer, on a long path.", count=4,
      check=both(faster(1.4), checks.nothing_missing()))
def sndbuf_of_the_manual(d):
    trial = wide(line(d, (8e6, 80e6), (25, 130), share=0.08))
    trial["merges"] = False
    ruby_stream(trial, send=f"block=1448 nodelay=1 outq={int(d.log('buffer', 5e3, 40e3))}")
    plain = ruby_stream(dict(trial))
    trial["without"] = {key: plain[key] for key in ("servers", "clients")}
    return trial


@case("port-closed", ["refused"], "Nothing listens on the port, or a filter rejects.", count=4, kinds=("sender", "receiver", "middle", "snapped"), gain=False, check=checks.no_payload())
def port_closed(d):
    trial = line(d, (4e6, 60e6), (2, 60), sender="A")
    if d.number % 2:
        trial["nft"] = {"B": "table inet f { chain c { type filter hook input priority 0; tcp dport 7000 counter reject with icmpx admin-prohibited; }; };"}
    trial.update(servers=[], clients=[("A", f"for i in 1 2 3; do ruby @P/ends.rb send host=@B port=7000 octets=1000; sleep 0.{3 + d.number}; done")], fixed_octets=True, one_end="sender")
    return trial


@case("proxy-cuts-off", ["refused", "path-rate"], "A proxy closes a transfer in the middle, with data that it has not read.", count=3, kinds=("sender", "receiver", "middle", "late", "snapped"), gain=False,
      check=check("the reader leaves early", lambda truth, trial: 0 < truth["octets"] < 0.9 * trial["octets"]))
def proxy_cuts_off(d):
    trial = line(d, (4e6, 50e6), (4, 60), sender=d.random.choice("AB"))
    trial["fixed_octets"] = True
    return ruby_stream(trial, read=f"leaves_after={int(trial['octets'] * d.log('at', 0.4, 0.7))} rate={trial['rate'] * 0.97}")


@case("full-backlog", ["slow-handshake"], "A server with a backlog of one accepts late; SYNs are dropped meanwhile.", count=3, kinds=NO_LATE, truncated=(0.6, 0.9), check=faster(1.3))
def full_backlog(d):
    trial = line(d, (6e6, 50e6), (3, 40), sender="A")
    n = 5 + d.number
    trial["octets"] = int(trial["rate"] * d.log("takes_s", 1.2, 2.2) / 8 / n)
    server = f"{RUBY} read listen=1 port=7000 times={n} backlog=%d accepts_after=%s"
    trial.update(clients=[("A", f"{RUBY} send host=@B port=7000 octets=@N times={n}")], ready=[("B", 7000)], fixed_octets=True, limit_s=20)
    trial["servers"] = [("B", server % (0, d.log("accepts_after_s", 0.7, 1.1)))]
    trial["without"] = {"servers": [("B", server % (64, 0))]}
    return trial


@case("server-hangs", ["no-answer", "server-think-time"], "The server takes a request and never answers it; the client gives up.", count=3, kinds=("sender", "receiver", "middle", "snapped"), gain=False,
      check=checks.between(0, 3))
def server_hangs(d):
    trial = line(d, (4e6, 50e6), (4, 60), sender="B")
    good = 3 + d.number
    trial.update(servers=[("B", f"{RUBY} answer port=7012 ask=150 give=600 nodelay=1 think=90 think_every={good}")], ready=[("B", 7012)], fixed_octets=True, limit_s=d.log("gives_up_s", 4.5, 9), least_s=0,
                 clients=[("A", f"{RUBY} ask host=@B port=7012 ask=150 give=600 nodelay=1 turns={good}")])
    return trial


ORIGIN = ("exec ruby -rsocket -e 's = TCPServer.new(\"127.0.0.1\", 7004); loop { c = s.accept; Thread.new { while (l = c.gets) && l != \"\\r\\n\"; end; "
          "sleep %f; c.write(\"HTTP/1.1 200 OK\\r\\nConnection: close\\r\\nContent-Length: %d\\r\\n\\r\\n\" + \"o\" * %d); c.close } }'")


@case("proxy-waits-for-origin", ["server-think-time"], "A proxy (Squid) answers as late as its origin.", count=3, check=both(checks.thinks(), faster(1.4)))
def proxy_waits_for_origin(d):
    trial = line(d, (4e6, 60e6), (3, 40), sender="B")
    think, give = d.log("think_s", 0.18, 0.7), int(d.log("give", 2_000, 60_000))
    turns = max(7, int(5.5 / (think + give * 8 / trial["rate"] + trial["rtt_ms"] * 2e-3)))
    squid = stream(d, {**trial, "sender": "B"}, ("squid",))
    urls = " ".join(f"http://127.0.0.1:7004/{i}" for i in range(turns))
    trial.update(servers=[("B", ORIGIN % (think, give, give)), squid["servers"][1]], ready=squid["ready"], fixed_octets=True, thinks_s=think * turns,
                 clients=[("A", f"exec env http_proxy=http://@B:7128 wget -q -O /dev/null {urls}")])
    trial["without"] = {"servers": [("B", ORIGIN % (0, give, give)), squid["servers"][1]]}
    return trial


@case("slow-resolver", ["name-resolution"], "Each connection of a program waits for a slow name server.", count=3, kinds=("receiver", "middle", "late", "truncated", "snapped"), check=faster(1.4))
def slow_resolver(d):
    trial = line(d, (5e6, 60e6), (4, 40), sender="B")
    trial["hops"] = {"P": "bridge", "Q": "bridge"}
    think = d.log("think_s", 0.35, 0.9)
    turns = max(5, int(5.5 / (think + 0.25)))
    trial["resolver"] = "nameserver @B\noptions timeout:5 attempts:2 single-request\n"
    give = int(d.log("give", 8_000, 60_000))
    trial["servers"] = [("B", f"{RUBY} names address=@B think={think}"), ("B", f"{RUBY} send listen=1 times={turns} port=7000 octets={give}")]
    trial["clients"] = [("A", f"for i in $(seq {turns}); do ncat -4 --recv-only store.branch.example 7000 > /dev/null; done")]
    trial.update(ready=[("B", 53), ("B", 7000)], fixed_octets=True, one_end="receiver", middle="receiver")
    trial["without"] = {"servers": [("B", f"{RUBY} names address=@B"), trial["servers"][1]]}
    return trial
