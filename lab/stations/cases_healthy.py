"""Healthy links: nothing may be named but the path's rate."""

from checks import check, filled
from draw import control
from setups import KEYS, REDIS, SSH, SSHD, download, line, transfer, upload


@control("full-ethernet", "10BASE-T, with preambles and gaps, is full.", count=2, check=filled())
def full_ethernet(d):
    return {**line(10_000_000, d.log("rtt_ms", 0.4, 3), 15, overhead=24), **transfer(d, 10e6, "up:app", "down:lighttpd-curl")}


@control("full-line", "A line of some rate is full.", count=5, check=filled())
def full_line(d):
    rtt, rate = d.log("rtt_ms", 2, 30), d.log("rate", 2e6, 45e6)
    return {**line(rate, rtt, 20), **transfer(d, rate, "down:redis", "up:nc", "down:lighttpd-wget", "up:ssh", "down:lighttpd-lftp"),
            "congestion": d.turn("congestion", "cubic", "reno", "bbr", "cubic", "reno")}


@control("full-managed", "A line with a managed queue (CoDel, RED) is full.", count=2, check=filled(0.8))
def full_managed(d):
    rtt, rate = d.log("rtt_ms", 8, 30), d.log("rate", 4e6, 16e6)
    it = {**line(rate, rtt, 60), **transfer(d, rate, "down:lighttpd-curl", "up:app")}
    it["path"] |= {"codel": 6} if d.turn("queue", "codel", "red") == "codel" else {"red": 0.35}
    return it


@control("full-slots", "A line whose sender may send in a part of each period (cable, TDMA) is full.", count=2,
         check=check("payload takes 80% of the rate in its slots", lambda truth, trial: truth["goodput_bits_per_s"] > 0.8 * trial["rate"]))
def full_slots(d):
    rtt, rate, share = d.log("rtt_ms", 6, 20), d.log("rate", 4e6, 12e6), d.log("share", 0.35, 0.7)
    it = {**line(rate, rtt, 25), **transfer(d, rate, "up:app", "down:lighttpd-wget")}
    it["path"] |= {"rate": rate / share, "slot": d.log("period_ms", 2, 6), "share": share}
    return it


@control("full-half-duplex", "A half-duplex medium is full.", count=2, check=filled(0.75))
def full_half_duplex(d):
    rtt, rate = d.log("rtt_ms", 1, 8), d.log("rate", 3e6, 10e6)
    return {**line(rate, rtt, 20, half=1, overhead=24), **transfer(d, rate, "down:lighttpd-curl", "up:app")}


@control("full-tunnel", "A tunnel (TUN, smaller MTU) is full.", count=2, kinds=("sender", "receiver", "late", "truncated", "snapped"), check=filled(0.8))
def full_tunnel(d):
    rtt, rate = d.log("rtt_ms", 4, 30), d.log("rate", 3e6, 14e6)
    return {**line(rate, rtt, 20), **transfer(d, rate, "up:app", "down:lighttpd-lftp"), "link": "tun", "mtu": d.turn("mtu", 1420, 1380)}


@control("full-macvlan", "A fast line to a container is full.", count=1, check=filled())
def full_macvlan(d):
    rate = d.log("rate", 50e6, 80e6)
    return {**line(rate, d.log("rtt_ms", 2, 8), 15), **download(rate, "lighttpd-curl", seconds=3), "link": "macvlan"}


@control("full-long", "A long path is full.", count=2, check=filled(0.72))
def full_long(d):
    rtt, rate = d.log("rtt_ms", 70, 160), d.log("rate", 2e6, 5e6)
    return {**line(rate, rtt, rtt), **transfer(d, rate, "down:lighttpd-curl", "up:app", seconds=9), "congestion": d.turn("congestion", "bbr", "cubic")}


@control("many-flows", "Several connections fill a line together.", count=2, check=filled(0.8))
def many_flows(d):
    rtt, rate, flows = d.log("rtt_ms", 4, 20), d.log("rate", 8e6, 20e6), d.turn("flows", 3, 6)
    it = download(rate / flows, "lighttpd-curl")
    it["client"] = f"curl -s -Z --parallel-immediate --parallel-max {flows} {' '.join(['-o /dev/null http://@B:8080/data'] * flows)}"
    return {**line(rate, rtt, 25), **it}


@control("board-full", "A slow line to an emulated board is full.", count=2, check=filled(0.8))
def board_full(d):
    if d.turn("way", "up", "down") == "up":
        return {**line(d.log("rate", 0.6e6, 1.2e6), d.log("rtt_ms", 1, 3), 20), **upload(0, "iperf-board")}
    rate = d.log("rate", 10e6, 14e6)
    return {**line(rate, d.log("rtt_ms", 1, 3), 50), **download(rate, "board")}


@control("typing", "Somebody types in a terminal over SSH.", count=2, late=(0.35, 0.5))
def typing(d):
    every = d.log("interval_ms", 120, 260)
    return {**line(d.log("rate", 2e6, 20e6), d.log("rtt_ms", 2, 40)), "sender": "A", "files": {"sshd.conf": SSHD}, "servers": [("B", KEYS)],
            "client": f"for i in $(seq {int(5_000 / every)}); do printf x; sleep {every / 1e3}; done | {SSH} cat"}


@control("call", "A telephone call: 50 packets a second in both directions.", count=2)
def call(d):
    octets = d.turn("octets", 172, 72)
    return {**line(d.log("rate", 0.4e6, 4e6), d.log("rtt_ms", 4, 80)), "sender": "A", "servers": [("B", "@P echo @B 7000")],
            "client": f"@P stream @B 7000 octets={octets} pause=20 seconds=5"}


@control("video", "Datagrams of a camera, below the path's rate.", count=1)
def video(d):
    rate, octets = d.log("rate", 5e6, 15e6), d.log("octets", 900, 1_350)
    return {**line(rate, d.log("rtt_ms", 4, 40)), "sender": "B", "servers": [("A", "@P echo @A 7000 quiet=1")], "client_at": "B",
            "client": f"@P stream @A 7000 octets={octets} pause={octets * 8e3 / (rate * d.log('share', 0.3, 0.6)):.3f} seconds=4.5"}


@control("audio", "A stream of a fixed rate over TCP, in small pieces, by the program's choice.", count=2)
def audio(d):
    octets, every = d.log("octets", 200, 900), d.log("interval_ms", 18, 45)
    how = download if d.turn("way", "up", "down") == "down" else upload
    words = f"chunk={octets} pause={every} nodelay=1"
    return {**line(d.log("rate", 3e6, 12e6), d.log("rtt_ms", 3, 40)), **(how(0, "app", more=words) if how is download else how(0, "app", to=words))}


@control("sign-of-life", "An idle connection with a message now and then.", count=2)
def sign_of_life(d):
    octets, every = d.log("octets", 10, 60), d.log("interval_ms", 700, 1_300)
    it = {**line(d.log("rate", 1e6, 10e6), d.log("rtt_ms", 3, 80)), "sender": "A",
          "client": f"@P connect @B 5005 beat octets={octets} count=6 pause={every}"}
    if d.turn("who", "app", "board") == "board":
        return {**it, "sender": "B", "board": True, "servers": [],
                "client": f"for i in 1 2 3 4 5 6; do curl -s -o /dev/null http://@B/{octets}; sleep {every / 1e3}; done"}
    return {**it, "servers": [("B", f"@P listen @B 5005 answer request={octets} answer={octets}")]}


@control("polled-values", "A manager asks for values over SNMP now and then.", count=1)
def polled_values(d):
    every = d.log("interval_ms", 300, 700)
    return {**line(d.log("rate", 1e6, 8e6), d.log("rtt_ms", 3, 40)), "sender": "B",
            "files": {"snmpd.conf": "rocommunity public\nagentaddress udp:10.0.0.2:161\n"},
            "servers": [("B", "exec snmpd -f -Lo -C -c @D/snmpd.conf -p @D/snmpd.pid")],
            "client": f"for i in $(seq {int(4_500 / every)}); do snmpget -v2c -c public @B 1.3.6.1.2.1.1.3.0 > /dev/null; sleep {every / 1e3}; done"}


@control("keys-and-values", "Short requests to Redis are answered at once.", count=2)
def keys_and_values(d):
    every = d.log("interval_ms", 20, 60)
    return {**line(d.log("rate", 4e6, 20e6), d.log("rtt_ms", 1, 8)), "sender": "B", "servers": [("B", REDIS)],
            "client": f"redis-cli -h @B -i {every / 1e3} -r {int(4_000 / every)} incr counter > /dev/null"}


@control("short-pages", "A browser fetches a short page now and then.", count=2)
def short_pages(d):
    pause, octets = d.log("pause_ms", 300, 800), d.log("octets", 700, 8_000)
    it = download(octets * 8, d.turn("program", "lighttpd-curl", "lighttpd-wget"), seconds=1)
    return {**line(d.log("rate", 5e6, 30e6), d.log("rtt_ms", 2, 30)), **it, "fixed_octets": True,
            "client": f"for i in $(seq {int(4_500 / pause)}); do {it['client']}; sleep {pause / 1e3}; done"}
