"""Connections that open late or not at all."""

from programs import TIMES, fetch_each, file_of, http_server, values
from trial import Trial, case, counted, path, slower

OPENING = ("sender", "receiver", "middle", "snapped")


def lan(draw, low=1.0, high=40.0, **more):
    return path(draw.log("rate", 1e7, 9e7), draw.log("rtt_ms", low, high), 120, **more)


def fetch(draw, low=2000, high=60000):
    return f"http://@B:8000/{file_of(draw.whole('octets', low, high))}"


@case("syn-lost", ["slow-handshake"],
      "The first SYN of a connection, or its answer, is lost and repeated a second later. A SYN that is lost on its "
      "way leaves no trace at the server.", count=4, kinds=OPENING,
      blind=lambda settings: "sender" if settings["side"] == "ab_drop_syn" else None)
def syn_lost(draw):
    side = draw.turn("side", ["ab_drop_syn", "ba_drop_syn"])
    way = lan(draw, **{side: draw.turn("syns", [1, 1, 2])})
    return Trial(way, fetch_each(fetch(draw), draw.whole("times", 2, 4)), [http_server()], sender="B",
                 without={"path": {side.replace("_", ".", 1): 0}}, check=slower(2))


@case("slow-handshake", ["slow-handshake"], "Each SYN/ACK comes late, on a path whose round trip is short.", count=4,
      kinds=OPENING)
def slow_handshake(draw):
    way = lan(draw, 1, 8, ba_syn_late=draw.log("late_us", 6e4, 7e5))
    return Trial(way, fetch_each(fetch(draw), draw.whole("times", 5, 9)), [http_server()], sender="B",
                 without={"path": {"ba.syn_late": 0}}, check=slower(2))


@case("no-answer-address", ["no-answer"], "Nobody has the address.", count=3,
      kinds=("sender", "snapped-sender", "middle"))
def no_answer_address(draw):
    wait = draw.whole("seconds", 5, 9)
    way, url = lan(draw), f"http://@S.{draw.whole('host', 20, 240)}:80/"
    return Trial(way, ("A", ["curl", "-s", "--connect-timeout", wait, url]), measure="none")


@case("no-answer-port", ["no-answer"], "A filter on the path discards the SYNs without a message.", count=4,
      kinds=("sender", "late-sender", "snapped-sender", "middle"))
def no_answer_port(draw):
    way = lan(draw, ab_drop_port=8000)
    client = draw.turn("program", ["curl", "wget"])
    wait = draw.whole("seconds", 6, 9)
    options = {"curl": ["-s", "--connect-timeout", wait],
               "wget": ["-q", "-t", "1", f"--connect-timeout={wait}", "-O", "/dev/null"]}[client]
    return Trial(way, ("A", [client, *options, "http://@B:8000/"]), [http_server()], measure="none",
                 check=counted("ab", "port", 3))


@case("refused", ["refused"], "No program listens on the port.", count=4)
def refused(draw):
    tool = draw.turn("program", ["curl -s", "wget -q -t 1 -O /dev/null", "iperf3 -c"])
    target = "@B" if tool.startswith("iperf3") else f"http://@B:{draw.whole('port', 1024, 60000)}/"
    times, pause = draw.whole("times", 3, 9), draw.log("pause_s", 0.2, 0.8)
    loop = f"for i in $(seq {times}); do {tool} {target}; sleep {pause:g}; done"
    return Trial(lan(draw), ("A", ["sh", "-c", f"{loop}; true"]), measure="none")


@case("reset-at-once", ["refused"], "The server accepts a connection, reads the request, and resets it.", count=3)
def reset_at_once(draw):
    times, pause = draw.whole("times", 3, 8), draw.log("pause_s", 0.2, 0.8)
    loop = f"for i in $(seq {times}); do curl -s http://@B:8000/; sleep {pause:g}; done"
    return Trial(lan(draw), ("A", ["sh", "-c", f"{loop}; true"]),
                 [("B", ["app", "reset", "port=8000", f"read={draw.turn('read', [1, 0])}"])], measure="none")


@case("slow-names", ["name-resolution"], "The name server takes a while for each answer.", count=4, kinds=OPENING)
def slow_names(draw):
    late, times = draw.log("late_us", 1.5e5, 1.5e6), draw.whole("times", 3, 5)
    return Trial(lan(draw, 1, 20), fetch_names(draw, times), [http_server(), names(late=late)], sender="B",
                 resolver=True, without={"servers": [http_server(), names(late=500)]}, check=slower(2))


@case("silent-names", ["name-resolution"], "The name server does not answer the first query of each name.", count=3,
      kinds=OPENING)
def silent_names(draw):
    return Trial(lan(draw, 1, 20), fetch_names(draw, draw.whole("times", 1, 2)),
                 [http_server(), names(late=draw.log("late_us", 500, 20000), silent=1)], sender="B", resolver=True,
                 without={"servers": [http_server(), names(late=500)]}, check=slower(2))


def fetch_names(draw, times):
    file = file_of(draw.whole("octets", 1000, 40000))
    one = f"curl -s -4 --max-time 18 -o /dev/null -w '{TIMES}' http://n$i.lab.example.org:8000/{file}"
    return ("A", ["sh", "-c", f"for i in $(seq {times}); do {one}; done"])


def names(**settings):
    return ("B", ["app", "names", "host=@B", *values(settings)])
