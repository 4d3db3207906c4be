"""A works (A) and its boards and outstations (B): namespaces, the hops before each, captures, one run of a trial and its truth."""

import ipaddress
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
from machine import Lateness, run
from namespaces import QUIET, Namespaces
from trials import disturbed, opening, parsed

BUILT = Path(os.environ.get("PLANT_BUILT", "/var/tmp/linerate-plant"))
NAME = os.environ.get("PLANT_NAME", "plant")
RUNTIME_NS = int(os.environ.get("PLANT_RUNTIME_NS", 600_000))
SOCKET = re.compile(r"(\w+):([\d.]+)(?:ms)?(?:/[\d.]+)?")


def addresses(seed):
    """Networks of A, of the middle, of B; they differ from trial to trial."""
    draw = random.Random(seed)
    kinds = (lambda: f"10.{draw.randrange(256)}.{draw.randrange(256)}", lambda: f"192.168.{draw.randrange(256)}",
             lambda: f"172.{draw.randrange(16, 32)}.{draw.randrange(256)}")
    nets = []
    while len(nets) < 3:
        net = draw.choice(kinds)()
        if net not in nets:
            nets.append(net)
    return nets, [draw.randrange(10, 250) for _ in range(2)], draw.choice((64, 128, 255))


class Network(Namespaces):
    """eth0 of A and B, tap0 of the hops P and Q; a board is `board0` on the bridge Q."""

    PATIENCE_S = 2
    PROGRAMS = str(BUILT)

    def __init__(self, trial, folder, seed, lane):
        ends = ("A", "P", "X", "Q") if trial.get("board") else ("A", "P", "X", "Q", "B")
        super().__init__(trial, folder, {end: f"{NAME}{lane}{end}" for end in ends})
        self.seed = seed

    def hop(self, hop, end, net, core, own, host):
        """A bridge or a router with the address `own` of the core; a host behind it."""
        trial, kind = self.trial, self.trial["hops"][hop]
        is_board = end == "B" and trial.get("board")
        name = "board0" if is_board else "eth0"
        if not is_board:
            run("ip", "link", "add", "eth0", "netns", self.space[end], "type", "veth", "peer", "name", "eth0", "netns", self.space[hop])
        net = core if kind == "bridge" else net
        self.address[end] = f"{net}.{host}"
        if kind == "bridge":
            self.ip(hop, "link", "add", "br0", "type", "bridge")
            self.inside(hop, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
            for port in ("tap0", *(() if is_board else ("eth0",))):
                self.ip(hop, "link", "set", port, "master", "br0", "up")
            self.ip(hop, "link", "set", "br0", "up")
        else:
            self.inside(hop, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.send_redirects=0")
            self.ip(hop, "addr", "add", f"{core}.{own}/24", "dev", "tap0")
            self.ip(hop, "addr", "add", f"{net}.1/24", "dev", name)
            self.ip(hop, "link", "set", "tap0", "up")
            self.ip(hop, "link", "set", name, "up")
            if kind == "nat":
                rules = self.folder / "nat.nft"
                rules.write_text("table ip n {\n chain p {\n  type nat hook postrouting priority srcnat;\n  oifname tap0 masquerade\n }\n}\n")
                self.inside(hop, "nft", "-f", rules)
        self.inside(hop, "ethtool", "-K", "tap0", "gro", "off")
        self.ip(hop, "link", "set", "tap0", "txqueuelen", "4000")
        if is_board:
            return
        self.ip(end, "addr", "add", f"{self.address[end]}/24", "dev", "eth0")
        self.ip(end, "link", "set", "eth0", "up")
        merges = "on" if trial["offload"] else "off"
        for where in (end, hop):
            words = ("tso", merges, "gso", merges, "gro", merges if where == end else "off", *(() if trial["offload"] else ("tx", "off")))
            self.inside(where, "ethtool", "-K", "eth0", *words)

    def build(self):
        trial = self.trial
        nets, hosts, ttl = addresses(self.seed)
        self.address = {}
        self.add_spaces(*QUIET)
        self.start_path()
        for tap, hop in (("pa", "P"), ("pb", "Q")):
            self.ip("X", "link", "set", tap, "netns", self.space[hop])
            self.ip(hop, "link", "set", tap, "name", "tap0")
        if trial.get("board"):
            self.start_board(nets, hosts)
        self.hop("P", "A", nets[0], nets[1], 2, hosts[0])
        self.hop("Q", "B", nets[2], nets[1], 3, hosts[1] if hosts[1] != hosts[0] else hosts[1] + 1)
        if trial.get("board"):
            self.ip("Q", "link", "set", "board0", "master", "br0", "up")
        for hop, end, own, far, net in (("P", "A", 2, 3, nets[2]), ("Q", "B", 3, 2, nets[0])):
            other = trial["hops"]["Q" if hop == "P" else "P"]
            if trial["hops"][hop] != "bridge":
                self.ip(end, "route", "add", "default", "via", self.address[end].rsplit(".", 1)[0] + ".1")
                if other == "router":
                    self.ip(hop, "route", "add", "default", "via", f"{nets[1]}.{far}")
            elif other == "router" and end in self.space:
                self.ip(end, "route", "add", "default", "via", f"{nets[1]}.{far}")
        if trial.get("stray"):
            self.ip("P", "route", "add", trial["stray"], "via", self.address["B"] if trial["hops"]["Q"] == "bridge" else f"{nets[1]}.3")
            if trial["hops"]["Q"] != "bridge":
                self.ip("Q", "route", "add", trial["stray"], "via", self.address["B"])
        for end in ("A", "B"):
            if end not in self.space:
                continue
            settings = [f"net.ipv4.tcp_congestion_control={trial['congestion']}", f"net.ipv4.tcp_timestamps={trial['timestamps']}",
                        "net.ipv4.tcp_no_metrics_save=1", f"net.ipv4.ip_default_ttl={ttl}", *trial.get("sysctl", {}).get(end, ())]
            self.inside(end, "sysctl", "-qw", *settings)
            for words in trial.get("tc", {}).get(end, ()):
                self.inside(end, "tc", *words.split())
            if end in trial.get("routes", {}):
                self.inside(end, "bash", "-c", f"ip route show | while read -r it; do ip route change $it {trial['routes'][end]}; done")
        if trial.get("resolvers"):
            self.add_resolver("A", trial["resolvers"].replace("@B", self.address["B"]))

    def start_path(self):
        trial = self.trial
        one_way = round(trial["rtt_ms"] * 500)
        ways = {"data": {"rate": trial["rate"], "delay_us": one_way, **trial.get("data", {})},
                "acks": {"rate": trial.get("back_rate", trial["rate"]), "delay_us": one_way, **trial.get("acks", {})}}
        names = {"data": "f", "acks": "b"} if trial["sender"] == "A" else {"data": "b", "acks": "f"}
        words = [f"{names[way]}.{key}={value}" for way in ways for key, value in ways[way].items()]
        period = 2_000_000
        self.path = subprocess.Popen(
            ["ip", "netns", "exec", self.space["X"], "chrt", "-d", "--sched-runtime", str(RUNTIME_NS), "--sched-deadline", str(period),
             "--sched-period", str(period), "0", str(BUILT / "path"), "a=pa", "b=pb", f"middle={trial.get('middle', trial['sender'])}",
             f"out={self.folder / 'R.pcap'}", f"keep={trial.get('snap', 192)}", f"seed={self.seed}", *words],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True)
        first = self.path.stdout.readline().strip()
        if first != "ready":
            raise RuntimeError(f"path: {first}")

    def start_board(self, nets, hosts):
        own = hosts[1] if hosts[1] != hosts[0] else hosts[1] + 1
        peer = f"{nets[1] if self.trial['hops']['P'] == 'bridge' else nets[0]}.{hosts[0]}"
        words = [f"{key}={value}" for key, value in self.trial["board"].items()]
        words = [it.replace("{octets}", str(self.trial.get("octets", 0))).replace("@D", str(self.folder)) for it in words]
        process = self.begin("Q", [BUILT / "board", "tap=board0", f"ip={nets[1]}.{own}", f"gateway={nets[1]}.2", f"peer={peer}",
                                   f"seed={self.seed}", *words], "board")
        for _ in range(100):
            if Path(process.out.name).read_text().startswith("ready"):
                break
            time.sleep(0.02)
        self.inside("Q", "ip", "link", "set", "board0", "txqueuelen", self.trial.get("board_ring", 200))

    def capture(self, end):
        space, name = ("Q", "board0") if end not in self.space else (end, "eth0")
        return self.begin(space, ["tcpdump", "-i", name, "-s", self.trial.get("snap", 192), "-B", 16384, "-n", "-w", self.folder / f"{end}.pcap"], f"tcpdump-{end}")

    def listens(self, end, port):
        for _ in range(150):
            if f":{port} " in self.inside(end, "ss", "-Hltun"):
                return True
            time.sleep(0.02)
        return False

    def end_path(self):
        if self.path.poll() is None:
            self.path.send_signal(signal.SIGTERM)
        text, _ = self.path.communicate(timeout=10)
        return json.loads(text.strip().splitlines()[-1])

    def __exit__(self, *_):
        if getattr(self, "path", None) and self.path.poll() is None:
            self.path.kill()
            self.path.wait()
        super().__exit__()


def sockets(network, end, port, best):
    """Keeps the account of the connection that has sent most."""
    if end not in network.space:
        return best
    text = network.inside(end, "ss", "-Htin", f"( sport = :{port} or dport = :{port} )")
    for line in text.splitlines():
        if "bytes_sent" not in line:
            continue
        found = {key: float(value) for key, value in SOCKET.findall(line)}
        if found.get("bytes_sent", 0) >= best.get("bytes_sent", 0):
            best = found
    return best


def has_printed(process):
    return "\n{" in Path(process.out.name).read_text()


def truth_of(network, trial, folder):
    """What arrived at the receiver, and how fast."""
    sender = trial["sender"]
    receiver = "B" if sender == "A" else "A"
    address = network.address[sender]
    if sender == "A" and trial["hops"]["P"] == "nat":
        address = addresses(network.seed)[0][1] + ".2"
    _, found = packets.read(folder / f"{receiver}.pcap")
    octets, seconds, segments = packets.delivered(found, ipaddress.ip_address(address).packed)
    return octets, seconds, segments


def perform(trial, folder, seed, lane):
    octets = trial.get("octets", 0)
    with Network(trial, folder, seed, lane) as network:
        for end, other in (("A", "B"), ("B", "A")):
            if end in network.space and not trial.get("cold"):
                subprocess.run(["ip", "netns", "exec", network.space[end], "ping", "-c", "2", "-i", "0.05", "-W", "1", network.address[other]],
                               capture_output=True)
        port = trial.get("port", 5001)
        servers = [network.start(end, command.replace("{octets}", str(octets)), f"server{i}")
                   for i, (end, command) in enumerate(trial.get("servers", ()))]
        if servers and not trial.get("does_not_listen") and not network.listens(trial["servers"][-1][0], port):
            raise RuntimeError(f"does not listen: {network.stop(servers[-1])}")
        lateness = Lateness()
        captures = [network.capture(end) for end in ("A", "B")]
        time.sleep(0.35)
        lateness.start()
        others = []
        for i, (end, command, wait) in enumerate(trial.get("also", ())):
            others.append(network.start(end, command, f"also{i}"))
            time.sleep(wait)
        board = [it for it in network.processes if it.out.name.endswith("/board.out")]
        (folder / "begin").touch()
        client = network.start(*trial["client"][:1], trial["client"][1].replace("{octets}", str(octets)), "client") if "client" in trial else board[0]
        ends_at, socket = time.monotonic() + trial.get("most_s", 22), {}
        while client.poll() is None and time.monotonic() < ends_at and not (board[:1] == [client] and has_printed(client)):
            time.sleep(0.4)
            socket = sockets(network, trial["sender"], port, socket)
        time.sleep(trial.get("linger_s", 0.1))
        timing = lateness.end()
        time.sleep(1.15)
        printed = [network.stop(client, 0.3)] + [network.stop(it, 0.3) for it in servers + others + [it for it in board if it is not client]]
        missed = 0
        for it in captures:
            said = network.stop(it, 2, signal.SIGINT)
            missed += int((re.search(r"(\d+) packets dropped by kernel", said) or [0, 0])[1])
        path = network.end_path()
        octets, seconds, segments = truth_of(network, trial, folder)
    way, back = (path["forward"], path["back"]) if trial["sender"] == "A" else (path["back"], path["forward"])
    if missed or way["unwritten"] or back["unwritten"]:
        disturbed(f"captures missed {missed} packets, interfaces {way['unwritten'] + back['unwritten']}")
    if path["path_late_p99_ms"] > 4 or path["path_late_max_ms"] > 45 or timing["late_p99_ms"] > 6 or timing["late_max_ms"] > 80:
        disturbed(f"{path['path_late_p99_ms']} {path['path_late_max_ms']} {timing}")
    text = "\n".join(printed)
    if "sniffer_misses" in trial:
        taken = [sniffer.thin_out(folder / f"{it}.pcap", trial["sniffer_misses"], seed + i, trial.get("mirrors_one_way"))
                 for i, it in enumerate("ABR")]
        text += "\n" + json.dumps({"taken_out": min(taken)})
    kept = {key: socket[key] for key in ("mss", "cwnd", "bytes_acked", "busy", "rwnd_limited", "sndbuf_limited", "minrtt", "bytes_retrans")
            if key in socket}
    late = {key: path[key] for key in ("path_late_p99_ms", "path_late_max_ms")}
    return {"goodput_bits_per_s": round(8 * octets / seconds, 1) if seconds > 0 else 0, "seconds": round(seconds, 3), "octets": octets,
            "lost_segments": way["lostData"], "printed": text[-600:],
            "path": {"forward": way, "back": back, "programs": [it for it in map(parsed, text.splitlines()) if it], "socket": kept,
                     "segments": segments, **opening(folder / f"{'A' if trial.get('opener', 'A') == 'A' else 'B'}.pcap"),
                     "hops": trial["hops"], "merges": int(trial["offload"]), **timing, **late}}
