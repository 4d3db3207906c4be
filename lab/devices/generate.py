#!/usr/bin/env python3
"""Draws, provokes, checks, records and labels, within the emulated machine (`boot` runs it there)."""

import ipaddress
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "emulated"), str(HERE.parent / "common")]
import cases_device, cases_healthy, cases_lines  # noqa: F401, E401 (they register their cases)
from draw import CASES
from hops import DEVICE, Hops, facts
from network import ADDRESS
from perform import FORMATS, performer
from stacks import SEED
from trials import Trials

PROGRAMS = HERE.parent / "field" / "ends.py"
run = performer(Hops, PROGRAMS)


def perform(trial, folder, seed, lane):
    truth = run(trial, folder, seed, lane)
    sender = trial["sender"]
    address = (DEVICE if sender in trial.get("device", "B") else ADDRESS)[sender]
    truth["path"]["seen"] = facts(folder, sender, ipaddress.ip_address(address).packed)
    return truth


def once(make):
    """The run without the cause is not sized again."""
    def made(d):
        trial = make(d)
        if "without" in trial:
            trial["without"] = {"fixed_octets": True, **trial["without"]}
        return {"least_s": 1, **trial}
    return made


for it in CASES.values():
    it["make"] = once(it["make"])

if __name__ == "__main__":
    Trials(SEED, perform, "devices-", FORMATS, (1, 9), 2.4).main(lambda: None)
