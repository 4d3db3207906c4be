"""Two network namespaces, what is between them, and the programs and captures in them."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, Optional

from model import LEFT, RIGHT, Program, Setup

HERE = Path(__file__).resolve().parent
LISTENING = 0.35
QUIET = ["net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1"]


class Failed(Exception):
    """The run is of no use and can be repeated."""


def run(command: str, namespace: str = "") -> None:
    words = shlex.split(command)
    if namespace:
        words = ["ip", "netns", "exec", namespace, *words]
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{shlex.join(words)}: {done.stderr.strip()}")


class Network:
    """The namespaces of one run; leaving it ends its programs and removes them."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.id = f"{os.getpid()}"
        self.names = {it: f"links-{self.id}-{it}" for it in ("left", "middle", "right")}
        self.processes: list[subprocess.Popen[Any]] = []
        self.relay: Optional[subprocess.Popen[str]] = None

    def __enter__(self) -> "Network":
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        for process in reversed(self.processes):
            stop(process, signal.SIGTERM)
        if self.relay:
            stop(self.relay, signal.SIGTERM)
        for name in self.names.values():
            subprocess.run(["ip", "netns", "del", name], capture_output=True)

    def build(self) -> None:
        for end, name in self.names.items():
            if end == "middle" and self.setup.middle is None:
                continue
            run(f"ip netns add {name}")
            run("sysctl -qw " + " ".join(QUIET), name)
            run("ip link set lo up", name)
        if self.setup.middle is not None:
            self.build_bridge()
        if self.setup.relay is not None:
            self.build_relay()
        elif self.setup.middle is None:
            run(f"ip link add eth0 netns {self.names['left']} type veth peer name eth0 netns {self.names['right']}")
        else:
            self.link_to_bridge("right", "toright")
        for end, mac, address in (("left", "02:4c:00:00:00:01", LEFT), ("right", "02:4c:00:00:00:02", RIGHT)):
            self.set_up(end, mac, address)
        for command in self.setup.middle or []:
            run(command, self.names["middle"])
        for end, commands in (("left", self.setup.left), ("right", self.setup.right)):
            for command in commands:
                run(command, self.names[end])

    def build_bridge(self) -> None:
        run("ip link add bridge type bridge mcast_snooping 0", self.names["middle"])
        run("ip link set bridge up", self.names["middle"])
        self.link_to_bridge("left", "toleft")

    def link_to_bridge(self, end: str, port: str) -> None:
        middle = self.names["middle"]
        run(f"ip link add eth0 netns {self.names[end]} type veth peer name {port} netns {middle}")
        run(f"ip link set {port} master bridge up", middle)
        run(f"ethtool -K {port} gro off tso off gso off", middle)

    def build_relay(self) -> None:
        assert self.setup.relay is not None
        ends = [f"lnk{it}{self.id[-8:]}" for it in "lr"]
        words = {"left": ends[0], "right": ends[1], **self.setup.relay}
        self.relay = subprocess.Popen([sys.executable, str(HERE / "relay.py"), json.dumps(words)],
                                      stdout=subprocess.PIPE, text=True)
        assert self.relay.stdout
        if self.relay.stdout.readline().strip() != "ready":
            raise RuntimeError("the relay does not start")
        if self.setup.middle is None:
            run(f"ip link set {ends[0]} netns {self.names['left']} name eth0")
        else:
            run(f"ip link set {ends[0]} netns {self.names['middle']} name toright")
            run("ip link set toright master bridge up", self.names["middle"])
        run(f"ip link set {ends[1]} netns {self.names['right']} name eth0")

    def set_up(self, end: str, mac: str, address: str) -> None:
        name = self.names[end]
        run(f"ip link set eth0 address {mac} txqueuelen 1000", name)
        if not self.setup.offload:
            # Otherwise captures show segments of 64 kB, which no wire carries.
            subprocess.run(["ip", "netns", "exec", name, "ethtool", "-K", "eth0", "tso", "off", "gso", "off",
                            "gro", "off", "tx", "off"], capture_output=True)
        if self.setup.left_address if end == "left" else self.setup.right_address:
            run(f"ip address add {address}/24 dev eth0", name)
        run(f"sysctl -qw net.ipv4.tcp_timestamps={int(self.setup.timestamps)}", name)
        # What one connection learned must not change the next.
        run("sysctl -qw net.ipv4.tcp_no_metrics_save=1", name)
        run("ip link set eth0 up", name)
        if self.setup.left_address if end == "left" else self.setup.right_address:
            run(f"ip route change 10.9.0.0/24 dev eth0 src {address} congctl {self.setup.congestion}", name)

    def capture(self, end: str, file: Path) -> None:
        words = ["tcpdump", "-Z", "root", "-i", "eth0", "-s", str(self.setup.snap), "-B", "32768", "-U",
                 "-w", str(file), "not ip6"]
        process = subprocess.Popen(["ip", "netns", "exec", self.names[end], *words], stderr=subprocess.PIPE, text=True)
        self.processes.append(process)
        assert process.stderr
        for line in process.stderr:
            if "listening on" in line:
                return
        raise RuntimeError("tcpdump does not start")

    def stop_captures(self) -> None:
        """Ends the captures; none of them may have missed a packet."""
        for process in [it for it in self.processes if "tcpdump" in it.args]:
            stop(process, signal.SIGINT)
            assert process.stderr
            report = process.stderr.read()
            if " 0 packets dropped by kernel" not in report.replace("\n", " "):
                raise Failed(f"tcpdump: {report.strip()}")

    def start(self, program: Program, log: Any) -> subprocess.Popen[Any]:
        words = shlex.split(program.words)
        if words[0].startswith("!"):
            words[0] = words[0][1:]
        else:
            words = [sys.executable, str(HERE / "ends.py"), *words]
        # Programs at the ends must not wait for what else the machine does.
        process = subprocess.Popen(["ip", "netns", "exec", self.names[program.end], "nice", "-n", "-15", *words],
                                   stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def run_programs(self, log: Any) -> None:
        """Starts the programs in their order, and waits for those that are awaited."""
        awaited = []
        for program in self.setup.programs:
            if program.awaited:
                time.sleep(LISTENING)
            time.sleep(program.after)
            process = self.start(program, log)
            if program.awaited:
                awaited.append(process)
        end = time.monotonic() + self.setup.seconds
        for process in awaited:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                log.write(b"stopped after its time\n")
                stop(process, signal.SIGTERM)
        # Last acknowledgments are on their way, and tcpdump gets its packets up to a second late.
        time.sleep(1.3)

    def relay_report(self) -> dict[str, Any]:
        """Ends the relay."""
        if not self.relay:
            return {}
        self.relay.terminate()
        output, _ = self.relay.communicate(timeout=5)
        self.relay = None
        report: dict[str, Any] = json.loads(output)
        return report


def stop(process: "subprocess.Popen[Any]", number: int) -> None:
    """Ends a process of this run, if it has not ended."""
    if process.poll() is None:
        process.send_signal(number)
        try:
            process.wait(2)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
