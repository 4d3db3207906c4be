"""Healthy links: nothing may be named but the path's rate."""

from checks import between, check, filled, printed
from draw import control
from setups import KEYS, SSH, SSHD, download, line, transfer, upload


@control("wired-full", "A wire of a standard rate, with preambles and gaps, is full.", count=2, check=filled())
def wired_full(d):
    rate = d.turn("rate", 10_000_000, 100_000_000)
    return {**line(rate, d.log("rtt_ms", 0.5, 2.5), 12, overhead=24), **transfer(d, rate, "up:ends", "down:nginx-curl", seconds=4)}


@control("access-full", "An access line of some rate is full.", count=5, check=filled())
def access_full(d):
    rtt, rate = d.log("rtt_ms", 4, 26), d.log("rate", 3e6, 38e6)
    return {**line(rate, rtt, 20), **transfer(d, rate, "up:nuttcp", "down:caddy", "down:rsync", "up:socat", "down:ftp"),
            "congestion": d.turn("congestion", "bbr", "cubic", "reno", "cubic", "cubic")}


@control("fair-queues-full", "A line with FQ-CoDel, which marks or drops, is full.", count=2, check=filled(0.8))
def fair_queues_full(d):
    rtt, rate = d.log("rtt_ms", 8, 32), d.log("rate", 5e6, 18e6)
    it = {**line(rate, rtt, 80, fq=1, ecn=1), **transfer(d, rate, "up:ends", "down:nginx-wget")}
    return {**it, "sysctl": {end: {"net.ipv4.tcp_ecn": 1} for end in "AB"}} if d.turn("ecn", 1, 0) else it


@control("radio-full", "A radio that both directions share and that sends aggregates is full.", count=2,
         check=check("payload takes 60% of the radio's rate", lambda truth, trial: truth["goodput_bits_per_s"] > 0.6 * trial["rate"]))
def radio_full(d):
    rate = d.log("rate", 14e6, 30e6)
    it = {**line(rate, d.log("rtt_ms", 3, 12), 40), **transfer(d, rate * 0.8, "down:nginx-curl", "up:nuttcp")}
    it["path"] |= {"agg": d.turn("frames", 16, 24), "airtime": d.log("airtime_ms", 0.3, 0.7)}
    return it


@control("cable-full", "An uplink whose modem requests and is granted is full.", count=2, check=filled(0.8))
def cable_full(d):
    rate = d.log("rate", 2e6, 8e6)
    it = {**line(40e6, d.log("rtt_ms", 8, 25), 30), **transfer(d, rate, "up:socat", "up:ends"), "rate": rate}
    it["path"] |= {"ab.map": d.log("map_ms", 2, 5), "ab.rate": rate, "ab.queue": int(rate / 8e3 * 35)}
    return it


@control("far-full", "A long path is full.", count=1, check=filled(0.72))
def far_full(d):
    rtt, rate = d.log("rtt_ms", 80, 140), d.log("rate", 2e6, 4e6)
    return {**line(rate, rtt, rtt), **transfer(d, rate, "down:caddy", seconds=9), "congestion": "cubic"}


@control("parts-full", "Several connections for parts of a file fill a line.", count=2, check=filled(0.8))
def parts_full(d):
    rate = d.log("rate", 6e6, 20e6)
    return {**line(rate, d.log("rtt_ms", 4, 20), 25), **download(rate, "nginx-axel")}


@control("block-device", "A disk is read over NBD, with requests in flight, at the rate of the line.", count=1, check=filled(0.8))
def block_device(d):
    rate = d.log("rate", 8e6, 20e6)
    return {**line(rate, d.log("rtt_ms", 2, 8), 20), **download(rate, "nbd")}


@control("shell", "Somebody types in a shell over SSH.", count=2, late=(0.4, 0.55), check=between(3, 12))
def shell(d):
    every = d.log("interval_ms", 140, 300)
    return {**line(d.log("rate", 2e6, 24e6), d.log("rtt_ms", 3, 45)), "sender": "A", "files": {"sshd.conf": SSHD}, "servers": [("B", KEYS)],
            "client": f"for i in $(seq {int(5_000 / every)}); do printf 'l'; sleep {every / 1e3}; done | {SSH} cat"}


@control("sensor-topics", "A sensor publishes small values over MQTT.", count=2, check=between(3, 12))
def sensor_topics(d):
    every = d.log("interval_ms", 250, 700)
    words = "value 17.25 state ok" + " x" * int(d.log("words", 4, 40))
    return {**line(d.log("rate", 1e6, 9e6), d.log("rtt_ms", 4, 60)), "sender": "A",
            "files": {"mosquitto.conf": "listener 1883 10.44.2.2\nallow_anonymous true\nuser root\n"},
            "servers": [("B", "exec mosquitto -c @D/mosquitto.conf")],
            "client": f"for i in $(seq {int(5_000 / every)}); do echo {words}; sleep {every / 1e3}; done | mosquitto_pub -h @B -q {d.turn('qos', 0, 1)} -t hall/7 -l"}


@control("registers", "A client polls registers: small requests at intervals, answered at once.", count=2, check=printed("answers", 8))
def registers(d):
    every, answer = d.log("interval_ms", 90, 400), int(d.log("answer", 11, 120))
    return {**line(d.log("rate", 1e6, 12e6), d.log("rtt_ms", 2, 30)), "sender": "B",
            "servers": [("B", f"@P listen @B 502 answer request=12 answer={answer}")],
            "client": f"@P connect @B 502 ask request=12 answer={answer} count={int(5_000 / every)} pause={every}"}


@control("coap-values", "CoAP values are fetched one now and then.", count=1)
def coap_values(d):
    every = d.log("interval_ms", 250, 600)
    return {**line(d.log("rate", 0.3e6, 3e6), d.log("rtt_ms", 5, 60)), "sender": "B", "servers": [("B", "exec coap-server-notls -A @B")],
            "client": f"for i in $(seq {int(4_500 / every)}); do coap-client-notls -m get coap://@B/time > /dev/null; sleep {every / 1e3}; done"}


@control("voice", "Voice in both directions, 20 to 60 ms of it in a datagram.", count=1, check=printed("returned", 60))
def voice(d):
    return {**line(d.log("rate", 0.5e6, 5e6), d.log("rtt_ms", 5, 70)), "sender": "A", "servers": [("B", "@P echo @B 5060")],
            "client": f"@P stream @B 5060 octets={d.turn('octets', 172, 52)} pause={d.turn('pause_ms', 20, 30)} seconds=5"}


@control("film", "A film over UDP, in bursts of datagrams, below the path's rate.", count=1,
         check=check("nothing is lost", lambda truth, trial: truth["lost_segments"] == 0))
def film(d):
    rate = d.log("rate", 8e6, 20e6)
    return {**line(rate, d.log("rtt_ms", 4, 40), 25), "sender": "B", "client_at": "B", "servers": [("A", "@P take @A 5004")],
            "client": f"@P stream @A 5004 octets=1328 at_once=4 pause={4 * 1328 * 8e3 / (rate * d.log('share', 0.25, 0.55)):.3f} seconds=4.5"}


@control("music", "A stream of a fixed rate over TCP, by the program's choice.", count=2, check=between(3, 12))
def music(d):
    octets, every = d.log("octets", 300, 1_200), d.log("interval_ms", 22, 60)
    words = f"chunk={octets} pause={every} nodelay=1"
    it = download(0, "ends", more=words) if d.turn("way", "down", "up") == "down" else upload(0, to=words)
    return {**line(d.log("rate", 3e6, 12e6), d.log("rtt_ms", 4, 40)), **it}


@control("pages", "Short pages are fetched now and then, each by a connection of its own.", count=2, check=between(2.5, 14))
def pages(d):
    pause, octets = d.log("pause_ms", 300, 900), d.log("octets", 900, 9_000)
    it = download(octets * 8, d.turn("program", "nginx-curl", "caddy"), seconds=1)
    return {**line(d.log("rate", 5e6, 36e6), d.log("rtt_ms", 2, 26)), **it, "fixed_octets": True,
            "client": f"for i in $(seq {int(4_500 / pause)}); do {it['client']}; sleep {pause / 1e3}; done"}
