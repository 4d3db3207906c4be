"""The cases: how each is provoked, what may be named, and what must show that it was provoked."""

import math

from draw import CASES, EVERY, case, control, full, lost, slower
from network import bucket, shape


def frames(rate, milliseconds):
    return max(6, round(rate * milliseconds / 1e3 / 8 / 1514))


def link(rate, rtt_ms, queue_ms=None, **more):
    """The same rate in both directions; a queue of one round trip, 12 to 25 ms."""
    queue = frames(rate, queue_ms or min(25, max(12, rtt_ms)))
    return {"rate": rate, "rtt_ms": rtt_ms, "there": shape(rate, queue), "back": shape(rate, queue),
            "filter": ["-d", f"{rtt_ms / 2:.1f}"], **more}


def upload(octets, program="socat", to="", more=""):
    """Programs of a transfer from A to B; `to` are options of the sending socket, `more` of the receiving one."""
    if program == "socat":
        return {"sender": "A", "servers": [("B", f"socat -u TCP-LISTEN:5001,reuseaddr{more} OPEN:/dev/null")],
                "client": f"head -c {octets} /dev/zero | socat -u STDIN TCP:@B:5001{to}"}
    if program == "nc":
        return {"sender": "A", "servers": [("B", "busybox nc -l -p 5002 > /dev/null")],
                "client": f"head -c {octets} /dev/zero | busybox nc @B 5002"}
    if program == "iperf3":
        return {"sender": "A", "servers": [("B", "iperf3 -s -1")], "client": f"iperf3 -c @B -t 4 {to}"}
    if program == "perl":
        return {"sender": "A", "servers": [("B", f"perl @P/talk.pl listen @B 5003 read {more}")],
                "client": f"perl @P/talk.pl connect @B 5003 write octets={octets} {to}"}
    if program == "rsync":
        return {"sender": "A", "files": {"rsyncd.conf": "use chroot = no\n[in]\npath = @D/in\nread only = no\n"},
                "servers": [("B", "mkdir -p @D/in && rsync --daemon --no-detach --config=@D/rsyncd.conf --port=8730")],
                "client": f"head -c {octets} /dev/urandom > @D/data && rsync -q --whole-file @D/data rsync://@B:8730/in/"}
    raise KeyError(program)


NGINX = """worker_processes 1; daemon off; user root; pid @D/nginx.pid; error_log @D/nginx.err;
events {} http { access_log off; client_body_temp_path @D/t1; proxy_temp_path @D/t2; fastcgi_temp_path @D/t3;
uwsgi_temp_path @D/t4; scgi_temp_path @D/t5; sendfile on;
server { listen 8080; listen [::]:8080; root @D; @L } }
"""


def download(octets, program="nginx-curl", to="", limit=""):
    """Programs of a transfer from B to A; `to` are options of the client."""
    host = "@H"
    if program.startswith("nginx"):
        servers = [("B", f"truncate -s {octets} @D/data && nginx -c @D/nginx.conf")]
        files = {"nginx.conf": NGINX.replace("@L", limit)}
    elif program.startswith("busybox"):
        servers, files = [("B", f"truncate -s {octets} @D/data && busybox httpd -f -p 8080 -h @D")], {}
    elif program.startswith("node"):
        servers, files = [("B", "node @P/web.js 8080 0")], {}
    elif program.startswith("socat"):
        servers, files = [("B", f"socat -U TCP-LISTEN:8080,reuseaddr SYSTEM:'head -c {octets} /dev/zero'")], {}
    url = f"http://{host}:8080/" + (str(octets) if program.startswith("node") else "data")
    clients = {"curl": f"curl -s -o /dev/null {to} {url}", "wget": f"wget -q -O /dev/null {to} {url}",
               "aria2": f"aria2c -q --allow-overwrite=true --dir=@D --out=got {to} {url}",
               "socat": f"socat -u TCP:{host}:8080{to} OPEN:/dev/null"}
    return {"sender": "B", "servers": servers, "files": files, "client": clients[program.split("-")[-1]]}


def octets_for(rate, seconds=4.5):
    return int(rate / 8 * seconds)


def forward(rules):
    return "\n".join(["table inet causes {", "chain f {", "type filter hook forward priority 0;", *rules, "}", "}", ""])


# ---- the path

@case("policed", ["policed"], "The router's filter drops what exceeds a rate; nothing queues.", 4, check=lost(8))
def policed(d):
    rtt, rate = d.log("rtt_ms", 9, 36), d.log("rate", 50e6, 66e6)
    at, burst = d.log("policed_bits_per_s", 2.4e6, 11e6), d.log("bucket_octets", 9_000, 30_000)
    program = d.turn("program", "socat", "nginx-curl", "iperf3", "busybox-wget")
    up = program in ("socat", "iperf3")
    d.turn("congestion", "cubic", "cubic", "reno")
    side = "eth0" if up else "eth1"
    rule = f'iifname "{side}" limit rate over {at // 8} bytes/second burst {burst} bytes counter drop'
    it = upload(octets_for(at * 0.8), program) if up else download(octets_for(at * 0.8), program)
    return {**link(rate, rtt, 30), **it, "nft": {"R": forward([rule])}, "without": {"nft": {}},
            "congestion": d.settings["congestion"]}


@case("shallow-queue", ["shallow-queue", "queue-overflow"], "The router's queue holds a few frames only.", 3, check=lost(5, 1.1))
def shallow_queue(d):
    rtt, rate, held = d.log("rtt_ms", 28, 55), d.log("rate", 8e6, 21e6), int(d.log("frames", 4, 7, 1))
    program = d.turn("program", "socat", "nginx-wget", "iperf3")
    short = shape(rate, held)
    it = upload(octets_for(rate * 0.6), program) if program != "nginx-wget" else download(octets_for(rate * 0.6), program)
    way = "there" if it["sender"] == "A" else "back"
    return {**link(rate, rtt, 40), **it, way: short, "without": {way: shape(rate, frames(rate, 1.2 * rtt))}}


@case("bufferbloat", ["bufferbloat", "path-rate"], "The queue of a slow link holds most of a second.", 2, gain=False)
def bufferbloat(d):
    rtt, rate, queue = d.log("rtt_ms", 14, 32), d.log("rate", 1.6e6, 4.2e6), d.log("queue_ms", 420, 1_100)
    it = d.turn("program", "socat", "nginx-curl")
    it = upload(octets_for(rate, 5)) if it == "socat" else download(octets_for(rate, 5))
    way = "there" if it["sender"] == "A" else "back"
    return {**link(rate, rtt), **it, way: bucket(rate, rate * queue // 8000)}


@case("slow-link", ["path-rate"], "The way from end to end is full at the rate of its slowest link.", 4, gain=False, check=full())
def slow_link(d):
    rtt, rate = d.log("rtt_ms", 5, 40), d.log("rate", 1.3e6, 9e6)
    program = d.turn("program", "nginx-wget", "rsync", "node-curl", "nc")
    octets = octets_for(rate, 5)
    it = upload(octets, program) if program in ("rsync", "nc") else download(octets, program)
    return {**link(rate, rtt, 22), **it, "congestion": d.turn("congestion", "cubic", "bbr", "reno", "cubic")}


@case("random-loss", ["random-loss", "wire-errors"], "Frames are lost at random, alone.", 4, check=lost(5))
def random_loss(d):
    rtt, rate, share = d.log("rtt_ms", 16, 56), d.log("rate", 24e6, 42e6), d.log("loss", 0.005, 0.013)
    how, program = d.turn("how", "wirefilter", "router"), d.turn("program", "socat", "nginx-curl", "iperf3", "nginx-wget")
    rough = int(1448 * 8 / (rtt / 1e3) * 1.1 / math.sqrt(share))
    octets = octets_for(min(rate, rough), 4.5)
    it = upload(octets, program) if program in ("socat", "iperf3") else download(octets, program)
    it = {**link(rate, rtt, 40), **it}
    if how == "wirefilter":
        way = "LR" if it["sender"] == "A" else "RL"
        return {**it, "filter": [*it["filter"], "-l", f"{way}{share * 100}"], "without": {"filter": it["filter"]}}
    side = "eth0" if it["sender"] == "A" else "eth1"
    rule = f'iifname "{side}" numgen random mod 10000 < {round(share * 10000)} counter drop'
    return {**it, "nft": {"R": forward([rule])}, "without": {"nft": {}}}


@case("runs-of-loss", ["loss-in-bursts", "random-loss", "wire-errors", "retransmission-stalls"],
      "The wire loses several frames in a row.", 2, check=lost(8))
def runs_of_loss(d):
    rtt, rate = d.log("rtt_ms", 8, 24), d.log("rate", 10e6, 24e6)
    share, burst = d.log("loss", 0.012, 0.025), int(d.log("in_a_row", 3, 6, 1))
    it = {**link(rate, rtt, 30), **upload(octets_for(rate * 0.35), "socat")}
    return {**it, "filter": [*it["filter"], "-l", f"LR{share * 100}", "-L", f"LR{burst}"], "without": {"filter": it["filter"]}}


@case("flipped-bits", {"receiver": ["checksum-errors"], "else": ["random-loss", "wire-errors", "checksum-errors"]},
      "The wire flips bits; nobody checks an FCS, so TCP's checksum discards the segments.", 3, check=lost(0),
      kinds=("sender", "receiver", "middle", "late", "truncated"))
def flipped_bits(d):
    rtt, rate, bits = d.log("rtt_ms", 14, 48), d.log("rate", 9e6, 17e6), d.log("bits_per_megabyte", 6, 12)
    program = d.turn("program", "socat", "busybox-curl", "nc")
    it = upload(octets_for(rate * 0.4), program) if program in ("socat", "nc") else download(octets_for(rate * 0.4), program)
    it = {**link(rate, rtt, 40), **it, "middle": "eth0" if it["sender"] == "A" else "eth1"}
    if it["sender"] == "B":
        del it["middle"]
    way = "LR" if it["sender"] == "A" else "RL"
    return {**it, "filter": [*it["filter"], "-n", f"{way}{bits}"], "without": {"filter": it["filter"]}}


@case("no-sack", ["no-sack", "random-loss", "wire-errors", "loss-in-bursts"],
      "One end has selective acknowledgments switched off, and several segments of a flight are lost.", 2, check=lost(10), gain=False)
def no_sack(d):
    rtt, rate = d.log("rtt_ms", 40, 75), d.log("rate", 18e6, 30e6)
    share, burst = d.log("loss", 0.006, 0.012), int(d.log("in_a_row", 3, 5, 1))
    it = {**link(rate, rtt, 40), **upload(octets_for(rate * 0.12, 5), "socat")}
    return {**it, "filter": [*it["filter"], "-l", f"LR{share * 100}", "-L", f"LR{burst}"],
            "sysctl": {d.turn("who", "A", "B"): {"net.ipv4.tcp_sack": 0}}, "without": {"filter": it["filter"], "sysctl": {}}}


@case("reordering", ["reordering"], "The wire lets frames overtake others; the sender has no RACK.", 2, check=slower(1.15))
def reordering(d):
    rtt, rate, spread = d.log("rtt_ms", 12, 22), d.log("rate", 20e6, 34e6), d.log("spread_ms", 2.5, 5)
    program = d.turn("program", "socat", "nginx-curl")
    it = upload(octets_for(rate * 0.5)) if program == "socat" else download(octets_for(rate * 0.5), program)
    # Without duplicate SACKs the sender does not learn that it was wrong, and does not undo its reaction.
    receiver = "B" if it["sender"] == "A" else "A"
    it = {**link(rate, rtt, 30), **it, "congestion": "reno",
          "sysctl": {it["sender"]: {"net.ipv4.tcp_recovery": 0, "net.ipv4.tcp_max_reordering": 3}, receiver: {"net.ipv4.tcp_dsack": 0}}}
    way, other = ("LR", "RL") if it["sender"] == "A" else ("RL", "LR")
    return {**it, "filter": ["-d", f"{way}{rtt / 2 + spread:.1f}+{spread:.1f}", "-d", f"{other}{rtt / 2:.1f}", "-N"],
            "without": {"filter": it["filter"]}}


@case("outage", ["link-interrupted"], "The link is down for more than a second.", 3, late=(0.1, 0.2), truncated=(0.85, 0.95))
def outage(d):
    rtt, rate = d.log("rtt_ms", 4, 26), d.log("rate", 6e6, 18e6)
    after, down, how = d.log("after_s", 1.2, 1.9), d.log("down_s", 1.3, 2.4), d.turn("how", "interface down", "router drops", "wire cut")
    program = d.turn("program", "socat", "nginx-wget", "iperf3")
    it = upload(octets_for(rate, 4)) if program == "socat" else download(octets_for(rate, 4), program) if program != "iperf3" \
        else upload(octets_for(rate, 4), program)
    cut = {"interface down": ("ip link set eth1 down", "ip link set eth1 up"),
           "router drops": ("nft add table inet o; nft add chain inet o f '{ type filter hook forward priority 1; policy drop; }'",
                            "nft delete table inet o"),
           "wire cut": ("ip link set eth1 down", "ip link set eth1 up")}[how]
    end = "B" if how == "wire cut" else "R"
    if how == "wire cut":
        # Not the link of the router, so that it goes on to send.
        cut = ("nft add table netdev o; nft add chain netdev o i '{ type filter hook ingress device eth0 priority 0; policy drop; }'; "
               "nft add table inet o; nft add chain inet o f '{ type filter hook output priority 1; policy drop; }'",
               "nft delete table netdev o; nft delete table inet o")
    return {**link(rate, rtt, 22), **it, "events": [(after, end, cut[0]), (after + down, end, cut[1])],
            "without": {"events": []}}


@case("mtu-black-hole", {"receiver": ["unknown"], "else": ["mtu-black-hole"]},
      "The router drops full packets without a word, and the sender does not probe.", 2, gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.6, 0.8))
def mtu_black_hole(d):
    rtt, size = d.log("rtt_ms", 3, 18), d.log("most_octets", 1_290, 1_450)
    rule = f"meta length > {size} counter drop"
    it = d.turn("program", "nginx-curl", "socat")
    it = download(400_000, to="-m 6") if it == "nginx-curl" else upload(400_000)
    return {**link(20e6, rtt), **it, "nft": {"R": forward([rule])}, "middle": "eth0" if it["sender"] == "A" else "eth1",
            "longest": 6, "least_s": 0}


@case("ack-path-full", ["ack-path-full"], "The way back carries a fraction of the acknowledgments.", 3, check=slower(1.15))
def ack_path_full(d):
    rtt, rate = d.log("rtt_ms", 8, 24), d.log("rate", 16e6, 30e6)
    back, queue = d.log("back_bits_per_s", 32e3, 110e3), d.log("back_frames", 50, 90)
    program = d.turn("program", "socat", "iperf3", "nginx-curl")
    if program == "nginx-curl":
        it = {**link(rate, rtt, 40), **download(octets_for(rate * 0.6), program)}
        return {**it, "there": shape(back, queue), "without": {"there": it["there"]}}
    it = {**link(rate, rtt, 40), **upload(octets_for(rate * 0.6), program)}
    return {**it, "back": shape(back, queue), "without": {"back": it["back"]}}


@case("small-mss", ["small-mss", "path-rate"], "Each packet costs much beside its octets, and segments are small.", 2,
      check=slower(1.3))
def small_mss(d):
    rtt, rate, mss = d.log("rtt_ms", 4, 14), d.log("rate", 9e6, 16e6), d.log("mss", 240, 420)
    overhead = d.log("overhead_octets", 180, 300)
    queue = frames(rate, 20) * 3
    return {**link(rate, rtt), **upload(octets_for(rate * mss / (mss + 70 + overhead), 4), to=f",mss={mss}"),
            "there": shape(rate, queue, overhead), "without": {**upload(octets_for(rate * mss / (mss + 70 + overhead), 4))}}


@case("above-path-rate", {"receiver": ["above-path-rate"], "else": ["unknown"]},
      "Numbered datagrams are sent at more than the path carries; nothing at the sender tells.", 4, gain=False)
def above_path_rate(d):
    rtt, rate, factor = d.log("rtt_ms", 4, 16), d.log("rate", 1.1e6, 8e6), d.log("factor", 1.3, 1.9)
    octets, sent = d.log("octets", 600, 1_350), 0
    sent = int(rate * factor)
    program = d.turn("program", "iperf2", "node", "iperf3", "node")
    it = {**link(rate, rtt, 40), "sender": "A"}
    if program == "iperf2":
        return {**it, "servers": [("B", "iperf -s -u")], "client": f"iperf -c @B -u -b {sent} -l {octets} -t 4", "or_none": True,
                "also_at_sender": ["above-path-rate"]}
    if program == "iperf3":
        return {**it, "servers": [("B", "iperf3 -s -1")], "client": f"iperf3 -c @B -u -b {sent} -l {octets} -t 4"}
    return {**it, "servers": [("B", "socat -u UDP-RECV:7000 OPEN:/dev/null")],
            "client": f"node @P/stream.js @B 7000 {octets} {sent} 4"}


# ---- windows, buffers, pace

@case("receive-window", ["receive-window"], "The receiver's buffer is smaller than what the path holds.", 4, check=slower(1.3))
def receive_window(d):
    rtt, rate, buffer = d.log("rtt_ms", 26, 84), d.log("rate", 24e6, 56e6), d.log("buffer_octets", 8_000, 30_000)
    program = d.turn("program", "socat", "nginx-curl", "perl", "nginx-wget")
    octets = octets_for(min(buffer * 0.8 * 8e3 / rtt, rate * 0.6), 4.5)
    small = {"net.ipv4.tcp_rmem": f"4096 {buffer} {buffer}"}
    if program.startswith("nginx"):
        return {**link(rate, rtt, 30), **download(octets, program), "sysctl": {"A": small}, "without": {"sysctl": {}}}
    option = f",rcvbuf={buffer}" if program == "socat" else f"rcvbuf={buffer}"
    return {**link(rate, rtt, 30), **upload(octets, program, more=option), "without": upload(octets, program)}


@case("no-window-scaling", {"late": ["no-window-scaling", "receive-window"], "else": ["no-window-scaling"]},
      "One end does not scale its window, and 64 KiB are less than the path holds.", 2, check=slower(1.3))
def no_window_scaling(d):
    rtt, rate = d.log("rtt_ms", 90, 150), d.log("rate", 28e6, 55e6)
    it = download(octets_for(65e3 * 8e3 / rtt, 5.5)) if d.turn("program", "nginx-curl", "socat") == "nginx-curl" \
        else upload(octets_for(65e3 * 8e3 / rtt, 5.5))
    return {**link(rate, rtt, 60), **it, "sysctl": {d.turn("who", "A", "B"): {"net.ipv4.tcp_window_scaling": 0}},
            "without": {"sysctl": {}}}


@case("send-buffer", ["send-buffer", "congestion-window"], "The sender's buffer is smaller than what the path holds.", 3,
      check=slower(1.3))
def send_buffer(d):
    rtt, rate, buffer = d.log("rtt_ms", 28, 66), d.log("rate", 20e6, 46e6), d.log("buffer_octets", 9_000, 24_000)
    program = d.turn("program", "socat", "nginx-wget", "perl")
    octets = octets_for(buffer * 0.7 * 8e3 / rtt, 4.5)
    if program == "nginx-wget":
        return {**link(rate, rtt, 30), **download(octets, program),
                "sysctl": {"B": {"net.ipv4.tcp_wmem": f"4096 {buffer} {buffer}"}}, "without": {"sysctl": {}}}
    option = f",sndbuf={buffer}" if program == "socat" else f"sndbuf={buffer}"
    return {**link(rate, rtt, 30), **upload(octets, program, to=option), "without": upload(octets, program)}


@case("slow-reader", ["receiver-reads-slowly", "receive-window"], "The receiving program takes less than the path brings.", 3,
      check=slower(1.3))
def slow_reader(d):
    rtt, rate, takes = d.log("rtt_ms", 2, 9), d.log("rate", 20e6, 38e6), d.log("takes_octets_per_s", 180e3, 700e3)
    buffer = d.log("buffer_octets", 14_000, 40_000)
    program = d.turn("program", "perl", "pv", "curl")
    octets = int(takes * 5)
    if program == "curl":
        return {**link(rate, rtt), **download(octets, "nginx-curl", f"--limit-rate {takes}"),
                "sysctl": {"A": {"net.ipv4.tcp_rmem": f"4096 {buffer} {buffer}"}}, "without": download(octets)}
    if program == "pv":
        it = upload(octets, "socat")
        it["servers"] = [("B", f"socat -u TCP-LISTEN:5001,reuseaddr,rcvbuf={buffer} STDOUT | pv -q -L {takes} -B 8192 > /dev/null")]
        return {**link(rate, rtt), **it, "without": upload(octets, more=f",rcvbuf={buffer}")}
    chunk, interval = d.log("chunk", 1_600, 3_600), 0
    interval = round(chunk / takes * 1e3, 2)
    d.note(interval_ms=interval)
    return {**link(rate, rtt), **upload(octets, "perl", more=f"rcvbuf={buffer} chunk={chunk} interval_ms={interval}"),
            "without": upload(octets, "perl", more=f"rcvbuf={buffer}")}


@case("receiver-stops", ["receiver-stalls"], "The receiving program stops at intervals.", 3, check=slower(1.2))
def receiver_stops(d):
    rtt, rate, buffer = d.log("rtt_ms", 2, 9), d.log("rate", 8e6, 18e6), d.log("buffer_octets", 36_000, 90_000)
    works, stops = d.log("works_ms", 320, 760), d.log("stops_ms", 420, 700)
    octets = octets_for(rate * works / (works + stops), 5.5)
    return {**link(rate, rtt), **upload(octets, "perl", more=f"rcvbuf={buffer} works_ms={works} stops_ms={stops}"),
            "without": upload(octets, "perl", more=f"rcvbuf={buffer}")}


@case("sender-stops", ["sender-stalls", "sender-idle"], "The sending program stops at intervals.", 3, check=slower(1.2))
def sender_stops(d):
    rtt, rate = d.log("rtt_ms", 2, 18), d.log("rate", 6e6, 14e6)
    works, stops = d.log("works_ms", 330, 620), d.log("stops_ms", 360, 680)
    octets = octets_for(rate * works / (works + stops), 5.5)
    if d.turn("program", "perl", "shell") == "perl":
        return {**link(rate, rtt), **upload(octets, "perl", to=f"works_ms={works} stops_ms={stops} sndbuf=60000"),
                "without": upload(octets, "perl", to="sndbuf=60000")}
    part, times = int(rate / 8 * works / 1e3), max(3, octets // int(rate / 8 * works / 1e3))
    it = upload(part * times)
    it["client"] = f"(for i in $(seq {times}); do head -c {part} /dev/zero; sleep {(stops + works) / 1e3}; done) | socat -u STDIN TCP:@B:5001"
    return {**link(rate, rtt), **it, "without": upload(part * times)}


@case("host-pacing", ["host-pacing", "path-rate"], "The sender paces itself below the path's rate.", 3, check=slower(1.5))
def host_pacing(d):
    rtt, rate, pace = d.log("rtt_ms", 4, 28), d.log("rate", 36e6, 62e6), d.log("pace_bits_per_s", 2.2e6, 10e6)
    if d.turn("program", "perl", "iperf3", "perl") == "iperf3":
        return {**link(rate, rtt), **upload(octets_for(pace), "iperf3", to=f"--fq-rate {pace}"),
                "without": upload(octets_for(pace), "iperf3")}
    return {**link(rate, rtt), **upload(octets_for(pace), "perl", to=f"pacing={pace // 8}"),
            "without": upload(octets_for(pace), "perl")}


@case("limited-server", ["host-pacing", "sender-idle", "sender-stalls"], "nginx limits its rate.", 2, gain=False)
def limited_server(d):
    rtt, rate, limit = d.log("rtt_ms", 6, 16), d.log("rate", 40e6, 60e6), d.log("kilobytes_per_s", 150, 330)
    return {**link(rate, rtt), **download(limit * 4500, d.turn("program", "nginx-wget", "nginx-curl"),
                                          limit=f"limit_rate {limit}k;"), "or_none": True}


@case("congestion-window", ["congestion-window"], "A page over a long path is over before the window has grown.", 3, gain=False,
      kinds=("sender", "receiver", "middle", "truncated", "snapped"), truncated=(0.7, 0.85))
def congestion_window(d):
    rtt, rate, octets = d.log("rtt_ms", 100, 190), d.log("rate", 40e6, 60e6), d.log("octets", 110e3, 260e3)
    return {**link(rate, rtt, 40), **download(octets, d.turn("program", "nginx-curl", "busybox-wget", "node-curl")), "least_s": 0.3}


# ---- programs that ask and answer

@case("server-thinks", ["server-think-time", "peer-turnaround"], "The server takes its time for each answer.", 3, gain=False)
def server_thinks(d):
    rtt, rate, think = d.log("rtt_ms", 3, 20), d.log("rate", 9e6, 30e6), d.log("think_ms", 300, 780)
    answer, count = d.log("answer", 900, 12_000), 0
    count = max(5, round(5_000 / think))
    program = d.turn("program", "node", "perl", "busybox")
    it = {**link(rate, rtt), "sender": "B"}
    if program == "node":
        return {**it, "servers": [("B", f"node @P/web.js 8080 {think}")],
                "client": f"node @P/ask.js @B 8080 {answer} {count} 1"}
    if program == "perl":
        request = d.log("request", 80, 500)
        return {**it, "servers": [("B", f"perl @P/talk.pl listen @B 5004 answer request={request} answer={answer} think_ms={think}")],
                "client": f"perl @P/talk.pl connect @B 5004 ask requests={count} request={request} answer={answer}"}
    return {**it, "files": {"cgi-bin/page": f"#!/bin/sh\nsleep {think / 1e3}\nprintf 'Content-Type: text/plain\\r\\n\\r\\n'\n"
                                            f"head -c {answer} /dev/zero\n"},
            "servers": [("B", "chmod +x @D/cgi-bin/page && busybox httpd -f -p 8080 -h @D")],
            "client": f"for i in $(seq {count}); do curl -s -o /dev/null http://@B:8080/cgi-bin/page; done"}


@case("client-thinks", ["client-think-time"], "The client takes its time between the parts of what it fetches.", 2, gain=False)
def client_thinks(d):
    rtt, rate, think = d.log("rtt_ms", 3, 9), d.log("rate", 24e6, 44e6), d.log("think_ms", 260, 620)
    answer = d.log("answer", 26_000, 80_000)
    return {**link(rate, rtt), "sender": "B", "servers": [("B", "node @P/web.js 8080 0")],
            "client": f"node @P/ask.js @B 8080 {answer} {max(6, round(5_000 / think))} {think}"}


@case("nagle", ["delayed-ack-with-nagle"], "The client writes each request in two parts, with Nagle's algorithm.", 2, gain=False)
def nagle(d):
    rtt, rate = d.log("rtt_ms", 1, 3), d.log("rate", 20e6, 50e6)
    request, split, answer = d.log("request", 140, 700), int(d.log("split", 5, 40)), d.log("answer", 60, 400)
    return {**link(rate, rtt), "sender": "B",
            "servers": [("B", f"perl @P/talk.pl listen @B 5004 answer request={request} answer={answer}")],
            "client": f"perl @P/talk.pl connect @B 5004 ask requests=70 request={request} answer={answer} split={split}"}


@case("timeouts", ["retransmission-stalls", "random-loss", "wire-errors"],
      "Requests and answers are lost; only the timer repairs them.", 2, check=slower(1.3))
def timeouts(d):
    rtt, share = d.log("rtt_ms", 4, 10), d.log("loss", 0.025, 0.05)
    request, answer = d.log("request", 80, 240), d.log("answer", 60, 700)
    rtt_s = rtt / 1e3
    count = int(5 / (rtt_s + 2 * share * 0.22))
    it = {**link(20e6, rtt), "sender": "B",
          "servers": [("B", f"perl @P/talk.pl listen @B 5004 answer request={request} answer={answer}")],
          "client": f"perl @P/talk.pl connect @B 5004 ask requests={count} request={request} answer={answer}"}
    return {**it, "filter": [*it["filter"], "-l", f"{share * 100}"], "without": {"filter": it["filter"]}}


@case("lockstep", ["one-in-flight"], "TFTP has one block in flight.", 2, gain=False)
def lockstep(d):
    rtt, block = d.log("rtt_ms", 5, 16), d.log("block", 512, 1_300)
    octets = int(4.5 / (rtt / 1e3) * block)
    return {**link(20e6, rtt), "sender": "B",
            "servers": [("B", f"truncate -s {octets} @D/data && dnsmasq -k -p 0 --enable-tftp --tftp-root=@D --tftp-no-fail --user=root "
                              "--tftp-single-port --bind-interfaces --listen-address=@B --pid-file=@D/dns.pid -C /dev/null")],
            "client": f"busybox tftp -g -b {block} -r data -l /dev/null @B"}


# ---- opening

OPENING = ("sender", "receiver", "middle", "snapped")


@case("no-answer", ["no-answer"], "Nobody answers.", 3, gain=False, kinds=("sender", "middle", "snapped", "truncated"),
      truncated=(0.85, 0.95))
def no_answer(d):
    how = d.turn("how", "firewall at the server", "firewall on the path", "silent server")
    it = {**link(20e6, d.log("rtt_ms", 3, 20)), "sender": "A", "longest": 7, "servers": [], "one_end": True,
          "client": "curl -s -m 6 -o /dev/null http://@B:8080/data"}
    if how == "silent server":
        return {**it, "servers": [("B", "perl @P/talk.pl listen @B 8080 answer request=40 answer=9 think_ms=60000")]}
    if how == "firewall at the server":
        return {**it, "nft": {"B": forward(["tcp dport 8080 counter drop"]).replace("forward", "input")}}
    return {**it, "nft": {"R": forward(["tcp dport 8080 counter drop"])}}


@case("refused", ["refused"], "The connection is refused.", 2, gain=False, kinds=("sender", "middle", "snapped", "truncated"),
      truncated=(0.6, 0.9))
def refused(d):
    how = d.turn("how", "no listener", "firewall resets")
    it = {**link(20e6, d.log("rtt_ms", 3, 20)), "sender": "A", "servers": [], "one_end": True,
          "client": "for i in 1 2 3 4; do curl -s -m 3 -o /dev/null http://@B:8080/data; sleep 0.6; done; true"}
    if how == "no listener":
        return it
    return {**it, "nft": {"R": forward(["tcp dport 8080 counter reject with tcp reset"])}}


@case("slow-names", ["name-resolution"], "The name server takes long to answer.", 2, gain=False, kinds=OPENING)
def slow_names(d):
    rtt, after, octets = d.log("rtt_ms", 3, 20), d.log("answer_after_ms", 520, 1_700), d.log("octets", 6_000, 50_000)
    return {**link(20e6, rtt), **download(octets), "resolver": True,
            "servers": [("B", f"node @P/names.js @B {after}"), *download(octets)["servers"]],
            "client": "curl -s -o /dev/null http://page.example.net:8080/data"}


@case("slow-handshake", ["slow-handshake"], "The first SYNs are lost.", 2, gain=False, kinds=OPENING)
def slow_handshake(d):
    rtt, octets, many = d.log("rtt_ms", 3, 28), d.log("octets", 8_000, 60_000), d.turn("syns_lost", 1, 2)
    rule = f"tcp flags & (syn | ack) == syn numgen inc mod 3 < {many} counter drop"
    return {**link(20e6, rtt), **download(octets), "nft": {"R": forward([rule])}}


# ---- healthy

@control("full-standard", "The link of 10 Mbit/s is full.", count=2, check=full())
def full_standard(d):
    program = d.turn("program", "nginx-curl", "nc")
    octets = octets_for(10e6, 4.5)
    it = download(octets, program) if program == "nginx-curl" else upload(octets, program)
    return {**link(10_000_000, d.log("rtt_ms", 1, 4), 16), **it}


@control("full-odd", "A link of some rate is full.", count=4, check=full())
def full_odd(d):
    rtt, rate = d.log("rtt_ms", 4, 24), d.log("rate", 5e6, 34e6)
    program = d.turn("program", "socat", "node-wget", "iperf3", "busybox-curl")
    octets = octets_for(rate, 4.5)
    it = upload(octets, program) if program in ("socat", "iperf3") else download(octets, program)
    return {**link(rate, rtt, 22), **it}


@control("full-bucket", "A link behind a token bucket is full.", count=2, check=full())
def full_bucket(d):
    rtt, rate = d.log("rtt_ms", 6, 20), d.log("rate", 6e6, 26e6)
    it = {**link(rate, rtt), **(upload(octets_for(rate)) if d.turn("program", "socat", "nginx-wget") == "socat"
                                else download(octets_for(rate), "nginx-wget"))}
    way = "there" if it["sender"] == "A" else "back"
    return {**it, way: bucket(rate, int(rate / 8 * 0.02))}


@control("full-v6", "A link is full, with IPv6.", count=2, check=full())
def full_v6(d):
    rtt, rate = d.log("rtt_ms", 4, 14), d.log("rate", 9e6, 22e6)
    return {**link(rate, rtt, 20), **download(octets_for(rate), d.turn("program", "nginx-curl", "nginx-wget")), "ipv6": True}


@control("full-offload", "A link is full; the ends have segmentation offload.", count=2, check=full())
def full_offload(d):
    rtt, rate = d.log("rtt_ms", 4, 12), d.log("rate", 16e6, 36e6)
    it = upload(octets_for(rate)) if d.turn("program", "socat", "nginx-curl") == "socat" else download(octets_for(rate))
    return {**link(rate, rtt, 20), **it, "offload": True}


@control("full-long", "A long path is full.", count=2, check=full(0.75))
def full_long(d):
    rtt, rate = d.log("rtt_ms", 46, 80), d.log("rate", 4e6, 9e6)
    return {**link(rate, rtt, rtt), **download(octets_for(rate, 7), d.turn("program", "nginx-wget", "node-curl"))}


@control("two-at-once", "Two downloads fill a link together.", count=1, check=full(0.75))
def two_at_once(d):
    rtt, rate = d.log("rtt_ms", 4, 12), d.log("rate", 10e6, 18e6)
    octets = octets_for(rate, 5)
    return {**link(rate, rtt, 20), **download(octets, "nginx-aria2", "-x2 -s2 -k1M")}


@control("events", "A server sends events as they come.", count=2)
def events(d):
    return {**link(d.log("rate", 5e6, 20e6), d.log("rtt_ms", 3, 30)), "sender": "B", "servers": [("B", "node @P/web.js 8080 0")],
            "client": "curl -s -o /dev/null http://@B:8080/events"}


@control("telemetry", "A sensor publishes readings over MQTT.", count=2)
def telemetry(d):
    every, qos = d.log("interval_s", 0.2, 0.5), d.turn("qos", 0, 1)
    return {**link(d.log("rate", 3e6, 9e6), d.log("rtt_ms", 3, 30)), "sender": "A",
            "files": {"mosquitto.conf": "listener 1883 @B\nallow_anonymous true\nuser root\n"},
            "servers": [("B", "mosquitto -c @D/mosquitto.conf")],
            "client": f"for i in $(seq {int(5 / every)}); do echo \"{{\\\"t\\\": 2$i.5, \\\"ok\\\": true}}\"; sleep {every}; done | "
                      f"mosquitto_pub -h @B -t lab/t -q {qos} -l"}


@control("short-pages", "A browser fetches a short page now and then.", count=2)
def short_pages(d):
    pause, octets = d.log("gap_ms", 250, 600), d.log("octets", 900, 6_000)
    program = d.turn("program", "nginx-curl", "busybox-wget")
    it = download(octets, program)
    it["client"] = f"for i in $(seq {int(4500 / pause)}); do {it['client']}; sleep {pause / 1e3}; done"
    return {**link(d.log("rate", 10e6, 30e6), d.log("rtt_ms", 3, 16)), **it}


@control("questions", "Short requests are answered at once.", count=2)
def questions(d):
    request, answer, pause = d.log("request", 80, 260), d.log("answer", 200, 700), d.log("pause_ms", 20, 40)
    return {**link(d.log("rate", 10e6, 30e6), d.log("rtt_ms", 2, 6)), "sender": "B",
            "servers": [("B", f"perl @P/talk.pl listen @B 5004 answer request={request} answer={answer}")],
            "client": f"perl @P/talk.pl connect @B 5004 ask requests=120 request={request} answer={answer} pause_ms={pause}"}


@control("datagrams", "Datagrams are sent at less than the path carries.", count=2)
def datagrams(d):
    rate, octets = d.log("rate", 6e6, 20e6), d.log("octets", 300, 1_300)
    sent = int(rate * d.log("share", 0.25, 0.6))
    it = {**link(rate, d.log("rtt_ms", 3, 20)), "sender": "A"}
    if d.turn("program", "iperf2", "node") == "iperf2":
        return {**it, "servers": [("B", "iperf -s -u")], "client": f"iperf -c @B -u -b {sent} -l {octets} -t 4"}
    return {**it, "servers": [("B", "socat -u UDP-RECV:7000 OPEN:/dev/null")],
            "client": f"node @P/stream.js @B 7000 {octets} {sent} 4"}
