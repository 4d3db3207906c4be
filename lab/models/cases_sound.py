"""Healthy programs, boot ROMs and lines of the emulated machine: nothing may be named but the path's rate."""

from checks import between, both, check, filled, nothing_missing
from draw import control
from programs import HERE, PEER, behind, either, line, rom, SLIRP, transfer, web, DATA, PORTS, fetch

CLIP = "/tmp/clip.ts"


@control("line-of-some-rate", "A line of some rate is full.", count=3, check=filled(0.8))
def line_of_some_rate(d):
    rate, rtt = d.log("rate", 0.9e6, 34e6), d.log("rtt_ms", 2, 44)
    it = {**line(rate, rtt, max(24, 1.2 * rtt)), **transfer(d, rate, "up:nbd", "down:webfs-axel", "up:mbuffer")}
    return {**it, "congestion": d.turn("congestion", "cubic", "htcp", "reno")}


@control("image-for-rom", "A boot ROM fetches an image; the line is full.", count=3, check=filled(0.8))
def image_for_rom(d):
    rate, rtt = d.turn("rate", 10e6, d.log("odd_rate", 2e6, 8e6), d.log("other_rate", 12e6, 30e6)), d.log("rtt_ms", 0.6, 24)
    return {**line(rate, rtt, 40), **either(d, rate, "rom webfs", "rom mini", "rom webfs"), "congestion": "cubic"}


@control("user-network-full", "A line is full; the TCP of a user-mode network is at one end.", count=3, check=filled(0.8))
def user_network_full(d):
    rate, rtt = d.log("rate", 1.5e6, 9e6), d.log("rtt_ms", 2, 18)
    return {**line(rate, rtt, 70), **either(d, rate, "nat-down webfs-curl", "nat-up mbuffer", "nat-down mini-axel"), "congestion": "cubic"}


@control("hundred-megabit", "A line of 100 Mbit/s is full.", count=2, check=filled(0.8))
def hundred_megabit(d):
    it = {**line(100e6, 1, 14), **transfer(d, 100e6, "down:webfs-curl", "up:mbuffer", seconds=0.8)}
    return {**it, "netem": {}, "tso": d.turn("tso", it["sender"], ""), "gro": d.turn("gro", "AB", ""), "least_s": 0.5, "fixed_octets": True, "congestion": "cubic"}


@control("managed-queue", "A line is full; its queue is managed.", count=2, check=filled(0.8))
def managed_queue(d):
    rate, rtt, queue = d.log("rate", 3e6, 20e6), d.log("rtt_ms", 6, 40), d.turn("queue", "cake", "fq_codel")
    it = {**line(rate, rtt), **either(d, rate, "rom mini", "down mini-wget"), "congestion": "cubic"}
    shape = {"cake": f"cake bandwidth {int(rate)}bit besteffort rtt 60ms", "fq_codel": f"htb {int(rate)}; fq_codel"}[queue]
    return {**it, "shape": {**it["shape"], "there": shape}}


@control("lookups", "A client looks up values in a cache now and then, by one connection; the server answers at once.", count=3, check=between(2, 9))
def lookups(d):
    every, octets = int(d.log("interval_ms", 50, 380)), int(d.log("value", 30, 1_900))
    it = {**line(d.log("rate", 1.2e6, 50e6), d.log("rtt_ms", 0.6, 50)), "sender": "B"}
    words = f"perl {HERE}/lookups.pl @B 11211 value={octets} count={int(3_400 / every)} pause={every}"
    if d.turn("at", "host", "behind", "host") == "behind":
        return {**it, "device": "B", "servers": [("B", SLIRP), ("B", behind("exec memcached -u root -l 127.0.0.1"))], "client": words}
    return {**it, "servers": [("B", "exec memcached -u root -l @B")], "client": words}


@control("small-files", "Small files are fetched one now and then, each by a connection of its own.", count=2, check=between(2, 11))
def small_files(d):
    pause, octets = int(d.log("pause_ms", 200, 620)), int(d.log("octets", 250, 8_000))
    it = {**line(d.log("rate", 3e6, 50e6), d.log("rtt_ms", 0.9, 34)), "octets": octets, "fixed_octets": True, "sender": "B"}
    command = f"for i in $(seq {int(3_400 / pause)}); do {{}}; sleep {pause / 1e3}; done"
    if d.turn("server", "mini", "behind") == "mini":
        return {**it, "servers": [("B", f"{DATA}; {web('mini')}")], "client": command.format(fetch("tnftp", f"http://@B:{PORTS['mini']}/data"))}
    return {**it, "device": "B", "servers": [("B", SLIRP), ("B", f"{DATA}; {behind(web('webfs', '127.0.0.1'))}")],
            "client": command.format(fetch("curl", f"http://@B:{PORTS['webfs']}/data"))}


@control("camera-stream", "A camera streams video by UDP, at less than the path's rate.", count=2, check=both(nothing_missing(), check("the stream lasts 2 s or more", lambda truth, trial: truth["seconds"] >= 2)))
def camera_stream(d):
    it = {**line(d.log("rate", 2.6e6, 30e6), d.log("rtt_ms", 1, 60), 80), "sender": "A", "servers": [("B", f"exec perl {HERE}/datagrams.pl take @B 5004")]}
    form = d.turn("form", "mpegts 'udp://@B:5004?pkt_size=1316'", "rtp_mpegts 'rtp://@B:5004?pkt_size=1200'")
    return {**it, "client": f"timeout 8 ffmpeg -v error -re -i {CLIP} -t 3.4 -c copy -f {form}"}


@control("sensor-reports", "A sensor reports at intervals, by one connection.", count=2, check=between(2, 9))
def sensor_reports(d):
    every, octets = int(d.log("interval_ms", 70, 420)), int(d.log("octets", 20, 500))
    total = octets * int(3_400 / every)
    it = {**line(d.log("rate", 0.4e6, 30e6), d.log("rtt_ms", 1, 80)), "sender": "A", "octets": total, "fixed_octets": True}
    send = f"{PEER} connect @B 6200 send octets=@N chunk={octets} pause={every} nodelay=1"
    if d.turn("to", "host", "behind") == "host":
        return {**it, "servers": [("B", f"{PEER} listen @B 6200 read")], "client": send}
    return {**it, "device": "B", "servers": [("B", SLIRP), ("B", behind(f"{PEER} listen 127.0.0.1 6200 read"))], "client": send}


@control("datagrams-below-rate", "Datagrams are sent evenly, at less than the path's rate.", count=1, check=nothing_missing())
def datagrams_below_rate(d):
    rate, octets, share = d.log("rate", 1.6e6, 20e6), int(d.log("octets", 140, 1_400)), d.log("share", 0.2, 0.55)
    return {**line(rate, d.log("rtt_ms", 1, 40), 50), "sender": "A", "servers": [("B", f"exec perl {HERE}/datagrams.pl take @B 5004")],
            "client": f"perl {HERE}/datagrams.pl send @B 5004 octets={octets} every={octets * 8 / (rate * share):.6f} seconds=3.2"}
