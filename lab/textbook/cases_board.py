"""A board with NuttX at end B: its TCP, its windows and buffers, its program."""

from checks import both, check, faster, filled, missing
from draw import case, control
from setups import JAVA, all_answered, java_stream, line, on_time

BEGIN = "sleep 0.4; "
# NuttX repeats what is lost after three seconds and more, so its lines hold what it has in flight.
DEEP = {"queue_ms": 250}


def stream(sender, octets, build="usual", client="", **does):
    """A stream from or to the board, to whose port A connects."""
    board = {"build": build, "does": {"does": "source" if sender == "B" else "sink", "listens": 1, "port": 5201, "octets": 0, **does}}
    peer = f"sink {client}" if sender == "B" else f"source octets={{octets}} {client}"
    return {"board": board, "sender": sender, "opens": "A", "client": f"{BEGIN}{JAVA} {peer} host=@B port=5201", "octets": octets}


def exchange(ask, build="usual", **does):
    return {"board": {"build": build, "does": {"does": "answer", "listens": 1, "port": 4840, **does}}, "sender": "B", "opens": "A",
            "client": f"{BEGIN}{JAVA} ask host=@B port=4840 {ask}"}


@case("board-grants-little", ["receive-window"], "The board grants a window of a few segments.", count=2, check=faster(1.4))
def _(draw):
    rate, rtt, window = draw.log("rate", 8e6, 25e6), draw.log("rtt_ms", 12, 60), draw.random.randrange(3, 8) * 1460
    draw.note(window=window)
    return {**line(draw, rate, rtt, queue_ms=80), **stream("A", int(window * 4500 / rtt), rcvbuf=window), "without": stream("A", int(rate * 0.4))}


@case("board-keeps-little", ["send-buffer"], "The board's send buffer holds a few segments.", count=2, check=faster(1.4))
def _(draw):
    rate, rtt, buffer = draw.log("rate", 8e6, 20e6), draw.log("rtt_ms", 15, 60), draw.random.randrange(4, 9) * 1460
    draw.note(buffer=buffer)
    return {**line(draw, rate, rtt, **DEEP), **stream("B", int(buffer * 4500 / rtt), sndbuf=buffer, write=1460), "without": stream("B", int(rate * 0.4), write=1460)}


@case("board-without-buffers", ["one-in-flight"], "The board's stack waits for the acknowledgment of each segment.", count=2, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 6e6, 20e6), draw.log("rtt_ms", 6, 35)
    return {**line(draw, rate, rtt, **DEEP), **stream("B", int(1460 * 4500 / (rtt + 2)), build="unbuffered", write=1460), "without": stream("B", int(rate * 0.4), write=1460)}


@case("board-polls", ["late-acks", "receive-window"], "The board looks for frames every 24 ms, and grants two segments.", count=2, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 8e6, 30e6), draw.log("rtt_ms", 2, 7)
    return {**line(draw, rate, rtt), **stream("A", int(2920 * 4500 / 24), build="polled", rcvbuf=2920), "without": stream("A", int(2920 * 4500 / (rtt + 3)), rcvbuf=2920)}


@case("board-without-scaling", {"late": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]}, "The board has 64 KB and no scaling on a long way.", count=2,
      check=faster(1.35))
def _(draw):
    rate, rtt = draw.log("rate", 20e6, 40e6), draw.log("rtt_ms", 75, 170)
    return {**line(draw, rate, rtt, queue_ms=100), **stream("A", int(64000 * 4800 / rtt)), "without": {"board": None, **java_stream("A", octets=int(rate * 0.4))}}


@case("board-segments-of-536", ["small-mss", "path-rate"], "The board announces 536 octets, and each frame costs the radio some time.", count=2, check=faster(1.35))
def _(draw):
    rate, rtt, cost = draw.log("rate", 8e6, 16e6), draw.log("rtt_ms", 4, 15), draw.log("cost_us", 500, 1100)
    path = line(draw, rate, rtt, packets=90, more={"cost": cost})
    sender = draw.turn("sender_is", "A", "B")
    buffer = {"sndbuf": 17520, "write": 4096}
    return {**path, **stream(sender, int(rate / 22), mtu=576, **buffer), "without": stream(sender, int(rate / 6), **buffer)}


@case("board-erases", ["receiver-stalls"], "The board stands still at intervals while it erases flash.", count=3, check=faster(1.3))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 16e6), draw.log("rtt_ms", 4, 25)
    stops = {"who": "board", "every": draw.log("every_s", 0.5, 1.0), "for": draw.log("for_s", 0.25, 0.7)}
    return {**line(draw, rate, rtt, queue_ms=60), **stream("A", int(rate / 8 * 3)), "stops": stops, "without": {"stops": None}}


@case("board-reads-card", ["sender-stalls", "sender-idle"], "The board stands still at intervals while it reads a card, and sends nothing.", count=2, check=faster(1.3))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 14e6), draw.log("rtt_ms", 4, 25)
    stops = {"who": "board", "every": draw.log("every_s", 0.4, 0.9), "for": draw.log("for_s", 0.25, 0.6)}
    return {**line(draw, rate, rtt, **DEEP), **stream("B", int(rate / 8 * 3), write=1460, sndbuf=17520), "stops": stops, "without": {"stops": None}}


@case("board-writes-crumbs", ["small-writes"], "The board's program writes some octets at a time without Nagle's algorithm.", count=2, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 1.5e6, 4e6), draw.log("rtt_ms", 4, 20)
    write = int(draw.log("write", 50, 130))
    return {**line(draw, rate, rtt, **DEEP), **stream("B", int(rate / 8 * 2), write=write, nodelay=1, sndbuf=5840),
            "without": stream("B", int(rate * 0.4), write=1460, nodelay=1, sndbuf=5840)}


@case("board-computes", ["server-think-time"], "The board computes each answer.", count=2, gain=False,
      check=check("60% of the time is the board's", lambda truth, trial: trial["thinks_s"] >= 0.6 * truth["seconds"] > 1))
def _(draw):
    work = draw.log("work_ms", 120, 500)
    count = int(5000 / work)
    return {**line(draw, draw.log("rate", 6e6, 30e6), draw.log("rtt_ms", 3, 25)), "thinks_s": count * work / 1e3,
            **exchange(f"count={count} size=60 answer={int(draw.log('answer', 300, 6000))} work={work:.0f} nodelay=1")}


@case("board-reads-slowly", ["receiver-reads-slowly", "silly-window", "receive-window"], "The board's program reads some octets, then does something else.", count=2, check=faster(1.5))
def _(draw):
    rate, rtt, pause = draw.log("rate", 8e6, 25e6), draw.log("rtt_ms", 3, 20), int(draw.log("pause_ms", 3, 9))
    chunk = draw.turn("chunk", 512, 1024, 730)
    window = draw.random.randrange(4, 12) * 1460
    return {**line(draw, rate, rtt), **stream("A", int(chunk * 4500 / (pause + 1)), rcvbuf=window, chunk=chunk, every=chunk, pause=pause),
            "without": stream("A", int(rate * 0.4), rcvbuf=window)}


@case("board-on-bad-cable", ["random-loss", "no-sack", "retransmission-stalls"], "Frames are lost on the way to a board without SACK.", count=2, check=both(faster(1.3), missing(6)))
def _(draw):
    rate, rtt, loss = draw.log("rate", 8e6, 20e6), draw.log("rtt_ms", 8, 30), draw.log("loss_percent", 0.6, 2)
    path = line(draw, rate, rtt, queue_ms=80)
    return {**path, **stream("A", int(rate / 8 * 3)), "forward": {**path["forward"], "loss": loss / 100}, "without": {"forward": path["forward"]}}


@control("board-full-line", "A board fills its line.", count=3, check=filled(0.84))
def _(draw):
    rate = draw.turn("rate_is", 10e6, draw.log("rate", 3e6, 9e6), 10e6)
    return {**line(draw, rate, draw.log("rtt_ms", 1, 8), queue_ms=80), **stream(draw.turn("sender_is", "A", "B"), int(rate / 8 * 5), write=1460, sndbuf=20440)}


@control("board-registers", "A master reads a board's registers at an interval.", count=2, check=all_answered(10))
def _(draw):
    period = draw.log("period_ms", 150, 450)
    return {**line(draw, draw.log("rate", 5e6, 30e6), draw.log("rtt_ms", 1, 10)),
            **exchange(f"nodelay=1 count={int(6000 / period)} size=12 answer={int(draw.log('answer', 12, 250))} period={period}")}


@control("board-sensor", "A board writes what its sensor measures, at the sensor's rate.", count=1, check=on_time(0.9))
def _(draw):
    write, period = int(draw.log("write", 200, 1000)), int(draw.log("period_ms", 15, 45))
    own = write * 8e3 / (period + 1)
    return {**line(draw, draw.log("rate", 5e6, 20e6), draw.log("rtt_ms", 2, 15)), "own_rate": own * 0.9,
            **stream("B", int(own / 8 * 6), write=write, every=write, pause=period, nodelay=1)}
