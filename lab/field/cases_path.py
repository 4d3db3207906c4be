"""Causes on the path."""

from checks import between, both, check, faster, filled, missing, no_payload, printed
from draw import case
from setups import down, held, line, queue_of, shaped, transfer, up

LOSS = ["random-loss", "wire-errors"]
# Later on few segments are lost, and the window grows.
SHALLOW = {"late": ["shallow-queue", "queue-overflow", "loss-in-bursts", "random-loss", "congestion-window"],
           "else": ["shallow-queue", "queue-overflow", "loss-in-bursts"]}
OPENING = ("receiver", "middle", "snapped")


def counted(name, least, way="there"):
    return check(f"the path counts {name} of at least {least}{' on the way back' if way == 'back' else ''}",
                 lambda truth, trial: truth["path"]["counts"][way].get(name, 0) >= least)


def mostly(name):
    return check(f"the path counts twice as many {name} as are lost in its queue, or more",
                 lambda truth, trial: truth["path"]["counts"]["there"].get(name, 0) >= 2 * truth["path"]["counts"]["there"]["queue_full"])


def filtered(least):
    return check(f"the router's filter counts at least {least}", lambda truth, trial: truth["path"]["counts"].get("filtered_R", 0) >= least)


def router_rule(rule):
    return {"R": f"table ip field {{\nchain f {{\ntype filter hook forward priority -20;\n{rule}\n}}\n}}\n"}


@case("bad-cable", LOSS, "Frames are lost at random, alone.", 4, check=both(missing(6), mostly("lost"), faster(1.3)))
def bad_cable(d):
    rtt, rate, share = d.log("rtt_ms", 14, 64), d.log("rate", 11e6, 26e6), d.log("loss", 0.006, 0.019)
    it = {**line(rate, rtt, 30 + 2 * rtt), **transfer(d, rate * 0.25, "down:nginx-curl", "up:put", "down:ftp", "up:ends")}
    return {**held(it, there_loss=share), "congestion": d.turn("congestion", "cubic", "reno", "cubic", "cubic")}


@case("device-overruns", ["queue-overflow", "shallow-queue", "loss-in-bursts"],
      "The receiving device has a few descriptors and takes long for each frame; of a train the later frames are lost.", 4,
      check=both(counted("overrun", 12), faster(1.3)))
def device_overruns(d):
    rtt, cost, ring = d.log("rtt_ms", 18, 48), d.log("cost_us", 380, 1_100), int(d.log("ring", 3, 7, 1))
    rate = 60e6
    it = {**line(rate, rtt, 25), **transfer(d, 12e8 / cost * 3, "up:put", "down:rsync", "up:iperf", "down:nginx-wget"), "congestion": d.turn("congestion", "reno", "cubic")}
    return {**held(it, there_ring=ring, there_cost=cost), "without": {"hold": {**it["hold"], "there.ring": 400, "there.cost": cost}}}


@case("shallow-switch", SHALLOW,
      "A sender at the speed of its host, segments cut by the device, before a switch with a few buffers and a slower port.", 3,
      check=both(counted("queue_full", 4), faster(1.3)))
def shallow_switch(d):
    rtt, rate, held_frames = d.log("rtt_ms", 42, 95), d.log("rate", 9e6, 20e6), int(d.log("frames", 2, 6, 1))
    it = {**line(rate, rtt, 1.4 * rtt + 10), **transfer(d, rate * 0.5, "up:ends", "down:lighttpd-wget", "up:iperf3"), "congestion": "reno",
          "segmented_by_device": d.turn("segmented_by_device", True, False, True)}
    return shaped(it, there=(rate, held_frames * 1514))


@case("policer", ["policed"], "A token bucket of nftables drops what exceeds a rate; nothing queues.", 3, check=both(filtered(15), faster(1.3)))
def policer(d):
    rtt, rate, at, bucket = d.log("rtt_ms", 11, 44), d.log("rate", 26e6, 54e6), d.log("policed_bits_per_s", 2.2e6, 9.5e6), d.log("burst_octets", 18_000, 80_000)
    it = {**line(rate, rtt, 30), **transfer(d, at, "down:nginx-curl", "up:iperf", "down:rsync"), "congestion": d.turn("congestion", "cubic", "reno")}
    rule = f'iifname "to_{it["sender"].lower()}" limit rate over {int(at / 8)} bytes/second burst {bucket} bytes counter drop'
    return {**it, "nft": router_rule(rule), "without": {"nft": {}}}


@case("modem-queue", ["bufferbloat", "path-rate"], "A rate-limited uplink; the modem's queue holds the better part of a second.", 3, gain=False,
      check=both(filled(0.75), counted("queue_ms_max", 260)))
def modem_queue(d):
    rtt, rate, queue = d.log("rtt_ms", 12, 60), d.log("rate", 0.7e6, 4.4e6), d.log("queue_ms", 420, 1_300)
    it = {**line(rate, rtt), **transfer(d, rate, "up:put", "down:lighttpd-wget", "up:scp", seconds=5), "congestion": "cubic"}
    return shaped(it, there=(rate, queue_of(rate, queue)))


@case("narrow-way-back", ["ack-path-full"], "The way back is so narrow that acknowledgments fill it.", 3,
      check=both(counted("queue_ms_mean", 60, "back"), faster(1.3)))
def narrow_way_back(d):
    rtt, rate, back = d.log("rtt_ms", 10, 60), d.log("rate", 10e6, 22e6), d.log("back_bits_per_s", 34e3, 90e3)
    it = {**line(rate, rtt, 25), **transfer(d, rate * 0.2, "down:nginx-curl", "down:ftp", "up:ends")}
    return shaped(it, back=(back, int(d.log("back_frames", 40, 80)) * 90))


@case("upload-beside", ["ack-path-full", "bufferbloat"], "A backup fills the uplink; the acknowledgments of a download wait behind it.", 2,
      check=both(counted("queue_ms_mean", 60, "back"), faster(1.3)))
def upload_beside(d):
    rtt, rate, uplink = d.log("rtt_ms", 9, 32), d.log("rate", 12e6, 24e6), d.log("uplink_bits_per_s", 0.5e6, 1.3e6)
    it = {**line(rate, rtt, 25), **down(rate * 0.12, d.turn("program", "nginx-curl", "busybox-wget"))}
    it["shape"] = {**it["shape"], "back": (uplink, queue_of(uplink, d.log("queue_ms", 380, 900)))}
    busy = {"servers": [*it["servers"], ("B", "@P listen @B 5101 read")],
            "client": f"@P connect @B 5101 send seconds=30 & p=$!; sleep 0.8; {it['client']}; kill $p"}
    return {**it, **busy, "without": {"servers": it["servers"], "client": it["client"]}}


@case("mismatch", ["duplex-mismatch", *LOSS, "loss-in-bursts", "retransmission-stalls"],
      "One end is half duplex, the other full duplex: frames that cross are destroyed.", 2, check=both(counted("collided", 8), faster(1.3)))
def mismatch(d):
    rate = d.turn("rate", 10_000_000, 100_000_000)
    it = {**line(rate, d.log("rtt_ms", 0.7, 4.5), 20), **transfer(d, rate * 0.2, "up:ends", "down:nginx-curl")}
    return held(it, mismatch=rate, half=d.turn("half", 1, 0))


@case("two-ways", ["reordering"], "Some segments take a longer way; the sender takes it for a loss.", 2,
      check=both(counted("overtaken", 10), faster(1.3)))
def two_ways(d):
    rtt, rate, share = d.log("rtt_ms", 40, 78), d.log("rate", 10e6, 20e6), d.log("late", 0.025, 0.06)
    it = transfer(d, rate * 0.4, "up:ends", "down:ends")
    receiver = "B" if it["sender"] == "A" else "A"
    it = {**line(rate, rtt, 70), **it, "congestion": "reno", "timestamps": 0,
          "route": {it["sender"]: f"cwnd lock {round(1.3 * rate * rtt / 8e3 / 1514)}"},
          "sysctl": {it["sender"]: {"net.ipv4.tcp_recovery": 2, "net.ipv4.tcp_max_reordering": 3}, receiver: {"net.ipv4.tcp_dsack": 0}}}
    return held(it, there_late=share, there_lateby=round(rtt * d.log("late_by_rtts", 0.4, 0.8), 1))


@case("cable-pulled", ["link-interrupted"], "The receiver's link goes down once and comes back.", 3, late=(0.06, 0.12), truncated=(0.85, 0.95), check=faster(1.3))
def cable_pulled(d):
    rtt, rate = d.log("rtt_ms", 5, 60), d.log("rate", 3e6, 10e6)
    after, length = d.log("after_ms", 1_300, 1_900), d.log("down_ms", 1_400, 2_600)
    it = {**line(rate, rtt, 25), **transfer(d, rate * 0.7, "down:nginx-curl", "up:put", "down:ftp")}
    link = "to_b" if it["sender"] == "A" else "to_a"
    return {**it, "events": [(after / 1e3, link, "down"), ((after + length) / 1e3, link, "up")], "without": {"events": []}}


@case("radio-lost", [*LOSS, "loss-in-bursts", "retransmission-stalls"], "A weak radio: moments in which several frames are lost.", 2,
      check=both(counted("lost", 10), mostly("lost"), faster(1.3)))
def radio_lost(d):
    rtt, rate = d.log("rtt_ms", 16, 48), d.log("rate", 8e6, 18e6)
    it = {**line(rate, rtt, 30 + 2.2 * rtt), **transfer(d, rate * 0.2, "down:lighttpd-wget", "up:ends")}
    return held(it, there_bad=d.log("bad", 0.007, 0.016), there_badlength=d.log("bad_length", 2.5, 5))


@case("power-save", ["wake-up-latency", "client-think-time"], "The station's radio sleeps when idle; what is sent to it waits for a beacon, longer than the client pauses.",
      4, gain=False, kinds=("receiver", "middle", "late", "truncated", "snapped"), check=both(counted("slept", 5, "back"), printed("longest_ms", 50), faster(1.5)))
def power_save(d):
    rtt, idle, beacon = d.log("rtt_ms", 2, 9), d.log("idle_ms", 15, 45), d.turn("beacon_ms", 204.8, 307.2, 409.6)
    pause, answer = round(beacon * d.log("pause_beacons", 0.25, 0.5), 1), d.log("answer", 200, 3_500)
    d.note(pause_ms=pause)
    it = {**line(8e6, rtt), "sender": "B", "one_end": "receiver", "servers": [("B", f"@P listen @B 5104 answer request=80 answer={answer}")],
          "client": f"@P connect @B 5104 ask request=80 answer={answer} count={int(4_500 / beacon)} pause={pause}"}
    return held(it, back_sleep=idle, back_beacon=beacon)


@case("lost-requests", ["retransmission-stalls", *LOSS], "Requests and answers are lost; only the timer repairs them.", 2,
      check=both(faster(1.3), between(2, 16)))
def lost_requests(d):
    rtt, share = d.log("rtt_ms", 4, 24), d.log("loss", 0.035, 0.075)
    request, answer = d.log("request", 40, 240), d.log("answer", 50, 1_000)
    it = {**line(10e6, rtt), "sender": "B", "servers": [("B", f"@P listen @B 5104 answer request={request} answer={answer}")],
          "client": f"@P connect @B 5104 ask request={request} answer={answer} count={int(4.5 / (rtt / 1e3 + 2 * share * 0.23))}"}
    return held(it, there_loss=share, back_loss=share)


@case("too-big", ["mtu-black-hole"], "A tunnel's router drops full packets without a message.", 3, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.6, 0.85), check=filtered(3))
def too_big(d):
    rtt, size = d.log("rtt_ms", 5, 60), d.log("most_octets", 1_240, 1_492)
    it = {**line(20e6, rtt), **transfer(d, 1e6, "down:nginx-curl", "up:put", "up:scp"), "one_end": "sender", "longest": 8, "fixed_octets": True}
    return {**it, "nft": router_rule(f'iifname "to_{it["sender"].lower()}" ip length > {size} counter drop')}


@case("opening-late", ["slow-handshake"], "The first SYN, or the answer to it, is lost, or comes late.", 2, gain=False, kinds=OPENING,
      check=check("opening takes 0.4 s or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.4))
def opening_late(d):
    rtt, octets = d.log("rtt_ms", 3, 30), d.log("octets", 5_000, 50_000)
    it = {**line(10e6, rtt), **down(octets * 8, d.turn("program", "lighttpd-wget", "nginx-curl"), seconds=1), "least_s": 0, "one_end": "receiver", "fixed_octets": True}
    return held(it, **{d.turn("how", "there_syn", "there_synwait"): d.turn("value", 1, 780)})


@case("silence", ["no-answer"], "Nobody answers the requests for a connection.", 2, gain=False,
      kinds=("sender", "middle", "truncated", "snapped"), truncated=(0.8, 0.95), check=no_payload())
def silence(d):
    it = {**line(10e6, d.log("rtt_ms", 3, 60)), "sender": "A", "one_end": "sender", "servers": [], "longest": 9, "least_s": 0,
          "client": f"curl -s -m 7 -o /dev/null http://10.47.2.{int(d.log('host', 30, 200))}:{int(d.log('port', 80, 9_000))}/; true"}
    if d.turn("how", "filtered", "no such station") == "filtered":
        return {**it, "client": it["client"].replace("10.47.2." + str(d.settings["host"]), "@B"), "nft": router_rule('iifname "to_a" ip protocol tcp counter drop')}
    return it


@case("names-late", ["name-resolution"], "The name server answers late.", 2, gain=False, kinds=("sender", "receiver", "middle", "snapped"),
      check=check("payload comes late", lambda truth, trial: truth["path"]["wait_s"] >= 0.4))
def names_late(d):
    rtt, octets, after = d.log("rtt_ms", 3, 40), d.log("octets", 5_000, 60_000), d.log("after_ms", 600, 1_900)
    it = {**line(10e6, rtt), **down(octets * 8, d.turn("program", "nginx-curl", "lighttpd-wget"), seconds=1), "least_s": 0, "one_end": "receiver", "fixed_octets": True}
    it["client"] = it["client"].replace("@B:", "updates.example.org:")
    return {**it, "resolver": "nameserver 10.47.2.2\noptions timeout:5\n", "servers": [*it["servers"], ("B", f"@P listen @B 53 names to=10.47.2.2 after={after}")]}


@case("above-rate", ["above-path-rate"], "Numbered datagrams are sent at more than the path carries.", 3, gain=False,
      kinds=("receiver", "late", "truncated", "snapped"), check=missing(40))
def above_rate(d):
    rtt, rate, octets = d.log("rtt_ms", 3, 40), d.log("rate", 1.1e6, 7e6), int(d.log("octets", 400, 1_440))
    sent = rate * d.log("factor", 1.35, 2.6)
    it = {**line(rate, rtt, 40), "sender": "A", "one_end": "receiver"}
    program = d.turn("program", "iperf", "iperf3", "ends")
    if program == "ends":
        return {**it, "servers": [("B", "@P listen @B 7010 take")], "client": f"@P connect @B 7010 stream octets={octets} pause={octets * 8e3 / sent:.4f} seconds=4"}
    return {**it, "servers": [("B", f"{program} -s {'-u' if program == 'iperf' else ''}")], "client": f"{program} -c @B -u -b {int(sent)} -l {octets} -t 4"}
