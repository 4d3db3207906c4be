"""Two ends, a hop before each (a router or a bridge), and the path between them; one run of a trial."""

import json
import os
import random
import re
import signal
import subprocess
import time
from pathlib import Path

import packets
import sniffer
from machine import NICE, Lateness, run
from namespaces import QUIET, Namespaces
from trials import disturbed, opening, parsed

HERE = Path(__file__).resolve().parent
BUILT = Path("/var/tmp/linerate-textbook")
USUAL = {"tcp_timestamps": 1, "tcp_sack": 1, "tcp_window_scaling": 1, "tcp_ecn": 0, "tcp_no_metrics_save": 1}


class Network(Namespaces):
    PROGRAMS = str(BUILT)
    PATIENCE_S = 4

    def __init__(self, trial, folder, seed, lane):
        super().__init__(trial, folder, {end: f"nf{lane}{end.lower()}" for end in "APQB"})
        self.lane, self.random, self.seed, self.captures = lane, random.Random(f"net {seed}"), seed % 1000000, []
        self.board = trial.get("board")
        self.hop = {"P": self.random.choice(("router", "bridge")), "Q": "bridge" if self.board else self.random.choice(("router", "bridge"))}
        self.hop.update(trial.get("hop", {}))

    def build(self):
        self.add_spaces(*QUIET, "net.ipv4.ip_forward=1")
        self.path_starts()
        for end, hop in (("A", "P"), ("B", "Q")):
            self.hop_made(end, hop)
        self.addresses()
        for end in "AB":
            given = {**USUAL, "tcp_timestamps": self.trial["timestamps"], **self.trial.get("sysctl", {}).get(end, {})}
            self.inside(end, "sysctl", "-qw", f"net.ipv4.tcp_congestion_control={self.trial['congestion']}",
                        *(f"net.ipv4.{key}={value}" for key, value in given.items()))
            self.add_rules(end)
        for end in "PQ":
            self.add_rules(end)
        for end, words in self.trial.get("tc", {}).items():
            self.inside(end, "tc", "qdisc", "replace", "dev", "eth0", "root", *words.split())

    def path_starts(self):
        self.taps = {"P": f"nf{self.lane}l", "Q": f"nf{self.lane}r"}
        right, left = ("forward", "back") if self.trial["sender"] == "A" else ("back", "forward")
        settings = [f"{way}.{key}={value:.6f}" for way, name in (("right", right), ("left", left)) for key, value in
                    self.trial.get(name, {}).items()]
        out = open(self.folder / "path.out", "w+")
        self.path = subprocess.Popen(["chrt", "-r", "10", BUILT / "path", *self.taps.values(), str(self.seed), *settings], stdout=out,
                                     stderr=subprocess.STDOUT, start_new_session=True)
        self.path.out = out
        self.processes.append(self.path)
        self.until(lambda: "ready" in (self.folder / "path.out").read_text(), "the path")
        for hop, name in self.taps.items():
            run("ip", "link", "set", name, "netns", self.space[hop])

    def hop_made(self, end, hop):
        port = f"{hop.lower()}0"
        if end == "B" and self.board:
            self.inside(hop, "ip", "link", "add", "nuttx0", "type", "bridge")
            self.up(hop, "nuttx0", self.taps[hop])
            self.ip(hop, "link", "set", self.taps[hop], "master", "nuttx0")
            return
        run("ip", "-n", self.space[end], "link", "add", "eth0", "type", "veth", "peer", "name", port, "netns", self.space[hop])
        self.up(end, "eth0")
        self.up(hop, port, self.taps[hop])
        if self.hop[hop] == "bridge":
            self.ip(hop, "link", "add", "br0", "type", "bridge")
            self.up(hop, "br0")
            for name in (port, self.taps[hop]):
                self.ip(hop, "link", "set", name, "master", "br0")
        merges = self.trial.setdefault("merges", self.random.choice((0, 0, 1)))
        self.inside(end, "ethtool", "-K", "eth0", *(f"{it}" for it in (("tso", "on", "gro", "on") if merges else
                    ("tso", "off", "gso", "off", "gro", "off", "tx", "off"))))
        self.inside(hop, "ethtool", "-K", port, "gro", "off", *(() if merges else ("tso", "off", "gso", "off")))

    def up(self, end, *names):
        for name in names:
            self.ip(end, "link", "set", name, "up")

    def addresses(self):
        """A network of each side, and one in between if both hops are routers; a bridge belongs to the network in between."""
        def net():
            return self.random.choice((f"10.{self.random.randrange(1, 250)}.{self.random.randrange(1, 250)}",
                                       f"192.168.{self.random.randrange(1, 250)}", f"172.{self.random.randrange(17, 31)}.{self.random.randrange(250)}"))
        between, host = net(), self.random.sample(range(2, 250), 4)
        self.address, inner = {}, {"P": f"{between}.{host[0]}", "Q": f"{between}.{host[1]}"}
        sides = {}
        for at, (end, hop) in enumerate((("A", "P"), ("B", "Q"))):
            if self.hop[hop] == "bridge":
                self.address[end] = inner[hop]
                if not (end == "B" and self.board):
                    self.ip(end, "addr", "add", f"{inner[hop]}/24", "dev", "eth0")
            else:
                side = net()
                while side in (between, *sides.values()):
                    side = net()
                sides[hop] = side
                self.address[end] = f"{side}.{host[2 + at]}"
                self.ip(end, "addr", "add", f"{self.address[end]}/24", "dev", "eth0")
                self.ip(hop, "addr", "add", f"{side}.1/24", "dev", f"{hop.lower()}0")
                self.ip(hop, "addr", "add", f"{inner[hop]}/24", "dev", self.taps[hop])
                self.ip(end, "route", "add", "default", "via", f"{side}.1")
        if "storm" in self.trial:
            self.ip("P", "addr", "add", f"{between}.{host[2]}/24", "brd", "+", "dev", "br0")
            self.address["S"] = f"{between}.255"
        self.gateway = {}
        for end, hop, other in (("A", "P", "Q"), ("B", "Q", "P")):
            if other in sides and self.hop[hop] == "router":
                self.ip(hop, "route", "add", f"{sides[other]}.0/24", "via", inner[other])
            elif other in sides:
                self.gateway[end] = inner[other]
                if not (end == "B" and self.board):
                    self.ip(end, "route", "add", "default", "via", inner[other])

    def until(self, holds, what, seconds=8):
        end = time.monotonic() + seconds
        while not holds():
            if time.monotonic() > end:
                raise RuntimeError(f"{what} does not start")
            time.sleep(0.03)

    def capture_starts(self, end, space, interface):
        snap = 0 if self.trial.get("whole") else 192
        before = len(self.captures)
        err = self.folder / f"{end}.err"
        with open(err, "w") as log:
            self.captures.append(subprocess.Popen(
                ["ip", "netns", "exec", self.space[space], *NICE, "tcpdump", "-i", interface, "-s", str(snap), "-B", "8192", "-n", "-U", "-Z", "root",
                 "-w", self.folder / f"{end}.pcap", *self.trial.get("filter", "").split()], stdout=subprocess.DEVNULL, stderr=log, start_new_session=True))
        self.processes_of_capture(before, err)

    def processes_of_capture(self, index, err):
        self.captures[index].out = open(err)
        self.processes.append(self.captures[index])
        self.until(lambda: "listening on" in err.read_text(), "tcpdump")

    def captures_end(self):
        time.sleep(1.15)  # what tcpdump has not been given yet
        for it in self.captures:
            it.send_signal(signal.SIGINT)
        for it in self.captures:
            it.wait(5)
            self.processes.remove(it)
            it.out.seek(0)
            missed = re.search(r"(\d+) packets? dropped by kernel", it.out.read())
            it.out.close()
            if missed and int(missed[1]):
                disturbed(f"tcpdump missed {missed[1]}")

    def socket(self, end):
        """The kernel's account of the sending socket with the most octets."""
        best = {}
        for line in run("ip", "netns", "exec", self.space[end], "ss", "-tinH", "state", "established").splitlines():
            found = {key: float(value) for key, value in re.findall(r"(bytes_acked|rwnd_limited|sndbuf_limited|busy|cwnd|unacked|retrans|lost|mss):?(?:\d+/)?(\d+)", line)}
            if found.get("bytes_acked", 0) > best.get("bytes_acked", 0):
                best = found
        return best

    def listens(self, end, port):
        return f":{port} " in self.inside(end, "ss", "-ltunH")

    def transfer(self):
        trial, sender = self.trial, self.trial["sender"]
        opens = trial.get("opens", "A")
        serves = "B" if opens == "A" else "A"
        if "resolver" in trial:
            self.add_resolver(opens, trial["resolver"].replace("@A", self.address["A"]).replace("@B", self.address["B"]))
        running = {}
        if self.board:
            running["board"] = self.board_starts()
        self.capture_starts("A", "A", "eth0")
        self.capture_starts("B", *(("Q", "tap0") if self.board else ("B", "eth0")))
        middle = trial.get("middle_at", "P" if sender == "A" else "Q")
        self.capture_starts("R", middle, self.taps[middle])
        lateness = Lateness()
        lateness.start()
        for index, (end, command) in enumerate(trial.get("first", ())):
            running[f"first{index}"] = self.start(end, self.filled(command), f"first{index}")
        if trial.get("server"):
            running["server"] = self.start(serves, self.filled(trial["server"]), "server")
        for port in trial.get("ports", ()):
            self.until(lambda: self.listens(serves, port), f"port {port}", 15)
        for index, (end, command) in enumerate(trial.get("beside", ())):
            running[f"beside{index}"] = self.start(end, self.filled(command), f"beside{index}")
        if trial.get("beside"):
            time.sleep(trial.get("beside_s", 1))
        if trial.get("client"):
            running["client"] = self.start(opens, self.filled(trial["client"]), "client")
        main = running[trial.get("ends_with", "client")]
        account, begun, stops = {}, time.monotonic(), trial.get("stops")
        while main.poll() is None and time.monotonic() - begun < trial.get("most_s", 20):
            time.sleep(0.05)
            if stops and time.monotonic() - begun > 0.7:
                self.stop_and_go(running[stops["who"]], main, stops, begun + trial.get("most_s", 20))
            elif not self.board or sender == "A":
                if int((time.monotonic() - begun) / 0.05) % 8 == 7:
                    account = self.socket(sender) or account
        if trial.get("linger_s"):
            time.sleep(trial["linger_s"])
        self.captures_end()
        late = lateness.end()
        if "sniffer" in trial:
            sniffer.spoil(self.folder, trial["sniffer"], random.Random(f"sniffer {self.seed}"), self.address[sender])
        printed = {name: self.stop(it) for name, it in running.items()}
        counts = json.loads(self.stop(self.path).strip().splitlines()[-1])
        if counts["late_ms_p99"] > 4 or counts["late_ms_max"] > 45 or late["late_p99_ms"] > 6 or late["late_max_ms"] > 80:
            disturbed(f"{counts['late_ms_p99']:.1f} {counts['late_ms_max']:.1f} {late}")
        return self.truth(printed, counts, late, account)

    def stop_and_go(self, process, main, stops, until):
        """Stops a program, or a whole board, at intervals."""
        group = process.pid
        wait = self.random.uniform(0.9, 1.1) * stops["every"]
        end = time.monotonic() + wait
        while time.monotonic() < min(end, until) and main.poll() is None:
            time.sleep(0.004)
        if main.poll() is None and process.poll() is None:
            os.killpg(group, signal.SIGSTOP)
            time.sleep(stops["for"])
            os.killpg(group, signal.SIGCONT)

    def filled(self, command):
        return command.replace("@S", self.address.get("S", "@S")).replace("{octets}", str(self.trial.get("octets", 0)))

    def board_starts(self):
        words = {"address": self.address["B"], "gateway": self.gateway.get("B", "0.0.0.0"), "host": self.address["A"],
                 "seed": str(self.seed), **self.trial["board"]["does"]}
        if "octets" in words:
            words["octets"] = str(self.trial["octets"])
        (self.folder / "board.txt").write_text(" ".join(f"{key}={value}" for key, value in words.items()) + "\n")
        process = self.begin("Q", [BUILT / f"nuttx-{self.trial['board']['build']}"], "board")
        self.until(lambda: "board ready" in (self.folder / "board.out").read_text(errors="replace"), "the board")
        return process

    def truth(self, printed, counts, late, account):
        sender = self.trial["sender"]
        address = bytes(map(int, self.address[sender].split(".")))
        receiver = "B" if sender == "A" else "A"
        whole = self.folder / f"{receiver}.whole"
        found = packets.read(whole if whole.exists() else self.folder / f"{receiver}.pcap")[1]
        if trial_ports := self.trial.get("beside") and self.trial.get("ports"):
            found = [it for it in found if set((packets.payload(it) or (0, 0, 0, ()))[3]) & set(trial_ports)]
        octets, seconds, segments = packets.delivered(found, address)
        forward, back = (counts["right"], counts["left"]) if sender == "A" else (counts["left"], counts["right"])
        programs = [it for it in (parsed(line) for text in printed.values() for line in text.splitlines()) if it]
        text = " | ".join(f"{key}: {value.strip()[-160:]}" for key, value in printed.items() if value.strip())
        more = self.filtered()
        return {"octets": octets, "seconds": round(seconds, 3), "goodput_bits_per_s": round(octets * 8 / seconds, 1) if seconds else 0.0,
                "lost_segments": forward["lostData"], "printed": text[-500:], "path": {
                    "forward": forward, "back": back, "programs": programs, "socket": account, "segments": segments, **opening(self.folder / "A.pcap"),
                    "hops": self.hop, "merges": self.trial.get("merges", 0), **more, **late, "path_late_p99_ms": counts["late_ms_p99"],
                    "path_late_max_ms": counts["late_ms_max"]}}


def perform(trial, folder, seed, lane):
    with Network(dict(trial), folder, seed, lane) as network:
        return network.transfer()
