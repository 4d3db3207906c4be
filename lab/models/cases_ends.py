"""Causes at the ends of the emulated machine: windows, buffers, programs that read, write, think or stop, a boot ROM that polls."""

from checks import between, both, check, faster, no_payload, nothing_missing, printed, socket, takes_at_most
from draw import case
from path_checks import filtered
from programs import HERE, PEER, SLIRP, TALK, behind, down, either, line, nat_up, nbd, rom, stopped, to_rom, transfer, up

from cases_path import rules


def far_path(d, octets, low=5e6, high=30e6):
    """A rate, and a round trip at which so many octets in flight take a share of it."""
    rate = d.log("rate", low, high)
    rtt = round(octets * 8e3 / (rate * d.log("share", 0.1, 0.4)), 2)
    d.note(rtt_ms=rtt)
    return rate, rtt


@case("rom-grants-little", ["receive-window"], "A boot ROM grants a window of a few segments.", 3, check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def rom_grants_little(d):
    window = int(d.log("window", 3_000, 16_000)) & ~511
    rate, rtt = far_path(d, window)
    it = {**line(rate, rtt, 60), **to_rom(window * 8e3 / rtt, d.turn("server", "mini", "webfs"), f"window={window}")}
    return {**it, "without": {**to_rom(rate * 0.3, "webfs"), "servers": it["servers"]} if d.settings["server"] == "webfs" else to_rom(rate * 0.3, "mini")}


@case("host-grants-little", ["receive-window"], "The receiving host has a small buffer.", 2, check=both(faster(1.3), socket("rwnd_limited_share", 40)))
def host_grants_little(d):
    window = d.log("window", 8_000, 30_000)
    rate, rtt = far_path(d, window, 6e6, 24e6)
    it = {**line(rate, rtt, 40), **transfer(d, window * 8e3 / rtt, "up:mbuffer", "down:webfs-curl")}
    receiver = "B" if it["sender"] == "A" else "A"
    return {**it, "sysctl": {receiver: {"net.ipv4.tcp_rmem": f"4096 {window} {window}"}}, "without": {"sysctl": {}, "octets": int(rate / 10)}}


@case("user-network-unscaled", {"late": ["no-window-scaling", "receive-window"], "snapped": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]},
      "A user-mode network scales no window, and 64 KB are less than the path holds.", 3, check=both(faster(1.3), socket("rwnd_limited_share", 30)))
def user_network_unscaled(d):
    rate, rtt = d.log("rate", 13e6, 24e6), d.log("rtt_ms", 80, 160)
    it = {**line(rate, rtt, 60), **nat_up(65e3 * 8e3 / rtt, "mbuffer", seconds=4)}
    it["sysctl"] = {"A": {"net.ipv4.tcp_wmem": "4096 1000000 4000000"}}
    # Another receiver, whose window is scaled.
    return {**it, "without": {**up(rate * 0.3, "mbuffer", seconds=4), "device": "", "client": f"{PEER} connect @B 6200 send octets=@N"}}


@case("tape-reads-slowly", ["receiver-reads-slowly"], "The receiving program writes slowly, and its buffers are full.", 3, check=faster(1.3))
def tape_reads_slowly(d):
    rate, share, block = d.log("rate", 5e6, 24e6), d.log("share", 0.12, 0.5), int(d.turn("block", "2048", "4096", "1024"))
    pause = block * 8e3 / (rate * share)
    words = f"chunk={block} pause={pause:.3f} rcvbuf={int(d.log('buffer', 6_000, 24_000))}"
    it = {**line(rate, d.log("rtt_ms", 1, 24), 60)}
    if d.turn("reader", "behind", "host", "behind") == "host":
        return {**it, **up(rate * share, "mbuffer"), "servers": [("B", f"{PEER} listen @B 6200 read {words}")], "client": f"{PEER} connect @B 6200 send octets=@N",
                "without": {"servers": [("B", f"{PEER} listen @B 6200 read")], "octets": int(rate / 5)}}
    return {**it, **nat_up(rate * share, "perl", read=words), "without": {"servers": nat_up(1, "perl")["servers"], "octets": int(rate / 5)}}


@case("reader-stops", ["receiver-stalls", "receiver-reads-slowly"], "The receiving program stands still at intervals, and reads all that waits afterwards.", 2, check=faster(1.3))
def reader_stops(d):
    rate, works, stops = d.log("rate", 3e6, 12e6), int(d.log("works_ms", 130, 420)), int(d.log("stops_ms", 220, 700))
    words = f"works={works} stops={stops}"
    it = {**line(rate, d.log("rtt_ms", 2, 24), 60), "sysctl": {"B": {"net.ipv4.tcp_rmem": "4096 24000 24000"}}, **up(rate * 0.4, "mbuffer", seconds=3)}
    return {**it, "servers": [("B", f"{PEER} listen @B 6200 read {words}")], "client": f"{PEER} connect @B 6200 send octets=@N", "without": {"servers": [("B", f"{PEER} listen @B 6200 read")]}}


@case("sender-stopped", ["sender-stalls", "sender-idle"], "The sending program is stopped at intervals.", 2, check=faster(1.3))
def sender_stopped(d):
    rate, works, stops = d.log("rate", 3e6, 10e6), int(d.log("works_ms", 140, 460)), int(d.log("stops_ms", 220, 700))
    words = f"chunk=4096 sndbuf=20000"
    it = {**line(rate, d.log("rtt_ms", 2, 30)), **down(rate * 0.5, "webfs-curl", seconds=3)}
    sends = [("B", f"{PEER} listen @B 6202 send octets=@N {words} works={works} stops={stops}")]
    if d.turn("who", "host", "behind") == "behind":
        it |= {"device": "B", "servers": [("B", SLIRP), ("B", behind(sends[0][1].replace("@B", "127.0.0.1")))]}
        other = [("B", SLIRP), ("B", behind(f"{PEER} listen 127.0.0.1 6202 send octets=@N {words}"))]
    else:
        it["servers"], other = sends, [("B", f"{PEER} listen @B 6202 send octets=@N {words}")]
    return {**it, "client": f"{PEER} connect @B 6202 read", "without": {"servers": other}}


@case("metered-by-pv", ["sender-idle", "host-pacing", "sender-stalls"], "A program passes on so many octets each tenth of a second, less than the path carries.", 2, check=faster(1.4))
def metered_by_pv(d):
    rate, share = d.log("rate", 5e6, 24e6), d.log("share", 0.1, 0.4)
    it = line(rate, d.log("rtt_ms", 1, 26), 40)
    return {**it, **up(rate * share, "pv", send=f"-L {int(rate * share / 8)}"), "without": up(rate * 0.5, "pv")}


@case("shaped-at-host", ["host-pacing", "path-rate"], "A discipline of the sending host limits its rate.", 2, check=faster(1.4))
def shaped_at_host(d):
    rtt, rate, pace, how = d.log("rtt_ms", 3, 40), d.log("rate", 12e6, 30e6), int(d.log("pace_bits_per_s", 1e6, 5e6)), d.turn("how", "tbf", "fq")
    it = {**line(rate, rtt), **transfer(d, pace, "down:mini-wget", "up:mbuffer")}
    words = f"fq maxrate {pace}" if how == "fq" else f"tbf rate {pace} burst 3200 limit 60000"
    return {**it, "host_shape": {it["sender"]: words}, "without": {"host_shape": {}, "octets": int(rate / 10)}}


@case("slow-disk-of-server", ["server-think-time", "peer-turnaround"], "A block device takes its time for each block; the client asks for one at a time.", 3, gain=True, check=faster(1.3))
def slow_disk_of_server(d):
    delay, size = int(d.log("delay_ms", 60, 380)), int(d.turn("request", "4096", "16384", "8192"))
    count = max(6, round(3_000 / delay))
    it = {**line(d.log("rate", 9e6, 40e6), d.log("rtt_ms", 1, 30)), "sender": "B", "octets": count * size, "fixed_octets": True}
    client = f"nbdcopy --connections=1 --threads=1 --requests=1 --request-size={size} --no-extents nbd://@B null:"
    return {**it, "client": client, "servers": [("B", nbd("@B", "pattern", "--filter=delay", f"rdelay={delay}ms"))],
            "without": {"servers": [("B", nbd("@B", "pattern"))]}}


@case("client-digests", ["client-think-time"], "The client works on each part that it fetched before it asks for the next.", 2, gain=False, check=both(between(2, 12), printed("answers", 5)))
def client_digests(d):
    think, answer = int(d.log("think_ms", 130, 460)), int(d.log("answer", 5_000, 40_000))
    it, count = line(d.log("rate", 9e6, 40e6), d.log("rtt_ms", 0.8, 24), 60), max(6, round(3_000 / think))
    ask = f"{TALK} ask @B 5557 request=96 answer={answer} count={count} pause={think}"
    if d.turn("server", "behind", "host") == "host":
        return {**it, "sender": "B", "servers": [("B", f"{TALK} serve @B 5557 request=96 answer={answer}")], "client": ask}
    return {**it, "device": "B", "sender": "B", "servers": [("B", SLIRP), ("B", behind(f"{TALK} serve 127.0.0.1 5557 request=96 answer={answer}"))], "client": ask}


@case("header-then-body", ["delayed-ack-with-nagle"], "The client writes its request in two parts; the second one waits for the first one's late acknowledgment.", 2, check=faster(1.3))
def header_then_body(d):
    it, answer = line(d.log("rate", 4e6, 40e6), d.log("rtt_ms", 0.8, 12)), int(d.log("answer", 40, 900))
    words = f"{TALK} ask @B 5560 request=180 answer={answer} count=52 nagle=1"
    return {**it, "sender": "A", "servers": [("B", f"{TALK} serve @B 5560 request=180 answer={answer}")], "client": f"{words} split=60", "timestamps": d.turn("stamps", 1, 0), "without": {"client": words}}


@case("octets-at-a-time", ["small-writes", "sender-idle"], "The program writes a few octets at a time, without Nagle's algorithm.", 2, check=faster(1.3))
def octets_at_a_time(d):
    rtt, rate, octets, pause = d.log("rtt_ms", 5, 28), d.log("rate", 1.4e6, 6e6), int(d.log("octets", 14, 90)), d.log("pause_ms", 0.5, 1.5)
    words = f"chunk={octets} pause={pause} nodelay=1"
    way = d.turn("to", "host", "behind")
    if way == "host":
        it = {**up(octets * 8e3 / (pause + 0.1), "mbuffer"), "servers": [("B", f"{PEER} listen @B 6200 read")], "client": f"{PEER} connect @B 6200 send octets=@N {words}"}
    else:
        it = nat_up(octets * 8e3 / (pause + 0.1), "perl", send=words)
    return {**line(rate, rtt, 30), **it, "without": {"client": f"{PEER} connect @B 6200 send octets=@N", "octets": int(rate / 6)}}


@case("rom-by-tftp", ["one-in-flight"], "A boot ROM fetches a file by TFTP, one block in flight at a time.", 3, gain=False, check=between(1.2, 16))
def rom_by_tftp(d):
    rtt = d.log("rtt_ms", 3, 60)
    octets = int(1_432 * 3_000 / (rtt + 1))
    serve = f"chmod 755 @D; truncate -s {octets} @D/data; chmod 644 @D/data; exec in.tftpd -L -s -a @A -u root @D"
    return {**line(d.log("rate", 9e6, 30e6), rtt), "sender": "A", "device": "B", "client_at": "B", "servers": [("A", serve)], "client": rom("tftp://@A/data")}


@case("rom-polls-late", ["late-acks", "receive-window", "delayed-ack-with-nagle"], "A boot ROM looks for frames at intervals, and grants little more than a segment.", 2, check=faster(1.3))
def rom_polls_late(d):
    poll, rtt, rate = int(d.log("poll_ms", 14, 60)), d.log("rtt_ms", 1, 8), d.log("rate", 8e6, 30e6)
    window = 3_072
    it = {**line(rate, rtt), **to_rom(window * 8e3 / (poll + rtt), d.turn("server", "webfs", "mini"), f"window={window} poll={poll * 1000}")}
    other = to_rom(window * 4e3 / (rtt + 1), d.settings["server"], f"window={window}")
    return {**it, "without": other}


@case("short-and-far-away", ["congestion-window"], "A short transfer over a long path is over before the window has grown, which begins with two segments.", 2,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85), check=both(nothing_missing(), takes_at_most(0.5), faster(1.3)))
def short_and_far_away(d):
    rtt, rate, octets = d.log("rtt_ms", 110, 300), d.log("rate", 12e6, 40e6), d.log("octets", 30e3, 110e3)
    it = {**line(rate, rtt, 60), **either(d, octets * 8, "rom webfs", "down mini-tnftp", seconds=1), "least_s": 0.3, "fixed_octets": True, "congestion": "cubic"}
    it["client"] += "; sleep 1.5"
    peer = "A" if it["sender"] == "B" else "B"
    return {**it, "route": {it["sender"]: "initcwnd 2"}, "without": {"route": {it["sender"]: "initcwnd 90", peer: "initrwnd 90"}}}


@case("port-closed", ["refused"], "No program listens on the port, or a firewall answers with a reset.", 2, gain=False, kinds=("sender", "middle", "truncated", "snapped"),
      truncated=(0.6, 0.9), check=no_payload())
def port_closed(d):
    it = {**line(9e6, d.log("rtt_ms", 2, 70)), "sender": "A", "one_end": "sender", "least_s": 0, "servers": [],
          "client": f"for i in 1 2 3 4 5; do nbdinfo nbd://@B:{d.turn('port', '10809', '10810')}; sleep 0.4; done; true"}
    return it if d.turn("how", "port", "firewall") == "port" else {**it, "nft": {"R": rules("ip protocol tcp counter reject with tcp reset")}}


@case("drops-syns", ["no-answer"], "A firewall drops what opens connections.", 2, gain=False, kinds=("sender", "middle", "snapped"), check=both(no_payload(), filtered("R", 2)))
def drops_syns(d):
    way = d.turn("way", "ip daddr 10.53.3.2", "ip saddr 10.53.3.2")
    return {**line(9e6, d.log("rtt_ms", 2, 60)), "sender": "A", "one_end": "sender", "least_s": 0, "servers": [("B", f"exec memcached -u root -l @B")],
            "client": f"timeout {d.log('patience_s', 4, 9, 2)} perl {HERE}/lookups.pl @B 11211 value=20 count=3 pause=10; true", "nft": {"R": rules(f"{way} tcp flags & syn == syn counter drop")}}


@case("name-server-silent", ["name-resolution"], "The first name server does not answer.", 2, gain=False, kinds=("receiver", "middle", "snapped"),
      check=check("payload comes late", lambda truth, trial: truth["path"]["wait_s"] >= 0.9))
def name_server_silent(d):
    it = {**line(9e6, d.log("rtt_ms", 3, 50)), **down(d.log("octets", 5_000, 60_000) * 8, d.turn("program", "webfs-axel", "mini-tnftp"), seconds=1), "least_s": 0, "one_end": "receiver", "fixed_octets": True}
    it["client"] = it["client"].replace("http://@B:", "http://images.example.net:")
    return {**it, "resolver": f"nameserver 10.53.3.66\nnameserver 10.53.3.2\noptions timeout:{d.turn('timeout_s', '2', '1')}\n",
            "servers": [*it["servers"], ("B", "@P listen @B 53 names to=10.53.3.2 after=1")], "nft": {"R": rules("ip daddr 10.53.3.66 counter drop")}}


@case("answers-lost", ["retransmission-stalls", "random-loss", "wire-errors"], "Requests and answers are lost; only timers repair them.", 2, check=faster(1.3))
def answers_lost(d):
    rtt, share, answer = d.log("rtt_ms", 5, 34), int(d.log("loss_permille", 24, 60)), int(d.log("answer", 40, 1_000))
    it = {**line(9e6, rtt), "sender": "B", "longest": 40, "nft": {"R": rules(f"ip protocol tcp numgen random mod 1000 < {share} counter drop")}, "without": {"nft": {}}}
    count = int(3.6 / (rtt / 1e3 + share * 2 * 0.4e-3))
    return {**it, "servers": [("B", "exec memcached -u root -l @B")], "client": f"perl {HERE}/lookups.pl @B 11211 value={answer} count={count} pause=0"}
