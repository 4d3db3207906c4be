"""Two hosts and two routers in a row: Linux shapes at one router, and delays and loses (netem) at the other."""

import json
import re
import subprocess

from namespaces import QUIET, Namespaces

ADDRESS = {"A": "10.53.1.2", "B": "10.53.3.2"}
LINKS = (("A", "eth0", "R", "to_a"), ("R", "to_s", "S", "to_r"), ("S", "to_b", "B", "eth0"))
ROUTES = {"A": ("default", "10.53.1.1"), "R": ("10.53.3.0/24", "10.53.2.2"), "S": ("10.53.1.0/24", "10.53.2.1"), "B": ("default", "10.53.3.1")}
# What the packets of an end pass: the shaper, netem, and the place of a policer.
WAYS = {"A": {"shaper": ("R", "to_s"), "netem": ("S", "to_b"), "policer": ("S", "to_r")},
        "B": {"shaper": ("S", "to_r"), "netem": ("R", "to_a"), "policer": ("R", "to_s")}}
# The capture in the middle, before anything happens to the data of an end.
MIDDLE = {"A": ("R", "to_a"), "B": ("S", "to_b")}
NETEM_PACKETS = 5000


class Network(Namespaces):
    """A - R - S - B."""

    PATIENCE_S = 3
    address = ADDRESS

    def __init__(self, trial, folder, programs):
        super().__init__(trial, folder, {it: f"emulated-{it.lower()}" for it in "ARSB"})
        self.PROGRAMS, self.queues = f"python3 {programs}", []

    def device(self, end):
        """What the hosts are captured at."""
        return "eth0"

    def way(self, key, part):
        """`there` is the way of the data: the namespace and the device of a part of it."""
        sender = self.trial["sender"]
        return WAYS[sender if key == "there" else "B" if sender == "A" else "A"][part]

    def build(self):
        trial = self.trial
        self.add_spaces(*QUIET)
        for number, (one, device, other, peer) in enumerate(LINKS, 1):
            self.ip(one, "link", "add", device, "type", "veth", "peer", "name", peer, "netns", self.space[other])
            for at, (end, name) in enumerate(((one, device), (other, peer)), 1):
                self.ip(end, "addr", "add", f"10.53.{number}.{2 if end in 'AB' else 1 if end == 'R' or number == 3 else at}/24", "dev", name)
                self.ip(end, "link", "set", name, "up")
                # Checksums are computed before a frame is sent, and frames are not merged: what passes is what is captured.
                self.inside(end, "ethtool", "-K", name, "tso", "off", "gso", "off", "gro", "off", "tx", "off")
        for end, (to, by) in ROUTES.items():
            more = trial.get("route", {}).get(end, "").split()
            self.ip(end, "route", "add", to, "via", by, *more)
            if end in "RS":
                self.inside(end, "sysctl", "-qw", "net.ipv4.ip_forward=1")
                continue
            settings = {"net.ipv4.tcp_no_metrics_save": 1, "net.ipv4.tcp_congestion_control": trial["congestion"],
                        "net.ipv4.tcp_timestamps": trial["timestamps"], **trial.get("sysctl", {}).get(end, {})}
            self.inside(end, "sysctl", "-qw", *[f"{key}={value}" for key, value in settings.items()])
            self.add_rules(end)
        self.add_rules("R")
        for key, words in trial.get("shape", {}).items():
            self.shape(key, words)
        for key, words in trial.get("netem", {}).items():
            end, device = self.way(key, "netem")
            self.inside(end, "tc", "qdisc", "add", "dev", device, "root", "netem", "limit", NETEM_PACKETS, *words.split())
        if "police" in trial:
            end, device = self.way("there", "policer")
            self.inside(end, "tc", "qdisc", "add", "dev", device, "clsact")
            self.inside(end, "tc", "filter", "add", "dev", device, "ingress", "matchall", "action", "police", *trial["police"].split(),
                        "conform-exceed", "drop")
        if trial.get("resolver"):
            self.add_resolver("A", trial["resolver"])

    def shape(self, key, words):
        """`words` is a queueing discipline that shapes, or a rate with a discipline below HTB: "htb RATE; LEAF"."""
        end, device = self.way(key, "shaper")
        if not words.startswith("htb"):
            self.inside(end, "tc", "qdisc", "add", "dev", device, "root", *words.split())
            return
        rate, leaf = words.removeprefix("htb").split(";")
        self.inside(end, "tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "htb", "default", "1")
        self.inside(end, "tc", "class", "add", "dev", device, "parent", "1:", "classid", "1:1", "htb", "rate", rate.strip(), "burst", "2k", "cburst", "2k")
        self.inside(end, "tc", "qdisc", "add", "dev", device, "parent", "1:1", *leaf.split())

    def disciplines(self, key, part):
        end, device = self.way(key, part)
        return json.loads(self.inside(end, "tc", "-s", "-j", "qdisc", "show", "dev", device))

    def sample(self):
        """Octets in the shapers' queues now."""
        self.queues.append({key: max(it.get("backlog", 0) for it in self.disciplines(key, "shaper")) for key in self.trial.get("shape", {})})

    def counters(self):
        counts = {}
        for key in ("there", "back"):
            counts[key] = {"queue_octets_max": max((it.get(key, 0) for it in self.queues), default=0)}
            for part in ("shaper", "netem"):
                counts[key] |= {f"{part}_drops": sum(it.get("drops", 0) for it in self.disciplines(key, part))}
        if "police" in self.trial:
            end, device = self.way("there", "policer")
            text = self.inside(end, "tc", "-s", "filter", "show", "dev", device, "ingress")
            counts["there"]["policed"] = sum(map(int, re.findall(r"dropped (\d+)", text)))
        return {**counts, **self.filtered()}

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
