"""Records the captures of lab/visits: see README.md."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.environ.get("LAB_COMMON", str(HERE.parent / "common")))

import cases_ends  # noqa: E402, F401
import cases_nodes  # noqa: E402, F401
import cases_quiet  # noqa: E402, F401
import cases_sound  # noqa: E402, F401
import cases_way  # noqa: E402, F401
import site_network  # noqa: E402
from trials import Trials  # noqa: E402


def build():
    """ends/build has built all."""


TRIALS = Trials("visits 24", site_network.perform, "visits-", ("pcap", "pcap", "pcapng", "nsecpcap"), lasts_s=(2.1, 15), aim_s=5, unsized=("is_timed",))

if __name__ == "__main__":
    TRIALS.main(build)
