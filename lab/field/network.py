"""A station, a router and another station: the router's kernel shapes (tbf), polices and filters (nftables), hold.c delays and loses."""

import json
import re
import subprocess
import time

from namespaces import QUIET, Namespaces

ADDRESS = {"A": "10.47.1.2", "B": "10.47.2.2"}
FRAMING_OCTETS = 24


class Network(Namespaces):
    """A - R - B. `lane` distinguishes networks that exist at the same time."""

    PATIENCE_S = 3
    address = ADDRESS

    def __init__(self, trial, folder, lane, built, seed):
        """`built` is the folder of the programs."""
        super().__init__(trial, folder, {it: f"fresh-{lane}{it.lower()}" for it in "ARB"})
        self.built, self.PROGRAMS, self.seed = built, f"python3 {built / 'ends.py'}", seed
        self.hold, self.queues = None, []

    def way(self, key):
        """`there` is the way of the data; the end whose packets go this way."""
        return self.trial["sender"] if key == "there" else "B" if self.trial["sender"] == "A" else "A"

    def build(self):
        self.add_spaces(*QUIET)
        trial = self.trial
        for at, end in enumerate("AB"):
            other = f"to_{end.lower()}"
            self.ip(end, "link", "add", "eth0", "type", "veth", "peer", "name", other, "netns", self.space["R"])
            self.ip("R", "link", "set", other, "up")
            self.ip("R", "addr", "add", f"10.47.{at + 1}.1/24", "dev", other)
            self.ip(end, "link", "set", "eth0", "address", f"02:f1:e1:d5:00:0{at + 1}")
            self.ip(end, "link", "set", "eth0", "up")
            for where, device in ((end, "eth0"), ("R", other)):
                on = "on" if trial.get("segmented_by_device") else "off"
                self.inside(where, "ethtool", "-K", device, "tso", on, "gso", on, "gro", "off")
            settings = {"net.ipv4.tcp_no_metrics_save": 1, "net.ipv4.tcp_congestion_control": trial["congestion"],
                        "net.ipv4.tcp_timestamps": trial["timestamps"], **trial.get("sysctl", {}).get(end, {})}
            self.inside(end, "sysctl", "-qw", *[f"{key}={value}" for key, value in settings.items()])
            if not trial.get("device") == end:
                self.ip(end, "addr", "add", f"{ADDRESS[end]}/24", "dev", "eth0")
                self.ip(end, "route", "add", "default", "via", f"10.47.{at + 1}.1", *trial.get("route", {}).get(end, "").split())
            self.add_rules(end)
        self.inside("R", "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.proxy_arp=1", "net.ipv4.conf.to_a.proxy_arp=1",
                    "net.ipv4.conf.to_b.proxy_arp=1", "net.netfilter.nf_conntrack_checksum=0")
        for key, (rate, queue) in trial.get("shape", {}).items():
            device = "to_b" if self.way(key) == "A" else "to_a"
            burst = trial.get("burst", max(2 * 1600, int(rate / 8 * 0.0012)))
            self.inside("R", "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", f"{int(rate)}bit", "burst", burst, "limit",
                        int(queue + burst), "overhead", trial.get("overhead", FRAMING_OCTETS))
        self.add_rules("R")
        if trial.get("hold"):
            self.begin_hold()
        if trial.get("resolver"):
            self.add_resolver("A", trial["resolver"])

    def begin_hold(self):
        words = [f"seed={self.seed}"]
        for key, value in self.trial["hold"].items():
            there = key.split(".")
            words.append(f"{key}={value}" if len(there) == 1 else f"{self.way(there[0]).lower()}.{there[1]}={value}")
        self.hold = self.begin("R", [self.built / "field-hold", *words], "hold")
        until = time.monotonic() + 5
        while "ready" not in (self.folder / "hold.out").read_text():
            if time.monotonic() > until or self.hold.poll() is not None:
                raise RuntimeError("hold: " + (self.folder / "hold.out").read_text())
            time.sleep(0.02)
        for number, device in enumerate(("to_a", "to_b")):
            self.inside("R", "iptables", "-A", "FORWARD", "-i", device, "-j", "NFQUEUE", "--queue-num", number)

    def qdisc(self, key):
        device = "to_b" if self.way(key) == "A" else "to_a"
        found = json.loads(self.inside("R", "tc", "-s", "-j", "qdisc", "show", "dev", device))
        return next((it for it in found if it.get("kind") == "tbf"), {})

    def sample(self):
        """The lengths of the router's queues now."""
        self.queues.append({key: self.qdisc(key).get("backlog", 0) for key in self.trial.get("shape", {})})

    def counters(self):
        counts = {}
        for key, (rate, _) in self.trial.get("shape", {}).items():
            it, seen = self.qdisc(key), [each[key] for each in self.queues] or [0]
            counts[key] = {"sent": it.get("packets", 0), "queue_full": it.get("drops", 0), "queue_ms_mean": round(sum(seen) / len(seen) * 8e3 / rate, 1),
                           "queue_ms_max": round(max(seen) * 8e3 / rate, 1)}
        counts |= self.filtered()
        if self.hold:
            text = self.stop(self.hold).split("ready\n", 1)[1]
            found = json.loads(text)
            for key in ("there", "back"):
                counts.setdefault(key, {}).update(found.pop(self.way(key).lower()))
            counts |= found
        return counts

    def sockets(self, end):
        """Counts that `ss -ti` prints of the connection of this end that sent most."""
        done = subprocess.run(["ip", "netns", "exec", self.space[end], "ss", "-tinOH", "state", "all"], capture_output=True, text=True)
        found = {}
        for line in done.stdout.splitlines():
            values = {key: float(value) for key, value in re.findall(r"(\w+):([\d.]+)", line)}
            limited = {f"{key}_share": float(value) for key, value in re.findall(r"(rwnd_limited|sndbuf_limited):\d+ms\(([\d.]+)%\)", line)}
            if values.get("bytes_sent", 0) > found.get("bytes_sent", 0):
                kept = ("bytes_sent", "bytes_retrans", "cwnd", "mss", "minrtt", "busy", "reord_seen", "dsack_dups", "lost", "notsent")
                found = {key: values[key] for key in kept if key in values} | limited
        return found
