"""A customer's site in namespaces: a device (A), the site's gateway with its switch (G) and another station on it (O), the provider (P), a server (B); one run over it, and its truth.

    A eth0 -- pa [switch in G] wan -- wan P lb -- eth0 B        O eth0 -- po [switch]

Packets from B pass: `host_b`, the policer `police_b`, `down` (the slow line), the middle's capture (at G's wan), `to_a` (delay, faults). Packets from A: `host_a`, `up`, the capture, `police_a`, `to_b`.
With `span` the device's cable is a program (ends/span.c), with `node` the device is one (ends/node.c); A's capture is then at the switch unless `inside`."""

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

BUILT = os.environ.get("SHAPED_BUILT", "/var/tmp/visits")
SPACES = {"A": "a", "G": "gw", "O": "o", "P": "isp", "B": "srv"}
PLACES = {"host_a": ("A", "eth0"), "host_b": ("B", "eth0"), "up": ("G", "wan"), "down": ("P", "wan"), "to_b": ("P", "lb"), "to_a": ("G", "pa")}
OFFLOADS = ("tso", "gso", "gro", "tx", "rx")
WANTED = ("TcpRetransSegs", "TcpExtTCPTimeouts", "TcpExtTCPLossProbes", "TcpExtTCPFastRetrans", "TcpExtTCPSpuriousRTOs", "TcpExtTCPDSACKRecv", "TcpInCsumErrors", "TcpExtTCPSACKReorder", "TcpExtTCPTSReorder",
          "TcpExtTCPToZeroWindowAdv", "TcpExtTCPWantZeroWindowAdv", "TcpExtDelayedACKs", "TcpExtListenDrops", "UdpNoPorts", "UdpInCsumErrors", "UdpRcvbufErrors", "TcpOutRsts", "TcpAttemptFails", "TcpEstabResets")
NOISE = {"net.ipv6.conf.all.disable_ipv6": 1, "net.ipv6.conf.default.disable_ipv6": 1, "net.ipv4.conf.all.rp_filter": 0, "net.ipv4.tcp_no_metrics_save": 1}


class Site(Namespaces):
    PROGRAMS, PATIENCE_S = BUILT, 5

    def __init__(self, trial, folder, seed):
        super().__init__(trial, folder, SPACES)
        self.random = random.Random(seed)
        home = self.random.choice((f"192.168.{self.random.randrange(0, 200)}", f"10.{self.random.randrange(1, 250)}.{self.random.randrange(0, 250)}", f"172.{self.random.randrange(17, 31)}.7"))
        far = f"{self.random.choice((81, 93, 151, 185))}.{self.random.randrange(10, 200)}.{self.random.randrange(10, 240)}"
        self.nets = {"home": home, "wan": "100.64.9", "far": far}
        self.address = {"A": f"{home}.{self.random.randrange(20, 90)}", "O": f"{home}.{self.random.randrange(100, 150)}", "B": f"{far}.{self.random.randrange(10, 200)}"}
        self.sniffers, self.extra = [], []

    def filled(self, text):
        for key, value in (("@OTHER", self.address["O"]), ("@CAST", f"{self.nets['home']}.255"), ("@NOBODY", f"{self.nets['home']}.251"), ("@GONE", f"{self.nets['far']}.249"),
                           ("@SEED", str(self.random.randrange(1, 9999))), ("{octets}", str(self.trial.get("octets", 0))), ("@A", self.address["A"]), ("@B", self.address["B"]), ("@D", str(self.folder)), ("@P", BUILT)):
            text = text.replace(key, value)
        return text

    def start(self, end, command, name):
        return super().start(end, self.filled(command), name)

    def script(self, lines):
        done = subprocess.run(["bash", "-e"], input="\n".join(lines) + "\n", capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"set-up: {done.stderr.strip()[:400]} in {lines}")

    def within(self, end, lines):
        done = subprocess.run(["ip", "netns", "exec", SPACES[end], "bash", "-e"], input="\n".join(lines) + "\n", capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"set-up of {end}: {done.stderr.strip()[:400]} in {lines}")

    def program(self, words, wanted):
        """Starts a program that makes interfaces; waits for them (namespace, name)."""
        out = open(self.folder / f"extra{len(self.extra)}.out", "w+")
        it = subprocess.Popen(self.filled(words).split(), stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
        self.extra.append((it, out))
        for space, name in wanted:
            for _ in range(200):
                if name in subprocess.run(["ip", "-n", space, "-o", "link", "show"], capture_output=True, text=True).stdout:
                    break
                time.sleep(0.01)
            else:
                raise RuntimeError(f"no {name}: {words}")

    def build(self):
        trial, nets = self.trial, self.nets
        is_made = "node" in trial or "span" in trial
        pairs = [("wan", "gw", "wan", "isp"), ("lb", "isp", "eth0", "srv"), ("po", "gw", "eth0", "o")] + ([] if is_made else [("pa", "gw", "eth0", "a")])
        self.script(["ip -batch - <<E", *(f"netns add {it}" for it in SPACES.values()), *(f"link add {a} netns {x} type veth peer name {b} netns {y}" for a, x, b, y in pairs), "E"])
        if "span" in trial:
            self.program(f"{BUILT}/span dev=a net=gw seed=@SEED {trial['span']}", (("gw", "pa"), ("a", "eth0")))
        if "node" in trial:
            self.program(f"{BUILT}/node net=gw ip=@A {trial['node']}", (("gw", "pa"),))
        merges = trial.get("merges")
        for end, space in SPACES.items():
            settings = dict(NOISE)
            if end in ("G", "P"):
                settings["net.ipv4.ip_forward"] = 1
            if end in ("A", "B", "O"):
                more = {"tcp_congestion_control": trial["congestion"], "tcp_timestamps": trial["timestamps"], **trial.get("sysctl", {}).get("both", {}), **trial.get("sysctl", {}).get(end, {})}
                settings.update({f"net.ipv4.{key}": value for key, value in more.items()})
            lines = [f"echo '{value}' > /proc/sys/{key.replace('.', '/')}" for key, value in settings.items()]
            devices = {"A": ["eth0"], "G": ["wan", "pa", "po"], "O": ["eth0"], "P": ["wan", "lb"], "B": ["eth0"]}[end]
            if end == "A" and "node" in trial:
                devices = []
            lines += [f"ethtool -K {it} " + " ".join(f"{one} {'on' if merges and end in ('A', 'B') else 'off'}" for one in OFFLOADS) for it in devices]
            lines.append("ip -batch - <<E")
            if end == "G":
                lines += ["link add br0 type bridge forward_delay 0", "link set pa master br0", "link set po master br0", "link set br0 up"]
            route = trial.get("route", {}).get(end, "")
            addresses = {"A": [(f"{self.address['A']}/24", "eth0")] if devices else [], "G": [(f"{nets['home']}.1/24", "br0"), (f"{nets['wan']}.2/30", "wan")], "O": [(f"{self.address['O']}/24", "eth0")],
                         "P": [(f"{nets['wan']}.1/30", "wan"), (f"{nets['far']}.1/24", "lb")], "B": [(f"{self.address['B']}/24", "eth0")]}[end]
            lines += [f"addr add {it} broadcast + dev {device}" for it, device in addresses] + [f"link set {it} up txqueuelen 1000" for it in ["lo", *devices]]
            if end in ("G", "P") and "line_mtu" in trial:
                lines.append(f"link set wan mtu {trial['line_mtu']}")
            gateway = {"A": f"{nets['home']}.1", "O": f"{nets['home']}.1", "B": f"{nets['far']}.1", "G": f"{nets['wan']}.1", "P": f"{nets['wan']}.2"}[end]
            if end != "A" or devices:
                lines.append(f"route add default via {gateway} {route}")
            lines.append("E")
            lines += [self.filled(it) for it in trial.get("setup", {}).get(end, [])]
            words = [(name, it) for name, (where, name_of) in PLACES.items() if where == end and name in trial.get("disciplines", {}) for it in [trial["disciplines"][name]]]
            for name, it in words:
                for one in it if isinstance(it, (list, tuple)) else [it]:
                    kind, rest = ("class", one[6:]) if one.startswith("class ") else ("qdisc", one)
                    lines.append(f"tc {kind} add dev {PLACES[name][1]} {rest}")
            for device, rule in trial.get("police", {}).get(end, {}).items():
                lines += [f"tc qdisc add dev {device} ingress", f"tc filter add dev {device} parent ffff: protocol all prio 1 matchall action police {rule} conform-exceed drop"]
            if end in trial.get("nft", {}):
                lines += ["nft -f - <<'E'", self.filled(trial["nft"][end]).replace("; }", "\n}\n"), "E"]
            self.within(end, lines)
        if "resolver" in trial:
            self.add_resolver("A", self.filled(trial["resolver"]))

    def sniff(self, snap):
        outside = ("span" in self.trial and not self.trial.get("inside")) or "node" in self.trial
        middle = {"wan": ("gw", "wan"), "lb": ("isp", "lb")}[self.trial.get("middle_at", "wan")]
        for file, space, device in (("A", "gw", "pa") if outside else ("A", "a", "eth0"), ("B", "srv", "eth0"), ("R", *middle)):
            err = open(self.folder / f"{file}.err", "w+")
            it = subprocess.Popen(["ip", "netns", "exec", space, "tcpdump", "-n", "-i", device, "-s", str(snap), "-B", "24000", "-Z", "root", "-w", str(self.folder / f"{file}.pcap")],
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
            missed += sum(int(line.split()[0]) for line in err.read().splitlines() if "dropped by kernel" in line)
        self.sniffers = []
        return missed

    def wait_for(self, ports, end):
        there = ""
        for _ in range(300):
            there = run("ip", "netns", "exec", SPACES[end], "ss", "-Hltun")
            if all(f":{port} " in there for port in ports):
                return
            time.sleep(0.1)
        raise RuntimeError(f"no program listens on {ports}: {there}")

    def dropped(self):
        """Packets that disciplines and policers dropped, by place."""
        counts = {}
        for end in ("A", "B", "G", "P"):
            rows = json.loads(subprocess.run(["ip", "netns", "exec", SPACES[end], "tc", "-s", "-j", "qdisc", "show"], capture_output=True, text=True).stdout or "[]")
            for name, (where, device) in PLACES.items():
                if where == end:
                    counts[name] = max([it.get("drops", 0) for it in rows if it["dev"] == device and it["kind"] != "ingress"] or [0])
            for device in self.trial.get("police", {}).get(end, {}):
                counts[f"police_{end}_{device}"] = sum(it.get("drops", 0) for it in rows if it["dev"] == device and it["kind"] == "ingress")
        return {key: value for key, value in counts.items() if value}

    def kernel(self, end):
        text = run("ip", "netns", "exec", SPACES[end], "nstat", "-asz", *WANTED)
        return {row.split()[0]: int(row.split()[1]) for row in text.splitlines() if not row.startswith("#") and int(row.split()[1])}

    def sample(self, end, seen):
        """What limits the sender's busiest socket, by `ss -ti`; its longest round trip."""
        text = subprocess.run(["ip", "netns", "exec", SPACES[end], "ss", "-Htinm", "state", "connected", "exclude", "syn-sent"], capture_output=True, text=True).stdout
        for line in text.splitlines():
            found = dict(it.split(":", 1) for it in line.split() if ":" in it)
            if "cwnd" not in found or "rtt" not in found or int(found.get("busy", "0ms").rstrip("ms") or 0) < seen.get("busy_ms", 0):
                continue
            seen["busy_ms"] = int(found.get("busy", "0ms").rstrip("ms") or 0)
            for key in ("rwnd_limited", "sndbuf_limited"):
                if key in found:
                    seen[key] = float(found[key].split("(")[1].rstrip("%)")) / 100
            seen["rtt_ms"] = max(seen.get("rtt_ms", 0), float(found["rtt"].split("/")[0]))
            seen["minrtt_ms"] = float(found.get("minrtt", found["rtt"].split("/")[0]))
            if "reord_seen" in found:
                seen["reord_seen"] = int(found["reord_seen"])
            seen["cwnd"] = max(seen.get("cwnd", 0), int(found["cwnd"]))

    def end_extra(self):
        texts = []
        for it, out in self.extra:
            if it.poll() is None:
                it.terminate()
                it.wait(5)
            out.seek(0)
            texts.append(out.read())
        self.extra = []
        return texts

    def __exit__(self, *_):
        for it, _err in self.sniffers:
            if it.poll() is None:
                it.kill()
        self.end_extra()
        super().__exit__()
        folder = Path("/etc/netns/a")
        if folder.exists():
            subprocess.run(["rm", "-rf", str(folder)], check=False)


WAY = {"A": ("host_a", "up", "to_b"), "B": ("host_b", "down", "to_a")}


def printed_by(text):
    return [it for it in (trials.parsed(line) for line in text.splitlines()) if it]


def many(it):
    return it if isinstance(it, list) else [it] if it else []


def perform(trial, folder, seed, _lane):
    with Site(trial, folder, seed) as site:
        client_at, server_at = trial.get("client_at", "A"), "A" if trial.get("client_at", "A") == "B" else "B"
        if trial.get("files"):
            for name, octets in trial["files"].items():
                size = int(site.filled(str(octets)))
                with open(Path(folder) / name, "wb") as file:
                    file.write(random.Random(seed).randbytes(min(size, 1 << 16)) * (size // (1 << 16) + 1))
                    file.truncate(size)
        started = [site.start(server_at, it, f"server{i}") for i, it in enumerate(many(trial.get("server")))]
        started += [site.start(end, it, f"aside{i}") for i, (end, it) in enumerate(trial.get("asides", []))]
        site.wait_for(trial.get("ports", []), server_at)
        time.sleep(0.3)
        site.sniff(trial.get("snap", 160))
        beside = [site.start(end, it, f"beside{i}") for i, (end, it) in enumerate(trial.get("beside", []))]
        time.sleep(trial.get("beside_s", 0))
        begun, seen, events, next_sample, is_ended = time.monotonic(), {}, sorted(trial.get("events", [])), 0.2, False
        client = site.start(client_at, trial["client"], "client")
        while client.poll() is None:
            passed = time.monotonic() - begun
            if passed > trial.get("most_s", 25):
                is_ended = True
                break
            while events and events[0][0] <= passed:
                _, end, words = events.pop(0)
                site.inside(end, "sh", "-c", words)
            if passed >= next_sample:
                next_sample += 0.8
                site.sample(trial["sender"], seen)
            time.sleep(0.02)
        text = site.stop(client)
        # tcpdump gets what the kernel has gathered a second later.
        time.sleep(1.6)
        texts = [site.stop(it) for it in beside + started]
        time.sleep(1.4)
        missed = site.end_sniffers()
        drops = site.dropped()
        site.trial = {**trial, "nft": {it: "" for it in trial.get("nft", {})}}
        filtered, kernel = site.filtered(), {it: site.kernel(it) for it in ("A", "B")}
        texts += site.end_extra()
        sender_address = socket.inet_aton(site.address[trial["sender"]])
    if missed:
        trials.disturbed(f"captures miss {missed} packets")
    there = packets.read(Path(folder) / f"{'B' if trial['sender'] == 'A' else 'A'}.pcap")[1]
    octets, seconds, segments = packets.delivered(there, sender_address)
    programs = [it for one in (text, *texts) for it in printed_by(one)]
    span = next((it for it in programs if it.get("program") == "span"), {})
    lost = sum(drops.get(it, 0) for it in WAY[trial["sender"]]) + sum(value for key, value in drops.items() if key.startswith("police"))
    lost += sum(value for key, value in filtered.items() if key in trial.get("counts", ("filtered_G", "filtered_P"))) + (span.get("unheard", 0) + span.get("garbled_in", 0) if trial["sender"] == "B" else span.get("garbled_out", 0))
    return {"goodput_bits_per_s": round(octets * 8 / seconds) if seconds > 0 else 0, "octets": octets, "seconds": round(seconds, 3), "segments": segments, "lost_segments": lost, "ended": is_ended,
            "path": {"dropped": drops, **filtered, "kernel": kernel, "socket": seen, "programs": programs, **trials.opening(Path(folder) / "A.pcap"), "hosts_merge": bool(trial.get("merges"))},
            "printed": " | ".join((text, *texts))[:500]}
