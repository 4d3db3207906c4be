"""Values drawn by a seeded generator, with the range of each."""

import math
import random


class Draw:
    """One setting of a case. `settings` collects the values, `ranges` what they were drawn from."""

    def __init__(self, case, number, attempt=0):
        self.random = random.Random(f"heldout-2026-11-23:{case}:{number}:{attempt}")
        self.number = number
        self.settings = {}
        self.ranges = {}

    def _keep(self, name, value, text):
        self.settings[name] = value
        self.ranges[name] = text
        return value

    def between(self, name, low, high):
        """Uniform."""
        return self._keep(name, _rounded(self.random.uniform(low, high)), f"{low:g} to {high:g}")

    def log(self, name, low, high):
        """Uniform on a logarithmic scale: each magnitude is as likely as the others."""
        drawn = math.exp(self.random.uniform(math.log(low), math.log(high)))
        return self._keep(name, _rounded(drawn), f"{low:g} to {high:g} (log)")

    def whole(self, name, low, high):
        return self._keep(name, self.random.randint(low, high), f"{low} to {high}")

    def pick(self, name, values):
        """One of these."""
        return self._keep(name, values[self.random.randrange(len(values))], ", ".join(map(str, values)))

    def turn(self, name, values):
        """The settings of a case use these in turn."""
        return self._keep(name, values[(self.number - 1) % len(values)], ", ".join(map(str, values)))


def _rounded(value):
    return float(f"{value:.4g}")
