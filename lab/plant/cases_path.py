"""Causes on the path."""

import checks
from setups import at, case, line, more_streams, page, questions, stream, without

LOST = checks.both(checks.faster(1.35), checks.missing(10))
HALF = ("sender", "receiver", "middle", "late", "truncated", "snapped")
OLD_HOST = ("net.ipv4.tcp_recovery=0", "net.ipv4.tcp_max_reordering=3", "net.ipv4.tcp_dsack=0", "net.ipv4.tcp_early_retrans=0")


@case("cracked-connector", ["random-loss"], "A cable loses one frame in a hundred or so.", check=LOST, count=3)
def cracked(draw):
    trial = line(draw, (12e6, 45e6), (14, 40), queue=2, data={"loss": draw.log("loss", 0.006, 0.02)})
    return without(stream(trial), **at(trial, "data", loss=0))



@case("carrier-polices", ["policed"], "The carrier drops what exceeds the rate that is paid for.", check=checks.both(
    checks.check("the path policed 20 frames or more", lambda truth, trial: max(truth["path"]["forward"]["policed"], truth["path"]["back"]["policed"]) >= 20),
    checks.faster(1.5)))
def polices(draw):
    police = draw.log("police", 2.5e6, 9e6)
    trial = line(draw, 100_000_000, (12, 38), queue=1.5, data={"police": police, "police_burst": draw.log("burst_octets", 18e3, 60e3)})
    trial["octets"] = int(police * 4.5 / 8)
    return without(stream(trial), **at(trial, "data", police=0))


@case("gateway-of-eight-frames", ["shallow-queue", "queue-overflow"], "A gateway queues a few frames where the path needs dozens.", check=LOST, count=3)
def eight(draw):
    trial = line(draw, (12e6, 26e6), (45, 85), data={"queue_frames": draw.log("frames", 5, 10, 1)})
    trial["data"]["queue_frames"] = int(trial["data"]["queue_frames"])
    trial["offload"] = False
    return without(stream(trial), **at(trial, "data", queue_frames=2000, queue_octets=2 * trial["rate"] * trial["rtt_ms"] / 8000))


@case("modem-with-a-megabyte", ["bufferbloat", "path-rate"], "A modem queues seconds of data.", gain=False, check=checks.both(
    checks.filled(0.8), checks.check("a frame waits 1 s", lambda truth, trial: max(truth["path"]["forward"]["waitMsMost"],
                                                                                  truth["path"]["back"]["waitMsMost"]) >= 1000)))
def megabyte(draw):
    rate = draw.log("rate", 7e5, 2.2e6)
    trial = line(draw, rate, (18, 40), congestion="reno", data={"queue_octets": int(rate * draw.log("queue_s", 1.4, 3.2) / 8)})
    trial["octets"] = int(rate * 8 / 8)
    return stream(trial)


@case("cameras-fill-the-uplink", ["ack-path-full", "bufferbloat"], "An upload fills the uplink that carries the acknowledgments of a download.",
      check=checks.faster(1.4))
def cameras(draw):
    up = draw.log("uplink", 5e5, 1.2e6)
    trial = line(draw, (16e6, 40e6), (16, 36), sender="B", queue=8, back_rate=up, acks={"queue_octets": int(up * draw.log("queue_s", 0.5, 1.1) / 8)})
    trial["hops"]["Q"] = "router"
    stream(trial)
    servers = trial["servers"]
    more_streams(trial, 1, back=True)
    trial["octets"] = 3_000_000
    trial["also"] = [(end, command, 1.2) for end, command, _ in trial["also"]]
    return without(trial, also=(), servers=servers)


@case("tunnel-swallows", {"receiver": ["mtu-black-hole", "no-answer"], "else": ["mtu-black-hole"]}, "Full packets vanish in a tunnel; no ICMP comes back.",
      gain=False, kinds=("sender", "middle", "snapped", "receiver"), check=checks.check(
          "the path dropped three frames or more for their size",
          lambda truth, trial: max(truth["path"]["forward"]["tooLong"], truth["path"]["back"]["tooLong"]) >= 3))
def swallows(draw):
    trial = line(draw, (4e6, 30e6), (14, 45), data={"mtu": draw.turn("mtu", 1420, 1380)}, most_s=9, least_s=0, fixed=1)
    trial["offload"] = False
    return stream(trial)


@case("switch-renegotiates", ["link-interrupted"], "A link is down for a second or more.", check=checks.both(
    checks.faster(1.2), checks.check("frames met the interruption", lambda truth, trial: truth["path"]["forward"]["down"] + truth["path"]["back"]["down"] >= 3)),
      late=(0.08, 0.15), truncated=(0.8, 0.92))
def renegotiates(draw):
    down = {"down_at_ms": draw.log("at_ms", 1200, 2000), "down_for_ms": draw.log("for_ms", 1700, 3200)}
    trial = line(draw, (3e6, 12e6), (14, 35), data=down, acks=down, fixed=1)
    trial["octets"] = int(trial["rate"] * 3.6 / 8)
    return without(stream(trial), data={**trial["data"], "down_for_ms": 0}, acks={**trial["acks"], "down_for_ms": 0})


@case("two-radios-bonded", ["reordering"], "Frames take one of two radios; some overtake others.", check=checks.both(
    checks.faster(1.35), checks.check("50 frames overtaken", lambda truth, trial: max(truth["path"]["forward"]["overtaken"],
                                                                                   truth["path"]["back"]["overtaken"]) >= 50)))
def bonded(draw):
    trial = line(draw, (15e6, 40e6), (18, 38), queue=2, data={"overtakes": draw.log("overtakes", 0.03, 0.08), "overtake_us": draw.log("by_us", 4000, 9000)},
                 timestamps=0)
    trial["offload"] = False
    trial["sysctl"] = {"A": OLD_HOST, "B": OLD_HOST}
    return without(stream(trial), **at(trial, "data", overtakes=0))


@case("firewall-blanks-sack", ["no-sack", "random-loss"], "A firewall removes the option for selective acknowledgments; losses take long to repair.",
      check=checks.both(checks.faster(1.3), checks.missing(8)))
def blanks_sack(draw):
    trial = line(draw, (10e6, 20e6), (60, 100), queue=2, data={"sack_off": 1, "bad_start": draw.log("bad_start", 0.0007, 0.0012), "bad_end": 0.06, "bad_loss": 0.5},
                 acks={"sack_off": 1})
    trial["octets"] = int(trial["rate"] * 4 / 8)
    return without(stream(trial), data={**trial["data"], "sack_off": 0}, acks={**trial["acks"], "sack_off": 0})


@case("appliance-blanks-scaling", {"late": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]}, "An appliance removes the option for window scaling.", check=checks.faster(1.5))
def blanks_scaling(draw):
    trial = line(draw, (25e6, 50e6), (75, 170), queue=1.5, data={"scale_off": 1}, acks={"scale_off": 1})
    trial["octets"] = int(65535 / trial["rtt_ms"] * 5500)
    return without(stream(trial), data={**trial["data"], "scale_off": 0}, acks={**trial["acks"], "scale_off": 0}, octets=3 * trial["octets"])



@case("segments-of-300", ["small-mss", "path-rate"], "A gateway clamps the MSS to some 300 octets; it takes its time for each frame.", check=checks.faster(1.5))
def small(draw):
    mss = draw.log("mss", 220, 420)
    trial = line(draw, (18e6, 40e6), (8, 22), data={"mss": mss, "frame_us": draw.log("frame_us", 350, 700)}, acks={"mss": mss})
    trial["octets"] = int(mss * 4.5e6 / trial["data"]["frame_us"])
    trial["offload"] = False
    return without(stream(trial), data={**trial["data"], "mss": 0}, acks={**trial["acks"], "mss": 0}, octets=3 * trial["octets"])


@case("memory-of-bridge", {"receiver": ["checksum-errors", "random-loss"], "late-receiver": ["checksum-errors", "random-loss"],
                           "truncated-receiver": ["checksum-errors", "random-loss"], "snapped": ["random-loss", "checksum-errors"], "middle": ["checksum-errors", "random-loss"],
                           "else": ["random-loss", "checksum-errors"]},
      "A bridge changes bits behind the FCS.", check=checks.both(checks.faster(1.35), checks.check(
          "10 frames damaged", lambda truth, trial: max(truth["path"]["forward"]["broken"], truth["path"]["back"]["broken"]) >= 10)))
def memory(draw):
    trial = line(draw, (10e6, 28e6), (18, 36), queue=2, data={"broken": draw.log("broken", 0.008, 0.02)}, snap=1600)
    trial["hops"] = {"P": "bridge" if trial["sender"] == "B" else "router", "Q": "bridge" if trial["sender"] == "A" else "router"}
    trial["middle"] = "B" if trial["sender"] == "A" else "A"
    trial["offload"] = False
    return without(stream(trial), **at(trial, "data", broken=0))


@case("ring-without-spanning-tree", ["duplicate-frames"], "Frames pass twice; the copies take half of the line.", check=checks.faster(1.4),
      kinds=HALF)
def twice(draw):
    trial = line(draw, (6e6, 20e6), (10, 24), queue=2, data={"copies": draw.log("copies", 0.6, 0.95)})
    trial["middle"] = "B" if trial["sender"] == "A" else "A"
    trial["one_end"] = "receiver"
    trial["offload"] = False
    return without(stream(trial), **at(trial, "data", copies=0))


@case("storm-in-the-hall", ["broadcast-storm"], "Broadcasts of a loop take much of a slow line.", check=checks.faster(1.3))
def storm(draw):
    rate = draw.log("rate", 2e6, 4e6)
    trial = line(draw, rate, (8, 22), sender="A", queue=3, data={"storm": int(rate * draw.log("share", 0.4, 0.6) / 672)})
    trial["hops"]["Q"] = "bridge"
    trial["middle"], trial["one_end"] = "B", "receiver"
    return without(stream(trial), **at(trial, "data", storm=0))


@case("one-end-forced", ["duplex-mismatch", "random-loss", "loss-in-bursts"], "One end of a link is set to full duplex by hand, the other one falls back to half duplex.",
      check=checks.both(checks.faster(1.5), checks.check("20 frames collided", lambda truth, trial: truth["path"]["forward"]["collided"] >= 20)), count=3)
def forced(draw):
    full = draw.turn("full_duplex_end_sends", 1, 0)
    trial = line(draw, draw.turn("rate", 10_000_000, 100_000_000), (3, 14), queue=1, data={"mismatch": 2 if full else 1, "queue_octets": 120_000},
                 acks={"mismatch": 1 if full else 2})
    trial["offload"] = False
    return without(stream(trial), data={**trial["data"], "mismatch": 0}, acks={**trial["acks"], "mismatch": 0})


@case("dozing-scanner", {"sender": ["wake-up-latency", "client-think-time"], "else": ["wake-up-latency"]}, "A radio sleeps when it is idle, and wakes at its beacons.", check=checks.faster(1.5))
def dozing(draw):
    trial = line(draw, (8e6, 40e6), (3, 9), sender="B", acks={"sleep_after_ms": draw.log("after_ms", 15, 40), "beacon_ms": draw.turn("beacon_ms", 102, 204, 307)})
    trial["offload"] = False
    questions(trial, {"size": 80, "reply": draw.log("reply", 200, 900), "count": draw.log("count", 60, 90), "pause_ms": draw.log("pause_ms", 60, 110), "jitter": 60,
                      "most_s": 14, "nodelay": 1, "seed": draw.number})
    trial["middle"] = "A"
    return without(trial, **at(trial, "acks", sleep_after_ms=0))


@case("answer-to-syn-lost", ["slow-handshake"], "The answer to the first SYN is lost.", check=checks.both(checks.faster(1.3), checks.check(
    "the first payload comes 0.9 s after the SYN", lambda truth, trial: truth["path"]["opening_s"] >= 0.9)), kinds=("sender", "receiver", "middle", "truncated", "snapped"),
      truncated=(0.75, 0.9))
def syn_lost(draw):
    trial = line(draw, (6e6, 25e6), (8, 30), sender="A", queue=2, acks={"syn_drops": draw.turn("lost", 1, 1, 2)}, fixed=1, cold=1)
    trial["octets"] = int(trial["rate"] * draw.log("lasts_s", 0.6, 1.1) / 8)
    return without(stream(trial), **at(trial, "acks", syn_drops=0))


@case("few-descriptors", ["loss-in-bursts", "queue-overflow", "shallow-queue"], "The receiver's adapter has a few descriptors; its processor takes a time for each frame.",
      check=LOST, count=3)
def descriptors(draw):
    trial = line(draw, (60e6, 100e6), (5, 12), queue=2, data={"ring_frames": int(draw.log("descriptors", 3, 6, 1)), "ring_us": draw.log("ring_us", 180, 350)})
    trial["octets"] = int(trial["rate"] / 8)
    trial["offload"] = False
    return without(stream(trial), **at(trial, "data", ring_frames=4000))


@case("outstation-erases", ["receiver-stalls"], "The receiving station stops while it erases a sector.", check=checks.both(
    checks.faster(1.5), checks.check("10 stops", lambda truth, trial: max(truth["path"]["forward"]["held"], truth["path"]["back"]["held"]) >= 10)), count=3,
      kinds=("sender", "middle", "late", "truncated", "snapped"))
def erases(draw):
    trial = line(draw, (12e6, 40e6), (3, 12), sender="A", data={"erase_octets": draw.turn("sector", 32768, 65536), "erase_for_us": draw.log("erase_us", 60e3, 150e3)})
    trial["octets"] = int(trial["data"]["erase_octets"] * 4.5e6 / trial["data"]["erase_for_us"])
    trial["offload"] = False
    trial["one_end"] = "sender"
    return without(stream(trial), **at(trial, "data", erase_for_us=0))


@case("datagrams-above-rate", ["above-path-rate"], "A recorder sends datagrams faster than the line carries.", gain=False, check=checks.both(
    checks.missing(100), checks.filled(0.8)))
def above(draw):
    size = draw.log("size", 400, 1300)
    trial = line(draw, (1.5e6, 9e6), (8, 40), sender="A", data={"queue_octets": draw.log("queue_octets_", 15e3, 50e3)})
    trial.pop("octets")
    trial["hops"]["P"] = "router"
    interval = (size + 66) * 8e6 / trial["rate"] / draw.log("excess", 1.2, 1.9)
    burst = max(1, round(1500 / interval))
    trial["servers"] = [("B", "@P/ends receive port=5004")]
    trial["client"], trial["port"] = ("A", f"@P/ends send host=@B port=5004 size={size} interval_us={interval * burst:.1f} burst={burst} seconds=5"), 5004
    trial["middle"], trial["one_end"] = "B", "receiver"
    return trial


@case("first-resolver-gone", ["name-resolution"], "The first name server of the list does not answer.", gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.75, 0.9),
      check=checks.check("it connects 2 s after the first query", lambda truth, trial: truth["path"]["wait_s"] - truth["path"]["opening_s"] >= 2), count=3)
def resolver(draw):
    trial = page(line(draw, (8e6, 30e6), (8, 30), sender="B", queue=2, fixed=1, least_s=0))
    trial["octets"] = int(trial["rate"] * draw.log("lasts_s", 0.8, 1.6) / 8)
    trial["stray"] = "198.51.100.9"
    trial["resolvers"] = f"nameserver 198.51.100.9\nnameserver @B\noptions timeout:{draw.turn('timeout', 2, 3)} attempts:2\n"
    trial["servers"].insert(0, ("B", "@P/ends names port=53 serves=@B"))
    trial["client"] = ("A", trial["client"][1].replace("//@B", "//depot.example"))
    trial["hops"] = {"P": "router", "Q": draw.random.choice(("router", "bridge"))}
    trial["one_end"] = "receiver"
    trial["middle"] = "A"
    return trial


@case("reports-lost-on-radio", ["retransmission-stalls", "random-loss"], "Requests and answers one at a time; each loss costs a time-out.", check=checks.both(
    checks.faster(1.5), checks.missing(4)))
def lone(draw):
    loss = draw.log("loss", 0.03, 0.07)
    trial = line(draw, (3e6, 20e6), (4, 16), sender="B", data={"loss": loss}, acks={"loss": loss})
    questions(trial, {"size": draw.log("size", 60, 300), "reply": draw.log("reply", 100, 1000), "count": 400, "most_s": 9, "nodelay": 1})
    trial["without_time"] = 1
    return without(trial, data={**trial["data"], "loss": 0}, acks={**trial["acks"], "loss": 0})
