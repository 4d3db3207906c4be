"""Connections that open late or not at all, names, filters, and what forgets."""

from checks import both, check, faster, no_payload
from cases_ends import asks, reports
from cases_path import NEAR, counted
from draw import case
from setups import base, line, without

CLIENT = ("sender", "middle", "late", "truncated", "snapped")


def fails(least):
    return check(f"at least {least} attempts fail", lambda truth, trial: truth["path"]["program"]["failures"] >= least)


def tries(draw, port, count, retry_ms, wait_ms, **more):
    return {"kind": "attempts", "flavour": "http", "port": port, "count": count, "answer": 300, "retry_ms": retry_ms, "wait_ms": wait_ms, "wait_spread": 0.3, **more}


@case("first-packets-lost", ["slow-handshake"], "The first packet of each connection is lost now and then, and comes again after a second.", count=2, kinds=NEAR, check=both(faster(1.4), counted("lost", 3)))
def first_packets_lost(draw):
    rtt = draw.log("rtt_ms", 3, 40)
    clean = line(draw.log("rate", 1e7, 1e8), rtt / 2, 80)
    program = asks(draw, "http", 80, 22, answer=800, answer_most=4000, is_new_each=True, wait_ms=draw.log("wait_ms", 80, 250), wait_spread=0.4)
    loss = {"kind": "loss", "share": draw.log("share", 0.2, 0.3), "syn": True, "dir": draw.turn("dir", "up", "down")}
    it = base(draw, "B", [clean, loss], program, one_end="receiver", middle="a")
    return without(it, path=[clean])


@case("name-server-does-not-answer", ["name-resolution"], "The first query of a name has no answer; the client asks again after seconds.", count=2, late=(0.1, 0.3), check=both(faster(1.5), reports("name_s", 0.4)))
def name_server_silent(draw):
    retry = draw.turn("retry_ms", 5000, 2000, 3000)
    program = {"kind": "names", "flavour": "http", "port": 80, "count": 4, "depth": 3, "answer": 15000, "answer_most": 90000, "name_ms": 20, "name_lost": 1, "retry_ms": retry, "wait_ms": 300, "wait_spread": 0.4}
    it = base(draw, "B", [line(draw.log("rate", 1e7, 5e7), draw.log("delay_ms", 2, 15), 80)], program)
    return without(it, program={"name_lost": 0})


@case("name-server-is-slow", ["name-resolution"], "The name server takes a second before each connection.", count=2, late=(0.1, 0.3), check=both(faster(1.5), reports("name_s", 0.4)))
def name_server_slow(draw):
    program = {"kind": "names", "flavour": "http", "port": 80, "count": 6, "depth": 3, "answer": 10000, "answer_most": 60000, "name_ms": draw.log("name_ms", 900, 2200), "retry_ms": 5000, "wait_ms": 200, "wait_spread": 0.4}
    it = base(draw, "B", [line(draw.log("rate", 1e7, 5e7), draw.log("delay_ms", 2, 15), 80)], program)
    return without(it, program={"name_ms": 15})


@case("nothing-listens", ["refused"], "No program listens on the port.", count=2, gain=False, check=both(no_payload(), fails(6)))
def nothing_listens(draw):
    stack = draw.turn("stack", "host", "smoltcp", "small")
    it = base(draw, "A", [line(1e8, draw.log("delay_ms", 0.2, 15), 50)], tries(draw, draw.turn("port", 8883, 502, 8080), 9, 3000, draw.log("wait_ms", 500, 1500), fault="closed"),
              b={"stack": stack, **({"frame_us": 80} if stack != "host" else {})})
    return it


@case("firewall-rejects", ["refused"], "A firewall answers with a reset or with ICMP.", count=2, kinds=CLIENT, gain=False, check=both(no_payload(), fails(6)))
def firewall_rejects(draw):
    answer, port = draw.turn("answer", "icmp", "reset"), draw.turn("port", 8443, 5432)
    return base(draw, "A", [line(1e8, draw.log("delay_ms", 0.5, 15), 50), {"kind": "filter", "ports": [port], "answer": answer, "dir": "up"}],
                tries(draw, port, 9, 4000, draw.log("wait_ms", 500, 1500), fault="closed"), one_end="sender")


@case("firewall-drops", ["no-answer"], "A firewall drops the requests to connect.", count=2, kinds=CLIENT, gain=False, check=both(no_payload(), fails(2)))
def firewall_drops(draw):
    port = draw.turn("port", 8443, 1883, 502)
    stack = draw.turn("stack", "host", "host", "smoltcp")
    return base(draw, "A", [line(1e8, draw.log("delay_ms", 0.5, 15), 50), {"kind": "filter", "ports": [port], "answer": "silence", "dir": "up"}],
                tries(draw, port, 4, draw.turn("retry_ms", 9000, 12000), 1000, fault="closed"), one_end="sender", a={"stack": stack, **({"frame_us": 80} if stack != "host" else {})})


@case("station-is-off", ["no-answer"], "The station in the same network is off: nothing answers ARP.", count=2, kinds=("sender", "middle", "late", "snapped"), gain=False, check=both(no_payload(), fails(2)))
def station_is_off(draw):
    return base(draw, "A", [line(1e8, 0.1, 50), {"kind": "outage", "at_ms": [0], "for_ms": 1e9}], tries(draw, 502, 4, draw.turn("retry_ms", 5000, 7000), 1500, fault="closed"),
                one_end="sender", routed=False, nat=False, middle="a")


@case("sensor-does-not-answer", ["no-answer"], "A sensor does not answer requests by UDP, which are repeated with growing pauses.", count=2, gain=False, check=fails(2),
      kinds=("sender", "middle", "late", "truncated", "snapped"))
def sensor_does_not_answer(draw):
    flavour, port = draw.turn("service", ("coap", 5683), ("snmp", 161))
    program = {"kind": "asks", "flavour": flavour, "port": port, "count": 3, "retry_ms": draw.turn("retry_ms", 1000, 2500), "retries": 3, "doubles": True, "fault": "mute", "wait_ms": 1500, "wait_spread": 0.3}
    return base(draw, "A", [line(1e8, draw.log("delay_ms", 0.5, 12), 50)], program, one_end="sender", limit_s=200, b={"stack": "smoltcp", "frame_us": 60})


@case("server-hangs-after-some-answers", ["no-answer", "server-think-time"], "The server's program hangs: it acknowledges requests, and answers no more.", count=2, gain=False, late=(0.2, 0.4), check=fails(1),
      kinds=("sender", "receiver", "middle", "late", "snapped"))
def server_hangs(draw):
    program = asks(draw, "http", 80, 30, answer=600, answer_most=4000, wait_ms=draw.log("wait_ms", 100, 250), wait_spread=0.3, fault="mute", retry_ms=draw.turn("gives_up_ms", 10000, 15000))
    return base(draw, "B", [line(draw.log("rate", 1e7, 1e8), draw.log("delay_ms", 1, 20), 80)], program, limit_s=60)


@case("snmp-agent-is-slow", ["server-think-time"], "An agent takes some ten milliseconds for each value.", count=2, check=both(faster(1.8), reports("server_s", 0.6)))
def snmp_agent_is_slow(draw):
    think = draw.log("think_ms", 25, 80)
    flavour, port = draw.turn("service", ("snmp", 161), ("bacnet", 47808))
    program = {"kind": "asks", "flavour": flavour, "port": port, "count": int(6000 / think), "retry_ms": 3000, "retries": 2, "think_ms": think, "think_spread": 0.2}
    it = base(draw, "B", [line(1e8, draw.log("delay_ms", 0.1, 2), 50)], program, b={"stack": draw.turn("stack", "small", "smoltcp"), "frame_us": 80})
    return without(it, program={"think_ms": 0})
