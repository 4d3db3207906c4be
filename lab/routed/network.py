"""Two ends and a router in network namespaces: the router's queues are the kernel's, the way beyond it is VDE's wirefilter."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

from machine import NICE, run
from namespaces import QUIET, Namespaces

HERE = Path(__file__).resolve().parent


def shape(rate, frames, overhead=0):
    """Commands of `tc` for a link of this rate with a queue of so many frames."""
    more = ["overhead", str(overhead)] if overhead else []
    return [["qdisc", "add", "dev", "@", "root", "handle", "1:", "htb", "default", "1"],
            ["class", "add", "dev", "@", "parent", "1:", "classid", "1:1", "htb", "rate", f"{rate}bit", "burst", "2k", "cburst",
             "2k", *more],
            ["qdisc", "add", "dev", "@", "parent", "1:1", "pfifo", "limit", str(frames)]]


def bucket(rate, octets):
    """The same by a token bucket filter with a queue of so many octets."""
    return [["qdisc", "add", "dev", "@", "root", "tbf", "rate", f"{rate}bit", "burst", "3100", "limit", str(octets)]]


class Network(Namespaces):
    """A - router - wirefilter - B."""

    PROGRAMS = str(HERE / "programs")
    PATIENCE_S = 4

    def __init__(self, trial, folder):
        super().__init__(trial, folder, {it: f"causes-{it}" for it in "ARB"})
        v6 = trial.get("ipv6")
        self.net = ["fd00:61::", "fd00:62::"] if v6 else ["10.61.7.", "10.61.9."]
        self.address = {"A": self.net[0] + "1", "B": self.net[1] + "1"}
        self.router = [self.net[0] + "fe" if v6 else self.net[0] + "254", self.net[1] + "fe" if v6 else self.net[1] + "254"]
        self.pids = []

    def build(self):
        trial, folder = self.trial, self.folder
        self.add_spaces(*() if trial.get("ipv6") else QUIET)
        for name, tap in (("s1", "causes-r"), ("s2", "causes-b")):
            run("vde_switch", "-s", folder / name, "-tap", tap, "-d", "-p", folder / f"{name}.pid")
            self.pids.append(folder / f"{name}.pid")
        run("ip", "link", "set", "causes-r", "netns", self.space["R"], "name", "eth1")
        run("ip", "link", "set", "causes-b", "netns", self.space["B"], "name", "eth0")
        self.ip("A", "link", "add", "eth0", "type", "veth", "peer", "name", "eth0", "netns", self.space["R"])
        length = 64 if trial.get("ipv6") else 24
        more = ["nodad"] if trial.get("ipv6") else []
        for end, name, address in (("A", "eth0", self.address["A"]), ("R", "eth0", self.router[0]),
                                   ("R", "eth1", self.router[1]), ("B", "eth0", self.address["B"])):
            self.ip(end, "link", "set", name, "up")
            self.ip(end, "addr", "add", f"{address}/{length}", "dev", name, *more)
            if not trial.get("offload"):
                subprocess.run(["ip", "netns", "exec", self.space[end], "ethtool", "-K", name, "tso", "off", "gso", "off", "gro",
                                "off"], capture_output=True)
        family = ["-6"] if trial.get("ipv6") else []
        for end, gateway in zip("AB", self.router):
            run("ip", *family, "-n", self.space[end], "route", "add", "default", "via", gateway)
        self.inside("R", "sysctl", "-qw", "net.ipv6.conf.all.forwarding=1" if trial.get("ipv6") else "net.ipv4.ip_forward=1")
        for end in "AB":
            self.inside(end, "sysctl", "-qw", "net.ipv4.tcp_no_metrics_save=1",
                        f"net.ipv4.tcp_congestion_control={trial.get('congestion', 'cubic')}")
            for name, value in trial.get("sysctl", {}).get(end, {}).items():
                self.inside(end, "sysctl", "-qw", f"{name}={value}")
        for name, commands in (("eth1", trial.get("there", [])), ("eth0", trial.get("back", []))):
            for command in commands:
                self.inside("R", "tc", *[name if it == "@" else it for it in command])
        for end in trial.get("nft", {}):
            self.add_rules(end)
        if trial.get("resolver"):
            self.add_resolver("A", f"nameserver {self.address['B']}\noptions timeout:5 attempts:2\n")
        words = ["wirefilter", "-v", f"{self.folder / 's1'}:{self.folder / 's2'}", "-M", self.folder / "manage",
                 *trial.get("filter", []), "--daemon", "--pidfile", self.folder / "wire.pid"]
        run(*NICE, *words)
        self.pids.append(self.folder / "wire.pid")
        until = time.monotonic() + 3
        while not all(it.exists() and it.read_text().strip() for it in self.pids) and time.monotonic() < until:
            time.sleep(0.02)
        for pid in self.pids:
            subprocess.run(["renice", "-n", "-12", "-p", pid.read_text().strip()], capture_output=True)
        # The first packet of a connection does not wait for an address.
        if not trial.get("no_host"):
            self.inside("A", "ping", "-c", "2", "-i", "0.1", "-W", "3", self.address["B"])

    def counters(self):
        """What the router's queues and filters counted."""
        counts = {}
        for name in ("eth0", "eth1"):
            queues = json.loads(self.inside("R", "tc", "-j", "-s", "qdisc", "show", "dev", name) or "[]")
            counts[name] = {"dropped": max([it.get("drops", 0) for it in queues], default=0),
                            "packets": max([it.get("packets", 0) for it in queues], default=0)}
        return counts | self.filtered()

    def __exit__(self, *_):
        self.end_programs()
        for pid in self.pids:
            try:
                os.kill(int(pid.read_text()), signal.SIGTERM)
            except (OSError, ValueError):
                pass
        time.sleep(0.1)
        super().__exit__()
