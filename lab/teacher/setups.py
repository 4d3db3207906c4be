"""A trial: hosts, path, programs; its run, its truth, its captures."""

import copy
import hashlib
import json
import os
import subprocess
import tempfile
from pathlib import Path

from draw import expected_at

PROGRAM = os.environ.get("LAB_TEACHER", "/var/tmp/teacher")
SNAPS = (60, 68, 76, 84, 94, 100, 120)
BOARD = {"variant": "reno", "mss": 1460, "ws": -1, "sack": 0, "ts": 0, "iw": 2, "rto_tick": 0.5, "rto_min": 1, "delack": 0.2, "ttl": 255, "rcvbuf": 5840, "sndbuf": 5840, "wiretap": 1, "quick": 0, "abc": 0}


def profile(pick, kind=None):
    """A host of one of the common kinds."""
    kind = kind or pick.choice(("linux", "linux", "linux", "windows", "bsd", "old"))
    if kind == "linux":
        return {"variant": "cubic", "iw": 10, "delack": 0.04, "quick": 16, "ts": 1, "sack": 1, "ws": 7, "ttl": 64, "rto_min": 0.2, "ids": 1}
    if kind == "windows":
        return {"variant": "cubic", "iw": 10, "delack": 0.05, "ts": 0, "sack": 1, "ws": 8, "ttl": 128, "rto_min": 0.3, "ids": 1}
    if kind == "bsd":
        return {"variant": "sack", "iw": 10, "delack": 0.1, "ts": 1, "sack": 1, "ws": 6, "ttl": 64, "rto_min": 0.23, "ids": 0}
    return {"variant": "newreno", "iw": 3, "delack": 0.2, "delack_coarse": 1, "ts": 0, "sack": 1, "ws": 4, "ttl": 128, "rto_min": 1, "rto_tick": 0.1, "ids": 1}


def link(rate, delay=0.0, queue_s=None, way="both", **more):
    part = {"rate": rate, "delay": delay}
    if queue_s is not None:
        part["qbytes"] = max(3200, int(queue_s * rate / 8))
    return (way, "link", {**part, **more})


def trial(draw, sender, path, apps, rate=None, a=None, b=None, kinds=(None, None), middle=None, hops=None, v6=None, lan=None, routed=1, lasts=4.0, octets=None, faults=(), **more):
    """`path` is between the routers; `middle` is the side on which the mirror port is (that of the sender of the data)."""
    pick = draw.random
    v6 = int(pick.random() < 0.18) if v6 is None else v6
    hosts = {}
    for name, given, kind in (("a", a, kinds[0]), ("b", b, kinds[1])):
        it = profile(pick, kind) if not (given or {}).get("is_board") else dict(BOARD)
        it.update({"jitter_us": round(pick.choice((0.6, 1.5, 3, 6)), 1), "tap": 1, "end": name.upper(), "v6": v6})
        it["ip"] = f"{(0x0a140700 if name == 'a' else 0xc6336400) + pick.randrange(5, 240):08x}" if routed else f"{0xc0a81400 + pick.randrange(*((5, 90) if name == 'a' else (100, 240))):08x}"
        it.update({key: value for key, value in (given or {}).items() if key != "is_board"})
        hosts[name] = it
    for it in hosts.values():
        if not it.get("wiretap") and pick.random() < 0.25:
            it.setdefault("coalesce", round(pick.uniform(2e-5, 9e-5), 6))
    if pick.random() < 0.2 and not more.get("plain"):
        hosts[pick.choice("ab")]["unfilled"] = 1
    if v6 and not (a or b or {}).get("mss"):
        for it in hosts.values():
            if it.get("mss", 1460) == 1460:
                it["mss"] = 1440
    middle = middle or sender.lower()
    hops = pick.choice((1, 1, 2, 3)) if hops is None else hops
    lan = lan or (pick.choice((1e8, 1e9, 1e9)), pick.choice((1e9, 1e9, 1e8)))
    fastest = max([it[2].get("rate", 0) for it in path] + [0])
    lan = tuple(max(it, 1e9 if fastest > 8e7 else 1e8) for it in lan)
    tap = [("both", "tap", {})]
    hop = [("both", "hop", {})] if routed else []
    parts = [link(lan[0], 0.00003)] + hop + (tap if middle == "a" else []) + list(path) + hop * hops + (tap if middle == "b" else []) + hop + [link(lan[1], 0.00003)]
    draw.note(sender=sender, routed=routed, v6=v6, a=hosts["a"].get("variant"), b=hosts["b"].get("variant"), programs=[it["kind"] for it in apps])
    it = {"sender": sender, "hosts": hosts, "parts": parts, "apps": [{"arp": int(pick.random() < 0.5), **x} for x in apps], "rate": rate, "routed": routed, "limit": 60, "linger": round(pick.uniform(0.1, 1), 2), "middle": middle, **more}
    if octets or (rate and apps[0]["kind"] == "bulk" and "bytes" not in apps[0]):
        it["octets"] = int(octets or rate * lasts / 8)
    it.setdefault("snap", pick.choice((96, 128, 160)) if (rate or 0) > 3e7 else pick.choice((128, 192, 256, 512)))
    return it


def bulk(draw, sender, **more):
    flavour, port = draw.random.choice((("http", 80), ("http", 8080), ("raw", 5001), ("raw", 9100), ("raw", 20)))
    return {"kind": "bulk", "flavour": flavour, "port": port, "dir": "up" if sender == "A" else "down", **more}


def holds(rate, rtt, queue, share=0.6):
    """A receive buffer that fills the path and a part of its queue."""
    return int(rate / 8 * (rtt + 0.001 + share * queue)) + 6000


def without(it, **changes):
    """What is changed when the cause is taken away: functions of a copy, or parts of hosts."""
    it["without"] = changes
    return it


def changed(it):
    other = copy.deepcopy({key: value for key, value in it.items() if key != "without"})
    for key, value in it["without"].items():
        if key in ("a", "b"):
            other["hosts"][key].update(value)
        elif key == "drop":
            other["parts"] = [x for x in other["parts"] if x[1] not in value]
        elif key == "links":
            for x in other["parts"]:
                if x[1] == "link" and x[2].get("slow"):
                    x[2].update(value)
        elif key == "app":
            other["apps"][0].update(value)
        elif key == "apps":
            other["apps"] = value
        else:
            other[key] = value
    if "octets" in other:
        other["octets"] = int(other["octets"] * 1.3)
    return other


def text(it, seed, outs=()):
    def pairs(values):
        return " ".join(f"{key}={value}" for key, value in values.items() if value is not None and not isinstance(value, (list, dict)))
    lines = [f"sim all seed={seed} limit={it['limit']} linger={it['linger']} routed={it['routed']}"]
    for name, host in {**it["hosts"], **it.get("more_hosts", {})}.items():
        lines.append(f"host {name} {pairs(host)}")
    for way, name, values in it["parts"]:
        lines.append(f"{way} {name} {pairs(values)}")
    for number, app in enumerate(it["apps"]):
        values = {key: value for key, value in app.items() if key != "kind"}
        if "octets" in it and app["kind"] == "bulk":
            values["bytes"] = int(it["octets"] * app.get("share", 1))
        lines.append(f"app {app['kind']} {pairs(values)}")
    for tap, values in outs:
        lines.append(f"out {tap} {pairs(values)}")
    return "\n".join(lines) + "\n"


def run(it, seed, outs=()):
    done = subprocess.run(["nice", "-n", "5", PROGRAM], input=text(it, seed, outs), capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{done.returncode} {done.stderr[-300:]}")
    lines = done.stdout.splitlines()
    found = json.loads(lines[-1])
    files = {}
    for line in lines[:-1]:
        _, file, packets, begun, ended = line.split()
        files[file] = (int(packets), float(begun), float(ended))
    to = "a" if it["sender"] == "B" else "b"
    seconds, octets = found[f"seconds_{to}"], found[f"octets_{to}"]
    path = {"parts": found["parts"], "program": found["program"], "programs": [found["program"]], "socket": found["b" if to == "a" else "a"]["limited_s"]}
    path.update({name: found[name] for name in ("a", "b")})
    return {"seconds": round(seconds, 4), "octets": octets, "goodput_bits_per_s": int(octets * 8 / seconds) if seconds > 0 else 0, "lost_segments": int(found["lost_a" if to == "a" else "lost_b"]),
            "ended_s": found["ended_s"], "done": found["done"], "sent": found[f"sent_{'b' if to == 'a' else 'a'}"], "path": path, "files": files}


def measured(it, seed):
    """The run; its octets are changed if it is too short or too long to show anything."""
    low, high = it.get("bounds", (2.3, 14))
    for _ in range(4):
        truth = run(it, seed)
        if "octets" not in it or it.get("fixed") or not truth["seconds"] or low <= truth["seconds"] <= high and truth["done"]:
            return it, truth
        took = truth["seconds"] if truth["done"] else max(truth["seconds"], it["limit"] * 1.5)
        it = {**it, "octets": max(3000, int(it["octets"] * min(12, max(0.05, it.get("aim", 4.2) / took))))}
    return it, truth


def record(name, number, case, draw, out):
    """Labels of a trial, or why there are none."""
    it = case["make"](draw)
    seed = draw.random.randrange(1, 1 << 31)
    it, truth = measured(it, seed)
    truth["without_bits_per_s"] = None
    if "without" in it and case["gain"]:
        truth["without_bits_per_s"] = measured(changed(it), seed)[1]["goodput_bits_per_s"]
    shown = {key: truth[key] for key in ("seconds", "ended_s", "done", "goodput_bits_per_s", "without_bits_per_s", "lost_segments", "sent")}
    shown.update(limited=truth["path"]["socket"], program=truth["path"]["program"], parts={k: v for k, v in truth["path"]["parts"].items() if "passed" not in k and "injected" not in k})
    if not case["check"](truth, it):
        return None, f"the cause did not show: rate {it['rate']} {json.dumps(shown)}"
    pick = draw.random
    ends = {"sender": it["sender"], "receiver": "B" if it["sender"] == "A" else "A", "middle": "M"}
    one_end = it.get("one_end")
    turn, other = one_end or ("sender", "receiver")[number % 2], one_end or ("receiver", "sender")[number % 2]
    outs, notes = [], []
    v6 = it["hosts"]["a"]["v6"]
    epoch = 1.762e9 + pick.random() * 2e6
    for kind in case["kinds"]:
        place = kind if kind in ends else turn if kind == "late" else other if kind == "snapped" else (turn, other)[(number // 2) % 2]
        full = kind if kind in ends else f"{kind}-{place}"
        wire = place == "middle" or it["hosts"][ends[place].lower()].get("wiretap")
        form = pick.choice(("pcap", "pcap", "pcapng", "nsec"))
        types = ("eth", "eth", "vlan") if wire else ("eth", "eth", "eth", "sll", "sll2", "raw")
        values = {"link": "eth" if it.get("ethernet") else pick.choice(types), "snap": int(os.environ.get("LAB_TEACHER_SNAP", it["snap"])), "epoch": f"{epoch:.6f}"}
        more = {}
        if kind == "late":
            values["from"] = round(pick.uniform(*case["late"]), 3)
        elif kind == "truncated":
            values["to"] = round(pick.uniform(*case["truncated"]), 3)
            form = "pcap"
            values["cut"] = pick.choice((0, 7, 40))
        elif kind == "snapped":
            values["snap"] = pick.choice(SNAPS[3:] if v6 else SNAPS) + {"vlan": 4, "sll": 2, "sll2": 6}.get(values["link"], 0)
            more["octets_per_packet"] = values["snap"]
        file = f"{name}-{number}-{full}.{'pcapng' if form == 'pcapng' else 'pcap'}"
        values.update(format=form, file=str(out / file))
        outs.append((ends[place], values))
        notes.append((file, full, kind, more, values["link"]))
    truth["files"] = run(it, seed, outs)["files"]
    stated = {key: truth[key] for key in ("goodput_bits_per_s", "without_bits_per_s") if truth[key]}
    labels = []
    for file, full, kind, more, linktype in notes:
        packets, begun, ended = truth["files"][str(out / file)]
        if packets < 2:
            (out / file).unlink()
            continue
        if kind == "late":
            more["begun_after_s"] = begun
        if kind == "truncated":
            more["ended_after_s"] = ended
        labels.append({"file": file, "case": name, "seed": number, "part": "held-out", "kind": full, "expected": expected_at(case["expected"], full), "control": case["control"],
                       "reason": case["reason"], "truth": stated, "path": {**truth["path"], "lost_segments": truth["lost_segments"], "seconds": truth["seconds"]},
                       **({"checked": case["check"].text} if hasattr(case["check"], "text") else {}), "settings": {**draw.settings, "link_type": linktype}, "packets": packets, **more,
                       "sha256": hashlib.sha256((out / file).read_bytes()).hexdigest()})
    return labels, f"recorded {json.dumps(shown)}"
