"""The path of lab/emulated, with a device on a TAP interface behind one end or both."""

import shlex

import packets
from network import ADDRESS, Network

# An end with a device is a router between eth0 and the TAP interface.
DEVICE = {"A": "10.53.0.2", "B": "10.53.4.2"}
GATE = {"A": "10.53.0.1", "B": "10.53.4.1"}
ROUTES = {"A": (("R", "10.53.1.2"), ("S", "10.53.2.1")), "B": (("S", "10.53.3.2"), ("R", "10.53.2.2"))}


class Hops(Network):
    """A - R - S - B, with the device behind B (or A, or both): `device` of a trial names the ends."""

    def __init__(self, trial, folder, programs):
        super().__init__(trial, folder, programs)
        self.devices = trial.get("device", "B")
        self.address = {it: DEVICE[it] if it in self.devices else ADDRESS[it] for it in "AB"}
        self.scripts = None

    def device(self, end):
        return "tap0" if end in self.devices else "eth0"

    def ip(self, end, *words):
        return super().ip(end, *words) if self.scripts is None else self.later(end, "ip", words)

    def inside(self, end, *words):
        return super().inside(end, *words) if self.scripts is None else self.later(end, words[0], words[1:])

    def later(self, end, program, words):
        """A command of `build`: each end's are run by one shell, ip's by one ip, since the emulated processor is slow to start programs."""
        lines = self.scripts[end]
        if program != "ip":
            lines.append((program, shlex.join(map(str, (program, *words)))))
        elif lines and lines[-1][0] == "ip":
            lines[-1] = ("ip", f"{lines[-1][1]}\n{' '.join(map(str, words))}")
        else:
            lines.append(("ip", " ".join(map(str, words))))

    def build(self):
        self.scripts = {it: [] for it in "ARSB"}
        self.lay()
        scripts, self.scripts = self.scripts, None
        for end, lines in scripts.items():
            text = "\n".join(f"ip -batch - <<END\n{text}\nEND" if program == "ip" else text for program, text in lines)
            self.inside(end, "sh", "-ec", text)

    def lay(self):
        super().build()
        for end in self.devices:
            self.ip(end, "tuntap", "add", "tap0", "mode", "tap")
            self.ip(end, "addr", "add", f"{GATE[end]}/24", "dev", "tap0")
            ring = self.trial.get("ring", {}).get(end)
            if ring:
                self.ip(end, "link", "set", "tap0", "txqueuelen", ring)
            self.ip(end, "link", "set", "tap0", "up")
            self.inside(end, "sysctl", "-qw", "net.ipv4.ip_forward=1", "net.ipv4.conf.all.send_redirects=0", "net.ipv4.conf.eth0.send_redirects=0")
            for hop, by in ROUTES[end]:
                self.ip(hop, "route", "add", DEVICE[end].rsplit(".", 1)[0] + ".0/24", "via", by)
        for end in self.trial.get("offloads", ""):
            # The host's interface segments, and its neighbour's takes what it is given.
            self.inside(end, "ethtool", "-K", "eth0", "tx", "on", "sg", "on", "tso", "on", "gso", "on")

    def sample(self):
        if any(f"{key}_rate" in self.trial for key in ("there", "back")):
            super().sample()

    def counters(self):
        counts = super().counters()
        for key in ("there", "back"):
            if f"{key}_rate" not in self.trial:
                del counts[key]["queue_octets_max"]
        for end in self.devices:
            statistics = self.inside(end, "cat", "/sys/class/net/tap0/statistics/tx_dropped")
            counts[f"ring_drops_{end}"] = int(statistics)
        return counts


def facts(folder, sender, own):
    """What the sender's capture counts: windows of zero and the largest one granted, segments sent again, the most in flight,
    full segments, the longest pause of the sender with data to acknowledge. `own` is its packed address."""
    most, acked, zero, again, flight, windows, sizes, connection = {}, {}, 0, 0, 0, 0, {}, {}
    for packet in packets.read(folder / f"{sender}.pcap")[1]:
        it = packets.payload(packet)
        if it is None or it[0] != 6:
            continue
        ip = packet[2][packet[4]:]
        at = (ip[0] & 15) * 4
        flags, window, ack = ip[at + 13], int.from_bytes(ip[at + 14:at + 16], "big"), int.from_bytes(ip[at + 8:at + 12], "big")
        if it[1] == own:
            ports, end = it[3], it[4] + it[5]
            connection.setdefault(ports, it[4])
            if it[5]:
                sizes[it[5]] = sizes.get(it[5], 0) + 1
                if end <= most.get(ports, 0):
                    again += 1
                most[ports] = max(most.get(ports, 0), end)
                if ports in acked:
                    flight = max(flight, most[ports] - acked[ports])
        else:
            ports = it[3][::-1]
            if flags & 16:
                acked[ports] = max(acked.get(ports, 0), ack)
            if not flags & 7:
                zero += window == 0
                windows = max(windows, window)
    usual = max(sizes, key=sizes.get) if sizes else 0
    return {"zero_windows": zero, "largest_window_field": windows, "sent_again": again, "most_in_flight": flight, "usual_segment": usual}
