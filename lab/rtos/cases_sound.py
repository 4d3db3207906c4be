"""Healthy boards and lines: nothing may be named but the path's rate."""

from boards import board, either, from_board
from checks import between, both, filled, nothing_missing, printed
from draw import control
from setups import line, up

MOSQUITTO = "listener 1883 10.53.1.2\nallow_anonymous true\nuser root\n"


@control("fast-ethernet", "A board fills a line of 100 Mbit/s.", count=4, check=filled(0.8))
def fast_ethernet(d):
    it = either(d, 100e6, "from freertos:wide nc", "to freertos:wide iperf", "to sockets-wide nc", "from wolfip-large curl", seconds=0.8)
    # No netem, whose timers would keep the emulated processor busy.
    return {**line(100e6, 1, 12), **it, "netem": {}, "least_s": 0.5, "fixed_octets": True}


@control("two-hosts", "A line of 100 Mbit/s between two hosts is full.", count=1, check=filled(0.8))
def two_hosts(d):
    it = {**line(100e6, 1, 12), **up(100e6, "socat", 1.1), "netem": {}, "device": "", "least_s": 0.5, "fixed_octets": True}
    return {**it, "offloads": d.turn("offloads", "A", "")}


@control("ten-megabit", "A board fills a line of 10 Mbit/s.", count=4, check=filled(0.85))
def ten_megabit(d):
    return {**line(10e6, d.log("rtt_ms", 0.4, 2.6), 40), **either(d, 10e6, "from sockets-12 wget", "to freertos:12 nc", "from freertos:12 curl", "to wolfip put")}


@control("slow-line", "A board fills a slow line.", count=4, check=filled(0.8))
def slow_line(d):
    rate = d.log("rate", 0.07e6, 0.6e6)
    it = either(d, rate, "from freertos-tiny wget", "to freertos:3 post", "from freertos:2 curl", "to freertos:3 nc", seconds=4)
    return {**line(rate, d.log("rtt_ms", 0.3, 1.2), 400), **it}


@control("some-rate", "A board fills a line of some rate.", count=4, check=filled(0.82))
def some_rate(d):
    rate = d.log("rate", 2e6, 7e6)
    it = either(d, rate, "to sockets-7 nginx", "to freertos:6 iperf", "from freertos:6 push-nc", "from sockets-7 curl")
    return {**line(rate, d.log("rtt_ms", 1.4, 5), 80), **it}


@control("managed-queue", "A line to a board whose queue is managed is full.", count=2, check=filled(0.8))
def managed_queue(d):
    rtt, rate = d.log("rtt_ms", 5, 28), d.log("rate", 3e6, 16e6)
    kind = d.turn("queue", "fq_codel", "cake")
    it = {**line(rate, rtt), **either(d, rate, "to freertos:scaled put", "to sockets-scaled iperf")}
    return {**it, "shape": {**it["shape"], "there": f"cake bandwidth {int(rate)}bit" if kind == "cake" else f"htb {int(rate)}; {kind}"}}


@control("polled", "A master polls a board: small requests, answered at once, at intervals.", count=3, check=printed("answers", 10))
def polled(d):
    every, answer, stack = d.log("interval_ms", 34, 200), int(d.log("answer", 9, 260)), d.turn("stack", "wolfip", "mongoose", "freertos:8")
    return {**line(d.log("rate", 0.8e6, 70e6), d.log("rtt_ms", 0.5, 20)), "sender": "B", "servers": [("B", board(stack, f"role=answer port=502 request=12 answer={answer}"))],
            "client": f"@P connect @B 502 ask request=12 answer={answer} count={int(3_400 / every)} pause={every}"}


@control("small-pages", "Small pages are fetched from a board now and then, each by a connection of its own.", count=3, check=between(2, 11))
def small_pages(d):
    pause, octets, stack = d.log("pause_ms", 200, 520), int(d.log("octets", 400, 5_600)), d.turn("stack", "wolfip", "freertos:8", "mongoose")
    it = from_board(octets * 8, stack, d.turn("program", "curl", "busybox"), 1)
    return {**line(d.log("rate", 4e6, 70e6), d.log("rtt_ms", 0.5, 10)), **it, "octets": octets, "fixed_octets": True,
            "client": f"for i in $(seq {int(3_600 / pause)}); do {it['client']}; sleep {pause / 1e3}; done"}


@control("publishes", "A board publishes values over MQTT.", count=2, late=(0.4, 0.5), check=both(between(2, 9), printed("published", 4)))
def publishes(d):
    every, octets = int(d.log("interval_ms", 140, 560)), int(d.log("octets", 8, 260))
    return {**line(d.log("rate", 0.3e6, 30e6), d.log("rtt_ms", 1, 80)), "sender": "B", "client_at": "B", "files": {"mosquitto.conf": MOSQUITTO},
            "servers": [("A", "exec mosquitto -c @D/mosquitto.conf")],
            "client": board("mongoose", f"role=mqtt port=1883 chunk={octets} pause={every} count={int(3_600 / every)}")}


@control("telemetry", "A board sends datagrams at less than the path's rate.", count=2, check=nothing_missing())
def telemetry(d):
    rate, octets, rtt = d.log("rate", 1.5e6, 30e6), int(d.log("octets", 100, 1_400)), d.log("rtt_ms", 1, 40)
    pause = max(1, round(octets * 8e3 / (rate * d.log("share", 0.15, 0.6))))
    return {**line(rate, rtt, 50), "sender": "B", "client_at": "B", "servers": [("A", "@P listen @A 4100 take")],
            "client": board(d.turn("stack", "sockets-12", "freertos:8"), f"role=stream port=4100 chunk={octets} count=1 pause={pause} seconds=3")}
