"""Causes on the path: losses, filters, queues, tunnels, a serial line, traffic of others, links that go down."""

from cases_ends import rules
from checks import both, check, faster, filled, missing, no_payload
from draw import case
from path_checks import LOSS, SHALLOW, counted, filtered, mostly_netem, queued
from programs import PEER, board, down, either, from_board, line, octets_in, tbf, to_board, transfer, up
from setups import delays, disturbed_by
from stacks import seen

BOARD_LOSS = [*LOSS, "retransmission-stalls", "no-sack"]


def few_overflow():
    return check("the queue drops few", lambda truth, trial: truth["path"]["counts"]["there"]["shaper_drops"] <= 3)


@case("every-so-many", LOSS, "A middlebox drops packets at random.", 2, check=both(missing(6), few_overflow(), faster(1.3)))
def every_so_many(d):
    rtt, rate, permille = d.log("rtt_ms", 16, 70), d.log("rate", 5e6, 15e6), int(d.log("loss_permille", 8, 26))
    it = {**line(rate, rtt, 50 + 7 * rtt), **transfer(d, rate * 0.2, "up:redis", "down:lighttpd-curl"), "congestion": d.turn("congestion", "reno", "cubic")}
    host = "10.53.3.2" if it["sender"] == "A" else "10.53.1.2"
    return {**it, "nft": {"R": rules(f"ip daddr {host} ip length > 200 numgen random mod 1000 < {permille} counter drop")}, "without": {"nft": {}}}


@case("counted-drops", LOSS, "Each so manieth packet is dropped, by the action of a filter.", 1, check=both(missing(6), faster(1.3)))
def counted_drops(d):
    rtt, rate, each = d.log("rtt_ms", 20, 60), d.log("rate", 6e6, 16e6), int(d.log("each", 50, 120))
    it = {**line(rate, rtt, 50 + 7 * rtt), **transfer(d, rate * 0.2, "up:perl", "down:tls"), "congestion": "reno"}
    return {**it, "way_filter": f"action gact ok random determ drop {each}", "without": {"way_filter": "action gact ok"}}


@case("bad-cable", BOARD_LOSS, "Frames to or from the board are lost at random.", 3, check=both(missing(5), mostly_netem(), faster(1.3)))
def bad_cable(d):
    rtt, rate, share = d.log("rtt_ms", 6, 44), d.log("rate", 6e6, 24e6), d.log("loss_percent", 0.6, 2)
    it = either(d, rate * 0.15, "to smol,receive=120000 put", "from smol,send=60000,congestion=reno curl", "to netx-scaled,window=100000 iperf", seconds=3)
    return disturbed_by({**line(rate, rtt, 40 + 6 * rtt), **it}, rtt, f"loss random {share}%")


@case("weak-signal", [*LOSS, "loss-in-bursts", "retransmission-stalls"], "Several packets at a time are lost.", 3, check=both(missing(8), mostly_netem(), faster(1.3)))
def weak_signal(d):
    rtt, rate = d.log("rtt_ms", 20, 60), d.log("rate", 6e6, 16e6)
    begins, length = d.log("begins_percent", 0.9, 1.8), d.log("length_packets", 1.6, 2.8)
    it = {**line(rate, rtt, 40 + 6 * rtt), **transfer(d, rate * 0.2, "up:nc", "down:node"), "congestion": "reno"}
    return disturbed_by(it, rtt, f"loss gemodel {begins}% {100 / length:.1f}%")


@case("ring-overruns", {"late": ["queue-overflow", "shallow-queue", "loss-in-bursts", "random-loss", "retransmission-stalls", "no-sack"],
                         "else": ["queue-overflow", "shallow-queue", "loss-in-bursts", "retransmission-stalls", "no-sack"]},
      "Frames that arrive in a burst overrun the board's receive ring.", 2,
      check=both(faster(1.3), check("the ring drops at least 5", lambda truth, trial: truth["path"]["counts"].get("ring_drops_B", 0) >= 5)))
def ring_overruns(d):
    ring, each, rtt = int(d.log("ring", 3, 8, 1)), int(d.log("frame_us", 400, 900)), d.log("rtt_ms", 7, 32)
    stack = d.turn("stack", "smol,receive=120000", "netx-scaled,window=100000")
    it = {**line(45e6, rtt, 1.5 * rtt), **to_board(5e6, stack, d.turn("program", "put", "iperf"), words=f"frame_us={each}"), "congestion": "reno"}
    return {**it, "ring": {"B": ring}, "without": {"ring": {"B": 1000}}}


@case("memory-errors", {"receiver": ["checksum-errors", "wire-errors"], "truncated": ["checksum-errors", "wire-errors"], "late": ["checksum-errors", "wire-errors"],
                        "else": [*LOSS, "checksum-errors"]},
      "A router changes octets of some packets; the receiver drops what has a wrong checksum.", 2, kinds=("receiver", "late", "truncated"),
      check=both(faster(1.3), check("both ends capture the same segments", lambda truth, trial: truth["lost_segments"] < 6)))
def memory_errors(d):
    rtt, rate, each = d.log("rtt_ms", 12, 54), d.log("rate", 5e6, 14e6), int(d.log("each", 26, 70))
    it = {**line(rate, rtt, 40 + 6 * rtt), **transfer(d, rate * 0.2, "up:perl", "down:lighttpd-curl"), "one_end": "receiver", "congestion": "reno"}
    return {**it, "way_filter": f"action gact ok random netrand pipe {each} action pedit munge offset {int(d.log('offset', 90, 500))} u8 set 0x5a",
            "without": {"way_filter": "action gact ok"}}


@case("unequal-paths", ["reordering"], "Packets take ways of different lengths; the sender takes it for losses.", 2,
      check=both(faster(1.3), seen("sent_again", 5), check("nothing is lost", lambda truth, trial: truth["lost_segments"] <= 0)))
def unequal_paths(d):
    rtt, rate, jitter = d.log("rtt_ms", 18, 60), d.log("rate", 7e6, 18e6), d.log("jitter_ms", 4, 11)
    it = {**line(rate, rtt, 60 + 6 * rtt), **transfer(d, rate * 0.2, "up:nc", "down:tcl"), "congestion": "reno", "timestamps": 0}
    receiver = "B" if it["sender"] == "A" else "A"
    it["sysctl"] = {it["sender"]: {"net.ipv4.tcp_recovery": 0, "net.ipv4.tcp_max_reordering": 3}, receiver: {"net.ipv4.tcp_dsack": 0}}
    return {**it, "netem": {**delays(rtt), "there": f"delay {rtt / 2:.3f}ms {jitter}ms"}, "without": {"netem": delays(rtt)}}


@case("looped", ["duplicate-frames"], "Frames arrive twice.", 2, gain=False, kinds=("receiver", "late", "truncated", "snapped"),
      check=check("the receiver captures more than was sent", lambda truth, trial: truth["lost_segments"] < -30))
def looped(d):
    rtt, rate, share = d.log("rtt_ms", 2, 30), d.log("rate", 3e6, 15e6), d.log("duplicate_percent", 9, 70)
    if d.turn("receiver", "board", "host") == "board":
        it = to_board(rate, "smol,receive=30000", "perl")
    else:
        it = down(rate, "node")
    return {**line(rate, rtt), **it, "one_end": "receiver", "netem": delays(rtt, f"duplicate {share}%")}


@case("meter", ["policed"], "A filter drops what exceeds a rate; nothing queues.", 4,
      check=both(check("at least 12 are dropped", lambda truth, trial: truth["path"]["counts"].get("filtered_R", 0) >= 12 or truth["path"]["counts"]["there"].get("policed", 0) >= 12),
                 faster(1.3)))
def meter(d):
    rtt, rate, at, burst = d.log("rtt_ms", 8, 48), d.log("rate", 16e6, 34e6), d.log("policed_bits_per_s", 1.5e6, 6.4e6), int(d.log("burst_octets", 10_000, 80_000))
    it = {**line(rate, rtt, 40), **transfer(d, at * 0.8, "up:rsync", "down:lighttpd-curl", "up:redis", "down:tls", seconds=3), "congestion": d.turn("congestion", "cubic", "westwood")}
    if d.turn("how", "police", "limit") == "police":
        return {**it, "police": f"rate {int(at)} burst {burst}", "without": {"police": f"rate {int(rate * 2)} burst 400000"}}
    # The bucket of nftables holds what passes in a second beyond the burst; after that, the rate has to show.
    host = "10.53.3.2" if it["sender"] == "A" else "10.53.1.2"
    it |= {"octets": int(at / 8 * 6), "fixed_octets": True}
    return {**it, "nft": {"R": rules(f"ip daddr {host} limit rate over {int(at / 8e3)} kbytes/second burst {int(burst / 1e3)} kbytes counter drop")}, "without": {"nft": {}}}


@case("port-with-few-buffers", SHALLOW, "A slower port with room for a few frames only.", 3, check=both(counted("shaper_drops", 4), faster(1.3)))
def port_with_few_buffers(d):
    rtt, rate, frames = d.log("rtt_ms", 30, 80), d.log("rate", 6e6, 14e6), int(d.log("frames", 3, 8, 1))
    it = {**line(rate, rtt, 1.5 * rtt + 10), **transfer(d, rate * 0.4, "down:lighttpd-wget", "up:nc", "down:node"), "congestion": "reno"}
    return {**it, "shape": {**it["shape"], "there": f"{d.turn('how', 'htb', 'hfsc')} {int(rate)}; pfifo limit {frames}"}, "without": {"shape": it["shape"]}}


@case("full-uplink", ["bufferbloat", "path-rate"], "A slow line whose queue holds the better part of a second.", 2, gain=False, check=both(filled(0.75), queued(240)))
def full_uplink(d):
    it = transfer(d, 0.8e6, "up:rsync", "down:ftpget", seconds=5)
    rate, ms = d.log("rate", 0.5e6, 2.4e6), d.log("queue_ms", 420, 1_300)
    it = {**line(rate, d.log("rtt_ms", 8, 60)), **it, "octets": int(rate * 0.7), "congestion": "cubic", "there_rate": rate}
    return {**it, "shape": {**it["shape"], "there": f"{d.turn('how', 'htb', 'hfsc')} {int(rate)}; bfifo limit {octets_in(rate, ms)}"}}


@case("serial-driver", ["bufferbloat", "path-rate"], "A serial line with PPP, whose driver takes all that the window permits.", 2, gain=False, check=filled(0.75))
def serial_driver(d):
    baud = int(d.turn("baud", "460800", "230400"))
    it = transfer(d, baud * 0.8, "up:nc", "down:node", seconds=5)
    return {**it, "rate": baud * 0.8, "serial": baud, "shape": {}, "netem": {}, "longest": 30, "congestion": "cubic"}


@case("upload-beside", ["ack-path-full", "bufferbloat"], "An upload fills the uplink, where the acknowledgments of a download wait.", 2, check=both(queued(60, "back"), faster(1.3)))
def upload_beside(d):
    rtt, rate, back = d.log("rtt_ms", 8, 40), d.log("rate", 8e6, 20e6), d.log("back_bits_per_s", 0.25e6, 0.6e6)
    it = {**line(rate, rtt, 40), **down(rate * 0.35, d.turn("program", "lighttpd-curl", "node"), seconds=3), "back_rate": back, "congestion": "cubic"}
    it["servers"] = [*it["servers"], ("B", f"{PEER} listen @B 6109 read")]
    alone = it["client"]
    it["client"] = f"{PEER} connect @B 6109 send octets=9000000 & u=$!; sleep 0.5; {alone}; kill $u; wait"
    return {**it, "shape": {**it["shape"], "back": f"htb {int(back)}; bfifo limit {octets_in(back, d.log('queue_ms', 260, 700))}"}, "without": {"client": alone}}


@case("thin-uplink", ["ack-path-full"], "The way back is so narrow that acknowledgments fill it.", 2, check=both(queued(60, "back"), faster(1.3)))
def thin_uplink(d):
    rtt, rate, back = d.log("rtt_ms", 6, 44), d.log("rate", 8e6, 18e6), d.log("back_bits_per_s", 26e3, 70e3)
    it = {**line(rate, rtt, 30), **either(d, rate * 0.15, "to smol,receive=60000,ack_delay=-1 iperf", "to smol,receive=60000,ack_delay=-1 put"), "back_rate": back}
    return {**it, "shape": {**it["shape"], "back": f"htb {int(back)}; pfifo limit {int(d.log('back_frames', 30, 90))}"}, "without": {"shape": it["shape"]}}


@case("passes-nothing", ["link-interrupted"], "A link passes nothing for a while, in both directions.", 2, late=(0.06, 0.12), truncated=(0.85, 0.95), check=faster(1.3))
def passes_nothing(d):
    rtt, rate, after, length = d.log("rtt_ms", 4, 60), d.log("rate", 1.6e6, 7e6), d.log("after_ms", 800, 1_400), d.log("silent_ms", 1_200, 2_300)
    it = {**line(rate, rtt, 30), **transfer(d, rate * 0.7, "up:rsync", "down:lighttpd-curl")}
    names = ("nft", "add", "table", "ip", "off"), ("nft", "delete", "table", "ip", "off")
    chain = [("nft", "add", "chain", "ip", "off", "f", "{ type filter hook forward priority 0; policy drop; }")]
    events = [(after / 1e3, "R", *names[0]), *[(after / 1e3, "R", *it) for it in chain], ((after + length) / 1e3, "R", *names[1])]
    return {**it, "events": events, "without": {"events": []}}


@case("replugged", ["link-interrupted"], "The link of the router towards the board goes down once and comes back.", 2, late=(0.06, 0.12), truncated=(0.85, 0.95), check=faster(1.3))
def replugged(d):
    rate, after, length = d.log("rate", 1.2e6, 5e6), d.log("after_ms", 800, 1_400), d.log("down_ms", 1_200, 2_300)
    it = {**line(rate, d.log("rtt_ms", 3, 44), 30), **either(d, rate * 0.7, "from netx,depth=12 curl", "to smol,receive=17520 put")}
    end, device = ("S", "to_b") if it["sender"] == "A" else ("R", "to_a")
    set_link, back = ("ip", "link", "set", device), (after + length) / 1e3
    events = [(after / 1e3, end, *set_link, "down"), (back, end, *set_link, "up")]
    if end == "S":
        events.append((back, "S", "ip", "route", "replace", "10.53.4.0/24", "via", "10.53.3.2"))
    return {**it, "events": events, "without": {"events": []}}


@case("silent-tunnel", ["mtu-black-hole"], "Packets larger than a tunnel carries are dropped, and the message about it is filtered.", 3, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.85), check=check("hardly anything arrives", lambda truth, trial: truth["octets"] < 3_000))
def silent_tunnel(d):
    rtt, tunnel, way = d.log("rtt_ms", 4, 60), d.turn("tunnel", "wireguard", "gre", "ipip"), d.turn("way", "board", "up", "up")
    it = {"board": lambda: to_board(1e6, "netx,window=8760", "put"), "up": lambda: transfer(d, 1e6, "up:rsync", "up:nc")}[way]()
    return {**line(12e6, rtt), **it, "one_end": "sender", "longest": 9, "fixed_octets": True, "tunnel": tunnel, "least_s": 0,
            "nft": {"R": rules("icmp type destination-unreachable counter drop", "output")}}


@case("first-syn-lost", ["slow-handshake"], "The first SYN is lost.", 2, gain=False, kinds=("sender", "middle", "snapped"),
      check=check("opening takes 0.4 s or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.4))
def first_syn_lost(d):
    rtt, octets, lost = d.log("rtt_ms", 3, 50), d.log("octets", 6_000, 50_000), d.turn("how", "request", "answer")
    # Seen where the SYNs pass before they are lost, which is their sender's side.
    it = {**line(9e6, rtt), **transfer(d, octets * 8, "up:nc", "up:redis", seconds=1), "least_s": 0, "one_end": "sender", "fixed_octets": True}
    flags = {"request": "tcp flags & (syn|ack) == syn", "answer": "tcp flags & (syn|ack) == (syn|ack)"}[lost]
    return {**it, "nft": {"R": rules(f"{flags} quota until 70 bytes counter drop")}}


@case("more-than-carried", ["above-path-rate"], "Numbered datagrams are sent at more than the path carries.", 3, gain=False, kinds=("receiver", "late", "truncated", "snapped"), check=missing(40))
def more_than_carried(d):
    rate, octets, rtt = d.log("rate", 0.8e6, 6e6), int(d.log("octets", 350, 1_430)), d.log("rtt_ms", 1, 44)
    sent, how = rate * d.log("factor", 1.3, 2.3), d.turn("program", "netx", "nuttcp", "smol")
    if how == "nuttcp":
        return {**line(rate, rtt, 50), "sender": "A", "one_end": "receiver", "servers": [("B", "nuttcp -S --nofork")],
                "client": f"timeout 6 nuttcp -u -t -T 3 -l {max(500, octets)} -R {int(sent / 1e3)}k @B; true"}
    pause = int(d.turn("pause_ms", "6", "3", "9"))
    return {**line(rate, rtt, 50), "device": "B", "sender": "B", "client_at": "B", "one_end": "receiver", "servers": [("A", "@P listen @A 4200 take")],
            "client": board(how, f"role=stream port=4200 chunk={octets} count={max(1, round(sent * pause / 8e3 / octets))} pause={pause} seconds=3")}


@case("sack-stripped", ["no-sack", *LOSS, "loss-in-bursts", "retransmission-stalls"], "Several packets at a time are lost, and a firewall removes the option for SACK.", 2, check=faster(1.3))
def sack_stripped(d):
    rtt, rate = d.log("rtt_ms", 24, 60), d.log("rate", 7e6, 16e6)
    begins, length = d.log("begins_percent", 0.4, 0.9), d.log("length_packets", 1.8, 3)
    it = {**line(rate, rtt, 40 + 3 * rtt), **transfer(d, rate * 0.3, "down:lighttpd-curl", "up:nc", seconds=3), "congestion": "reno"}
    return {**it, "netem": delays(rtt, f"loss gemodel {begins}% {100 / length:.1f}%"), "nft": {"R": rules("tcp flags syn reset tcp option sack-perm")}, "without": {"nft": {}}}
