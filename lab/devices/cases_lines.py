"""Causes on the path to a device."""

from checks import both, check, faster, filled, missing, no_payload
from draw import case
from path_checks import LOSS, SHALLOW, counted, filtered, mostly_netem, queued
from setups import delays, disturbed_by, line, octets_in, tbf
from stacks import device, from_device, to_device


def rule(text):
    return f"table ip lines {{\nchain f {{\ntype filter hook forward priority -20;\n{text}\n}}\n}}\n"


def either(d, rate, *ways, seconds=2.6):
    """`to:STACK:PROGRAM` or `from:STACK:PROGRAM`, in turn."""
    way, stack, program = d.turn("way", *ways).split(":")
    return (to_device if way == "to" else from_device)(rate, stack, program, seconds, "receive=60000 send=60000" if stack == "smoltcp" else "")


@case("poor-cable", [*LOSS, "retransmission-stalls", "no-sack"], "Frames are lost at random on the way.", 5, check=both(missing(5), mostly_netem(), faster(1.3)))
def poor_cable(d):
    rtt, rate, share = d.log("rtt_ms", 10, 40), d.log("rate", 10e6, 26e6), d.log("loss_percent", 0.6, 2)
    it = either(d, rate * 0.2, "from:netstack:nc", "from:lwip-wide:curl", "to:lwip-scaled:lwiperf", "from:picotcp:nc", "to:smoltcp:socat", seconds=3)
    return disturbed_by({**line(rate, rtt, 40 + 6 * rtt), **it}, rtt, f"loss random {share}%")


@case("fades", [*LOSS, "loss-in-bursts", "retransmission-stalls", "no-sack"], "Several frames at a time are lost, as on a poor radio link.", 2,
      check=both(missing(8), mostly_netem(), faster(1.3)))
def fades(d):
    rtt, rate = d.log("rtt_ms", 8, 40), d.log("rate", 6e6, 20e6)
    begins, length = d.log("begins_percent", 0.4, 1.1), d.log("length_packets", 2, 4)
    it = either(d, rate * 0.15, "to:lwip-scaled:post", "from:lwip-wide:wget", seconds=4)
    return disturbed_by({**line(rate, rtt, 40 + 6 * rtt), **it}, rtt, f"loss gemodel {begins}% {100 / length:.1f}%")


@case("policed-uplink", ["policed"], "A policer drops what exceeds a rate; nothing queues.", 4, check=both(counted("policed", 10), faster(1.3)))
def policed_uplink(d):
    fast = d.turn("contract", "low", "high") == "high"
    at = d.log("policed_bits_per_s", 8e6, 13e6) if fast else d.log("policed_bits_per_s", 0.7e6, 1.6e6)
    rtt, rate, burst = d.log("rtt_ms", 6, 34), (60e6 if fast else 16e6), d.log("burst_octets", 9_000, 45_000)
    it = either(d, at * 0.8, "from:lwip-wide:curl", "to:lwip-scaled:lwiperf", "to:smoltcp:nc", "to:lwip-scaled:socat", seconds=4)
    return {**line(rate, rtt, 40), **it, "police": f"rate {int(at)} burst {burst}", "without": {"police": f"rate {int(rate * 2)} burst 400000"}}


@case("step-down", SHALLOW, "A fast port feeds a slower one with room for a few frames.", 4, check=both(counted("shaper_drops", 4), faster(1.3)))
def step_down(d):
    rate = d.turn("rate", 10e6, 40e6)
    frames, rtt = int(d.log("frames", 3, 9, 1)), d.log("rtt_ms", 24, 70)
    it = either(d, rate * 0.4, "to:lwip-scaled:lwiperf", "to:lwip-scaled:post", "to:netstack:nc", seconds=3)
    it = {**line(rate, rtt, 1.5 * rtt + 10), **it, "congestion": "reno"}
    shape = f"htb {int(rate)}; pfifo limit {frames}" if d.turn("how", "tbf", "pfifo") == "pfifo" else tbf(rate, frames * 1514)
    return {**it, "shape": {**it["shape"], "there": shape}, "without": {"shape": it["shape"]}}


@case("mirrored", ["duplicate-frames"], "Frames arrive twice.", 2, gain=False, kinds=("receiver", "late", "truncated", "snapped"),
      check=check("the receiver captures more than was sent", lambda truth, trial: truth["lost_segments"] < -30))
def mirrored(d):
    rtt, rate, share = d.log("rtt_ms", 2, 24), d.log("rate", 6e6, 30e6), d.log("duplicate_percent", 15, 100)
    it = either(d, rate, "to:lwip-11:lwiperf", "from:lwip-16:curl")
    return {**line(rate, rtt), **it, "one_end": "receiver", "netem": delays(rtt, f"duplicate {share}%")}


@case("deep-modem", ["bufferbloat", "path-rate"], "A slow line whose queue holds the better part of a second.", 3, gain=False, check=both(filled(0.75), queued(260)))
def deep_modem(d):
    it = either(d, 0.5e6, "to:lwip-scaled:post", "from:lwip-wide:curl", "to:netstack:iperf", seconds=6)
    rate, ms = d.log("rate", 0.35e6, 0.95e6), d.log("queue_ms", 500, 1_300)
    it = {**line(rate, d.log("rtt_ms", 8, 56)), **it, "octets": int(rate * 0.8), "congestion": "cubic", "there_rate": rate}
    return {**it, "shape": {**it["shape"], "there": f"htb {int(rate)}; bfifo limit {octets_in(rate, ms)}"}}


@case("thin-back", ["ack-path-full"], "The way back is so narrow that the device's acknowledgments fill it.", 2, check=both(queued(60, "back"), faster(1.3)))
def thin_back(d):
    rtt, rate, back = d.log("rtt_ms", 5, 36), d.log("rate", 10e6, 24e6), d.log("back_bits_per_s", 24e3, 64e3)
    it = {**line(rate, rtt, 30), **either(d, rate * 0.15, "to:lwip-scaled:lwiperf", "to:netstack:iperf"), "back_rate": back}
    return {**it, "shape": {**it["shape"], "back": f"htb {int(back)}; pfifo limit {int(d.log('back_frames', 30, 70))}"}, "without": {"shape": it["shape"]}}


@case("plug-pulled", ["link-interrupted"], "The link on the way to the device goes down once and comes back.", 3, late=(0.06, 0.12), truncated=(0.85, 0.95), check=faster(1.3))
def plug_pulled(d):
    rate, after, length = d.log("rate", 1.5e6, 6e6), d.log("after_ms", 900, 1_400), d.log("down_ms", 1_500, 2_900)
    it = {**line(rate, d.log("rtt_ms", 3, 50), 30), **either(d, rate * 0.7, "from:lwip-16:curl", "to:lwip-16:post", "to:picotcp:nc")}
    end, device = ("S", "to_b") if it["sender"] == "A" else ("R", "to_a")
    set_link = ("ip", "link", "set", device)
    back = (after + length) / 1e3
    events = [(after / 1e3, end, *set_link, "down"), (back, end, *set_link, "up")]
    if end == "S":
        events.append((back, "S", "ip", "route", "replace", "10.53.4.0/24", "via", "10.53.3.2"))
    return {**it, "events": events, "without": {"events": []}}


@case("tunnel-drops", ["mtu-black-hole"], "A tunnel drops full packets without a message.", 3, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.85), check=filtered("R", 3))
def tunnel_drops(d):
    rtt, size = d.log("rtt_ms", 4, 50), d.log("most_octets", 1_210, 1_460)
    it = {**line(12e6, rtt), **either(d, 1e6, "from:lwip-8:curl", "to:lwip-16:post", "to:smoltcp:nc"), "one_end": "sender", "longest": 8, "fixed_octets": True}
    return {**it, "nft": {"R": rule(f'ip length > {size} counter drop')}}


@case("first-lost", ["slow-handshake"], "The first SYN is lost on the way to the device, or while its address is asked for.", 2, gain=False,
      kinds=("receiver", "middle", "snapped"), check=check("opening takes 0.4 s or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.4))
def first_lost(d):
    rtt, octets = d.log("rtt_ms", 2, 34), int(d.log("octets", 5_000, 45_000))
    it = {**line(8e6, rtt), **from_device(octets * 8, d.turn("stack", "lwip-8", "uip-1514"), "curl", 1), "least_s": 0, "one_end": "receiver", "fixed_octets": True}
    again = ("tc", "qdisc", "change", "dev", "to_b", "root", "netem", "limit", "5000", *delays(rtt)["back"].split(), "loss", "0%")
    return {**it, "netem": delays(rtt, back="loss 100%"), "events": [(0.6, "S", *again)]}


@case("switched-off", ["no-answer"], "The device is off, or what it sends does not arrive.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"),
      truncated=(0.8, 0.95), check=no_payload())
def switched_off(d):
    it = {**line(8e6, d.log("rtt_ms", 2, 50)), "sender": "A", "one_end": "sender", "servers": [("B", device("lwip-5", "role=echo"))], "longest": 8, "least_s": 0,
          "client": f"curl -s -m 7 -o /dev/null http://@B:{int(d.log('port', 80, 9_000))}/; true"}
    return {**it, "nft": {"R": rule(d.turn("how", "ip daddr 10.53.4.2 ip protocol tcp counter drop", "ip saddr 10.53.4.2 ip protocol tcp counter drop"))}}


@case("device-blasts", ["above-path-rate"], "Numbered datagrams are sent at more than the path carries.", 3, gain=False,
      kinds=("receiver", "late", "truncated", "snapped"), check=missing(40))
def device_blasts(d):
    rate, octets, rtt = d.log("rate", 1e6, 7e6), int(d.log("octets", 400, 1_400)), d.log("rtt_ms", 2, 36)
    sent = rate * d.log("factor", 1.35, 2.2)
    if d.turn("program", "iperf", "device") == "iperf":
        return {**line(rate, rtt, 50), "sender": "A", "one_end": "receiver", "servers": [("B", device("lwip-5", "role=take port=5001"))],
                "client": f"timeout 5 iperf -c @B -u -b {int(sent)} -l {octets} -t 3; true"}
    pause = int(d.turn("pause_ms", "5", "10", "4"))
    burst = max(1, round(sent * pause / 8e3 / octets))
    return {**line(rate, rtt, 50), "sender": "B", "client_at": "B", "one_end": "receiver", "servers": [("A", "@P listen @A 4000 take")],
            "client": device("lwip-5", f"role=stream port=4000 chunk={octets} count={burst} pause={pause} seconds=3")}
