"""A chain of namespaces, A, R1, R2, B, one run over it, and its truth.

A host sends through the discipline of the first router (`up` of R1 toward R2, `down` of R2 toward R1), then that of the last one (`to_b`, `to_a`: the delay). The middle's capture is between both
routers: it has data behind its slowest link and before its delay. A is the client."""

import json
import os
import random
import signal
import socket
import subprocess
import time
from pathlib import Path

import packets
import trials
from machine import run
from namespaces import Namespaces

BUILT = os.environ.get("SHAPED_BUILT", "/var/tmp/course")
SPACES = {"A": "a", "R1": "r1", "R2": "r2", "B": "b"}
# Name of a place: namespace, interface.
PLACES = {"host_a": ("A", "eth0"), "host_b": ("B", "eth0"), "up": ("R1", "mid"), "down": ("R2", "mid"), "to_b": ("R2", "gb"), "to_a": ("R1", "ga"), "in_a": ("A", "ifb0"), "in_b": ("B", "ifb0")}
SINGLE = ("tso", "gso", "gro", "tx", "rx")


def quoted(rate):
    return f"{rate:.0f}bit"


class Course(Namespaces):
    PROGRAMS, PATIENCE_S = BUILT, 5

    def __init__(self, trial, folder, seed):
        super().__init__(trial, folder, SPACES)
        self.random = random.Random(seed)
        net = self.random.choice((f"10.{self.random.randrange(1, 250)}", f"172.{self.random.randrange(16, 32)}", "192.168"))
        base = self.random.randrange(4, 240)
        self.net = {it: f"{net}.{base + i}" for i, it in enumerate(("A", "m", "B", "S", "T"))}
        # Interfaces: S is the network of a station behind B, T of one behind A.
        self.host = {"A": f"{self.net['A']}.{self.random.randrange(10, 200)}", "B": f"{self.net['B']}.{self.random.randrange(10, 200)}"}
        self.address = dict(self.host)
        if trial.get("station") == "B":
            self.address["B"] = f"{self.net['S']}.7"
        if trial.get("station") == "A" or trial.get("stations"):
            self.address["A"] = f"{self.net['T']}.9"
            if trial.get("stations"):
                self.address["B"] = f"{self.net['S']}.7"
        self.sniffers, self.cable = [], None

    def start(self, end, command, name):
        for key, value in (("@S", f"{self.net['S']}.1"), ("@HA", self.host["A"]), ("@HB", self.host["B"]), ("@BROADCAST", f"{self.net['B']}.255"), ("@CAST_A", f"{self.net['A']}.255"),
                           ("@NOBODY", f"{self.net['B']}.251"), ("@DEAD", f"{self.net['S']}.200"), ("@SEED", str(self.random.randrange(1, 9999))), ("{octets}", str(self.trial.get("octets", 0)))):
            command = command.replace(key, value)
        return super().start(end, command, name)

    def build(self):
        trial, net = self.trial, self.net
        words = [f"netns add {space}" for space in SPACES.values()]
        for end, name, peer, other in (("A", "eth0", "R1", "ga"), ("R1", "mid", "R2", "mid"), ("R2", "gb", "B", "eth0")):
            if peer != "B" or "cable" not in trial:
                words.append(f"link add {name} netns {SPACES[end]} type veth peer name {other} netns {SPACES[peer]}")
        self.batch(words)
        for end in SPACES:
            self.settings(end, {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1, "net.ipv4.conf.all.rp_filter": 0, "net.ipv4.tcp_no_metrics_save": 1,
                                "net.ipv4.ip_forward": int(end not in self.host or bool(trial.get("station") or trial.get("stations")))})
        if "cable" in trial:
            self.lay_cable()
        addresses = (("A", "eth0", f"{self.host['A']}/24"), ("R1", "ga", f"{net['A']}.1/24"), ("R1", "mid", f"{net['m']}.1/30"), ("R2", "mid", f"{net['m']}.2/30"), ("R2", "gb", f"{net['B']}.1/24"),
                     ("B", "eth0", f"{self.host['B']}/24"))
        for end in SPACES:
            words = ["link set lo up"]
            for _, name, it in (one for one in addresses if one[0] == end):
                words.append(f"addr add {it} broadcast + dev {name}")
                if not (name in ("gb", "eth0") and end in ("R2", "B") and "cable" in trial):
                    merges = trial.get("merges") and end in ("A", "B")
                    self.inside(end, "ethtool", "-K", name, *(word for it in SINGLE for word in (it, "on" if merges else "off")))
                if name == "mid" and "link_mtu" in trial:
                    words.append(f"link set mid mtu {trial['link_mtu']}")
                words.append(f"link set {name} up txqueuelen {trial.get('tap_queue', 1000) if name == 'gb' or end == 'B' else 1000}")
            if trial.get("one_segment_each") and end == trial["sender"]:
                words.append("link set eth0 gso_max_segs 1")
            gateway = {"A": f"{net['A']}.1", "B": f"{net['B']}.1", "R1": f"{net['m']}.2", "R2": f"{net['m']}.1"}[end]
            words.append(f"route add default via {gateway} {trial.get('route', {}).get(end, '')}")
            self.batch(words, "-n", SPACES[end])
        if trial.get("station") == "B" or trial.get("stations"):
            self.add_station("B", "R2", net["S"], self.host["B"])
        if trial.get("station") == "A" or trial.get("stations"):
            self.add_station("A", "R1", net["T"], self.host["A"])
        for end in ("A", "B"):
            settings = {"tcp_congestion_control": trial["congestion"], "tcp_timestamps": trial["timestamps"], **trial.get("sysctl", {}).get("both", {}), **trial.get("sysctl", {}).get(end, {})}
            self.settings(end, {f"net.ipv4.{key}": value for key, value in settings.items()})
        for place, words in trial.get("disciplines", {}).items():
            end, device = PLACES[place]
            for it in words if isinstance(words, (list, tuple)) else [words]:
                self.inside(end, "tc", *(f"qdisc add dev {device} {it}" if it.startswith(("root", "parent")) else it.replace("@dev", device)).split())
        for end, words in trial.get("police", {}).items():
            place, device = {"A": ("R1", "ga"), "B": ("R2", "gb")}[end]
            self.inside(place, "tc", "qdisc", "add", "dev", device, "ingress")
            self.inside(place, "tc", *f"filter add dev {device} parent ffff: protocol all prio 1 matchall action police {words} conform-exceed drop".split())
        for end, words in trial.get("adapter", {}).items():
            self.ip(end, "link", "add", "ifb0", "type", "ifb")
            self.ip(end, "link", "set", "ifb0", "up", "txqueuelen", 1000)
            self.inside(end, "tc", *f"qdisc add dev ifb0 root {words}".split())
            device = {"R1": "ga", "R2": "gb"}.get(end, "eth0")
            self.inside(end, "tc", "qdisc", "add", "dev", device, "ingress")
            self.inside(end, "tc", *f"filter add dev {device} parent ffff: protocol ip prio 1 matchall action mirred egress redirect dev ifb0".split())
        for end in SPACES:
            if end in trial.get("nft", {}):
                for key, value in (("@A", self.address["A"]), ("@B", self.address["B"]), ("@DEAD", f"{net['S']}.200")):
                    trial["nft"][end] = trial["nft"][end].replace(key, value)
                    trial["nft"][end] = trial["nft"][end].replace("; }", "\n}\n")
            self.add_rules(end)
        if "resolver" in trial:
            text = trial["resolver"].replace("@DEAD", f"{net['S']}.200").replace("@B", self.address["B"])
            self.add_resolver("A", text)

    def batch(self, lines, *before):
        done = subprocess.run(["ip", *before, "-batch", "-"], input="\n".join(lines) + "\n", capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"ip {lines}: {done.stderr.strip()}")

    def settings(self, end, values):
        self.inside(end, "busybox", "sh", "-c", "".join(f"echo '{value}' > /proc/sys/{key.replace('.', '/')};" for key, value in values.items()))

    def lay_cable(self):
        words = [f"{BUILT}/cable", "near=r2", "dev=gb", "far=b", "peer=eth0", *self.trial["cable"].split()]
        self.cable = subprocess.Popen(words, stdout=open(self.folder / "cable.out", "w+"), stderr=subprocess.STDOUT, start_new_session=True)
        for _ in range(200):
            if "eth0" in subprocess.run(["ip", "-n", "b", "-o", "link", "show"], capture_output=True, text=True).stdout:
                return
            time.sleep(0.01)
        raise RuntimeError("no cable")

    def add_station(self, end, router, net, via):
        self.ip(end, "tuntap", "add", "st0", "mode", "tun")
        self.ip(end, "addr", "add", f"{net}.1/24", "dev", "st0")
        self.ip(end, "link", "set", "st0", "up", "txqueuelen", 2000)
        self.ip(router, "route", "add", f"{net}.0/24", "via", via)
        self.ip({"R1": "R2", "R2": "R1"}[router], "route", "add", f"{net}.0/24", "via", f"{self.net['m']}.{1 if router == 'R1' else 2}")

    def sniff(self, snap):
        for file, end, device in (("A", "A", "eth0"), ("B", "B", "eth0"), ("R", "R1", "mid")):
            err = open(self.folder / f"{file}.err", "w+")
            it = subprocess.Popen(["ip", "netns", "exec", SPACES[end], "tcpdump", "-n", "-i", device, "-s", str(snap), "-B", "24000", "-Z", "root", "-w", str(self.folder / f"{file}.pcap")],
                                  stdout=subprocess.DEVNULL, stderr=err, start_new_session=True)
            self.sniffers.append((it, err))
        for it, err in self.sniffers:
            for _ in range(400):
                err.seek(0)
                if "listening" in err.read():
                    break
                time.sleep(0.01)
            else:
                raise RuntimeError("tcpdump does not start")

    def end_sniffers(self):
        missed = 0
        for it, err in self.sniffers:
            if it.poll() is None:
                it.send_signal(signal.SIGINT)
            it.wait(20)
            err.seek(0)
            for line in err.read().splitlines():
                if "dropped by kernel" in line:
                    missed += int(line.split()[0])
        self.sniffers = []
        return missed

    def wait_for(self, ports, end="B"):
        for _ in range(800):
            there = run("ip", "netns", "exec", SPACES[end], "ss", "-Hltun")
            if all(f":{port} " in there for port in ports):
                return
            time.sleep(0.1)
        raise RuntimeError(f"no program listens on {ports}: {there}")

    def dropped(self):
        """Packets that disciplines and policers dropped, by place."""
        counts, rows = {}, {}
        for end, space in SPACES.items():
            rows[end] = json.loads(subprocess.run(["ip", "netns", "exec", space, "tc", "-s", "-j", "qdisc", "show"], capture_output=True, text=True).stdout or "[]")
        for name, (end, device) in {**PLACES, "police_a": ("R1", "ga"), "police_b": ("R2", "gb")}.items():
            is_police = name.startswith("police")
            counts[name] = sum(it.get("drops", 0) for it in rows[end] if it["dev"] == device and (it["kind"] == "ingress" if is_police else it.get("root")))
        return {key: value for key, value in counts.items() if value}

    def kernel(self, end):
        wanted = ("TcpRetransSegs", "TcpExtTCPTimeouts", "TcpExtTCPLossProbes", "TcpExtTCPFastRetrans", "TcpExtTCPSpuriousRTOs", "TcpExtTCPDSACKRecv", "TcpInCsumErrors", "TcpExtTCPSACKReorder",
                  "TcpExtTCPTSReorder", "TcpExtTCPZeroWindowDrop", "TcpExtTCPToZeroWindowAdv", "TcpExtDelayedACKs", "TcpExtListenDrops", "UdpNoPorts", "IpInHdrErrors", "TcpExtTCPAbortOnData",
                  "TcpOutRsts", "TcpEstabResets")
        text = run("ip", "netns", "exec", SPACES[end], "nstat", "-asz", *wanted)
        return {row.split()[0]: int(row.split()[1]) for row in text.splitlines() if not row.startswith("#") and int(row.split()[1])}

    def sample(self, end, seen):
        """What limits the sender's sockets, by `ss -ti`; the longest round trip."""
        text = subprocess.run(["ip", "netns", "exec", SPACES[end], "ss", "-Htinm", "state", "established", "state", "fin-wait-1", "state", "close-wait", "state", "last-ack"], capture_output=True, text=True).stdout
        for line in text.splitlines():
            if "cwnd:" not in line:
                continue
            found = dict(it.split(":", 1) for it in line.split() if ":" in it)
            busy = found.get("busy", "0ms")
            if int(busy.rstrip("ms") or 0) < seen.get("busy_ms", 0):
                continue
            seen["busy_ms"] = int(busy.rstrip("ms") or 0)
            for key in ("rwnd_limited", "sndbuf_limited"):
                if key in found:
                    seen[key] = float(found[key].split("(")[1].rstrip("%)")) / 100
            seen["rtt_ms"] = max(seen.get("rtt_ms", 0), float(found["rtt"].split("/")[0]))
            seen["minrtt_ms"] = float(found.get("minrtt", found["rtt"].split("/")[0]))
            if "skmem" in found:
                seen["sndbuf"] = int(found["skmem"].split(",tb")[1].split(",")[0])
            seen["cwnd"] = max(seen.get("cwnd", 0), int(found["cwnd"]))

    def __exit__(self, *_):
        for it, _err in self.sniffers:
            if it.poll() is None:
                it.kill()
        if self.cable and self.cable.poll() is None:
            self.cable.terminate()
            self.cable.wait(5)
        super().__exit__()
        folder = Path("/etc/netns/a")
        if folder.exists():
            subprocess.run(["rm", "-rf", str(folder)], check=False)


DATA_WAY = {"A": ("host_a", "police_a", "up", "to_b", "in_b"), "B": ("host_b", "police_b", "down", "to_a", "in_a")}


def printed_by(text):
    return [it for it in (trials.parsed(line) for line in text.splitlines()) if it]


def perform(trial, folder, seed, _lane):
    with Course(trial, folder, seed) as net:
        net.sniff(trial.get("snap", 192))
        servers = trial["server"] if isinstance(trial.get("server"), list) else [trial["server"]] if trial.get("server") else []
        started = [net.start("B", it, f"server{i}") for i, it in enumerate(servers)]
        started += [net.start(end, it, f"aside{i}") for i, (end, it) in enumerate(trial.get("asides", []))]
        net.wait_for(trial.get("ports", []))
        time.sleep(0.3)
        beside = [net.start(end, it, f"beside{i}") for i, (end, it) in enumerate(trial.get("beside", []))]
        time.sleep(trial.get("beside_s", 0))
        begun, seen, events = time.monotonic(), {}, sorted(trial.get("events", []))
        client = net.start("A", trial["client"], "client")
        is_ended = False
        while client.poll() is None:
            passed = time.monotonic() - begun
            if passed > trial.get("most_s", 30):
                is_ended = True
                break
            while events and events[0][0] <= passed:
                _, end, words = events.pop(0)
                net.inside(end, "sh", "-c", words)
            if int(passed / 0.7) != seen.get("at"):
                seen["at"] = int(passed / 0.7)
                net.sample(trial["sender"], seen)
            time.sleep(0.05)
        net.sample(trial["sender"], seen)
        text = net.stop(client)
        time.sleep(trial.get("settle_s", 0.6))
        texts = [net.stop(it) for it in beside + started]
        time.sleep(0.2)
        missed = net.end_sniffers()
        drops, filtered, kernel = net.dropped(), net.filtered(), {it: net.kernel(it) for it in ("A", "B")}
        sender_address = socket.inet_aton(net.address[trial["sender"]])
        if net.cable:
            net.cable.terminate()
            net.cable.wait(5)
            texts.append((Path(folder) / "cable.out").read_text())
    if missed:
        trials.disturbed(f"captures miss {missed} packets")
    end = "B" if trial["sender"] == "A" else "A"
    _, there = packets.read(Path(folder) / f"{end}.pcap")
    octets, seconds, segments = packets.delivered(there, sender_address)
    lost = sum(drops.get(it, 0) for it in DATA_WAY[trial["sender"]]) + sum(value for key, value in filtered.items() if key in trial.get("counts", ("filtered_R1", "filtered_R2")))
    programs = [it for one in (text, *texts) for it in printed_by(one)]
    seen.pop("at", None)
    return {"goodput_bits_per_s": round(octets * 8 / seconds) if seconds > 0 else 0, "octets": octets, "seconds": round(seconds, 3), "segments": segments, "lost_segments": lost, "ended": is_ended,
            "path": {"dropped": drops, **filtered, "kernel": kernel, "socket": seen, "programs": programs, **trials.opening(Path(folder) / "A.pcap"), "hosts_merge": bool(trial.get("merges"))},
            "printed": " | ".join((text, *texts))[:600]}
