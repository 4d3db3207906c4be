"""Healthy links: nothing may be named but the path's rate."""

from checks import between, both, check, filled, nothing_missing, printed
from draw import control
from setups import KEYS, SSHD, SSH_OPTIONS, down, from_device, line, simulated, to_device, transfer, up

MOSQUITTO = "listener 1883 10.47.2.2\nallow_anonymous true\nuser root\n"


@control("office-full", "A line of some rate is full.", count=6, check=filled())
def office_full(d):
    rtt, rate = d.log("rtt_ms", 3, 33), d.log("rate", 2.3e6, 27e6)
    it = transfer(d, rate, "down:nginx-curl", "up:put", "down:lighttpd-wget", "up:iperf3", "up:scp", "down:busybox-busybox")
    return {**line(rate, rtt, 22), **it, "congestion": d.turn("congestion", "cubic", "bbr", "cubic", "reno", "cubic", "cubic")}


@control("ten-megabit-full", "A 10 Mbit/s Ethernet, preambles and gaps counted, is full.", count=2, check=filled(0.88))
def ten_megabit_full(d):
    return {**line(10_000_000, d.log("rtt_ms", 0.6, 3.2), 16), **transfer(d, 10e6, "up:iperf", "down:python-curl", seconds=3.5)}


@control("hundred-megabit-full", "A 100 Mbit/s Ethernet is full.", count=1, check=filled(0.85))
def hundred_megabit_full(d):
    return {**line(100_000_000, 0.4, 6), "hold": None, **transfer(d, 100e6, "down:nginx-curl", "up:iperf", seconds=2.6)}


@control("device-full", "A device with lwIP and a window of eight segments, more than the path holds, fills its line.", count=2, check=filled(0.8))
def device_full(d):
    rate = d.log("rate", 3e6, 8e6)
    it = to_device("eight", rate=rate) if d.turn("way", "to the device", "from the device") == "to the device" else from_device("eight", rate=rate)
    return {**line(rate, d.log("rtt_ms", 1, 5), 40), **it}


@control("parts-full", "Four connections for parts of a file fill a line.", count=1, check=filled(0.8))
def parts_full(d):
    rate = d.log("rate", 7e6, 24e6)
    return {**line(rate, d.log("rtt_ms", 4, 24), 25), **down(rate, "nginx-aria")}


@control("api-polls", "A client fetches a small state over HTTP now and then, by one connection.", count=2, check=between(2, 9))
def api_polls(d):
    every, answer = d.log("interval_ms", 120, 520), int(d.log("answer", 90, 1_900))
    count = int(4_200 / every)
    return {**line(d.log("rate", 2e6, 40e6), d.log("rtt_ms", 1, 42)), "sender": "B", "servers": [("B", f"@P listen @B 8083 http octets={answer}")],
            "client": f"curl -s -o /dev/null --rate {int(3_600_000 / every)}/h 'http://@B:8083/state?[1-{count}]'"}


@control("field-bus", "A master polls a field device: small requests, answered at once, one after the other at intervals.", count=2,
         check=printed("answers", 12))
def field_bus(d):
    every, answer = d.log("interval_ms", 40, 220), int(d.log("answer", 15, 240))
    return {**line(d.log("rate", 1.5e6, 60e6), d.log("rtt_ms", 0.8, 18)), "sender": "B",
            "servers": [("B", f"@P listen @B 502 answer request=12 answer={answer}")],
            "client": f"@P connect @B 502 ask request=12 answer={answer} count={int(4_200 / every)} pause={every}"}


@control("telemetry", "A sensor publishes values over MQTT.", count=2, late=(0.4, 0.5), check=between(2.5, 9))
def telemetry(d):
    every = d.log("interval_ms", 180, 820)
    words = "temperature 21.5 humidity 40" + " y" * int(d.log("words", 3, 60))
    return {**line(d.log("rate", 0.6e6, 12e6), d.log("rtt_ms", 3, 80)), "sender": "A", "files": {"mosquitto.conf": MOSQUITTO},
            "servers": [("B", "exec mosquitto -c @D/mosquitto.conf")],
            "client": f"for i in $(seq {int(4_600 / every)}); do echo {words}; sleep {every / 1e3}; done | "
                      f"mosquitto_pub -h @B -q {d.turn('qos', 1, 0)} -t plant/3 -l"}


@control("camera", "A camera sends pictures at its own pace over TCP, below the line's rate.", count=2, check=both(nothing_missing(), between(2.5, 9)))
def camera(d):
    rate, every = d.log("rate", 9e6, 36e6), d.turn("every_ms", 66.7, 100)
    picture = int(rate / 8e3 * every * d.log("share", 0.12, 0.3))
    d.note(picture=picture)
    return {**line(rate, d.log("rtt_ms", 2, 28), 60), "sender": "A", "servers": [("B", "@P listen @B 5101 read")],
            "client": f"@P connect @B 5101 frames octets={picture} every={every} seconds=4"}


@control("voice", "Voice over UDP in both directions.", count=1, check=nothing_missing())
def voice(d):
    return {**line(d.log("rate", 0.5e6, 8e6), d.log("rtt_ms", 6, 90)), "sender": "A", "servers": [("B", "@P listen @B 5060 echo")],
            "client": f"@P connect @B 5060 stream octets={d.turn('octets', 172, 92)} pause={d.turn('pause_ms', 20, 30)} seconds=4"}


@control("datagrams-within-rate", "iperf sends datagrams at less than the path's rate.", count=2, check=nothing_missing())
def datagrams_within_rate(d):
    rate = d.log("rate", 3e6, 26e6)
    sent = int(rate * d.log("share", 0.3, 0.7))
    program = d.turn("program", "iperf", "iperf3")
    return {**line(rate, d.log("rtt_ms", 2, 44), 40), "sender": "A", "servers": [("B", f"{program} -s {'-u' if program == 'iperf' else ''}")],
            "client": f"{program} -c @B -u -b {sent} -l {d.turn('octets', 1_470, 1_200)} -t 4"}


@control("console", "Somebody types in a shell over SSH.", count=1, late=(0.4, 0.5), check=between(2.5, 11))
def console(d):
    every = d.log("interval_ms", 110, 340)
    return {**line(d.log("rate", 1.5e6, 30e6), d.log("rtt_ms", 3, 60)), "sender": "A", "files": {"sshd.conf": SSHD}, "servers": [("B", KEYS)],
            "client": f"for i in $(seq {int(4_200 / every)}); do printf 'x'; sleep {every / 1e3}; done | ssh {SSH_OPTIONS} -p 2222 root@@B cat"}


@control("small-pages", "A device's web pages are fetched one now and then, each by a connection of its own.", count=2, check=between(2.5, 11))
def small_pages(d):
    pause, octets = d.log("pause_ms", 280, 760), d.log("octets", 700, 12_000)
    it = down(octets * 8, d.turn("program", "busybox-curl", "lighttpd-wget"), seconds=1)
    return {**line(d.log("rate", 4e6, 50e6), d.log("rtt_ms", 1.5, 30)), **it, "fixed_octets": True,
            "client": f"for i in $(seq {int(4_200 / pause)}); do {it['client']}; sleep {pause / 1e3}; done"}


# ---- by ns-3

@control("simulated-full", "A simulated line is full.", count=7, check=filled(0.82))
def simulated_full(d):
    rtt, rate = d.log("rtt_ms", 5, 40), d.log("rate", 1.6e6, 18e6)
    it = simulated(rate, rtt, 5, max(rtt, 20), tcp=d.turn("tcp", "TcpCubic", "TcpWestwood", "TcpLinuxReno"), access=90e6)
    return it


@control("simulated-fair-queue-full", "A simulated line with CoDel in fair queues, or PIE, is full.", count=3, check=filled(0.8))
def simulated_fair_queue_full(d):
    return simulated(d.log("rate", 5e6, 22e6), d.log("rtt_ms", 6, 28), 5, 120, tcp="TcpCubic", disc=d.turn("disc", "fqcodel", "pie"))


@control("simulated-wifi-full", "A simulated 802.11g cell is full; acknowledgments share it.", count=3,
         check=check("payload takes half of the radio's mode", lambda truth, trial: truth["goodput_bits_per_s"] > 0.45 * trial["rate"]))
def simulated_wifi_full(d):
    mode = d.turn("mode", 12, 24)
    return {**simulated(80e6, d.log("rtt_ms", 2, 9), 4, 40, wifi=f"ErpOfdmRate{mode}Mbps", tcp="TcpCubic"), "rate": mode * 1e6, "octets": int(mode * 1e6 / 16 * 5)}


@control("simulated-polls", "Small requests are answered at once, at intervals.", count=3, check=between(2, 9))
def simulated_polls(d):
    every = d.log("interval_ms", 70, 300)
    return simulated(d.log("rate", 1e6, 20e6), d.log("rtt_ms", 3, 40), role="requests", request=int(d.log("request", 20, 120)),
                     chunk=int(d.log("answer", 60, 1_100)), pause=every, requests=int(4_200 / every))


@control("simulated-stream", "A stream of a fixed rate over TCP, or of datagrams, by the program's choice.", count=4,
         check=both(nothing_missing(), between(2.5, 9)))
def simulated_stream(d):
    octets, every = d.log("octets", 350, 1_300), d.log("interval_ms", 12, 45)
    return simulated(d.log("rate", 4e6, 20e6), d.log("rtt_ms", 4, 50), role=d.turn("role", "pieces", "datagrams"), chunk=octets, every=every, seconds_=5)
