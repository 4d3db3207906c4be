"""Loss, disorder, copies and interruptions."""

from programs import bulk, iperf, iperf3, iperf3_server, iperf_server, send, sink, values
from trial import Trial, both, case, counted, frames_of, path, slower


def cc_of(draw):
    return draw.turn("cc", ["reno", "cubic"])


@case("random-loss", ["random-loss", "wire-errors"], "Frames are lost at random, whatever the load.", count=5)
def random_loss(draw):
    rate, rtt = draw.log("rate", 15e6, 70e6), draw.log("rtt_ms", 8, 70)
    way = path(rate, rtt, frames_of(rate, rtt, 1.2, 80), ab_loss=draw.log("loss", 0.003, 0.035))
    if draw.turn("program", ["iperf3", "iperf"]) == "iperf3":
        return Trial(way, iperf3("-C", cc_of(draw), seconds=5), [iperf3_server()], measure="iperf3",
                     without={"path": {"ab.loss": 0}}, check=both(slower(1.5), counted("ab", "lost", 8)))
    return Trial(way, iperf("-Z", cc_of(draw), seconds=5), [iperf_server()], measure="iperf",
                 without={"path": {"ab.loss": 0}}, check=both(slower(1.5), counted("ab", "lost", 8)))


@case("loss-in-bursts", ["loss-in-bursts", "queue-overflow"],
      "The receiver has one buffer and is busy with a frame for longer than the next one takes to arrive.", count=4)
def loss_in_bursts(draw):
    rate, rtt = draw.turn("rate", [100e6, 10e6]), draw.log("rtt_ms", 2, 25)
    frame_us = 1538 * 8 / rate * 1e6
    busy = {"ab.busy_min": frame_us * draw.between("least", 0.3, 0.7),
            "ab.busy_max": frame_us * draw.between("most", 1.2, 2.2)}
    return Trial(path(rate, rtt, 200, **busy), send(2e6, cc=cc_of(draw), for_=5), [sink()],
                 without={"path": dict.fromkeys(busy), "client": send(bulk(rate, 4), cc=cc_of(draw))},
                 check=both(slower(1.5), counted("ab", "busy", 15)))


@case("duplicate-frames", ["duplicate-frames", "path-rate"],
      "A good part of the frames is there twice and takes time of the link, which is full.",
      kinds=("sender", "receiver", "late", "snapped"))
def duplicate_frames(draw):
    rate, rtt = draw.log("rate", 4e6, 25e6), draw.log("rtt_ms", 2, 20)
    way = path(rate, rtt, frames_of(rate, rtt, 1.5, 60), duplicate=draw.between("duplicate", 0.3, 0.9))
    return Trial(way, send(bulk(rate, 3.5), cc=draw.turn("cc", ["reno", "bbr", "cubic"])), [sink()],
                 without={"path": {"duplicate": 0}}, check=both(slower(1.2), counted("ab", "duplicated", 100)))


@case("checksum-errors", {"receiver": ["checksum-errors"], "else": ["random-loss", "wire-errors", "checksum-errors"]},
      "Bits change behind the last FCS, and the receiver discards what has a wrong checksum. Elsewhere it is a loss.",
      count=4, kinds=("sender", "receiver", "late-receiver", "middle"))
def checksum_errors(draw):
    rate, rtt = draw.log("rate", 15e6, 60e6), draw.log("rtt_ms", 6, 50)
    way = path(rate, rtt, frames_of(rate, rtt, 1.2, 80), ab_corrupt=draw.log("corrupt", 0.006, 0.05))
    return Trial(way, send(bulk(rate, 3), cc=cc_of(draw), for_=5), [sink()],
                 without={"path": {"ab.corrupt": 0}}, check=both(slower(1.4), counted("ab", "corrupted", 8)))


@case("reordering", ["reordering"], "Some packets overtake others, and the sender takes that for loss.", count=4)
def reordering(draw):
    rate, rtt = draw.log("rate", 15e6, 60e6), draw.log("rtt_ms", 15, 60)
    way = path(rate, rtt, frames_of(rate, rtt, 1.2, 80), ab_reorder=draw.log("share", 0.008, 0.05),
               ab_reorder_by=1000 * draw.between("by_ms", 4, 14))
    intolerant = {"net.ipv4.tcp_max_reordering": 3, "net.ipv4.tcp_recovery": 0, "net.ipv4.tcp_timestamps": 0,
                  "net.ipv4.tcp_dsack": 0}
    return Trial(way, send(bulk(rate, 4), cc="reno", for_=6), [sink()], sysctl={"A": intolerant, "B": intolerant},
                 without={"path": {"ab.reorder": 0}}, check=both(slower(1.4), counted("ab", "reordered", 10)))


@case("no-sack", ["no-sack", "random-loss", "wire-errors"],
      "Frames are lost at random, and without selective acknowledgments each recovery takes a round trip per loss: "
      "both cost.", gain=False, count=3, kinds=("sender", "receiver", "middle", "snapped"))
def no_sack(draw):
    rate, rtt = draw.log("rate", 15e6, 50e6), draw.log("rtt_ms", 20, 90)
    way = path(rate, rtt, frames_of(rate, rtt, 1.2, 80), ab_loss=draw.log("loss", 0.012, 0.04))
    way, sysctl, without = without_sack(draw, way)
    return Trial(way, send(bulk(rate, 3), cc=cc_of(draw), for_=7), [sink()], sysctl=sysctl, without=without,
                 check=slower(1.15))


@case("no-sack-overflow", ["no-sack"],
      "A queue overflows, as queues do; without selective acknowledgments each recovery takes many round trips.",
      count=4, kinds=("sender", "receiver", "middle", "snapped"))
def no_sack_overflow(draw):
    rate, rtt = draw.log("rate", 15e6, 60e6), draw.log("rtt_ms", 40, 140)
    way = path(rate, rtt, frames_of(rate, rtt, draw.between("queue_bdp", 0.7, 1.1)))
    way, sysctl, without = without_sack(draw, way)
    return Trial(way, send(bulk(rate, 4), cc=cc_of(draw), for_=9), [sink()], sysctl=sysctl, without=without,
                 check=both(slower(1.3), counted("ab", "overflowed", 8)))


def without_sack(draw, way):
    """Either an end does not offer it, or a device on the path removes the option."""
    by = draw.turn("by", ["path", "receiver", "sender"])
    if by == "path":
        return {**way, "strip": 1}, {}, {"path": {"strip": 0}}
    end = "B" if by == "receiver" else "A"
    return way, {end: {"net.ipv4.tcp_sack": 0}}, {"sysctl": {end: {}}}


@case("link-interrupted", ["link-interrupted"],
      "For a while nothing passes in either direction, neither the transfer nor pings.", count=4, steady=False,
      late=(0.12, 0.28))
def link_interrupted(draw):
    rate, rtt = draw.log("rate", 3e6, 12e6), draw.log("rtt_ms", 3, 40)
    length = draw.log("length_ms", 700, 2600)
    way = path(rate, rtt, frames_of(rate, rtt, 1.2, 50), outage=[f"{draw.between('from_ms', 2600, 3400):g},{length:g}"])
    return Trial(way, send(bulk(rate, 5), cc=draw.turn("cc", ["cubic", "bbr", "reno"])), [sink()],
                 beside=[("A", ["ping", "-n", "-i", "0.2", "@B"])], longest=30,
                 without={"path": {"outage": []}}, check=both(slower(1.1), counted("ab", "outage", 2)))


@case("retransmission-stalls", ["retransmission-stalls", "random-loss"],
      "Short messages: a loss has to wait for the timer. The losses are the deeper cause.", count=4)
def retransmission_stalls(draw):
    rtt = draw.log("rtt_ms", 3, 25)
    sizes = {"request": draw.whole("request", 100, 1200), "answer": draw.whole("answer", 200, 2600)}
    way = path(30e6, rtt, 100, loss=draw.log("loss", 0.02, 0.06))
    count = int(3500 / (rtt + 1))
    return Trial(way, ("A", ["app", "ask", "host=@B", "nodelay=1", "for=8", f"count={count}", *values(sizes)]),
                 [("B", ["app", "serve", "nodelay=1", *values(sizes)])], sender="B", without={"path": {"loss": 0}},
                 check=both(slower(1.5)))


@case("mtu-black-hole", ["mtu-black-hole"],
      "Packets above a size vanish without a message; small ones pass. Some stacks find out after a few time-outs. At "
      "the receiver nothing shows.", count=4, kinds=("sender", "middle", "snapped-sender"))
def mtu_black_hole(draw):
    rate, rtt = draw.log("rate", 10e6, 40e6), draw.log("rtt_ms", 5, 50)
    way = path(rate, rtt, 80, mtu=draw.whole("mtu", 1280, 1480))
    probing = draw.turn("probing", [0, 1])
    sizes = {"request": draw.whole("request", 80, 300), "answer": 200}
    first = f"{APP} ask host=@B port=5002 count=5 nodelay=1 {' '.join(values(sizes))} > /dev/null"
    return Trial(way, ("A", ["sh", "-c", f"{first}; timeout 9 {APP} send host=@B octets=400000"]),
                 [sink(), ("B", ["app", "serve", "port=5002", *values(sizes)])], measure="none",
                 sysctl={"A": {"net.ipv4.tcp_mtu_probing": probing}}, check=counted("ab", "black_hole", 3))


APP = "$HELDOUT_BUILD/app"
