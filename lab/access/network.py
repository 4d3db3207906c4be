"""Two ends in network namespaces, and path.rs as the router between their TAP interfaces."""

import json
import re
import subprocess
import time

from namespaces import QUIET, Namespaces

ADDRESS = {"A": "10.44.1.2", "B": "10.44.2.2"}


class Network(Namespaces):
    """A - router - B. `lane` distinguishes networks that exist at the same time."""

    PATIENCE_S = 3
    address = ADDRESS

    def __init__(self, trial, folder, lane, built):
        """`built` is the folder of the programs."""
        super().__init__(trial, folder, {it: f"heldout7-{lane}{it}" for it in "AB"})
        self.built, self.PROGRAMS = built, str(built / "access-ends")

    def build(self):
        self.add_spaces(*QUIET)
        options = {**self.trial["path"], "middle": "AB".index(self.trial["middle"])}
        words = [f"{key}={value}" for key, value in options.items()]
        self.path = subprocess.Popen(["chrt", "-f", "10", self.built / "access-path", self.space["A"], self.space["B"], *words],
                                     cwd=self.folder, stdout=open(self.folder / "path.out", "w+"), stderr=subprocess.STDOUT)
        until = time.monotonic() + 5
        while "ready" not in (self.folder / "path.out").read_text():
            if time.monotonic() > until or self.path.poll() is not None:
                raise RuntimeError("path: " + (self.folder / "path.out").read_text())
            time.sleep(0.02)
        for end in "AB":
            self.configure(end)
        if self.trial.get("resolver"):
            self.add_resolver("A", self.trial["resolver"])

    def configure(self, end):
        trial, gateway = self.trial, ADDRESS[end][:-1] + "1"
        self.ip(end, "link", "set", "eth0", "address", f"02:ac:ce:55:00:0{'AB'.index(end) + 1}")
        self.ip(end, "link", "set", "eth0", "up", "mtu", trial.get("mtu", 1500), *(("gso_max_segs", 1) if trial.get("single_segments") else ()))
        self.ip(end, "addr", "add", f"{ADDRESS[end]}/24", "dev", "eth0")
        self.ip(end, "route", "add", "default", "via", gateway, *trial.get("route", {}).get(end, "").split())
        settings = {"net.ipv4.tcp_no_metrics_save": 1, "net.ipv4.tcp_congestion_control": trial["congestion"],
                    "net.ipv4.tcp_timestamps": trial["timestamps"], **trial.get("sysctl", {}).get(end, {})}
        self.inside(end, "sysctl", "-qw", *[f"{key}={value}" for key, value in settings.items()])
        self.add_rules(end)

    def counters(self):
        """What the path counted; it ends."""
        self.path.terminate()
        self.path.wait(5)
        return json.loads((self.folder / "path.out").read_text().split("ready\n", 1)[1]) | self.filtered()

    def __exit__(self, *words):
        if getattr(self, "path", None) and self.path.poll() is None:
            self.path.kill()
            self.path.wait()
        super().__exit__(*words)

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
