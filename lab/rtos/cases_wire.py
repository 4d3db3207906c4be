"""Causes on the path to a board."""

from boards import board, either, from_board, to_board
from checks import both, check, faster, filled, missing, no_payload
from draw import case
from path_checks import LOSS, SHALLOW, counted, filtered, mostly_netem, queued
from setups import delays, disturbed_by, line, octets_in, tbf
from stacks import seen


# FreeRTOS+TCP acknowledges a wide window once or twice.
STRETCHED = "stretch-acks"


def rule(text):
    return f"table ip wire {{\nchain f {{\ntype filter hook forward priority -20;\n{text}\n}}\n}}\n"


@case("bad-contact", [*LOSS, "retransmission-stalls", "no-sack", STRETCHED], "Frames are lost at random on the way.", 4, check=both(missing(5), mostly_netem(), faster(1.3)))
def bad_contact(d):
    rtt, rate, share = d.log("rtt_ms", 8, 56), d.log("rate", 8e6, 30e6), d.log("loss_percent", 0.7, 2.4)
    it = either(d, rate * 0.2, "from freertos:wide curl", "to freertos:scaled iperf", "from wolfip-large push-nc", "to sockets-scaled put", seconds=3)
    return disturbed_by({**line(rate, rtt, 40 + 6 * rtt), **it}, rtt, f"loss random {share}%")


@case("weak-radio", [*LOSS, "loss-in-bursts", "retransmission-stalls", "no-sack", STRETCHED], "Several frames at a time are lost, as on a weak radio link.", 2,
      check=both(missing(8), mostly_netem(), faster(1.3)))
def weak_radio(d):
    rtt, rate = d.log("rtt_ms", 10, 50), d.log("rate", 7e6, 24e6)
    begins, length = d.log("begins_percent", 0.7, 1.6), d.log("length_packets", 2, 4)
    it = either(d, rate * 0.15, "to freertos:scaled put", "to sockets-scaled nc", seconds=4)
    return disturbed_by({**line(rate, rtt, 40 + 6 * rtt), **it}, rtt, f"loss gemodel {begins}% {100 / length:.1f}%")


@case("tariff", ["policed", STRETCHED], "A policer drops what exceeds a rate; nothing queues.", 3, check=both(counted("policed", 10), faster(1.3)))
def tariff(d):
    at = d.log("policed_bits_per_s", 5e6, 9e6) if d.turn("contract", "low", "high") == "high" else d.log("policed_bits_per_s", 0.9e6, 2e6)
    rtt, rate, burst = d.log("rtt_ms", 5, 44), 50e6 if d.settings["contract"] == "high" else 14e6, d.log("burst_octets", 8_000, 60_000)
    it = either(d, at * 0.8, "from sockets-wide curl", "to freertos:scaled iperf", "to sockets-scaled post", seconds=4)
    return {**line(rate, rtt, 40), **it, "police": f"rate {int(at)} burst {burst}", "without": {"police": f"rate {int(rate * 2)} burst 400000"}}


@case("few-frames", {key: [*names, STRETCHED] for key, names in SHALLOW.items()},
      "A fast port feeds a slower one with room for a few frames.", 3, check=both(counted("shaper_drops", 4), faster(1.3)))
def few_frames(d):
    rate, frames, rtt = d.log("rate", 8e6, 36e6), int(d.log("frames", 3, 10, 1)), d.log("rtt_ms", 20, 84)
    it = either(d, rate * 0.4, "from sockets-scaled push-nc", "to freertos:scaled put", "to sockets-scaled iperf", seconds=3)
    it = {**line(rate, rtt, 1.5 * rtt + 10), **it, "congestion": "reno"}
    shape = f"htb {int(rate)}; pfifo limit {frames}" if d.turn("how", "tbf", "pfifo") == "pfifo" else tbf(rate, frames * 1514)
    return {**it, "shape": {**it["shape"], "there": shape}, "without": {"shape": it["shape"]}}


@case("looped", ["duplicate-frames"], "Frames arrive twice.", 2, gain=False, kinds=("receiver", "late", "truncated", "snapped"),
      check=check("the receiver captures more than was sent", lambda truth, trial: truth["lost_segments"] < -30))
def looped(d):
    rtt, rate, share = d.log("rtt_ms", 1, 32), d.log("rate", 5e6, 36e6), d.log("duplicate_percent", 10, 90)
    it = either(d, rate, "from sockets-12 wget", "to freertos:12 iperf")
    return {**line(rate, rtt), **it, "one_end": "receiver", "netem": delays(rtt, f"duplicate {share}%")}


@case("full-modem", ["bufferbloat", "path-rate"], "A slow line whose queue holds the better part of a second.", 3, gain=False, check=both(filled(0.75), queued(240)))
def full_modem(d):
    it = either(d, 0.5e6, "to sockets-scaled nc", "to freertos:scaled put", "from sockets-wide curl", seconds=6)
    rate, ms = d.log("rate", 0.3e6, 0.9e6), d.log("queue_ms", 480, 1_500)
    it = {**line(rate, d.log("rtt_ms", 6, 64)), **it, "octets": int(rate * 0.8), "congestion": "cubic", "there_rate": rate}
    return {**it, "shape": {**it["shape"], "there": f"htb {int(rate)}; bfifo limit {octets_in(rate, ms)}"}}


@case("narrow-back", ["ack-path-full"], "The way back is so narrow that the board's acknowledgments fill it.", 2, check=both(queued(60, "back"), faster(1.3)))
def narrow_back(d):
    rtt, rate, back = d.log("rtt_ms", 4, 40), d.log("rate", 8e6, 28e6), d.log("back_bits_per_s", 20e3, 60e3)
    it = {**line(rate, rtt, 30), **either(d, rate * 0.15, "to sockets-scaled iperf", "to wolfip-large nc"), "back_rate": back}
    return {**it, "shape": {**it["shape"], "back": f"htb {int(back)}; pfifo limit {int(d.log('back_frames', 25, 80))}"}, "without": {"shape": it["shape"]}}


@case("roams", ["link-interrupted"], "The link passes nothing for a while, in both directions.", 2, late=(0.06, 0.12), truncated=(0.85, 0.95), check=faster(1.3))
def roams(d):
    rate, rtt, after, length = d.log("rate", 1.2e6, 5e6), d.log("rtt_ms", 2, 56), d.log("after_ms", 800, 1_500), d.log("silent_ms", 1_300, 2_600)
    it = {**line(rate, rtt, 30), **either(d, rate * 0.7, "from sockets-12 curl", "to freertos:12 put")}
    events = [((after + at) / 1e3, end, "tc", "qdisc", "change", "dev", device, "root", "netem", "limit", "5000", "delay", f"{rtt / 2:.3f}ms", "loss", loss)
              for at, loss in ((0, "100%"), (length, "0%")) for end, device in (("S", "to_b"), ("R", "to_a"))]
    return {**it, "events": events, "without": {"events": []}}


@case("tunnel", ["mtu-black-hole"], "A tunnel drops full packets without a message.", 2, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.85), check=filtered("R", 3))
def tunnel(d):
    rtt, size = d.log("rtt_ms", 3, 60), d.log("most_octets", 1_200, 1_470)
    it = {**line(12e6, rtt), **either(d, 1e6, "to wolfip put", "from freertos:8 curl"), "one_end": "sender", "longest": 9, "fixed_octets": True}
    return {**it, "nft": {"R": rule(f"ip length > {size} counter drop")}}


@case("syn-lost", ["slow-handshake"], "The first SYN is lost on the way to the board.", 2, gain=False,
      kinds=("receiver", "middle", "snapped"), check=check("opening takes 0.4 s or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.4))
def syn_lost(d):
    rtt, octets = d.log("rtt_ms", 1, 44), int(d.log("octets", 4_000, 60_000))
    it = {**line(8e6, rtt, 80), **from_board(octets * 8, d.turn("stack", "mongoose", "freertos:8"), "wget", 1), "least_s": 0, "one_end": "receiver", "fixed_octets": True}
    again = ("tc", "qdisc", "change", "dev", "to_b", "root", "netem", "limit", "5000", *delays(rtt)["back"].split(), "loss", "0%")
    return {**it, "netem": delays(rtt, back="loss 100%"), "events": [(0.7, "S", *again)]}


@case("nobody-there", ["no-answer"], "What is sent to the board, or what it answers, does not arrive.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"),
      truncated=(0.8, 0.95), check=no_payload())
def nobody_there(d):
    it = {**line(8e6, d.log("rtt_ms", 1, 60)), "sender": "A", "one_end": "sender", "servers": [("B", board("freertos:4", "role=sink port=23"))], "longest": 9, "least_s": 0,
          "client": f"nc -w 8 -d @B {d.turn('port', '23', '8883')}; true"}
    return {**it, "nft": {"R": rule(d.turn("how", "ip saddr 10.53.4.2 ip protocol tcp counter drop", "ip daddr 10.53.4.2 ip protocol tcp counter drop"))}}


@case("too-fast", ["above-path-rate"], "Numbered datagrams are sent at more than the path carries.", 3, gain=False,
      kinds=("receiver", "late", "truncated", "snapped"), check=missing(40))
def too_fast(d):
    rate, octets, rtt = d.log("rate", 0.8e6, 8e6), int(d.log("octets", 300, 1_440)), d.log("rtt_ms", 1, 44)
    sent = rate * d.log("factor", 1.3, 2.6)
    stack = d.turn("stack", "host", "freertos:8", "wolfip")
    if stack == "host":
        return {**line(rate, rtt, 50), "sender": "A", "one_end": "receiver", "servers": [("B", board("sockets-12", "role=take port=5001"))],
                "client": f"timeout 5 iperf -c @B -u -b {int(sent)} -l {octets} -t 3; true"}
    pause = int(d.turn("pause_ms", "10", "4", "8"))
    burst = max(1, round(sent * pause / 8e3 / octets))
    return {**line(rate, rtt, 50), "sender": "B", "client_at": "B", "one_end": "receiver", "servers": [("A", "@P listen @A 4100 take")],
            "client": board(stack, f"role=stream port=4100 chunk={octets} count={burst} pause={pause} seconds=3")}


@case("two-paths", ["reordering", STRETCHED], "Frames take ways of different lengths; the sender takes it for losses.", 2,
      check=both(faster(1.3), seen("sent_again", 5), check("nothing is lost", lambda truth, trial: truth["lost_segments"] <= 0)))
def two_paths(d):
    rtt, rate = d.log("rtt_ms", 14, 50), d.log("rate", 8e6, 24e6)
    it = {**line(rate, rtt, 60 + 6 * rtt), **either(d, rate * 0.2, "to freertos:scaled put", "to sockets-scaled nc"), "congestion": "reno"}
    it["sysctl"] = {"A": {"net.ipv4.tcp_recovery": 0, "net.ipv4.tcp_max_reordering": 3}}
    jitter = d.log("jitter_ms", 3, 9)
    return {**it, "netem": {**delays(rtt), "there": f"delay {rtt / 2:.3f}ms {jitter}ms"}, "without": {"netem": delays(rtt)}}
