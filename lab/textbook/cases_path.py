"""Causes on the path: losses, queues, rates, filters, a radio."""

from checks import both, check, faster, filled, missing, no_payload, takes_at_most
from draw import case
from setups import JAVA, apache, counted, curl, ends, ftp, java_stream, line, waits

AT_END = ("sender", "middle", "late", "truncated", "snapped")


def transfer(draw, octets, **more):
    """A download from Apache or an FTP server, or a stream of the set's own programs, in turn."""
    which = draw.turn("program", *draw.random.sample(("apache", "java", "ftp"), 3))
    if which == "apache":
        return apache(draw, curl(), octets)
    if which == "ftp":
        return ftp(draw, octets)
    return java_stream(ends(draw), octets=octets)


@case("bad-splice", ["random-loss"], "Each frame is lost with the same small probability.", count=3, check=both(faster(1.3), missing(8)))
def _(draw):
    rate, rtt, loss = draw.log("rate", 18e6, 65e6), draw.log("rtt_ms", 14, 55), draw.log("loss_percent", 0.4, 2.6)
    path = line(draw, rate, rtt, queue_ms=90)
    path["forward"]["loss"] = loss / 100
    return {**path, **transfer(draw, int(rate / 8 * 2)), "without": {"forward": {**path["forward"], "loss": 0}}}


@case("weak-spot", ["random-loss", "loss-in-bursts", "retransmission-stalls"], "A radio loses several frames in a row now and then.", count=4,
      check=both(faster(1.3), missing(12)))
def _(draw):
    rate, rtt = draw.log("rate", 12e6, 40e6), draw.log("rtt_ms", 20, 60)
    path = line(draw, rate, rtt, queue_ms=90)
    bad = {"bad": draw.log("moments_per_1000", 0.8, 2.4) / 1000, "badPackets": draw.log("packets", 3, 7), "badLoss": 0.7}
    return {**path, **transfer(draw, int(rate / 8 * 2)), "forward": {**path["forward"], **bad}, "without": {"forward": path["forward"]}}


@case("contract-rate", ["policed"], "The operator drops what exceeds the rate of the contract.", count=3,
      check=both(faster(1.3), counted("forward", "policed", 12)))
def _(draw):
    rate, rtt = draw.log("rate", 45e6, 90e6), draw.log("rtt_ms", 10, 45)
    allowed, bucket = draw.log("contract", 4e6, 18e6), draw.log("bucket", 24e3, 160e3)
    path = line(draw, rate, rtt, queue_ms=90)
    policed = {**path["forward"], "policed": allowed, "bucket": bucket}
    return {**path, **transfer(draw, int(allowed * 0.6)), "forward": policed, "without": {"forward": path["forward"]}}


@case("five-packets", ["shallow-queue", "queue-overflow"], "The switch before the slow line holds a few packets.", count=3,
      check=both(faster(1.3), counted("forward", "full", 3)))
def _(draw):
    rate, rtt = draw.log("rate", 14e6, 50e6), draw.log("rtt_ms", 22, 70)
    path = line(draw, rate, rtt, packets=draw.random.randrange(4, 9))
    draw.note(queue=path["forward"]["queue"])
    deep = {**path["forward"], "queue": 0, "queueMs": 1.5 * rtt}
    return {**path, **transfer(draw, int(rate / 8 * 2.5)), "without": {"forward": deep}}


@case("modem-buffer", ["bufferbloat", "path-rate"], "The modem holds a second of data.", count=3, check=both(filled(0.8), waits(260)))
def _(draw):
    rate, rtt = draw.log("rate", 1.3e6, 6e6), draw.log("rtt_ms", 12, 40)
    path = line(draw, rate, rtt, queue_ms=draw.log("queue_ms", 450, 1400))
    return {**path, **transfer(draw, int(rate / 8 * 7)), "least_s": 4}


@case("two-lines", ["reordering"], "Some packets take a longer way, and the sender takes them for lost.", count=3,
      check=both(faster(1.3), counted("forward", "overtaken", 30)))
def _(draw):
    rate, rtt = draw.log("rate", 20e6, 60e6), draw.log("rtt_ms", 15, 40)
    path = line(draw, rate, rtt, queue_ms=80)
    late = {**path["forward"], "lateShare": draw.log("share", 0.02, 0.08), "lateMs": rtt * draw.random.uniform(0.5, 0.9)}
    strict = {"tcp_recovery": 0, "tcp_max_reordering": 3, "tcp_reordering": 3, "tcp_dsack": 0, "tcp_early_retrans": 0}
    return {**path, **transfer(draw, int(rate / 8 * 2)), "forward": late, "sysctl": {"A": strict, "B": strict}, "without": {"forward": path["forward"]}}


@case("looped", ["duplicate-frames"], "A second path between bridges repeats frames before the slow line.", count=3,
      check=both(faster(1.25), counted("forward", "copied", 100)))
def _(draw):
    rate, rtt = draw.log("rate", 8e6, 25e6), draw.log("rtt_ms", 6, 25)
    path = line(draw, rate, rtt, queue_ms=60)
    twice = {**path["forward"], "copies": draw.log("share", 0.5, 0.9)}
    return {**path, **transfer(draw, int(rate / 8 * 3)), "forward": twice, "without": {"forward": path["forward"]}}


@case("thin-uplink", ["ack-path-full"], "Acknowledgments wait for a narrow way back.", count=3, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 25e6, 70e6), draw.log("rtt_ms", 15, 40)
    path = line(draw, rate, rtt, queue_ms=100)
    narrow = {"rate": rate / draw.log("ratio", 75, 200), "delay": path["back"]["delay"], "queueMs": draw.log("back_queue_ms", 150, 600)}
    return {**path, **transfer(draw, int(rate / 8 * 2)), "back": narrow, "merges": 0, "without": {"back": path["back"]}}


@case("backup-meanwhile", ["ack-path-full", "bufferbloat"], "An upload fills the way back of a download's acknowledgments.", count=2, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 16e6, 40e6), draw.log("rtt_ms", 20, 45)
    path = line(draw, rate, rtt, queue_ms=100)
    narrow = {"rate": draw.log("uplink", 4e5, 1.1e6), "delay": path["back"]["delay"], "queueMs": draw.log("back_queue_ms", 250, 700)}
    upload = [("B", f"{JAVA} sink port=5301"), ("A", f"sleep 0.8; {JAVA} source host=@B port=5301 octets=900000000 seconds=30")]
    return {**path, **java_stream("B", octets=int(rate / 8 * 1.5)), "back": narrow, "beside": upload, "beside_s": 3, "merges": 0,
            "without": {"beside": []}}


@case("icmp-filtered", {"snapped-receiver": ["mtu-black-hole", "no-answer"], "else": ["mtu-black-hole"]}, "A tunnel carries less than 1500 octets and says nothing.",
      count=3, kinds=("sender", "middle", "snapped"), gain=False, check=counted("forward", "tooLong", 4))
def _(draw):
    rate, rtt = draw.log("rate", 8e6, 50e6), draw.log("rtt_ms", 10, 60)
    path = line(draw, rate, rtt)
    path["forward"]["mtu"] = int(draw.log("mtu", 1280, 1470))
    return {**path, **apache(draw, curl(more="-m 8"), 400000), "fixed_octets": True, "hop": {"Q": "bridge"}, "merges": 0, "most_s": 9, "least_s": 0}


@case("cable-out", ["link-interrupted"], "The line is down for seconds, for all that the ends exchange.", count=3, late=(0.05, 0.12), truncated=(0.85, 0.97),
      check=faster(1.3))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 22e6), draw.log("rtt_ms", 8, 40)
    path = line(draw, rate, rtt)
    down = {"downAt": draw.log("down_at_ms", 1300, 2200), "downFor": draw.log("down_ms", 1700, 4200)}
    # The beside starts the clock of the outage.
    beat = [("B", f"{JAVA} answer port=5301"), ("A", f"sleep 0.8; {JAVA} ask host=@B port=5301 count=400 size=60 answer=80 period=90")]
    return {**path, **java_stream(ends(draw), octets=int(rate / 8 * 4)), "fixed_octets": True, "beside": beat, "beside_s": 1.2,
            "forward": {**path["forward"], **down}, "back": {**path["back"], **down},
            "without": {"forward": path["forward"], "back": path["back"]}}


@case("camera-above-line", ["above-path-rate"], "Datagrams are sent faster than the line carries.", count=3, gain=False,
      kinds=("receiver", "late", "truncated", "snapped"), check=both(filled(0.8), counted("forward", "full", 60)))
def _(draw):
    rate, rtt = draw.log("rate", 2e6, 12e6), draw.log("rtt_ms", 8, 30)
    path = line(draw, rate, rtt, queue_ms=draw.log("queue_ms", 25, 120))
    size = int(draw.log("size", 500, 1372))
    sent = draw.log("times", 1.15, 1.9) * rate
    return {**path, "sender": "B", "opens": "B", "server": f"{JAVA} receive port=5004", "ports": [5004],
            "client": f"{JAVA} shoot host=@A port=5004 rate={sent:.0f} size={size} seconds=5", "one_end": "receiver", "ends_with": "server"}


@case("sleeping-radio", ["wake-up-latency"], "The station's radio sleeps between beacons.", count=3, gain=False,
      kinds=("receiver", "middle", "late", "truncated", "snapped"), check=counted("back", "held", 10))
def _(draw):
    rtt, beacon = draw.log("rtt_ms", 3, 12), draw.log("beacon_ms", 204.8, 409.6)
    path = line(draw, 20e6, rtt)
    # The client asks three times, the second and third time while the radio listens, then pauses for less than a beacon.
    pause = draw.log("pause_ms", 70, 130)
    answer = int(draw.log("answer", 120, 900))
    return {**path, "back": {**path["back"], "beacon": beacon, "awake": pause / draw.log("times", 1.6, 2.2)}, "sender": "B", "opens": "A",
            "server": f"{JAVA} answer port=502 nodelay=1", "ports": [502], "one_end": "receiver", "middle_at": "P",
            "client": f"{JAVA} ask host=@B port=502 count=90 burst=3 size=32 answer={answer} nodelay=1 think={pause}"}


def end_to_end(name):
    return {"late": ["no-window-scaling", "receive-window"], "else": [name]}


@case("firewall-strips-scaling", end_to_end("no-window-scaling"), "A firewall removes the option from SYNs.", count=3, check=faster(1.35))
def _(draw):
    rate, rtt = draw.log("rate", 25e6, 60e6), draw.log("rtt_ms", 60, 170)
    path = line(draw, rate, rtt, queue_ms=100)
    return {**path, **transfer(draw, int(rate / 8 * 2)), "forward": {**path["forward"], "strip": 3}, "back": {**path["back"], "strip": 3},
            "hop": {"P": "router"}, "without": {"forward": path["forward"], "back": path["back"]}}


@case("sack-removed", ["no-sack", "random-loss", "loss-in-bursts", "retransmission-stalls"], "A firewall removes SACK, and losses take many round trips.", count=4,
      check=both(faster(1.3), missing(10)))
def _(draw):
    rate, rtt = draw.log("rate", 7e6, 14e6), draw.log("rtt_ms", 30, 70)
    path = line(draw, rate, rtt, queue_ms=100)
    bad = {"bad": draw.log("moments_per_1000", 0.9, 1.8) / 1000, "badPackets": draw.log("packets", 12, 20), "badLoss": 0.5}
    forward = {**path["forward"], **bad}
    return {**path, **transfer(draw, int(rate / 8 * 2)), "forward": {**forward, "strip": 4, "strip2": 5}, "back": {**path["back"], "strip": 4, "strip2": 5},
            "without": {"forward": forward, "back": path["back"]}}


@case("packet-radio", ["small-mss", "path-rate"], "Segments are short, and the line takes most of its time for each frame, not for its octets.", count=2,
      check=faster(1.4))
def _(draw):
    rate, rtt, cost = draw.log("rate", 9e6, 20e6), draw.log("rtt_ms", 4, 20), draw.log("cost_us", 350, 900)
    path = line(draw, rate, rtt, queue_ms=0, packets=120, more={"cost": cost})
    mss = draw.turn("mss", 536, 256, 400)
    return {**path, **transfer(draw, int(rate / 20)), "forward": {**path["forward"], "mss": mss}, "back": {**path["back"], "mss": mss},
            "merges": 0, "without": {"forward": path["forward"], "back": path["back"]}}


@case("memory-of-router", {"sender": ["random-loss", "checksum-errors"], "middle": ["random-loss", "checksum-errors"], "receiver": ["checksum-errors"],
                           "late-receiver": ["checksum-errors"], "truncated-receiver": ["checksum-errors"], "else": ["random-loss", "checksum-errors"]},
      "A router changes octets.", count=4, kinds=("sender", "receiver", "middle", "late", "truncated"),
      check=both(faster(1.3), counted("forward", "broken", 8)))
def _(draw):
    rate, rtt = draw.log("rate", 10e6, 25e6), draw.log("rtt_ms", 15, 45)
    path = line(draw, rate, rtt, queue_ms=90)
    broken = {**path["forward"], "broken": draw.log("share", 0.004, 0.02)}
    return {**path, **java_stream(ends(draw), octets=int(rate / 8 * 2)), "forward": broken, "whole": True, "merges": 0,
            "without": {"forward": path["forward"]}}


@case("syn-lost", ["slow-handshake"], "The request to connect is lost, and repeated after a second.", count=2, kinds=("receiver", "truncated", "snapped"),
      gain=False, truncated=(0.9, 0.97), check=counted("back", "synsLost", 1))
def _(draw):
    rate, rtt = draw.log("rate", 8e6, 40e6), draw.log("rtt_ms", 6, 40)
    path = line(draw, rate, rtt)
    lost = draw.turn("lost", 1, 2)
    return {**path, **apache(draw, curl(), int(draw.log("octets", 60e3, 300e3))), "fixed_octets": True, "one_end": "receiver", "least_s": 0,
            "back": {**path["back"], "lostSyns": lost}}


@case("short-and-far", ["congestion-window"], "A short transfer over a long way ends before the window has grown.", count=3, gain=False, late=(0.2, 0.3),
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), check=both(takes_at_most(0.4), counted("forward", "lost", 0)))
def _(draw):
    rate, rtt = draw.log("rate", 30e6, 80e6), draw.log("rtt_ms", 170, 420)
    path = line(draw, rate, rtt)
    return {**path, **apache(draw, curl(), int(draw.log("octets", 250e3, 700e3))), "fixed_octets": True, "least_s": 0.8, "congestion": "cubic"}


@case("messages-lost", ["retransmission-stalls", "random-loss"], "Short messages are lost, and nothing that follows shows it before the timer.", count=3,
      check=both(faster(1.4), counted("forward", "lost", 3)))
def _(draw):
    rate, rtt, loss = draw.log("rate", 3e6, 20e6), draw.log("rtt_ms", 8, 35), draw.log("loss", 0.035, 0.09)
    path = line(draw, rate, rtt)
    asks = {"sender": "B", "opens": "A", "server": f"{JAVA} answer port=4840 nodelay=1", "ports": [4840],
            "client": f"{JAVA} ask host=@B port=4840 nodelay=1 count={int(3500 / rtt)} size={int(draw.log('size', 50, 200))} answer={int(draw.log('answer', 60, 900))}"}
    return {**path, **asks, "forward": {**path["forward"], "loss": loss}, "back": {**path["back"], "loss": loss / 2},
            "without": {"forward": path["forward"], "back": path["back"]}, "most_s": 30}


NOBODY = "table ip it { chain in { type filter hook input priority 0; tcp dport 8443 counter drop; }; }"
PROHIBITED = "table ip it { chain in { type filter hook input priority 0; tcp dport 8443 counter reject with icmp type admin-prohibited; }; }"


NEVER = "table ip it { chain in { type filter hook prerouting priority -300; ip daddr 198.51.100.7 counter drop; }; }"


@case("port-filtered", ["no-answer"], "A firewall drops what opens the connection.", count=2, kinds=("sender", "receiver", "middle", "truncated", "snapped"),
      gain=False, truncated=(0.7, 0.9), check=no_payload())
def _(draw):
    path = line(draw, draw.log("rate", 5e6, 40e6), draw.log("rtt_ms", 5, 60))
    return {**path, "sender": "A", "opens": "A", "nft": {"B": NOBODY}, "client": "curl -sS -m 9 http://@B:8443/", "most_s": 11, "least_s": 0}


@case("port-closed", ["refused"], "Nothing listens, or a firewall says so.", count=3, kinds=("sender", "receiver", "middle", "snapped"), gain=False,
      check=no_payload())
def _(draw):
    path = line(draw, draw.log("rate", 5e6, 40e6), draw.log("rtt_ms", 5, 60))
    nft = draw.turn("firewall", {}, {"B": PROHIBITED})
    return {**path, "sender": "A", "opens": "A", "nft": nft, "client": "for n in 1 2 3 4; do curl -sS -m 3 http://@B:8443/; sleep 0.7; done", "least_s": 0}


@case("first-resolver-dead", ["name-resolution"], "The first name server never answers.", count=4, kinds=("receiver", "snapped"), gain=False,
      check=check("waits for 1.8 s before it connects", lambda truth, trial: truth["path"]["wait_s"] >= 1.8))
def _(draw):
    path = line(draw, draw.log("rate", 8e6, 30e6), draw.log("rtt_ms", 6, 40))
    names = ("B", f"{JAVA} names address=@B")
    late = draw.turn("way", "silent", "slow")
    wait = draw.log("wait_s", 2, 4)
    if late == "silent":
        resolver, nft = f"nameserver 198.51.100.7\nnameserver @B\noptions timeout:{round(wait)} attempts:2\n", {"P": NEVER}
    else:
        names, resolver, nft = ("B", f"{JAVA} names address=@B late={900 * wait:.0f}"), "nameserver @B\noptions timeout:9 single-request\n", {}
    there = apache(draw, "curl -sS -o /dev/null http://store.example.net/file.bin", int(draw.log("octets", 40e3, 400e3)))
    return {**path, **there, "first": [names], "ports": [80, 53], "resolver": resolver, "nft": nft, "fixed_octets": True, "one_end": "receiver", "least_s": 0,
            "hop": {"P": "router"}}


@case("busy-sniffer", ["capture-incomplete"], "The capturing host misses packets in runs; the line is full and healthy.", count=2, gain=False,
      check=filled(0.8))
def _(draw):
    rate, rtt = draw.log("rate", 10e6, 40e6), draw.log("rtt_ms", 3, 20)
    sniffer = {"share": draw.log("share", 0.12, 0.3), "run": draw.log("run", 3, 20)}
    return {**line(draw, rate, rtt, queue_ms=45), **java_stream(ends(draw), octets=int(rate / 8 * 5)), "sniffer": sniffer}


@case("half-a-mirror", ["capture-incomplete"], "The mirror port passes one direction only; the line is full and healthy.", count=2, gain=False,
      check=filled(0.8))
def _(draw):
    rate, rtt = draw.log("rate", 8e6, 30e6), draw.log("rtt_ms", 3, 20)
    left = draw.turn("left", "answers", "data")
    return {**line(draw, rate, rtt, queue_ms=45), **java_stream(ends(draw), octets=int(rate / 8 * 5)), "sniffer": {"left": left}}


@case("third-station-floods", ["broadcast-storm"], "A third station floods the segment with broadcasts, which take most of the line.", count=2, check=faster(1.3))
def _(draw):
    rate, rtt, size = draw.log("rate", 4e6, 10e6), draw.log("rtt_ms", 2, 12), int(draw.log("size", 60, 300))
    flood = rate * draw.random.uniform(0.45, 0.7) * size / (size + 66)
    path = line(draw, rate, rtt, queue_ms=45)
    storm = [("P", f"exec {JAVA} shoot host=@S port=137 size={size} rate={flood:.0f} seconds=25")]
    return {**path, **java_stream("A", octets=int(rate / 8 * 2)), "hop": {"P": "bridge", "Q": "bridge"}, "storm": True, "beside": storm, "beside_s": 0.8,
            "without": {"beside": []}}


@case("one-receive-buffer", ["loss-in-bursts", "queue-overflow", "shallow-queue"], "The station is busy with each frame for longer than the next one takes to arrive.", count=2,
      check=both(faster(1.4), counted("forward", "unheard", 10)))
def _(draw):
    rate, rtt = draw.turn("rate", 100e6, 10e6), draw.log("rtt_ms", 3, 14)
    path = line(draw, rate, rtt, queue_ms=60)
    frame = 1538 * 8e6 / rate
    deaf = {**path["forward"], "deafUs": frame * draw.log("times", 1.15, 1.9)}
    # A window of a few segments, as such a station grants.
    window = draw.random.randrange(4, 9) * 1460
    draw.note(window=window)
    return {**path, **java_stream("A", sink=f"rcvbuf={window}", octets=int(rate / 30)), "forward": deaf, "merges": 0, "without": {"forward": path["forward"]}}


@case("one-end-set-by-hand", ["duplex-mismatch", "random-loss", "loss-in-bursts", "retransmission-stalls"], "One end of the link is in half duplex, the other in full duplex.", count=3,
      check=both(faster(1.4), check("frames are garbled", lambda truth, trial: max(truth["path"][it]["garbled"] for it in ("forward", "back")) >= 8)))
def _(draw):
    rate, rtt = draw.turn("rate", 10e6, 100e6, 10e6), draw.log("rtt_ms", 2, 12)
    path = line(draw, rate, rtt, queue_ms=80)
    half = draw.turn("half_duplex_is", *draw.random.sample(("sender", "receiver"), 2))
    forward, back = (1, 2) if half == "sender" else (2, 1)
    return {**path, **java_stream(ends(draw), octets=int(rate / 20)), "merges": 0, "forward": {**path["forward"], "duplex": forward},
            "back": {**path["back"], "duplex": back}, "without": {"forward": path["forward"], "back": path["back"]}}
