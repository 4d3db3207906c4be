"""Causes in exchanges, openings and small messages."""

from cases_path import NEAR, counted, limited, plain
from checks import both, check, faster
from draw import case
from setups import link, trial, without

CLIENT = ("sender", "middle", "late", "truncated", "snapped")
OPENING = ("receiver", "middle", "truncated", "snapped")


def program(name, share):
    return check(f"{name} takes at least {share:.0%} of the time", lambda truth, it: truth["path"]["program"][name] >= share * truth["seconds"] > 1)


def calls(draw, flavour=None, port=None, **more):
    flavour, port = (flavour, port) if flavour else draw.random.choice((("http", 80), ("http", 8080), ("rpc", 7100), ("rpc", 12001)))
    return {"kind": "calls", "flavour": flavour, "port": port, "spread": 0.2, **more}


def few(name, counts):
    return check(f"{name}; no octet of an answer", lambda truth, it: truth["octets"] < 200 and counts(truth))


def asked(draw, low, high, app, path=(), a=None, b=None, rates=(3e6, 4e8), **more):
    """A client at A asks a server at B; what is counted is what the client gets."""
    rate, rtt = draw.log("rate", *rates), draw.log("rtt_ms", low, high) / 1e3
    return trial(draw, "B", [*path, link(rate, rtt / 2, 0.2)], [app], rate=rate, a=a, b=b, middle=more.pop("middle", "b"), **more)


@case("two-writes-for-a-request", ["delayed-ack-with-nagle"], "A client writes the head and the body of its requests separately; the server delays acknowledgments.", count=4, check=both(faster(1.6), check("Nagle's algorithm holds the client back for half of the time", lambda truth, it: truth["path"]["a"]["limited_s"].get("nagle", 0) >= 0.4 * truth["seconds"])))
def two_writes(draw):
    delay = draw.turn("delay_s", 0.2, 0.04, 0.1, 0.2)
    n = int(draw.log("for_s", 3.2, 6) / (delay + 0.004))
    it = asked(draw, 0.4, 9, calls(draw, n=n, req=90, body=draw.turn("body", 60, 150, 320), ans=draw.turn("ans", 60, 240, 800), spread=0), a={"nagle": 2, "ts": 1}, b={"delack": delay, "delack_coarse": 0, "quick": 0})
    return without(it, a={"nagle": 0})


@case("octet-by-octet", ["small-writes"], "A program writes a few octets at a time without Nagle's algorithm; each write takes its time.", count=3, check=both(faster(1.5), check("most segments are small", lambda truth, it: truth["path"]["a" if it["sender"] == "A" else "b"]["small"] >= 0.7 * truth["sent"])))
def octet_by_octet(draw):
    rate, rtt, sender, line, hold = plain(draw, 1.2e7, 9e7, 2, 35)
    unit, cost = draw.turn("unit", 48, 130, 24), draw.log("write_us", 250, 700) / 1e6
    app = {"kind": "bulk", "flavour": "raw", "port": draw.turn("port", 9100, 4001, 2404), "dir": "up" if sender == "A" else "down", "unit": unit, "wrate": unit / cost}
    it = trial(draw, sender, [line], [app], rate=min(unit * 8 / cost, rate * 0.3), kinds=("linux", "linux"), a={**hold, "nagle": 0}, b={**hold, "nagle": 0}, lasts=4, snap=160)
    return without(it, app={"unit": unit * 8, "wrate": unit * 8 / cost})


@case("block-by-block-by-tftp", ["one-in-flight"], "TFTP without options: one block of 512 octets under way.", count=3, gain=False, check=check("no server or client time of note; 100 answers and more", lambda truth, it: truth["path"]["program"]["answers"] >= 100))
def by_tftp(draw):
    n = int(draw.log("blocks", 260, 800))
    low, high = ((4, 9), (14, 30), (1.5, 3))[draw.number % 3]
    app = {"kind": "asks", "flavour": "tftp", "port": 69, "n": n, "gap": 0.00015, "ans": 512, "sthink": 0.00012, "retry": 1}
    return asked(draw, low, high, app, v6=0, snap=192)


@case("row-by-row-over-a-long-way", ["one-in-flight"], "A program asks a database row by row; each row costs a round trip.", count=3, check=both(faster(2), check("requests take hardly any work", lambda truth, it: truth["path"]["program"]["server_s"] < 0.15 * truth["seconds"] > 0.2)))
def row_by_row(draw):
    rtt = draw.log("rtt", 24, 190)
    it = asked(draw, rtt, rtt * 1.01, calls(draw, "rpc", draw.turn("port", 12010, 7150, 48010), n=max(24, int(5000 / rtt)), req=draw.turn("req", 80, 140, 60), ans=draw.turn("ans", 200, 700, 90), sthink=0.0004), a={"nagle": 0}, b={"nagle": 0})
    it["without"] = {"parts": [(way, name, {**v, "delay": 0.0006}) if name == "link" and v["delay"] > 0.001 else (way, name, v) for way, name, v in it["parts"]]}
    return it


@case("board-sends-and-waits", ["one-in-flight", "send-buffer"], "A board's stack has one segment under way and waits for its acknowledgment.", count=3, check=faster(1.5))
def board_waits(draw):
    rate, rtt, sender, line, hold = plain(draw, 4e6, 8e7, 7, 80)
    s, r = ("b", "a") if sender == "B" else ("a", "b")
    app = {"kind": "bulk", "flavour": "raw", "port": 5001, "dir": "up" if sender == "A" else "down"}
    it = trial(draw, sender, [line], [app], rate=1460 * 8 / rtt, v6=0, lasts=4, **{s: {"is_board": 1, "variant": "fixed", "fixed_cwnd": draw.turn("segments", 1460, 1460, 1460)}, r: {"ack_every": 1, "rcvbuf": 65535}})
    return without(it, **{s: {"fixed_cwnd": 14600, "sndbuf": 14600}})


@case("connection-for-each-object", ["one-in-flight", "slow-handshake", "congestion-window"], "A client opens a connection for each small object over a long way, one after the other.", count=2, check=faster(1.35))
def connection_for_each(draw):
    it = asked(draw, 70, 210, calls(draw, "http", 80, n=22, per_conn=1, req=150, ans=900, sthink=0.0006))
    return without(it, app={"per_conn": 0})


@case("answers-lost-now-and-then", ["retransmission-stalls", "random-loss"], "Short messages are lost now and then, and only timers notice.", count=3, check=both(faster(1.3), check("time-outs of either end", lambda truth, it: truth["path"]["a"]["timeouts"] + truth["path"]["b"]["timeouts"] >= 5)))
def answers_lost(draw):
    rto = draw.turn("rto_min", 0.3, 1, 0.5)
    app = calls(draw, n=int(draw.log("n", 90, 180)), req=70, ans=160, spread=0.1, cthink=draw.log("pause_ms", 3, 12) / 1e3, sthink=0.001)
    it = asked(draw, 2.5, 24, app, [("both", "loss", {"p": draw.log("share", 0.03, 0.06)})], a={"rto_min": rto, "nagle": 0}, b={"rto_min": rto, "nagle": 0}, limit=100)
    return without(it, drop=["loss"])


@case("station-sleeps-between-beacons", ["wake-up-latency"], "A station's radio sleeps when idle; the access point keeps frames until the next beacon.", count=4, kinds=NEAR, check=both(faster(1.3), counted("waits", 12)))
def station_sleeps(draw):
    # The station is the server at B: a request that finds it asleep waits.
    beacon = draw.turn("beacon_s", 0.1024, 0.2048, 0.3072)
    app = calls(draw, n=int(6 / (beacon / 2 + 0.14)), req=60, ans=120, cthink=draw.log("pause_ms", 45, 95) / 1e3, spread=0.35, sthink=0.0008)
    radio = [("up", "link", {"rate": draw.log("air", 1.2e7, 5e7), "delay": 0.0004, "sleep_after": 0.03, "beacon": beacon, "slow": 1}), ("down", "link", {"rate": 5.4e7, "delay": 0.0004})]
    it = asked(draw, 1, 7, app, radio, middle="a", one_end="receiver", b={"nagle": 0, "rto_min": 1}, a={"nagle": 0, "rto_min": 1})
    return without(it, links={"sleep_after": 0})


@case("cell-modem-wakes-up", ["wake-up-latency", "server-think-time"], "A cellular link that was idle takes a fixed time to wake up.", count=2, kinds=NEAR, check=both(faster(1.3), counted("waits", 8)))
def cell_modem(draw):
    app = calls(draw, n=14, req=100, ans=600, cthink=draw.log("pause_ms", 260, 420) / 1e3, spread=0.3, sthink=0.002)
    radio = [("both", "link", {"rate": draw.log("air", 2e6, 9e6), "delay": 0.012, "sleep_after": 0.2, "wake": draw.log("wake_ms", 280, 560) / 1e3, "slow": 1})]
    it = asked(draw, 20, 50, app, radio, middle="a", one_end="receiver", a={"nagle": 0, "rto_min": 1}, b={"nagle": 0, "rto_min": 1})
    return without(it, links={"sleep_after": 0})


@case("address-without-a-station", ["no-answer"], "A client opens a connection to a station that is off, behind a router.", count=3, kinds=("sender", "middle", "truncated", "snapped"), gain=False, truncated=(0.6, 0.9), check=few("SYNs find nobody", lambda truth: truth["path"]["parts"].get("b_absent", 0) >= 3))
def address_without(draw):
    it = asked(draw, 1, 90, calls(draw, n=1, again_after=0.5, attempts=2), b={"absent": 1}, a={"max_tries": draw.turn("tries", 3, 4, 5), "syn_rto": draw.turn("syn_s", 1, 3, 1)}, one_end="sender", limit=draw.turn("limit_s", 26, 40, 33))
    it["sender"] = "A"
    return it


@case("filter-drops-requests", ["no-answer"], "A sensor is asked by CoAP and does not answer any more.", count=2, kinds=("sender", "middle", "truncated", "snapped"), gain=False, truncated=(0.7, 0.95), check=check("a request is repeated four times", lambda truth, it: truth["path"]["program"]["failures"] >= 1))
def sensor_silent(draw):
    app = {"kind": "asks", "flavour": "coap", "port": 5683, "n": 20, "req": 0, "ans": 0, "gap": draw.log("gap_s", 0.3, 0.8), "sthink": 0.004, "hang_at": draw.turn("hang_at", 1, 4), "retry": draw.log("retry_s", 2, 2.9), "retries": 4}
    return {**asked(draw, 3, 60, app, a={}, limit=100), "sender": "A", "one_end": "sender"}


@case("server-hangs", ["no-answer", "server-think-time"], "A server acknowledges a request and never answers.", count=2, kinds=("sender", "middle", "snapped"), gain=False, check=check("the client gives up", lambda truth, it: truth["path"]["program"]["failures"] >= 1))
def server_hangs(draw):
    app = calls(draw, "http", 80, n=9, req=140, ans=1200, cthink=0.05, sthink=0.004, hang_at=draw.turn("hang_at", 4, 1), patience=draw.log("patience_s", 9, 24))
    return {**asked(draw, 4, 60, app), "sender": "A", "one_end": "sender"}


@case("closed-port", ["refused"], "No program listens on the port.", count=2, kinds=("sender", "middle", "truncated", "snapped"), gain=False, truncated=(0.7, 0.95), check=check("resets answer", lambda truth, it: truth["path"]["parts"].get("b_resets", 0) >= 3))
def closed_port(draw):
    it = asked(draw, 0.4, 60, calls(draw, "http", 8081, n=1, again_after=draw.log("again_s", 0.4, 2), attempts=6, no_listener=1))
    return {**it, "sender": "A", "one_end": "sender"}


@case("upload-thrown-out", ["refused"], "A server resets the connection in the middle of a transfer.", count=2, kinds=("sender", "receiver", "middle", "snapped"), gain=False, check=check("a reset in the transfer", lambda truth, it: truth["path"]["parts"].get("b_aborted", 0) >= 1))
def thrown_out(draw):
    rate, rtt, _, line, hold = plain(draw, 3e6, 3e7, 6, 60, sender="A")
    app = {"kind": "bulk", "flavour": "http", "port": 80, "dir": "up", "bytes": int(rate), "reset_after": int(rate / 8 * draw.log("after_s", 2.2, 4.5))}
    return trial(draw, "A", [line], [app], rate=rate, fixed=1, a=hold, b=hold)


@case("first-packets-lost", ["slow-handshake"], "SYNs are lost, and repeated after their timer.", count=3, kinds=OPENING, truncated=(0.4, 0.8), check=both(faster(1.5), counted("syn_lost", 1)))
def first_packets_lost(draw):
    rate, rtt, sender, line, hold = plain(draw, 3e6, 4e7, 2, 50, sender="B")
    app = {"kind": "bulk", "flavour": "http", "port": 80, "dir": "down", "bytes": int(rate / 8 * draw.log("lasts_s", 0.2, 0.5))}
    it = trial(draw, "B", [line, ("up", "loss", {"syns": draw.turn("lost", 1, 2, 1)})], [app], rate=rate, fixed=1, a={**hold, "syn_rto": draw.turn("syn_s", 3, 1, 1)}, b=hold, bounds=(0.3, 20), middle="a", one_end="receiver")
    return without(it, drop=["loss"])


@case("report-is-computed", ["server-think-time"], "A server computes each answer.", count=4, check=both(faster(1.5), program("server_s", 0.6)))
def report_is_computed(draw):
    think = draw.log("think_ms", 90, 900) / 1e3
    it = asked(draw, 1, 70, calls(draw, n=max(5, int(5 / think)), req=140, ans=draw.turn("ans", 3000, 24000, 700, 9000), sthink=think, spread=draw.turn("spread", 0.4, 0.8, 0.2)), a={"nagle": 0}, b={"nagle": 0})
    return without(it, app={"sthink": 0.0005})


@case("login-looks-up-names", ["server-think-time"], "A server looks up the client's name, in vain, before its first answer.", count=2, check=both(faster(1.5), program("server_s", 0.5)))
def login_looks_up(draw):
    wait = draw.turn("wait_s", 5, 10)
    app = calls(draw, "rpc", draw.turn("port", 7210, 12030), n=24, req=24, ans=60, sthink=wait, sthink_every=25, spread=0, cthink=0.02)
    it = asked(draw, 1, 25, app, a={"nagle": 0}, b={"nagle": 0})
    return without(it, app={"sthink": 0.001})


@case("client-unpacks-each-part", ["client-think-time"], "A client works on each answer before it asks for the next.", count=3, check=both(faster(1.5), program("client_s", 0.55)))
def client_unpacks(draw):
    think = draw.log("think_ms", 120, 800) / 1e3
    it = asked(draw, 1, 60, calls(draw, n=max(6, int(5 / think)), req=130, ans=draw.turn("ans", 30000, 4000, 120000), cthink=think, spread=draw.turn("spread", 0.3, 0.7, 0.2)), a={"nagle": 0}, b={"nagle": 0})
    return without(it, app={"cthink": 0.0005})


@case("client-asks-whether-it-is-ready", ["client-think-time"], "A client that waits for a result asks for its state at a slow interval, and then for the next part.", count=2, check=both(faster(1.5), program("client_s", 0.55)))
def client_asks_whether(draw):
    each = draw.turn("each_s", 0.33, 0.61)
    it = asked(draw, 8, 40, calls(draw, "http", 80, n=int(6 / each), req=150, ans=draw.turn("ans", 26000, 9000), each=each, each_jitter=0.02, spread=0.3), rates=(1.2e7, 2e8))
    return without(it, app={"each": 0})


@case("resolver-that-is-silent", ["name-resolution"], "The first name server does not answer; the query is repeated after its time-out.", count=3, kinds=("receiver", "middle", "truncated", "snapped"), truncated=(0.85, 0.97), check=both(faster(1.5), program("name_s", 0.35)))
def resolver_silent(draw):
    rate, rtt, _, line, hold = plain(draw, 4e6, 9e7, 3, 45, sender="B")
    app = {"kind": "bulk", "flavour": "http", "port": 80, "dir": "down", "bytes": int(rate / 8 * 0.9), "dns": "n", "dns_silent": draw.turn("silent", 1, 2, 0), "dns_retry": draw.turn("retry_s", 5, 2.5, 6), "dns_delay": draw.turn("delay_s", 0.004, 0.012, 2.3)}
    it = trial(draw, "B", [line], [app], rate=rate, fixed=1, a=hold, b=hold, middle="a", bounds=(0.5, 30), more_hosts={"n": {"end": "B", "ip": "c6336435"}})
    it["more_hosts"]["n"]["v6"] = it["hosts"]["a"]["v6"]
    it["one_end"] = "receiver"
    return without(it, app={"dns_silent": 0, "dns_delay": 0.004})


@case("report-over-a-long-way", ["server-think-time", "one-in-flight"], "A server works on each answer for some round trips of a long way.", count=2, check=both(faster(1.5), program("server_s", 0.5)))
def report_over_a_long_way(draw):
    rtt = draw.log("rtt", 70, 210)
    it = asked(draw, rtt, rtt * 1.01, calls(draw, n=max(6, int(6000 / (4 * rtt))), req=120, ans=draw.turn("ans", 900, 3000), sthink=rtt / 1e3 * 3, spread=0.4), a={"nagle": 0}, b={"nagle": 0})
    return without(it, app={"sthink": 0.0006})
