"""Two sites, a hop of Linux before each, the path between the hops, captures, one run and its truth."""

import json
import os
import re
import socket
import subprocess
import threading
import time
from pathlib import Path

import namespaces
import packets
import sniffer
from machine import Lateness, run
from namespaces import QUIET, Namespaces
from trials import disturbed, opening, parsed

HERE = Path(__file__).resolve().parent
BUILT = Path(os.environ.get("BRANCHES_BUILT", "/var/tmp/linerate-branches"))
NOBODY_WAITS_S = 1.15      # tcpdump keeps packets back for up to a second
REAL_TIME = 5              # of the programs
# The path goes before real-time programs of other sessions, and before the time that the kernel keeps for ordinary ones beside those.
DEADLINE = ["chrt", "-d", "--sched-runtime", os.environ.get("BRANCHES_RUNTIME_NS", "250000"), "--sched-deadline", "1000000", "--sched-period", "1000000", "0"]
namespaces.NICE[:] = ["chrt", "-r", str(REAL_TIME)]
OTHER = {"A": "B", "B": "A"}
SOCKET = re.compile(r"\b(mss|cwnd|bytes_acked|bytes_retrans|busy|rwnd_limited|sndbuf_limited|unacked|reordering|reord_seen|minrtt):([\d.]+)")


def build():
    if os.environ.get("BRANCHES_BUILT"):
        return
    BUILT.mkdir(parents=True, exist_ok=True)
    run("nim", "c", "-d:release", "--gc:arc", "--hints:off", f"--nimcache:{BUILT}/nim", f"-o:{BUILT}/path", HERE / "path" / "path.nim")


def perform(trial, folder, seed, lane):
    with Branches(trial, folder, lane, seed) as net:
        return net.measured()


def prefer(priority):
    """This thread of the harness waits for nobody while it measures; its children, and what comes before and after, do."""
    policy = os.SCHED_RR if priority else os.SCHED_OTHER
    os.sched_setscheduler(0, policy | os.SCHED_RESET_ON_FORK, os.sched_param(priority))


class Branches(Namespaces):
    PROGRAMS = str(HERE / "ends")
    PATIENCE_S = 2

    def __init__(self, trial, folder, lane, seed):
        lane += int(os.environ.get("BRANCHES_FIRST_LANE", 0))
        super().__init__(trial, folder, {end: f"brn{lane}{end}" for end in "APQBW"})
        self.lane, self.seed = lane, seed
        self.hops = trial.get("hops", {"P": "bridge", "Q": "bridge"})
        self.six = bool(trial.get("ipv6"))
        self.sender, self.receiver = trial["sender"], OTHER[trial["sender"]]

    # Addresses

    def net(self, part):
        """The network of a part: 0 between the hops, 1 and 2 behind them."""
        base = self.seed // 7 % 200 + 10
        if self.six:
            return f"fd{base:02x}:{part}::"
        return (f"10.{base}.{part}.", f"172.{16 + base % 15}.{base % 90 + part}.", f"192.168.{base % 90 + part}.")[self.seed % 3]

    def host(self, part, number):
        return f"{self.net(part)}{number:x}" if self.six else f"{self.net(part)}{number}"

    def add(self, end, device, part, number):
        self.ip(end, "addr", "add", f"{self.host(part, number)}/{64 if self.six else 24}", "dev", device, *(("nodad",) if self.six else ()))

    def route(self, end, part, by):
        self.ip(end, *(("-6",) if self.six else ()), "route", "add", f"{self.net(part)}/64" if self.six else f"{self.net(part)}0/24", "via", by)

    # Build

    def build(self):
        calm = QUIET if not self.six else ("net.ipv6.conf.all.accept_ra=0", "net.ipv6.conf.default.accept_ra=0")
        self.add_spaces(*calm, "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1") if self.six else self.add_spaces(*calm, "net.ipv4.ip_forward=1")
        self.start_path()
        for end, hop, device in (("A", "P", "pa"), ("B", "Q", "qb")):
            self.ip(end, "link", "add", "eth0", "type", "veth", "peer", "name", device, "netns", self.space[hop])
            tap = f"tap{hop}"
            self.ip("W", "link", "set", tap, "netns", self.space[hop])
            for it in (device, tap):
                self.inside(hop, "sysctl", "-qw", *(f"net.ipv6.conf.{it}.{key}={value}" for key, value in
                                                    (("disable_ipv6", 0 if self.six else 1), ("accept_dad", 0), ("router_solicitations", 0))))
            mtu = self.trial.get("mtu", {}).get(end, 1500)
            self.ip(end, "link", "set", "eth0", "mtu", mtu, "up")
            self.ip(hop, "link", "set", device, "mtu", max(mtu, 1500), "up")
            self.ip(hop, "link", "set", tap, "mtu", self.trial.get("hop_mtu", 1500), "txqueuelen", 30_000, "up")
            self.set_offloads(end, hop, device)
            self.place(end, hop, device, tap)
        if self.hops["P"] != "bridge" and self.hops["Q"] != "bridge":
            self.route("Q", 1, self.host(0, 1))
            self.route("P", 2, self.host(0, 2))
        elif self.hops["P"] != "bridge":
            self.route("B", 1, self.host(0, 1))
        elif self.hops["Q"] != "bridge":
            self.route("A", 2, self.host(0, 2))
        self.address = {"A": self.host(0 if self.hops["P"] == "bridge" else 1, 20), "B": self.host(0 if self.hops["Q"] == "bridge" else 2, 30)}
        self.seen = dict(self.address)
        if self.hops["P"] == "nat":
            self.inside("P", "nft", "add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }; "
                        "add rule ip nat out oifname tapP masquerade")
            self.seen["A"] = self.host(0, 1)
        for end in "AB":
            wanted = {"net.ipv4.tcp_congestion_control": self.trial["congestion"], "net.ipv4.tcp_timestamps": self.trial["timestamps"],
                      **self.trial.get("sysctl", {}).get("AB", {}), **self.trial.get("sysctl", {}).get(end, {})}
            self.inside(end, "sysctl", "-qw", *(f"{key}={value}" for key, value in wanted.items()))
        for end in "PQB":
            self.add_rules(end)
        if "resolver" in self.trial:
            self.add_resolver("A", self.filled(self.trial["resolver"]))
        for end, command in self.trial.get("setup", ()):
            self.inside(end, "bash", "-c", self.filled(command))

    def set_offloads(self, end, hop, device):
        off = ("rx", "off", "tx", "off", "tso", "off", "gso", "off", "gro", "off")
        if self.trial.get("merges"):
            self.inside(end, "ethtool", "-K", "eth0", "gro", "on")
        else:
            self.inside(end, "ethtool", "-K", "eth0", *off)
            self.inside(hop, "ethtool", "-K", device, *off)

    def place(self, end, hop, device, tap):
        part = {"A": 1, "B": 2}[end]
        if self.hops[hop] == "bridge":
            self.ip(hop, "link", "add", "br0", "type", "bridge", "mcast_snooping", 0)
            for it in (device, tap):
                self.ip(hop, "link", "set", it, "master", "br0")
            self.ip(hop, "link", "set", "br0", "up")
            self.add(end, "eth0", 0, {"A": 20, "B": 30}[end])
            return
        self.add(end, "eth0", part, {"A": 20, "B": 30}[end])
        self.add(hop, device, part, 1)
        self.add(hop, tap, 0, {"A": 1, "B": 2}[end])
        self.ip(end, *(("-6",) if self.six else ()), "route", "add", "default", "via", self.host(part, 1))

    def start_path(self):
        ways = self.trial["ways"]
        order = ("forward", "back") if self.sender == "A" else ("back", "forward")
        side = self.trial.get("middle", "sender")
        medium = dict(self.trial.get("medium", {}))
        for key in ("mismatch",):
            if key in medium:
                medium[key] = "AB".index({"sender": self.sender, "receiver": self.receiver}[medium[key]])
        config = {"taps": ["tapP", "tapQ"], "ways": [ways[it] for it in order], "seed": self.seed, "capture": str(self.folder / "R.pcap"),
                  "snap": self.trial.get("snap", 192), "middle_side": "AB".index({"sender": self.sender, "receiver": self.receiver}[side]), **medium}
        (self.folder / "path.json").write_text(json.dumps(config))
        out = open(self.folder / "path.out", "w+")
        self.path = subprocess.Popen(["ip", "netns", "exec", self.space["W"], *DEADLINE, BUILT / "path", self.folder / "path.json"],
                                     stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        self.path.out = out
        self.processes.append(self.path)
        until = time.monotonic() + 5
        while "ready" not in (self.folder / "path.out").read_text():
            if time.monotonic() > until:
                raise RuntimeError("the path does not start: " + (self.folder / "path.out").read_text())
            time.sleep(0.02)

    # A run

    def filled(self, command):
        for key, value in (("@A", self.address["A"]), ("@B", self.address["B"]), ("@D", str(self.folder)), ("@P", self.PROGRAMS),
                           ("@N", str(self.trial.get("octets", 0))), ("@L", str(self.lane))):
            command = command.replace(key, value)
        return command

    def wait_for(self, end, port):
        until = time.monotonic() + 25
        while f":{port} " not in self.inside(end, "ss", "-Hltun"):
            if time.monotonic() > until:
                raise RuntimeError(f"nothing listens on {port}: " + " ".join(it.read_text()[-300:] for it in self.folder.glob("server*.out")))
            time.sleep(0.05)

    def prepare_files(self):
        for name, octets in self.trial.get("files", {}).items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            octets = self.trial["octets"] if octets is None else octets
            block = os.urandom(1 << 20)
            with open(file, "wb") as out:
                left = octets
                while left > 0:
                    # No block twice, since SSH or git might notice.
                    out.write((left.to_bytes(8, "big") + block)[:min(left, 1 << 20)])
                    left -= 1 << 20
            file.chmod(0o644)

    def measured(self):
        self.prepare_files()
        for end in "AB":
            self.begin(end, ["tcpdump", "-i", "eth0", "-s", self.trial.get("snap", 192), "-B", 32768, "-w", self.folder / f"{end}.pcap",
                             "ip or ip6 or arp"], f"dump{end}")
        for end, command in self.trial.get("before", ()):
            self.inside(end, "bash", "-c", self.filled(command))
        servers = [self.start(end, self.filled(it), f"server{i}") for i, (end, it) in enumerate(self.trial.get("servers", ()))]
        for end, port in self.trial.get("ready", ()):
            self.wait_for(end, port)
        time.sleep(0.4)
        beside = [self.start(end, self.filled(it), f"beside{i}") for i, (end, it) in enumerate(self.trial.get("beside", ()))]
        prefer(REAL_TIME - 3)
        lateness = RealTimeLateness()
        lateness.start()
        sampler = Sampler(self)
        sampler.start()
        clients = [self.start(end, self.filled(it), f"client{i}") for i, (end, it) in enumerate(self.trial["clients"])]
        until = time.monotonic() + self.trial.get("limit_s", 16)
        for it in clients:
            try:
                it.wait(max(0.1, until - time.monotonic()))
            except subprocess.TimeoutExpired:
                pass
        was_cut = any(it.poll() is None for it in clients)
        sampler.end()
        late = lateness.end()
        prefer(0)
        time.sleep(0.15)
        printed = [self.stop(it) for it in clients + beside]
        time.sleep(NOBODY_WAITS_S)
        dumps = [it for it in self.processes if "tcpdump" in it.args]
        shown = [self.stop(it) for it in dumps]
        printed += [self.stop(it) for it in servers]
        dropped = sum(json.loads(self.ip(hop, "-j", "-s", "link", "show", f"tap{hop}"))[0]["stats64"]["tx"]["dropped"] for hop in "PQ")
        if dropped:
            disturbed(f"the TAP interfaces dropped {dropped}")
        counts = json.loads(self.stop(self.path).splitlines()[-1])
        return self.truth(printed, shown, counts, late, sampler.best, was_cut)

    def truth(self, printed, shown, counts, late, best, was_cut):
        for text in shown:
            dropped = re.search(r"(\d+) packets dropped by kernel", text)
            if dropped and int(dropped[1]):
                disturbed("a capture misses packets")
        if late["late_p99_ms"] > 6 or late["late_max_ms"] > 80 or counts["late_p99_ms"] > 4 or counts["late_max_ms"] > 45:
            disturbed(f"late: {late} {counts['late_p99_ms']} {counts['late_max_ms']}")
        forward, back = counts["ways"] if self.sender == "A" else counts["ways"][::-1]
        _, found = packets.read(self.folder / f"{self.receiver}.pcap")
        address = socket.inet_pton(socket.AF_INET6 if self.six else socket.AF_INET, self.seen[self.sender])
        octets, seconds, segments = packets.delivered(found, address)
        programs = [it for text in printed for line in text.splitlines() if (it := parsed(line))]
        more = {"storm": counts["storm"]} if counts["storm"] else {}
        if was_cut:
            more["ended_by_limit"] = True
        if "sniffer" in self.trial:
            sniffer.thin_out(self.folder, self.trial["sniffer"], self.seed)
        return {"goodput_bits_per_s": round(octets * 8 / seconds, 1) if seconds else 0.0, "seconds": round(seconds, 3), "octets": octets,
                "lost_segments": forward["lostData"], "printed": " ".join(printed)[-300:],
                "path": {"forward": forward, "back": back, "programs": programs, "socket": best, "segments": segments,
                         **opening(self.folder / "A.pcap"), "hops": self.hops, "merges": int(bool(self.trial.get("merges"))), **more,
                         **self.filtered(), **late, "path_late_p99_ms": round(counts["late_p99_ms"], 3),
                         "path_late_max_ms": round(counts["late_max_ms"], 3)}}


class RealTimeLateness(Lateness):
    """How late a thread of the programs' priority is: the kernel's groups of sessions make `nice` useless beside other sessions."""

    def run(self):
        prefer(REAL_TIME)
        while not self.ends:
            until = time.monotonic() + 0.002
            time.sleep(0.002)
            self.late.append(time.monotonic() - until)


class Sampler(threading.Thread):
    """The kernel's account of the sending socket (`ss -ti`) that has most acknowledged."""

    def __init__(self, net):
        super().__init__(daemon=True)
        self.net, self.best, self.ends = net, {}, threading.Event()

    def run(self):
        prefer(REAL_TIME - 3)
        while not self.ends.wait(0.35):
            done = subprocess.run(["ip", "netns", "exec", self.net.space[self.net.sender], "ss", "-tinHO"], capture_output=True, text=True)
            for line in done.stdout.splitlines():
                found = {key: float(value) for key, value in SOCKET.findall(line)}
                if found.get("bytes_acked", 0) >= self.best.get("bytes_acked", 0):
                    self.best = found

    def end(self):
        self.ends.set()
        self.join()
