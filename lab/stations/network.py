"""Two stations in network namespaces and path.c between them, in a namespace of its own."""

import json
import os
import re
import signal
import subprocess
import time
from pathlib import Path

from machine import NICE, run

HERE = Path(__file__).resolve().parent
ADDRESS = {"A": "10.0.0.1", "B": "10.0.0.2"}
MAC = {"A": "02:00:5e:10:00:01", "B": "02:00:5e:10:00:02"}
QUIET = ("net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")
BOARD = ["qemu-system-arm", "-M", "versatilepb", "-cpu", "cortex-a8", "-semihosting", "-audiodev", "none,id=a0", "-nographic",
         "-netdev", "tap,id=n0,ifname=tap0,script=no,downscript=no", "-net", f"nic,netdev=n0,model=smc91c111,macaddr={MAC['B']}"]


class Network:
    """A - path - B. Use with `with`. `lane` tells networks of one time apart."""

    def __init__(self, trial, folder, lane, program):
        self.trial, self.folder, self.program = trial, Path(folder), program
        self.space = {it: f"stations-{lane}{it}" for it in "APB"}
        self.processes = []

    def __enter__(self):
        self.remove()
        try:
            self.build()
            return self
        except BaseException:
            self.__exit__()
            raise

    def inside(self, end, *words):
        return run("ip", "netns", "exec", self.space[end], *words)

    def build(self):
        trial = self.trial
        for space in self.space.values():
            run("ip", "netns", "add", space)
            run("ip", "-n", space, "link", "set", "lo", "up")
            run("ip", "netns", "exec", space, "sysctl", "-qw", *QUIET)
        self.connect_path()
        for end in "AB":
            self.configure(end)
        if trial.get("resolver"):
            folder = Path("/etc/netns") / self.space["A"]
            folder.mkdir(parents=True, exist_ok=True)
            (folder / "resolv.conf").write_text(trial["resolver"])

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
        if end in trial.get("nft", {}):
            file = self.folder / f"rules-{end}.nft"
            file.write_text(trial["nft"][end])
            self.inside(end, "nft", "-f", file)

    def begin(self, end, words, name):
        out = open(self.folder / f"{name}.out", "w+")
        process = subprocess.Popen(["ip", "netns", "exec", self.space[end], *NICE, *map(str, words)], stdout=out, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True, cwd=self.folder)
        process.out = out
        self.processes.append(process)
        return process

    def start(self, end, command, name):
        for key, value in (("@A", ADDRESS["A"]), ("@B", ADDRESS["B"]), ("@D", str(self.folder)), ("@P", f"python3 {HERE}/app.py")):
            command = command.replace(key, value)
        return self.begin(end, ["bash", "-c", command], name)

    def stop(self, process, wait=3, by=signal.SIGTERM):
        if process.poll() is None:
            os.killpg(process.pid, by)
            try:
                process.wait(wait)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        process.out.flush()
        process.out.seek(0)
        return process.out.read()

    def counters(self):
        """What the path counted; it ends."""
        counts = json.loads(self.stop(self.path).split("ready\n", 1)[1])
        for end in self.trial.get("nft", {}):
            rules = json.loads(self.inside(end, "nft", "-j", "list", "ruleset"))["nftables"]
            counts[f"filtered_{end}"] = sum(part["counter"]["packets"] for it in rules if "rule" in it for part in it["rule"]["expr"]
                                            if "counter" in part)
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

    def remove(self):
        for space in self.space.values():
            if Path(f"/run/netns/{space}").exists():
                subprocess.run(["ip", "netns", "del", space], capture_output=True)

    def __exit__(self, *_):
        for process in reversed(self.processes):
            self.stop(process, 1)
            process.out.close()
        self.remove()
        resolver = Path("/etc/netns") / self.space["A"] / "resolv.conf"
        if resolver.exists():
            resolver.unlink()
            resolver.parent.rmdir()
