"""Healthy devices and lines: nothing may be named but the path's rate."""

from checks import between, both, filled, nothing_missing, printed
from draw import control
from setups import down, line, up
from stacks import device, from_device, to_device

MOSQUITTO = "listener 1883 10.53.1.2\nallow_anonymous true\nuser root\n"


def either(d, rate, *ways, seconds=2.6):
    way, stack, program = d.turn("way", *ways).split(":")
    return (to_device if way == "to" else from_device)(rate, stack, program, seconds)


@control("hundred-full", "A line of 100 Mbit/s between two hosts is full.", count=3, check=filled(0.8))
def hundred_full(d):
    it = {**line(100e6, 1, 12), "netem": {}, "device": "", "least_s": 0.5, "fixed_octets": True}
    it |= up(100e6, "iperf", 1.2) if d.turn("program", "iperf", "nginx-curl") == "iperf" else down(100e6, "nginx-curl", 0.8)
    return {**it, "offloads": d.turn("offloads", it["sender"], "", it["sender"])}


@control("device-hundred", "A device fills a line of 100 Mbit/s.", count=4, check=filled(0.8))
def device_hundred(d):
    it = either(d, 100e6, "from:netstack:nc", "from:lwip-wide:curl", "to:lwip-wide:lwiperf", "to:smoltcp:iperf", seconds=0.8)
    words = " receive=65535" if "smoltcp" in d.settings["way"] else ""
    it["servers"] = [(end, command + words) for end, command in it["servers"]]
    # No netem, whose timers would keep the emulated processor busy.
    return {**line(100e6, 1, 12), **it, "netem": {}, "least_s": 0.5, "fixed_octets": True}


@control("device-ten", "A device fills a line of 10 Mbit/s.", count=4, check=filled(0.85))
def device_ten(d):
    it = either(d, 10e6, "to:picotcp:nc", "from:lwip-16:curl", "to:lwip-11:lwiperf", "from:smoltcp:nc")
    if "smoltcp" in d.settings["way"]:
        it["servers"] = [(end, command + " send=24000") for end, command in it["servers"]]
    return {**line(10e6, d.log("rtt_ms", 0.5, 2.4), 40), **it}


@control("device-slow-line", "A device fills a slow line.", count=5, check=filled(0.8))
def device_slow_line(d):
    rate = d.log("rate", 0.06e6, 0.5e6)
    it = either(d, rate, "from:uip-1514:curl", "to:lwip-own:nc", "from:lwip-5:wget", "to:lwip-5:post", "from:uip-1514:wget", seconds=4)
    return {**line(rate, d.log("rtt_ms", 0.3, 1.2), 400), **it}


@control("device-mid", "A device fills a line of some rate.", count=5, check=filled(0.82))
def device_mid(d):
    rate = d.log("rate", 1.4e6, 7e6)
    it = either(d, rate, "to:netstack:nc", "from:lwip-16:curl", "to:lwip-16:post", "from:lwip-wide:nc", "to:smoltcp:iperf")
    if "smoltcp" in d.settings["way"]:
        it["servers"] = [(end, command + " receive=30000") for end, command in it["servers"]]
    return {**line(rate, d.log("rtt_ms", 2, 9), 80), **it}


@control("device-managed", "A line to a device whose queue is managed is full.", count=2, check=filled(0.8))
def device_managed(d):
    rtt, rate = d.log("rtt_ms", 6, 26), d.log("rate", 4e6, 14e6)
    kind = d.turn("queue", "fq_codel", "cake")
    it = {**line(rate, rtt), **either(d, rate, "to:lwip-scaled:lwiperf", "to:lwip-scaled:post")}
    return {**it, "shape": {**it["shape"], "there": f"cake bandwidth {int(rate)}bit" if kind == "cake" else f"htb {int(rate)}; {kind}"}}


@control("device-registers", "A master polls a device: small requests, answered at once, at intervals.", count=4, check=printed("answers", 10))
def device_registers(d):
    every, answer = d.log("interval_ms", 40, 220), int(d.log("answer", 12, 230))
    stack = d.turn("stack", "smoltcp", "uip-800", "lwip-own", "picotcp")
    return {**line(d.log("rate", 1e6, 60e6), d.log("rtt_ms", 0.6, 16)), "sender": "B",
            "servers": [("B", device(stack, f"role=answer port=502 request=12 answer={answer} octets=10"))],
            "client": f"@P connect @B 502 ask request=12 answer={answer} count={int(3_400 / every)} pause={every}"}


@control("device-pages", "Small pages are fetched from a device now and then, each by a connection of its own.", count=3, check=between(2, 11))
def device_pages(d):
    pause, octets = d.log("pause_ms", 220, 560), int(d.log("octets", 500, 5_000))
    stack = d.turn("stack", "lwip-5", "lwip-8", "uip-1514")
    it = from_device(octets * 8, stack, d.turn("program", "curl", "wget"), 1)
    return {**line(d.log("rate", 5e6, 60e6), d.log("rtt_ms", 0.6, 8)), **it, "octets": octets if not stack.startswith("uip") else min(octets, 1_300), "fixed_octets": True,
            "client": f"for i in $(seq {int(3_600 / pause)}); do {it['client']}; sleep {pause / 1e3}; done"}


@control("device-publishes", "A device publishes values over MQTT.", count=2, late=(0.4, 0.5), check=both(between(2, 9), printed("published", 4)))
def device_publishes(d):
    every, octets = int(d.log("interval_ms", 160, 600)), int(d.log("octets", 10, 180))
    return {**line(d.log("rate", 0.4e6, 20e6), d.log("rtt_ms", 2, 70)), "sender": "B", "client_at": "B", "files": {"mosquitto.conf": MOSQUITTO},
            "servers": [("A", "exec mosquitto -c @D/mosquitto.conf")],
            "client": device("lwip-5", f"role=mqtt port=1883 chunk={octets} pause={every} count={int(3_600 / every)}")}


@control("device-datagrams", "Datagrams at less than the path's rate, to or from a device.", count=2, check=nothing_missing())
def device_datagrams(d):
    rate, octets, rtt = d.log("rate", 2e6, 24e6), int(d.log("octets", 120, 1_400)), d.log("rtt_ms", 1, 30)
    share = d.log("share", 0.2, 0.6)
    if d.turn("program", "iperf", "device") == "iperf":
        return {**line(rate, rtt, 50), "sender": "A", "servers": [("B", device("lwip-5", "role=take port=5001"))],
                "client": f"timeout 5 iperf -c @B -u -b {int(rate * share)} -l {octets} -t 3; true"}
    pause = max(1, round(octets * 8e3 / (rate * share)))
    return {**line(rate, rtt, 50), "sender": "B", "client_at": "B", "servers": [("A", "@P listen @A 4000 take")],
            "client": device("lwip-5", f"role=stream port=4000 chunk={octets} count=1 pause={pause} seconds=3")}


@control("device-console", "Lines are typed to a device that echoes them.", count=1, late=(0.4, 0.5), check=between(2, 9))
def device_console(d):
    every = d.log("interval_ms", 180, 420)
    return {**line(d.log("rate", 1e6, 20e6), d.log("rtt_ms", 1, 40)), "sender": "B", "servers": [("B", device("lwip-5", "role=echo"))],
            "client": f"(for i in $(seq {int(3_400 / every)}); do echo show status $i; sleep {every / 1e3}; done) | timeout 9 nc -N @B 7"}
