"""Causes at hosts and in their programs."""

import checks
from setups import at, case, line, page, questions, stream, without

ALWAYS = ("sender", "receiver", "middle", "late", "truncated", "snapped")


def paced(trial, bits_per_s, lasts_s=4.5):
    trial["octets"] = int(bits_per_s * lasts_s / 8)
    return trial


@case("small-so-rcvbuf", ["receive-window"], "A program sets a small receive buffer.", check=checks.faster(1.5), count=3)
def rcvbuf(draw):
    buffer = draw.turn("rcvbuf", 6000, 12000, 24000)
    trial = line(draw, (20e6, 60e6), (22, 80), queue=2)
    paced(trial, buffer * 8000 / trial["rtt_ms"])
    other = stream(dict(trial))
    stream(trial, read={"rcvbuf": buffer, "read": 4096})
    return without(trial, servers=other["servers"], client=other["client"], octets=3 * trial["octets"])


@case("historian-falls-behind", ["receiver-reads-slowly"], "A program reads at a part of the line's rate.", check=checks.faster(1.5), count=3)
def behind(draw):
    trial = line(draw, (12e6, 40e6), (4, 25), queue=2)
    rate = int(trial["rate"] * draw.log("share", 0.12, 0.35))
    trial["sysctl"] = {"B" if trial["sender"] == "A" else "A": ("net.ipv4.tcp_rmem=4096 65536 131072",)}
    paced(trial, rate * 1.15)
    other = stream(dict(trial))
    stream(trial, read={"read": draw.turn("read", 8192, 16384, 4096), "read_rate": rate})
    return without(trial, servers=other["servers"], client=other["client"], octets=2 * trial["octets"])


@case("card-is-flushed", ["receiver-stalls", "receiver-reads-slowly"], "A program reads a block, then writes it to a card and reads nothing meanwhile.",
      check=checks.faster(1.5), count=3)
def flushed(draw):
    block, pause = draw.turn("block", 65536, 131072, 262144), draw.log("pause_ms", 130, 320)
    trial = line(draw, (15e6, 45e6), (2, 12), queue=2)
    trial["data"]["queue_octets"] = 400_000
    trial["sysctl"] = {"B" if trial["sender"] == "A" else "A": ("net.ipv4.tcp_rmem=4096 32768 65536",)}
    paced(trial, 8000 * block / (pause + block * 8000 / trial["rate"]))
    other = stream(dict(trial))
    stream(trial, read={"read": 8192, "every": block, "pause_ms": pause})
    return without(trial, servers=other["servers"], client=other["client"], octets=2 * trial["octets"])


@case("value-per-write", ["small-writes", "path-rate"], "A program writes each value alone, without Nagle's algorithm, through a gateway that takes its time for each frame.",
      check=checks.faster(1.5))
def values(draw):
    size = draw.log("write", 30, 140)
    trial = line(draw, (12e6, 40e6), (3, 18), queue=2, data={"frame_us": draw.log("frame_us", 250, 600)})
    trial["data"].update(queue_octets=400_000, queue_frames=64)
    trial["sysctl"] = {end: ("net.ipv4.tcp_autocorking=0",) for end in "AB"}
    trial["offload"] = False
    paced(trial, size * 8e6 / trial["data"]["frame_us"], 4)
    other = stream(dict(trial))
    stream(trial, write={"write": size, "nodelay": 1, "write_every": size, "write_pause_ms": 0.15})
    return without(trial, servers=other["servers"], client=other["client"], octets=3 * trial["octets"])


@case("header-then-body", ["delayed-ack-with-nagle"], "A request is written in two parts; the second one waits for a delayed acknowledgment.",
      check=checks.faster(1.5), count=3)
def header(draw):
    trial = line(draw, (5e6, 40e6), (1, 14), sender="B")
    asks = {"size": draw.log("size", 80, 500), "reply": draw.log("reply", 60, 500), "count": draw.log("count", 70, 110), "most_s": 9}
    questions(trial, {**asks, "parts": 2})
    return without(trial, client=("A", trial["client"][1].replace("parts=2", "parts=1")))


@case("controller-computes", ["server-think-time"], "A server works on each request.", check=checks.faster(1.5))
def computes(draw):
    think = draw.log("think_ms", 40, 300)
    trial = line(draw, (8e6, 60e6), (2, 20), sender="B")
    questions(trial, {"size": 150, "reply": draw.log("reply", 200, 4000), "count": max(14, int(4800 / think)), "most_s": 10, "nodelay": 1},
              {"think_ms": think, "jitter": 30})
    return without(trial, servers=[("B", trial["servers"][0][1].replace(f"think_ms={think}", "think_ms=0"))])



@case("rows-one-by-one", ["one-in-flight"], "A program asks for one row after the other over a long way.", check=checks.faster(1.5), count=3)
def rows(draw):
    trial = line(draw, (6e6, 40e6), (26, 80), sender="B")
    questions(trial, {"size": draw.log("size", 40, 200), "reply": draw.log("reply", 80, 900), "count": max(60, int(6000 / trial["rtt_ms"])), "most_s": 9,
                      "nodelay": 1}, {"nodelay": 1})
    return without(trial, client=("A", trial["client"][1] + " depth=5"))



@case("xmodem-through-terminal-server", ["one-in-flight"], "XMODEM through a terminal server: one block of 128 or 1,024 octets in flight.", check=checks.faster(1.5),
      count=3)
def xmodem(draw):
    block = draw.turn("block", 128, 1024)
    trial = line(draw, (2e6, 20e6), (26, 60), sender="B", queue=3)
    paced(trial, block * 8000 / trial["rtt_ms"], 5)
    trial["fixed"] = 1
    trial["servers"] = [("B", f"head -c {{octets}} /dev/urandom > @D/f; exec socat TCP-LISTEN:5001,reuseaddr,nodelay "
                              f"EXEC:'sx -b -q {'-k' if block == 1024 else ''} @D/f'")]
    trial["client"] = ("A", "mkdir -p @D/z; cd @D/z; exec socat TCP:@B:5001,nodelay EXEC:'rx -q -c f'")
    trial["most_s"] = 14
    return without(trial, servers=[("B", "head -c {octets} /dev/urandom > @D/f; exec socat TCP-LISTEN:5001,reuseaddr EXEC:'sz -b -q @D/f'")],
                   client=("A", "mkdir -p @D/z; cd @D/z; exec socat TCP:@B:5001 EXEC:'rz -q -y'"), octets=max(trial["octets"], 60000))


@case("block-confirmed", ["one-in-flight", "sender-idle", "send-buffer"], "A protocol confirms each block before the next one is sent.", check=checks.faster(1.5), count=3)
def confirmed(draw):
    block = draw.turn("block", 1400, 4096, 8192)
    trial = line(draw, (12e6, 50e6), (22, 65), queue=3)
    paced(trial, block * 8000 / trial["rtt_ms"])
    other = stream(dict(trial))
    stream(trial, write={"write": block, "confirmed": 1, "nodelay": 1}, read={"tell": block, "nodelay": 1})
    return without(trial, servers=other["servers"], client=other["client"], octets=3 * trial["octets"])


@case("tape-is-slow", ["sender-idle", "sender-stalls"], "A program reads each block from something slow before it sends it.", check=checks.faster(1.5), count=3)
def tape(draw):
    block, pause = draw.turn("block", 65536, 131072, 32768), draw.log("pause_ms", 90, 300)
    trial = line(draw, (15e6, 50e6), (2, 16), queue=3)
    trial["data"]["queue_octets"] = 600_000
    paced(trial, 8000 * block / (pause + block * 8000 / trial["rate"]))
    other = stream(dict(trial))
    stream(trial, write={"write": 16384, "write_every": block, "write_pause_ms": pause, "jitter": draw.turn("jitter", 0, 25)})
    return without(trial, servers=other["servers"], client=other["client"], octets=2 * trial["octets"])


@case("host-paces", ["host-pacing", "path-rate"], "A discipline of the sending host releases segments at a low rate.", check=checks.faster(1.5))
def paces(draw):
    trial = line(draw, (25e6, 80e6), (4, 22), queue=2)
    rate = int(trial["rate"] * draw.log("share", 0.1, 0.35))
    trial["offload"] = False
    trial["tc"] = {trial["sender"]: (f"qdisc add dev eth0 root tbf rate {rate}bit burst 3100 limit 400000",)}
    paced(trial, rate)
    return without(stream(trial), tc={}, octets=2 * trial["octets"])



@case("file-per-connection", ["congestion-window"], "Files over a long way, a connection for each: each ends before it is fast.", check=checks.faster(1.5))
def files(draw):
    trial = line(draw, (25e6, 60e6), (70, 170), sender="B", queue=2, fixed=1)
    trial["octets"] = draw.log("octets", 60000, 180000)
    times = max(5, int(4500 / (4 * trial["rtt_ms"])))
    other = stream({**trial, "octets": trial["octets"] * times * 2})
    stream(trial, times=times)
    return without(trial, servers=other["servers"], client=other["client"], octets=other["octets"])



@case("nobody-listens", ["refused"], "No program listens on the port.", kinds=("sender", "receiver", "middle", "snapped"), gain=False, check=checks.no_payload())
def nobody(draw):
    trial = line(draw, (4e6, 60e6), (2, 40), sender="A", least_s=0)
    trial.pop("octets")
    trial["client"] = ("A", f"for i in 1 2 3 4; do curl -s -m 3 http://@B:8080/; sleep {draw.turn('again_s', 0.4, 1, 0.2)}; done")
    return trial


@case("cabinet-is-off", ["no-answer"], "Nothing answers: the cabinet is switched off.", kinds=("sender", "middle", "snapped"), gain=False, check=checks.no_payload())
def off(draw):
    trial = line(draw, (4e6, 60e6), (2, 40), sender="A", least_s=0, data={"syn_drops": 99})
    trial.pop("octets")
    trial["one_end"] = "sender"
    trial["does_not_listen"] = 1
    trial["client"] = ("A", draw.turn("client", "curl -s -m 8 http://@B:8080/", "for i in 1 2 3; do curl -s -m 2.5 http://@B:502/; done"))
    return trial



@case("mirror-misses-rows", ["capture-incomplete"], "A full line, captured by a mirror port that is too narrow.", gain=False, check=checks.both(
    checks.filled(0.8), checks.printed("taken_out", 100)))
def mirror(draw):
    return stream(line(draw, (12e6, 40e6), (8, 25), queue=1.5, sniffer_misses=draw.log("share", 0.1, 0.25), congestion="cubic"))


@case("server-naps-when-full", ["sender-idle", "sender-stalls"], "A small web server that finds its buffer full looks again at a tick of its clock; the line is empty long before.",
      check=checks.faster(1.3))
def naps(draw):
    trial = line(draw, (50e6, 100e6), (1, 6), sender="B", queue=4)
    trial["data"]["queue_octets"] = 3_000_000
    trial["sysctl"] = {"B": (f"net.ipv4.tcp_wmem=4096 65536 {draw.turn('wmem', 262144, 131072)}",)}
    trial["octets"] = int(trial["rate"] / 8)
    other = page(dict(trial))
    return without(page(trial, "merecat"), servers=other["servers"], client=other["client"], octets=3 * trial["octets"])
