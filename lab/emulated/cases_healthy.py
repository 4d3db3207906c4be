"""Healthy links: nothing may be named but the path's rate."""

from checks import between, both, filled, nothing_missing, printed
from draw import control
from setups import down, line, transfer

MOSQUITTO = "listener 1883 10.53.3.2\nallow_anonymous true\nuser root\n"
PROGRAMS = ("up:socat", "down:nginx-curl", "up:iperf3", "down:ftp", "up:put", "down:busybox-wget")


@control("full", "A line of some rate is full.", count=4, check=filled(0.8))
def full(d):
    rtt, rate = d.log("rtt_ms", 4, 40), d.log("rate", 1.8e6, 20e6)
    return {**line(rate, rtt), **transfer(d, rate, *PROGRAMS), "congestion": d.turn("congestion", "cubic", "reno", "bbr", "cubic")}


@control("managed-full", "A line whose queue is managed is full: fq_codel, CAKE, SFQ, PIE.", count=4, check=filled(0.8))
def managed_full(d):
    rtt, rate = d.log("rtt_ms", 8, 44), d.log("rate", 2.5e6, 16e6)
    kind = d.turn("queue", "fq_codel", "cake", "sfq", "pie")
    shape = f"cake bandwidth {int(rate)}bit" if kind == "cake" else f"htb {int(rate)}; {kind}"
    it = {**line(rate, rtt), **transfer(d, rate, *PROGRAMS[1:5])}
    return {**it, "shape": {**it["shape"], "there": shape}}


@control("forty-full", "A line of some 40 Mbit/s is full.", count=2, check=filled(0.82))
def forty_full(d):
    rate = d.log("rate", 34e6, 44e6)
    return {**line(rate, d.log("rtt_ms", 0.6, 3), 10), **transfer(d, rate, "up:iperf3", "down:nginx-curl", seconds=2.4)}


@control("ten-full", "A 10 Mbit/s line is full.", count=2, check=filled(0.85))
def ten_full(d):
    return {**line(10e6, d.log("rtt_ms", 0.8, 4), 24), **transfer(d, 10e6, "up:nuttcp", "down:ftp", seconds=3)}


@control("polls", "A client fetches a small state now and then, by one connection.", count=2, check=between(2, 9))
def polls(d):
    every, answer = d.log("interval_ms", 110, 480), int(d.log("answer", 80, 1_700))
    return {**line(d.log("rate", 2e6, 30e6), d.log("rtt_ms", 2, 50)), "sender": "B", "servers": [("B", f"@P listen @B 8083 http octets={answer}")],
            "client": f"curl -s -o /dev/null --rate {int(3_600_000 / every)}/h 'http://@B:8083/state?[1-{int(3_600 / every)}]'"}


@control("registers", "A master polls a field device: small requests, answered at once, at intervals.", count=2, check=printed("answers", 10))
def registers(d):
    every, answer = d.log("interval_ms", 50, 260), int(d.log("answer", 14, 250))
    return {**line(d.log("rate", 1.2e6, 40e6), d.log("rtt_ms", 1, 22)), "sender": "B",
            "servers": [("B", f"@P listen @B 502 answer request=12 answer={answer}")],
            "client": f"@P connect @B 502 ask request=12 answer={answer} count={int(3_600 / every)} pause={every}"}


@control("sensor", "A sensor publishes values over MQTT.", count=1, late=(0.4, 0.5), check=between(2, 9))
def sensor(d):
    every = d.log("interval_ms", 200, 700)
    return {**line(d.log("rate", 0.6e6, 10e6), d.log("rtt_ms", 4, 90)), "sender": "A", "files": {"mosquitto.conf": MOSQUITTO},
            "servers": [("B", "exec mosquitto -c @D/mosquitto.conf")],
            "client": f"for i in $(seq {int(4_000 / every)}); do echo level 4.2 pump on; sleep {every / 1e3}; done | mosquitto_pub -h @B -q 1 -t tank/1 -l"}


@control("pictures", "A camera sends pictures at its own pace over TCP, below the line's rate.", count=2, check=both(nothing_missing(), between(2, 9)))
def pictures(d):
    rate, every = d.log("rate", 7e6, 28e6), d.turn("every_ms", 100, 50)
    picture = int(rate / 8e3 * every * d.log("share", 0.12, 0.3))
    d.note(picture=picture)
    return {**line(rate, d.log("rtt_ms", 3, 32), 80), "sender": "A", "servers": [("B", "@P listen @B 5201 read")],
            "client": f"@P connect @B 5201 frames octets={picture} every={every} seconds=3.5"}


@control("datagrams-below", "iperf sends datagrams at less than the path's rate.", count=2, check=nothing_missing())
def datagrams_below(d):
    rate, program = d.log("rate", 2.5e6, 20e6), d.turn("program", "iperf3", "iperf")
    sent = int(rate * d.log("share", 0.3, 0.65))
    return {**line(rate, d.log("rtt_ms", 3, 50), 50), "sender": "A", "servers": [("B", f"{program} -s {'-u' if program == 'iperf' else ''}")],
            "client": f"{program} -c @B -u -b {sent} -l {d.turn('octets', 1_200, 1_460)} -t 3"}


@control("pages", "Small pages are fetched one now and then, each by a connection of its own.", count=1, check=between(2, 11))
def pages(d):
    pause, octets = d.log("pause_ms", 260, 640), d.log("octets", 800, 10_000)
    it = down(octets * 8, "busybox-wget", seconds=1)
    return {**line(d.log("rate", 3e6, 40e6), d.log("rtt_ms", 2, 36)), **it, "fixed_octets": True,
            "client": f"for i in $(seq {int(3_600 / pause)}); do {it['client']}; sleep {pause / 1e3}; done"}
