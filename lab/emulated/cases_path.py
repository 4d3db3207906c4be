"""Causes on the path."""

from checks import both, check, faster, filled, missing, no_payload
from draw import case
from path_checks import LOSS, SHALLOW, counted, filtered, mostly_netem, queued
from setups import delays, disturbed_by, down, line, octets_in, tbf, transfer, up


def rule(text):
    return f"table ip emulated {{\nchain f {{\ntype filter hook forward priority -20;\n{text}\n}}\n}}\n"


@case("noise", LOSS, "netem loses packets at random, alone.", 3, check=both(missing(6), mostly_netem(), faster(1.3)))
def noise(d):
    rtt, rate, share = d.log("rtt_ms", 18, 80), d.log("rate", 6e6, 18e6), d.log("loss_percent", 0.9, 3)
    it = {**line(rate, rtt, 40 + 6 * rtt), **transfer(d, rate * 0.25, "up:socat", "down:nginx-curl", "up:nuttcp")}
    return {**disturbed_by(it, rtt, f"loss random {share}%"), "congestion": d.turn("congestion", "cubic", "reno", "cubic")}


@case("fading", [*LOSS, "loss-in-bursts", "retransmission-stalls"], "netem loses several packets at a time (Gilbert's model).", 2,
      check=both(missing(10), mostly_netem(), faster(1.3)))
def fading(d):
    rtt, rate = d.log("rtt_ms", 12, 60), d.log("rate", 5e6, 14e6)
    begins, length = d.log("begins_percent", 0.7, 1.6), d.log("length_packets", 2.5, 5)
    it = {**line(rate, rtt, 30 + 6 * rtt), **transfer(d, rate * 0.2, "down:nginx-wget", "up:ends")}
    return disturbed_by(it, rtt, f"loss gemodel {begins}% {100 / length:.1f}%")


@case("bad-bits", {"receiver": ["checksum-errors", "wire-errors"], "truncated": ["checksum-errors", "wire-errors"], "late": ["checksum-errors", "wire-errors"],
                   "else": [*LOSS, "checksum-errors"]},
      "netem changes bits; the receiver's kernel drops what has a wrong checksum.", 2, kinds=("receiver", "late", "truncated"),
      check=both(faster(1.3), check("both ends capture the same segments", lambda truth, trial: truth["lost_segments"] < 6)))
def bad_bits(d):
    rtt, rate, share = d.log("rtt_ms", 14, 60), d.log("rate", 6e6, 16e6), d.log("corrupt_percent", 1.6, 4)
    it = {**line(rate, rtt, 40 + 6 * rtt), **transfer(d, rate * 0.25, "up:ends", "down:nginx-curl"), "one_end": "receiver"}
    return disturbed_by(it, rtt, f"corrupt {share}%")


@case("overtaken", ["reordering"], "netem sends some packets at once that the others overtake otherwise; the sender takes it for losses.", 2,
      check=both(faster(1.3), check("the sender's kernel or the receiver sees it", lambda truth, trial: truth["lost_segments"] < 12)))
def overtaken(d):
    rtt, rate, share = d.log("rtt_ms", 30, 66), d.log("rate", 8e6, 18e6), d.log("early_percent", 2, 6)
    it = transfer(d, rate * 0.4, "up:ends", "down:nginx-curl")
    receiver = "B" if it["sender"] == "A" else "A"
    it = {**line(rate, rtt, 80 + 8 * rtt), **it, "congestion": "reno", "timestamps": 0,
          "sysctl": {it["sender"]: {"net.ipv4.tcp_recovery": 2, "net.ipv4.tcp_max_reordering": 3, "net.ipv4.tcp_sack": 0},
                     receiver: {"net.ipv4.tcp_dsack": 0, "net.ipv4.tcp_sack": 0}}}
    return disturbed_by(it, rtt, f"reorder {share}%")


@case("twice", ["duplicate-frames"], "netem duplicates packets.", 2, gain=False, kinds=("receiver", "late", "truncated", "snapped"),
      check=check("the receiver captures more than was sent", lambda truth, trial: truth["lost_segments"] < -30))
def twice(d):
    rtt, rate, share = d.log("rtt_ms", 4, 40), d.log("rate", 4e6, 20e6), d.log("duplicate_percent", 12, 60)
    it = {**line(rate, rtt), **transfer(d, rate, "up:socat", "down:nginx-wget"), "one_end": "receiver"}
    return {**it, "netem": delays(rtt, f"duplicate {share}%")}


@case("act-police", ["policed"], "A policer of tc drops what exceeds a rate; nothing queues.", 3, check=both(counted("policed", 12), faster(1.3)))
def act_police(d):
    rtt, rate, at, burst = d.log("rtt_ms", 9, 56), d.log("rate", 20e6, 40e6), d.log("policed_bits_per_s", 1.8e6, 7.5e6), d.log("burst_octets", 12_000, 90_000)
    it = {**line(rate, rtt, 40), **transfer(d, at, "up:socat", "down:nginx-curl", "up:iperf3"), "congestion": d.turn("congestion", "cubic", "reno")}
    return {**it, "police": f"rate {int(at)} burst {burst}", "without": {"police": f"rate {int(rate * 2)} burst 400000"}}


@case("few-buffers", SHALLOW, "A slower port with room for a few frames only.", 3, check=both(counted("shaper_drops", 4), faster(1.3)))
def few_buffers(d):
    rtt, rate, frames = d.log("rtt_ms", 36, 88), d.log("rate", 7e6, 16e6), int(d.log("frames", 3, 7, 1))
    it = {**line(rate, rtt, 1.5 * rtt + 10), **transfer(d, rate * 0.5, "up:ends", "down:nginx-wget", "up:iperf"), "congestion": "reno"}
    leaf = f"pfifo limit {frames}" if d.turn("how", "pfifo", "tbf") == "pfifo" else None
    shape = f"htb {int(rate)}; {leaf}" if leaf else tbf(rate, frames * 1514)
    return {**it, "shape": {**it["shape"], "there": shape}, "without": {"shape": it["shape"]}}


@case("deep-queue", ["bufferbloat", "path-rate"], "A slow uplink whose queue holds the better part of a second.", 2, gain=False,
      check=both(filled(0.75), queued(260)))
def deep_queue(d):
    rtt, rate, ms = d.log("rtt_ms", 10, 70), d.log("rate", 0.6e6, 3.6e6), d.log("queue_ms", 450, 1_200)
    it = {**line(rate, rtt), **transfer(d, rate, "up:put", "down:nginx-curl", seconds=5), "congestion": "cubic", "there_rate": rate}
    return {**it, "shape": {**it["shape"], "there": f"htb {int(rate)}; bfifo limit {octets_in(rate, ms)}"}}


@case("narrow-back", ["ack-path-full"], "The way back is so narrow that acknowledgments fill it.", 2, check=both(queued(60, "back"), faster(1.3)))
def narrow_back(d):
    rtt, rate, back = d.log("rtt_ms", 8, 50), d.log("rate", 9e6, 20e6), d.log("back_bits_per_s", 30e3, 80e3)
    it = {**line(rate, rtt, 30), **transfer(d, rate * 0.2, "down:nginx-wget", "up:socat"), "back_rate": back}
    return {**it, "shape": {**it["shape"], "back": f"htb {int(back)}; pfifo limit {int(d.log('back_frames', 40, 90))}"}, "without": {"shape": it["shape"]}}


@case("link-lost", ["link-interrupted"], "The receiver's link goes down once and comes back.", 2, late=(0.06, 0.12), truncated=(0.85, 0.95), check=faster(1.3))
def link_lost(d):
    rtt, rate, after, length = d.log("rtt_ms", 6, 70), d.log("rate", 2e6, 8e6), d.log("after_ms", 1_000, 1_500), d.log("down_ms", 1_300, 2_400)
    it = {**line(rate, rtt, 30), **transfer(d, rate * 0.7, "down:nginx-curl", "up:socat")}
    end, device = ("S", "to_b") if it["sender"] == "A" else ("R", "to_a")
    set_link = ("ip", "link", "set", device)
    return {**it, "events": [(after / 1e3, end, *set_link, "down"), ((after + length) / 1e3, end, *set_link, "up")], "without": {"events": []}}


@case("asks-and-loses", ["retransmission-stalls", *LOSS], "Requests and answers are lost; only the timer repairs them.", 2, check=faster(1.3))
def asks_and_loses(d):
    rtt, share = d.log("rtt_ms", 5, 30), d.log("loss_percent", 3, 7)
    request, answer = d.log("request", 50, 300), d.log("answer", 60, 900)
    it = {**line(8e6, rtt), "sender": "B", "servers": [("B", f"@P listen @B 5204 answer request={request} answer={answer}")],
          "client": f"@P connect @B 5204 ask request={request} answer={answer} count={int(3.8 / (rtt / 1e3 + share * 0.0046))}"}
    return disturbed_by(it, rtt, f"loss random {share}%", f"loss random {share}%")


@case("too-large", ["mtu-black-hole"], "A router drops full packets without a message.", 2, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.85), check=filtered("R", 3))
def too_large(d):
    rtt, size = d.log("rtt_ms", 6, 70), d.log("most_octets", 1_250, 1_490)
    it = {**line(12e6, rtt), **transfer(d, 1e6, "up:put", "down:nginx-wget"), "one_end": "sender", "longest": 8, "fixed_octets": True}
    return {**it, "nft": {"R": rule(f'ip length > {size} counter drop')}}


@case("syn-lost", ["slow-handshake"], "The path is down when the connection is opened: the first SYN is lost.", 2, gain=False,
      kinds=("receiver", "middle", "snapped"), check=check("opening takes 0.4 s or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.4))
def syn_lost(d):
    rtt, octets = d.log("rtt_ms", 4, 40), d.log("octets", 6_000, 60_000)
    it = {**line(8e6, rtt), **down(octets * 8, d.turn("program", "nginx-curl", "busybox-wget"), seconds=1), "least_s": 0, "one_end": "receiver", "fixed_octets": True}
    again = ("tc", "qdisc", "change", "dev", "to_b", "root", "netem", "limit", "5000", *delays(rtt)["back"].split(), "loss", "0%")
    return {**it, "netem": delays(rtt, back="loss 100%"), "events": [(0.6, "S", *again)]}


@case("nobody", ["no-answer"], "Nobody answers the requests for a connection.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"),
      truncated=(0.8, 0.95), check=no_payload())
def nobody(d):
    it = {**line(8e6, d.log("rtt_ms", 4, 70)), "sender": "A", "one_end": "sender", "servers": [], "longest": 8, "least_s": 0,
          "client": f"curl -s -m 7 -o /dev/null http://10.53.3.2:{int(d.log('port', 80, 9_000))}/; true"}
    return {**it, "nft": {"R": rule(d.turn("how", "ip daddr 10.53.3.2 ip protocol tcp counter drop", "ip saddr 10.53.3.2 ip protocol tcp counter drop"))}}


@case("slow-names", ["name-resolution"], "The name server answers late.", 1, gain=False, kinds=("sender", "receiver", "middle", "snapped"),
      check=check("payload comes late", lambda truth, trial: truth["path"]["wait_s"] >= 0.4))
def slow_names(d):
    rtt, octets, after = d.log("rtt_ms", 4, 50), d.log("octets", 6_000, 70_000), d.log("after_ms", 550, 1_700)
    it = {**line(8e6, rtt), **down(octets * 8, "nginx-curl", seconds=1), "least_s": 0, "one_end": "receiver", "fixed_octets": True}
    it["client"] = it["client"].replace("@B:", "update.example.com:")
    return {**it, "resolver": "nameserver 10.53.3.2\noptions timeout:5\n", "servers": [*it["servers"], ("B", f"@P listen @B 53 names to=10.53.3.2 after={after}")]}


@case("datagrams-above", ["above-path-rate"], "Numbered datagrams are sent at more than the path carries.", 2, gain=False,
      kinds=("receiver", "late", "truncated", "snapped"), check=missing(40))
def datagrams_above(d):
    rtt, rate, octets = d.log("rtt_ms", 4, 50), d.log("rate", 0.9e6, 5e6), int(d.log("octets", 500, 1_420))
    sent, program = rate * d.log("factor", 1.3, 2.4), d.turn("program", "iperf3", "iperf")
    return {**line(rate, rtt, 50), "sender": "A", "one_end": "receiver", "servers": [("B", f"{program} -s {'-u' if program == 'iperf' else ''}")],
            "client": f"{program} -c @B -u -b {int(sent)} -l {octets} -t 3"}
