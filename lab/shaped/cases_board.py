"""Boards: lwIP with the windows, buffers and programs that boards have, and uIP, at one end."""

from cases_ends import segments_of
from cases_path import BLOCKED, counted
from checks import both, faster, missing, no_payload, printed
from setups import ENDS, board, case, changed, line, lwip, program, rate_of, with_delay


def wire(*words, **more):
    """A line whose queue holds what a board with 64 KB sends, since such boards do not adapt well."""
    return line(*words, least=72000, **more)


def reads(d, trial, kind, words="", **more):
    """A host sends the trial's octets to a board at B; it waits until they are acknowledged."""
    return board({**trial, "sender": "A"}, "B", lwip(kind, "B", f"sink {words}"), f"{ENDS} source to=@B octets={{octets}}", **more)


def writes(d, trial, kind, words="", **more):
    """A board at B sends them."""
    return board({**trial, "sender": "B"}, "B", lwip(kind, "B", f"source octets={{octets}} {words}"), f"{ENDS} sink to=@B", **more)


def instead(made):
    return {"without": {"programs": made["programs"], "data": made["data"], "setup": ()}}


@case("board-as-it-comes", ["receive-window", "small-mss"], "lwIP's defaults: a window of four segments of 536 octets.", count=3, check=faster(1.5))
def _(d):
    trial = wire(d, (3e6, 2e7), (12, 60), (60, 120), sender="A")
    trial["octets"] = int(2144 * 4000 / trial["rtt_ms"])
    return {**reads(d, trial, "default"), **instead(reads(d, trial, "w44"))}


@case("board-with-a-small-window", ["receive-window"], "The board's window is a few segments.", count=3, check=faster(1.5))
def _(d):
    trial = wire(d, (4e6, 3e7), (15, 60), (60, 120), sender="A")
    kind, window = d.turn("kind", ("w8", 11680), ("w4", 5840), ("w8", 11680))
    trial["octets"] = int(window * 4000 / (trial["rtt_ms"] + 5))
    return {**reads(d, trial, kind), **instead(reads(d, trial, "w44"))}


@case("board-with-a-small-send-buffer", ["send-buffer"], "The board's send buffer is a few segments.", count=3, check=faster(1.5))
def _(d):
    trial = wire(d, (4e6, 3e7), (20, 70), (60, 120), sender="B")
    kind, size = d.turn("kind", ("w8", 11680), ("w4", 2920))
    trial["octets"] = int(size * 4000 / (trial["rtt_ms"] + 5))
    return {**writes(d, trial, kind), **instead(writes(d, trial, "w44"))}


@case("board-forgets-what-overtakes", ["no-sack", "random-loss", "retransmission-stalls"], "The board keeps nothing that comes out of order, and reports no gaps; frames are lost.",
      check=both(faster(1.25), missing(4)))
def _(d):
    trial = wire(d, (3e6, 1.2e7), (25, 60), (60, 120), sender="A")
    trial = {**trial, "data": changed(trial, "data", delay=with_delay(trial, f"loss {d.log('percent', 1, 2.5)}%"))}
    trial["octets"] = int(23360 * 1300 / trial["rtt_ms"])
    return {**reads(d, {**trial, "fixed_octets": True}, "unordered"), **instead(reads(d, trial, "sack"))}


@case("board-reads-slowly", ["receiver-reads-slowly"], "The board's program reads slowly.", count=3, check=faster(1.4))
def _(d):
    trial = wire(d, (3e6, 2e7), (6, 30), (60, 120), sender="A")
    kind = d.turn("kind", "w8", "w44")
    rate = min(trial["rate"] / 8 * 0.35, 11680 * 1000 / trial["rtt_ms"] * 0.3) * d.log("share", 0.4, 0.9)
    trial["octets"] = int(rate * 4.5)
    return {**reads(d, trial, kind, f"rate={rate:.0f} chunk={d.log('chunk', 500, 2500)}"), **instead(reads(d, trial, kind))}


@case("board-erases-flash", ["receiver-stalls"], "The board erases flash after each block of a file, and stands still meanwhile.", count=3, check=both(faster(1.4), printed("stops", 6)))
def _(d):
    trial = wire(d, (3e6, 2e7), (5, 25), (60, 120), sender="A")
    every = d.turn("every", 32768, 16384, 65536)
    pause = max(8 * every / trial["rate"] * d.log("share", 0.8, 2), 0.12)
    kind = d.turn("kind", "w8", "w44")
    trial["octets"] = every * max(9, min(24, int(4.5 / (pause + 8 * every / trial["rate"] * 1.4))))
    return {**reads(d, {**trial, "fixed_octets": True}, kind, f"every={every} pause={pause:.3f}"), **instead(reads(d, trial, kind))}


@case("board-reads-its-card", ["sender-stalls", "sender-idle"], "The board stands still while it reads a card.", count=3, check=both(faster(1.4), printed("stops", 6)))
def _(d):
    trial = wire(d, (3e6, 2e7), (5, 25), (60, 120), sender="B")
    every = d.turn("every", 32768, 16384, 65536)
    pause = max(8 * every / trial["rate"] * d.log("share", 1.2, 2.5), 0.12)
    trial["octets"] = every * max(9, min(24, int(4.5 / (pause + 8 * every / trial["rate"] * 1.4))))
    return {**writes(d, {**trial, "fixed_octets": True}, "w44", f"every={every} pause={pause:.3f}"), **instead(writes(d, trial, "w44"))}


@case("board-with-one-buffer", ["one-in-flight", "late-acks", "send-buffer"], "The board sends a full segment after the one before is acknowledged.", count=3, check=faster(1.5))
def _(d):
    trial = wire(d, (3e6, 2e7), (8, 50), (60, 120), sender="B")
    trial["octets"] = int(1460 * 4000 / (trial["rtt_ms"] + 42))
    return {**writes(d, trial, "one"), **instead(writes(d, trial, "w44"))}


def uip(trial, mode):
    command = f"@L/uip tap0 @B @GB {mode} octets={{octets}}"
    client = f"{ENDS} sink to=@B" if mode == "source" else f"{ENDS} source to=@B octets={{octets}}"
    return board({**trial, "sender": "B" if mode == "source" else "A"}, "B", command, client)


@case("uip-sends", ["one-in-flight", "late-acks", "small-mss"], "uIP sends one segment and waits for its acknowledgment, which the host delays.", count=3, check=faster(1.5))
def _(d):
    trial = wire(d, (1e6, 1e7), (4, 40), (60, 150), sender="B")
    trial["octets"] = int(536 * 4000 / (trial["rtt_ms"] + 42))
    return {**uip(trial, "source"), **instead(writes(d, trial, "w44"))}


@case("board-looks-at-ticks", ["late-acks", "receive-window"], "The board looks for frames at the ticks of its clock; its window is two segments.", count=3, check=faster(1.5))
def _(d):
    trial = wire(d, (3e6, 2e7), (2, 6), (60, 120), sender="A")
    tick = d.log("tick", 0.02, 0.05)
    trial["octets"] = int(2920 * 4 / (tick + trial["rtt_ms"] / 1000))
    return {**reads(d, trial, "w2", f"tick={tick}"), **instead(reads(d, trial, "w2"))}


@case("board-opens-its-window-by-octets", ["silly-window", "receiver-reads-slowly", "receive-window"],
      "The board reads a few octets at a time from a buffer of 240 octets, and opens its window by as much.", check=both(faster(1.4), segments_of(200)))
def _(d):
    trial = wire(d, (2e6, 1e7), (4, 25), (60, 120), sender="A")
    rate = d.log("bytes", 800, 2500)
    trial["octets"] = rate * 4
    return {**reads(d, trial, "tiny", f"rate={rate} chunk={d.log('chunk', 40, 110)}"), **instead(reads(d, trial, "tiny"))}


@case("board-with-few-descriptors", ["queue-overflow", "loss-in-bursts", "shallow-queue"], "The board's ring holds fewer frames than its window, and each frame takes its time.",
      check=both(faster(1.4), counted("ring_dropped", 5)))
def _(d):
    trial = wire(d, (3e7, 6e7), (50, 90), (60, 120), sender="A")
    trial["octets"] //= 8
    words = f"frame={d.log('frame_ms', 0.35, 0.7) / 1000:.5f}"
    made = reads(d, trial, "w44", words, setup=[("B", f"ip link set tap0 txqueuelen {d.turn('ring', 3, 4, 6)}")])
    return {**made, **instead(reads(d, trial, "w44", words))}


def answers(d, trial, words, client):
    return board({**trial, "sender": "B", "without_size": True}, "B", lwip(d.turn("kind", "w4", "default"), "B", f"answer nodelay=1 lasts=40 {words}"), f"{ENDS} ask to=@B {client}")


@case("board-takes-its-time", ["server-think-time"], "The board reads a bus before it answers.", count=3, check=faster(1.4))
def _(d):
    trial = wire(d, (2e6, 2e7), (4, 30), (60, 120), sender="B")
    think = d.log("think", 0.3, 0.8)
    client = f"times={max(8, int(5 / think))} ask={d.log('ask', 12, 60)} answer={d.log('answer', 100, 900)} nodelay=1"
    return {**answers(d, trial, f"think={think}", client), **instead(answers(d, trial, "", client))}


@case("board-sleeps-between-beacons", ["wake-up-latency", "late-acks"], "The board's radio sleeps after 50 ms of silence, until the next beacon.", count=3, check=faster(1.3))
def _(d):
    trial = wire(d, (2e6, 2e7), (4, 20), (60, 120), sender="B")
    client = f"times=40 ask={d.log('ask', 20, 80)} answer={d.log('answer', 100, 500)} think={d.log('think', 0.055, 0.09)} spread=0.3 nodelay=1"
    beacon = d.turn("beacon", 0.1024, 0.2048, 0.3072)
    return {**answers(d, trial, f"beacon={beacon}", client), **instead(answers(d, trial, "", client))}


@case("board-flashes-blocks", ["client-think-time"], "The board fetches its firmware by blocks, and writes each before it asks for the next.", count=3, check=faster(1.4))
def _(d):
    trial = wire(d, (2e6, 2e7), (6, 40), (60, 120), sender="B", without_size=True)
    think, size = d.log("think", 0.12, 0.4), d.turn("block", 4096, 8192, 2048)
    made = []
    for it in (think, 0):
        words = lwip("w8", "A", f"ask to=@B after=1.5 times={max(10, int(4 / think))} ask={d.log('ask', 60, 200)} answer={size} think={it} lasts=30")
        made.append({**trial, "boards": "A", "not_translated": True, "merges": 0,
                     "programs": [program("B", f"{ENDS} answer nodelay=1", "server", main=True), program("A", words, "board")]})
    return {**made[0], **instead(made[1])}


@case("board-is-off", ["no-answer"], "The board is off: nothing answers.", kinds=("sender", "middle", "truncated", "snapped"), gain=False, truncated=(0.75, 0.95),
      check=no_payload())
def _(d):
    trial = wire(d, (2e6, 2e7), (4, 30), (60, 120), sender="A", one_end="sender", least_s=0)
    trial.pop("octets")
    silent = BLOCKED.replace("counter drop", "drop")
    return {**trial, "boards": "B", "merges": 0, "nft": {"N": silent, "Q": silent}, "limit_s": 25,
            "programs": [program("A", f"curl -s -m {d.turn('patience', 9, 13)} http://@B/; true", "client", main=True, after=0.9)]}


@case("board-does-not-listen", ["refused"], "The board's program does not listen on this port.", kinds=("sender", "receiver", "middle", "snapped"), gain=False, check=no_payload())
def _(d):
    trial = wire(d, (2e6, 2e7), (4, 30), (60, 120), sender="A", least_s=0)
    trial.pop("octets")
    return board(trial, "B", lwip("w4", "B", "sink port=502"), f"for i in 1 2 3 4 5 6; do curl -s http://@B:8080/; sleep {d.log('retry_s', 0.3, 1.5)}; done")


@case("broadcasts-at-the-board", ["broadcast-storm"], "A loop floods the board's network with broadcasts, each of which takes the board's time.",
      kinds=("receiver", "late", "truncated", "snapped"), check=faster(1.4))
def _(d):
    trial = wire(d, (1.5e7, 3e7), (2, 8), (60, 120), sender="A", one_end="receiver")
    frame, storm = d.log("frame_ms", 0.5, 0.9) / 1000, 0
    storm = int(d.log("share", 0.82, 0.92) / frame)
    trial["octets"] = int(1460 / frame * 0.3 * 4)
    made = reads(d, trial, "w8", f"frame={frame:.5f}")
    others = program("Q", f"{ENDS} storm device=e per_second={storm} lasts=30 from=192.0.2.7 asks=192.0.2.9", "storm")
    return {**made, "programs": made["programs"] + [others], **instead(made)}


@case("board-waits-for-its-timer", ["retransmission-stalls", "random-loss", "send-buffer"], "A board with two segments in flight repeats what is lost after its timer only.",
      check=both(faster(1.5), missing(2)))
def _(d):
    trial = wire(d, (2e6, 1.5e7), (10, 40), (60, 120), sender="B")
    lossy = {**trial, "data": changed(trial, "data", delay=with_delay(trial, f"loss {d.log('percent', 1.5, 4)}%"))}
    lossy["octets"] = trial["octets"] = int(2920 * 1500 / (trial["rtt_ms"] + 5))
    return {**writes(d, lossy, "w4"), **instead(writes(d, trial, "w4"))}


@case("board-with-small-segments", ["small-mss", "path-rate"], "The board's segments have 256 octets; each takes the preamble of a radio.", check=faster(1.3))
def _(d):
    trial = wire(d, (1e6, 6e6), (6, 25), (60, 120), sender="B")
    shape = [f"qdisc add dev @ root netem rate {rate_of(trial['rate'])} {d.log('preamble', 90, 160)} limit 120"]
    trial = {**trial, "data": {"shape": shape}}
    trial["octets"] = int(trial["rate"] / 8 * 2.2)
    return {**writes(d, trial, "small"), **instead(writes(d, trial, "w44"))}
