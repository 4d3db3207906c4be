"""Records the captures of lab/course: see README.md."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.environ.get("LAB_COMMON", str(HERE.parent / "common")))

import cases_ends  # noqa: E402, F401
import cases_path  # noqa: E402, F401
import cases_quiet  # noqa: E402, F401
import cases_sound  # noqa: E402, F401
import cases_station  # noqa: E402, F401
import network  # noqa: E402
from trials import Trials  # noqa: E402


def build():
    """ends/build has built all."""


TRIALS = Trials("course 22", network.perform, "course-", ("pcap", "pcap", "pcap", "pcapng", "nsecpcap"), lasts_s=(2.2, 15), aim_s=5, unsized=("is_timed",))

if __name__ == "__main__":
    TRIALS.main(build)
