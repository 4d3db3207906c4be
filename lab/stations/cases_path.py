"""Causes on the path."""

from checks import both, check, faster, filled, missing
from draw import case
from setups import at_most, counted, download, lasting, line, on_path, printed, transfer

RULE = "table ip s {\nchain i {\ntype filter hook input priority 0;\ntcp dport 8080 counter @R\n}\n}\n"
LOSS = ["random-loss", "wire-errors"]


@case("policer", ["policed"], "A token bucket on the path drops what exceeds a rate; nothing queues.", 3,
      check=both(counted("policed", 10), faster(1.5)))
def policer(d):
    rtt, rate, at = d.log("rtt_ms", 6, 60), d.log("rate", 20e6, 40e6), d.log("policed_bits_per_s", 1.5e6, 7e6)
    burst = d.log("burst_octets", 12_000, 60_000)
    it = {**line(rate, rtt, 30), **transfer(d, at * 0.8, "down:lighttpd-curl", "up:app", "down:redis")}
    return {**on_path(it, there_police=at, there_burst=burst), "congestion": d.turn("congestion", "cubic", "reno", "cubic")}


@case("few-buffers", ["shallow-queue", "queue-overflow"], "The queue before the slowest link holds a few frames.", 3,
      check=both(counted("queue_full", 4), faster(1.12)))
def few_buffers(d):
    rtt, rate, held = d.log("rtt_ms", 45, 130), d.log("rate", 8e6, 18e6), int(d.log("frames", 3, 7, 1))
    it = {**line(rate, rtt, 1.3 * rtt), **transfer(d, rate * 0.5, "up:app", "down:lighttpd-wget", "up:nc", seconds=8), "congestion": "reno"}
    return on_path(it, there_queue=held * 1514)


@case("bloat", ["bufferbloat", "path-rate"], "The queue of the slowest link holds the better part of a second, or more.", 3, gain=False,
      check=both(filled(0.75), counted("queue_ms_max", 250)))
def bloat(d):
    rtt, rate, queue = d.log("rtt_ms", 8, 60), d.log("rate", 0.7e6, 6e6), d.log("queue_ms", 350, 1_800)
    it = {**line(rate, rtt), **transfer(d, rate, "down:lighttpd-curl", "up:app", "down:ssh", seconds=7)}
    return on_path(it, there_queue=int(rate / 8e3 * queue))


@case("modem", ["path-rate", "bufferbloat"], "A line of 56 to 512 kbit/s is full; each segment takes long.", 3, gain=False,
      check=filled(0.75))
def modem(d):
    rate, rtt = d.turn("rate", 56_000, 128_000, 256_000, 512_000), d.log("rtt_ms", 30, 150)
    d.settings["rate"] = rate
    return {**line(rate, rtt, 12 * 1514 * 8e3 / rate), **transfer(d, rate, "up:app", "down:lighttpd-wget", "down:redis", seconds=9),
            "mtu": d.turn("mtu", 1500, 1006, 576), "longest": 40}


@case("lossy", LOSS, "Frames are lost at random, alone.", 4, check=both(missing(6), faster(1.2)))
def lossy(d):
    rtt, rate, share = d.log("rtt_ms", 14, 90), d.log("rate", 14e6, 32e6), d.log("loss", 0.004, 0.015)
    it = {**line(rate, rtt, 1.2 * rtt), **transfer(d, rate * 0.15, "down:lighttpd-curl", "up:app", "up:ncat", "down:app")}
    return {**on_path(it, there_loss=share), "congestion": d.turn("congestion", "cubic", "reno")}


@case("gilbert", ["loss-in-bursts", *LOSS, "retransmission-stalls"], "The path has bad moments in which several frames are lost.", 2,
      check=both(missing(10), faster(1.2)))
def gilbert(d):
    rtt, rate = d.log("rtt_ms", 8, 40), d.log("rate", 10e6, 20e6)
    bad, length = d.log("bad", 0.002, 0.006), d.log("bad_length", 3, 7)
    it = {**line(rate, rtt, 30), **transfer(d, rate * 0.2, "up:app", "down:lighttpd-wget")}
    return on_path(it, there_bad=bad, there_bad_length=length)


@case("damaged", {"receiver": ["checksum-errors"], "else": [*LOSS, "checksum-errors"]},
      "A station on the path changes octets; the FCS is right, TCP's checksum is not.", 2, check=both(counted("corrupted", 8), faster(1.15)),
      kinds=("sender", "receiver", "middle", "late", "truncated"))
def damaged(d):
    rtt, rate, share = d.log("rtt_ms", 12, 60), d.log("rate", 10e6, 20e6), d.log("damaged", 0.005, 0.015)
    it = {**line(rate, rtt, 30), **transfer(d, rate * 0.2, "up:nc", "down:lighttpd-curl")}
    return on_path(it, there_corrupt=share)


@case("overtaking", ["reordering"], "Some segments take a longer way; the sender takes it for a loss after a quarter of a round trip.", 4,
      check=both(counted("overtaken", 20), at_most("queue_full", 60), faster(1.15)))
def overtaking(d):
    rtt, rate, share = d.log("rtt_ms", 40, 90), d.log("rate", 12e6, 24e6), d.log("late", 0.01, 0.03)
    it = transfer(d, rate * 0.4, "up:app", "down:app")
    receiver = "B" if it["sender"] == "A" else "A"
    it = {**line(rate, rtt, 60), **it, "congestion": "reno", "timestamps": 0,
          # Slow start must not overflow the queue: the losses would cost more than the overtaking.
          "route": {it["sender"]: f"cwnd lock {round(1.3 * rate * rtt / 8e3 / 1514)}"},
          "sysctl": {it["sender"]: {"net.ipv4.tcp_recovery": 2, "net.ipv4.tcp_max_reordering": 3},
                     receiver: {"net.ipv4.tcp_dsack": 0}}}
    return on_path(it, there_late=share, there_late_by=round(rtt * d.log("late_by_rtts", 0.4, 0.85), 1))


@case("path-pauses", ["link-interrupted", "receiver-stalls", "retransmission-stalls", "sender-stalls"],
      "The path holds everything back at intervals and loses nothing: a radio scans, a modem hands over.", 2,
      check=both(counted("held", 4), faster(1.2)))
def path_pauses(d):
    rtt, rate = d.log("rtt_ms", 8, 40), d.log("rate", 6e6, 14e6)
    period, pause = d.log("period_ms", 1_100, 1_900), d.log("pause_ms", 420, 700)
    it = {**line(rate, rtt, 25), **transfer(d, rate * 0.6, "down:lighttpd-curl", "up:app")}
    return on_path(it, stall=period, stall_for=pause)


@case("narrow-way-back", ["ack-path-full"], "The way back carries a fraction of the acknowledgments.", 3,
      check=both(counted("queue_ms_mean", 60, back=True), faster(1.2)))
def narrow_way_back(d):
    rtt, rate, back = d.log("rtt_ms", 10, 60), d.log("rate", 12e6, 24e6), d.log("back_bits_per_s", 28e3, 110e3)
    it = {**line(rate, rtt, 25), **transfer(d, rate * 0.5, "down:lighttpd-curl", "up:app", "down:redis")}
    return on_path(it, back_rate=back, back_queue=int(d.log("back_frames", 40, 90)) * 66)


@case("interrupted", ["link-interrupted"], "The path is interrupted once, in both directions.", 3, late=(0.08, 0.13), truncated=(0.85, 0.95),
      check=both(faster(1.2), counted("outage", 2)))
def interrupted(d):
    rtt, rate = d.log("rtt_ms", 5, 80), d.log("rate", 3e6, 10e6)
    after, down = d.log("after_ms", 1_500, 2_200), d.log("down_ms", 1_200, 2_800)
    it = {**line(rate, rtt, 25), **transfer(d, rate * 0.8, "up:nc", "down:lighttpd-wget", "down:ssh")}
    return on_path(it, outage=after, outage_for=down)


@case("black-hole", ["mtu-black-hole"], "The path drops full packets without a message.", 3, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.85), check=counted("too_long", 3))
def black_hole(d):
    rtt, size = d.log("rtt_ms", 3, 60), d.log("most_octets", 1_000, 1_460)
    it = {**line(20e6, rtt), **transfer(d, 1e6, "up:ncat", "down:lighttpd-curl", "down:redis"), "one_end": "sender", "longest": 8}
    return on_path(it, there_mtu=size)


@case("costly-frames", ["small-mss", "path-rate"], "Each frame costs much beside its octets, and segments are small.", 3, check=faster(1.3))
def costly_frames(d):
    rtt, rate, mss, overhead = d.log("rtt_ms", 4, 30), d.log("rate", 4e6, 10e6), d.log("mss", 216, 460), d.log("overhead_octets", 150, 320)
    it = {**line(rate, rtt, 40), **transfer(d, rate * 0.4, "up:app", "down:lighttpd-curl", "up:app")}
    it["path"]["overhead"] = overhead
    how = d.turn("how", "route", "clamped on the path", "small MTU")
    if how == "clamped on the path":
        return on_path(it, mss=mss)
    if how == "small MTU":
        return {**it, "mtu": max(mss + 40, 300), "without": {"mtu": 1500}}
    return {**it, "route": {end: f"advmss {mss}" for end in "AB"}, "without": {"route": {}}}


@case("holes-without-sack", ["no-sack", "loss-in-bursts", *LOSS, "retransmission-stalls"],
      "The path removes the option for selective acknowledgments and loses several segments of a flight.", 2, gain=False,
      check=both(missing(12), faster(1.2)))
def holes_without_sack(d):
    rtt, rate = d.log("rtt_ms", 50, 110), d.log("rate", 14e6, 24e6)
    it = {**line(rate, rtt, 40), **transfer(d, rate * 0.1, "up:app", "down:lighttpd-curl")}
    return on_path(it, nosack=1, there_bad=d.log("bad", 0.002, 0.005), there_bad_length=d.log("bad_length", 3, 6))


@case("copies", {"receiver": ["duplicate-frames"], "else": ["duplicate-frames", "path-rate"]},
      "A loop before the slowest link sends frames twice; they take its time.", 2, check=both(counted("copied", 200), faster(1.25)))
def copies(d):
    rtt, rate = d.log("rtt_ms", 4, 25), d.log("rate", 4e6, 9e6)
    it = {**line(rate, rtt, 40), **transfer(d, rate * 0.55, "up:app", "down:lighttpd-curl")}
    return on_path(it, there_copy=d.log("copied", 0.6, 1))


@case("too-many-datagrams", ["above-path-rate"], "Numbered datagrams are sent at more than the path carries.", 3, gain=False,
      kinds=("receiver", "late", "truncated", "snapped"), check=missing(40))
def too_many_datagrams(d):
    rtt, rate, octets = d.log("rtt_ms", 4, 50), d.log("rate", 0.8e6, 5e6), d.log("octets", 300, 1_300)
    sent = rate * d.log("factor", 1.25, 2)
    it = {**line(rate, rtt, 40), "sender": "A", "one_end": "receiver"}
    if d.turn("program", "app", "iperf3", "app") == "iperf3":
        return {**it, "servers": [("B", "iperf3 -s -1")], "client": f"iperf3 -c @B -u -b {int(sent)} -l {octets} -t 4"}
    return {**it, "servers": [("B", "@P echo @B 7000 quiet=1")],
            "client": f"@P stream @B 7000 octets={octets} pause={octets * 8e3 / sent:.4f} seconds=4.5"}


@case("power-save", ["wake-up-latency", "client-think-time"], "The server's radio sleeps when idle and wakes up at the next beacon.", 2,
      gain=False, kinds=("receiver", "middle", "late", "truncated", "snapped"),
      check=both(counted("held", 5, back=True), printed("slowest answer", "longest_ms", lambda trial: 0.5 * trial["path"]["back.beacon"])))
def power_save(d):
    rtt, idle, beacon = d.log("rtt_ms", 2, 8), d.log("idle_ms", 20, 60), d.log("beacon_ms", 90, 320)
    pause, answer = d.log("pause_ms", 150, 420), d.log("answer", 400, 6_000)
    it = {**line(8e6, rtt), "sender": "B", "one_end": "receiver", "middle": "A",
          "servers": [("B", f"@P listen @B 5004 answer request=90 answer={answer}")],
          "client": f"@P connect @B 5004 ask request=90 answer={answer} count={int(6500 / (pause + beacon / 2))} pause={pause} spread=0.4"}
    return {**on_path(it, back_sleep=idle, back_beacon=beacon)}


@case("lost-answers", ["retransmission-stalls", *LOSS], "Requests and answers are lost; only the timer repairs them.", 2,
      check=both(faster(1.3), lasting(2)))
def lost_answers(d):
    rtt, share = d.log("rtt_ms", 6, 30), d.log("loss", 0.03, 0.06)
    request, answer = d.log("request", 60, 300), d.log("answer", 60, 900)
    count = int(4.5 / (rtt / 1e3 + 2 * share * 0.23))
    it = {**line(10e6, rtt), "sender": "B", "servers": [("B", f"@P listen @B 5004 answer request={request} answer={answer}")],
          "client": f"@P connect @B 5004 ask request={request} answer={answer} count={count}"}
    return on_path(it, loss=share)


OPENING = ("sender", "receiver", "middle", "snapped")


@case("syn-lost", ["slow-handshake"], "The first SYNs, or the first answers to them, are lost.", 3, gain=False, kinds=OPENING[1:],
      check=check("opening takes a second or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.9))
def syn_lost(d):
    rtt, octets = d.log("rtt_ms", 4, 90), d.log("octets", 6_000, 60_000)
    it = {**line(10e6, rtt), **download(octets * 8, d.turn("program", "lighttpd-curl", "python-wget", "lighttpd-lftp"), seconds=1),
          "least_s": 0, "one_end": "receiver", "middle": "A"}
    return on_path(it, **{d.turn("lost", "back_syn", "there_syn", "back_syn"): d.turn("times", 1, 1, 2)})


@case("no-reply", ["no-answer"], "Nobody answers the requests for a connection.", 3, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.8, 0.95),
      check=check("no payload", lambda truth, trial: not truth["octets"]))
def no_reply(d):
    how = d.turn("how", "dropped at the server", "answers are dropped on the path", "the station does not exist")
    it = {**line(10e6, d.log("rtt_ms", 3, 60)), "sender": "A", "one_end": "sender", "servers": [], "longest": 9, "least_s": 0}
    if how == "the station does not exist":
        return {**it, "no_host": True, "client": "curl -s -m 6 -o /dev/null http://10.0.0.77:8080/; true"}
    if how == "dropped at the server":
        return {**it, "nft": {"B": RULE.replace("@R", "drop")},
                "client": "nc.openbsd -w 8 @B 8080 < /dev/null; true"}
    return {**on_path(it, back_syn=99), "servers": [("B", "@P listen @B 8080 read")], "client": "wget -q -T 7 -t 1 -O /dev/null http://@B:8080/; true"}


@case("rejected", ["refused"], "The connection is refused.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"),
      truncated=(0.6, 0.9), check=check("no payload", lambda truth, trial: not truth["octets"]))
def rejected(d):
    it = {**line(10e6, d.log("rtt_ms", 3, 60)), "sender": "A", "one_end": "sender", "servers": [], "least_s": 0,
          "client": "for i in 1 2 3 4 5; do nc.openbsd -w 2 @B 8080 < /dev/null; sleep 0.5; done; true"}
    if d.turn("how", "no listener", "a firewall sends ICMP") == "no listener":
        return it
    return {**it, "nft": {"B": RULE.replace("@R", "reject with icmp type admin-prohibited")}}


@case("slow-lookup", ["name-resolution"], "The name server answers late, or the first of two not at all.", 2, gain=False, kinds=OPENING,
      check=check("payload comes late", lambda truth, trial: truth["path"]["wait_s"] >= 0.4))
def slow_lookup(d):
    rtt, octets, after = d.log("rtt_ms", 4, 40), d.log("octets", 5_000, 50_000), d.log("after_ms", 500, 1_600)
    it = {**line(10e6, rtt), **download(octets * 8, "lighttpd-curl", seconds=1), "least_s": 0,
          "client": "curl -s -o /dev/null http://depot.example.org:8080/data"}
    if d.turn("how", "late", "first is dead") == "late":
        return {**it, "resolver": "nameserver 10.0.0.2\noptions timeout:5\n",
                "servers": [*it["servers"], ("B", f"@P names @B 53 to=10.0.0.2 after={after}")]}
    return {**it, "resolver": "nameserver 10.0.0.3\nnameserver 10.0.0.2\noptions timeout:1\n", "dead_resolver": True,
            "servers": [*it["servers"], ("B", "@P names @B 53 to=10.0.0.2")]}
