"""Records the captures of lab/office: see README.md."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.environ.get("LAB_COMMON", str(HERE.parent / "common")))

import cases_ends  # noqa: E402, F401
import cases_path  # noqa: E402, F401
import cases_sound  # noqa: E402, F401
import network  # noqa: E402
from trials import Trials  # noqa: E402


def build():
    # Namespaces may choose among these only.
    subprocess.run(["sysctl", "-qw", "net.ipv4.tcp_allowed_congestion_control=reno cubic bbr"], check=True)
    network.BUILT.mkdir(parents=True, exist_ok=True)
    for source, name in (("path/path.c", "path"), ("ends/small.c", "small")):
        # A new file, since the old one may run.
        subprocess.run(["gcc", "-O2", "-Wall", "-o", network.BUILT / f"{name}.new", HERE / source], check=True)
        (network.BUILT / f"{name}.new").rename(network.BUILT / name)


TRIALS = Trials("office 21", network.perform, "office-", ("pcap", "pcap", "pcapng", "nsecpcap"), lasts_s=(2.2, 16), aim_s=4.5, unsized=("unsized",))

if __name__ == "__main__":
    TRIALS.main(build)
