"""Devices with a small TCP of their own (src/device.c)."""

from programs import bulk, curl, send, sink
from trial import Trial, both, case, counted, frames_of, path, slower


def lan(draw, low=1.0, high=6.0, rates=(10e6, 100e6)):
    rate, rtt = draw.turn("rate", list(rates)), draw.log("rtt_ms", low, high)
    return rate, rtt, path(rate, rtt, frames_of(rate, rtt, 1.2, 90))


def behaviour(**settings):
    return lambda truth: all(truth["device"].get(name, 0) >= least for name, least in settings.items())


@case("stretch-acks", ["stretch-acks", "receive-window"],
      "The device acknowledges only every n-th segment, or after a while, and its window holds few more: the sender "
      "stops and goes. A larger window would hide it.", count=4)
def stretch_acks(draw):
    rate, every = draw.turn("rate", [10e6, 100e6]), draw.whole("every", 6, 18)
    train_ms = every * 1538 * 8e3 / rate
    rtt = train_ms * draw.between("rtt_trains", 0.4, 0.8)
    device = {"window": 1460 * every + draw.whole("more", 0, 1400), "ack_every": every,
              "ack_delay": draw.log("delay_us", 3e4, 2.2e5)}
    cc = draw.turn("cc", ["reno", "cubic", "bbr"])
    return Trial(path(rate, rtt, 90), send(bulk(rate / 2, 4), cc=cc, for_=7), measure="device", device=device,
                 without={"device": {"ack_every": 2}}, check=slower(1.3))


@case("late-acks", ["late-acks", "receive-window"],
      "Each acknowledgment leaves the device much later than it could; its window of two segments cannot cover that.",
      gain=False, count=4)
def late_acks(draw):
    rate, rtt, way = lan(draw, 0.5, 3)
    device = {"window": 2920, "ack_every": 1, "ack_late": draw.log("late_us", 8000, 60000)}
    return Trial(way, send(bulk(2920 * 8e6 / (device["ack_late"] + rtt * 1e3), 5), cc="reno", for_=8), measure="device",
                 device=device, without={"device": {"ack_late": 0}}, check=slower(2))


@case("polling-device", ["late-acks", "receive-window", "receiver-stalls"],
      "The device looks for frames at ticks: acknowledgments wait for the next, and the window holds no more than "
      "passes per tick.", gain=False, count=3)
def polling_device(draw):
    rate, rtt, way = lan(draw, 0.5, 3)
    device = {"window": draw.whole("segments", 2, 4) * 1460, "ack_every": 2, "tick": draw.log("tick_us", 6000, 40000)}
    return Trial(way, send(bulk(device["window"] * 8e6 / device["tick"], 4), cc="cubic", for_=8), measure="device",
                 device=device, without={"device": {"tick": 0}}, check=slower(2))


@case("receiver-stalls", ["receiver-stalls"],
      "The device stands still at intervals, as for erasing flash; its queue holds what arrives meanwhile.", count=4)
def receiver_stalls(draw):
    rate, rtt, way = lan(draw, 1, 8)
    device = {"window": draw.whole("segments", 6, 20) * 1460, "stall_every": draw.log("every_us", 4e5, 1.1e6),
              "stall": draw.log("stall_us", 1.2e5, 2.8e5)}
    speed = min(rate * 0.9, device["window"] * 8e3 / rtt)
    return Trial(way, send(bulk(speed, 3), cc=draw.turn("cc", ["cubic", "reno", "bbr"]), for_=6), measure="device",
                 device=device, without={"device": {"stall": 0}}, check=slower(1.15))


@case("sender-stalls", ["sender-stalls", "sender-idle"],
      "The device that sends stands still at intervals as a whole: nothing is sent, acknowledged or answered.", count=4)
def sender_stalls(draw):
    rate, rtt, way = lan(draw, 1, 8)
    device = {"in_flight": draw.whole("segments", 6, 20) * 1460, "stall_every": draw.log("every_us", 3e5, 9e5),
              "stall": draw.log("stall_us", 1e5, 2.6e5)}
    speed = min(rate * 0.9, device["in_flight"] * 8e3 / rtt)
    return Trial(way, curl("http://@B:5001/log.bin"), sender="B", device={**device, "file": int(bulk(speed, 3))},
                 beside=[("A", ["ping", "-n", "-i", "0.2", "@B"])], without={"device": {"stall": 0}},
                 check=slower(1.15))


@case("one-in-flight", ["one-in-flight", "send-buffer"],
      "The device's web server sends each segment after the acknowledgment of the one before.", count=3)
def one_in_flight(draw):
    rate, rtt, way = lan(draw, 1.5, 15)
    octets = int(bulk(1460 * 8e3 / (rtt + 1.3), 4))
    return Trial(way, curl("http://@B:5001/page.html"), sender="B", device={"in_flight": 1460, "file": octets},
                 without={"device": {"in_flight": 17520, "file": octets * 3}}, check=slower(2))


@case("silly-window", ["silly-window", "receive-window"],
      "The device never has room for a segment: the sender fills each small window with a segment of exactly that "
      "size, and waits. A larger window would help as well.", count=4)
def silly_window(draw):
    rate, rtt, way = lan(draw, 0.6, 9, (100e6, 10e6))
    device = {"window": draw.whole("window", 90, 530), "ack_every": 1, "cost": draw.log("cost_us", 50, 400)}
    return Trial(way, send(1.2e6, cc=draw.turn("cc", ["reno", "bbr"]), nodelay=1, for_=4), measure="device",
                 device=device, without={"device": {"window": 5840}}, check=slower(2))


@case("small-mss-device", ["small-mss", "path-rate", "receive-window"],
      "The device announces a small MSS, and needs the same time for each frame however long it is.", count=4)
def small_mss_device(draw):
    rate, rtt, way = lan(draw, 0.5, 4, (100e6, 10e6))
    device = {"mss": draw.turn("mss", [536, 256, 400]), "window": draw.whole("window", 12000, 30000),
              "cost": draw.log("cost_us", 400, 1600), "ring": 1000}
    speed = device["mss"] * 8e6 / device["cost"]
    cc = draw.turn("cc", ["reno", "bbr", "cubic"])
    return Trial(way, send(bulk(speed, 4), cc=cc, for_=7), measure="device", device=device,
                 without={"device": {"mss": 1460}, "client": send(bulk(speed * 2, 4))}, check=slower(1.5))


@case("queue-overflow", ["queue-overflow", "shallow-queue", "retransmission-stalls"],
      "The device announces more window than its receive queue holds frames, and loses the rest of each burst; a short "
      "queue on the path looks the same. It keeps nothing behind a gap, so most losses wait for the timer.", count=4)
def queue_overflow(draw):
    rate, rtt, way = lan(draw, 4, 25, (100e6,))
    device = {"window": draw.whole("window_segments", 16, 40) * 1460, "ring": draw.whole("ring", 3, 7),
              "cost": draw.log("cost_us", 150, 500)}
    return Trial(way, send(2e6, cc=draw.turn("cc", ["reno", "cubic"]), for_=6), measure="device", device=device,
                 without={"device": {"ring": 1000}}, check=both(slower(1.3), behaviour(overflowed=8)))


@case("duplex-mismatch", {"sender": ["duplex-mismatch", "random-loss", "loss-in-bursts"], "else": ["duplex-mismatch"]},
      "The receiver's end of the cable has half duplex, the other full. At the full-duplex sender only losses show: "
      "there the counters decide.", count=4, kinds=("sender", "receiver", "late", "snapped"))
def duplex_mismatch(draw):
    return mismatch(draw, "b")


@case("duplex-mismatch-sender", ["duplex-mismatch"],
      "The sender's end of the cable has half duplex, the other full: its frames are hit by acknowledgments.", count=4,
      kinds=("sender", "receiver", "late", "snapped"))
def duplex_mismatch_sender(draw):
    return mismatch(draw, "a")


def mismatch(draw, half):
    rate, rtt = draw.turn("rate", [10e6, 10e6, 100e6]), draw.log("rtt_ms", 0.6, 12)
    way = path(None, rtt, middle=0.5, duplex=rate, half=half, queue=200)
    hit = lambda truth: sum(truth["path"][end].get("late_collisions", 0) + truth["path"][end].get("collisions", 0)
                            for end in ("ab", "ba")) >= 10
    return Trial(way, send(2.5e6, cc=draw.turn("cc", ["reno", "cubic", "bbr"]), for_=6), [sink()],
                 without={"path": {"duplex": 0, "rate": rate}, "client": send(bulk(rate, 4))},
                 check=both(slower(1.3), hit))
