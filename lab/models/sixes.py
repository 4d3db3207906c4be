"""The path of lab/mixed with IPv6 only between its ends: `ipv6` of a trial."""

from paths import Mixed

ENDS = {"A": "fd53:0:0:1::2", "B": "fd53:0:0:3::2"}
LINKS = (("A", "eth0", "R", "to_a"), ("R", "to_s", "S", "to_r"), ("S", "to_b", "B", "eth0"))
ROUTES = {"A": ("::/0", "fd53:0:0:1::1"), "R": ("fd53:0:0:3::/64", "fd53:0:0:2::2"), "S": ("fd53:0:0:1::/64", "fd53:0:0:2::1"), "B": ("::/0", "fd53:0:0:3::1")}


class Sixes(Mixed):
    """Addresses @A and @B are IPv6."""

    def __init__(self, trial, folder, programs):
        super().__init__(trial, folder, programs)
        if trial.get("ipv6"):
            self.address = dict(ENDS)

    def lay(self):
        super().lay()
        if not self.trial.get("ipv6"):
            return
        for space in "ARSB":
            self.inside(space, "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=0", "net.ipv6.conf.default.disable_ipv6=0", f"net.ipv6.conf.all.forwarding={int(space in 'RS')}")
        for number, (one, device, other, peer) in enumerate(LINKS, 1):
            for at, (space, name) in enumerate(((one, device), (other, peer)), 1):
                host = 2 if space in "AB" else 1 if space == "R" or number == 3 else at
                self.inside(space, "sysctl", "-qw", f"net.ipv6.conf.{name}.disable_ipv6=0", f"net.ipv6.conf.{name}.accept_dad=0")
                self.ip(space, "addr", "add", f"fd53:0:0:{number}::{host}/64", "dev", name, "nodad")
        for space, (to, by) in ROUTES.items():
            self.ip(space, "route", "add", to, "via", by)
