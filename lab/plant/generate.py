"""Records the captures of lab/plant: see README.md."""

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.environ.get("LAB_COMMON", str(HERE.parent / "common")))

import cases_board  # noqa: E402, F401
import cases_ends  # noqa: E402, F401
import cases_path  # noqa: E402, F401
import cases_sound  # noqa: E402, F401
import network  # noqa: E402
from trials import Trials  # noqa: E402


def build():
    built = network.BUILT
    built.mkdir(parents=True, exist_ok=True)
    for program in ("path", "board"):
        if not (built / program).exists():
            folders = [f"-Fu{HERE / 'host'}", f"-FE{built}"]
            subprocess.run(["fpc", "-O3", *folders, f"-o{program}", HERE / program / f"{program}.pas"], check=True, stdout=subprocess.DEVNULL)
    if not (built / "ends").exists():
        (built / "ends.ml").write_text((HERE / "ends" / "ends.ml").read_text())
        subprocess.run(["ocamlopt", "-I", "+threads", "unix.cmxa", "threads.cmxa", "ends.ml", "-o", "ends"], cwd=built, check=True)


if __name__ == "__main__":
    Trials("plant, outstations and boards, 2026-11-30", network.perform, "plant-", ("pcap", "pcap", "nsecpcap", "pcapng"),
           unsized=("fixed",)).main(build)
