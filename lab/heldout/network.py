"""Two ends in network namespaces of their own, and the forwarder between them."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

BUILT = Path(os.environ.get("HELDOUT_BUILD", "/tmp/heldout-build"))
NICE = ["nice", "-n", "-15"]


def run(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command))}: {done.stderr.strip()}")
    return done.stdout


class Network:
    """Namespaces hdA<slot>, hdB<slot> (and hdM<slot> behind an end with offload). Use with `with`."""

    def __init__(self, slot, trial, subnet, folder, middle=None, seed=1):
        self.trial, self.slot, self.folder = trial, slot, Path(folder)
        self.space = {"A": f"hdA{slot}", "B": f"hdB{slot}"}
        self.between = f"hdM{slot}"
        self.address = {"A": f"{subnet}.1", "B": f"{subnet}.2"}
        self.middle, self.seed = middle, seed
        self.running, self.files = [], []
        self.forwarder = self.device = None
        self.taps = {}

    def __enter__(self):
        self.remove()
        try:
            for space in (*self.space.values(), self.between):
                run("ip", "netns", "add", space)
                for key in ("default", "all"):
                    self.sysctl(space, f"net.ipv6.conf.{key}.disable_ipv6", 1)
                self.ip(space, "link", "set", "lo", "up")
            for end in "AB":
                self.taps[end] = self.add_end(end)
                for name, value in self.trial.sysctl.get(end, {}).items():
                    self.sysctl(self.space[end], name, value)
            if self.trial.resolver:
                self.resolver_file()
            self.start_forwarder()
            return self
        except BaseException:
            self.__exit__()
            raise

    def add_end(self, end):
        """Makes the interface of an end. Returns NAMESPACE:INTERFACE of the forwarder's TAP."""
        space, address = self.space[end], self.address[end]
        if end == "B" and self.trial.device is not None:
            self.bridge(space, ["cable", "dev0"])
            return f"{space}:cable"
        if end in self.trial.offload:
            other = f"peer{end.lower()}"
            self.ip(space, "link", "add", "eth0", "type", "veth", "peer", "name", other, "netns", self.between)
            self.bridge(self.between, [f"tap{end.lower()}"], [other])
            for feature in ("tso", "gso", "gro", "tx", "rx"):
                run("ip", "netns", "exec", space, "ethtool", "-K", "eth0", feature, "on")
            where = f"{self.between}:tap{end.lower()}"
        else:
            self.ip(space, "tuntap", "add", "eth0", "mode", "tap")
            where = f"{space}:eth0"
        self.ip(space, "addr", "add", f"{address}/24", "dev", "eth0")
        self.ip(space, "link", "set", "eth0", "up")
        return where

    def bridge(self, space, taps, others=()):
        name = f"br-{taps[0]}"
        self.ip(space, "link", "add", name, "type", "bridge", "mcast_snooping", "0")
        for tap in taps:
            self.ip(space, "tuntap", "add", tap, "mode", "tap")
        for port in (*taps, *others):
            self.ip(space, "link", "set", port, "master", name, "up")
        self.ip(space, "link", "set", name, "up")

    def ip(self, space, *words):
        run("ip", "-n", space, *words)

    def sysctl(self, space, name, value):
        run("ip", "netns", "exec", space, "sysctl", "-qw", f"{name}={value}")

    def resolver_file(self):
        folder = Path("/etc/netns") / self.space["A"]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "resolv.conf").write_text(f"nameserver {self.address['B']}\n")

    def start_forwarder(self):
        words = [f"A={self.taps['A']}", f"B={self.taps['B']}", f"seed={self.seed}"]
        if self.middle:
            words.append(f"middle={self.middle}")
        for name, value in self.trial.path.items():
            values = value if isinstance(value, list) else [value]
            words += [f"{name}={it}" for it in values]
        self.forwarder = self.spawn([BUILT / "forward", *words], "forward")
        if self.trial.device is not None:
            settings = [f"{name}={value}" for name, value in self.trial.device.items()]
            self.device = self.start("B", [BUILT / "device", "dev0", self.address["B"], *settings], "device")
        time.sleep(0.15)

    def spawn(self, command, name):
        out, err = (open(self.folder / f"{name}.{it}", "w+") for it in ("out", "err"))
        self.files += [out, err]
        process = subprocess.Popen([*NICE, *map(str, command)], stdout=out, stderr=err, stdin=subprocess.DEVNULL,
                                   cwd=self.folder, start_new_session=True)
        self.running.append(process)
        process.out, process.err = out, err
        return process

    def start(self, end, command, name):
        """Starts a command at an end."""
        words = [str(word).replace("@A", self.address["A"]).replace("@B", self.address["B"])
                 .replace("@S", self.address["A"][:-2]) for word in command]
        if words[0] == "app":
            words[0] = str(BUILT / "app")
        return self.spawn(["ip", "netns", "exec", self.space[end], *words], name)

    def interface(self, end):
        return "dev0" if end == "B" and self.trial.device is not None else "eth0"

    def stop(self, process, wait=5):
        """Ends a program and returns what it printed."""
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(wait)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return text(process.out), text(process.err)

    def counters(self):
        return json.loads(self.stop(self.forwarder)[0])

    def remove(self):
        for space in (*self.space.values(), self.between):
            subprocess.run(["ip", "netns", "del", space], capture_output=True)

    def __exit__(self, *_):
        for process in reversed(self.running):
            self.stop(process)
        for file in self.files:
            file.close()
        self.remove()
        folder = Path("/etc/netns") / self.space["A"]
        if folder.exists():
            (folder / "resolv.conf").unlink(missing_ok=True)
            folder.rmdir()


def text(file):
    file.flush()
    file.seek(0)
    return file.read()
