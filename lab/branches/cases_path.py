"""Causes on the path."""

import checks
from checks import both, check, faster, missing
from draw import case
from setups import RUBY, back, forward, line, ruby_stream, stream, sysctl, wide, without

NO_LATE = ("sender", "receiver", "middle", "truncated", "snapped")


def counted(way, key, least):
    return check(f"the path counts {key} of at least {least} ({way})", lambda truth, trial: truth["path"][way][key] >= least)


def waits(least_ms):
    return check(f"something waits {least_ms} ms in the queue", lambda truth, trial: truth["path"]["forward"]["waitMsMost"] >= least_ms)


@case("dirty-fibre", ["random-loss"], "An optical connector with dirt loses frames by chance.", count=3,
      check=both(missing(8), faster(1.3)))
def dirty_fibre(d):
    trial = wide(line(d, (8e6, 90e6), (24, 90), share=0.3))
    forward(trial, loss={"chance": d.log("lost", 0.004, 0.02), "least": 1})
    return without(stream(d, trial), forward=("loss",))


@case("rain-fade", ["random-loss", "retransmission-stalls"], "A radio link in rain: bad moments, in which a share of the frames is lost.", count=2,
      check=both(missing(10), faster(1.3)))
def rain_fade(d):
    trial = wide(line(d, (8e6, 40e6), (25, 80), share=0.4))
    forward(trial, loss={"enter": d.log("bad", 0.01, 0.03), "leave": 0.2, "inside": 0.5, "least": 1})
    back(trial, loss={"enter": 0.004, "leave": 0.2, "inside": 0.5})
    stream(d, trial)
    return without(trial, forward=("loss",), back=("loss",))


@case("modem-of-megabytes", ["bufferbloat", "path-rate"], "A modem queues seconds of data before its line.", count=3, gain=False, check=waits(600))
def modem_of_megabytes(d):
    trial = wide(line(d, (0.6e6, 6e6), (14, 60), seconds=8))
    forward(trial, queue_octets=int(trial["rate"] * d.log("queue_s", 1.2, 3.5) / 8))
    # CUBIC leaves slow start as the delay grows.
    trial["congestion"] = "reno"
    return stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))


@case("contract-policer", ["policed"], "The operator drops what exceeds the contract's rate; the line itself is faster.", count=4,
      check=both(counted("forward", "policed", 15), faster(1.3)))
def contract_policer(d):
    trial = wide(line(d, (60e6, 250e6), (18, 80), share=0.06))
    police = d.log("police", 2.2e6, 14e6)
    trial["octets"] = int(police * 4 / 8)
    forward(trial, police=police, police_burst=d.log("bucket", 12_000, 60_000))
    return without(stream(d, trial), forward=("police",))


@case("switch-of-eight", ["shallow-queue"], "The switch before the slow line queues a few frames on a long path.", count=4,
      check=both(counted("forward", "full", 4), faster(1.25)))
def switch_of_eight(d):
    trial = wide(line(d, (15e6, 60e6), (35, 130), share=0.5))
    forward(trial, queue_octets=0, queue_frames=d.log("queue_frames", 5, 14, 2) // 1)
    trial["ways"]["forward"]["queue_frames"] = int(trial["ways"]["forward"]["queue_frames"])
    stream(d, trial)
    deep = int(trial["rate"] * trial["rtt_ms"] / 8e3 * 2)
    return without(trial, forward={"queue_octets": deep, "queue_frames": 0})


@case("red-of-the-handbook", ["shallow-queue", "random-loss"], "RED with the thresholds of an old handbook (5 and 15 frames) before a fast line.", count=2,
      check=both(counted("forward", "early", 4), faster(1.25)))
def red_of_the_handbook(d):
    trial = wide(line(d, (20e6, 80e6), (40, 110), share=0.4))
    forward(trial, red=[5, 15, d.log("chance", 0.04, 0.1)])
    stream(d, trial)
    return without(trial, forward=("red",))


@case("upload-fills-uplink", ["ack-path-full", "bufferbloat"], "A backup fills the narrow uplink, where the acknowledgments of a download wait.", count=3,
      check=faster(1.4))
def upload_fills_uplink(d):
    trial = wide(line(d, (8e6, 40e6), (16, 60), sender="B", share=0.4, back_rate=d.log("uplink", 0.25e6, 0.9e6)))
    back(trial, queue_octets=int(trial["ways"]["back"]["rate"] * d.log("uplink_queue_s", 0.35, 1.1) / 8))
    ruby_stream(trial)
    trial["clients"] = [("A", trial["clients"][0][1] + " after=1.2")]
    trial["servers"].append(("B", f"{RUBY} read listen=1 port=7050"))
    trial["ready"].append(("B", 7050))
    trial["beside"] = [("A", f"{RUBY} send host=@B port=7050 octets=40000000")]
    return without(trial, beside=[])


@case("firewall-without-sack", ["no-sack", "random-loss"], "A firewall removes SACK permitted; a radio loses several frames at a time.", count=3,
      check=both(counted("forward", "lostData", 8), faster(1.3)))
def firewall_without_sack(d):
    trial = wide(line(d, (8e6, 20e6), (60, 140), share=0.7))
    forward(trial, loss={"enter": d.log("bad", 0.0015, 0.0028), "leave": 0.1, "inside": 0.6, "least": 1}, without_options=[4])
    back(trial, without_options=[4])
    stream(d, trial)
    return without(trial, forward=("without_options",), back=("without_options",))


@case("firewall-without-scaling", ["no-window-scaling"], "A firewall removes the window scale option on a long path.", count=3, check=faster(1.4))
def firewall_without_scaling(d):
    trial = wide(line(d, (30e6, 150e6), (70, 260), share=0.2, seconds=6))
    forward(trial, without_options=[3])
    back(trial, without_options=[3])
    stream(d, trial)
    return without(trial, forward=("without_options",), back=("without_options",))


@case("tunnel-without-icmp", {"receiver": ["mtu-black-hole", "no-answer"], "else": ["mtu-black-hole"]},
      "A tunnel has a smaller MTU, and nobody says so.", count=3, kinds=NO_LATE, truncated=(0.55, 0.8), gain=False,
      check=counted("forward", "tooLong", 4))
def tunnel_without_icmp(d):
    trial = line(d, (5e6, 60e6), (8, 60), sender="B")
    forward(trial, mtu=int(d.log("mtu", 1300, 1480)))
    trial.update(servers=[("B", f"{RUBY} answer port=7010 ask=120 give={int(d.log('give', 4e3, 9e4))}"),
                          ("B", f"{RUBY} answer port=7011 ask=90 give=300")], ready=[("B", 7010), ("B", 7011)], limit_s=11, fixed_octets=True,
                 clients=[("A", f"ruby @P/ends.rb ask host=@B port=7011 ask=90 give=300 turns=4; {RUBY} ask host=@B port=7010 ask=120 give=9999999 turns=1")])
    trial.update(merges=False, one_end="sender")
    return trial


@case("two-uplinks", ["reordering"], "Frames of one connection take two uplinks of different length; the sender is an older host.", count=3,
      check=both(counted("forward", "overtaken", 20), faster(1.3)))
def two_uplinks(d):
    trial = wide(line(d, (20e6, 80e6), (20, 60), share=0.3))
    sysctl(trial, "sender", tcp_recovery=0, tcp_max_reordering=3)
    sysctl(trial, "AB", tcp_dsack=0)
    forward(trial, overtake=d.log("longer", 0.01, 0.06), overtake_ms=d.log("longer_ms", 2.5, 9))
    trial["timestamps"] = 0
    stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))
    return without(trial, forward=("overtake", "overtake_ms"))


@case("switch-flips-bits", {"sender": ["checksum-errors", "random-loss"], "else": ["checksum-errors"]}, "A switch's memory changes octets of frames and computes their FCS again.", count=3, gain=True,
      kinds=("sender", "receiver", "middle", "late", "truncated"), check=both(counted("forward", "broken", 6), faster(1.25)))
def switch_flips_bits(d):
    trial = wide(line(d, (4e6, 16e6), (30, 80), share=0.35))
    forward(trial, broken=d.log("broken", 0.008, 0.025))
    trial["snap"], trial["merges"], trial["one_end"] = 2000, False, "receiver"
    if trial["hops"]["P"] == "nat":     # it looks at checksums itself
        trial["hops"]["P"] = "router"
    trial["middle"] = "receiver"
    stream(d, trial, ("ruby", "ncat", "webrick"))
    return without(trial, forward=("broken",))


@case("ring-of-switches", {"sender": ["duplicate-frames", "path-rate"], "else": ["duplicate-frames"]},
      "A ring without spanning tree passes frames twice, and the slow line carries both.", count=3, check=both(counted("forward", "copied", 200), faster(1.3)))
def ring_of_switches(d):
    trial = wide(line(d, (4e6, 30e6), (3, 40), share=0.6))
    forward(trial, copy=d.log("copies", 0.6, 1.0))
    back(trial, copy=0.7)
    trial["middle"], trial["merges"] = "receiver", False
    stream(d, trial)
    return without(trial, forward=("copy",), back=("copy",))


@case("switch-restarts", ["link-interrupted"], "A switch of the path restarts in the middle of a transfer.", count=3, late=(0.06, 0.12), truncated=(0.8, 0.95),
      check=both(counted("forward", "down", 3), faster(1.3)))
def switch_restarts(d):
    trial = line(d, (3e6, 40e6), (4, 50), share=0.7)
    gone = [[d.log("gone_at", 1.7, 2.6), d.log("gone_s", 1.6, 3.2)]]
    forward(trial, outages=gone)
    back(trial, outages=gone)
    stream(d, trial, ("ruby", "ncat", "webrick", "sftp", "stunnel"))
    return without(trial, forward=("outages",), back=("outages",))


@case("forced-duplex", {"receiver": ["duplex-mismatch", "loss-in-bursts", "random-loss"],
                        "else": ["duplex-mismatch", "random-loss", "loss-in-bursts", "retransmission-stalls", "shallow-queue"]},
      "One end was set to full duplex by hand, the other one fell back to half duplex.", count=3,
      check=both(counted("back", "lateCollisions", 4), faster(1.3)))
def forced_duplex(d):
    rate = (1e7, 1e8)[d.number % 2]
    trial = line(d, (rate, rate * 1.0001), (0.5, 8), share=0.25)
    trial["rate"] = rate
    for way in (forward, back):
        way(trial, rate=rate)
    trial["medium"] = {"mismatch": "receiver"}
    trial["merges"] = False
    stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))
    return without(trial, medium={})


@case("scanner-asleep", {"sender": ["wake-up-latency", "client-think-time"], "else": ["wake-up-latency"]}, "A hand scanner's radio sleeps between requests and wakes at a beacon.", count=3,
      check=both(faster(1.3), check("some frame waits for a beacon", lambda truth, trial: truth["path"]["back"]["waitMsMost"] >= 60)))
def scanner_asleep(d):
    trial = line(d, (4e6, 30e6), (2, 14), sender="B")
    back(trial, sleep_idle_ms=d.log("idle_ms", 12, 30), beacon_ms=d.log("beacon_ms", 100, 310))
    trial["one_end"] = trial["middle"] = "receiver"
    think = d.log("think_s", 0.035, 0.06)
    trial.update(servers=[("B", f"{RUBY} answer port=7012 ask=80 give=700 nodelay=1")], ready=[("B", 7012)], fixed_octets=True,
                 clients=[("A", f"{RUBY} ask host=@B port=7012 ask=80 give=700 nodelay=1 turns={int(d.log('turns', 22, 40))} think={think}")])
    return without(trial, back=("sleep_idle_ms", "beacon_ms"))


@case("camera-in-the-yard", ["above-path-rate"], "A camera sends more than the radio bridge carries.", count=3, gain=False, kinds=("receiver", "late", "truncated", "snapped"),
      check=both(missing(40), checks.filled(0.8)))
def camera_in_the_yard(d):
    trial = line(d, (1.2e6, 24e6), (4, 30), sender="A", depth=(0.6, 1.5))
    forward(trial, queue_octets=int(max(20_000, trial["rate"] * d.log("queue_s", 0.05, 0.3) / 8)))
    rate = trial["rate"] * d.log("times", 1.2, 2.2)
    trial.update(servers=[("B", f"{RUBY} count port=7100")], ready=[("B", 7100)], fixed_octets=True, one_end="receiver", merges=False,
                 clients=[("A", f"{RUBY} datagrams host=@B port=7100 size={int(d.log('size', 600, 1400))} rate={rate} seconds=5")])
    return trial


@case("loop-in-the-hall", ["broadcast-storm"], "A loop floods a radio with broadcasts, which it sends at its lowest rate.", count=3, check=faster(1.4))
def loop_in_the_hall(d):
    trial = wide(line(d, (6e6, 40e6), (3, 20), share=0.5))
    trial["hops"] = {"P": "bridge", "Q": "bridge"}
    per_s = d.log("broadcasts_per_s", 400, 1500)
    forward(trial, broadcast_us=0.55e6 / per_s)
    trial["medium"] = {"storm_per_s": per_s}
    stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))
    return without(trial, medium={})


@case("syn-filter", ["slow-handshake"], "A filter against floods drops the first SYN of a host.", count=4, kinds=("receiver", "middle", "truncated", "snapped"), truncated=(0.5, 0.8),
      check=both(checks.check("the path drops a SYN", lambda truth, trial: truth["path"]["back"]["synsLost"] >= 1), faster(1.3)))
def syn_filter(d):
    trial = line(d, (4e6, 60e6), (10, 60), sender="B")
    back(trial, syns_lost=1 + d.number % 2)
    ruby_stream(trial)
    trial.update(one_end="receiver", middle="receiver", fixed_octets=True)
    trial["octets"] = int(trial["rate"] * d.log("takes_s", 0.5, 1.4) / 8)
    return without(trial, back=("syns_lost",))


@case("station-off", ["no-answer"], "Nothing answers a connection: a filter drops it, or the station is off.", count=4, kinds=("sender", "middle", "snapped"),
      gain=False, check=checks.no_payload())
def station_off(d):
    trial = line(d, (4e6, 60e6), (2, 40), sender="A")
    if d.number % 2:
        trial["nft"] = {"Q": "table inet f { chain c { type filter hook prerouting priority -300; tcp dport 7000 counter drop; }; };"}
        trial["hops"]["Q"] = "router"
    else:
        trial["setup"] = [("B", "ip link set eth0 arp off; ip link set eth0 address 02:00:00:00:00:77" )]
        trial["hops"] = {"P": "bridge", "Q": "bridge"}
    trial.update(servers=[], clients=[("A", f"{RUBY} send host=@B port=7000 octets=1000")], limit_s=8.5 + d.number, one_end="sender", fixed_octets=True)
    return trial


@case("first-name-server-gone", ["name-resolution"], "The first name server does not answer; the second one does.", count=3, kinds=("receiver", "middle", "truncated", "snapped"),
      truncated=(0.4, 0.8), check=both(check("payload begins late", lambda truth, trial: truth["path"]["wait_s"] >= 0.9), faster(1.25)))
def first_name_server_gone(d):
    trial = line(d, (5e6, 60e6), (6, 50), sender="B")
    trial["hops"] = {"P": "bridge", "Q": "bridge"}
    patience = 1 + d.number % 2
    trial["resolver"] = f"nameserver @B\noptions timeout:{patience} attempts:3\n"
    trial["servers"] = [("B", f"{RUBY} names deaf=2 address=@B"), ("B", f"{RUBY} send listen=1 port=7000 octets=@N")]
    trial["ready"] = [("B", 53), ("B", 7000)]
    trial["clients"] = [("A", "exec ncat --recv-only store.branch.example 7000 > /dev/null")]
    trial.update(octets=int(trial["rate"] * d.log("takes_s", 0.8, 2) / 8), fixed_octets=True, one_end="receiver", middle="receiver")
    d.note(timeout_s=patience)
    trial["without"] = {"servers": [("B", f"{RUBY} names address=@B"), trial["servers"][1]]}
    return trial


@case("few-descriptors", {"sender": ["loss-in-bursts", "queue-overflow", "shallow-queue"], "else": ["loss-in-bursts", "queue-overflow", "shallow-queue"]},
      "An adapter with a few descriptors loses frames that come right behind others.", count=3, check=both(missing(15), faster(1.3)))
def few_descriptors(d):
    trial = wide(line(d, (60e6, 200e6), (6, 30), share=0.08))
    forward(trial, loss={"behind_ms": 0.25, "behind_depth": int(d.log("descriptors", 2, 6, 1)), "inside_chance": 1.0})
    trial["merges"] = False
    stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))
    return without(trial, forward=("loss",))


@case("meter-on-bad-line", ["retransmission-stalls", "random-loss"], "Short requests and answers on a line that loses some: nothing behind them shows it.", count=4,
      check=both(check("something is lost on each way or often", lambda truth, trial: truth["path"]["forward"]["lost"] + truth["path"]["back"]["lost"] >= 4), faster(1.4)))
def meter_on_bad_line(d):
    trial = line(d, (0.5e6, 8e6), (8, 50), sender="B")
    lost = d.log("lost", 0.03, 0.09)
    forward(trial, loss={"chance": lost, "least": 1})
    back(trial, loss={"chance": lost, "least": 1})
    turns = int(6e3 / (trial["rtt_ms"] + 400 * lost))
    trial.update(servers=[("B", f"{RUBY} answer port=7012 ask=64 give={int(d.log('give', 60, 900))} nodelay=1")], ready=[("B", 7012)], fixed_octets=True,
                 clients=[("A", f"{RUBY} ask host=@B port=7012 ask=64 give={d.settings['give']} nodelay=1 turns={turns}")])
    trial["servers"] = [("B", f"{RUBY} answer port=7012 ask=64 give={int(d.settings['give'])} nodelay=1")]
    trial["clients"] = [("A", f"{RUBY} ask host=@B port=7012 ask=64 give={int(d.settings['give'])} nodelay=1 turns={turns}")]
    return without(trial, forward=("loss",), back=("loss",))


@case("vpn-box-clamps", ["small-mss", "path-rate"], "A router clamps the MSS far too low; a VPN box needs time for each frame.", count=3, check=faster(1.4))
def vpn_box_clamps(d):
    trial = wide(line(d, (30e6, 100e6), (8, 50), share=0.12))
    most = int(d.log("mss", 256, 640))
    forward(trial, mss_most=most, frame_us=d.log("frame_us", 350, 1100))
    back(trial, mss_most=most)
    stream(d, trial)
    trial["merges"] = False
    return without(trial, forward=("mss_most",), back=("mss_most",))


@case("mirror-too-narrow", ["capture-incomplete"], "The mirror port is slower than what it mirrors, or a sniffer loses rows of packets.", count=4, gain=False, check=checks.filled(0.8))
def mirror_too_narrow(d):
    trial = wide(line(d, (10e6, 80e6), (4, 30)))
    stream(d, trial)
    trial["merges"] = False
    if d.number == 3:
        trial["sniffer"] = {"one_way": True}
    elif d.number % 2:
        trial["sniffer"] = {"per_10_ms": max(4, int(trial["rate"] / 8 / 1500 / 100 * 1.4 * d.random.uniform(0.6, 0.85)))}
    else:
        trial["sniffer"] = {"share": d.log("missed", 0.08, 0.3), "row": 12}
    d.note(**trial["sniffer"])
    return trial


@case("inspection-caps-window", {"receiver": ["receive-window", "send-buffer", "congestion-window"], "else": ["receive-window"]},
      "A firewall that inspects streams caps the window of one end.", count=3, check=both(counted("back", "rewritten", 50), faster(1.4)))
def inspection_caps_window(d):
    trial = wide(line(d, (10e6, 60e6), (40, 140), share=0.3))
    # 8 MB make a scale of 8.
    back(trial, window_most=max(12, int(trial["rate"] * trial["rtt_ms"] / 8e3 * d.log("of_product", 0.15, 0.45) / 256)))
    sysctl(trial, "receiver", tcp_rmem="4096 1000000 8388608")
    stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))
    return without(trial, back=("window_most",))


@case("far-site-short-file", ["congestion-window"], "A short file from a far site: it ends before the window has grown.", count=3, kinds=NO_LATE, truncated=(0.6, 0.85),
      check=both(faster(1.3), checks.nothing_missing()))
def far_site_short_file(d):
    trial = wide(line(d, (40e6, 150e6), (220, 300)))
    first = d.turn("initial_window", 2, 3, 4)
    trial.update(octets=int(d.log("file", 250e3, 900e3)), fixed_octets=True, merges=False)
    to = "@B" if trial["sender"] == "A" else "@A"
    ruby_stream(trial)
    trial["setup"] = [(trial["sender"], "r=$(ip route show default); if test -n \"$r\"; then ip route change $r initcwnd %d; else r=$(ip route show dev eth0 | head -1 | sed 's/ dev eth0//'); ip route change $r dev eth0 initcwnd %d; fi" % (first, first))]
    trial["without"] = {"setup": [(trial["sender"], trial["setup"][0][1].replace(f"initcwnd {first}", "initcwnd 400"))]}
    return trial


@case("leased-line-shaped-by-host", {"receiver": ["host-pacing", "path-rate"], "middle": ["host-pacing", "path-rate"], "else": ["host-pacing"]},
      "The sending program sets a rate for its socket (SO_MAX_PACING_RATE), or its host has a token bucket.", count=4, check=faster(1.35))
def shaped_by_host(d):
    trial = wide(line(d, (20e6, 90e6), (4, 60), share=0.4))
    rate = trial["rate"] * d.log("of_line", 0.2, 0.6)
    trial["merges"] = False
    if d.number % 2:
        ruby_stream(trial, send=f"pace={int(rate / 8)}")
        plain = ruby_stream(dict(trial))
        trial["without"] = {key: plain[key] for key in ("servers", "clients")}
    else:
        stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))
        trial["setup"] = trial.get("setup", []) + [(trial["sender"], f"tc qdisc add dev eth0 root tbf rate {int(rate)}bit burst 3100 limit 3000000")]
        trial["without"] = {"setup": trial["setup"][:-1]}
    d.note(host_rate=int(rate))
    return trial
