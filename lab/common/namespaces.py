"""Stations in network namespaces and their programs: the part that every topology shares."""

import json
import os
import signal
import subprocess
from pathlib import Path

from machine import NICE, run

QUIET = ("net.ipv6.conf.all.disable_ipv6=1", "net.ipv6.conf.default.disable_ipv6=1")


class Namespaces:
    """Use with `with`. A topology defines `build`, `address` (of each end), `PROGRAMS` and `PATIENCE_S`."""

    def __init__(self, trial, folder, names):
        """`names` are those of the namespaces, by end."""
        self.trial, self.folder, self.space = trial, Path(folder), names
        self.processes = []

    def __enter__(self):
        self.remove()
        try:
            self.build()
            return self
        except BaseException:
            self.__exit__()
            raise

    def ip(self, end, *words):
        return run("ip", "-n", self.space[end], *words)

    def inside(self, end, *words):
        return run("ip", "netns", "exec", self.space[end], *words)

    def add_spaces(self, *settings):
        for end, space in self.space.items():
            run("ip", "netns", "add", space)
            self.ip(end, "link", "set", "lo", "up")
            if settings:
                self.inside(end, "sysctl", "-qw", *settings)

    def add_resolver(self, end, text):
        folder = Path("/etc/netns") / self.space[end]
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "resolv.conf").write_text(text)

    def add_rules(self, end):
        """The trial's rules of nftables for `end`, if any."""
        if end in self.trial.get("nft", {}):
            file = self.folder / f"rules-{end}.nft"
            file.write_text(self.trial["nft"][end])
            self.inside(end, "nft", "-f", file)

    def filtered(self):
        """Packets that each end's rules counted."""
        counts = {}
        for end in self.trial.get("nft", {}):
            rules = json.loads(self.inside(end, "nft", "-j", "list", "ruleset"))["nftables"]
            counts[f"filtered_{end}"] = sum(part["counter"]["packets"] for it in rules if "rule" in it for part in it["rule"]["expr"]
                                            if "counter" in part)
        return counts

    def begin(self, end, words, name):
        out = open(self.folder / f"{name}.out", "w+")
        process = subprocess.Popen(["ip", "netns", "exec", self.space[end], *NICE, *map(str, words)], stdout=out, stderr=subprocess.STDOUT,
                                   stdin=subprocess.DEVNULL, start_new_session=True, cwd=self.folder)
        process.out = out
        self.processes.append(process)
        return process

    def start(self, end, command, name):
        """Runs a command of the shell; @A and @B are the addresses, @D the folder, @P the set's own programs."""
        for key, value in (("@A", self.address["A"]), ("@B", self.address["B"]), ("@D", str(self.folder)), ("@P", self.PROGRAMS)):
            command = command.replace(key, value)
        return self.begin(end, ["bash", "-c", command], name)

    def stop(self, process, wait=None, by=signal.SIGTERM):
        if process.poll() is None:
            os.killpg(process.pid, by)
            try:
                process.wait(self.PATIENCE_S if wait is None else wait)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        process.out.flush()
        process.out.seek(0)
        return process.out.read()

    def remove(self):
        for space in self.space.values():
            if Path(f"/run/netns/{space}").exists():
                subprocess.run(["ip", "netns", "del", space], capture_output=True)

    def end_programs(self):
        while self.processes:
            process = self.processes.pop()
            self.stop(process, 1)
            process.out.close()

    def __exit__(self, *_):
        self.end_programs()
        self.remove()
        resolver = Path("/etc/netns") / self.space["A"] / "resolv.conf"
        if resolver.exists():
            resolver.unlink()
            resolver.parent.rmdir()
