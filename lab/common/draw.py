"""Cases and the settings of their trials, as lab/routed, lab/stations, lab/access and lab/field draw them."""

import math
import random

CASES = {}
EVERY = ("sender", "receiver", "middle", "late", "truncated", "snapped")


class Draw:
    """Settings of a trial, each noted."""

    def __init__(self, text, case, number):
        """`text` is the seed of the set."""
        self.random, self.number, self.settings = random.Random(f"{text} {case} {number}"), number, {}

    def log(self, name, low, high, digits=3):
        value = math.exp(self.random.uniform(math.log(low), math.log(high)))
        value = float(f"{value:.{digits}g}")
        self.settings[name] = int(value) if low >= 50 else value
        return self.settings[name]

    def turn(self, name, *values):
        self.settings[name] = values[self.number % len(values)]
        return self.settings[name]

    def note(self, **settings):
        self.settings.update(settings)


def case(name, expected, reason, count=3, kinds=EVERY, late=(0.3, 0.55), truncated=(0.4, 0.65), gain=True, control=False,
         check=lambda truth, trial: True):
    """Registers a case. `expected` is a list, or lists by kind ("late-sender", "late", or the end: "sender"; "else")."""
    def register(make):
        CASES[name] = {"make": make, "expected": expected, "reason": reason, "count": count, "kinds": kinds, "late": late,
                       "truncated": truncated, "gain": gain, "control": control, "check": check}
        return make
    return register


def control(name, reason, **more):
    return case(name, [], reason, control=True, gain=False, **more)


def expected_at(expected, kind):
    if isinstance(expected, list):
        return expected
    for key in (kind, kind.split("-")[0], kind.split("-")[-1], "else"):
        if key in expected:
            return expected[key]
    raise KeyError(kind)


def slower(times):
    return lambda truth, trial: truth["without_bits_per_s"] >= times * truth["goodput_bits_per_s"]


def lost(least, times=1.15):
    return lambda truth, trial: truth["lost_segments"] >= least and slower(times)(truth, trial)


def full(share=0.85):
    return lambda truth, trial: truth["goodput_bits_per_s"] >= share * trial["rate"]
