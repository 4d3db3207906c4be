"""Links that work: nothing that an engineer would mend."""

import checks
from setups import board_pushes, board_reads, board_sends, control, line, more_streams, page, questions, stream

FULL = checks.filled(0.85)
QUIET = checks.check("lasts 3 s and loses nothing", lambda truth, trial: truth["seconds"] >= 3 and truth["lost_segments"] == 0)


@control("works-line", "A line is full, with a queue of one to two round trips.", check=FULL)
def works_line(draw):
    return stream(line(draw, (18e6, 60e6), (8, 24), queue=draw.random.uniform(1, 2), congestion="cubic"))


@control("village-line", "A slow access line is full.", check=FULL)
def village_line(draw):
    return stream(line(draw, (1.5e6, 6e6), (22, 45), queue=1.6))


@control("uplink-of-outstation", "A slow uplink is full; its queue holds a tenth of a second.", check=FULL)
def uplink(draw):
    rate = draw.log("rate", 6e5, 2.4e6)
    trial = stream(line(draw, rate, (25, 40), sender="A", queue=1))
    trial["data"]["queue_octets"] = int(rate * draw.log("queue_s", 0.08, 0.12) / 8) + 6000
    return trial


@control("two-historians", "Two downloads share a line.", check=checks.filled(0.3))
def two_historians(draw):
    return more_streams(stream(line(draw, (9e6, 30e6), (12, 30), queue=1.5)), 1)


@control("shift-change", "Four transfers share a line.", check=checks.filled(0.1))
def shift_change(draw):
    return more_streams(stream(line(draw, (14e6, 45e6), (14, 35), queue=1.3)), 3)


@control("up-and-down", "Both directions are full; the queues hold 40 ms.", check=checks.filled(0.7))
def up_and_down(draw):
    trial = line(draw, (8e6, 24e6), (18, 35), queue=1)
    for way in ("data", "acks"):
        trial[way]["queue_octets"] = int(trial["rate"] * 0.04 / 8)
    return more_streams(stream(trial), 1, back=True)



@control("small-queue-suffices", "A queue of two thirds of a round trip keeps the line full.", check=FULL)
def small_queue(draw):
    return stream(line(draw, (15e6, 35e6), (14, 28), queue=draw.random.uniform(0.65, 0.85), congestion="cubic"))


@control("managed-queue", "CoDel keeps the queue short.", check=checks.filled(0.8))
def managed(draw):
    return stream(line(draw, (7e6, 25e6), (15, 32), queue=6, data={"target_us": 5000}, congestion="cubic"))


@control("crane-radio", "The rate of a radio goes up and down; it is full.", check=checks.filled(0.45))
def crane(draw):
    rate = draw.log("rate", 8e6, 26e6)
    low = int(rate * draw.log("low_share", 0.35, 0.6))
    return stream(line(draw, rate, (12, 25), queue=2, data={"rate_low": low, "rate_period_ms": draw.log("period_ms", 900, 2600)}))



@control("full-by-bbr", "BBR fills a line.", check=checks.filled(0.8))
def bbr(draw):
    return stream(line(draw, (12e6, 35e6), (15, 35), queue=1.5, congestion="bbr"))


@control("rare-errors", "One frame in thousands is lost; the line is full nevertheless.", check=checks.both(FULL, checks.missing(1)))
def rare(draw):
    return stream(line(draw, (5e6, 11e6), (9, 18), queue=2.5, data={"loss": draw.log("loss", 3e-4, 7e-4)}, congestion="cubic"))


@control("parameter-files", "Short files now and then, each over within a few round trips.", check=QUIET)
def parameters(draw):
    trial = line(draw, (20e6, 70e6), (3, 9), sender="B", queue=3, fixed=1, octets=draw.log("octets", 8000, 24000))
    return stream(trial, times=9, read={"between_ms": 600, "irregular": 1, "seed": draw.number})


@control("clocked-requests", "A master asks at fixed times.", check=QUIET)
def clocked(draw):
    return questions(line(draw, (4e6, 60e6), (3, 18), sender="B"), {"size": draw.log("size", 12, 60), "reply": draw.log("reply", 60, 600),
                                                                   "count": 500, "slot_ms": draw.turn("slot_ms", 200, 500, 250),
                                                                   "most_s": 6, "nodelay": 1})


@control("operator-clicks", "A person opens pages now and then.", check=QUIET)
def clicks(draw):
    return questions(line(draw, (12e6, 50e6), (5, 15), sender="B", queue=3), {"size": 420, "reply": draw.log("reply", 3000, 11000), "count": 500,
                                                                             "pause_ms": draw.log("pause_ms", 500, 900), "irregular": 1,
                                                                             "most_s": 7, "seed": draw.number, "nodelay": 1})


@control("intercom", "A call in both directions.", check=QUIET)
def intercom(draw):
    interval, size = draw.turn("interval_us", 20000, 30000), draw.turn("size", 172, 92)
    trial = line(draw, (4e5, 3e6), (12, 60), sender="A")
    trial["hops"] = {"P": "router", "Q": "bridge"}
    trial.pop("octets")
    trial["servers"] = [("A", "@P/ends receive port=5006"), ("B", "@P/ends receive port=5004")]
    trial["also"] = [("B", f"@P/ends send host=@A port=5006 interval_us={interval} size={size} seconds=6", 0.05)]
    trial["client"], trial["port"] = ("A", f"@P/ends send host=@B port=5004 interval_us={interval} size={size} seconds=6"), 5004
    return trial


@control("telemetry", "A station reports values when they change.", check=QUIET)
def telemetry(draw):
    trial = line(draw, (2e5, 4e6), (15, 70), sender="A", queue=4)
    trial.pop("octets")
    trial["servers"] = [("B", "@P/ends sink")]
    trial["client"] = ("A", f"@P/ends report host=@B size={draw.log('size', 40, 220)} vary=1 event_ms={draw.log('event_ms', 150, 420)} irregular=1 "
                            f"seconds=7 nodelay=1 seed={draw.number}")
    return trial


@control("remote-panel", "The screen of a panel, sent as it changes.", check=QUIET)
def panel(draw):
    trial = line(draw, (15e6, 60e6), (4, 20), sender="B", queue=4)
    trial.pop("octets")
    trial["servers"] = [("B", f"@P/ends tell size={draw.log('size', 900, 6000)} vary=1 event_ms={draw.log('event_ms', 60, 200)} irregular=1 seconds=7 "
                              f"nodelay=1 seed={draw.number}")]
    trial["client"] = ("A", "@P/ends hear host=@B")
    return trial


@control("terminal", "Somebody types.", check=QUIET)
def terminal(draw):
    return questions(line(draw, (1e6, 20e6), (8, 40), sender="B"), {"size": draw.turn("size", 1, 2, 36), "reply": draw.turn("reply", 1, 20, 44),
                                                                   "count": 500, "pause_ms": draw.log("pause_ms", 120, 260), "irregular": 1,
                                                                   "most_s": 7, "seed": draw.number, "nodelay": 1})


@control("update-from-depot", "A software update with curl fills its line.", check=FULL)
def update(draw):
    return page(line(draw, (22e6, 70e6), (5, 14), sender="B", queue=2))



@control("camera-below-rate", "A camera's datagrams are below the rate.", check=QUIET)
def camera(draw):
    trial = line(draw, (9e6, 30e6), (4, 25), sender="B", queue=4, middle="B")
    trial["hops"] = {"P": "router", "Q": draw.turn("Q", "router", "bridge")}
    trial.pop("octets")
    trial["data"]["queue_octets"] = 120_000
    trial["servers"] = [("A", "@P/ends receive port=5004")]
    frame = trial["rate"] / 8 / 25 * 0.5
    trial["client"], trial["port"] = ("B", f"@P/ends send host=@A port=5004 interval_us=40000 size=1200 burst={max(2, int(frame / 1242))} seconds=6"), 5004
    trial["does_not_listen"] = 1
    return trial


@control("cell-of-100", "A line of 100 Mbit/s in the works is full.", check=FULL)
def cell(draw):
    return stream(line(draw, 100_000_000, (0.3, 1.2), queue=1, data={"queue_octets": 190_000}, congestion="cubic"))


@control("backbone-in-the-works", "A line of some 200 Mbit/s is full.", check=checks.filled(0.8))
def backbone(draw):
    return stream(line(draw, (150e6, 210e6), (0.5, 2), queue=1, data={"queue_octets": 400_000}, congestion="cubic"))


@control("half-duplex-bus", "A half-duplex segment of 10 Mbit/s is full.", check=checks.filled(0.75))
def bus(draw):
    return stream(line(draw, 10_000_000, (0.6, 3), queue=1, data={"half_duplex": 1, "queue_octets": 60_000},
                       acks={"half_duplex": 1, "queue_octets": 60_000}))


@control("recipes-in-the-cell", "Questions and answers at once, on a line within the works.", check=checks.between(1.5, 15))
def recipes(draw):
    return questions(line(draw, (30e6, 100e6), (0.3, 0.8), sender="B"), {"size": 120, "reply": draw.log("reply", 300, 1200), "count": 9000, "most_s": 5,
                                                                        "nodelay": 1})


@control("values-in-etcd", "Values are put and read at the times of a clock.", check=checks.between(3, 15))
def etcd(draw):
    trial = line(draw, (20e6, 80e6), (1, 5), sender="B")
    trial.pop("octets")
    trial["servers"] = [("B", "exec etcd --data-dir $(mktemp -d /dev/shm/etcd-XXXX) --listen-client-urls http://0.0.0.0:2379 --advertise-client-urls "
                              "http://@B:2379 --listen-peer-urls http://127.0.0.1:2380")]
    trial["port"], trial["hops"] = 2379, {**trial["hops"], "P": "router"}
    trial["client"] = ("A", "for i in $(seq 14); do curl -s -o /dev/null -X POST http://@B:2379/v3/kv/put -d '{\"key\":\"Zm9v\",\"value\":\"YmFy\"}'; sleep 0.4; done")
    return trial


@control("scraped-counters", "A monitor reads the counters of a host every second.", check=checks.between(3, 15))
def scraped(draw):
    trial = line(draw, (10e6, 60e6), (2, 12), sender="B", queue=4)
    trial.pop("octets")
    trial["servers"] = [("B", "exec prometheus-node-exporter --web.listen-address=:9100")]
    trial["port"] = 9100
    trial["client"] = ("A", "for i in 1 2 3 4 5 6 7; do curl -s -o /dev/null http://@B:9100/metrics; sleep 0.9; done")
    return trial


@control("messages-to-rsyslog", "Hosts log by TCP when something happens.", check=checks.between(3, 15))
def logs(draw):
    trial = line(draw, (1e6, 20e6), (4, 40), sender="A", queue=4)
    trial.pop("octets")
    trial["servers"] = [("B", "printf 'module(load=\"imtcp\")\\ninput(type=\"imtcp\" port=\"5140\")\\n*.* @D/log\\n' > @D/r.conf; "
                              "exec rsyslogd -n -f @D/r.conf -i @D/r.pid")]
    trial["port"] = 5140
    trial["client"] = ("A", "exec 3<>/dev/tcp/@B/5140; i=0; while [ $i -lt 16 ]; do i=$((i + 1)); echo \"<134>press $i: pressure 4.$RANDOM bar\" >&3; "
                            "sleep 0.$((RANDOM % 7 + 1)); done")
    return trial


@control("zmodem-in-the-field", "ZMODEM through a terminal server fills its line.", check=checks.filled(0.75))
def zmodem(draw):
    trial = line(draw, (1.5e6, 5e6), (5, 15), sender="B", queue=3)
    trial["servers"] = [("B", "head -c {octets} /dev/urandom > @D/f; exec socat TCP-LISTEN:5001,reuseaddr EXEC:'sz -b -q @D/f'")]
    trial["client"] = ("A", "mkdir -p @D/z; cd @D/z; exec socat TCP:@B:5001 EXEC:'rz -q -y'")
    return trial


@control("board-fills-its-line", "A board reads at the rate of its line; its window covers the round trip.", check=checks.filled(0.8))
def board_fills(draw):
    trial = line(draw, (1e6, 3e6), (2, 5), sender="A", board={"window": draw.turn("window", 11680, 8760), "ack_every": 2})
    trial["data"]["queue_octets"] = 60_000
    return board_reads(trial)


@control("board-serves-its-line", "A board sends at the rate of its line.", check=checks.filled(0.8))
def board_serves(draw):
    trial = line(draw, (8e5, 2.5e6), (2, 5), sender="B", board={"in_flight": 8})
    trial["data"]["queue_octets"] = 60_000
    return board_sends(trial) if draw.number % 2 else board_pushes(trial)


@control("board-is-polled", "A master asks a board at fixed times.", check=QUIET)
def board_polled(draw):
    size, reply = draw.turn("size", 12, 20), int(draw.log("reply", 20, 260))
    trial = line(draw, (1e6, 10e6), (2, 12), sender="B", board={"mode": "answer", "size": size, "reply": reply, "ack_every": 1})
    trial.pop("octets")
    trial["client"] = ("A", f"@P/ends ask host=@B size={size} reply={reply} count=500 slot_ms={draw.turn('slot_ms', 250, 500)} most_s=6 nodelay=1")
    return trial
