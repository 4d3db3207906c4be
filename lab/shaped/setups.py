"""Lines of the kernel's disciplines, and programs."""

import draw as draws

ENDS = "python3 @P"


def case(*words, **more):
    """Two trials of each."""
    return draws.case(*words, **{"count": 2, **more})


def control(*words, **more):
    return draws.control(*words, **{"count": 2, **more})


def rate_of(bits):
    return f"{int(bits)}bit"


def shaper(kind, rate, queue, leaf=None):
    """Lines of tc for a line of `rate` bits a second with a queue of `queue` octets; `leaf` replaces the queue."""
    burst = max(1600, int(rate / 8 * 0.0012))
    leaf = leaf or f"bfifo limit {int(queue)}"
    if kind == "tbf" and leaf.startswith("bfifo"):
        return [f"qdisc add dev @ root tbf rate {rate_of(rate)} burst {burst} limit {int(queue)}"]
    if kind == "tbf":
        return [f"qdisc add dev @ root handle 1: tbf rate {rate_of(rate)} burst {burst} limit 1000000", f"qdisc add dev @ parent 1:1 handle 10: {leaf}"]
    if kind == "htb":
        return ["qdisc add dev @ root handle 1: htb default 10",
                f"class add dev @ parent 1: classid 1:10 htb rate {rate_of(rate)} ceil {rate_of(rate)} burst {burst} cburst {burst} quantum 1514",
                f"qdisc add dev @ parent 1:10 handle 10: {leaf}"]
    if kind == "hfsc":
        return ["qdisc add dev @ root handle 1: hfsc default 10",
                f"class add dev @ parent 1: classid 1:10 hfsc sc rate {rate_of(rate)} ul rate {rate_of(rate)}",
                f"qdisc add dev @ parent 1:10 handle 10: {leaf}"]
    if kind == "netem":
        return [f"qdisc add dev @ root netem rate {rate_of(rate)} limit {max(3, int(queue / 1514))}"]
    raise ValueError(kind)


def line(draw, rates, rtts, queue_ms=(40, 90), kinds=("tbf", "htb", "hfsc", "netem"), back=1.0, sender=None, least=3100, **more):
    """A line of a drawn rate and round trip, with a queue of so many ms, and of `least` octets; its way back has `back` times the rate."""
    rate, rtt = draw.log("rate", *rates), draw.log("rtt_ms", *rtts)
    queue = draw.log("queue_ms", *queue_ms) if queue_ms else 0
    kind = draw.random.choice(kinds)
    draw.note(shaper=kind)
    octets = max(rate / 8e3 * queue, least)
    way = sender or draw.turn("sender_is", "A", "B")
    nic = "1gbit" if rate > 60e6 else draw.random.choice(("100mbit", "1gbit", "1gbit"))
    draw.note(nic=nic)
    return {"sender": way, "rate": rate, "rtt_ms": rtt, "queue_octets": octets, "nic": nic, "octets": int(rate / 8 * draw.random.uniform(3.4, 5.5)),
            "data": {"shape": shaper(kind, rate, octets)}, "acks": {"shape": shaper("tbf", rate * back, max(rate * back / 8 * 0.25, 20000))},
            "merges": draw.random.choice((0, 0, 30000)), **more}


def with_delay(trial, *words):
    """The delay of the data's way with more words of netem (losses, jitter)."""
    return [f"qdisc add dev @ root netem limit 40000 delay {trial['rtt_ms'] / 2:.3f}ms {' '.join(map(str, words))}"]


def changed(trial, way, **places):
    """The trial's `data` or `acks`, with other places."""
    return {**trial[way], **places}


def program(at, run, name, main=False, after=0.0):
    return {"at": at, "run": run, "name": name, "main": main, "after": after}


FOLDER = "mkdir -p /run/shaped && ln -sf @D/data.bin /run/shaped/data.bin && "
NGINX = FOLDER + "nginx -p @D -c @S/ends/nginx.conf"
SSHD = ("/usr/sbin/sshd -D -e -p 2222 -h @L/hostkey -o AuthorizedKeysFile=@L/key.pub -o StrictModes=no -o UsePAM=no -o PidFile=none")
SCP = "timeout 60 scp -q -P 2222 -i @L/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
RSYNCD = ("printf 'use chroot=no\\nuid=root\\ngid=root\\n[d]\\npath=@D\\nread only=no\\n' > @D/rsyncd.conf && rsync --daemon --no-detach --port 8730 "
          "--config @D/rsyncd.conf")
VSFTPD = ("printf 'listen=YES\\nlisten_port=2121\\nanonymous_enable=YES\\nanon_root=@D\\nseccomp_sandbox=NO\\nrun_as_launching_user=YES\\nbackground=NO\\n"
          "no_anon_password=YES\\n' > @D/vsftpd.conf && vsftpd @D/vsftpd.conf")
UP = {
    "iperf3": ("iperf3 -s -1", "timeout 60 iperf3 -c @B -n {octets} -l 16K"),
    "iperf": ("iperf -s", "timeout 60 iperf -c @B -n {octets} -l 16K"),
    "ncat": ("ncat -l 7000 --recv-only > /dev/null", "head -c {octets} /dev/zero | timeout 60 ncat --send-only @B 7000"),
    "socat": ("socat -u TCP-LISTEN:7000,reuseaddr OPEN:/dev/null", "head -c {octets} /dev/zero | timeout 60 socat -u - TCP:@B:7000"),
    "python": (ENDS + " sink", ENDS + " source to=@B octets={octets}"),
    "rsync": (RSYNCD, "timeout 60 rsync -W @D/data.bin rsync://@B:8730/d/got.bin"),
    "scp": (SSHD, SCP + " @D/data.bin root@@B:@D/got.bin"),
    "curl": (FOLDER + "mkdir -p /run/shaped/put && " + "nginx -p @D -c @S/ends/nginx.conf", "timeout 60 curl -s -T @D/data.bin http://@B:8080/put/got.bin"),
}
DOWN = {
    "iperf3": ("iperf3 -s -1", "timeout 60 iperf3 -c @B -R -n {octets} -l 16K"),
    "curl": (NGINX, "timeout 60 curl -s -o /dev/null http://@B:8080/data.bin"),
    "wget": (NGINX, "timeout 60 wget -q -O /dev/null http://@B:8080/data.bin"),
    "http.server": ("python3 -m http.server 8080 --directory @D", "timeout 60 curl -s -o /dev/null http://@B:8080/data.bin"),
    "perl": ("perl @S/ends/send.pl {octets}", ENDS + " sink to=@B"),
    "rsync": (RSYNCD, "timeout 60 rsync -W rsync://@B:8730/d/data.bin @D/got.bin"),
    "scp": (SSHD, SCP + " root@@B:@D/data.bin @D/got.bin"),
    "lftp": (VSFTPD, "timeout 60 lftp -p 2121 -e 'get data.bin -o @D/got.bin; quit' @B"),
    "node": ("node @S/ends/serve.js {octets}", "timeout 60 curl -s -o /dev/null http://@B:8080/"),
    "socat": ("head -c {octets} /dev/zero | socat -u - TCP-LISTEN:7000,reuseaddr", "timeout 60 socat -u TCP:@B:7000 OPEN:/dev/null"),
}


def transfer(draw, trial, *only):
    """A transfer of the trial's octets by a drawn program; A is always the client."""
    table = UP if trial["sender"] == "A" else DOWN
    names = [it for it in only if it in table] or list(table)
    name = names[(draw.number * 3 + draw.random.randrange(len(names))) % len(names)]
    draw.note(program=name)
    server, client = table[name]
    ends_at_server = name in ("ncat", "socat") and trial["sender"] == "A" or name == "python"
    return {**trial, "make_file": True, "programs": [program("B", server, "server", main=ends_at_server), program("A", client, "client", main=True, after=0.9)]}


def ends(trial, server, client, **more):
    """Programs of ends.py at both ends; A is the client."""
    return {**trial, "programs": [program("B", f"{ENDS} {server}", "server"), program("A", f"{ENDS} {client}", "client", main=True, after=0.9)], **more}


def lwip(kind, end, words):
    """A board with lwIP at `end`; it waits for connections, or dials."""
    return f"@L/lwip-{kind} tap0 @{end} @G{end} {words}"


def board(trial, end, command, client, **more):
    """A board at `end`, and a program of the other end that decides when it is over."""
    far = "A" if end == "B" else "B"
    return {**trial, "boards": end, "not_translated": True, "merges": 0,
            "programs": [program(end, command, "board"), program(far, client, "client", main=True, after=0.9)], **more}
