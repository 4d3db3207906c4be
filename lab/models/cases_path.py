"""Causes on the path of the emulated machine."""

from checks import both, check, faster, filled, missing
from draw import case
from path_checks import LOSS, SHALLOW, counted, mostly_netem, queued
from programs import HERE, delays, disturbed_by, either, line, octets_in, rom, to_rom
from stacks import seen


def rules(text, hook="forward"):
    return f"table ip models {{\nchain f {{\ntype filter hook {hook} priority -20;\n{text}\n}}\n}}\n"


@case("cable-of-rom", LOSS, "Frames to a boot ROM are lost at random.", 3, check=both(missing(5), mostly_netem(), faster(1.3)))
def cable_of_rom(d):
    rtt, rate, share = d.log("rtt_ms", 16, 60), d.log("rate", 8e6, 24e6), d.log("loss_percent", 1.4, 4)
    return {**disturbed_by({**line(rate, rtt, 40 + 6 * rtt), **to_rom(rate * 0.15, d.turn("server", "webfs", "mini"), seconds=3)}, rtt, f"loss random {share}%"), "congestion": "reno"}


@case("user-network-loses", ["no-sack", *LOSS, "retransmission-stalls", "loss-in-bursts"], "Packets are lost, and the TCP of a user-mode network has no SACK.", 3,
      check=both(missing(6), mostly_netem(), faster(1.3)))
def user_network_loses(d):
    rtt, rate = d.log("rtt_ms", 14, 40), d.log("rate", 7e6, 14e6)
    begins, length = d.log("begins_percent", 1.1, 2.2), d.log("length_packets", 1.6, 2.8)
    it = {**line(rate, rtt, 40 + 6 * rtt), **either(d, rate * 0.15, "nat-down webfs-curl", "nat-up mbuffer", "nat-down mini-wget", seconds=3), "congestion": "reno"}
    return disturbed_by(it, rtt, f"loss gemodel {begins}% {100 / length:.1f}%")


@case("fading-radio", [*LOSS, "loss-in-bursts", "retransmission-stalls"], "Several packets at a time are lost.", 3, check=both(missing(8), mostly_netem(), faster(1.3)))
def fading_radio(d):
    rtt, rate = d.log("rtt_ms", 16, 60), d.log("rate", 5e6, 16e6)
    begins, length = d.log("begins_percent", 0.8, 1.6), d.log("length_packets", 1.8, 3.2)
    it = {**line(rate, rtt, 40 + 6 * rtt), **either(d, rate * 0.2, "rom webfs", "up mbuffer", "down nbd", seconds=3), "congestion": "reno"}
    return disturbed_by(it, rtt, f"loss gemodel {begins}% {100 / length:.1f}%")


@case("two-ways-of-unequal-length", ["reordering"], "Packets take ways of different lengths; the sender takes it for losses.", 2,
      check=both(faster(1.3), seen("sent_again", 5), check("nothing is lost", lambda truth, trial: truth["lost_segments"] <= 0)))
def two_ways(d):
    rtt, rate, jitter = d.log("rtt_ms", 20, 64), d.log("rate", 6e6, 16e6), d.log("jitter_ms", 5, 12)
    it = {**line(rate, rtt, 60 + 6 * rtt), **either(d, rate * 0.2, "down webfs-wget", "nat-down webfs-curl"), "congestion": "reno", "timestamps": 0}
    it["sysctl"] = {"B": {"net.ipv4.tcp_recovery": 0, "net.ipv4.tcp_max_reordering": 3}, "A": {"net.ipv4.tcp_dsack": 0}}
    return {**it, "netem": {**delays(rtt), "there": f"delay {rtt / 2:.3f}ms {jitter}ms"}, "without": {"netem": delays(rtt)}}


@case("copied-frames", ["duplicate-frames"], "Frames arrive twice.", 2, gain=False, kinds=("receiver", "late", "truncated", "snapped"),
      check=check("the receiver captures more than was sent", lambda truth, trial: truth["lost_segments"] < -30))
def copied_frames(d):
    rtt, rate, share = d.log("rtt_ms", 2, 40), d.log("rate", 2.4e6, 14e6), d.log("duplicate_percent", 8, 60)
    return {**line(rate, rtt), **either(d, rate, "up mbuffer", "nat-up mbuffer"), "one_end": "receiver", "netem": delays(rtt, f"duplicate {share}%")}


@case("changed-octets", {"else": ["checksum-errors", "wire-errors"]}, "A router changes octets of some packets; the receiver drops what has a wrong checksum.", 2,
      kinds=("receiver", "late", "truncated"), check=both(faster(1.3), check("both ends capture the same segments", lambda truth, trial: truth["lost_segments"] < 6)))
def changed_octets(d):
    rtt, rate, each = d.log("rtt_ms", 14, 54), d.log("rate", 5e6, 14e6), int(d.log("each", 24, 60))
    it = {**line(rate, rtt, 40 + 6 * rtt), **either(d, rate * 0.2, "rom webfs", "down mini-curl"), "one_end": "receiver", "congestion": "reno"}
    return {**it, "way_filter": f"action gact ok random netrand pipe {each} action pedit munge offset {int(d.log('offset', 90, 480))} u8 set 0xa3",
            "without": {"way_filter": "action gact ok"}}


@case("contract-rate", ["policed"], "A policer drops what exceeds a rate; nothing queues.", 4,
      check=both(check("the policer drops at least 12", lambda truth, trial: truth["path"]["counts"]["there"].get("policed", 0) >= 12), faster(1.3)))
def contract_rate(d):
    rtt, rate, at, burst = d.log("rtt_ms", 10, 50), d.log("rate", 14e6, 36e6), d.log("policed_bits_per_s", 1.2e6, 6e6), int(d.log("burst_octets", 9_000, 70_000))
    it = {**line(rate, rtt, 40), **either(d, at * 0.8, "up nbd", "rom mini", "down webfs-axel", "nat-down webfs-curl", seconds=3), "congestion": d.turn("congestion", "cubic", "htcp")}
    return {**it, "police": f"rate {int(at)} burst {burst}", "without": {"police": f"rate {int(rate * 2)} burst 400000"}}


@case("few-packets-of-queue", SHALLOW, "A slower port with room for a few frames only.", 3, check=both(counted("shaper_drops", 4), faster(1.3)))
def few_packets_of_queue(d):
    rtt, rate, frames = d.log("rtt_ms", 34, 90), d.log("rate", 5e6, 13e6), int(d.log("frames", 3, 7, 1))
    it = {**line(rate, rtt, 1.5 * rtt + 10), **either(d, rate * 0.4, "rom webfs", "up nbd", "nat-down mini-curl"), "congestion": "reno"}
    return {**it, "shape": {**it["shape"], "there": f"htb {int(rate)}; pfifo limit {frames}"}, "without": {"shape": it["shape"]}}


@case("seconds-of-queue", ["bufferbloat", "path-rate"], "A slow line whose queue holds the better part of a second.", 3, gain=False, check=both(filled(0.75), queued(240)))
def seconds_of_queue(d):
    rate, ms = d.log("rate", 0.5e6, 2.4e6), d.log("queue_ms", 400, 1_200)
    it = {**line(rate, d.log("rtt_ms", 6, 60)), **either(d, rate, "up mbuffer", "rom webfs", "down webfs-tnftp", seconds=5), "octets": int(rate * 0.7), "congestion": "cubic", "there_rate": rate}
    return {**it, "shape": {**it["shape"], "there": f"htb {int(rate)}; bfifo limit {octets_in(rate, ms)}"}}


@case("narrow-way-back", ["ack-path-full"], "The way back is so narrow that acknowledgments fill it.", 2, check=both(queued(60, "back"), faster(1.3)))
def narrow_way_back(d):
    rtt, rate, back = d.log("rtt_ms", 6, 44), d.log("rate", 9e6, 20e6), d.log("back_bits_per_s", 30e3, 80e3)
    it = {**line(rate, rtt, 30), **either(d, rate * 0.15, "nat-up mbuffer", "up nbd"), "back_rate": back}
    return {**it, "shape": {**it["shape"], "back": f"htb {int(back)}; pfifo limit {int(d.log('back_frames', 30, 90))}"}, "without": {"shape": it["shape"]}}


@case("line-goes-away", ["link-interrupted"], "A link passes nothing for a while, in both directions.", 2, late=(0.06, 0.12), truncated=(0.85, 0.95), check=faster(1.3))
def line_goes_away(d):
    rtt, rate, after, length = d.log("rtt_ms", 4, 60), d.log("rate", 1.6e6, 7e6), d.log("after_ms", 800, 1_400), d.log("silent_ms", 1_300, 2_300)
    it = {**line(rate, rtt, 30), **either(d, rate * 0.7, "rom mini", "nat-up mbuffer")}
    names = ("nft", "add", "table", "ip", "off"), ("nft", "delete", "table", "ip", "off")
    chain = ("nft", "add", "chain", "ip", "off", "f", "{ type filter hook forward priority 0; policy drop; }")
    events = [(after / 1e3, "R", *names[0]), (after / 1e3, "R", *chain), ((after + length) / 1e3, "R", *names[1])]
    return {**it, "events": events, "without": {"events": []}}


@case("filtered-icmp", ["mtu-black-hole"], "Packets larger than a tunnel carries are dropped, and the message about it is filtered.", 2, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.85), check=check("hardly anything arrives", lambda truth, trial: truth["octets"] < 3_000))
def filtered_icmp(d):
    it = either(d, 1e6, "up mbuffer", "nat-up mbuffer")
    return {**line(12e6, d.log("rtt_ms", 4, 60)), **it, "one_end": "sender", "longest": 9, "fixed_octets": True, "tunnel": d.turn("tunnel", "ipip", "gre"), "least_s": 0,
            "nft": {"R": rules("icmp type destination-unreachable counter drop", "output")}}


@case("opening-lost", ["slow-handshake"], "The first SYN of a connection, or the answer to it, is lost.", 2, gain=False, kinds=("sender", "middle", "snapped"),
      check=check("opening takes 0.4 s or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.4))
def opening_lost(d):
    it = {**line(9e6, d.log("rtt_ms", 3, 60)), **either(d, d.log("octets", 6_000, 50_000) * 8, "up mbuffer", "nat-up mbuffer", seconds=1), "least_s": 0, "one_end": "sender", "fixed_octets": True}
    flags = d.turn("how", "tcp flags & (syn|ack) == (syn|ack)", "tcp flags & (syn|ack) == syn")
    return {**it, "nft": {"R": rules(f"{flags} quota until 70 bytes counter drop")}}


@case("too-many-datagrams", ["above-path-rate"], "Datagrams are sent at more than the path carries.", 3, gain=False, kinds=("receiver", "late", "truncated", "snapped"), check=missing(40))
def too_many_datagrams(d):
    rate, octets, factor = d.log("rate", 0.7e6, 6e6), int(d.log("octets", 300, 1_400)), d.log("factor", 1.35, 2.4)
    return {**line(rate, d.log("rtt_ms", 1, 50), 50), "sender": "A", "one_end": "receiver", "servers": [("B", f"exec perl {HERE}/datagrams.pl take @B 5004")],
            "client": f"perl {HERE}/datagrams.pl send @B 5004 octets={octets} every={octets * 8 / (rate * factor):.6f} seconds=3.2"}
