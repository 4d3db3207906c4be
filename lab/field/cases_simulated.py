"""Causes in ns-3: its TCPs, queues and error models. Nothing of the machine limits these."""

from checks import both, check, faster, missing
from draw import case
from setups import simulated, without

LOSS = ["random-loss", "wire-errors"]
# Later on few segments are lost, and the window grows.
SHALLOW = {"late": ["shallow-queue", "queue-overflow", "loss-in-bursts", "random-loss", "congestion-window"],
           "else": ["shallow-queue", "queue-overflow", "loss-in-bursts"]}
TCPS = ("TcpWestwood", "TcpLinuxReno", "TcpCubic", "TcpVegas")


def counted(name, least):
    return check(f"the simulation counts {name} of at least {least}", lambda truth, trial: truth["path"]["counts"][name] >= least)


def mostly_damaged():
    return check("twice as many packets are damaged as are lost in queues, or more",
                 lambda truth, trial: truth["path"]["counts"]["damaged"] >= 2 * truth["path"]["counts"]["queue_full"])


@case("simulated-loss", LOSS, "Packets are lost at random, alone.", 5, check=both(missing(6), mostly_damaged(), faster(1.3)))
def simulated_loss(d):
    rtt, rate = d.log("rtt_ms", 16, 70), d.log("rate", 8e6, 20e6)
    return without(simulated(rate, rtt, 2, 30 + 2 * rtt, tcp=d.turn("tcp", *TCPS), loss=d.log("loss", 0.007, 0.02)), loss=0)


@case("simulated-bursts", [*LOSS, "loss-in-bursts", "retransmission-stalls"], "Several packets in a row are lost at a time.", 2,
      check=both(missing(10), mostly_damaged(), faster(1.3)))
def simulated_bursts(d):
    rtt, rate = d.log("rtt_ms", 10, 40), d.log("rate", 7e6, 18e6)
    return without(simulated(rate, rtt, 2, 30 + 2.2 * rtt, tcp=d.turn("tcp", "TcpCubic", "TcpLinuxReno"), bursts=d.log("bursts", 0.003, 0.008),
                             burstlength=d.log("length", 2.5, 4.5)), bursts=0)


@case("simulated-window", ["receive-window"], "The receiver's buffer is smaller than what the path holds.", 5, check=faster(1.3))
def simulated_window(d):
    rate, window = d.log("rate", 8e6, 30e6), int(d.log("window", 6_000, 50_000))
    rtt = round(window * 8e3 / (rate * d.log("share", 0.12, 0.45)), 1)
    d.note(rtt_ms=rtt)
    return without(simulated(rate, rtt, 1.5, 60, rcvbuf=window, tcp=d.turn("tcp", "TcpCubic", "TcpWestwood", "TcpVegas")), rcvbuf=1 << 20)


@case("simulated-buffer", ["send-buffer", "congestion-window"], "The sender's buffer is smaller than what the path holds.", 3, check=faster(1.3))
def simulated_buffer(d):
    rate, buffer = d.log("rate", 8e6, 26e6), int(d.log("buffer", 7_000, 28_000))
    rtt = round(buffer * 8e3 / (rate * d.log("share", 0.1, 0.3)), 1)
    d.note(rtt_ms=rtt)
    return without(simulated(rate, rtt, 1.2, 60, sndbuf=buffer, tcp="TcpCubic"), sndbuf=1 << 20)


@case("simulated-shallow", SHALLOW, "The queue before the slowest link holds a few frames.", 3,
      check=both(counted("queue_full", 3), faster(1.3)))
def simulated_shallow(d):
    rtt, rate = d.log("rtt_ms", 40, 100), d.log("rate", 8e6, 18e6)
    it = simulated(rate, rtt, 3, 1.3 * rtt, tcp=d.turn("tcp", "TcpLinuxReno", "TcpCubic"))
    whole = it["simulated"]["queue"]
    it["simulated"]["queue"] = int(d.log("frames", 3, 8, 1))
    return without(it, queue=whole)


@case("simulated-modem", ["bufferbloat", "path-rate"], "The queue before a slow link holds the better part of a second.", 3, gain=False,
      check=both(counted("queue_ms_max", 260), check("the link is full", lambda truth, trial: truth["goodput_bits_per_s"] > 0.75 * trial["rate"])))
def simulated_modem(d):
    return simulated(d.log("rate", 0.8e6, 4e6), d.log("rtt_ms", 12, 50), 6, d.log("queue_ms", 450, 1_200), tcp=d.turn("tcp", "TcpCubic", "TcpLinuxReno"))


@case("simulated-way-back", ["ack-path-full"], "Acknowledgments fill the way back.", 3, check=faster(1.3))
def simulated_way_back(d):
    rtt, rate = d.log("rtt_ms", 10, 50), d.log("rate", 10e6, 20e6)
    it = simulated(rate, rtt, 1, 25, tcp=d.turn("tcp", "TcpLinuxReno", "TcpCubic"), back=int(d.log("back_bits_per_s", 26e3, 80e3)))
    it["simulated"]["backqueue"] = int(d.log("back_frames", 35, 70))
    return without(it, back=0, backqueue=200)


@case("simulated-outage", ["link-interrupted"], "The link between the routers is interrupted once.", 3, late=(0.06, 0.12), truncated=(0.85, 0.95), check=faster(1.3))
def simulated_outage(d):
    rtt, rate = d.log("rtt_ms", 6, 50), d.log("rate", 2e6, 7e6)
    return without(simulated(rate, rtt, 3, 25, tcp=d.turn("tcp", "TcpCubic", "TcpWestwood"), at=d.log("at_s", 2.2, 2.8), for_=d.log("for_s", 1.3, 2.4)), **{"for": 0})


@case("simulated-short-and-far", ["congestion-window"], "A short transfer over a long path, with a first window of few segments.", 3, gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85),
      check=both(check("nothing is lost", lambda truth, trial: truth["lost_segments"] == 0),
                 check("payload takes at most half of the rate", lambda truth, trial: truth["goodput_bits_per_s"] < 0.5 * trial["rate"])))
def simulated_short_and_far(d):
    return {**simulated(d.log("rate", 15e6, 40e6), d.log("rtt_ms", 120, 560), 1, 80, iw=d.turn("iw", 2, 4), tcp="TcpCubic"),
            "octets": int(d.log("octets", 40e3, 130e3)), "fixed_octets": True, "least_s": 0.3}


@case("simulated-late-acks", ["late-acks", "receive-window", "delayed-ack-with-nagle"],
      "The receiver delays acknowledgments, and its window holds less than the segments that it waits for.", 3, check=faster(1.3))
def simulated_late_acks(d):
    rtt = d.log("rtt_ms", 1.5, 9)
    it = simulated(10e6, rtt, 0.4, 30, rcvbuf=int(d.log("window", 2_930, 5_800)), delackms=int(d.log("delay_ms", 60, 190)), delack=8, tcp="TcpCubic")
    return without(it, delack=1)


@case("simulated-server-thinks", ["server-think-time", "peer-turnaround"], "The server takes its time for each answer.", 3, gain=False,
      check=check("there are answers", lambda truth, trial: truth["path"]["counts"]["served"] >= 5))
def simulated_server_thinks(d):
    think = d.log("think_ms", 140, 600)
    return simulated(10e6, d.log("rtt_ms", 2, 30), role="requests", request=int(d.log("request", 60, 300)), chunk=int(d.log("answer", 300, 9_000)),
                     think=think, pause=0, requests=max(6, int(4_200 / think)))


@case("simulated-above-rate", ["above-path-rate"], "Datagrams are sent at more than the path carries.", 2, gain=False,
      kinds=("receiver", "late", "truncated", "snapped"), check=missing(40))
def simulated_above_rate(d):
    rate, octets = d.log("rate", 1.2e6, 6e6), int(d.log("octets", 500, 1_400))
    return {**simulated(rate, d.log("rtt_ms", 5, 40), role="datagrams", chunk=octets, every=round(octets * 8e3 / (rate * d.log("factor", 1.4, 2.2)), 4), seconds_=5),
            "one_end": "receiver"}


@case("simulated-sender-stops", ["sender-stalls", "sender-idle"], "The sending program stands still at intervals.", 2, check=faster(1.3))
def simulated_sender_stops(d):
    rate = d.log("rate", 3e6, 9e6)
    return without(simulated(rate, d.log("rtt_ms", 3, 30), 2, works=d.log("works_ms", 260, 640), stops=d.log("stops_ms", 380, 800), sndbuf=30_000), stops=0)


@case("simulated-client-thinks", ["client-think-time"], "The client works on each part before it asks for the next.", 2, gain=False,
      check=check("there are answers", lambda truth, trial: truth["path"]["counts"]["served"] >= 5))
def simulated_client_thinks(d):
    think = d.log("think_ms", 200, 520)
    return simulated(d.log("rate", 12e6, 30e6), d.log("rtt_ms", 2, 20), role="requests", request=int(d.log("request", 60, 200)),
                     chunk=int(d.log("answer", 26_000, 80_000)), pause=think, requests=max(6, int(4_200 / think)))
