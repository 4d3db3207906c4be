"""Causes on the path: its rate, queues, losses, order, copies, damage, size, interruption, and the way back."""

from checks import both, check, faster, filled, missing, nothing_missing, printed
from draw import case
from setups import ENDS, WIDE, any_transfer, changed, dropped, ends, line, queued, raw, shaper, timeouts, transfer

POLICED = {"late": ["policed", "shallow-queue"], "else": ["policed"]}


@case("operator-polices", POLICED, "A policer drops what exceeds its rate; the line carries several times as much.", count=4, check=both(missing(12), faster(1.3)))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", *((0.35e6, 0.9e6), (2e6, 6e6), (9e6, 19e6), (30e6, 55e6))[draw.number % 4]), draw.log("rtt_ms", 9, 70)
    path = line(draw, min(rate * draw.log("times", 3, 7), 110e6), rtt, sender)
    burst = int(max(rate / 8 * draw.log("burst_ms", 12, 60, 2) / 1e3, 4000))
    draw.note(burst_octets=burst)
    return {**path, **any_transfer(draw, sender, rate / 8 * 5), "police": {sender: f"rate {rate:.0f}bit burst {burst}"}, "merges": 0, "without": {"police": {}}}


@case("switch-with-few-buffers", ["shallow-queue"], "The queue before the slowest link holds a few packets, on a long way.", count=4, check=both(missing(5), faster(1.3)))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", *((2.2e6, 6e6), (9e6, 20e6), (25e6, 50e6), (60e6, 90e6))[draw.number % 4]), draw.log("rtt_ms", 45, 130)
    packets = draw.random.randrange(3, 8)
    draw.note(packets=packets)
    path = line(draw, rate, rtt, sender, queue=packets * 1514, kind=draw.turn("kind", "tbf", "netem", "htb"))
    data = "up" if sender == "A" else "down"
    return {**path, **any_transfer(draw, sender, rate / 8 * 4), "congestion": draw.random.choice(("cubic", "reno")), "merges": 0, "sysctl": {"both": WIDE},
            "without": {"disciplines": changed(path, **{data: shaper("tbf", rate, rate / 8e3 * rtt * 1.3)})}}


@case("modem-with-seconds", ["bufferbloat", "path-rate"], "The queue before the slowest link holds a second and more.", count=4, gain=False, check=both(filled(0.75), queued(500)))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", *((0.11e6, 0.25e6), (0.5e6, 1.4e6), (2e6, 4.5e6), (6e6, 9e6))[draw.number % 4]), draw.log("rtt_ms", 14, 65)
    seconds = draw.log("queue_s", 1.0, 2.4)
    path = line(draw, rate, rtt, sender, queue=rate / 8 * seconds, kind=draw.turn("kind", "tbf", "netem"))
    return {**path, **any_transfer(draw, sender, rate / 8 * 10), "sysctl": {"both": WIDE}, "merges": 0, "most_s": 60, "octets": int(rate / 8 * 10), "is_timed": True}


@case("bad-cable", ["random-loss"], "Each packet of the data may be lost (netem loss).", count=4, check=both(missing(8), faster(1.35)))
def _(draw):
    sender = ends(draw)
    rate, rtt, share = draw.log("rate", *((4e6, 9e6), (12e6, 40e6), (40e6, 80e6))[draw.number % 3]), draw.log("rtt_ms", 16, 90), draw.log("loss_percent", 0.4, 2.2, 2)
    path = line(draw, rate, rtt, sender, to=f"loss {share}%")
    clean = {place: words.split(" loss")[0] if isinstance(words, str) else words for place, words in path["disciplines"].items()}
    return {**path, **any_transfer(draw, sender, rate / 8 * 2.5), "merges": 0, "without": {"disciplines": clean}}


@case("every-so-many-packets", ["random-loss"], "A fault in the path takes a packet now and then, by a rule of nftables at its entrance.", count=3, check=both(missing(8), faster(1.35)))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", 8e6, 60e6), draw.log("rtt_ms", 22, 75)
    share = draw.random.randrange(70, 240)
    draw.note(one_in=share)
    path = line(draw, rate, rtt, sender)
    router = "R1" if sender == "A" else "R2"
    rule = (f"table ip f {{ chain c {{ type filter hook prerouting priority 0; iifname {'ga' if sender == 'A' else 'gb'} ip length > 200 numgen random mod {share} == 0 counter drop; }} }}")
    return {**path, **any_transfer(draw, sender, rate / 8 * 2.5), "merges": 0, "nft": {router: rule}, "without": {"nft": {}}}


ADAPTER = {"receiver": ["queue-overflow", "loss-in-bursts"], "else": ["queue-overflow", "loss-in-bursts", "shallow-queue"]}
BUSY = {"receiver": ["loss-in-bursts", "queue-overflow"], "else": ["loss-in-bursts", "queue-overflow", "shallow-queue"]}


def adapter(draw, sender, slots, case_rate):
    """The receiver takes frames at a rate of its own, out of a ring of so many."""
    rate, rtt = draw.log("rate", 40e6, 90e6), draw.log("rtt_ms", 1.4, 12)
    path = line(draw, rate, rtt, sender, kind="tbf")
    takes = draw.log("takes", *case_rate)
    receiver = "B" if sender == "A" else "A"
    # The first packet of netem's queue is the one that is taken.
    return {**path, **raw(sender, octets=takes / 8 * 3), "merges": 0, "adapter": {receiver: f"netem rate {takes:.0f}bit limit {slots}"}}, receiver, takes


@case("few-descriptors", ADAPTER, "The receiver's adapter has few buffers, and its processor empties them slowly.", count=4, check=both(missing(10), faster(1.3)))
def _(draw):
    sender = ends(draw)
    slots = draw.random.randrange(4, 9)
    draw.note(slots=slots)
    trial, receiver, takes = adapter(draw, sender, slots, (14e6, 34e6))
    return {**trial, "without": {"adapter": {receiver: "netem rate 1gbit limit 2000"}}}


@case("one-buffer", BUSY, "The receiver's adapter has a single buffer: while it is emptied, no frame is taken.", count=4, check=both(missing(10), faster(1.3)))
def _(draw):
    sender = ends(draw)
    trial, receiver, takes = adapter(draw, sender, draw.turn("slots", 1, 2), (22e6, 38e6))
    return {**trial, "without": {"adapter": {receiver: "netem rate 1gbit limit 2000"}}}


@case("two-paths", ["reordering"], "Some packets of the data take a longer path (a second class with more delay); none is lost.", count=4, check=both(nothing_missing(), faster(1.25)))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", 15e6, 70e6), draw.log("rtt_ms", 14, 60)
    more, share = draw.log("more_ms", 7, 24), draw.random.randrange(5, 40)
    draw.note(one_in=share)
    path = line(draw, rate, rtt, sender, kind="tbf", queue=rate / 8e3 * (rtt + 60))
    place, router, device = ("to_b", "R2", "gb") if sender == "A" else ("to_a", "R1", "ga")
    base = float(path["disciplines"][place].split("delay ")[1].split("ms")[0])
    two = ["root handle 1: prio bands 2 priomap 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0", f"parent 1:1 netem limit 100000 delay {base}ms", f"parent 1:2 netem limit 100000 delay {base + more:.4f}ms",
           "filter add dev @dev parent 1: protocol ip prio 1 handle 1 fw flowid 1:2"]
    rule = f"table ip f {{ chain c {{ type filter hook postrouting priority 0; oifname {device} ip length > 200 numgen random mod {share} == 0 counter meta mark set 1; }} }}"
    receiver = "B" if sender == "A" else "A"
    return {**path, **any_transfer(draw, sender, rate / 8 * 2), "merges": 0, "nft": {router: rule}, "counts": (), "disciplines": changed(path, **{place: two}),
            "sysctl": {receiver: {"tcp_dsack": 0}, sender: {"tcp_recovery": 0}}, "timestamps": 0, "without": {"nft": {}}}


@case("bridges-in-a-ring", ["duplicate-frames"], "Most frames of the data go over the slowest cable twice (cable.c).", count=3, check=both(faster(1.3), printed("copies", 100)),
      kinds=("receiver", "late", "truncated", "snapped"))
def _(draw):
    rate, rtt, share = draw.log("rate", 1.4e6, 20e6), draw.log("rtt_ms", 6, 40), draw.random.randrange(52, 98)
    draw.note(percent=share)
    path = line(draw, rate * 1.6, rtt, "A", kind="tbf", queue=60000)
    return {**path, "rate": rate, **any_transfer(draw, "A", rate / 8 * 3), "merges": 0, "tap_queue": 50, "cable": f"rate={rate} ring=8 copies={share}", "one_end": "receiver", "without": {"cable": f"rate={rate} ring=8"}}


DAMAGED = {"receiver": ["checksum-errors"], "late-receiver": ["checksum-errors"], "truncated-receiver": ["checksum-errors"], "sender": ["random-loss", "checksum-errors"], "middle": ["random-loss", "checksum-errors"],
           "else": ["checksum-errors", "random-loss"]}


@case("memory-flips-bits", DAMAGED, "A router flips a bit of some packets (netem corrupt); the receiver drops them by their checksum.", count=3,
      check=both(faster(1.3), check("the receiver's kernel counts 5 wrong checksums", lambda truth, trial: sum(truth["path"]["kernel"][it].get("TcpInCsumErrors", 0) for it in ("A", "B")) >= 5)),
      kinds=("sender", "receiver", "middle", "late", "truncated"))
def _(draw):
    sender = ends(draw)
    rate, rtt, share = draw.log("rate", 7e6, 18e6), draw.log("rtt_ms", 32, 80), draw.log("corrupt_percent", 1.8, 4.2, 2)
    path = line(draw, rate, rtt, sender, to=f"corrupt {share}%", kind="tbf")
    clean = {place: words.split(" corrupt")[0] if isinstance(words, str) else words for place, words in path["disciplines"].items()}
    return {**path, **any_transfer(draw, sender, rate / 8 * 2.5), "merges": 0, "snap": 1600, "octets": int(rate / 8), "one_end": "receiver", "without": {"disciplines": clean}}


@case("selective-reports-off", {"late": ["no-sack", "random-loss", "retransmission-stalls", "loss-in-bursts"], "else": ["no-sack", "random-loss", "loss-in-bursts"]},
      "Now and then a dozen packets of a window are lost, and the receiver reports no gaps (tcp_sack=0).", count=4, check=both(missing(10), faster(1.3)))
def _(draw):
    sender = ends(draw)
    rate, rtt = draw.log("rate", 10e6, 45e6), draw.log("rtt_ms", 40, 110)
    path = line(draw, rate, rtt, sender, queue=rate / 8e3 * 120, kind="tbf")
    each, group = draw.random.randrange(1300, 2300), draw.random.randrange(9, 17)
    draw.note(each=each, group=group)
    router, device = ("R2", "mid") if sender == "A" else ("R1", "mid")
    rule = f"table ip f {{ chain c {{ type filter hook prerouting priority 0; iifname {device} ip length > 200 numgen inc mod {each} offset 0 > {each - group - 1} counter drop; }} }}"
    receiver = "B" if sender == "A" else "A"
    return {**path, **any_transfer(draw, sender, each * 1448 * draw.random.uniform(2.3, 3.2)), "is_timed": True, "most_s": 25, "merges": 0, "nft": {router: rule}, "sysctl": {receiver: {"tcp_sack": 0}}, "congestion": "reno" if draw.number % 2 else "cubic",
            "without": {"sysctl": {}}}


@case("tunnel-swallows-large-packets", ["mtu-black-hole"], "A link takes less than 1,500 octets, and the message about it is filtered.", count=3, gain=False, kinds=("sender", "truncated", "snapped"),
      truncated=(0.75, 0.95), check=check("large packets are dropped with a message that is filtered, no payload of a full segment arrives", lambda truth, trial: truth["octets"] < 1200 and sum(
          truth["path"].get(f"filtered_{it}", 0) for it in ("R1", "R2")) >= 2))
def _(draw):
    sender = ends(draw)
    rate, rtt, mtu = draw.log("rate", 4e6, 60e6), draw.log("rtt_ms", 8, 60), draw.random.randrange(1280, 1440)
    draw.note(mtu=mtu)
    path = line(draw, rate, rtt, sender)
    router = "R1" if sender == "A" else "R2"
    rule = "table ip f { chain c { type filter hook output priority 0; icmp type destination-unreachable counter drop; } }"
    seconds = draw.log("patience_s", 6, 13)
    there = transfer("nginx-curl", sender, 3e6, curl=f"--max-time {seconds}")
    return {**path, **there, "merges": 0, "is_timed": True, "nft": {router: rule}, "link_mtu": mtu, "one_end": "sender", "settle_s": 0.1}


@case("thin-exchange-with-loss", ["retransmission-stalls", "random-loss"], "Single requests and answers are lost now and then; nothing follows that would show it.", count=3,
      check=both(timeouts(6), faster(1.4)))
def _(draw):
    rate, rtt, share = draw.log("rate", 0.3e6, 8e6), draw.log("rtt_ms", 6, 38), draw.log("loss_percent", 3.2, 7)
    path = line(draw, rate, rtt, "B", to=f"loss {share}%", ack=f"loss {share}%")
    clean = {place: words.split(" loss")[0] if isinstance(words, str) else words for place, words in path["disciplines"].items()}
    there = {"sender": "B", "server": f"{ENDS} answer listen=4001 size=60 answer={int(draw.log('answer', 90, 900))}", "ports": [4001], "is_timed": True, "most_s": 40,
             "client": f"{ENDS} ask host=@B port=4001 size=60 answer={draw.settings['answer']} count=150 think_ms={draw.log('think_ms', 8, 25)} nodelay=1"}
    return {**path, **there, "merges": 0, "without": {"disciplines": clean}}


@case("plug-comes-loose", ["link-interrupted", "retransmission-stalls"], "The cable of A is out for some seconds; a second connection and pings fall silent, too.", count=3, late=(0.04, 0.12), truncated=(0.9, 0.97),
      check=faster(1.3))
def _(draw):
    sender = ends(draw)
    rate, rtt, away = draw.log("rate", 3e6, 25e6), draw.log("rtt_ms", 8, 50), draw.log("away_s", 1.9, 4.4)
    path = line(draw, rate, rtt, sender)
    asides = [("B", f"{ENDS} answer listen=4002 size=40 answer=80"), ("B", f"{ENDS} answer listen=4003 size=90 answer=500")]
    beside = [("A", f"{ENDS} ask host=@B port=4002 size=40 answer=80 count=34 each_ms=170"), ("A", f"{ENDS} ask host=@B port=4003 size=90 answer=500 count=22 each_ms=260"), ("A", "ping -q -i 0.25 -w 20 @B")]
    events = [(2.4, "R1", "ip link set ga down"), (2.4 + away, "R1", "ip link set ga up")]
    return {**path, **raw(sender, octets=rate / 8 * 4), "merges": 0, "is_timed": True, "asides": asides, "beside": beside, "events": events, "without": {"events": []}}


@case("thin-uplink", ["ack-path-full"], "The way back carries only a few hundred acknowledgments a second.", count=3, kinds=("sender", "middle", "late", "truncated", "snapped"), check=faster(1.4))
def _(draw):
    rate, rtt, times = draw.log("rate", 14e6, 50e6), draw.log("rtt_ms", 8, 45), draw.log("times", 190, 420)
    path = line(draw, rate, rtt, "B", back=rate / times, kind="tbf", back_queue=int(draw.log("back_octets", 5000, 16000)))
    return {**path, **any_transfer(draw, "B", rate / 8 * 3), "one_end": "sender", "merges": 0, "without": {"disciplines": changed(path, up=shaper("tbf", rate, 60000))}}


@case("upload-beside-download", ["ack-path-full", "bufferbloat", "path-rate"], "An upload fills the slow way back and its long queue; acknowledgments of the download wait there.", count=3,
      kinds=("sender", "middle", "late", "truncated", "snapped"), check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 12e6, 40e6), draw.log("rtt_ms", 10, 40)
    back = rate / draw.log("times", 13, 40)
    path = line(draw, rate, rtt, "B", back=back, kind="tbf", back_queue=int(back / 8 * draw.log("queue_s", 0.45, 1.1)))
    there = raw("B", octets=rate / 8 * 3)
    there["server"] = [there["server"], f"{ENDS} recv listen=7009"]
    there["ports"] = [7000, 7009]
    return {**path, **there, "one_end": "sender", "merges": 0, "beside": [("A", f"{ENDS} send host=@B port=7009 octets={int(back / 8 * 30)}")], "beside_s": 1.5, "without": {"beside": []}}


FAST_DATAGRAMS = ("receiver", "middle", "late", "truncated", "snapped")


@case("datagrams-too-fast", ["above-path-rate"], "Datagrams are sent faster than the slowest link carries.", count=4, kinds=FAST_DATAGRAMS, gain=False, check=dropped(40))
def _(draw):
    rate, rtt, times, size = draw.log("rate", *((0.07e6, 0.3e6), (0.8e6, 3e6), (5e6, 12e6), (20e6, 60e6))[draw.number % 4]), draw.log("rtt_ms", 1.2, 60), draw.log("times", 1.12, 1.7), int(draw.log("size", 300, 1400))
    if rate < 4e5:
        times *= 1.4
    path = line(draw, rate, rtt, "A", queue=max(rate / 8e3 * 70, 5000))
    octets = rate * times / 8 * 5
    if draw.turn("program", "own", "iperf") == "own":
        there = {"server": f"{ENDS} drecv listen=5004", "ports": [5004], "client": f"{ENDS} dsend host=@B port=5004 size={size} octets={int(octets)} rate={rate * times:.0f}"}
    else:
        there = {"server": "exec iperf -s -u", "ports": [5001], "client": f"iperf -u -c @B -b {rate * times:.0f} -l {size} -t 5 >/dev/null"}
    return {**path, **there, "sender": "A", "one_end": "receiver", "merges": 0, "is_timed": True}


@case("duplex-not-agreed", {"sender": ["duplex-mismatch", "random-loss", "loss-in-bursts", "retransmission-stalls"], "middle": ["duplex-mismatch", "random-loss", "loss-in-bursts", "retransmission-stalls"],
                            "else": ["duplex-mismatch", "random-loss", "retransmission-stalls"]},
      "One end of the cable of B uses half duplex, the other one full duplex.", count=4, check=both(printed("collisions_late", 5), faster(1.4)))
def _(draw):
    sender = ends(draw)
    cable, half = draw.turn("cable", 10e6, 100e6), draw.turn("half", "far-half", "far-half", "near-half")
    rate, rtt = cable * draw.random.uniform(0.7, 0.95), draw.log("rtt_ms", 2, 20)
    draw.note(rate=int(rate))
    path = line(draw, rate, rtt, sender, kind="tbf")
    return {**path, **raw(sender, octets=cable / 8 * 0.4), "merges": 0, "cable": f"rate={cable:.0f} duplex={half} seed={draw.random.randrange(1, 999)}", "without": {"cable": f"rate={cable:.0f} duplex=full", "octets": int(cable / 8 * 3)}}


@case("storm-at-the-receiver", ["broadcast-storm", "queue-overflow"], "Thousands of broadcasts a second reach the receiver, whose adapter and processor take each of them.", count=3, kinds=("receiver", "late", "truncated", "snapped"),
      check=faster(1.35))
def _(draw):
    rate, rtt = draw.log("rate", 15e6, 50e6), draw.log("rtt_ms", 2, 20)
    path = line(draw, rate, rtt, "A", kind="tbf")
    storm = draw.log("storm_per_s", 900, 3000)
    # The processor takes 60% of the time for the broadcasts.
    cost = 0.6e6 / storm
    takes = f"netem rate 1gbit {int(cost * 125)} limit 40"
    draw.note(frame_us=round(cost))
    octets = min(rate, 12000 / cost * 1e6 / 2) / 8 * 4
    return {**path, **raw("A", octets=octets), "merges": 0, "adapter": {"B": takes}, "one_end": "receiver", "is_timed": True, "most_s": 15,
            "beside": [("R2", f"{ENDS} dsend host=@BROADCAST port=137 size=90 broadcast=1 octets={int(90 * storm * 25)} gap_ms={1e3 / storm:.4f}")], "without": {"beside": []}}
