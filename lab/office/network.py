"""Two hosts behind two routers in network namespaces: A - R - S - B. Between R and S lies a cable (veth), or the program of `path`."""

import json
import random
import re
import shlex
import subprocess
import time
from pathlib import Path

import packets
from machine import NICE, Lateness, run
from namespaces import QUIET, Namespaces
from trials import disturbed, opening, parsed

HERE = Path(__file__).resolve().parent
BUILT = Path("/var/tmp/office")
NETSTAT = ("TCPTimeouts", "TCPLossProbes", "TCPSackRecovery", "TCPRenoRecovery", "TCPDSACKRecv", "TCPDSACKOfoRecv", "TCPSackReordering", "TCPTSReorder", "TCPFastRetrans",
           "TCPSlowStartRetrans", "DelayedACKs", "TCPToZeroWindowAdv", "TCPFromZeroWindowAdv", "TCPWantZeroWindowAdv", "TCPRcvCollapsed", "ListenDrops", "TCPOFOQueue",
           "TCPAbortOnTimeout", "TCPMTUPSuccess", "TCPSpuriousRTOs", "TCPDSACKIgnoredOld", "RetransSegs", "InCsumErrors", "AttemptFails", "EstabResets", "RcvbufErrors")


class Office(Namespaces):
    PATIENCE_S = 2
    PROGRAMS = str(HERE / "ends")

    def __init__(self, trial, folder, seed, lane):
        super().__init__(trial, folder, {end: f"office{lane}{end.lower()}" for end in "ARSB"})
        self.random = random.Random(seed)
        self.seed = seed
        pick = self.random.randrange
        kind = pick(3)
        nets = [(f"192.168.{pick(1, 250)}", f"192.168.{pick(251, 255)}"), (f"10.{pick(1, 99)}.{pick(256)}", f"10.{pick(100, 199)}.{pick(256)}"),
                (f"192.168.{pick(1, 250)}", f"172.{pick(16, 31)}.{pick(256)}")][kind]
        self.nets = nets
        self.address = {"A": f"{nets[0]}.{pick(2, 250)}", "R": f"{nets[0]}.254", "S": f"{nets[1]}.254", "B": f"{nets[1]}.{pick(2, 250)}"}
        self.host_b = self.address["B"]
        self.is_direct = bool(trial.get("direct"))
        if "small" in trial:
            # The user-space end lies behind B, whose capture is that of its cable.
            self.address["B"] = f"{nets[1][:nets[1].rindex('.')]}.{(int(nets[1].split('.')[2]) + 7) % 250}.{pick(2, 250)}"

    def build(self):
        trial, script = self.trial, []
        a, r, s, b = (self.space[it] for it in "ARSB")
        pick = self.random.randrange

        def mac():
            return f"{self.random.choice(('00:1b:21', '3c:52:82', 'b8:27:eb', '00:25:90', '00:80:e1', '24:0a:c4'))}:{pick(256):02x}:{pick(256):02x}:{pick(256):02x}"
        merges, fills = trial.get("merges", 0), trial.get("fills", 1)
        settings = [*QUIET, "net.ipv4.ip_forward=1", "net.ipv4.tcp_no_metrics_save=1", "net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"]
        self.add_spaces(*settings)
        for end in "AB":
            own = {"tcp_congestion_control": trial["congestion"], "tcp_timestamps": trial["timestamps"], **trial.get("sysctl", {}).get(end, {})}
            self.inside(end, "sysctl", "-qw", *(f"net.ipv4.{key}={value}" for key, value in own.items()))
        mtu = trial.get("mtu", 1500)
        script += [f"ip link add eth0 mtu {mtu} netns {a} address {mac()} type veth peer name a0 mtu {mtu} netns {r} address {mac()}",
                   f"ip link add eth0 mtu {mtu} netns {b} address {mac()} type veth peer name b0 mtu {mtu} netns {s} address {mac()}"]
        if self.is_direct:
            script.append(f"ip link add path0 mtu {mtu} netns {r} type veth peer name path0 mtu {mtu} netns {s}")
        else:
            words = [f"{way}.{key}={value}" for way in ("up", "down") for key, value in trial.get(way, {}).items()]
            words += [f"{key}={trial[key]}" for key in ("mismatch", "half") if key in trial]
            self.path = subprocess.Popen([*NICE, BUILT / "path", r, s, f"seed={self.seed}", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, start_new_session=True)
            if self.path.stdout.readline().strip() != "ready":
                raise RuntimeError("no path")
            for space in (r, s):
                script.append(f"ip -n {space} link set path0 mtu {mtu} txqueuelen 2000 address 02:00:00:00:00:{'01' if space == r else '02'}")
        for space, device, address, bits in ((a, "eth0", self.address["A"], 24), (r, "a0", self.address["R"], 24), (r, "path0", "100.64.0.1", 30),
                                             (s, "path0", "100.64.0.2", 30), (s, "b0", self.address["S"], 24), (b, "eth0", self.host_b, 24)):
            script.append(f"ip -n {space} addr add {address}/{bits} dev {device}; ip -n {space} link set {device} up")
        if not self.is_direct:
            script += [f"ip -n {r} neigh replace 100.64.0.2 lladdr 02:00:00:00:00:02 dev path0 nud permanent",
                       f"ip -n {s} neigh replace 100.64.0.1 lladdr 02:00:00:00:00:01 dev path0 nud permanent"]
        route = trial.get("route", {})
        script += [f"ip -n {a} route add default via {self.address['R']} {route.get('A', '')}", f"ip -n {b} route add default via {self.address['S']} {route.get('B', '')}",
                   f"ip -n {r} route add default via 100.64.0.2 {route.get('R', '')}", f"ip -n {s} route add default via 100.64.0.1 {route.get('S', '')}"]
        off = "tso off gso off gro off" if not merges else "gro on"
        for space in (a, b):
            script.append(f"ip netns exec {space} ethtool -K eth0 {off}{' tx off' if fills and not merges else ''} >/dev/null 2>&1 || true")
        if trial.get("ttl"):
            script.append(f"ip netns exec {b} sysctl -qw net.ipv4.ip_default_ttl={trial['ttl']}")
        for key, words in trial.get("tc", {}).items():
            space, device = {"A": (a, "eth0"), "B": (b, "eth0"), "up": (r, "path0"), "down": (s, "path0"), "to_b": (s, "b0"), "to_a": (r, "a0")}[key]
            for line in (words if isinstance(words, list) else [f"qdisc add dev DEV root {words}"]):
                script.append(f"tc -n {space} {line.replace('DEV', device)}")
        for end in "ARSB":
            if end in trial.get("also", {}):
                script += [f"ip netns exec {self.space[end]} {it}" for it in trial["also"][end]]
        run("bash", "-ec", "\n".join(script))
        for end in "ARSB":
            self.add_rules(end)
        if "small" in trial:
            words = [f"{key}={value}" for key, value in trial["small"].items()]
            self.small = subprocess.Popen([*NICE, BUILT / "small", b, self.address["B"], f"seed={self.seed}", *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL, text=True, start_new_session=True)
            if self.small.stdout.readline().strip() != "ready":
                raise RuntimeError("no small end")
            run("bash", "-ec", f"ip -n {b} link set small0 mtu {mtu} up; ip -n {b} route add {self.address['B']} dev small0; ip -n {s} route add {self.address['B']} via {self.host_b}")
        # Neighbours are known, but where the case wants to see how they are found.
        if not trial.get("cold"):
            run("bash", "-c", f"ip netns exec {a} ping -q -c1 -W1 {self.address['R']} >/dev/null; ip netns exec {b} ping -q -c1 -W1 {self.address['S']} > /dev/null; true")
        if "nat" in trial and trial["nat"]:
            self.inside("R", "nft", "add table ip nat; add chain ip nat out { type nat hook postrouting priority 100; }; add rule ip nat out oifname path0 masquerade")

    def __exit__(self, *them):
        for process in (getattr(self, "path", None), getattr(self, "small", None)):
            if process and process.poll() is None:
                process.kill()
                process.wait()
        super().__exit__(*them)

    def captures(self):
        mid = self.trial.get("mid", "in")
        near, device = ("R", "a0") if self.trial["sender"] == "A" else ("S", "b0")
        if self.trial.get("mid_far"):
            near, device = ("S", "b0") if near == "R" else ("R", "a0")
        places = {"A": ("A", "eth0"), "B": ("B", "eth0"), "R": (near, device if mid == "in" else "path0")}
        started = []
        for name, (end, interface) in places.items():
            process = subprocess.Popen(["ip", "netns", "exec", self.space[end], *NICE, "tcpdump", "-i", interface, "-n", "-p", "-s", str(self.trial.get("snap", 192)),
                                        "-B", "16384", "-U", "-w", str(self.folder / f"{name}.pcap"), "ip or arp"], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True,
                                       stdin=subprocess.DEVNULL, start_new_session=True)
            started.append(process)
        for process in started:
            line = process.stderr.readline()
            while line and "listening on" not in line:
                line = process.stderr.readline()
        return started

    def listens(self, end, ports, process):
        for _ in range(120):
            shown = self.inside(end, "ss", "-Hltun") if ports else ""
            if all(re.search(rf":{port}\s", shown) for port in ports):
                return
            if process.poll() is not None:
                raise RuntimeError(f"the server ended: {self.stop(process)[-300:]}")
            time.sleep(0.05)
        raise RuntimeError(f"nothing listens on {ports}: {self.stop(process)[-300:]}")

    def socket(self, end, best):
        """The kernel's account of the socket that has sent most."""
        text = subprocess.run(["ip", "netns", "exec", self.space[end], "ss", "-Htin", "state", "established"], capture_output=True, text=True).stdout
        for line in re.split(r"\n(?=\S)", text):
            found = dict(re.findall(r"\b(bytes_acked|bytes_retrans|cwnd|segs_out|reord_seen|dsack_dups|minrtt|reordering|unacked|notsent|mss):([\d.]+)", line))
            acked = int(found.get("bytes_acked", 0))
            if acked < best.get("bytes_acked", 1):
                continue
            best.clear()
            best.update({key: float(value) if "." in value else int(value) for key, value in found.items()})
            for key, value in re.findall(r"\b(rwnd_limited|sndbuf_limited):[\d.]+ms\(([\d.]+)%\)", line):
                best[key] = round(float(value) / 100, 3)
            for key in ("busy", "rtt"):
                it = re.search(rf"\b{key}:([\d.]+)", line)
                if it:
                    best[f"{key}_ms"] = float(it[1])
            it = re.search(r"retrans:\d+/(\d+)", line)
            best["resent"] = int(it[1]) if it else 0
            best["app_limited"] = int("app_limited" in line)

    def counters(self):
        counts = self.filtered()
        for end in "ARSB":
            shown = json.loads(run("tc", "-n", self.space[end], "-s", "-j", "qdisc", "show"))
            for it in shown:
                if it.get("drops") and it["kind"] != "htb" and it.get("dev") in ("eth0", "a0", "b0", "path0"):
                    key = f"tc_{end}_{it['dev']}_drops"
                    counts[key] = counts.get(key, 0) + it["drops"]
        for end in "AB":
            text = self.inside(end, "cat", "/proc/net/netstat", "/proc/net/snmp").splitlines()
            for keys, values in zip(text[::2], text[1::2]):
                for key, value in zip(keys.split()[1:], values.split()[1:]):
                    if key in NETSTAT and int(value) and (key != "RcvbufErrors" or keys.startswith("Udp:")):
                        counts[f"{end}_{key}"] = int(value)
        return counts


def perform(trial, folder, seed, lane):
    """One run; its truth."""
    octets = trial.get("octets", 0)

    def filled(text):
        return text.replace("{octets}", str(octets)).replace("{{", "{").replace("}}", "}")
    if "small" in trial:
        trial = {**trial, "small": {key: octets if value == "{octets}" else value for key, value in trial["small"].items()}}
    sender, opens = trial["sender"], trial.get("opens", "A")
    lateness = Lateness()
    with Office(trial, folder, seed, lane) as net:
        net.path = getattr(net, "path", None)
        net.small = getattr(net, "small", None)
        captures = []
        try:
            answers = "B" if opens == "A" else "A"
            server = None
            if trial.get("server"):
                server = net.start(answers, filled(trial["server"]), "server")
                net.listens(answers, trial.get("ports", []), server)
            if trial.get("resolver"):
                net.add_resolver(opens, trial["resolver"].replace("@B", net.address["B"]).replace("@S", net.address["S"]))
            others = [net.start(end, filled(command), f"before{i}") for i, (end, command) in enumerate(trial.get("before", []))]
            if others:
                time.sleep(trial.get("before_s", 0.5))
            captures = net.captures()
            lateness.start()
            others += [net.start(end, filled(command), f"beside{i}") for i, (end, command) in enumerate(trial.get("beside", []))]
            if trial.get("beside"):
                time.sleep(trial.get("beside_s", 0.3))
            client = net.start(opens, filled(trial["client"]), "client")
            until, best = time.monotonic() + trial.get("most_s", 26), {}
            actions = sorted(trial.get("actions", []))
            begun = time.monotonic()
            while client.poll() is None and time.monotonic() < until:
                time.sleep(0.1 if actions else 0.25)
                if int((time.monotonic() - begun) * 4) % 2:
                    net.socket(sender, best)
                while actions and time.monotonic() - begun >= actions[0][0]:
                    _, end, command = actions.pop(0)
                    subprocess.run(["ip", "netns", "exec", net.space[end], "bash", "-c", command], capture_output=True)
            texts = [net.stop(client)]
            time.sleep(0.15)
            for other in others:
                texts.append(net.stop(other, 0.7))
            if server:
                texts.append(net.stop(server, 0.7))
            late = lateness.end()
            time.sleep(0.9)
            missed = 0
            for process in captures:
                process.terminate()
            for process in captures:
                said = process.communicate()[1]
                it = re.search(r"(\d+) packets? dropped by kernel", said)
                missed += int(it[1]) if it else 0
            captures = []
            counts = net.counters()
        finally:
            if not lateness.ends and lateness.is_alive():
                lateness.end()
            for process in captures:
                process.kill()
            said = ""
            for process in (net.path, net.small):
                if process:
                    process.terminate()
                    said += process.communicate(timeout=5)[0] + "\n"
    printed = "\n".join(texts)
    programs = [it for it in map(parsed, printed.splitlines()) if it]
    way = {}
    for line in said.splitlines():
        found = parsed(line) or {}
        (programs.append if any(key.startswith("small_") for key in found) else way.update)(found)
    if missed:
        disturbed(f"captures missed {missed} packets")
    if late["late_p99_ms"] > 6 or late["late_max_ms"] > 80:
        disturbed(f"the machine was late: {late}")
    if way.get("path_late_max_ms", 0) > 45 or way.get("late_4ms_share", 0) > 0.01:
        disturbed(f"the path was late: {way['path_late_max_ms']} ms, {way['late_4ms_share']}")
    source = net.address[sender]
    if sender == "A" and trial.get("nat"):
        source = "100.64.0.1"
    receiver = "B" if sender == "A" else "A"
    packed = bytes(int(it) for it in source.split("."))
    delivered, seconds, _ = packets.delivered(packets.read(Path(folder) / f"{receiver}.pcap")[1], packed)
    direction = "up" if sender == "A" else "down"
    near, far = ("R", "S") if sender == "A" else ("S", "R")
    lost = sum(way.get(f"{direction}_lost_{it}", 0) for it in ("random", "burst", "queue", "ring", "mtu", "out", "duplex"))
    if "checksums" in trial:
        lost += way.get(f"{direction}_damaged", 0)
    lost += counts.get(f"tc_{near}_path0_drops", 0) + counts.get(f"tc_{far}_{'b0' if far == 'S' else 'a0'}_drops", 0)
    lost += sum(value for key, value in counts.items() if key.startswith("filtered_") and not trial.get("only_counts"))
    lost += counts.get(f"{receiver}_RcvbufErrors", 0)
    return {"octets": delivered, "seconds": round(seconds, 3), "goodput_bits_per_s": round(delivered * 8 / seconds) if seconds else 0, "lost_segments": lost,
            "path": {"counters": counts, "path": way, "socket": best, "programs": programs, **late, **opening(Path(folder) / f"{opens}.pcap")}, "printed": printed[-300:]}
