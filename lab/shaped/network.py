"""The chain of namespaces: A and B, a hop before each (P and Q: bridges or routers), two routers between them (M and N), where the kernel shapes."""

import json
import os
import random
import re
import socket
import subprocess
import time
from pathlib import Path

import packets
from machine import Lateness, run
from namespaces import QUIET, Namespaces
from trials import disturbed, opening, parsed

HERE = Path(__file__).resolve().parent
BUILT = Path(os.environ.get("SHAPED_BUILT", "/var/tmp/shaped"))
LINKS = (("A", "eth0", "P", "w"), ("P", "e", "M", "w"), ("M", "e", "N", "w"), ("N", "e", "Q", "w"), ("Q", "e", "B", "eth0"))
# Where each direction is shaped, delayed, and policed (as it arrives).
WAYS = {"A": {"shape": ("M", "e"), "delay": ("N", "e"), "early": ("P", "e"), "arrival": ("N", "w")},
        "B": {"shape": ("N", "w"), "delay": ("M", "w"), "early": ("Q", "w"), "arrival": ("M", "e")}}
COUNTED = ("RetransSegs", "TCPTimeouts", "ListenDrops", "TCPSackRecovery", "TCPRenoRecovery", "TCPDSACKRecv", "InCsumErrors", "FragFails", "TCPFromZeroWindowAdv",
           "InErrors", "RcvbufErrors", "OutRsts", "TCPSpuriousRTOs", "TCPLossProbes", "TCPSACKReorder", "TCPOFOQueue", "TCPBacklogDrop")


def other(end):
    return "B" if end == "A" else "A"


class Chain(Namespaces):
    PROGRAMS, PATIENCE_S = str(HERE / "ends" / "ends.py"), 3

    def __init__(self, trial, folder, seed, lane):
        super().__init__(trial, folder, {it: f"s{it}{lane}" for it in "APMNQB"})
        self.random = random.Random(seed)
        self.hops = {it: trial.get("hops", {}).get(it) or self.random.choice(("bridge", "router")) for it in "PQ"}
        self.is_translated = self.hops["P"] == "router" and not trial.get("not_translated") and self.random.random() < 0.4
        first = self.random.choice(("10.{}.{}", "192.168.{1}", "172.20.{1}", "10.{}.{}"))
        numbers = self.random.sample(range(1, 250), 5)
        self.nets = [first.format(self.random.randrange(1, 250), it) for it in numbers]
        self.last = {it: self.random.randrange(10, 240) for it in "AB"}
        self.address = {"A": f"{self.nets[0]}.{self.last['A']}", "B": f"{self.nets[4]}.{self.last['B']}"}

    def seen(self, end):
        """The address of an end as the other one sees it."""
        return f"{self.nets[1]}.2" if end == "A" and self.is_translated else self.address[end]

    def device(self, end):
        return "tap0" if end in self.trial.get("boards", "") else "eth0"

    def build(self):
        trial, batch = self.trial, []
        run("ip", "-batch", self.written("spaces", [f"netns add {it}" for it in self.space.values()]))
        for near, inner, far, outer in LINKS:
            batch.append(f"link add {inner} netns {self.space[near]} type veth peer name {outer} netns {self.space[far]}")
        run("ip", "-batch", self.written("links", batch))
        nets = self.nets
        ends = {"A": (nets[0], "P", "w", "e", "M", "w", nets[1]), "B": (nets[4], "Q", "e", "w", "N", "e", nets[3])}
        self.set_kernel()
        routes = {it: [] for it in self.space}
        for end, (net, hop, inner, outer, router, device, between) in ends.items():
            lines = routes[end]
            if end in trial.get("boards", ""):
                lines += ["link add br0 type bridge forward_delay 0", "tuntap add tap0 mode tap", "link set tap0 master br0 up", "link set eth0 master br0",
                          "link set br0 up", "link set eth0 up"]
            else:
                lines += [f"addr add {self.address[end]}/24 dev eth0", "link set eth0 up",
                          f"route add default via {net}.1 {trial.get('routes', {}).get(end, '')}"]
            if self.hops[hop] == "bridge":
                routes[hop] += ["link add br0 type bridge forward_delay 0", "link set w master br0 up", "link set e master br0 up", "link set br0 up"]
                routes[router] += [f"addr add {net}.1/24 dev {device}", f"link set {device} up"]
            else:
                routes[hop] += [f"addr add {net}.1/24 dev {inner}", f"addr add {between}.2/24 dev {outer}", "link set w up", "link set e up",
                                f"route add default via {between}.1"]
                routes[router] += [f"addr add {between}.1/24 dev {device}", f"link set {device} up", f"route add {net}.0/24 via {between}.2"]
        routes["M"] += [f"addr add {nets[2]}.1/24 dev e", "link set e up"]
        routes["N"] += [f"addr add {nets[2]}.2/24 dev w", "link set w up"]
        tunnel = trial.get("tunnel")
        if tunnel:
            self.add_tunnel(tunnel, routes)
        else:
            routes["M"].append(f"route add default via {nets[2]}.2")
            routes["N"].append(f"route add default via {nets[2]}.1")
        for it, lines in routes.items():
            if tunnel == "wireguard" and it in "MN":
                self.add_wireguard(it, lines)
            else:
                run("ip", "-n", self.space[it], "-batch", self.written(f"routes-{it}", lines))
        for it, mtu in trial.get("mtu", {}).items():
            self.ip(it[0], "link", "set", it[1:], "mtu", mtu)
        self.shape()
        for it, command in trial.get("setup", ()):
            self.inside(it, "bash", "-c", command)
        if self.is_translated:
            (self.folder / "translate.nft").write_text('table ip out { chain c { type nat hook postrouting priority 100; oifname "e" masquerade; }\n}\n')
            self.inside("P", "nft", "-f", self.folder / "translate.nft")
        for it in trial.get("nft", {}):
            self.add_rules(it)
        if trial.get("resolver"):
            self.add_resolver("A", trial["resolver"].replace("@B", self.address["B"]).replace("@N", f"{nets[2]}.2"))

    def written(self, name, lines):
        file = self.folder / name
        file.write_text("\n".join(lines) + "\n")
        return file

    def set_kernel(self):
        """Sysctls, and offloads: the hops segment; hosts do so if the trial wants it."""
        merges = self.trial.get("merges")
        for it in self.space:
            values = [*QUIET, "net.ipv4.ip_forward=1"] if it in "PMNQ" else [
                *QUIET, f"net.ipv4.tcp_congestion_control={self.trial['congestion']}", f"net.ipv4.tcp_timestamps={self.trial['timestamps']}",
                "net.ipv4.tcp_no_metrics_save=1", *self.trial.get("sysctl", {}).get(it, ())]
            devices = ("w", "e") if it in "PMNQ" else ("eth0",)
            hosts = it in "AB" and merges
            words = "tx on sg on tso on gso on gro on" if hosts else "tso off gso off gro off tx off"
            commands = [f"sysctl -qw {' '.join(repr(value) for value in values)}", "ip link set lo up"]
            for device in devices:
                commands.append(f"ethtool -K {device} {words} >/dev/null 2>&1")
                if hosts:
                    commands.append(f"echo {merges} > /sys/class/net/{device}/gro_flush_timeout; echo 1 > /sys/class/net/{device}/napi_defer_hard_irqs")
            self.inside(it, "bash", "-c", "; ".join(commands))

    def add_tunnel(self, tunnel, routes):
        for it, number, peer in (("M", 1, 2), ("N", 2, 1)):
            local, remote = f"{self.nets[2]}.{number}", f"{self.nets[2]}.{peer}"
            if tunnel == "gre":
                routes[it].append(f"link add tun type gre local {local} remote {remote} ttl 64")
            elif tunnel == "vxlan":
                routes[it].append(f"link add tun type vxlan id 42 local {local} remote {remote} dstport 4789")
            else:
                continue
            routes[it] += [f"addr add 10.254.7.{number}/24 dev tun", f"link set tun mtu {self.trial.get('tunnel_mtu', 1450)} up", f"route add default via 10.254.7.{peer}"]

    def add_wireguard(self, it, lines):
        keys = self.folder / "keys"
        if not keys.exists():
            private = {end: run("wg", "genkey").strip() for end in "MN"}
            public = {end: subprocess.run(["wg", "pubkey"], input=key, capture_output=True, text=True, check=True).stdout.strip() for end, key in private.items()}
            keys.write_text(json.dumps([private, public]))
        private, public = json.loads(keys.read_text())
        number, peer, far = (1, 2, "N") if it == "M" else (2, 1, "M")
        file = self.written(f"wireguard-{it}", ["[Interface]", f"PrivateKey = {private[it]}", "ListenPort = 51820", "[Peer]", f"PublicKey = {public[far]}",
                                                "AllowedIPs = 0.0.0.0/0", f"Endpoint = {self.nets[2]}.{peer}:51820"])
        run("ip", "-n", self.space[it], "-batch", self.written(f"routes-{it}", [*lines, "link add tun type wireguard"]))
        self.inside(it, "wg", "setconf", "tun", file)
        more = [f"addr add 10.254.7.{number}/24 dev tun", f"link set tun mtu {self.trial.get('tunnel_mtu', 1420)} up", f"route add default via 10.254.7.{peer}"]
        run("ip", "-n", self.space[it], "-batch", self.written(f"more-{it}", more))

    def shape(self):
        """`data` and `acks` of a trial: lines of tc by place; @ is the device."""
        trial, sender = self.trial, self.trial["sender"]
        wanted = {}
        nic = trial.get("nic", "1gbit")
        for it in ("A", "B"):
            hop, device = ("P", "w") if it == "A" else ("Q", "e")
            wanted[it, "eth0"] = [f"qdisc add dev @ root netem limit 20000 rate {nic}"]
            wanted[hop, device] = [f"qdisc add dev @ root netem limit 20000 rate {nic}"]
        half = trial["rtt_ms"] / 2
        for it, places in ((sender, trial.get("data", {})), (other(sender), trial.get("acks", {}))):
            for place in ("shape", "delay", "early", "arrival"):
                lines = places.get(place)
                if place == "delay" and lines is None:
                    lines = [f"qdisc add dev @ root netem limit 40000 delay {half:.3f}ms"]
                if lines:
                    wanted[WAYS[it][place]] = wanted.get(WAYS[it][place], []) + lines
            if places.get("host"):
                wanted[it, "eth0"] = places["host"]
            if places.get("last"):
                wanted[("Q", "e") if it == "A" else ("P", "w")] = places["last"]
        for (space, device), lines in wanted.items():
            file = self.written(f"tc-{space}-{device}", [it.replace("@", device) for it in lines])
            run("tc", "-n", self.space[space], "-batch", file)
        self.shaped = wanted

    def counters(self):
        """What the disciplines of each way sent and dropped; what the policers dropped."""
        found = {}
        for name, end in (("data", self.trial["sender"]), ("acks", other(self.trial["sender"]))):
            places = {**WAYS[end], "last": ("Q", "e") if end == "A" else ("P", "w"), "host": (end, "eth0")}
            for place, (space, device) in places.items():
                if (space, device) not in self.shaped:
                    continue
                if place == "arrival":
                    text = run("tc", "-n", self.space[space], "-s", "filter", "show", "dev", device, "parent", "ffff:")
                    found[f"{name}_policed"] = sum(int(it) for it in re.findall(r"dropped (\d+)", text)[:1])
                    continue
                found[f"{name}_{place}"] = self.discipline(space, device)
        return found

    def discipline(self, space, device):
        """The root of an interface: its kind, the packets that it sent and dropped, those that it marked."""
        text = next(it for it in run("tc", "-n", self.space[space], "-s", "qdisc", "show", "dev", device).split("qdisc ") if " root " in it)
        sent, dropped = re.search(r"Sent \d+ bytes (\d+) pkts? \(dropped (\d+)", text).groups()
        marked = re.search(r"(?:ecn_mark|marked) (\d+)", text)
        return {"kind": text.split()[0], "packets": int(sent), "dropped": int(dropped), **({"marked": int(marked[1])} if marked and int(marked[1]) else {})}

    def extra_counters(self):
        """What a mirror port, and the ring of a board, dropped."""
        found = {}
        if self.trial.get("mirror"):
            space = "M" if (self.trial["sender"] == "A") != bool(self.trial.get("middle_far")) else "N"
            found["mirror_dropped"] = self.discipline(space, "mirrored")["dropped"]
        for end in self.trial.get("boards", ""):
            shown = json.loads(run("ip", "-n", self.space[end], "-s", "-j", "link", "show", "tap0"))
            found["ring_dropped"] = shown[0]["stats64"]["tx"]["dropped"]
        return found

    def kernel_counters(self, end):
        text = self.inside(end, "cat", "/proc/net/snmp", "/proc/net/netstat").splitlines()
        found = {}
        for names, values in zip(text[::2], text[1::2]):
            for name, value in zip(names.split()[1:], values.split()[1:]):
                if name in COUNTED and int(value):
                    found[name] = found.get(name, 0) + int(value)
        return found

    def socket_state(self):
        """The socket of the sender with most data, as `ss -ti` states it."""
        best = {}
        for text in self.inside(self.trial["sender"], "ss", "-tinH").split("ESTAB")[1:]:
            state = {key: float(value) for key, value in re.findall(r"\b(mss|cwnd|bytes_acked|bytes_retrans|minrtt|rtt):([\d.]+)", text)}
            state.update({key: float(value) for key, value in re.findall(r"\b(busy|rwnd_limited|sndbuf_limited):(\d+)ms", text)})
            if state.get("bytes_acked", 0) > best.get("bytes_acked", 0):
                best = state
        return best


def captures(chain):
    trial, found = chain.trial, []
    snap = 1600 if trial.get("whole_frames") else 192
    near = (trial["sender"] == "A") != bool(trial.get("middle_far"))
    for name, space, device in (("A", "A", chain.device("A")), ("B", "B", chain.device("B")), ("R", "M" if near else "N", "w" if near else "e")):
        if name == "R" and trial.get("mirror"):
            space, device = "M" if near else "N", "mirror"
        words = ["tcpdump", "-i", device, "-s", snap, "-B", "32768", "-w", chain.folder / f"{name}.pcap", "-Z", "root", "-nn"]
        found.append((name, chain.begin(space, words, f"tcpdump-{name}")))
    return found


def measure(chain, states):
    """Runs the programs of the trial; returns what they print."""
    trial, began, running = chain.trial, time.monotonic(), []
    due = [(it.get("after", 0.0), "program", it) for it in trial["programs"]] + [(at, "event", (end, words)) for at, end, words in trial.get("events", ())]
    due.sort(key=lambda it: it[0])
    sampled, limit = 0.0, trial.get("limit_s", 40)
    while True:
        now = time.monotonic() - began
        while due and due[0][0] <= now:
            _, kind, it = due.pop(0)
            if kind == "program":
                octets = str(int(trial.get("octets", 0)))
                command = it["run"].replace("{octets}", octets).replace("@S", str(HERE)).replace("@L", str(BUILT))
                command = command.replace("@GA", f"{chain.nets[0]}.1").replace("@GB", f"{chain.nets[4]}.1")
                running.append((it, chain.start(it["at"], command, it["name"])))
            else:
                chain.inside(it[0], "bash", "-c", it[1])
        mains = [process for it, process in running if it.get("main")]
        if not any(kind == "program" and it.get("main") for _, kind, it in due) and all(it.poll() is not None for it in mains):
            break
        if now > limit:
            break
        if now - sampled >= 0.8 and trial["sender"] not in trial.get("boards", ""):
            sampled = now
            states.append(chain.socket_state())
        time.sleep(0.05)
    time.sleep(trial.get("rest_s", 0.4))
    return [(it["name"], chain.stop(process, 2)) for it, process in running]


def perform(trial, folder, seed, lane):
    """One run of a trial: its captures in `folder`, and its truth."""
    with Chain(trial, folder, seed, lane) as chain:
        if trial.get("make_file"):
            run("truncate", "-s", int(trial["octets"]), folder / "data.bin")
        os.chmod(folder, 0o755)
        running = captures(chain)
        time.sleep(0.5)
        thread, states = Lateness(), []
        for command in trial.get("before", ()):
            chain.start("B", command.replace("@S", str(HERE)).replace("@L", str(BUILT)).replace("@GB", f"{chain.nets[4]}.1"), f"before-{len(chain.processes)}")
        time.sleep(0.6)
        thread.start()
        printed = measure(chain, states)
        late = thread.end()
        counts, filtered = chain.counters(), chain.filtered()
        kernel = {it: chain.kernel_counters(it) for it in "AB"}
        routers = [chain.kernel_counters(it).get("FragFails", 0) for it in "MN"]
        counts.update(chain.extra_counters())
        # What a capture has not read yet, it reads within a second.
        time.sleep(1.3)
        for name, process in running:
            text = chain.stop(process, 3, by=2)
            missed = re.search(r"(\d+) packets? dropped by kernel", text)
            if missed and int(missed[1]):
                disturbed(f"the capture {name} misses {missed[1]} packets")
        if late["late_p99_ms"] > 2 or late["late_max_ms"] > 20:
            disturbed(f"{late}")
        sender = trial["sender"]
        receiver = other(sender)
        got = packets.read(folder / f"{receiver}.pcap")[1]
        octets, seconds, segments = packets.delivered(got, socket.inet_aton(chain.seen(sender) if receiver == "B" else chain.address[sender]))
        programs = [it for it in (parsed(line) for _, text in printed for line in text.splitlines()) if it]
        lost = sum(it["dropped"] for key, it in counts.items() if key.startswith("data_") and isinstance(it, dict)) + counts.get("data_policed", 0) + sum(
            value for key, value in filtered.items() if key[-1] in trial.get("loses_at", ""))
        kernel = {**{key: value for key, value in kernel.items() if value}, "FragFails": sum(routers),
                  "receiver_errors": sum(kernel[receiver].get(it, 0) for it in ("InCsumErrors", "InErrors"))}
        path = {**counts, **filtered, "kernel": kernel, "programs": programs[:4],
                "socket": max(states, key=lambda it: it.get("bytes_acked", 0), default={}), "segments": segments,
                **opening(folder / f"{trial.get('client', 'A')}.pcap"), "hops": chain.hops, "translated": chain.is_translated,
                "merges": int(bool(trial.get("merges"))), **late}
        return {"goodput_bits_per_s": round(8 * octets / seconds, 1) if seconds else 0.0, "seconds": round(seconds, 3), "octets": octets,
                "lost_segments": lost, "path": path, "printed": [(name, text[-300:]) for name, text in printed]}
