"""Causes at a small station with a TCP of its own (ends/station.c): its acknowledgments, windows, stops, sleep and buffers."""

from checks import both, check, faster, printed, takes_at_most
from draw import case
from setups import ENDS, changed, ends, line, station

BESIDE_PING = [("A", "ping -q -i 0.11 -w 20 @B")]


@case("acknowledges-the-twelfth", ["stretch-acks", "receive-window"], "The station acknowledges only every n-th segment, and its window holds few more.", count=4, check=faster(1.3))
def _(draw):
    rate, rtt, window = draw.log("rate", 12e6, 50e6), draw.log("rtt_ms", 14, 60), draw.random.randrange(16, 40)
    each = int(window * draw.random.uniform(0.6, 0.85))
    draw.note(window_segments=window, ackn=each)
    path = line(draw, rate, rtt, "A")
    options = f"window={min(window * 1460, 65535)} late_ms={draw.log('late_ms', 120, 260):.0f}"
    octets = each * 1460 * 4e3 / (rtt + each * 1.2e7 / rate)
    clean = {**station("A", f"{options} ackn=2", octets=octets)}
    return {**path, **station("A", f"{options} ackn={each}", octets=octets), "merges": 0, "timestamps": 0, "without": clean}


@case("acknowledges-late", ["late-acks", "receive-window"], "The station's window holds two segments, and it acknowledges when a timer ends.", count=3, check=faster(1.6))
def _(draw):
    rate, rtt, late = draw.log("rate", 3e6, 40e6), draw.log("rtt_ms", 2, 24), draw.log("late_ms", 45, 190)
    path = line(draw, rate, rtt, "A")
    octets = 2920 * 6e3 / (rtt + late)
    options = f"window=2920 ackn=9 late_ms={late}"
    return {**path, **station("A", options, octets=octets), "merges": 0, "timestamps": 0, "without": station("A", "window=2920 ackn=1", octets=octets * 3)}


@case("sends-one-segment", ["one-in-flight"], "The station has one segment in flight.", count=3, check=both(faster(1.6), takes_at_most(0.5)))
def _(draw):
    rate, rtt, mss = draw.log("rate", 4e6, 40e6), draw.log("rtt_ms", 7, 70), draw.turn("mss", 1460, 1024, 536)
    path = line(draw, rate, rtt, "B")
    octets = mss * 5e3 / rtt
    return {**path, **station("B", f"mss={mss} in_flight=1", octets=octets), "merges": 0, "timestamps": 0, "route": {"A": "quickack 1"}, "without": station("B", f"mss={mss} in_flight=8", octets=octets * 4)}


@case("opens-by-octets", ["silly-window", "receiver-reads-slowly", "receive-window"], "The station's program reads a few octets at a time, and its window opens by as many.", count=4, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 2e6, 30e6), draw.log("rtt_ms", 1.5, 9)
    path = line(draw, rate, rtt, "A")
    chunk, gap, window = draw.random.randrange(24, 130), draw.log("gap_ms", 2, 7), draw.random.randrange(400, 1100)
    draw.note(chunk=chunk, window=window)
    base = {**path, "merges": 0, "timestamps": 0}
    octets = chunk * 4.5e3 / gap
    there = station("A", f"window={window} chunk={chunk} gap_ms={gap} update=1 ackn=1", octets=octets)
    there["client"] = f"@P/station dev=st0 own=@A peer=@B port=7000 does=source octets={{octets}} in_flight=60 rto_ms=900 & p=$!; for n in $(seq 400); do sleep 0.05; [ $n -gt {{ticks}} ] && break; done; kill $p; wait $p"
    there["client"] = there["client"].replace("{ticks}", "130")
    both_ends = {"station": None, "stations": True, "is_timed": True}
    wide = there["server"].replace(f"chunk={chunk} gap_ms={gap}", "chunk=4000 gap_ms=1")
    return {**base, **there, **both_ends, "without": {"server": wide, "octets": int(octets * 3)}}


@case("stands-still", ["receiver-stalls"], "The whole station stops at intervals: it neither acknowledges nor answers pings.", count=4, check=both(faster(1.4), printed("stops", 3)))
def _(draw):
    rate, rtt = draw.log("rate", 2e6, 20e6), draw.log("rtt_ms", 2, 18)
    path = line(draw, rate, rtt, "A")
    each = draw.log("each_ms", 180, 480)
    stop = each * draw.log("times", 0.7, 1.7)
    draw.note(stop_ms=round(stop))
    options = f"window={int(draw.log('window', 6000, 30000))} queue={draw.random.randrange(8, 40)}"
    octets = min(rate, draw.settings["window"] * 8e3 / (rtt + 2)) / 8 * 5.5 * each / (each + stop)
    return {**path, **station("A", f"{options} stop_ms={stop:.1f} stop_each_ms={each}", octets=octets), "merges": 0, "timestamps": 0, "beside": BESIDE_PING, "is_timed": True, "without": station("A", options, octets=octets)}


@case("stands-still-and-sends", ["sender-stalls", "sender-idle"], "The whole station stops at intervals while it sends.", count=4, check=both(faster(1.4), printed("stops", 3)))
def _(draw):
    rate, rtt = draw.log("rate", 2e6, 20e6), draw.log("rtt_ms", 2, 18)
    path = line(draw, rate, rtt, "B")
    each, segments = draw.log("each_ms", 170, 440), draw.random.randrange(4, 11)
    stop = each * draw.log("times", 0.7, 1.7)
    draw.note(in_flight=segments, stop_ms=round(stop))
    octets = min(rate, segments * 1460 * 8e3 / (rtt + 2)) / 8 * 5.5 * each / (each + stop)
    options = f"in_flight={segments} rto_ms=1500"
    return {**path, **station("B", f"{options} stop_ms={stop:.1f} stop_each_ms={each}", octets=octets), "merges": 0, "timestamps": 0, "route": {"A": "quickack 1"}, "beside": BESIDE_PING, "is_timed": True,
            "without": station("B", options, octets=octets)}


@case("sleeps-between-beacons", ["wake-up-latency"], "The station sleeps when it is idle, and hears what is for it with the next beacon.", count=4, gain=True, check=both(faster(1.3), printed("waits_for_beacon", 6)))
def _(draw):
    rate, rtt = draw.log("rate", 1e6, 30e6), draw.log("rtt_ms", 1.2, 14)
    path = line(draw, rate, rtt, "B")
    beacon, think, size, answer = draw.turn("beacon_ms", 102.4, 204.8, 307.2), draw.log("think_ms", 130, 420), int(draw.log("size", 30, 200)), int(draw.log("answer", 40, 900))
    options = f"does=answer listen=502 size={size} answer={answer} in_flight=4 ackn=1"
    there = {"sender": "B", "station": "B", "server": f"@P/station {options} beacon_ms={beacon} awake_ms={draw.log('awake_ms', 25, 70):.0f}", "is_timed": True, "most_s": 25,
             "client": f"{ENDS} ask host=@B port=502 size={size} answer={answer} count={3 * int(6500 / (think + beacon / 2))} group=3 think_ms={think} varies=0.6 nodelay=1 seed=@SEED"}
    return {**path, **there, "merges": 0, "timestamps": 0, "without": {"server": f"@P/station {options}"}}


@case("radio-of-b-sleeps", ["wake-up-latency"], "Linux behind a radio in power save (cable.c): an idle station gets its frames with the next beacon.", count=3, check=both(faster(1.3), printed("waits_for_beacon", 6)))
def _(draw):
    rate, rtt = draw.log("rate", 4e6, 30e6), draw.log("rtt_ms", 1.2, 14)
    path = line(draw, rate, rtt, "B")
    beacon, think, size, answer = draw.turn("beacon_ms", 204.8, 307.2, 102.4), draw.log("think_ms", 70, 150), int(draw.log("size", 30, 200)), int(draw.log("answer", 40, 2500))
    there = {"sender": "B", "server": f"{ENDS} answer listen=8883 size={size} answer={answer}", "ports": [8883], "is_timed": True, "most_s": 25,
             "client": f"{ENDS} ask host=@B port=8883 size={size} answer={answer} count={3 * int(6500 / (think + beacon / 2))} group=3 think_ms={think} varies=0.6 nodelay=1 seed=@SEED"}
    return {**path, **there, "merges": 0, "cable": f"rate=54e6 beacon_ms={beacon} awake_ms={draw.log('awake_ms', 20, 60):.0f}", "without": {"cable": "rate=54e6"}}


RING = {"receiver": ["queue-overflow", "loss-in-bursts"], "else": ["queue-overflow", "loss-in-bursts", "shallow-queue"]}


@case("station-with-few-buffers", RING, "The station grants a window for more frames than its ring holds, and takes a while for each.", count=3, check=both(faster(1.3), printed("lost_frames", 6)))
def _(draw):
    rate, rtt, slots = draw.log("rate", 18e6, 80e6), draw.log("rtt_ms", 1.2, 9), draw.random.randrange(4, 8)
    path = line(draw, rate, rtt, "A", kind="tbf", queue=120000)
    frame = 12144e6 / rate * draw.log("times", 1.6, 3)
    draw.note(frame_us=round(frame), slots=slots)
    options = f"window={int(1460 * draw.random.randrange(16, 30))} frame_us={frame:.0f}"
    octets = 1460 / frame * 1e6 * 1.5
    return {**path, **station("A", f"{options} queue={slots}", octets=octets), "merges": 0, "timestamps": 0, "without": station("A", f"{options} queue=200", octets=octets)}


@case("station-window", ["receive-window"], "The station's window is small for the way.", count=3, check=faster(1.4))
def _(draw):
    rate, rtt, window = draw.log("rate", 8e6, 40e6), draw.log("rtt_ms", 22, 120), int(draw.log("window", 4400, 15000))
    path = line(draw, rate, rtt, "A")
    octets = window * 5e3 / rtt
    return {**path, **station("A", f"window={window} ackn=1", octets=octets), "merges": 0, "timestamps": 0, "without": station("A", "window=65535 ackn=1", octets=octets * 3)}


@case("station-keeps-few-segments", ["send-buffer", "congestion-window"], "The station keeps a few segments until they are acknowledged.", count=2, check=faster(1.35))
def _(draw):
    rate, rtt, segments = draw.log("rate", 8e6, 40e6), draw.log("rtt_ms", 22, 120), draw.random.randrange(3, 9)
    draw.note(segments=segments)
    path = line(draw, rate, rtt, "B")
    octets = segments * 1460 * 5e3 / rtt
    return {**path, **station("B", f"in_flight={segments}", octets=octets), "merges": 0, "timestamps": 0, "route": {"A": "quickack 1"}, "without": station("B", "in_flight=24", octets=octets * 2)}


@case("station-with-small-segments", ["small-mss", "receive-window", "path-rate"], "The station takes segments of 250 octets and less, on a line that takes a time for each packet.", count=2, check=faster(1.3))
def _(draw):
    rate, rtt, mss = draw.log("rate", 1.5e6, 9e6), draw.log("rtt_ms", 2, 9), draw.random.randrange(128, 250)
    path = line(draw, rate, rtt, "A", kind="tbf")
    draw.note(mss=mss)
    radio = changed(path, up=f"root netem rate {rate:.0f}bit {int(draw.log('octets_each', 150, 500))} limit 400")
    octets = rate / 8 * mss / (mss + 40 + draw.settings["octets_each"]) * 4
    return {**path, **station("A", f"window=16000 mss={mss}", octets=octets), "merges": 0, "timestamps": 0, "disciplines": radio, "without": station("A", "window=16000 mss=1460", octets=octets * 2)}
