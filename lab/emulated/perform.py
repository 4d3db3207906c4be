"""One run of a trial within the emulated machine."""

import ipaddress
import os
import re
import signal
import subprocess
import time
from functools import partial

import machine
import packets
from network import MIDDLE
from trials import disturbed, opening, parsed

# The machine has a clock of its own, but reads its programs from the host's files, in a time of their own.
PROGRAM_P99_MS, PROGRAM_MAX_MS = 4.0, 60.0
FORMATS = ("pcap", "pcap", "pcapng", "nsecpcap")

machine.NICE[:] = []


class Lateness(machine.Lateness):
    """With the priority of the programs."""

    def run(self):
        while not self.ends:
            until = time.monotonic() + 0.01
            time.sleep(0.01)
            self.late.append(time.monotonic() - until)


def performer(network, programs):
    """`network` is the topology, `programs` the file with the set's own programs."""
    return partial(perform, network, programs)


def perform(network, programs, trial, folder, seed, lane):
    """One run. Returns its truth; A.pcap, B.pcap and R.pcap (the middle) stay in `folder`."""
    count = str(int(trial.get("octets", 0)))
    with network(trial, folder, programs) as net:
        for name, text in trial.get("files", {}).items():
            (folder / name).write_text(text.replace("@D", str(folder)).replace("@B", net.address["B"]).replace("@A", net.address["A"]))
        watch, dumps = Lateness(), []
        middle = MIDDLE[trial["sender"]]
        for name, space, device in (("A", "A", net.device("A")), ("B", "B", net.device("B")), ("R", *middle)):
            words = ["tcpdump", "-i", device, "-B", "8192", "-s", "2000", "-n", "-w", folder / f"{name}.pcap"]
            dumps.append(net.begin(space, words, f"dump-{name}"))
        servers = [net.start(end, command.replace("@N", count), f"server-{at}") for at, (end, command) in enumerate(trial["servers"])]
        time.sleep(1.5)
        watch.start()
        client = net.start(trial.get("client_at", "A"), trial["client"].replace("@N", count), "client")
        begun, sockets = time.monotonic(), {}
        until, events = begun + trial.get("longest", 22), list(trial.get("events", []))
        while client.poll() is None and time.monotonic() < until:
            try:
                client.wait(min(0.6, max(0.01, begun + events[0][0] - time.monotonic())) if events else 0.6)
            except subprocess.TimeoutExpired:
                pass
            if events and time.monotonic() >= begun + events[0][0]:
                _, end, *words = events.pop(0)
                net.inside(end, *words)
                continue
            net.sample()
            found = net.sockets(trial.get("watched", trial["sender"]))
            sockets = found if found.get("bytes_sent", 0) >= sockets.get("bytes_sent", 0) else sockets
        # Until the last block of captured packets is written.
        time.sleep(1.5)
        late, missed = watch.end(), []
        for dump in dumps:
            found = re.search(r"(\d+) packets dropped by kernel", net.stop(dump, 5, signal.SIGINT))
            missed.append(int(found[1]) if found else -1)
        printed = net.stop(client)
        programs_printed = printed + "".join(net.stop(it, 1) for it in servers)
        counts, addresses = net.counters(), net.address
    if any(missed):
        disturbed(f"captures missed {missed}")
    if late["late_p99_ms"] > PROGRAM_P99_MS or late["late_max_ms"] > PROGRAM_MAX_MS:
        disturbed(f"{late}")
    sender, receiver = trial["sender"], "B" if trial["sender"] == "A" else "A"
    packed = ipaddress.ip_address(addresses[sender]).packed
    octets, seconds, arrived = packets.delivered(packets.read(folder / f"{receiver}.pcap")[1], packed)
    sent = packets.delivered(packets.read(folder / f"{sender}.pcap")[1], packed)[2]
    return {"octets": octets, "seconds": round(seconds, 3), "lost_segments": sent - arrived,
            "goodput_bits_per_s": round(octets * 8 / seconds, 1) if octets and seconds > 0 else None,
            "path": {"counts": counts, "socket": sockets, **late, "kernel": os.uname().release,
                     "programs": [it for it in map(parsed, programs_printed.splitlines()) if it], **opening(folder / "A.pcap")},
            "printed": printed[-200:]}
