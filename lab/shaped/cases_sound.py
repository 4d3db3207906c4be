"""Healthy links: full lines of all rates, alone and shared; exchanges by clocks and people; telemetry, calls, video, updates."""

from cases_board import answers, reads, writes
from checks import both, check, filled, nothing_missing
from setups import ENDS, changed, control, ends, line, lwip, program, rate_of, shaper, transfer, with_delay


def few_missing(share):
    return check(f"at most {share:.1%} of the segments are lost", lambda truth, trial: truth["lost_segments"] <= share * truth["path"]["segments"])


def replies(least):
    return check(f"{least} answers", lambda truth, trial: max([it.get("answers", 0) for it in truth["path"]["programs"]] or [0]) >= least)


@control("leased-line", "A slow line is full.", check=filled(0.85))
def _(d):
    trial = line(d, (6e5, 2.5e6), (12, 40), (110, 160), congestion="reno", merges=0)
    trial["octets"] = int(trial["rate"] / 8 * d.random.uniform(5, 8))
    return transfer(d, trial)


@control("digital-subscriber-line", "A line of some Mbit/s is full.", check=filled(0.85))
def _(d):
    return transfer(d, line(d, (3e6, 1.4e7), (10, 35), (50, 100), back=d.log("back", 0.1, 0.4)))


@control("cable-modem", "A line of tens of Mbit/s is full.", check=filled(0.85))
def _(d):
    return transfer(d, line(d, (1.8e7, 8e7), (6, 22), (30, 70), back=d.log("back", 0.1, 0.4)))


@control("fast-lan", "A line of hundreds of Mbit/s is full.", check=filled(0.8))
def _(d):
    trial = line(d, (2e8, 4.5e8), (0.8, 3), (8, 15), kinds=("tbf", "htb"), fixed_octets=True, least_s=1.1, merges=30000)
    trial["octets"] = int(trial["rate"] / 8 * 1.5)
    return transfer(d, trial, "iperf3", "iperf", "curl")


@control("gigabit-port", "A port of 1 Gbit/s is full.", check=filled(0.75))
def _(d):
    trial = line(d, (8e8, 9.4e8), (0.3, 1), (4, 9), kinds=("netem",), fixed_octets=True, least_s=0.5, merges=d.turn("hold_ns", 30000, 60000))
    trial["octets"] = int(trial["rate"] / 8 * 0.8)
    return transfer(d, trial, "iperf3", "iperf")


@control("fair-queue-of-home-router", "fq_codel or CAKE shapes a full line.", check=filled(0.8))
def _(d):
    trial = line(d, (3e6, 6e7), (8, 30), (60, 100))
    rate = rate_of(trial["rate"])
    shape = d.turn("kind", [f"qdisc add dev @ root cake bandwidth {rate} rtt 60ms"], shaper("htb", trial["rate"], 0, "fq_codel"),
                   [f"qdisc add dev @ root cake bandwidth {rate} besteffort"], shaper("hfsc", trial["rate"], 0, "codel"))
    return transfer(d, {**trial, "data": {"shape": shape}})


@control("marks-instead-of-drops", "fq_codel marks (ECN); the line is full.", check=both(filled(0.8), few_missing(0.001)))
def _(d):
    trial = line(d, (4e6, 4e7), (8, 30), (60, 100), sysctl={it: ["net.ipv4.tcp_ecn=1"] for it in "AB"})
    return transfer(d, {**trial, "data": {"shape": shaper("htb", trial["rate"], 0, "fq_codel ecn")}})


@control("four-streams", "Four streams share a full line fairly (SFQ).", check=filled(0.8))
def _(d):
    trial = line(d, (8e6, 4e7), (8, 25), (60, 100), kinds=("htb",), merges=0)
    reverse = "-R" if trial["sender"] == "B" else ""
    programs = [program("B", "iperf3 -s -1", "server"), program("A", f"timeout 60 iperf3 -c @B {reverse} -P 4 -n {trial['octets']} -l 16K", "client", main=True, after=0.9)]
    return {**trial, "data": {"shape": shaper("htb", trial["rate"], 0, f"sfq perturb 10 limit {max(24, int(trial['rate'] / 8 / 1514 * 0.08))}")}, "programs": programs, "without_size": True}


@control("up-and-down", "Both directions of a line are full, with short queues.", check=filled(0.7))
def _(d):
    trial = transfer(d, line(d, (4e6, 2.5e7), (8, 25), (35, 60), sender="B", merges=0), "curl", "wget", "perl")
    more = [program("B", f"{ENDS} sink port=7100", "upload-sink"), program("A", f"{ENDS} source to=@B port=7100 octets={trial['octets']}", "upload", after=0.9)]
    return {**trial, "acks": {"shape": shaper("htb", trial["rate"], 0, "fq_codel")}, "data": {"shape": shaper("htb", trial["rate"], 0, "fq_codel")},
            "programs": trial["programs"] + more}


@control("radio-with-jitter", "A radio's delay varies, in order; it is full.", check=filled(0.75))
def _(d):
    trial = line(d, (5e6, 3e7), (16, 50), (60, 110))
    jitter = trial["rtt_ms"] * d.log("share", 0.05, 0.15)
    delay = [f"qdisc add dev @ root netem limit 40000 rate 400mbit delay {trial['rtt_ms'] / 2:.2f}ms {jitter:.2f}ms 30%"]
    return transfer(d, {**trial, "data": changed(trial, "data", delay=delay)})


@control("radio-with-slots", "A radio sends what waits in slots of some milliseconds; it is full.", check=filled(0.7))
def _(d):
    trial = line(d, (8e6, 3e7), (16, 40), (60, 110))
    slot = d.log("slot_ms", 2, 6)
    delay = [f"qdisc add dev @ root netem limit 40000 rate 400mbit delay {trial['rtt_ms'] / 2:.2f}ms slot {slot:.2f}ms {slot * 1.5:.2f}ms"]
    return transfer(d, {**trial, "data": changed(trial, "data", delay=delay)})


@control("bottleneck-bandwidth", "BBR fills a line.", check=filled(0.75))
def _(d):
    return transfer(d, line(d, (6e6, 5e7), (10, 40), (60, 120), congestion="bbr"))


@control("rare-loss", "A frame in thousands is lost, and the line is full all the same.",
         check=both(filled(0.82), check("a frame is lost on the way", lambda truth, trial: truth["path"]["data_delay"]["dropped"] >= 1)))
def _(d):
    trial = line(d, (8e6, 4e7), (4, 14), (60, 100), congestion="cubic")
    packets = trial["octets"] / 1448
    return transfer(d, {**trial, "data": changed(trial, "data", delay=with_delay(trial, f"loss {min(0.06, 250 / packets):.4f}%"))})


@control("through-a-tunnel", "A tunnel whose MTU is known; the line is full.", check=filled(0.75))
def _(d):
    trial = line(d, (5e6, 5e7), (8, 35), (60, 110), merges=0)
    tunnel = d.turn("tunnel", "wireguard", "vxlan", "gre")
    clamp = "table inet g { chain c { type filter hook forward priority 0; tcp flags syn tcp option maxseg size set rt mtu; }\n}\n"
    return transfer(d, {**trial, "tunnel": tunnel, "tunnel_mtu": {"wireguard": 1420, "vxlan": 1450, "gre": 1476}[tunnel], "nft": {"M": clamp} if d.number % 2 else {}})


@control("class-beside-a-busy-one", "An HTB class has its share beside a busy class.", check=filled(0.75))
def _(d):
    trial = line(d, (4e6, 2.5e7), (8, 30), (60, 110), kinds=("htb",), sender="B", merges=0)
    rate = trial["rate"]
    shape = ["qdisc add dev @ root handle 1: htb default 10", f"class add dev @ parent 1: classid 1:1 htb rate {rate_of(2 * rate)} ceil {rate_of(2 * rate)} quantum 1514"]
    for it in (10, 20):
        shape += [f"class add dev @ parent 1:1 classid 1:{it} htb rate {rate_of(rate)} ceil {rate_of(2 * rate)} quantum 1514",
                  f"qdisc add dev @ parent 1:{it} handle {it}: bfifo limit {int(rate / 8 * 0.07)}"]
    shape.append("filter add dev @ parent 1: protocol ip u32 match ip dport 7200 0xffff flowid 1:20")
    trial = transfer(d, {**trial, "data": {"shape": shape}}, "curl", "wget", "perl")
    busy = program("B", f"{ENDS} datagrams to=@A port=7200 size=1200 per_second={0.9 * rate / 8 / 1242:.0f} lasts=12", "busy", after=0.5)
    sink = program("A", f"{ENDS} gather port=7200", "busy-sink")
    return {**trial, "not_translated": True, "programs": [*trial["programs"], sink, busy]}


@control("files-now-and-then", "Short files, when a person asks for them.", check=both(replies(5), few_missing(0.02)))
def _(d):
    trial = line(d, (1e7, 8e7), (6, 20), (60, 120), sender="B", without_size=True)
    return ends(trial, "answer nodelay=1", f"ask to=@B times=6 ask={d.log('ask', 200, 700)} answer={d.log('answer', 20000, 120000)} think={d.log('think', 0.6, 1.4)} spread=0.6")


@control("polled-by-a-clock", "A controller reads values each half second or so.", check=both(replies(6), nothing_missing()))
def _(d):
    trial = line(d, (1e6, 4e7), (2, 30), (60, 120), merges=0, without_size=True)
    asked, answered = (d.log("long", 100, 900), 24) if trial["sender"] == "A" else (12, d.log("long", 20, 500))
    each = d.turn("each", 0.5, 0.25, 1.0)
    return ends(trial, "answer nodelay=1", f"ask to=@B times={int(6 / each)} ask={asked} answer={answered} each={each} nodelay=1")


@control("typed-by-a-person", "A person types at a terminal.", check=both(replies(12), nothing_missing()))
def _(d):
    trial = line(d, (1e6, 4e7), (5, 40), (60, 120), sender="B", merges=0, without_size=True)
    return ends(trial, "answer nodelay=1", f"ask to=@B times=20 ask={d.log('ask', 9, 50)} answer={d.log('answer', 20, 300)} think={d.log('think', 0.2, 0.4)} spread=0.8 nodelay=1")


@control("messages-by-mqtt", "A gateway publishes values now and then.", check=both(nothing_missing(), check("10 segments", lambda truth, trial: truth["path"]["segments"] >= 10)))
def _(d):
    trial = line(d, (5e5, 2e7), (10, 60), (100, 200), sender="A", merges=0, without_size=True)
    size, pause = int(d.log("size", 40, 300)), d.log("pause", 0.2, 0.5)
    values = f"for i in $(seq {int(6 / pause)}); do printf '%0{size}d\\n' $i; sleep {pause}; done"
    broker = "printf 'listener 1883 0.0.0.0\\nallow_anonymous true\\nuser root\\n' > @D/mosquitto.conf; mosquitto -c @D/mosquitto.conf"
    return {**trial, "programs": [program("B", broker, "server"), program("A", f"({values}) | mosquitto_pub -h @B -t plant/values -l -q {d.turn('qos', 0, 1)}", "client", main=True, after=1.2)]}


def datagrams(trial, words, back="", **more):
    programs = [program("B", f"{ENDS} gather quiet=1.5", "sink", main=True), program("A", f"{ENDS} datagrams to=@B {words}", "source", main=True, after=0.9)]
    if back:
        programs += [program("A", f"{ENDS} gather port=7300", "sink-back"), program("B", f"{ENDS} datagrams to=@A port=7300 {back}", "source-back", after=1.0)]
    return {**trial, "programs": programs, "not_translated": True, **more}


@control("call", "A call: datagrams of 20 ms in both directions.", check=nothing_missing())
def _(d):
    trial = line(d, (3e5, 5e6), (15, 70), (60, 120), sender="A", merges=0)
    trial.pop("octets")
    words = f"size={d.turn('size', 172, 72)} per_second=50 lasts=6"
    return datagrams(trial, words, words)


@control("camera-below-the-rate", "A camera sends less than the line carries.", check=nothing_missing())
def _(d):
    trial = line(d, (2e6, 3e7), (8, 40), (90, 160), sender="A", merges=0)
    trial.pop("octets")
    size, burst = d.log("size", 900, 1350), d.turn("burst", 1, 4, 8)
    return datagrams(trial, f"size={size} sizes=0.1 per_second={trial['rate'] * d.log('share', 0.3, 0.65) / 8 / size:.0f} burst={burst} lasts=5")


@control("video-by-chunks", "A player fetches the next part of a video each second.", check=both(replies(5), few_missing(0.02)))
def _(d):
    trial = line(d, (6e6, 3e7), (8, 30), (60, 120), sender="B", without_size=True)
    return ends(trial, "answer nodelay=1", f"ask to=@B times=6 ask={d.log('ask', 200, 500)} answer={int(trial['rate'] / 8 * d.log('share', 0.25, 0.5))} each=1")


@control("names-found-at-once", "A name is found at once, then a file is fetched at the line's rate.", check=filled(0.75))
def _(d):
    trial = line(d, (4e6, 4e7), (5, 25), (50, 100), sender="B", one_end=None)
    trial = transfer(d, {**trial, "resolver": "nameserver @B\n"}, "curl", "wget")
    names = program("B", f"{ENDS} names address=@B", "names")
    return {**trial, "programs": [names] + [{**it, "run": it["run"].replace("http://@B:", "http://update.example:")} for it in trial["programs"]]}


@control("board-fills-its-line", "A board fills its line.", check=filled(0.8))
def _(d):
    trial = line(d, (1e6, 4e6), (3, 10), (150, 200))
    return (reads if trial["sender"] == "A" else writes)(d, trial, "w8")


@control("board-on-a-modem", "A board with a window of two segments fills a slow modem.", check=filled(0.8))
def _(d):
    trial = line(d, (1e5, 2e5), (10, 30), (600, 800), sender="A", kinds=("tbf", "htb"), nic="100mbit")
    trial["octets"] = int(trial["rate"] / 8 * 6)
    return reads(d, trial, "w2")


@control("board-is-polled", "A controller polls a board by its clock.", check=replies(6))
def _(d):
    trial = line(d, (5e5, 1e7), (2, 20), (60, 120), sender="B")
    each = d.turn("each", 0.5, 0.2, 1.0)
    return answers(d, trial, f"think={d.log('think', 0.001, 0.006)}", f"times={int(6 / each)} ask=12 answer={d.log('answer', 12, 250)} each={each} nodelay=1")


@control("board-reports", "A board reports its values by its clock.", check=both(nothing_missing(), check("6 segments", lambda truth, trial: truth["path"]["segments"] >= 6)))
def _(d):
    trial = line(d, (2e5, 1e7), (8, 60), (100, 200), sender="A", without_size=True, boards="A", not_translated=True)
    pause = d.turn("pause", 0.5, 0.3, 0.8)
    words = lwip(d.turn("kind", "w4", "default", "w44"), "A", f"ask to=@B after=1.5 times={int(6 / pause)} ask={d.log('ask', 60, 400)} answer=8 think={pause} lasts=30")
    return {**trial, "merges": 0, "programs": [program("B", f"{ENDS} answer nodelay=1", "server", main=True), program("A", words, "board")]}
