"""The path of lab/devices (A - R - S - B), with tunnels, a serial cable, middleboxes, filters of tc and nftables, and offloads."""

import re
import time
from pathlib import Path

from hops import Hops

HERE = Path(__file__).resolve().parent
# Made for this lab: they protect nothing.
KEYS = {"R": ("sFdxZLdOltQo9kj6VgOig+fSkjxGU9SNlfM9dQUXDGo=", "ZaDcWfv5Q5a3kwLG1kiuVFr0IyvacIyMfOXvhAM5hls="),
        "S": ("UHG3KHj0yqyNcb+qX3WDFn829QUsQktbLD8TpGrKeE0=", "u6qNEcDuoeokJtxxjwoqg7KTyvC0mZfnMjAjWT9hwBY=")}
OUTER = {"R": "10.53.2.1", "S": "10.53.2.2"}
INNER = {"R": "10.53.9.1", "S": "10.53.9.2"}
# What is behind the other router.
BEHIND = {"R": ("10.53.3.0/24", "10.53.4.0/24"), "S": ("10.53.1.0/24", "10.53.0.0/24")}


class Mixed(Hops):
    """Of a trial: `device` (none by default), `tunnel` (gre, ipip, wireguard), `serial` (bit/s), `tso` and `gro` (ends), `host_shape`
    (a discipline of an end's own interface), `way_filter` (tc's actions behind the router of the data), `limits` of TBF."""

    def __init__(self, trial, folder, programs):
        super().__init__({"device": "", **trial}, folder, programs)

    def lay(self):
        trial = self.trial
        super().lay()
        for end in trial.get("tso", ""):
            self.inside(end, "ethtool", "-K", "eth0", "tx", "on", "sg", "on", "tso", "on", "gso", "on")
        for end in trial.get("gro", ""):
            self.inside(end, "ethtool", "-K", "eth0", "gro", "on")
        for end, words in trial.get("host_shape", {}).items():
            self.inside(end, "tc", "qdisc", "add", "dev", "eth0", "root", *words.split())
        if "tunnel" in trial:
            self.tunnel(trial["tunnel"])
        if "way_filter" in trial:
            end, device = self.way(trial.get("filter_way", "there"), "netem")
            self.inside(end, "tc", "qdisc", "add", "dev", device, "clsact")
            self.inside(end, "tc", "filter", "add", "dev", device, "egress", "matchall", *trial["way_filter"].split())

    def shape(self, key, words):
        """Also "hfsc RATE; LEAF"."""
        if not words.startswith("hfsc"):
            super().shape(key, words)
            return
        end, device = self.way(key, "shaper")
        rate, leaf = words.removeprefix("hfsc").split(";")
        self.inside(end, "tc", "qdisc", "add", "dev", device, "root", "handle", "1:", "hfsc", "default", "1")
        self.inside(end, "tc", "class", "add", "dev", device, "parent", "1:", "classid", "1:1", "hfsc", "sc", "rate", rate.strip(), "ul", "rate", rate.strip())
        self.inside(end, "tc", "qdisc", "add", "dev", device, "parent", "1:1", *leaf.split())

    def build(self):
        super().build()
        # The interfaces of a host answer before the first packet of the trial.
        if "serial" in self.trial:
            self.cable(self.trial["serial"])

    def tunnel(self, kind):
        for end, other in (("R", "S"), ("S", "R")):
            if kind == "wireguard":
                key = self.folder / f"key-{end}"
                key.write_text(KEYS[end][0] + "\n")
                self.ip(end, "link", "add", "tun", "type", "wireguard")
                self.inside(end, "wg", "set", "tun", "private-key", key, "listen-port", 51820, "peer", KEYS[other][1], "allowed-ips", "0.0.0.0/0",
                            "endpoint", f"{OUTER[other]}:51820")
            else:
                self.ip(end, "link", "add", "tun", "type", kind, "local", OUTER[end], "remote", OUTER[other], "ttl", 64)
            self.ip(end, "addr", "add", f"{INNER[end]}/24", "dev", "tun")
            self.ip(end, "link", "set", "tun", "up")
            for net in BEHIND[end]:
                self.ip(end, "route", "replace", net, "via", INNER[other])

    def cable(self, baud):
        """PPP over two pseudoterminals instead of the link between the routers."""
        self.begin("R", ["python3", HERE / "serial.py", baud, self.folder], "cable")
        for _ in range(100):
            if (self.folder / "tty1").exists():
                break
            time.sleep(0.05)
        for at, end in enumerate("RS"):
            other = "S" if end == "R" else "R"
            tty = (self.folder / f"tty{at}").readlink()
            words = ["pppd", tty, baud if baud in (115200, 230400, 460800, 921600) else 115200, "nodetach", "local", "noauth", "nocrtscts", "novj", "noccp",
                     "nobsdcomp", "nodeflate", "nopcomp", "noaccomp", "noipv6", "nolock", "nodefaultroute", f"{INNER[end]}:{INNER[other]}"]
            self.begin(end, [it for it in words if it != "nolock"], f"ppp-{end}")
        for end in "RS":
            for net in BEHIND[end]:
                self.route_by_ppp(end, net)

    def route_by_ppp(self, end, net):
        for _ in range(300):
            try:
                return self.ip(end, "route", "replace", net, "dev", "ppp0")
            except RuntimeError:
                time.sleep(0.05)
        raise RuntimeError(f"no PPP at {end}: {(self.folder / f'ppp-{end}.out').read_text()[-300:]}")

    def disciplines(self, key, part):
        if not self.trial.get("shape", {}).get(key, "").startswith("hfsc"):
            return super().disciplines(key, part)
        # What tc prints of HFSC as JSON is none.
        end, device = self.way(key, part)
        text = self.inside(end, "tc", "-s", "qdisc", "show", "dev", device)
        return [{"drops": int(drops), "backlog": int(octets) * {"": 1, "K": 1_000, "M": 1_000_000}[unit]}
                for drops, octets, unit in re.findall(r"dropped (\d+),.*?\n\s*backlog (\d+)([KM]?)b", text)]

    def counters(self):
        counts = super().counters()
        trial = self.trial
        if "way_filter" in trial:
            end, device = self.way(trial.get("filter_way", "there"), "netem")
            text = self.inside(end, "tc", "-s", "filter", "show", "dev", device, "egress")
            # Each action states what it was given, and what it dropped.
            counts["actions"] = [list(map(int, it)) for it in re.findall(r"Sent \d+ bytes (\d+) pkt \(dropped (\d+)", text)]
        for end, words in trial.get("host_shape", {}).items():
            text = self.inside(end, "tc", "-s", "qdisc", "show", "dev", "eth0")
            counts[f"host_drops_{end}"] = sum(map(int, re.findall(r"dropped (\d+)", text)))
        if "serial" in trial:
            for end in "RS":
                counts[f"ppp_drops_{end}"] = int(self.inside(end, "cat", "/sys/class/net/ppp0/statistics/tx_dropped"))
        return counts
