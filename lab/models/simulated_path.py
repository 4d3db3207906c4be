"""Causes on the simulated path: losses, queues, policers, interruptions, narrow ways back."""

from checks import both, check, faster, filled, missing
from draw import case
from simulated import ROOMY, WIDE, counted, roomy, exchange, mostly_damaged, without, world

LOSS = ["random-loss", "wire-errors"]
SHALLOW = {"late": ["shallow-queue", "queue-overflow", "loss-in-bursts", "random-loss", "congestion-window"],
           "else": ["shallow-queue", "queue-overflow", "loss-in-bursts"]}


@case("damaged-frames", [*LOSS, "retransmission-stalls"], "Frames are lost at random, alone.", 4, check=both(missing(6), mostly_damaged(), faster(1.3)))
def damaged_frames(d):
    rtt, rate, sender = d.log("rtt_ms", 10, 70), d.log("rate", 5e6, 20e6), d.turn("sender", "A", "B")
    it = world(sender, d.turn("boards", "", "B", "B", ""), rate, rtt, 3, goodput=rate * 0.3, loss=d.log("loss", 0.013, 0.035),
               tcp=d.turn("tcp", "TcpLinuxReno", "TcpCubic", "TcpHtcp"), **roomy(rate, rtt, 50 + 3 * rtt))
    return without(it, loss=0)


@case("bursts-of-noise", [*LOSS, "loss-in-bursts", "retransmission-stalls"], "Several packets in a row are lost at a time.", 3, check=both(missing(8), mostly_damaged(), faster(1.3)))
def bursts_of_noise(d):
    rtt, rate = d.log("rtt_ms", 8, 50), d.log("rate", 4e6, 18e6)
    it = world(d.turn("sender", "B", "A"), d.turn("boards", "B", "", "B"), rate, rtt, 3, goodput=rate * 0.3, bursts=d.log("begins", 0.006, 0.014),
               burst_length=d.log("length", 2, 4), tcp=d.turn("tcp", "TcpLinuxReno", "TcpCubic"), **roomy(rate, rtt, 50 + 3 * rtt))
    return without(it, bursts=0)


@case("board-without-sack", ["no-sack", *LOSS, "loss-in-bursts", "retransmission-stalls"], "Several packets in a row are lost, and the boards as they come have no SACK.", 3,
      check=both(missing(8), mostly_damaged(), faster(1.3)))
def board_without_sack(d):
    rtt, rate = d.log("rtt_ms", 20, 70), d.log("rate", 4e6, 14e6)
    # The other end is a board with all options; its peer as it comes has none.
    it = world(d.turn("sender", "A", "B"), d.turn("boards", "AB", "B", "AB"), rate, rtt, 4, goodput=rate * 0.3, bursts=d.log("begins", 0.005, 0.012), burst_length=d.log("length", 2.5, 4.5),
               tcp="TcpLinuxReno", **{**roomy(rate, rtt, 50 + 2 * rtt), "stack": "plain"})
    it["simulated"] |= {"board_sends": min(60_000, it["simulated"]["board_sends"]), "board_receives": 65_535}
    return without(it, bursts=0)


@case("token-bucket", ["policed"], "A policer drops what exceeds a rate; nothing queues.", 4, check=both(counted("policed", 12), faster(1.3)))
def token_bucket(d):
    rtt, rate, at = d.log("rtt_ms", 8, 60), d.log("rate", 14e6, 40e6), d.log("policed_bits_per_s", 0.8e6, 6e6)
    it = world(d.turn("sender", "A", "B"), d.turn("boards", "", "", "B", ""), rate, rtt, 5, goodput=at * 0.8, police=int(at), bucket=int(d.log("bucket", 8_000, 60_000)),
               tcp=d.turn("tcp", "TcpCubic", "TcpLinuxReno", "TcpBbr", "TcpHtcp"), **roomy(rate, rtt, 60 + 2 * rtt))
    return without(it, octets=rate / 8 * 2, police=0)


@case("switch-of-few-buffers", SHALLOW, "The queue before the slowest link holds a few frames.", 4, check=both(counted("queue_full", 3), faster(1.3)))
def switch_of_few_buffers(d):
    rtt, rate = d.log("rtt_ms", 30, 110), d.log("rate", 4e6, 18e6)
    it = world(d.turn("sender", "B", "A"), d.turn("boards", "", "", "B", ""), rate, rtt, 5, goodput=rate * 0.6, tcp=d.turn("tcp", "TcpLinuxReno", "TcpCubic", "TcpHtcp"), **roomy(rate, rtt, 1.4 * rtt + 30))
    whole = it["simulated"]["queue"]
    it["simulated"]["queue"] = int(d.log("frames", 3, 8, 1))
    return without(it, queue=whole)


@case("modem-of-seconds", ["bufferbloat", "path-rate"], "A slow line whose queue holds the better part of a second.", 4, gain=False,
      check=both(filled(0.75), check("240 ms wait in the queue at least once", lambda truth, trial: truth["path"]["counts"]["queue_ms_max"] >= 240)))
def modem_of_seconds(d):
    rate = d.log("rate", 0.3e6, 3e6)
    return world(d.turn("sender", "B", "A"), d.turn("boards", "B", "", "", "B"), rate, d.log("rtt_ms", 4, 60), 5, queue_ms=d.log("queue_ms", 420, 1_600),
                 tcp=d.turn("tcp", "TcpCubic", "TcpLinuxReno"), **ROOMY)


@case("uplink-full-of-acks", ["ack-path-full"], "The way back is so narrow that acknowledgments fill it.", 3,
      check=both(check("60 ms wait on the way back at least once", lambda truth, trial: truth["path"]["counts"]["back_queue_ms_max"] >= 60), faster(1.3)))
def uplink_full_of_acks(d):
    rtt, rate = d.log("rtt_ms", 6, 50), d.log("rate", 8e6, 20e6)
    # CycloneTCP acknowledges each segment.
    it = world("A", d.turn("boards", "B", "", "B"), rate, rtt, 4, goodput=rate * 0.3, queue_ms=WIDE * 1514 * 8e3 / rate, back=int(d.log("back_bits_per_s", 28e3, 90e3)), back_queue=int(d.log("back_frames", 30, 90)),
               tcp=d.turn("tcp", "TcpCubic", "TcpLinuxReno"), **ROOMY)
    return without(it, back=0, back_queue=200)


@case("radio-gone", ["link-interrupted"], "The link passes nothing for a while, in both directions.", 3, late=(0.06, 0.12), truncated=(0.85, 0.95), check=faster(1.3))
def radio_gone(d):
    rtt, rate = d.log("rtt_ms", 4, 60), d.log("rate", 1.2e6, 7e6)
    it = world(d.turn("sender", "B", "A"), d.turn("boards", "B", "", "B"), rate, rtt, 3.4, queue_ms=max(40, 24 * 1460 * 8e3 / rate), down_at=d.log("at_s", 1, 1.5), down_for=d.log("for_s", 1.4, 2.4),
               **{**ROOMY, "board_sends": 16 * 1460, "host_sends": 16 * 1460, "board_receives": 16 * 1460})
    return without({**it, "fixed_octets": True}, down_for=0)


@case("flood-of-datagrams", ["above-path-rate"], "Datagrams are sent at more than the path carries.", 3, gain=False, kinds=("receiver", "late", "truncated", "snapped"), check=missing(40))
def flood_of_datagrams(d):
    rate, octets, factor = d.log("rate", 0.5e6, 8e6), int(d.log("octets", 200, 1_400)), d.log("factor", 1.3, 2.4)
    it = world("A", "", rate, d.log("rtt_ms", 1, 60), kind="datagrams", chunk=octets, pause=round(octets * 8e3 / (rate * factor), 4), queue_ms=d.log("queue_ms", 30, 120))
    del it["octets"]
    return {**it, "one_end": "receiver", "simulated": {**it["simulated"], "seconds": 3.2}}


@case("large-packets-vanish", ["mtu-black-hole"], "A link drops what is longer than it carries, and sends no message.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"),
      truncated=(0.6, 0.85), check=both(check("hardly anything arrives", lambda truth, trial: truth["octets"] < 3_000), counted("too_long", 3)))
def large_packets_vanish(d):
    it = world(d.turn("sender", "B", "A"), "B", 9e6, d.log("rtt_ms", 3, 60), longest_packet=int(d.log("longest", 600, 1_400)), board_sends=8_760, board_receives=8_760)
    return {**it, "octets": 60_000, "fixed_octets": True, "one_end": "sender", "least_s": 0, "simulated": {**it["simulated"], "seconds": 9}}


@case("syn-repeated", ["slow-handshake"], "The first SYN, or more, is lost.", 3, gain=False, kinds=("sender", "middle", "snapped"),
      check=check("opening takes 0.9 s or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.9))
def syn_repeated(d):
    it = world("A", d.turn("boards", "B", "AB", ""), d.log("rate", 4e6, 40e6), d.log("rtt_ms", 2, 60), lost_opening=d.turn("lost", 1, 2, 1), board_sends=8_760, board_receives=8_760)
    return {**it, "octets": int(d.log("octets", 4_000, 60_000)), "fixed_octets": True, "one_end": "sender", "least_s": 0}


@case("exchange-of-losses", ["retransmission-stalls", "random-loss", "wire-errors"], "Requests and answers are lost; only timers repair them.", 3, check=faster(1.3))
def exchange_of_losses(d):
    rtt, loss = d.log("rtt_ms", 3, 50), d.log("loss", 0.03, 0.09)
    it = exchange(d.turn("boards", "B", "AB", "A"), d.log("rate", 3e6, 30e6), rtt, request=int(d.log("request", 20, 160)), answer=int(d.log("answer", 40, 900)),
                  asks=int(3.6 / (rtt / 1e3 + loss * 2 * 0.8)), loss=loss, back_loss=loss, acks_after=40)
    return without(it, loss=0, back_loss=0)
