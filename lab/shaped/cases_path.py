"""What the path does: policers, queues, losses, copies, overtaking, outages, MTU, options, the way back, filters, mirrors."""

from checks import both, check, faster, filled, missing, socket
from setups import ENDS, case, changed, line, program, rate_of, shaper, transfer, with_delay

OLD = ["net.ipv4.tcp_recovery=0", "net.ipv4.tcp_max_reordering=3", "net.ipv4.tcp_dsack=0", "net.ipv4.tcp_early_retrans=0"]


def counted(key, least):
    return check(f"{key} of at least {least}", lambda truth, trial: truth["path"].get(key, 0) >= least)


def waits(seconds):
    return check(f"the first payload comes {seconds} s after the first packet", lambda truth, trial: truth["path"]["wait_s"] >= seconds)


def policed(trial, rate, burst):
    return changed(trial, "data", arrival=["qdisc add dev @ handle ffff: ingress",
                                           f"filter add dev @ parent ffff: matchall action police rate {rate_of(rate)} burst {int(burst)} conform-exceed drop"])


def forwarding(trial, rule):
    """A rule of nftables for what passes in the direction of the data."""
    space, device = ("N", "w") if trial["sender"] == "A" else ("M", "e")
    return {"nft": {space: "table inet f { chain c { type filter hook forward priority 0; " + f'iifname "{device}" {rule}; ' + "}\n}\n"}, "loses_at": space}


@case("policer-at-the-edge", ["policed"], "A policer of tc drops what exceeds its rate.")
def _(d):
    trial = line(d, (3e7, 9e7), (12, 60), (60, 120))
    rate = d.log("policed", 2e6, 1.4e7)
    trial["octets"] = int(rate / 8 * 3.2)
    return transfer(d, {**trial, "data": policed(trial, rate, d.log("burst", 12000, 60000)), "without": {"data": trial["data"]}})


@case("limit-of-the-firewall", ["policed"], "A rule of the firewall drops what exceeds a rate.")
def _(d):
    trial = line(d, (2.5e7, 8e7), (15, 70), (60, 120))
    rate = d.log("kbytes", 200, 1500)
    trial["octets"] = int(rate * 1000 * 3)
    return transfer(d, {**trial, **forwarding(trial, f"limit rate over {rate} kbytes/second burst {int(d.log('burst_kbytes', 15, 60))} kbytes counter drop"), "without": {"nft": {}}})


@case("queue-of-a-few-kilobytes", ["shallow-queue"], "The shaper's queue holds a few packets over a long path.", count=3, check=both(faster(1.3), missing(10)))
def _(d):
    trial = line(d, (1e7, 5e7), (35, 90), None, kinds=("tbf",))
    queue = d.log("queue", 4500, 14000)
    room = trial["rate"] / 8e3 * trial["rtt_ms"] * 1.6
    return transfer(d, {**trial, "data": {"shape": shaper("tbf", trial["rate"], queue)}, "without": {"data": {"shape": shaper("tbf", trial["rate"], room)}}})


@case("red-set-too-low", ["shallow-queue", "random-loss"], "RED begins to drop at a few packets.", check=both(faster(1.25), missing(8)))
def _(d):
    trial = line(d, (1e7, 3.5e7), (45, 100), None, kinds=("htb",))
    leaf = f"red limit 60000 min 3000 max 9000 avpkt 1000 burst 4 bandwidth {rate_of(trial['rate'])} probability {d.log('probability', 0.1, 0.4)}"
    return transfer(d, {**trial, "data": {"shape": shaper("htb", trial["rate"], 0, leaf)},
                        "without": {"data": {"shape": shaper("htb", trial["rate"], trial["rate"] / 8e3 * trial["rtt_ms"] * 1.6)}}})


@case("codel-for-a-short-path", ["shallow-queue", "random-loss"], "CoDel with the target of a data centre drops on a long path.", check=both(faster(1.2), missing(4)))
def _(d):
    trial = line(d, (1e7, 4e7), (60, 130), None, kinds=("htb",))
    leaf = f"codel limit 1000 target {d.log('target_us', 100, 400)}us interval {d.log('interval_ms', 2, 5):.0f}ms"
    return transfer(d, {**trial, "data": {"shape": shaper("htb", trial["rate"], 0, leaf)},
                        "without": {"data": {"shape": shaper("htb", trial["rate"], trial["rate"] / 8e3 * trial["rtt_ms"] * 1.6)}}})


@case("modem-buffers-seconds", ["bufferbloat", "path-rate"], "The modem's queue holds seconds.", gain=False, late=(0.4, 0.55), truncated=(0.6, 0.8),
      check=both(filled(0.8), socket("rtt", 500)))
def _(d):
    trial = line(d, (1e6, 5e6), (18, 50), (1400, 3000), congestion="reno", fixed_octets=True)
    trial["octets"] = int(trial["rate"] / 8 * d.random.uniform(8, 11))
    return transfer(d, trial)


@case("frames-lost-at-random", ["random-loss"], "Frames are lost at any position.", check=both(faster(1.5), missing(12)))
def _(d):
    trial = line(d, (1.5e7, 6e7), (25, 80), (60, 120))
    trial["octets"] //= 7
    return transfer(d, {**trial, "data": changed(trial, "data", delay=with_delay(trial, "loss", f"{d.log('percent', 0.6, 2.5)}%")), "without": {"data": trial["data"]}})


@case("fades", ["random-loss", "loss-in-bursts", "retransmission-stalls"], "A radio loses some frames in a row now and then (Gilbert-Elliott).",
      count=3, check=both(faster(1.4), missing(15)))
def _(d):
    trial = line(d, (1e7, 4e7), (20, 60), (60, 120))
    trial["octets"] //= 6
    words = f"loss gemodel {d.log('good_to_bad', 0.15, 0.5)}% {d.log('bad_to_good', 18, 45)}%"
    return transfer(d, {**trial, "data": changed(trial, "data", delay=with_delay(trial, words)), "without": {"data": trial["data"]}})


@case("bits-damaged-on-the-way", {"snapped": ["random-loss", "checksum-errors"], "receiver": ["checksum-errors"], "else": ["random-loss"]},
      "A router's memory changes bits; the frame's check sum is right.", check=both(faster(1.3), check("the receiver counts 8 segments with errors",
                                                                                                      lambda truth, trial: truth["path"]["kernel"].get("receiver_errors", 0) >= 8)))
def _(d):
    trial = line(d, (6e6, 1.2e7), (25, 60), (60, 120), whole_frames=True, not_translated=True)
    trial = {**trial, "octets": min(trial["octets"], 4200000), "merges": 0}
    return transfer(d, {**trial, "data": changed(trial, "data", delay=with_delay(trial, "corrupt", f"{d.log('percent', 0.8, 2)}%")), "without": {"data": trial["data"]}})


@case("frames-come-twice", ["duplicate-frames"], "A loop passes most frames twice, before the slowest line.", kinds=("receiver", "middle", "late", "truncated", "snapped"),
      check=faster(1.35))
def _(d):
    trial = line(d, (4e6, 3e7), (12, 40), (60, 120), one_end="receiver", middle_far=True, merges=0)
    return transfer(d, {**trial, "data": changed(trial, "data", early=[f"qdisc add dev @ root netem limit 20000 duplicate {d.log('percent', 60, 95)}%"]),
                        "without": {"data": trial["data"]}})


@case("some-come-late", ["reordering"], "Some packets take a longer way; the hosts do not adapt to that, as older ones.", check=faster(1.25), count=4)
def _(d):
    trial = line(d, (1.5e7, 5e7), (25, 60), (60, 120), merges=0, congestion="reno", sysctl={"A": OLD, "B": OLD})
    trial["acks"] = changed(trial, "acks", delay=[f"qdisc add dev @ root netem limit 40000 delay {trial['rtt_ms']}ms"])
    late = f"qdisc add dev @ root netem limit 40000 delay {d.log('late_ms', 6, 20)}ms reorder {100 - d.log('percent', 0.8, 4):.2f}%"
    return transfer(d, {**trial, "data": changed(trial, "data", delay=[late]), "without": {"data": changed(trial, "data", delay=["qdisc add dev @ root netem limit 40000"])}})


@case("plug-is-loose", ["link-interrupted"], "The plug of the client's cable is out for a second or two.", late=(0.1, 0.2), truncated=(0.75, 0.9), check=faster(1.25))
def _(d):
    trial = line(d, (3e6, 2e7), (8, 40), (60, 120), hops={"P": "bridge"}, fixed_octets=True)
    out, at = d.log("out_s", 1.1, 2.6), 2.4
    trial["octets"] = int(trial["rate"] / 8 * 4)
    return transfer(d, {**trial, "events": [(at, "P", "ip link set w down"), (at + out, "P", "ip link set w up")], "without": {"events": []}})


@case("radio-roams", ["link-interrupted", "retransmission-stalls"], "Nothing passes for a second, in either direction.", late=(0.1, 0.2), truncated=(0.75, 0.9), check=faster(1.25))
def _(d):
    trial = line(d, (3e6, 2e7), (15, 60), (60, 120), fixed_octets=True)
    trial["octets"], half = int(trial["rate"] / 8 * 4), trial["rtt_ms"] / 2
    events = []
    for at in (2.2, 3.9)[:d.turn("times", 1, 2)]:
        out = d.random.uniform(0.7, 1.5)
        for when, words in ((at, "loss 100%"), (at + out, "loss 0%")):
            events += [(when, space, f"tc qdisc change dev {device} root netem limit 40000 delay {half:.3f}ms {words}") for space, device in (("N", "e"), ("M", "w"))]
    return transfer(d, {**trial, "events": events, "without": {"events": []}})


BLOCKED = "table inet f { chain c { type filter hook output priority 0; icmp type destination-unreachable counter drop; }\n}\n"


@case("tunnel-takes-less", ["mtu-black-hole"], "A tunnel takes smaller packets, and the message that says so is filtered.", kinds=("sender", "middle", "truncated", "snapped"),
      gain=False, truncated=(0.7, 0.95), check=check("the router cannot forward 3 packets", lambda truth, trial: truth["path"]["kernel"].get("FragFails", 0) >= 3))
def _(d):
    trial = line(d, (5e6, 4e7), (15, 60), (60, 120), one_end="sender", least_s=0, merges=0)
    trial = {**trial, "tunnel": d.turn("tunnel", "gre", "vxlan", "wireguard"), "tunnel_mtu": d.random.choice((1280, 1376, 1400, 1420)), "fixed_octets": True,
             "nft": {"M": BLOCKED, "N": BLOCKED}, "limit_s": 13, "octets": 600000}
    return transfer(d, trial, *(("python", "curl", "ncat") if trial["sender"] == "A" else ("curl", "wget", "perl")))


@case("sack-switched-off", {"late": ["random-loss", "retransmission-stalls", "no-sack"], "else": ["no-sack", "random-loss", "retransmission-stalls"]},
      "A guide to hardening switched selective acknowledgments off; several segments of a window are lost.", check=both(faster(1.25), missing(12)))
def _(d):
    trial = line(d, (1.2e7, 4e7), (35, 90), (60, 120))
    trial["octets"] //= 4
    words = f"loss gemodel {d.log('good_to_bad', 0.12, 0.25)}% {d.log('bad_to_good', 12, 20)}%"
    return transfer(d, {**trial, "data": changed(trial, "data", delay=with_delay(trial, words)), "sysctl": {d.turn("at", "A", "B"): ["net.ipv4.tcp_sack=0"]},
                        "without": {"sysctl": {}}})


@case("scaling-switched-off", {"late": ["receive-window", "no-window-scaling"], "else": ["no-window-scaling"]}, "One end does not scale its windows.", check=faster(1.4))
def _(d):
    trial = line(d, (2e7, 6e7), (50, 120), (60, 120))
    return transfer(d, {**trial, "sysctl": {d.turn("at", "A", "B"): ["net.ipv4.tcp_window_scaling=0"]}, "without": {"sysctl": {}}})


@case("clamped-for-a-cell-line", ["small-mss", "path-rate"], "A firewall clamps the MSS to a fraction, and each segment takes cells of ATM.", check=faster(1.25))
def _(d):
    trial = line(d, (1e6, 8e6), (15, 40), None, merges=0)
    queue = max(12000, int(trial["rate"] / 8 * 0.15))
    shape = [f"qdisc add dev @ root handle 1: stab overhead 40 linklayer atm tbf rate {rate_of(trial['rate'])} burst 3000 limit {queue}"]
    mss = d.log("mss", 100, 220)
    rule = f"table inet f {{ chain c {{ type filter hook forward priority 0; tcp flags syn tcp option maxseg size set {mss}; }}\n}}\n"
    trial["octets"] = int(trial["rate"] / 8 * 2.4)
    return transfer(d, {**trial, "data": {"shape": shape}, "nft": {"M": rule}, "without": {"nft": {}}})


@case("uplink-too-thin-for-acks", ["ack-path-full"], "The way back is so slow that acknowledgments fill it.", kinds=("sender", "middle", "late", "truncated", "snapped"),
      check=faster(1.4))
def _(d):
    trial = line(d, (1.2e7, 4e7), (20, 50), (60, 120), one_end="sender", merges=0)
    back = d.log("back", 3.2e4, 9e4)
    trial["octets"] = int(trial["octets"] * 0.4)
    return transfer(d, {**trial, "acks": {"shape": shaper(d.turn("kind", "tbf", "htb"), back, back / 8 * d.random.uniform(0.8, 2))}, "without": {"acks": trial["acks"]}})


@case("upload-fills-the-uplink", ["ack-path-full", "bufferbloat", "path-rate"], "An upload fills the uplink beside a download.", check=faster(1.5))
def _(d):
    trial = line(d, (1e7, 3e7), (20, 50), (60, 120), sender="B")
    back = d.log("back", 4e5, 1.2e6)
    trial = transfer(d, {**trial, "octets": int(trial["octets"] * 0.5)}, "curl", "wget", "perl", "rsync", "scp")
    upload = [program("B", f"{ENDS} sink port=7100", "upload-sink"), program("A", f"{ENDS} source to=@B port=7100 octets=20000000", "upload", after=0.7)]
    return {**trial, "acks": {"shape": shaper("htb", back, back / 8 * d.random.uniform(0.4, 1.0))}, "programs": trial["programs"] + upload,
            "without": {"programs": trial["programs"]}}


def opening_lost(d, flags, device, lost, **more):
    """A line on which the first packets with these flags are lost; what is transferred takes less than a second."""
    trial = line(d, (4e6, 3e7), (10, 60), (60, 120), fixed_octets=True, not_translated=True, least_s=1.2, **more)
    trial["octets"] = int(trial["rate"] / 8 * d.random.uniform(0.5, 0.9))
    rule = f'iifname "{device}" tcp flags & (syn | ack) == {flags} limit rate 1/hour burst {lost} packets counter drop'
    return transfer(d, {**trial, "nft": {"M": "table inet f { chain c { type filter hook forward priority 0; " + rule + "; }\n}\n"}, "without": {"nft": {}}},
                    *(("python", "socat", "curl", "rsync") if trial["sender"] == "A" else ("curl", "wget", "perl", "socat")))


@case("answer-of-the-opening-lost", ["slow-handshake"], "The first answers that open the connection are lost.", kinds=("sender", "receiver", "middle", "truncated", "snapped"),
      check=both(faster(1.3), waits(0.9)))
def _(d):
    return opening_lost(d, "syn | ack", "e", d.turn("lost", 2, 1))


@case("first-packet-lost", ["slow-handshake"], "The first packets that open the connection are lost.", kinds=("receiver", "middle", "truncated", "snapped"),
      check=both(faster(1.3), waits(0.9)))
def _(d):
    return opening_lost(d, "syn", "w", d.turn("lost", 1, 2), sender="B", one_end="receiver", middle_far=True)


@case("datagrams-above-the-line", ["above-path-rate"], "A program sends more datagrams than the line carries.", kinds=("receiver", "middle", "late", "truncated", "snapped"),
      gain=False, check=both(missing(80), filled(0.8)))
def _(d):
    trial = line(d, (1e6, 1.5e7), (10, 50), (40, 200), one_end="receiver", middle_far=True, sender="A", merges=0)
    trial.pop("octets")
    wanted, size = trial["rate"] * d.log("times", 1.2, 2.2), d.log("size", 700, 1400)
    if d.number % 2:
        return {**trial, "programs": [program("B", "iperf -s -u", "server"),
                                      program("A", f"iperf -u -c @B -b {int(wanted)} -l {size} -t 4", "client", main=True, after=0.9)], "rest_s": 1.0}
    return {**trial, "programs": [program("B", f"{ENDS} gather quiet=1.5", "server", main=True),
                                  program("A", f"{ENDS} datagrams to=@B size={size} per_second={wanted / 8 / size:.0f} lasts=4", "client", main=True, after=0.9)]}


def mirrored(trial, filters):
    space, device = ("M", "w") if trial["sender"] == "A" else ("N", "e")
    lines = ["ip link add mirrored type veth peer name mirror; ip link set mirror up; ip link set mirrored up", f"tc qdisc add dev {device} clsact"]
    lines += [f"tc filter add dev {device} {it} matchall action mirred egress mirror dev mirrored" for it in filters]
    return space, lines


@case("mirror-too-narrow", ["capture-incomplete"], "The mirror port is slower than what it mirrors.", kinds=("middle", "late", "truncated", "snapped"), gain=False,
      check=both(filled(0.8), check("the mirror port drops 100 frames", lambda truth, trial: truth["path"].get("mirror_dropped", 0) >= 100)))
def _(d):
    trial = line(d, (1e7, 6e7), (8, 30), (60, 120), one_end="middle", mirror=True, merges=0)
    space, lines = mirrored(trial, ("ingress", "egress"))
    lines.append(f"tc qdisc add dev mirrored root tbf rate {rate_of(trial['rate'] * d.log('share', 0.55, 0.85))} burst 5000 limit {d.log('mirror_queue', 8000, 40000)}")
    return transfer(d, {**trial, "setup": [(space, "; ".join(lines))]})


@case("firewall-says-no", ["refused"], "A firewall rejects what opens the connection.", kinds=("sender", "middle", "snapped"), gain=False,
      check=check("the firewall rejects 3 packets", lambda truth, trial: truth["path"].get("filtered_M", 0) >= 3))
def _(d):
    trial = line(d, (4e6, 3e7), (10, 60), (60, 120), one_end="sender", sender="A", least_s=0, merges=0)
    trial.pop("octets")
    how = d.turn("how", "with icmp admin-prohibited", "with tcp reset", "with icmp port-unreachable")
    rule = f"table ip f {{ chain c {{ type filter hook forward priority 0; tcp dport 8080 counter reject {how}; }}\n}}\n"
    return {**trial, "nft": {"M": rule}, "programs": [program("A", f"for i in 1 2 3 4 5; do curl -s -m 4 http://@B:8080/ ; sleep {d.log('retry_s', 0.4, 1.6)}; done",
                                                              "client", main=True, after=0.9)]}


@case("firewall-is-silent", ["no-answer"], "A firewall drops what opens the connection.", kinds=("sender", "middle", "truncated", "snapped"), gain=False,
      truncated=(0.75, 0.95), check=counted("filtered_N", 3))
def _(d):
    trial = line(d, (4e6, 3e7), (10, 60), (60, 120), one_end="sender", sender="A", least_s=0, merges=0)
    trial.pop("octets")
    rule = "table ip f { chain c { type filter hook forward priority 0; tcp dport 8080 counter drop; }\n}\n"
    return {**trial, "nft": {"N": rule}, "limit_s": 25, "programs": [program("A", "curl -s -m 11 http://@B:8080/; true", "client", main=True, after=0.9)]}
