"""Causes of the path."""

from checks import both, check, faster, filled, missing, no_payload, takes_at_most
from draw import case
from setups import END, cable, download, exchange, line, perl_stream, shaper, stream, upload, ways


def ends(draw):
    return draw.turn("sender", "A", "B")


def way_of(key, least):
    return check(f"the path counts {key} of at least {least}", lambda truth, trial: truth["path"]["path"].get(f"{'up' if trial['sender'] == 'A' else 'down'}_{key}", 0) >= least)


def counter(key, least):
    return check(f"counters state {key} of at least {least}", lambda truth, trial: sum(value for name, value in truth["path"]["counters"].items() if name.endswith(key)) >= least)


def limit_rules(sender, words, chain="forward"):
    """A rule of nftables at the router of the sender, for what it sends."""
    device = ("a0", "path0") if sender == "A" else ("b0", "path0")
    return f"table ip lab {{ chain out {{ type filter hook {chain} priority 0; iifname \"{device[0]}\" {words};\n}}\n}}\n"


@case("provider-drops-above-a-rate", ["policed"], "A provider's router drops what exceeds a rate (nftables, limit rate over).", count=4, check=both(missing(8), faster(1.3)))
def _(draw):
    rate = draw.turn("rate", 23.7e6, 6.3e6, 87e6, 41e6)
    limit = rate / draw.log("excess", 3, 7)
    draw.note(limit=int(limit))
    rtt, sender = draw.log("rtt_ms", 9, 55), ends(draw)
    path = line(draw, rate, rtt, sender)
    path.update(stream(draw, sender, limit / 8 * 6))
    # The kernel's bucket for octets holds those of a second, too; the one for packets does not.
    burst = draw.log("burst_frames", 9, 45)
    words = f"{int(limit / 8)} bytes/second burst 20 kbytes" if draw.turn("bucket", "frames", "frames", "octets") == "octets" else f"{int(limit / 12112)}/second burst {int(burst)} packets"
    rules = limit_rules(sender, f"ip protocol tcp limit rate over {words} counter drop")
    path["nat"] = 0
    path["mid"] = "in"
    return {**path, "nft": {"R" if sender == "A" else "S": rules}, "without": {"nft": {}, "octets": int(rate / 8 * 4)}}


@case("switch-port-with-few-buffers", ["shallow-queue"], "The queue before a slow line holds some frames only.", count=4, check=both(missing(5), faster(1.3)))
def _(draw):
    rate = draw.turn("rate", 17.3e6, 47e6, 7.9e6, 71e6)
    rtt, sender = draw.log("rtt_ms", 45, 130), ends(draw)
    frames = draw.log("queue_frames", 4, 9)
    path = line(draw, rate, rtt, sender, kind=draw.turn("shaper", "tbf", "htb"))
    path.update(stream(draw, sender, rate / 8 * 3))
    there = ways(sender)[0]
    shallow = shaper(draw.settings["shaper"], rate, frames * 1514, 1600)
    return {**path, "congestion": draw.turn("cc", "reno", "cubic"), "tc": {**path["tc"], there: shallow}, "without": {"tc": path["tc"], "octets": int(rate / 8 * 4)}}


def bloated(truth, trial):
    it = truth["path"]["socket"]
    return it.get("rtt_ms", 0) >= 4.5 * it.get("minrtt", 1e9) and it["rtt_ms"] - it["minrtt"] >= 420


@case("modem-with-a-long-queue", ["bufferbloat", "path-rate"], "A modem queues more than a second before its line.", count=5, gain=False,
      check=both(filled(0.8), check("the kernel's round trip is 4.5 times its least and 420 ms more", bloated)))
def _(draw):
    rate = draw.turn("rate", 83e3, 1.13e6, 4.7e6, 386e3, 9.1e6)
    rtt, sender = draw.log("rtt_ms", 11, 60), ends(draw)
    path = line(draw, rate, rtt, sender, queue_ms=draw.log("queue_ms", 1400, 3400))
    return {**path, **stream(draw, sender, rate / 8 * 11), "fixed_octets": 1, "congestion": "cubic"}


@case("bad-connector", ["random-loss"], "Frames are lost at random in the direction of the data.", count=5, check=both(missing(4), faster(1.4)))
def _(draw):
    rate = draw.turn("rate", 36e6, 5.3e6, 93e6, 730e3, 18.5e6)
    rtt, sender = draw.log("rtt_ms", 18, 90), ends(draw)
    if rate < 1e6:
        rtt = draw.log("rtt_ms", 310, 480)
    path = line(draw, rate, rtt, sender)
    segments = rate * rtt / 1e3 / 12000
    loss = min(0.08, max(8.0 / segments ** 2, 0.005))
    if rate < 1e6:
        loss = 0.04
    draw.note(loss=round(loss, 5))
    path.update(stream(draw, sender, rate / 8 * (2.2 if rate > 1e6 else 5)))
    by = draw.turn("by", "path", "nft")
    if by == "nft":
        rules = limit_rules(sender, f"numgen random mod 100000 < {int(loss * 1e5)} counter drop")
        return {**path, "nat": 0, "mid": "in", "nft": {"R" if sender == "A" else "S": rules}, "without": {"nft": {}, "octets": int(rate / 8 * 4)}}
    there = ways(sender)[0]
    return {**path, there: {**path[there], "loss": loss}, "without": {there: path[there], "octets": int(rate / 8 * 4)}}


@case("radio-fades", ["random-loss", "loss-in-bursts", "retransmission-stalls"], "A radio loses two to four frames one after the other now and then.", count=3, check=both(missing(6), faster(1.4)))
def _(draw):
    rate = draw.turn("rate", 27e6, 8.7e6, 43e6)
    rtt, sender = draw.log("rtt_ms", 25, 80), ends(draw)
    path = line(draw, rate, rtt, sender)
    there = ways(sender)[0]
    fades = {"good_to_bad": draw.log("fades", 0.006, 0.014), "bad_to_good": 0.33, "loss_in_bad": 0.9}
    return {**path, **stream(draw, sender, rate / 8 * 2), there: {**path[there], **fades}, "without": {there: path[there], "octets": int(rate / 8 * 4)}}


@case("adapter-with-one-buffer", ["loss-in-bursts", "queue-overflow", "retransmission-stalls"], "The receiver's adapter has one buffer: a frame that follows another at once is lost.", count=3, check=both(way_of("lost_ring", 10), faster(1.4)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 60e6, 95e6), draw.log("rtt_ms", 3, 16), ends(draw)
    path = line(draw, rate, rtt, sender, kind="path")
    there = ways(sender)[0]
    deaf = {"ring": 1, "cost_us": round(12112e6 / rate * draw.log("times", 1.03, 1.4))}
    return {**path, **stream(draw, sender, 2.5e6), there: {**path[there], **deaf}, "without": {there: path[there], "octets": int(rate / 8 * 3)}}


@case("adapter-with-few-buffers", ["queue-overflow", "loss-in-bursts", "shallow-queue"], "The receiver's adapter has few buffers, and its driver needs long for each frame.", count=3,
      check=both(way_of("lost_ring", 8), faster(1.3)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 50e6, 90e6), draw.log("rtt_ms", 22, 70), ends(draw)
    path = line(draw, rate, rtt, sender, kind="path")
    there = ways(sender)[0]
    cost = draw.log("cost_us", 300, 900)
    few = {"ring": int(draw.log("ring", 5, 11)), "cost_us": cost}
    return {**path, **stream(draw, sender, 4e6), "rate": 12000 / cost * 1e6, there: {**path[there], **few}, "without": {there: {**path[there], "cost_us": cost, "ring": 600}}}


@case("two-links-of-different-length", ["reordering"], "Some segments take a shorter or a longer way.", count=3, check=both(way_of("overtook", 12), faster(1.3)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 44e6, 28e6, 77e6), draw.log("rtt_ms", 16, 45), ends(draw)
    path = line(draw, rate, rtt, sender)
    there = ways(sender)[0]
    mixed = {"overtakes": draw.log("overtakes", 0.01, 0.04), "overtakes_us": int(rtt * 1e3 * draw.log("times_rtt", 0.4, 0.9))}
    old = {"tcp_recovery": 0, "tcp_max_reordering": 3, "tcp_reordering": 3, "tcp_dsack": 0}
    return {**path, **stream(draw, sender, rate / 8 * 2), "congestion": "reno", "timestamps": 0, "sysctl": {"A": old, "B": old}, there: {**path[there], **mixed}, "without": {there: path[there], "octets": int(rate / 8 * 4)}}


@case("bridges-form-a-second-path", {"receiver": ["duplicate-frames"], "else": ["duplicate-frames", "path-rate"]}, "Two bridges forward each frame, or many, twice before the last line.", count=3, check=both(way_of("copied", 100), faster(1.3)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 9.3e6, 3.1e6, 19e6), draw.log("rtt_ms", 4, 40), ends(draw)
    there, back = ways(sender)
    path = line(draw, rate * 4, rtt, sender, kind="path")
    path["rate"] = rate
    limit = rate / 8 * max(0.08, 2 * rtt / 1e3)
    # The last line carries the copies, too.
    path["tc"] = {("to_b" if sender == "A" else "to_a"): shaper(draw.turn("last", "tbf", "htb"), rate, limit)}
    share = draw.turn("copies", 1, 0.7, 0.85)
    copying = {"copies": share, "copy_us": int(draw.log("copy_us", 40, 400))}
    return {**path, **stream(draw, sender, rate / 8 * 2.5), there: {**path[there], **copying}, "mid": "in", "without": {there: path[there], "octets": int(rate / 8 * 4)}}


@case("router-with-bad-memory", {"receiver": ["checksum-errors", "random-loss"], "truncated-receiver": ["checksum-errors", "random-loss"], "late-receiver": ["checksum-errors", "random-loss"],
                                 "else": ["random-loss", "checksum-errors"]}, "A router flips a bit of some segments, whose checksums are wrong then.", count=3,
      check=both(way_of("damaged", 5), counter("InCsumErrors", 5), faster(1.3)))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 21e6, 6.1e6, 33e6), draw.log("rtt_ms", 16, 60), ends(draw)
    path = line(draw, rate, rtt, sender)
    there = ways(sender)[0]
    segments = rate * rtt / 1e3 / 12000
    damage = {"damage": min(0.07, max(20.0 / segments ** 2, 0.012))}
    return {**path, **stream(draw, sender, rate / 8 * 1.8), "snap": 1600, "fills": 1, "checksums": 1, "mid": "in", there: {**path[there], **damage}, "without": {there: path[there], "octets": int(rate / 8 * 4)}}


@case("upload-beside-a-download", ["ack-path-full", "bufferbloat", "path-rate"], "An upload fills the narrow way back of a download.", count=3, check=faster(1.3))
def _(draw):
    rate, rtt = draw.turn("rate", 13e6, 37e6, 22e6), draw.log("rtt_ms", 14, 50)
    narrow = draw.log("narrow", 2.2e5, 8e5)
    path = line(draw, rate, rtt, "B", back=narrow)
    queue = narrow / 8 * draw.log("queue_s", 0.35, 0.9)
    if "tc" in path:
        path["tc"]["up"] = shaper(draw.settings["shaper"], narrow, queue)
    else:
        path["up"]["queue"] = int(queue)
    side = [("A", f"{END} send host=@B port=7171 octets=90000000 seconds=24"), ]
    return {**path, **download(draw, rate / 8 * 3), "before": [("B", f"{END} take port=7171")], "beside": side, "beside_s": 1.6, "nat": 0, "congestion": "cubic", "without": {"beside": [], "octets": int(rate / 8 * 4)}}


@case("modem-with-a-narrow-way-back", {"late": ["ack-path-full", "bufferbloat"], "else": ["ack-path-full"]}, "The way back is too slow for the acknowledgments.", count=3, check=faster(1.3))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 43e6, 17e6, 81e6), draw.log("rtt_ms", 9, 35), ends(draw)
    narrow = rate / draw.log("ratio", 90, 190)
    draw.note(narrow=int(narrow))
    path = line(draw, rate, rtt, sender, back=narrow, queue_ms=160)
    back = ways(sender)[1]
    # The kernel's receiver thins its acknowledgments itself only where frames merge.
    if "tc" in path:
        path["tc"][back] = shaper(draw.settings["shaper"], narrow, 12000 + narrow / 8 * 0.25)
    else:
        path[back]["queue"] = int(12000 + narrow / 8 * 0.25)
    wide = {"tc": {**path["tc"], back: shaper(draw.settings["shaper"], rate, 60000)}} if "tc" in path else {back: {**path[back], "rate": int(rate)}}
    return {**path, **stream(draw, sender, rate / 8 * 2), "nat": 0, "without": wide}


@case("tunnel-without-messages", {"late": ["mtu-black-hole", "no-answer", "link-interrupted"], "else": ["mtu-black-hole"]}, "A tunnel has a smaller MTU, and its router's message is filtered.", count=4, gain=False, kinds=("sender", "middle", "late", "truncated", "snapped"),
      late=(0.02, 0.1), truncated=(0.6, 0.9), check=check("less than one segment of the transfer arrives", lambda truth, trial: truth["octets"] < 1400))
def _(draw):
    rate, rtt, sender = draw.log("rate", 4e6, 60e6), draw.log("rtt_ms", 6, 80), ends(draw)
    path = line(draw, rate, rtt, sender)
    small = int(draw.log("mtu", 1310, 1480))
    by = draw.turn("by", "path", "path", "router", "router")
    there = ways(sender)[0]
    work = {"client": "timeout 9 nc -N @B 7070 < @D/data"} if sender == "A" else {"client": "curl -sS -m 9 -o /dev/null http://@B:8080/file.bin"}
    path.update(upload(draw, 300000, "nc") if sender == "A" else download(draw, 300000, program="curl"))
    path.update(work)
    if sender == "A":
        path["client"] = "head -c 300000 /dev/urandom > @D/data; timeout 9 nc -N @B 7070 < @D/data"
    path.update(one_end="sender", mid="in", fixed_octets=1, least_s=0, nat=0)
    if by == "path":
        return {**path, there: {**path[there], "mtu": small}}
    near = "R" if sender == "A" else "S"
    rules = "table ip lab { chain out { type filter hook output priority 0; icmp type destination-unreachable counter drop;\n}\n}\n"
    return {**path, "only_counts": 1, "nft": {near: rules}, "also": {near: [f"ip link set path0 mtu {small}"]}}


@case("requests-over-a-line-that-loses", ["retransmission-stalls", "random-loss"], "Requests and answers are short, and some are lost: nothing behind them shows it.", count=3, check=both(counter("RetransSegs", 5), faster(1.5)))
def _(draw):
    rate, rtt = draw.log("rate", 1e6, 60e6), draw.log("rtt_ms", 1.4, 14)
    path = line(draw, rate, rtt, "B")
    loss = draw.log("loss", 0.025, 0.05)
    count = int(7 / (rtt / 1e3 + 0.0005 + 2 * loss * 0.24))
    for way in ("up", "down"):
        path[way] = {**path[way], "loss": loss}
    clean = {way: {key: value for key, value in path[way].items() if key != "loss"} for way in ("up", "down")}
    return {**path, **exchange("B", count, "nodelay=1", "nodelay=1", size=int(draw.log("size", 40, 200)), answer=int(draw.log("answer", 100, 900))), "without": clean}


@case("plug-is-pulled", ["link-interrupted"], "The line is interrupted for some seconds.", count=4, check=faster(1.3), late=(0.02, 0.12), truncated=(0.86, 0.96))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 11.3e6, 640e3, 52e6, 2.9e6), draw.log("rtt_ms", 3, 60), ends(draw)
    path = line(draw, rate, rtt, sender)
    out = draw.log("out_ms", 1900, 4300)
    start = draw.log("start_ms", 1300, 2400)
    by = draw.turn("by", "path", "cable")
    path.update(stream(draw, sender, rate / 8 * 4), fixed_octets=1)
    if by == "path":
        gone = {way: {**path[way], "out_ms": start, "out_for_ms": out} for way in ("up", "down")}
        return {**path, **gone, "without": {way: path[way] for way in ("up", "down")}}
    down = [(start / 1e3, "S", "ip link set b0 down"), ((start + out) / 1e3, "S", "ip link set b0 up")]
    return {**path, "nat": 0, "actions": down, "nft": {"S": "table ip lab { chain out { type filter hook output priority 0; icmp type destination-unreachable counter drop;\n}\n}\n"}, "only_counts": 1,
            "without": {"actions": []}}


@case("opening-is-lost", ["slow-handshake"], "The first packets that open a connection are lost.", count=3, gain=False, kinds=("receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.9),
      check=check("opening takes 0.9 s or more", lambda truth, trial: truth["path"]["opening_s"] >= 0.9))
def _(draw):
    rate, rtt = draw.turn("rate", 31e6, 7.7e6, 2.2e6), draw.log("rtt_ms", 7, 90)
    path = line(draw, rate, rtt, "B")
    way = draw.turn("way", "up", "down")
    path[way] = {**path[way], "syns": draw.turn("syns", 1, 1, 2)}
    path.update(download(draw, min(150000, rate / 8 * 0.3), program=draw.turn("program", "curl", "wget")))
    return {**path, "one_end": "receiver", "mid_far": 1, "mid": "in", "fixed_octets": 1, "least_s": 0, "nat": 0}


@case("firewall-counts-openings", ["slow-handshake"], "A firewall drops what opens connections faster than it permits.", count=2, kinds=("receiver", "middle", "late", "truncated", "snapped"), truncated=(0.75, 0.9), check=faster(1.5))
def _(draw):
    rate, rtt = draw.log("rate", 9e6, 60e6), draw.log("rtt_ms", 4, 30)
    path = line(draw, rate, rtt, "B")
    rules = f"table ip lab {{ chain out {{ type filter hook forward priority 0; iifname \"path0\" tcp flags & (syn|ack) == syn limit rate over {draw.turn('per_minute', 50, 38)}/minute burst 2 packets counter drop;\n}}\n}}\n"
    return {**path, **exchange("B", int(draw.log("count", 9, 13)), "each_new=1", "", size=90, answer=int(draw.log("answer", 9e3, 4e4))), "one_end": "receiver", "mid_far": 1, "mid": "in", "nat": 0, "nft": {"S": rules}, "without": {"nft": {}}}


@case("firewall-drops-all", ["no-answer"], "A firewall drops what opens a connection.", count=3, gain=False, kinds=("sender", "middle", "late", "truncated", "snapped"), late=(0.1, 0.25), truncated=(0.6, 0.9), check=no_payload())
def _(draw):
    path = line(draw, draw.log("rate", 2e6, 90e6), draw.log("rtt_ms", 1, 120), "A")
    rules = "table ip lab { chain out { type filter hook forward priority 0; iifname \"path0\" tcp dport 8080 counter drop;\n}\n}\n"
    client = draw.turn("client", "curl -sS -m 9 http://@B:8080/", "wget -q -t 1 -T 8 -O - http://@B:8080/", "timeout 9 nc @B 8080 < /dev/null")
    return {**path, "sender": "A", "client": client, "nft": {"S": rules}, "only_counts": 1, "one_end": "sender", "mid": "in", "least_s": 0, "unsized": 1}


@case("agent-is-off", ["no-answer"], "An agent of SNMP, or a server of names, does not answer.", count=3, gain=False, kinds=("sender", "middle", "late", "truncated", "snapped"), late=(0.1, 0.25), truncated=(0.7, 0.9),
      check=check("nothing comes back", lambda truth, trial: not truth["path"]["path"].get("down_passed", 0)))
def _(draw):
    path = line(draw, draw.log("rate", 2e6, 90e6), draw.log("rtt_ms", 1, 120), "A")
    client = draw.turn("client", "snmpget -v2c -c public -t 2 -r 3 @B 1.3.6.1.2.1.1.3.0", "snmpget -v1 -c private -t 1 -r 6 @B 1.3.6.1.2.1.2.2.1.10.1", "dig +time=2 +tries=4 @@B gate.example")
    rules = "table ip lab { chain out { type filter hook forward priority 0; iifname \"path0\" udp dport { 53, 161 } counter drop;\n}\n}\n"
    return {**path, "sender": "A", "client": client, "nft": {"S": rules}, "only_counts": 1, "one_end": "sender", "mid": "in", "least_s": 0, "unsized": 1}


@case("nobody-listens", ["refused"], "No program listens on the port.", count=3, gain=False, kinds=("sender", "middle", "snapped", "receiver"), check=no_payload())
def _(draw):
    path = line(draw, draw.log("rate", 2e6, 90e6), draw.log("rtt_ms", 1, 120), "A")
    client = draw.turn("client", "curl -sS --retry 4 --retry-delay 1 --retry-connrefused http://@B:8081/", "for i in 1 2 3; do nc -w 2 @B 2323; sleep 0.7; done", "wget -q -t 3 --retry-connrefused --waitretry=1 -O - http://@B:8082/")
    return {**path, "sender": "A", "client": client, "least_s": 0, "unsized": 1, "mid": "in"}


@case("firewall-rejects", ["refused"], "A firewall answers that it rejects.", count=2, gain=False, kinds=("sender", "middle", "snapped"), check=no_payload())
def _(draw):
    path = line(draw, draw.log("rate", 2e6, 90e6), draw.log("rtt_ms", 1, 120), "A")
    kind = draw.turn("with", "tcp reset", "icmp type admin-prohibited")
    rules = f"table ip lab {{ chain out {{ type filter hook forward priority 0; iifname \"path0\" tcp dport 8080 counter reject with {kind};\n}}\n}}\n"
    return {**path, "sender": "A", "client": "for i in 1 2 3; do curl -sS -m 4 http://@B:8080/; sleep 0.6; done", "nft": {"S": rules}, "only_counts": 1, "one_end": "sender", "mid": "in", "least_s": 0, "unsized": 1}


@case("camera-above-the-line", ["above-path-rate"], "Datagrams are sent faster than the line carries them.", count=3, gain=False, kinds=("receiver", "late", "truncated", "snapped"), check=both(missing(100), filled(0.8)))
def _(draw):
    rate, rtt = draw.turn("rate", 3.7e6, 21e6, 470e3), draw.log("rtt_ms", 2, 60)
    path = line(draw, rate, rtt, "A", kind=draw.turn("shaper", "tbf", "path", "htb"))
    more = draw.log("times", 1.35, 2.4)
    program = draw.turn("program", "iperf", "ends")
    size = int(draw.log("size", 700, 1400))
    if program == "iperf":
        work = {"server": "exec iperf -s -u -p 5001", "client": f"iperf -c @B -u -p 5001 -b {rate * more:.0f} -l {size} -t 6"}
    else:
        work = {"server": f"{END} udptake port=5001", "client": f"{END} udpsend host=@B port=5001 bps={rate * more:.0f} size={size} seconds=6"}
    return {**path, "sender": "A", **work, "ports": [5001], "one_end": "receiver", "unsized": 1, "fills": 1}


@case("one-end-set-to-full-duplex", ["duplex-mismatch", "random-loss", "retransmission-stalls"], "One end of a cable is set to full duplex, so that the other falls back to half duplex.", count=4,
      check=both(way_of("lost_duplex", 5), faster(1.3)))
def _(draw):
    rtt, sender = draw.log("rtt_ms", 0.8, 9), ends(draw)
    rate = draw.turn("cable", 100e6, 100e6, 10e6, 10e6)
    path = line(draw, rate, rtt, sender, kind="path")
    half = draw.turn("half", "up", "down", "down", "up")
    return {**path, **stream(draw, sender, rate / 8 * 0.5), "mismatch": rate, "half": half, "mid": "in", "without": {"mismatch": 1e10, "octets": int(rate / 8 * 3)}}


@case("loop-of-broadcasts", ["broadcast-storm"], "Broadcasts fill the cable of the receiver.", count=3, kinds=("receiver", "late", "truncated", "snapped"), check=faster(1.3))
def _(draw):
    rate = draw.turn("cable", 9.6e6, 4.4e6, 9.7e6)
    path = line(draw, rate * 3, draw.log("rtt_ms", 3, 20), "A", kind="path")
    path["rate"] = rate
    size = int(draw.log("size", 700, 1400))
    pps = rate * draw.log("share", 0.5, 0.75) / 8 / size
    path["tc"] = {"to_b": shaper(draw.turn("last", "tbf", "htb"), rate, rate / 8 * 0.12)}
    storm = [("S", f"{END} storm dev=b0 pps={pps:.0f} size={size} seconds=24 from=169.254.7.{draw.random.randrange(2, 250)} asks=@B")]
    return {**path, **upload(draw, rate / 8 * 1.6), "one_end": "receiver", "beside": storm, "without": {"beside": [], "octets": int(rate / 8 * 4)}}


@case("shaper-of-the-host", {"sender": ["host-pacing"], "late-sender": ["host-pacing"], "truncated-sender": ["host-pacing"], "snapped-sender": ["host-pacing"], "else": ["host-pacing", "path-rate"]},
      "The sending host limits its own rate (tc, SO_MAX_PACING_RATE, iperf3 --fq-rate).", count=4, check=faster(1.4))
def _(draw):
    rate, rtt, sender = draw.turn("rate", 61e6, 24e6, 83e6, 8.3e6), draw.log("rtt_ms", 3, 40), "A"
    path = line(draw, rate, rtt, sender)
    slow = rate / draw.log("times", 2.5, 9)
    draw.note(slow=int(slow))
    by = draw.turn("by", "tc", "pace", "iperf3", "htb")
    path["mid"] = "in"
    plain = {**path, **perl_stream("A", slow / 8 * 5)}
    free = {**perl_stream("A", rate / 8 * 4), "tc": path.get("tc", {})}
    if by in ("tc", "htb"):
        return {**plain, "tc": {**path.get("tc", {}), "A": shaper("tbf" if by == "tc" else "htb", slow, max(60000, slow / 8 * 0.1), 1600)}, "without": free}
    if by == "pace":
        return {**plain, **perl_stream("A", slow / 8 * 5, at_sender=f"pace={slow:.0f}"), "without": free}
    return {**plain, "server": "exec iperf3 -s -p 7070", "client": f"iperf3 -c @B -p 7070 -n {{octets}} --fq-rate {slow:.0f}", "without": free}


@case("gigabit-with-a-policer", ["policed"], "A router drops what exceeds a part of a gigabit (nftables).", count=2, check=both(missing(8), faster(1.3)))
def _(draw):
    sender = ends(draw)
    path = cable(draw, 942e6, sender, kind="tbf")
    limit = draw.turn("limit", 67e6, 128e6)
    rules = limit_rules(sender, f"ip protocol tcp limit rate over {int(limit / 12112)}/second burst {draw.turn('burst_frames', 61, 147)} packets counter drop")
    return {**path, **perl_stream(sender, limit / 8 * 3), "merges": 0, "nft": {"R" if sender == "A" else "S": rules}, "without": {"nft": {}, "octets": 200000000, "fixed_octets": 1}}


@case("gigabit-host-with-a-shaper", {"sender": ["host-pacing"], "late-sender": ["host-pacing"], "truncated-sender": ["host-pacing"], "snapped-sender": ["host-pacing"], "else": ["host-pacing", "path-rate"]},
      "A host at a gigabit limits its own rate (iperf3 --fq-rate).", count=2, check=faster(1.4))
def _(draw):
    path = cable(draw, 942e6, "A", kind="tbf")
    slow = draw.turn("slow", 37e6, 94e6)
    work = {"server": "exec iperf3 -s -p 7070", "ports": [7070], "opens": "A"}
    return {**path, **work, "octets": int(slow / 8 * 3.5), "client": f"iperf3 -c @B -p 7070 -n {{octets}} --fq-rate {slow:.0f}",
            "without": {"client": "iperf3 -c @B -p 7070 -n {octets}", "octets": 200000000, "fixed_octets": 1}}
