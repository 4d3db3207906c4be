"""IPv6 between hosts."""

from checks import between, both, check, faster, filled, missing
from draw import case, control
from path_checks import LOSS, mostly_netem
from programs import DATA, IMAGE, NBD, PORTS, TALK, disturbed_by, fetch, line, nbd, octets_in, sized, web


def upload(rate, seconds=2.4):
    return {**sized("A", rate, seconds), "ipv6": True, "servers": [("B", nbd("@B", "memory"))], "client": f"{IMAGE}; nbdcopy {NBD} @D/image nbd://[@B]"}


def download(rate, seconds=2.4):
    return {**sized("B", rate, seconds), "ipv6": True, "servers": [("B", f"{DATA}; {web('mini')}")], "client": fetch("curl", f"-g http://[@B]:{PORTS['mini']}/data")}


def either_way(d, rate, **more):
    return (upload if d.turn("way", "down", "up") == "up" else download)(rate, **more)


@control("line-of-ipv6", "A line of some rate is full.", count=2, check=filled(0.8))
def line_of_ipv6(d):
    rate, rtt = d.log("rate", 1.5e6, 20e6), d.log("rtt_ms", 3, 40)
    return {**line(rate, rtt, max(24, 1.2 * rtt)), **either_way(d, rate), "congestion": "cubic"}


@control("polls-of-ipv6", "A client asks now and then, by one connection; the server answers at once.", count=1, check=between(2, 9))
def polls_of_ipv6(d):
    every, answer = int(d.log("interval_ms", 60, 300)), int(d.log("answer", 20, 1_200))
    return {**line(d.log("rate", 2e6, 40e6), d.log("rtt_ms", 1, 40)), "sender": "B", "ipv6": True, "servers": [("B", f"{TALK} serve @B 5561 request=60 answer={answer}")],
            "client": f"{TALK} ask @B 5561 request=60 answer={answer} count={int(3_400 / every)} pause={every}"}


@case("losses-of-ipv6", LOSS, "Packets are lost at random.", 2, check=both(missing(6), mostly_netem(), faster(1.3)))
def losses_of_ipv6(d):
    rtt, rate, share = d.log("rtt_ms", 16, 60), d.log("rate", 8e6, 20e6), d.log("loss_percent", 1.2, 3)
    return {**disturbed_by({**line(rate, rtt, 40 + 6 * rtt), **either_way(d, rate * 0.2, seconds=3)}, rtt, f"loss random {share}%"), "congestion": "reno"}


@case("window-of-ipv6", ["receive-window"], "The receiving host has a small buffer.", 1, check=faster(1.3))
def window_of_ipv6(d):
    window, rate = d.log("window", 8_000, 24_000), d.log("rate", 8e6, 24e6)
    rtt = round(window * 8e3 / (rate * d.log("share", 0.1, 0.35)), 2)
    it = {**line(rate, rtt, 40), **download(window * 8e3 / rtt)}
    return {**it, "sysctl": {"A": {"net.ipv4.tcp_rmem": f"4096 {window} {window}"}}, "without": {"sysctl": {}, "octets": int(rate / 10)}}


@case("queue-of-ipv6", ["bufferbloat", "path-rate"], "A slow line whose queue holds the better part of a second.", 1, gain=False, check=filled(0.75))
def queue_of_ipv6(d):
    rate = d.log("rate", 0.6e6, 2e6)
    it = {**line(rate, d.log("rtt_ms", 6, 50)), **download(rate, seconds=5), "octets": int(rate * 0.7), "congestion": "cubic"}
    return {**it, "shape": {**it["shape"], "there": f"htb {int(rate)}; bfifo limit {octets_in(rate, d.log('queue_ms', 450, 1_000))}"}}
