"""Two stations in network namespaces and path.c between them, in a namespace of its own."""

import json
import re
import subprocess
import time
from pathlib import Path

from machine import run
from namespaces import QUIET, Namespaces

HERE = Path(__file__).resolve().parent
ADDRESS = {"A": "10.0.0.1", "B": "10.0.0.2"}
MAC = {"A": "02:00:5e:10:00:01", "B": "02:00:5e:10:00:02"}
BOARD = ["qemu-system-arm", "-M", "versatilepb", "-cpu", "cortex-a8", "-semihosting", "-audiodev", "none,id=a0", "-nographic",
         "-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no", "-net", f"nic,netdev=n0,model=smc91c111,macaddr={MAC['B']}"]


class Network(Namespaces):
    """A - path - B. `lane` distinguishes networks that exist at the same time."""

    PROGRAMS = f"python3 {HERE}/app.py"
    PATIENCE_S = 3
    address = ADDRESS

    def __init__(self, trial, folder, lane, program):
        super().__init__(trial, folder, {it: f"stations-{lane}{it}" for it in "APB"})
        self.program = program

    def build(self):
        self.add_spaces(*QUIET)
        self.connect_path()
        for end in "AB":
            self.configure(end)
        if self.trial.get("resolver"):
            self.add_resolver("A", self.trial["resolver"])

    def connect_path(self):
        """The links, then the path; TUN interfaces exist once it runs."""
        is_tun = self.trial.get("link") == "tun"
        if not is_tun:
            for end, name in (("A", "to-a"), ("B", "to-b")):
                port = "port" if self.trial.get("link") == "macvlan" and end == "B" else "eth0"
                run("ip", "-n", self.space[end], "link", "add", port, "address", MAC[end] if port == "eth0" else "02:00:5e:10:00:99",
                    "type", "veth", "peer", "name", name, "netns", self.space["P"])
                if port == "port":
                    run("ip", "-n", self.space[end], "link", "add", "eth0", "link", port, "address", MAC[end], "type", "macvlan",
                        "mode", "bridge")
                    run("ip", "-n", self.space[end], "link", "set", port, "up")
                for space, it in ((end, port), (end, "eth0"), ("P", name)):
                    run("ip", "-n", self.space[space], "link", "set", it, "up")
                    subprocess.run(["ip", "netns", "exec", self.space[space], "ethtool", "-K", it, "tx", "off", "tso", "off", "gso",
                                    "off", "gro", "off"], capture_output=True)
        ends = [f"tun:{self.space[it]}" for it in "AB"] if is_tun else ["to-a", "to-b"]
        words = [f"{key}={value}" for key, value in self.trial["path"].items()]
        self.path = self.begin("P", [self.program, *ends, *words], "path")
        until = time.monotonic() + 5
        while "ready" not in (self.folder / "path.out").read_text():
            if time.monotonic() > until or self.path.poll() is not None:
                raise RuntimeError("path: " + (self.folder / "path.out").read_text())
            time.sleep(0.02)

    def configure(self, end):
        trial, other = self.trial, "B" if end == "A" else "A"
        is_board = trial.get("board") and end == "B"
        ip = ["ip", "-n", self.space[end]]
        if is_board:
            run(*ip, "tuntap", "add", "tap0", "mode", "tap")
            run(*ip, "link", "add", "br0", "type", "bridge")
            for name in ("tap0", "eth0"):
                run(*ip, "link", "set", name, "master", "br0")
            run(*ip, "link", "set", "eth0", "address", "02:00:5e:10:00:77")
            for name in ("tap0", "br0"):
                run(*ip, "link", "set", name, "up")
            return
        if trial.get("link") == "tun":
            run(*ip, "link", "set", "eth0", "up")
        run(*ip, "link", "set", "eth0", "mtu", trial.get("mtu", 1500))
        run(*ip, "addr", "add", f"{ADDRESS[end]}/24", "dev", "eth0")
        if trial.get("link") != "tun" and not trial.get("no_host"):
            run(*ip, "neigh", "replace", ADDRESS[other], "lladdr", MAC[other], "dev", "eth0", "nud", "permanent")
        if trial.get("single_segments") == end:
            # Otherwise a buffer holds a segment of up to 64 KiB, however small it is.
            run(*ip, "link", "set", "eth0", "gso_max_segs", 1)
        if trial.get("dead_resolver") and end == "A":
            run(*ip, "neigh", "replace", "10.0.0.3", "lladdr", MAC[other], "dev", "eth0", "nud", "permanent")
        if end in trial.get("route", {}):
            run(*ip, "route", "replace", f"{ADDRESS[other]}/32", "dev", "eth0", *trial["route"][end].split())
        settings = {"net.ipv4.tcp_no_metrics_save": 1, "net.ipv4.tcp_congestion_control": trial.get("congestion", "cubic"),
                    "net.ipv4.tcp_timestamps": trial.get("timestamps", 1), **trial.get("sysctl", {}).get(end, {})}
        self.inside(end, "sysctl", "-qw", *[f"{key}={value}" for key, value in settings.items()])
        for command in trial.get("tc", {}).get(end, []):
            self.inside(end, "tc", *command.split())
        self.add_rules(end)

    def counters(self):
        """What the path counted; it ends."""
        counts = json.loads(self.stop(self.path).split("ready\n", 1)[1]) | self.filtered()
        for end in self.trial.get("tc", {}):
            queues = json.loads(self.inside(end, "tc", "-j", "-s", "qdisc", "show", "dev", "eth0"))
            counts[f"tc_{end}"] = {key: max(it.get(key, 0) for it in queues) for key in ("packets", "drops", "overlimits")}
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
