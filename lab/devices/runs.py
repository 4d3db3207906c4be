"""What is added to a run of a trial with a device."""

import ipaddress

from hops import DEVICE, facts
from network import ADDRESS


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
