"""What hosts and their programs do: windows, buffers, pacing, pauses, requests one by one, names, backlogs, time-outs."""

from cases_path import waits
from checks import both, check, faster, printed, takes_at_most
from network import other
from setups import ENDS, NGINX, case, changed, ends, line, program, rate_of, transfer


def stream(trial, source="", sink="", **more):
    """source and sink of ends.py, with options; A is the client."""
    server, client = (f"sink {sink}", f"source to=@B octets={{octets}} {source}") if trial["sender"] == "A" else (
        f"source octets={{octets}} {source}", f"sink to=@B {sink}")
    return {**trial, "programs": [program("B", f"{ENDS} {server}", "server", main=True), program("A", f"{ENDS} {client}", "client", main=True, after=0.9)], **more}


def segments_of(most):
    return check(f"segments carry at most {most} octets on average", lambda truth, trial: truth["octets"] <= most * truth["path"]["segments"] > 0)


def thought(key, share):
    """The time that programs state as `key` takes so much of the time."""
    return check(f"{key} takes {share:.0%} of the time", lambda truth, trial: max(it.get(key, 0) for it in truth["path"]["programs"]) >= share * truth["seconds"] > 1)


@case("window-set-by-a-route", ["receive-window"], "The receiver's route limits its windows.", check=faster(1.5))
def _(d):
    trial = line(d, (1.5e7, 6e7), (25, 90), (60, 120), nic="1gbit")
    return transfer(d, {**trial, "routes": {other(trial["sender"]): f"window {d.log('window', 12000, 40000)}"}, "without": {"routes": {}}})


@case("receive-buffer-set-by-the-program", ["receive-window"], "The receiver's program sets a small receive buffer.", check=faster(1.5))
def _(d):
    trial = line(d, (1e7, 5e7), (30, 100), (60, 120))
    trial["octets"] //= 8
    trial = stream(trial, sink=f"rcvbuf={d.log('rcvbuf', 9000, 30000)}")
    return {**trial, "without": {"programs": stream(trial)["programs"]}}


@case("short-files-far-away", ["congestion-window"], "A short transfer over a long path is over before the window has grown.",
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.75, 0.95), check=faster(1.5))
def _(d):
    roomy = ["net.ipv4.tcp_rmem=4096 4194304 8388608"]
    trial = line(d, (3e7, 9e7), (230, 380), (60, 120), nic="1gbit", kinds=("tbf", "htb"), fixed_octets=True, least_s=1.0, merges=0, sysctl={"A": roomy, "B": roomy})
    trial["octets"] = d.log("octets", 250000, 700000)
    start = d.turn("initcwnd", "", "initcwnd 4", "initcwnd 3")
    many = {"A": "initcwnd 600 initrwnd 600", "B": "initcwnd 600 initrwnd 600"}
    return transfer(d, {**trial, "routes": {"A": start, "B": start}, "without": {"routes": many}}, *(("python", "curl") if trial["sender"] == "A" else ("curl", "wget", "perl")))


@case("host-shapes-itself", {"sender": ["host-pacing"], "else": ["host-pacing", "path-rate"]}, "A token bucket on the sending host's own interface.",
      check=faster(1.5))
def _(d):
    trial = line(d, (3e7, 9e7), (10, 50), (60, 120), merges=0, nic="1gbit")
    rate = d.log("host_rate", 1.5e6, 1.2e7)
    trial["octets"] = int(rate / 8 * 4)
    return transfer(d, {**trial, "data": changed(trial, "data", host=[f"qdisc add dev @ root tbf rate {rate_of(rate)} burst 1600 limit {int(rate / 8 * 0.1) + 6000}"]),
                        "without": {"data": trial["data"]}})


@case("socket-is-paced", {"sender": ["host-pacing"], "else": ["host-pacing", "path-rate"]}, "The program limits the pacing of its socket (iperf3 --fq-rate).",
      check=faster(1.5))
def _(d):
    trial = line(d, (3e7, 9e7), (15, 60), (60, 120), merges=0, nic="1gbit", sender="A")
    rate = d.log("paced", 2e6, 9e6)
    trial["octets"] = int(rate / 8 * 4)
    run = "timeout 60 iperf3 -c @B -n {octets} -l 16K"
    with_rate, without = ([program("B", "iperf3 -s -1", "server"), program("A", f"{run} {it}", "client", main=True, after=0.9)] for it in (f"--fq-rate {int(rate)}", ""))
    return {**trial, "programs": with_rate, "without": {"programs": without}}


@case("server-limits-each-download", ["sender-idle", "sender-stalls", "host-pacing"], "nginx is configured with limit_rate.", check=faster(1.5))
def _(d):
    trial = line(d, (2e7, 8e7), (10, 50), (60, 120), sender="B")
    limit = d.log("kbytes", 100, 600)
    trial["octets"] = limit * 1000 * 4
    server = NGINX.replace("nginx -p @D -c @S/ends/nginx.conf", f"sed 's/limit_rate 1;/limit_rate {limit}k;/' @S/ends/nginx.conf > @D/slow.conf && nginx -p @D -c @D/slow.conf")
    made = [[program("B", server, "server"), program("A", f"timeout 60 curl -s -o /dev/null http://@B:8080/{path}data.bin", "client", main=True, after=0.9)] for path in ("slowly/", "")]
    return {**trial, "make_file": True, "programs": made[0], "without": {"programs": made[1]}}


@case("program-prepares-blocks", ["sender-idle", "sender-stalls"], "The program prepares the next block after it has sent one.", check=both(faster(1.5), printed("stops", 6)))
def _(d):
    trial = line(d, (8e6, 5e7), (8, 40), (60, 120))
    every = d.log("every", 50000, 250000)
    pause = 8 * every / trial["rate"] * d.log("share", 1.0, 4.0) + 0.06
    trial["octets"] = every * max(8, int(4 / (pause + 8 * every / trial["rate"])))
    trial = stream(trial, source=f"every={every} pause={pause:.3f}", fixed_octets=True)
    return {**trial, "without": {"programs": stream(trial)["programs"], "fixed_octets": False}}


@case("reader-is-slow", ["receiver-reads-slowly"], "The receiver's program reads at its own pace.", check=both(faster(1.4), takes_at_most(0.7)))
def _(d):
    trial = line(d, (8e6, 4e7), (8, 40), (60, 120))
    rate = trial["rate"] / 8 * d.log("share", 0.1, 0.5)
    trial["octets"] = int(rate * 4)
    trial = stream(trial, sink=f"rcvbuf={d.log('rcvbuf', 30000, 90000)} rate={rate:.0f} chunk={d.log('chunk', 1000, 8000)}")
    return {**trial, "without": {"programs": stream(trial)["programs"]}}


@case("client-limits-its-download", ["receiver-reads-slowly"], "curl reads at a limited rate, with a small buffer.", check=both(faster(1.4), takes_at_most(0.7)))
def _(d):
    trial = line(d, (1e7, 5e7), (8, 40), (60, 120), sender="B", sysctl={"A": ["net.ipv4.tcp_rmem=4096 65536 65536"]})
    limit = d.log("kbytes", 150, 500)
    trial["octets"] = limit * 1000 * 4
    tool = d.turn("tool", "curl -s -o /dev/null --limit-rate {}k", "wget -q -O /dev/null --limit-rate={}k")
    made = [[program("B", NGINX, "server"), program("A", f"timeout 60 {it} http://@B:8080/data.bin", "client", main=True, after=0.9)]
            for it in (tool.format(limit), "curl -s -o /dev/null")]
    return {**trial, "make_file": True, "programs": made[0], "without": {"programs": made[1]}}


@case("reader-pauses", ["receiver-reads-slowly", "receiver-stalls"], "The receiver's program writes to its card now and then, and reads nothing meanwhile.",
      check=both(faster(1.4), printed("stops", 5)))
def _(d):
    trial = line(d, (8e6, 4e7), (8, 40), (60, 120))
    every = d.log("every", 120000, 400000)
    pause = 8 * every / trial["rate"] * d.log("share", 1.0, 3.0) + 0.1
    trial["octets"] = every * 10
    trial = stream(trial, sink=f"rcvbuf={d.log('rcvbuf', 30000, 60000)} every={every} pause={pause:.3f}", fixed_octets=True)
    return {**trial, "without": {"programs": stream(trial)["programs"], "fixed_octets": False}}


@case("two-writes-per-message", ["delayed-ack-with-nagle"], "Head and body of each message are written one by one; the other end delays its acknowledgment.", check=faster(1.8))
def _(d):
    trial = line(d, (5e6, 1e8), (0.6, 8), (20, 60), merges=0)
    times = d.log("times", 90, 160)
    size = d.log("size", 60, 900)
    made = []
    for more in ("", "nodelay=1"):
        if trial["sender"] == "A":
            made.append((f"answer nodelay=1 {more}", f"ask to=@B times={times} ask={size} answer=16 parts=2 {more}"))
        else:
            made.append((f"answer parts=2 {more}", f"ask to=@B times={times} ask=40 answer={size} {more}"))
    trial = ends({**trial, "without_size": True}, *made[0])
    return {**trial, "without": {"programs": ends(trial, *made[1])["programs"]}}


@case("keys-one-by-one", ["one-in-flight"], "A script asks Redis for one key after another.", gain=False, check=check("lasts 2 s", lambda truth, trial: truth["seconds"] > 2))
def _(d):
    trial = line(d, (5e6, 5e7), (25, 80), (60, 120), sender="B", merges=0, without_size=True)
    times = int(4500 / trial["rtt_ms"])
    fill = f"for i in $(seq {times}); do echo SET k$i $(head -c {d.log('value', 40, 400)} /dev/zero | tr '\\0' v); done | redis-cli > /dev/null"
    return {**trial, "programs": [program("B", "redis-server --save '' --port 6379 --protected-mode no --dir @D > /dev/null & sleep 0.4; " + fill + "; wait", "server"),
                                  program("A", f"for i in $(seq {times}); do echo GET k$i; done | redis-cli -h @B > /dev/null", "client", main=True, after=1.5)]}


@case("boot-file-by-tftp", ["one-in-flight"], "TFTP without options: 512 octets a round trip.", check=faster(1.8))
def _(d):
    trial = line(d, (5e6, 6e7), (4, 22), (30, 90), sender="B", merges=0, not_translated=True)
    trial["octets"] = int(512 * 4000 / trial["rtt_ms"])
    made = [[program("B", "in.tftpd -L -s -u root @D", "server"), program("A", f"timeout 60 curl -s -o /dev/null {it} tftp://@B/data.bin", "client", main=True, after=0.9)]
            for it in ("--tftp-no-options", "--tftp-blksize 1428")]
    return {**trial, "make_file": True, "programs": made[0], "without": {"programs": made[1]}}


@case("server-computes", ["server-think-time"], "The server computes each answer.", check=both(faster(1.4), thought("thought_s", 0.5)))
def _(d):
    trial = line(d, (8e6, 5e7), (8, 40), (60, 120), sender="B", without_size=True)
    think, times = d.log("think", 0.12, 0.6), 0
    times = max(7, int(4 / think))
    size = d.log("answer", 2000, 60000)
    client = f"ask to=@B times={times} ask={d.log('ask', 60, 400)} answer={size}"
    trial = ends(trial, f"answer think={think} spread=0.3", client)
    return {**trial, "without": {"programs": ends(trial, "answer", client)["programs"]}}


@case("client-writes-each-block", ["client-think-time"], "The client fetches blocks, and writes each to flash before it asks for the next.", check=both(faster(1.4), thought("idle_s", 0.5)))
def _(d):
    trial = line(d, (8e6, 5e7), (8, 40), (60, 120), sender="B", without_size=True)
    think, size = d.log("think", 0.12, 0.5), d.log("block", 4096, 65536)
    server, client = "answer", f"ask to=@B times={max(8, int(4 / think))} ask={d.log('ask', 60, 300)} answer={size}"
    trial = ends(trial, server, f"{client} think={think} spread=0.15")
    return {**trial, "without": {"programs": ends(trial, server, client)["programs"]}}


def named(d, resolver, server, rule=None, **more):
    trial = line(d, (8e6, 4e7), (8, 40), (60, 120), sender="B", fixed_octets=True, one_end="receiver", middle_far=True, **more)
    trial["octets"] = int(trial["rate"] / 8 * d.random.uniform(0.5, 1.2))
    fetch = [program("B", NGINX, "server"), program("A", f"timeout 60 {d.turn('tool', 'curl -s -o', 'wget -q -O')} /dev/null http://files.example:8080/data.bin", "client",
                                                    main=True, after=1.2)]
    quick = [program("B", f"{ENDS} names address=@B", "names")]
    slow = [program("B", f"{ENDS} names address=@B {server}", "names")]
    nft = {"M": rule} if rule else {}
    return {**trial, "make_file": True, "resolver": resolver, "nft": nft, "programs": slow + fetch,
            "without": {"programs": quick + fetch, "resolver": "nameserver @B\n", "nft": {}}}


NAMED = ("receiver", "middle", "truncated", "snapped")


@case("first-name-server-is-gone", ["name-resolution"], "The first name server does not answer.", kinds=NAMED, truncated=(0.8, 0.95), check=both(faster(1.5), waits(3)))
def _(d):
    rule = "table inet f { chain c { type filter hook forward priority 0; ip daddr 203.0.113.53 counter drop; }\n}\n"
    return named(d, f"nameserver 203.0.113.53\nnameserver @B\noptions timeout:{d.turn('timeout', 5, 4, 3)}\n", "", rule)


@case("name-server-is-slow", ["name-resolution"], "The name server answers late.", kinds=NAMED, truncated=(0.8, 0.95), check=both(faster(1.4), waits(1.2)))
def _(d):
    return named(d, "nameserver @B\noptions single-request\n", f"think={d.log('think', 1.0, 2.2)}")


@case("backlog-is-full", ["slow-handshake"], "The server's backlog is full.", kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.95),
      check=both(faster(1.3), waits(0.9), check("the server's kernel drops a SYN", lambda truth, trial: truth["path"]["kernel"].get("B", {}).get("ListenDrops", 0) >= 1)))
def _(d):
    trial = line(d, (8e6, 4e7), (8, 40), (60, 120), sender="B", without_size=True, not_translated=True)
    octets = int(trial["rate"] / 8 * 0.9)
    deaf = d.log("deaf", 2.4, 4)
    server = program("B", f"{ENDS} crowded backlog=1 deaf={deaf} octets={octets}", "server")
    fill = program("A", f"{ENDS} fill to=@B times=3 lasts={deaf + 0.3}", "others", after=0.5)
    ask = program("A", f"{ENDS} ask_all to=@B", "client", main=True, after=1.4)
    easy = program("B", f"{ENDS} crowded backlog=16 deaf=0 octets={octets}", "server")
    return {**trial, "programs": [server, fill, ask], "without": {"programs": [easy, ask]}}


@case("time-outs-of-a-thin-stream", ["retransmission-stalls", "random-loss"], "Single requests and answers are lost, and wait for a timer that a route has raised.",
      check=both(faster(1.5), check("the ends repeat 8 segments", lambda truth, trial: sum(truth["path"]["kernel"].get(it, {}).get("RetransSegs", 0) for it in "AB") >= 8)))
def _(d):
    trial = line(d, (4e6, 4e7), (8, 30), (60, 120), merges=0, without_size=True)
    lossy, least = f"delay {trial['rtt_ms'] / 2:.3f}ms loss {d.log('percent', 4, 8)}%", d.log("rto_min_ms", 300, 900)
    events = [(1.2, space, f"tc qdisc change dev {device} root netem limit 40000 {lossy}") for space, device in (("N", "e"), ("M", "w"))]
    asked, answered = (d.log("long", 200, 1000), 40) if trial["sender"] == "A" else (40, d.log("long", 200, 1000))
    trial = {**trial, "events": events, "routes": {it: f"rto_min {least}ms" for it in "AB"}, "without": {"events": (), "routes": {}}}
    return ends(trial, "answer nodelay=1", f"ask to=@B times={max(90, int(2200 / trial['rtt_ms']))} ask={asked} answer={answered} nodelay=1")


@case("values-written-one-by-one", ["small-writes", "path-rate"], "Each value is a write, and a segment; headers fill the line.", gain=False, check=segments_of(200))
def _(d):
    trial = line(d, (1.5e6, 6e6), (8, 30), (100, 200), merges=0, nic="100mbit", without_size=True)
    size = d.log("size", 30, 90)
    per_second = trial["rate"] / 8 / (size + 66) * d.log("share", 0.8, 0.92)
    trial["octets"] = int(size * per_second * 4)
    return stream(trial, source=f"chunk={size} per_second={per_second:.1f} nodelay=1")
