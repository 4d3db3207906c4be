"""Causes of devices: small stacks, sleeping radios, half duplex, few buffers, devices that stand still."""

from checks import both, check, faster
from draw import case
from setups import KIT, line, lossless, said, stream


def span(draw, rate, rtt, sender, octets, words, **more):
    """A stream between the device and a server, over a program as the device's cable."""
    path = line(draw, rate, rtt, sender=sender, queue_ms=70)
    return {**path, **stream(draw, octets, sender, opens=draw.random.choice("AB")), "span": words, "without": {"span": "x=0"}, **more}


def pushed(draw, rate, rtt, octets, words, plain=None):
    """A server writes to a device with a small TCP."""
    port = draw.random.choice((5060, 1234, 3333, 9999, 6100))
    path = line(draw, rate, rtt, sender="B", queue_ms=70)
    there = {"client_at": "B", "sender": "B", "client": f"{KIT} do=send to=@A port={port} octets={{octets}}", "octets": octets, "node": f"port={port} do=sink {words}"}
    return {**path, **there, "one_end": None, **({"without": {"node": f"port={port} do=sink {plain}"}} if plain else {})}


def pulled(draw, rate, rtt, octets, words, plain=None):
    """A server reads what a device with a small TCP sends."""
    port = draw.random.choice((5060, 1234, 3333, 9999, 6100))
    path = line(draw, rate, rtt, sender="A", queue_ms=70)
    there = {"client_at": "B", "sender": "A", "client": f"{KIT} do=recv to=@A port={port}", "octets": octets, "fixed_octets": True, "node": f"port={port} do=source octets={octets} {words}"}
    return {**path, **there, **({"without": {"node": f"port={port} do=source octets={octets} {plain}"}} if plain else {})}


@case("duplex-set-by-hand", ["duplex-mismatch", "random-loss", "loss-in-bursts", "retransmission-stalls"], "One end of the device's cable is in half duplex, the other in full duplex.", count=4,
      check=both(faster(1.4), check("eight frames or more are garbled", lambda truth, trial: any(it.get("garbled_in", 0) + it.get("garbled_out", 0) >= 8 for it in truth["path"]["programs"]))))
def _(draw):
    speed = draw.turn("speed", 10e6, 100e6, 10e6, 100e6)
    rtt = draw.log("rtt_ms", 1.6, 13)
    half = draw.turn("half_duplex_is", "dev", "net", "net", "dev")
    sender = draw.random.choice("AB")
    draw.note(sender=sender)
    return span(draw, speed * 1.4, rtt, sender, int(speed / 24), f"half={half} rate={speed:.0f}", inside=draw.turn("captured", "inside", "switch") == "inside")


@case("radio-sleeps", ["wake-up-latency"], "A device's radio sleeps between beacons.", count=3, gain=False, kinds=("receiver", "middle", "late", "truncated", "snapped"), check=said("held", 10))
def _(draw):
    rtt, beacon = draw.log("rtt_ms", 3, 14), draw.log("beacon_ms", 102.4, 307.2)
    pause = max(draw.log("pause_ms", 60, 240), 0.5 * beacon)
    n = int(draw.log("answer", 40, 800))
    path = line(draw, 20e6, rtt)
    # The device answers; its partner asks thrice, then pauses. The partner is the receiver of the answers.
    return {**path, "sender": "A", "client_at": "B", "one_end": "receiver", "span": f"beacon_ms={beacon} awake_ms={pause / draw.log('times', 1.7, 2.4):.1f}", "server": f"{KIT} do=answer port=502 size=36 answer={n} nodelay=1", "ports": [502],
            "client": f"{KIT} do=ask to=@A port=502 size=36 answer={n} nodelay=1 count=100 burst=3 think_ms={pause} spread=0.3 seed=@SEED"}


@case("few-receive-buffers", ["queue-overflow", "loss-in-bursts", "shallow-queue"], "A device has few receive buffers, and takes its time for each frame.", count=3, check=both(faster(1.3), said("unheard", 10)))
def _(draw):
    rate, rtt = draw.log("rate", 40e6, 95e6), draw.log("rtt_ms", 4, 22)
    buffers, busy = draw.random.randrange(3, 8), 1538 * 8e6 / rate * draw.log("times", 1.3, 2.6)
    draw.note(buffers=buffers)
    return span(draw, rate, rtt, "B", int(rate / 40), f"buffers={buffers} busy_us={busy:.0f}", without={"span": f"buffers=400 busy_us={busy:.0f}"})


@case("device-erases-sectors", ["receiver-stalls", "receive-window", "receiver-reads-slowly"], "A device stands still after each sector that it has received.", count=3, check=both(faster(1.3), said("stops", 4)))
def _(draw):
    rate, rtt = draw.log("rate", 6e6, 60e6), draw.log("rtt_ms", 0.9, 18)
    sector, stop = draw.log("sector", 33e3, 140e3), draw.log("stop_ms", 160, 640)
    wnd = int(draw.log("wnd", 5840, 23360))
    octets = int(6 / (stop / 1e3 + sector / min(rate / 8, wnd / (rtt / 1e3 + 0.004))) * sector)
    return pushed(draw, rate, rtt, octets, f"wnd={wnd} stop_every={sector:.0f} stop_ms={stop:.0f}", f"wnd={wnd}")


@case("device-busy-at-intervals", ["receiver-stalls", "link-interrupted", "retransmission-stalls"], "A device stands still at intervals: another task has its processor.", count=2, check=both(faster(1.3), said("stops", 3)))
def _(draw):
    rate, rtt = draw.log("rate", 7e6, 30e6), draw.log("rtt_ms", 2, 16)
    every = draw.log("every_ms", 800, 1500)
    return span(draw, rate, rtt, "B", int(rate / 8 * 4), f"stop_every_ms={every:.0f} stop_ms={every * draw.random.uniform(0.4, 0.6):.0f} stop_queue={draw.random.randrange(4, 9)}")


@case("device-reads-its-flash", ["sender-stalls", "sender-idle"], "A device stands still while it reads the next block.", count=3, check=both(faster(1.3), said("stops", 4)))
def _(draw):
    rate, rtt = draw.log("rate", 6e6, 60e6), draw.log("rtt_ms", 0.9, 18)
    block, stop = draw.log("block", 17e3, 90e3), draw.log("stop_ms", 140, 600)
    flight = draw.random.randrange(4, 12)
    octets = int(6 / (stop / 1e3 + block / min(rate / 8, flight * 1460 / (rtt / 1e3 + 0.003))) * block)
    return pulled(draw, rate, rtt, octets, f"flight={flight} stop_every={block:.0f} stop_ms={stop:.0f}", f"flight={flight}")


@case("one-segment-at-a-time", ["one-in-flight", "delayed-ack-with-nagle", "late-acks", "send-buffer"], "A device sends a segment when the one before is acknowledged.", count=3, check=both(faster(1.3), lossless()))
def _(draw):
    rate, rtt = draw.log("rate", 4e6, 60e6), draw.log("rtt_ms", 11, 90)
    mss = draw.turn("mss", 1460, 1024, 1460)
    quick = {"B": "quickack 1"}
    return {**pulled(draw, rate, rtt, int(mss / (rtt + 2) * 1e3 * 6), f"flight=1 mss={mss}", f"flight=8 mss={mss}"), "route": quick}


@case("tells-each-octet", ["silly-window", "receiver-reads-slowly"], "A device tells each few octets that its program has read.", count=3, check=both(faster(1.3), said("updates", 30)))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 50e6), draw.log("rtt_ms", 1.2, 9)
    read, every = int(draw.log("read", 24, 190)), draw.log("read_ms", 2.1, 6)
    wnd = int(draw.log("wnd", 1460, 5840))
    return pushed(draw, rate, rtt, int(read / every * 1e3 * 6) + wnd, f"wnd={wnd} read={read} read_ms={every} update=1 every=1", f"wnd={wnd} every=1")


@case("acknowledges-many-at-once", {"late": ["stretch-acks", "receive-window", "late-acks"], "else": ["stretch-acks", "receive-window"]}, "A device acknowledges many segments at once.", count=3, check=both(faster(1.3), lossless(3)))
def _(draw):
    rate, rtt = draw.log("rate", 26e6, 90e6), draw.log("rtt_ms", 16, 60)
    every = draw.random.randrange(7, 13)
    wnd = int((every * draw.random.uniform(1.12, 1.4)) * 1460)
    draw.note(every=every, wnd=wnd)
    return pushed(draw, rate, rtt, int(wnd / rtt * 1e3 * 4), f"wnd={wnd} every={every} rest_ms=180", f"wnd={wnd} every=2")


@case("looks-by-a-timer", ["late-acks", "receive-window"], "A device looks for frames at a timer, and has a window of two segments.", count=3, check=both(faster(1.3), lossless()))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 60e6), draw.log("rtt_ms", 1.5, 14)
    mss, tick = draw.turn("mss", 1460, 1024, 536), draw.log("tick_ms", 17, 90)
    return pushed(draw, rate, rtt, int(2 * mss / (rtt + tick) * 1e3 * 6), f"mss={mss} wnd={2 * mss} tick_ms={tick:.1f} every=1", f"mss={mss} wnd={2 * mss} every=1")


@case("acknowledges-by-a-timer", ["late-acks", "receive-window", "delayed-ack-with-nagle"], "A device acknowledges by a timer only.", count=2, check=both(faster(1.3), lossless()))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 60e6), draw.log("rtt_ms", 1.5, 24)
    timer = draw.log("timer_ms", 70, 240)
    segments = draw.turn("segments", 2, 1)
    return pushed(draw, rate, rtt, int(segments * 1460 / (rtt + timer) * 1e3 * 6), f"wnd={segments * 1460} every=5 rest_ms={timer:.0f}", f"wnd={segments * 1460} every=1")


@case("small-window-of-a-device", ["receive-window"], "A device has a window of some segments.", count=3, check=both(faster(1.3), lossless()))
def _(draw):
    rate, rtt = draw.log("rate", 9e6, 80e6), draw.log("rtt_ms", 19, 120)
    wnd = int(draw.log("wnd", 4380, 17520))
    return pushed(draw, rate, rtt, int(wnd / rtt * 1e3 * 5), f"wnd={wnd} every={draw.turn('every', 2, 1)}", "wnd=65000 every=2")
