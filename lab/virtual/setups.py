"""One run of a trial in virtual time, its truth, and what trials have in common."""

import json
import os
import subprocess
from pathlib import Path

# The programs that board/build makes.
PROGRAMS = Path(os.environ.get("LAB_VIRTUAL", "/var/tmp/virtual"))
WIRE = 24
LIMIT_S = 420
# Keys of a trial that the simulation reads.
STATED = ("a", "b", "lan_a", "lan_b", "routed", "nat", "path", "middle", "program", "limit_s", "snap", "unfilled", "storm")


def perform(trial, folder, seed, _lane):
    """Runs a trial; A.pcap, B.pcap and R.pcap are left in the folder."""
    stated = {key: trial[key] for key in STATED if key in trial}
    stated["seed"] = seed
    stated["program"] = dict(stated["program"])
    if "octets" in trial:
        stated["program"]["octets"] = int(trial["octets"])
    stated["program"]["up"] = trial["sender"] == "A"
    for end in ("a", "b"):
        it = dict(stated.get(end) or {})
        if it.get("stack", "host") == "host":
            it.setdefault("congestion", trial["congestion"])
        stated[end] = it
    if trial.get("strips_timestamps"):
        stated["path"] = [{"kind": "strip", "options": ["timestamps"]}, *stated["path"]]
    file = folder / "trial.json"
    file.write_text(json.dumps(stated))
    done = subprocess.run([PROGRAMS / "virtual", file, folder], capture_output=True, text=True, timeout=LIMIT_S)
    if done.returncode:
        raise RuntimeError(done.stderr[-600:])
    truth = json.loads((folder / "truth.json").read_text())
    truth["printed"] = ""
    path = truth["path"]
    path["programs"] = [{**path["program"], **path["program"]["waits"]}]
    path["socket"] = {}
    path["hosts_merge"] = bool(trial.get("a", {}).get("merges") or trial.get("b", {}).get("merges"))
    path["translated"] = bool(trial.get("nat"))
    return truth


def line(rate, delay_ms=0.0, queue_ms=0.0, **more):
    """A line in both directions, or in one (`dir`)."""
    return {"kind": "line", "rate": rate, "delay_ms": delay_ms, "overhead": WIRE, **({"queue_ms": queue_ms} if queue_ms else {}), **more}


def lines(down, up, delay_ms, queue_ms, **more):
    """An asymmetric line; the delay is that of one way."""
    return [line(down, delay_ms, queue_ms, dir="down", **more), line(up, delay_ms, queue_ms, dir="up", **more)]


def base(draw, sender, path, program, rate=None, octets=None, lasts_s=3.6, hosts=None, **more):
    """A trial. `hosts` are settings of both hosts; `rate` is what the path carries."""
    a, b = dict(more.pop("a", {})), dict(more.pop("b", {}))
    pick = draw.random
    fast = max((it.get("rate", 0) for it in path), default=0) > 40e6
    for it in (a, b):
        if it.get("stack", "host") == "host":
            it.update({key: value for key, value in (hosts or {}).items() if key not in it})
            # An adapter gathers what arrives within some microseconds.
            it.setdefault("gather_us", pick.choice((0, 0, 25, 60, 120)))
            it.setdefault("gather", 16)
    is_host = a.get("stack", "host") == "host" and b.get("stack", "host") == "host"
    if is_host and program["kind"] == "bulk" and pick.random() < 0.2:
        a["merges"] = b["merges"] = True
    trial = {"sender": sender, "path": path, "program": program, "a": a, "b": b, "routed": True,
             "nat": pick.random() < 0.35, "lan_a": pick.choice((1e8, 1e9, 1e9)), "lan_b": pick.choice((1e9, 1e9, 1e8)),
             "snap": 96 if fast else 192, "unfilled": pick.random() < 0.2, "middle": "a" if sender == "A" else "b",
             "congestion": "cubic", "strips_timestamps": is_host and pick.random() < 0.3, "rate": rate}
    if octets or rate:
        trial["octets"] = int(octets or rate * lasts_s / 8)
    trial.update(more)
    trial["timestamps"] = 0 if trial["strips_timestamps"] or not is_host else 1
    draw.note(sender_is=sender, program=program["kind"], flavour=program.get("flavour"), port=program.get("port"),
              stacks=[a.get("stack", "host"), b.get("stack", "host")], nat=trial["nat"], merges=bool(a.get("merges")))
    return trial


def bulk(draw, **more):
    """A file by HTTP, or octets by a tool that measures."""
    flavour, port = draw.random.choice((("http", 80), ("http", 8080), ("raw", 5201), ("raw", 20), ("raw", 9100)))
    return {"kind": "bulk", "flavour": flavour, "port": port, **more}


def holds(rate, rtt_ms, queue_ms, share=0.7):
    """A receive buffer whose window (half of it) fills the path and a share of its queue, and never overflows it."""
    return {"recv_octets": int(2 * rate / 8 * (rtt_ms + 1 + share * queue_ms) / 1e3 + min(12000, rate / 250))}


def without(trial, path=None, a=None, b=None, program=None, **more):
    """The same set-up without the cause; it need not last as long."""
    changed = {"is_compared": True, **more}
    if "octets" in trial and not trial.get("fixed_octets"):
        changed["octets"] = int(trial["octets"] * 1.5)
    if path is not None:
        changed["path"] = path
    for key, it in (("a", a), ("b", b), ("program", program)):
        if it is not None:
            changed[key] = {**trial[key], **it}
    return {**trial, "without": changed}
