"""Causes on the path."""

from checks import between, both, check, faster, filled, missing, no_payload, printed
from draw import case
from setups import at_most, counted, download, line, mostly, on_path, transfer

RULE = "table ip s {\nchain i {\ntype filter hook input priority 0;\ntcp dport 8081 counter @R\n}\n}\n"
LOSS = ["random-loss", "wire-errors"]
OPENING = ("receiver", "middle", "snapped")


@case("policer", ["policed"], "A token bucket on the path drops what exceeds a rate; nothing queues.", 3,
      check=both(counted("policed", 10), faster(1.5)))
def policer(d):
    rtt, rate, at = d.log("rtt_ms", 8, 50), d.log("rate", 24e6, 48e6), d.log("policed_bits_per_s", 1.8e6, 8e6)
    it = {**line(rate, rtt, 30), **transfer(d, at * 0.8, "up:nuttcp", "down:ftp", "down:nginx-wget"), "congestion": d.turn("congestion", "reno", "cubic")}
    return on_path(it, there_police=at, there_burst=d.log("burst_octets", 14_000, 70_000))


@case("few-buffers", ["shallow-queue", "queue-overflow"], "The queue before the slowest link holds a few frames.", 2,
      check=both(counted("queue_full", 4), faster(1.12)))
def few_buffers(d):
    rtt, rate, held = d.log("rtt_ms", 50, 120), d.log("rate", 8e6, 16e6), int(d.log("frames", 3, 6, 1))
    it = {**line(rate, rtt, 1.3 * rtt), **transfer(d, rate * 0.5, "up:ends", "down:caddy", seconds=8), "congestion": "reno"}
    return on_path(it, there_queue=held * 1514)


@case("long-queue", ["bufferbloat", "path-rate"], "The modem's queue holds the better part of a second, or more.", 2, gain=False,
      check=both(filled(0.75), counted("queue_ms_max", 250)))
def long_queue(d):
    rtt, rate, queue = d.log("rtt_ms", 10, 50), d.log("rate", 0.9e6, 5e6), d.log("queue_ms", 400, 1_500)
    it = {**line(rate, rtt), **transfer(d, rate, "up:socat", "down:nginx-curl", seconds=7)}
    return on_path(it, there_queue=int(rate / 8e3 * queue))


@case("narrow-line", ["path-rate", "bufferbloat"], "A line of 64 to 384 kbit/s is full; each segment takes long.", 2, gain=False,
      check=filled(0.75))
def narrow_line(d):
    rate, rtt = d.turn("rate", 64_000, 192_000, 384_000), d.log("rtt_ms", 40, 140)
    return {**line(rate, rtt, 12 * 1514 * 8e3 / rate), **transfer(d, rate, "up:ends", "down:nginx-wget", seconds=9), "longest": 40}


@case("bad-cable", LOSS, "Frames are lost at random, alone.", 3, check=both(missing(6), mostly("lost"), faster(1.2)))
def bad_cable(d):
    rtt, rate, share = d.log("rtt_ms", 16, 80), d.log("rate", 16e6, 30e6), d.log("loss", 0.004, 0.014)
    it = {**line(rate, rtt, 1.2 * rtt), **transfer(d, rate * 0.15, "down:nginx-curl", "up:ends", "down:rsync")}
    return {**on_path(it, there_loss=share), "congestion": d.turn("congestion", "reno", "cubic")}


@case("mains-noise", [*LOSS, "loss-in-bursts", "retransmission-stalls"],
      "A power line: impulses each 10 ms destroy the frames that are on the line meanwhile, some of the time.", 2,
      check=both(counted("disturbed", 8), mostly("disturbed"), faster(1.15)))
def mains_noise(d):
    rtt, rate = d.log("rtt_ms", 12, 40), d.log("rate", 10e6, 20e6)
    it = {**line(rate, rtt, 30 + 2.2 * rtt), **transfer(d, rate * 0.3, "down:ftp", "up:nuttcp"), "congestion": "reno"}
    return on_path(it, there_impulse=d.log("impulse_ms", 0.3, 0.8), there_impulse_p=d.log("impulse_p", 0.04, 0.1))


@case("bad-moments", ["loss-in-bursts", *LOSS, "retransmission-stalls"], "The radio has bad moments in which several frames are lost.", 2,
      check=both(missing(10), mostly("lost"), faster(1.2)))
def bad_moments(d):
    rtt, rate = d.log("rtt_ms", 10, 40), d.log("rate", 10e6, 20e6)
    it = {**line(rate, rtt, 30 + 2.2 * rtt), **transfer(d, rate * 0.2, "up:socat", "down:nginx-wget")}
    return on_path(it, there_bad=d.log("bad", 0.004, 0.009), there_bad_length=d.log("bad_length", 3, 6))


@case("changed-bits", {"receiver": ["checksum-errors"], "else": [*LOSS, "checksum-errors"]},
      "A router changes bits; TCP's checksum is wrong.", 2, check=both(counted("corrupted", 8), mostly("corrupted"), faster(1.15)),
      kinds=("sender", "receiver", "middle", "late", "truncated"))
def changed_bits(d):
    rtt, rate, share = d.log("rtt_ms", 14, 55), d.log("rate", 10e6, 20e6), d.log("changed", 0.012, 0.03)
    it = {**line(rate, rtt, 30 + 2.2 * rtt), **transfer(d, rate * 0.2, "down:nginx-curl", "up:busybox")}
    return on_path(it, there_corrupt=share)


@case("two-ways", ["reordering"], "Some segments take a longer way; the sender takes it for a loss.", 2,
      check=both(counted("overtaken", 10), at_most("queue_full", 60), faster(1.15)))
def two_ways(d):
    rtt, rate, share = d.log("rtt_ms", 45, 85), d.log("rate", 12e6, 22e6), d.log("late", 0.02, 0.05)
    it = transfer(d, rate * 0.4, "down:ends", "up:ends")
    receiver = "B" if it["sender"] == "A" else "A"
    it = {**line(rate, rtt, 60), **it, "congestion": "reno", "timestamps": 0,
          # Slow start must not overflow the queue: the losses would cost more than the overtaking.
          "route": {it["sender"]: f"cwnd lock {round(1.3 * rate * rtt / 8e3 / 1514)}"},
          "sysctl": {it["sender"]: {"net.ipv4.tcp_recovery": 2, "net.ipv4.tcp_max_reordering": 3}, receiver: {"net.ipv4.tcp_dsack": 0}}}
    return on_path(it, there_late=share, there_late_by=round(rtt * d.log("late_by_rtts", 0.4, 0.85), 1))


@case("cells-change", ["link-interrupted", "receiver-stalls", "retransmission-stalls", "sender-stalls"],
      "The modem changes cells at intervals: everything waits, nothing is lost.", 2, check=both(counted("held", 4), faster(1.2)))
def cells_change(d):
    rtt, rate = d.log("rtt_ms", 20, 45), d.log("rate", 6e6, 14e6)
    it = {**line(rate, rtt, 25), **transfer(d, rate * 0.6, "down:caddy", "up:ends")}
    return on_path(it, gap=d.log("period_ms", 1_200, 1_800), gap_for=d.log("gap_ms", 440, 720))


@case("narrow-uplink", ["ack-path-full"], "The way back carries a fraction of the acknowledgments.", 2,
      check=both(counted("queue_ms_mean", 60, back=True), faster(1.2)))
def narrow_uplink(d):
    rtt, rate, back = d.log("rtt_ms", 12, 50), d.log("rate", 12e6, 24e6), d.log("back_bits_per_s", 30e3, 100e3)
    it = {**line(rate, rtt, 25), **transfer(d, rate * 0.15, "down:nginx-curl", "down:rsync")}
    return on_path(it, back_rate=back, back_queue=int(d.log("back_frames", 45, 90)) * 66)


@case("upload-beside", ["ack-path-full", "bufferbloat"], "An upload fills the uplink, and the acknowledgments of a download wait behind it.", 2,
      check=both(counted("queue_ms_mean", 60, back=True), faster(1.2)))
def upload_beside(d):
    rtt, rate, up = d.log("rtt_ms", 10, 30), d.log("rate", 14e6, 26e6), d.log("uplink_bits_per_s", 0.4e6, 1.1e6)
    it = {**line(rate, rtt, 25), **download(rate * 0.12, d.turn("program", "nginx-wget", "caddy"))}
    it["path"] |= {"ab.rate": up, "ab.queue": int(up / 8e3 * d.log("queue_ms", 350, 800))}
    busy = {"servers": [*it["servers"], ("B", "@P listen @B 5101 read")],
            "client": f"@P connect @B 5101 send seconds=30 chunk=16384 & p=$!; sleep 1; {it['client']}; kill $p"}
    return {**it, **busy, "without": {"servers": it["servers"], "client": it["client"]}}


@case("thinned", ["stretch-acks", "receive-window", "late-acks"], "The modem collects acknowledgments and passes only the last of them.", 3,
      check=both(counted("suppressed", 50, back=True), faster(1.12)))
def thinned(d):
    rtt, rate, every = d.log("rtt_ms", 6, 20), d.turn("rate", 50_000_000, 24_000_000), int(d.log("collected", 9, 14))
    window = int(d.log("window_segments", 14, 22)) * 1460
    it = {**line(rate, rtt, 40), **transfer(d, rate, "up:ends", "down:ends", more=f"rcvbuf={window}", to=f"rcvbuf={window}")}
    it = {**it, **({"servers": [("B", f"@P listen @B 5104 send seconds=5 chunk=16384")]} if it["sender"] == "B" else
                   {"client": "@P connect @B 5101 send seconds=5 chunk=16384"}), "congestion": "reno"}
    return on_path(it, back_thin=every, back_thin_ms=d.log("kept_ms", 12, 40))


@case("carrier-lost", ["link-interrupted"], "The path is interrupted once, in both directions.", 3, late=(0.08, 0.13), truncated=(0.85, 0.95),
      check=both(faster(1.2), counted("outage", 2)))
def carrier_lost(d):
    rtt, rate = d.log("rtt_ms", 6, 70), d.log("rate", 3e6, 9e6)
    after, down = d.log("after_ms", 1_500, 2_200), d.log("down_ms", 1_300, 2_700)
    it = {**line(rate, rtt, 25), **transfer(d, rate * 0.8, "up:busybox", "down:ftp", "down:nginx-curl")}
    return on_path(it, outage=after, outage_for=down)


@case("lost-packets-too-big", ["mtu-black-hole"], "The path drops full packets without a message.", 3, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.85), check=counted("too_long", 3))
def lost_packets_too_big(d):
    rtt, size = d.log("rtt_ms", 4, 55), d.log("most_octets", 1_100, 1_470)
    it = {**line(20e6, rtt), **transfer(d, 1e6, "up:socat", "down:nginx-curl", "down:caddy"), "one_end": "sender", "longest": 8}
    return on_path(it, there_mtu=size)


@case("clamped", ["small-mss", "path-rate"], "The router lowers the MSS, and each frame costs much beside its octets.", 2, check=faster(1.3))
def clamped(d):
    rtt, rate, mss = d.log("rtt_ms", 5, 26), d.log("rate", 4e6, 10e6), d.log("mss", 230, 480)
    it = {**line(rate, rtt, 40), **transfer(d, rate * 0.4, "down:nginx-curl", "up:ends")}
    it["path"]["overhead"] = d.log("overhead_octets", 160, 320)
    return on_path(it, mss=mss)


@case("without-sack", ["no-sack", "loss-in-bursts", *LOSS, "retransmission-stalls"],
      "No selective acknowledgments, and several segments of a flight are lost.", 2, gain=False, check=both(missing(12), faster(1.2)))
def without_sack(d):
    rtt, rate = d.log("rtt_ms", 50, 110), d.log("rate", 14e6, 22e6)
    it = {**line(rate, rtt, 40), **transfer(d, rate * 0.1, "down:caddy", "up:ends")}
    how = {"nosack": 1} if d.turn("how", "removed", "switched off") == "removed" else {}
    if not how:
        it["sysctl"] = {"B": {"net.ipv4.tcp_sack": 0}}
    made = on_path(it, **how, there_bad=d.log("bad", 0.002, 0.005), there_bad_length=d.log("bad_length", 3, 6))
    return {**made, "without": {**made["without"], "sysctl": {}}}


@case("sent-twice", {"receiver": ["duplicate-frames"], "else": ["duplicate-frames", "path-rate"]},
      "A bridge before the slowest link sends frames twice; they take its time.", 2, check=both(counted("copied", 200), faster(1.25)))
def sent_twice(d):
    rtt, rate = d.log("rtt_ms", 5, 22), d.log("rate", 4e6, 9e6)
    it = {**line(rate, rtt, 40), **transfer(d, rate * 0.55, "down:nginx-wget", "up:nuttcp")}
    return on_path(it, there_copy=d.log("copied", 0.65, 0.95))


@case("flood", ["above-path-rate"], "Numbered datagrams are sent at more than the path carries.", 3, gain=False,
      kinds=("receiver", "late", "truncated", "snapped"), check=missing(40))
def flood(d):
    rtt, rate, octets = d.log("rtt_ms", 5, 45), d.log("rate", 0.9e6, 5e6), d.log("octets", 320, 1_300)
    sent = rate * d.log("factor", 1.3, 2)
    it = {**line(rate, rtt, 40), "sender": "A", "one_end": "receiver"}
    if d.turn("program", "iperf", "ends", "ends") == "iperf":
        return {**it, "servers": [("B", "iperf -s -u")], "client": f"iperf -c @B -u -b {int(sent)} -l {octets} -t 4"}
    return {**it, "servers": [("B", "@P take @B 7010")],
            "client": f"@P stream @B 7010 octets={octets} pause={octets * 8e3 / sent:.4f} seconds=4.5"}


@case("dozing", ["wake-up-latency", "client-think-time"], "The server's radio sleeps when idle and wakes up at the next beacon.", 2,
      gain=False, kinds=("receiver", "middle", "late", "truncated", "snapped"), check=both(counted("held", 5, back=True), printed("longest_ms", 50)))
def dozing(d):
    rtt, idle, beacon = d.log("rtt_ms", 3, 8), d.log("idle_ms", 25, 60), d.log("beacon_ms", 102, 307)
    pause, answer = d.log("pause_ms", 170, 400), d.log("answer", 400, 5_000)
    it = {**line(8e6, rtt), "sender": "B", "one_end": "receiver", "middle": "A",
          "servers": [("B", f"@P listen @B 5104 answer request=90 answer={answer}")],
          "client": f"@P connect @B 5104 ask request=90 answer={answer} count={int(6500 / (pause + beacon / 2))} pause={pause}"}
    return on_path(it, back_sleep=idle, back_beacon=beacon)


@case("lost-messages", ["retransmission-stalls", *LOSS], "Requests and answers are lost; only the timer repairs them.", 2,
      check=both(faster(1.3), between(2, 20)))
def lost_messages(d):
    rtt, share = d.log("rtt_ms", 6, 26), d.log("loss", 0.03, 0.06)
    request, answer = d.log("request", 70, 280), d.log("answer", 70, 900)
    it = {**line(10e6, rtt), "sender": "B", "servers": [("B", f"@P listen @B 5104 answer request={request} answer={answer}")],
          "client": f"@P connect @B 5104 ask request={request} answer={answer} count={int(4.5 / (rtt / 1e3 + 2 * share * 0.23))}"}
    return on_path(it, loss=share)


@case("mismatch", ["duplex-mismatch", *LOSS, "loss-in-bursts", "retransmission-stalls"],
      "A full-duplex port at a half-duplex one: frames that cross are lost in both directions.", 2,
      check=both(counted("collided", 10), faster(1.3)))
def mismatch(d):
    rate = d.turn("rate", 10_000_000, 100_000_000)
    it = {**line(rate, d.log("rtt_ms", 1, 6), 20), **transfer(d, rate, "down:ends", "up:ends")}
    return on_path(it, mismatch=1)


@case("opening-late", ["slow-handshake"], "The first SYNs, or the answers to them, are lost, or come late.", 3, gain=False, kinds=OPENING,
      check=check("opening takes 0.4 s or more, ten round trips", lambda truth, trial: truth["path"]["opening_s"] >= 0.4))
def opening_late(d):
    rtt, octets = d.log("rtt_ms", 4, 20), d.log("octets", 7_000, 60_000)
    it = {**line(10e6, rtt), **download(octets * 8, d.turn("program", "nginx-curl", "caddy", "nginx-wget"), seconds=1),
          "least_s": 0, "one_end": "receiver", "middle": "A"}
    return on_path(it, **{d.turn("how", "back_syn", "there_syn", "there_synwait"): d.turn("value", 1, 1, 620)})


@case("silence", ["no-answer"], "Nobody answers the requests for a connection.", 3, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.8, 0.95), check=no_payload())
def silence(d):
    how = d.turn("how", "dropped at the server", "answers are dropped on the path", "the station does not exist")
    it = {**line(10e6, d.log("rtt_ms", 4, 50)), "sender": "A", "one_end": "sender", "servers": [], "longest": 9, "least_s": 0,
          "client": "socat -u OPEN:/dev/zero TCP:@B:8081,connect-timeout=8; true"}
    if how == "the station does not exist":
        return {**it, "client": "wget -q -T 7 -t 1 -O /dev/null http://10.44.2.77:8081/; true"}
    if how == "dropped at the server":
        return {**it, "nft": {"B": RULE.replace("@R", "drop")}}
    return {**on_path(it, back_syn=99), "servers": [("B", "@P listen @B 8081 read")]}


@case("turned-away", ["refused"], "The connection is refused.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"),
      truncated=(0.6, 0.9), check=no_payload())
def turned_away(d):
    it = {**line(10e6, d.log("rtt_ms", 4, 50)), "sender": "A", "one_end": "sender", "servers": [], "least_s": 0,
          "client": "for i in 1 2 3 4 5 6; do curl -s -m 2 -o /dev/null http://@B:8081/; sleep 0.4; done; true"}
    if d.turn("how", "no listener", "a firewall resets") == "no listener":
        return it
    return {**it, "nft": {"B": RULE.replace("@R", "reject with tcp reset")}}


@case("names-late", ["name-resolution"], "The name server answers late, or the first of two not at all.", 2, gain=False,
      kinds=("sender", "receiver", "middle", "snapped"),
      check=check("payload comes late", lambda truth, trial: truth["path"]["wait_s"] >= 0.4))
def names_late(d):
    rtt, octets, after = d.log("rtt_ms", 4, 36), d.log("octets", 6_000, 50_000), d.log("after_ms", 550, 1_500)
    it = {**line(10e6, rtt), **download(octets * 8, "nginx-curl", seconds=1), "least_s": 0, "one_end": "receiver", "middle": "A"}
    it["client"] = it["client"].replace("@B:", "firmware.example.net:")
    if d.turn("how", "late", "first is dead") == "late":
        return {**it, "resolver": "nameserver 10.44.2.2\noptions timeout:5\n",
                "servers": [*it["servers"], ("B", f"@P names @B 53 to=10.44.2.2 after={after}")]}
    return {**it, "resolver": "nameserver 10.44.2.9\nnameserver 10.44.2.2\noptions timeout:1\n",
            "servers": [*it["servers"], ("B", "@P names @B 53 to=10.44.2.2")]}
