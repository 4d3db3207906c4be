"""Healthy boards, hosts and lines of the simulation: nothing may be named but the path's rate."""

from checks import between, both, check, filled, nothing_missing
from draw import control
from simulated import ROOMY, exchange, world


@control("board-fills-line", "A board sends or receives; the line is full.", count=4, check=filled(0.8))
def board_fills_line(d):
    sender, rate, rtt = d.turn("sender", "A", "B"), d.turn("rate", d.log("slow", 96e3, 500e3), d.log("middling", 0.8e6, 4e6), 10e6, d.log("fast", 12e6, 40e6)), d.log("rtt_ms", 0.6, 12)
    room = int(max(6 * 1460, 2.2 * rate / 8e3 * rtt + 8 * 1460))
    # What the board grants, or keeps, is more than the path holds; the line's queue takes the rest.
    return world(sender, "B", rate, rtt, 4, queue_ms=1.4 * room * 8e3 / rate, board_sends=room, board_receives=room, stack=d.turn("stack", "full", "plain"), ring=400,
                 acks_each=d.turn("acks_each", 1, 2))


@control("host-fills-line", "A host sends to another one; the line is full.", count=4, check=filled(0.8))
def host_fills_line(d):
    rate, rtt = d.turn("rate", d.log("odd", 0.7e6, 6e6), d.log("quick", 15e6, 60e6), 100e6, d.log("other", 6e6, 15e6)), d.log("rtt_ms", 1, 40)
    return world("A", "", rate, rtt, 2.6 if rate > 5e7 else 4, tcp=d.turn("tcp", "TcpLinuxReno", "TcpCubic", "TcpHtcp", "TcpWestwood"), opens=d.turn("opens", "A", "B"),
                 queue_ms=max(25, 1.1 * rtt), access=1e9)


@control("shared-bus", "The ends share a half-duplex segment, which is full.", count=3, check=filled(0.7))
def shared_bus(d):
    rate = d.turn("rate", 10e6, d.log("odd", 1e6, 6e6), 10e6)
    return world(d.turn("sender", "A", "B"), d.turn("boards", "", "B", "B"), rate, 0.02, 4, medium="bus", queue_ms=60, board_sends=24 * 1460, board_receives=24 * 1460, ring=400,
                 stack="plain", acks_each=2)


@control("fair-queue", "A line is full; its queue is managed.", count=3, check=filled(0.8))
def fair_queue(d):
    rate, rtt = d.log("rate", 2.4e6, 24e6), d.log("rtt_ms", 4, 40)
    return world(d.turn("sender", "B", "A"), "", rate, rtt, 4, disc=d.turn("disc", "fqcodel", "pie", "cobalt"), queue_ms=300,
                 tcp=d.turn("tcp", "TcpCubic", "TcpLinuxReno", "TcpIllinois"), **ROOMY)


@control("field-bus-polls", "A master polls a board at intervals, which answers at once.", count=4, check=both(between(2, 9), nothing_missing()))
def field_bus_polls(d):
    every, octets = d.log("interval_ms", 30, 400), int(d.log("answer", 9, 1_100))
    return exchange(d.turn("boards", "B", "AB"), d.log("rate", 0.5e6, 90e6), d.log("rtt_ms", 0.3, 70), request=int(d.log("request", 12, 80)), answer=octets, think=0,
                    client_pause=every, asks=max(8, int(3_400 / every)), acks_after=d.turn("acks_after", 40, 200))


@control("telemetry-push", "A board pushes a reading at intervals, by one connection.", count=3, check=both(between(2, 9), nothing_missing()))
def telemetry_push(d):
    every, octets = d.log("interval_ms", 60, 420), int(d.log("octets", 20, 700))
    it = world("B", "B", d.log("rate", 0.25e6, 60e6), d.log("rtt_ms", 0.5, 110), chunk=octets, pause=every, no_delay=True, acks_after=d.turn("acks_after", 40, 200))
    return {**it, "octets": octets * int(3_400 / every), "fixed_octets": True}


@control("voice-frames", "Datagrams are sent at the pace of their source, less than the path carries.", count=3, check=nothing_missing())
def voice_frames(d):
    rate, octets, share = d.log("rate", 0.5e6, 20e6), int(d.log("octets", 90, 1_300)), d.log("share", 0.1, 0.6)
    it = world("A", "", rate, d.log("rtt_ms", 0.5, 90), kind="datagrams", chunk=octets, pause=round(octets * 8e3 / (rate * share), 4))
    del it["octets"]
    return {**it, "simulated": {**it["simulated"], "seconds": 3.2}}


@control("one-page", "A short page is fetched once; it is over within a few round trips.", count=3, kinds=("sender", "receiver", "middle", "snapped"),
         check=both(nothing_missing(), check("it takes 5 round trips at most", lambda truth, trial: truth["seconds"] <= 5 * 2 * trial["simulated"]["delay"] / 1e3 + 0.05)))
def one_page(d):
    it = world("B", "B", d.log("rate", 4e6, 90e6), d.log("rtt_ms", 0.4, 20), opens="A", board_sends=8 * 1460, acks_each=1)
    return {**it, "octets": int(d.log("octets", 400, 4_200)), "fixed_octets": True, "least_s": 0}
