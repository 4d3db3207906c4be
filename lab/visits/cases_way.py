"""Causes on the way: losses, queues, rates, policers, filters, outages, the way back."""

from checks import both, check, faster, filled, no_payload, takes_at_most
from draw import case
from setups import KIT, appended, changed, counted, dropped, either, fault, fetch, kernel, line, opens_after, prompt, slow, stream, transfer, waits

LOSS = ["random-loss", "loss-in-bursts", "retransmission-stalls"]


@case("corroded-connector", ["random-loss"], "A connector in the cabinet loses single frames.", count=4, check=both(faster(1.3), dropped(8, "to_a", "to_b")))
def _(draw):
    rate, rtt, sender = draw.log("rate", 7e6, 85e6), draw.log("rtt_ms", 9, 66), either(draw)
    path = line(draw, rate, rtt, sender=sender)
    lossy = appended(path, fault(sender), f"loss {draw.log('loss_percent', 0.7, 3.3)}%")
    return {**path, **transfer(draw, int(rate / 8 * 2), sender), **lossy, "without": {"disciplines": path["disciplines"]}}


@case("microwave-fades", ["loss-in-bursts", "random-loss", "retransmission-stalls"], "A radio link loses some frames in a row now and then.", count=3, check=both(faster(1.3), dropped(12, "to_a", "to_b")))
def _(draw):
    rate, rtt, sender = draw.log("rate", 6e6, 40e6), draw.log("rtt_ms", 12, 50), either(draw)
    path = line(draw, rate, rtt, sender=sender)
    lossy = appended(path, fault(sender), f"loss gemodel {draw.log('into_percent', 0.25, 0.7)}% {draw.log('out_percent', 14, 36)}% 85% 0%")
    return {**path, **transfer(draw, int(rate / 8 * 2), sender), **lossy, "without": {"disciplines": path["disciplines"]}}


@case("plan-of-the-operator", {"late": ["policed", "shallow-queue"], "else": ["policed"]}, "The operator drops what exceeds the plan.", count=4, check=both(faster(1.3), dropped(12)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 38e6, 170e6), draw.log("rtt_ms", 9, 55), either(draw)
    plan, burst = draw.log("plan", 1.8e6, 17e6), draw.log("burst", 22e3, 190e3)
    path = line(draw, rate, rtt, sender=sender)
    rule = f"rate {plan:.0f}bit burst {burst:.0f}"
    return {**path, **transfer(draw, int(plan * 0.6), sender), "police": {"P": {"wan" if sender == "A" else "lb": rule}}, "without": {"police": {}}}


@case("limit-of-the-firewall", ["policed", "shallow-queue", "random-loss"], "A firewall's rule limits packets per second.", count=2, check=both(faster(1.3), counted("filtered_P", 12)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 30e6, 90e6), draw.log("rtt_ms", 12, 40), either(draw)
    pps, burst = int(draw.log("packets_per_s", 230, 1100)), int(draw.log("burst", 12, 90))
    port = "wan" if sender == "B" else "lb"
    path = line(draw, rate, rtt, sender=sender)
    rule = f"table ip it {{ chain c {{ type filter hook forward priority 0; oifname {port} meta length gt 900 limit rate over {pps}/second burst {burst} packets counter drop; }}; }}"
    return {**path, **transfer(draw, int(pps * 1448 * 5), sender), "nft": {"P": rule}, "without": {"nft": {}}}


@case("switch-with-small-buffers", ["shallow-queue", "queue-overflow"], "The switch before the slow port holds few packets.", count=3, check=both(faster(1.3), dropped(3), prompt(40)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 13e6, 60e6), draw.log("rtt_ms", 24, 88), either(draw)
    packets = draw.random.randrange(4, 10)
    draw.note(packets=packets)
    path = line(draw, rate, rtt, sender=sender, limit=packets * 1514, kind="tbf")
    deep = line(draw, rate, rtt, sender=sender, queue_ms=1.6 * rtt, kind="tbf")
    return {**path, **transfer(draw, int(rate / 8 * 2.5), sender), "without": {"disciplines": {**path["disciplines"], slow(sender): deep["disciplines"][slow(sender)]}}}


@case("modem-with-a-large-buffer", ["bufferbloat", "path-rate"], "The modem holds a second of data.", count=3, check=both(filled(0.8), waits(260)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 0.11e6, 7e6), draw.log("rtt_ms", 13, 48), either(draw)
    path = line(draw, rate, rtt, sender=sender, queue_ms=draw.log("queue_ms", 600, 1700), kind="tbf")
    return {**path, **transfer(draw, int(rate / 8 * 8), sender), "least_s": 4, "gain": False}


@case("bonded-lines", ["reordering"], "Some packets take the longer one of two lines.", count=3, check=both(faster(1.3), check("the sender's or receiver's kernel sees later segments first", lambda truth, trial: sum(
      truth["path"]["kernel"][it].get(key, 0) for it in "AB" for key in ("TcpExtTCPSACKReorder", "TcpExtTCPTSReorder", "TcpExtTCPDSACKRecv")) + truth["path"]["socket"].get("reord_seen", 0) >= 3)))
def _(draw):
    rate, rtt, sender = draw.log("rate", 14e6, 55e6), draw.log("rtt_ms", 12, 42), either(draw)
    path = line(draw, rate, rtt, sender=sender)
    # `reorder`: this share goes at once, the rest takes the delay. The way back has the path's.
    strict = {"both": {"tcp_recovery": 0, "tcp_max_reordering": 3, "tcp_reordering": 3, "tcp_dsack": 0, "tcp_early_retrans": 0}}
    back = {"to_a": "to_b", "to_b": "to_a"}[fault(sender)]
    path = {**path, **changed({**path, **changed(path, back, f"root netem limit 60000 delay {rtt * 1000:.0f}us")}, fault(sender), "root netem limit 60000")}
    other = {**path, **changed(path, fault(sender), f"root netem limit 60000 delay {rtt * draw.random.uniform(450, 900):.0f}us reorder {100 - draw.log('share_percent', 1.6, 7)}%")}
    return {**other, **transfer(draw, int(rate / 8 * 2), sender), "sysctl": strict, "timestamps": 0, "without": {"disciplines": path["disciplines"]}}


@case("two-bridges-repeat", ["duplicate-frames"], "Two bridges between buildings pass each frame on, before the slow port.", count=2, kinds=("receiver", "late", "truncated", "snapped"), check=faster(1.3))
def _(draw):
    rate, rtt = draw.log("rate", 5e6, 24e6), draw.log("rtt_ms", 5, 24)
    path = line(draw, 150e6, rtt, sender="A")
    slow_line = f"handle 2: parent 1:1 tbf rate {rate:.0f}bit burst 1600 limit {max(9000, rate * 0.07 / 8):.0f}"
    share = draw.log("share_percent", 55, 95)
    # Netem is first, and the slow line its child: copies are enqueued at the root again.
    return {**path, **stream(draw, int(rate / 8 * 3), "A"), "rate": rate, "one_end": "receiver", "disciplines": {**path["disciplines"], "up": ["root handle 1: netem limit 60000", slow_line], "host_a": f"root netem limit 60000 duplicate {share}%"},
            "without": {"disciplines": {**path["disciplines"], "up": ["root handle 1: netem limit 60000", slow_line]}}}


@case("memory-of-a-bridge-flips", {"receiver": ["checksum-errors"], "late-receiver": ["checksum-errors"], "truncated-receiver": ["checksum-errors"], "else": ["random-loss", "checksum-errors"]}, "A bridge changes bits.",
      count=3, kinds=("sender", "receiver", "middle", "late", "truncated"), check=both(faster(1.3), kernel("TcpInCsumErrors", 8, "receiver")))
def _(draw):
    rate, rtt, sender = draw.log("rate", 7e6, 26e6), draw.log("rtt_ms", 10, 45), either(draw)
    path = line(draw, rate, rtt, sender=sender)
    broken = appended(path, fault(sender), f"corrupt {draw.log('share_percent', 0.5, 2)}%")
    return {**path, **transfer(draw, int(rate / 8 * 2), sender), **broken, "snap": 1600, "without": {"disciplines": path["disciplines"]}}


@case("old-firewall-strips-sack", ["no-sack", "random-loss", "loss-in-bursts", "retransmission-stalls"], "The device offers no selective acknowledgments, and the line loses some in a row.", count=3, check=both(faster(1.3), dropped(10, "to_a", "to_b")))
def _(draw):
    rate, rtt, sender = draw.log("rate", 6e6, 15e6), draw.log("rtt_ms", 32, 77), either(draw)
    path = line(draw, rate, rtt, sender=sender)
    lossy = appended(path, fault(sender), f"loss gemodel {draw.log('into_percent', 0.16, 0.34)}% {draw.log('out_percent', 8, 14)}% 55% 0%")
    return {**path, **transfer(draw, int(rate / 8 * 2), sender), **lossy, "sysctl": {"A": {"tcp_sack": 0}}, "without": {"sysctl": {}}}


@case("narrow-uplink-of-a-modem", ["ack-path-full"], "Acknowledgments wait for a narrow way back.", count=2, check=faster(1.35))
def _(draw):
    rate, rtt = draw.log("rate", 22e6, 75e6), draw.log("rtt_ms", 14, 38)
    wide = line(draw, rate, rtt, queue_ms=110)
    up = rate / draw.log("ratio", 80, 190)
    return {**wide, **transfer(draw, int(rate / 8 * 2), "B"), **changed(wide, "up", f"root tbf rate {up:.0f}bit burst 1600 limit {up * draw.log('back_queue_ms', 180, 600) / 8e3:.0f}"), "without": {"disciplines": wide["disciplines"]}}


@case("cloud-backup-while-loading", ["ack-path-full", "bufferbloat"], "A backup of another station fills the way back.", count=3, check=faster(1.4))
def _(draw):
    rate, rtt = draw.log("rate", 13e6, 42e6), draw.log("rtt_ms", 18, 46)
    wide = line(draw, rate, rtt, queue_ms=100)
    up = draw.log("uplink", 0.33e6, 1.3e6)
    end = draw.turn("backup_of", "A", "O")
    backup = [("B", f"{KIT} do=recv port=8730"), (end, f"sleep 0.4; exec {KIT[5:]} do=send to=@B port=8730 octets=400000000 seconds=30")]
    return {**wide, **transfer(draw, int(rate / 8 * 1.5), "B"), **changed(wide, "up", f"root tbf rate {up:.0f}bit burst 1600 limit {max(9000, up * draw.log('back_queue_ms', 300, 800) / 8e3):.0f}"), "beside": backup, "beside_s": 3, "without": {"beside": []}}


@case("tunnel-without-icmp", {"snapped-receiver": ["mtu-black-hole", "no-answer"], "else": ["mtu-black-hole"]}, "The provider's tunnel carries less, and its messages are filtered.", count=3, kinds=("sender", "middle", "snapped"), gain=False,
      check=check("the way ends full segments: the sender's timer expires four times", lambda truth, trial: truth["path"]["kernel"][trial["sender"]].get("TcpExtTCPTimeouts", 0) >= 3 and truth["octets"] < 60000))
def _(draw):
    path = line(draw, draw.log("rate", 6e6, 60e6), draw.log("rtt_ms", 8, 77), sender="A")
    tunnel = int(draw.log("mtu", 1290, 1476))
    # The gateway's interface is narrow and its messages are dropped; what passes it the other way is not.
    rule = "table ip it { chain o { type filter hook output priority 0; icmp type destination-unreachable counter drop; }; }"
    size = draw.turn("program", "curl", "kit")
    if size == "curl":
        there = {"server": "exec socat -u TCP-LISTEN:8000,reuseaddr OPEN:/dev/null", "ports": [8000], "client": "curl -sS -m 8 -T @D/fw.bin http://@B:8000/up", "files": {"fw.bin": 300000}}
    else:
        there = {"server": f"{KIT} do=recv port=21000", "ports": [21000], "client": f"timeout 9 @P/kit do=send to=@B port=21000 octets=300000 head=1 chunk={int(draw.log('chunk', 20000, 60000))}"}
    return {**path, **there, "client_at": "A", "sender": "A", "fixed_octets": True, "setup": {"P": [f"ip link set wan mtu {tunnel}"], "G": [f"ip link set wan mtu {tunnel}"]}, "nft": {"G": rule}, "most_s": 9, "least_s": 0}


@case("cable-pulled", ["link-interrupted"], "Someone pulls the cable for seconds, for all that the site exchanges.", count=4, late=(0.04, 0.1), truncated=(0.88, 0.97), check=faster(1.3))
def _(draw):
    rate, rtt, sender = draw.log("rate", 4e6, 24e6), draw.log("rtt_ms", 7, 44), either(draw)
    path = line(draw, rate, rtt, sender=sender)
    at, down = draw.log("down_at_s", 1.2, 2.2), draw.log("down_s", 1.7, 4.4)
    beat = [("B", f"{KIT} do=answer port=4712 size=60 answer=80 nodelay=1"), ("A", f"sleep 0.3; exec {KIT[5:]} do=ask to=@B port=4712 size=60 answer=80 nodelay=1 count=300 think_ms=95")]
    return {**path, **stream(draw, int(rate / 8 * 4), sender, opens=draw.random.choice("AB")), "fixed_octets": True, "beside": beat, "beside_s": 0.8,
            "events": [(at, "G", "ip link set pa nomaster"), (at + down, "G", "ip link set pa master br0")], "without": {"events": []}}


@case("stream-above-the-uplink", ["above-path-rate"], "A camera sends more than the uplink carries.", count=3, gain=False, kinds=("receiver", "late", "truncated", "snapped"), check=both(filled(0.8), dropped(60)))
def _(draw):
    rate, rtt = draw.log("rate", 1.4e6, 14e6), draw.log("rtt_ms", 7, 35)
    path = line(draw, rate, rtt, sender="A", queue_ms=draw.log("queue_ms", 22, 140))
    size, sent = int(draw.log("size", 520, 1390)), draw.log("times", 1.17, 2) * rate
    return {**path, "client_at": "A", "sender": "A", "server": f"{KIT} do=hear port=5004", "ports": [5004], "client": f"{KIT} do=shoot to=@B port=5004 size={size} rate={sent:.0f} seconds=6", "one_end": "receiver", "is_timed": True}


@case("readings-lost-on-radio", ["retransmission-stalls", "random-loss"], "Short requests or answers are lost, and only the timer shows it.", count=3, check=both(faster(1.4), dropped(3, "to_a", "to_b")))
def _(draw):
    rate, rtt = draw.log("rate", 2e6, 24e6), draw.log("rtt_ms", 7, 38)
    loss = draw.log("loss_percent", 3.5, 9)
    path = line(draw, rate, rtt)
    n = int(draw.log("answer", 70, 900))
    asks = {"client_at": "A", "sender": "B", "server": f"{KIT} do=answer port=4840 size=72 answer={n} nodelay=1", "ports": [4840], "client": f"{KIT} do=ask to=@B port=4840 size=72 answer={n} nodelay=1 count={int(3600 / rtt)}"}
    lossy = {"disciplines": {**path["disciplines"], "to_a": f"{path['disciplines']['to_a']} loss {loss}%", "to_b": f"{path['disciplines']['to_b']} loss {loss / 2:.2f}%"}}
    return {**path, **asks, **lossy, "most_s": 30, "without": {"disciplines": path["disciplines"]}}


@case("flood-on-the-site", ["broadcast-storm"], "A station floods the site's switch with broadcasts, which take most of the device's port.", count=2, kinds=("receiver", "late", "truncated", "snapped"), check=faster(1.3))
def _(draw):
    rate, rtt, size = draw.log("rate", 4e6, 10.5e6), draw.log("rtt_ms", 2, 14), int(draw.log("size", 60, 330))
    flood = rate * draw.random.uniform(0.5, 0.72) * size / (size + 42)
    path = line(draw, 60e6, rtt, queue_ms=30)
    # The device's port is the slow one.
    port = {**path, "rate": rate, **changed(path, "to_a", f"root tbf rate {rate:.0f}bit burst 1600 limit {max(12000, rate * 0.05 / 8):.0f}")}
    storm = [("O", f"{KIT} do=shoot to=@CAST port=137 size={size} rate={flood:.0f} seconds=30")]
    return {**port, **transfer(draw, int(rate / 8 * 2), "B"), "beside": storm, "beside_s": 0.6, "one_end": "receiver", "without": {"beside": []}}


@case("first-packets-lost", ["slow-handshake"], "The request to connect is lost, and comes again after a second.", count=3, kinds=("sender", "receiver", "middle", "truncated", "snapped"), gain=False, truncated=(0.9, 0.97), check=both(counted("filtered_P", 1), opens_after(0.95)))
def _(draw):
    path = line(draw, draw.log("rate", 7e6, 44e6), draw.log("rtt_ms", 6, 44))
    lost = draw.turn("lost", "syn", "syn, second")
    n = 1 if lost == "syn" else 2
    rule = f"table ip it {{ chain f {{ type filter hook prerouting priority -300; iifname wan tcp flags & (syn|ack) == syn quota until {60 * n + 4} bytes counter drop; }}; }}"
    return {**path, **fetch(draw, int(draw.log("octets", 70e3, 330e3)), client="curl"), "fixed_octets": True, "nft": {"P": rule}, "least_s": 0, "one_end": "receiver"}


@case("door-closed", ["no-answer"], "A firewall drops what opens the connection, or the device is off.", count=4, kinds=("sender", "middle", "truncated", "snapped"), gain=False, truncated=(0.7, 0.9), check=no_payload())
def _(draw):
    path = line(draw, draw.log("rate", 4e6, 44e6), draw.log("rtt_ms", 5, 66), sender="A")
    how = draw.turn("how", "filter", "off", "filter at the site", "away")
    rule = "table ip it { chain f { type filter hook prerouting priority -300; tcp dport 8443 counter drop; }; }"
    to = {"away": "@GONE"}.get(how, "@B")
    client = draw.turn("client", f"curl -sS -m 9 http://{to}:8443/", f"wget -q -t 1 -T 10 -O /dev/null http://{to}:8443/", f"nc -w 9 -z {to} 8443", f"aria2c -q --connect-timeout=8 --max-tries=1 -d @D http://{to}:8443/fw.bin")
    nft = {"filter at the site": {"G": rule}}.get(how, {"P": rule})
    # An ARP request for who is away is not answered, and neither is the client: the provider's message is filtered.
    if how in ("off", "away"):
        nft = {"P": "table ip it { chain o { type filter hook output priority 0; icmp type destination-unreachable counter drop; }; }" if how == "away" else rule}
    return {**path, "client_at": "A", "sender": "A", "client": client, "nft": nft, "most_s": 11, "least_s": 0, "one_end": "sender"}


@case("service-not-started", ["refused"], "Nothing listens, or a firewall says no.", count=3, kinds=("sender", "receiver", "middle", "snapped"), gain=False, check=no_payload())
def _(draw):
    path = line(draw, draw.log("rate", 4e6, 44e6), draw.log("rtt_ms", 5, 66), sender="A")
    how = draw.turn("how", "closed", "tcp reset", "icmp type port-unreachable")
    nft = {} if how == "closed" else {"B": f"table ip it {{ chain i {{ type filter hook input priority 0; tcp dport 1883 counter reject with {how}; }}; }}"}
    client = draw.turn("client", "mosquitto_pub -h @B -p 1883 -t a -m b", "curl -sS -m 3 http://@B:1883/", "nc -z -w 2 @B 1883")
    return {**path, "client_at": "A", "sender": "A", "client": f"for n in 1 2 3 4 5; do {client}; sleep 0.{draw.random.randrange(4, 9)}; done", "nft": nft, "least_s": 0}


@case("too-far-for-a-short-file", ["congestion-window"], "A short file over a long way ends before the window has grown.", count=3, gain=False, kinds=("sender", "receiver", "middle", "truncated", "snapped"), check=takes_at_most(0.4))
def _(draw):
    rate, rtt = draw.log("rate", 22e6, 88e6), draw.log("rtt_ms", 180, 480)
    sender = either(draw)
    path = line(draw, rate, rtt, sender=sender)
    octets = int(draw.log("octets", 220e3, 640e3))
    return {**path, **(fetch(draw, octets) if sender == "B" else stream(draw, octets, "A")), "fixed_octets": True, "least_s": 0.8, "congestion": "cubic"}
