"""A set of trials with devices: what is added to a run, and how all are run."""

import ipaddress
from functools import partial
from pathlib import Path

from draw import CASES
from hops import DEVICE, Hops, facts
from network import ADDRESS
from perform import FORMATS, performer
from trials import Trials

PROGRAMS = Path(__file__).resolve().parent.parent / "field" / "ends.py"


def with_facts(truth, trial, folder):
    """The truth of a run, with what the sender's capture counts."""
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


def perform(run, device, trial, folder, seed, lane):
    """One run, with what the sender's capture counts in its truth, if its packets are IPv4."""
    trial = {"device": device, **trial}
    truth = run(trial, folder, seed, lane)
    return truth if trial.get("ipv6") else with_facts(truth, trial, folder)


def start(seed, prefix, most, network=Hops, device="B"):
    """Runs the cases that are registered; `device` are the ends with one, unless a trial names others."""
    for it in CASES.values():
        it["make"] = once(it["make"])
    # Another process performs the runs, so a function within this one cannot.
    one_run = partial(perform, performer(network, PROGRAMS), device)
    Trials(seed, one_run, prefix, FORMATS, (1, 9), most).main(lambda: None)
