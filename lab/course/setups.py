"""Lines and programs that the cases share."""

from checks import check

WIDE = {"tcp_rmem": "4096 131072 16777216", "tcp_wmem": "4096 131072 16777216"}
ENDS = "@P/ends"


def shaper(kind, rate, octets):
    """A link of a rate with a queue of so many octets."""
    octets = max(int(octets), 3200)
    if kind == "tbf":
        return f"root tbf rate {rate:.0f}bit burst {max(3100, int(rate / 8e4))} limit {octets}"
    if kind == "netem":
        return f"root netem rate {rate:.0f}bit limit {max(2, octets // 1514)}"
    last = "fq_codel" if kind == "fq_codel" else f"pfifo limit {max(2, octets // 1514)}"
    return ["root handle 1: htb default 10", f"class add dev @dev parent 1: classid 1:10 htb rate {rate:.0f}bit burst {max(3100, int(rate / 8e4))} cburst {max(3100, int(rate / 8e4))} quantum 1514",
            f"parent 1:10 {last}"]


def line(draw, rate, rtt, sender="A", queue=None, back=None, kind=None, back_queue=None, to="", ack=""):
    """Rates, queues and delays in both directions. `to` and `ack` are more of netem's words for the way of the data and for that of acknowledgments."""
    kind = kind or draw.random.choice(("tbf", "tbf", "htb", "netem"))
    octets = queue if queue is not None else max(rate / 8e3 * min(max(rtt, 25), 150), 6400)
    share = draw.random.uniform(0.25, 0.75)
    data, confirm = ("up", "down") if sender == "A" else ("down", "up")
    near, far = ("to_b", "to_a") if sender == "A" else ("to_a", "to_b")
    back = back or rate
    draw.note(shaper=kind, queue_octets=int(octets), back=int(back))
    merges = int(draw.random.random() < 0.16 and rate > 4e6)
    draw.note(merges=merges)
    return {"rate": rate, "rtt": rtt, "sender": sender, "merges": merges,
            "disciplines": {data: shaper(kind, rate, octets), confirm: shaper("tbf" if kind == "netem" else kind, back, back_queue or max(back / 8e3 * min(max(rtt, 25), 150), 12000)),
                            near: f"root netem limit 100000 delay {rtt * share:.4f}ms {to}".rstrip(), far: f"root netem limit 100000 delay {rtt * (1 - share):.4f}ms {ack}".rstrip()}}


def ends(draw):
    """Who sends; by turns."""
    return draw.turn("sender", "A", "B")


def changed(path, **places):
    """The same line with other disciplines, for the run without the cause."""
    return {**path["disciplines"], **places}


def raw(sender, send="", recv="", octets=0):
    """A stream between two programs of ends.c; A opens it."""
    if sender == "A":
        server, client = f"{ENDS} recv listen=7000 {recv}", f"{ENDS} send host=@B port=7000 octets={{octets}} {send}"
    else:
        server, client = f"{ENDS} send listen=7000 octets={{octets}} {send}", f"{ENDS} recv host=@B port=7000 {recv}"
    more = {"octets": int(octets)} if octets else {}
    return {"sender": sender, "server": server, "ports": [7000], "client": client, **more}


def station(sender, options="", peer="", octets=0):
    """A stream between a host (A) and the station behind B; the host opens it."""
    if sender == "A":
        server, client = f"@P/station listen=7000 does=sink {options}", f"{ENDS} send host=@B port=7000 octets={{octets}} {peer}"
    else:
        server, client = f"@P/station listen=7000 does=source octets={{octets}} {options}", f"{ENDS} recv host=@B port=7000 {peer}"
    return {"sender": sender, "server": server, "client": client, "station": "B", "octets": int(octets)}


def exchange(ask, answer="", port=4001, sender="B"):
    return {"sender": sender, "server": f"{ENDS} answer listen={port} {answer}", "ports": [port], "client": f"{ENDS} ask host=@B port={port} {ask}", "is_timed": True}


NGINX = ("daemon off; user root; pid @D/pid; error_log /dev/null; events {{}} http {{ access_log off; sendfile on; client_body_temp_path @D/t; {more} "
         "server {{ listen 80; root @D/www; {inside} location /put/ {{ dav_methods PUT; create_full_put_path on; client_max_body_size 0; }} }} }}")


def nginx(octets="{octets}", more="", inside="", files=""):
    conf = NGINX.format(more=more, inside=inside)
    return f"mkdir -p @D/www/put @D/t; truncate -s {octets} @D/www/f; {files} printf '%s' '{conf}' > @D/n.conf; exec nginx -c @D/n.conf -p @D"


LIGHTTPD = 'server.document-root = "@D/www"\nserver.port = 80\nserver.errorlog = "/dev/null"\n'


def lighttpd(octets="{octets}", more="", files=""):
    return f"mkdir -p @D/www; truncate -s {octets} @D/www/f; {files} printf '%s' '{LIGHTTPD}{more}' > @D/l.conf; exec lighttpd -D -f @D/l.conf"


def busybox(octets="{octets}", files=""):
    return f"mkdir -p @D/www; truncate -s {octets} @D/www/f; {files} exec busybox httpd -f -p 80 -h @D/www"


SSHD = ("printf '%s\\n' 'HostKey @P/key' 'PidFile none' 'UsePAM no' 'PermitRootLogin yes' 'StrictModes no' 'AuthorizedKeysFile @P/key.pub' 'UseDNS no' 'Subsystem sftp internal-sftp' > @D/sshd.conf; chmod 600 @P/key; "
        "exec /usr/sbin/sshd -D -e -f @D/sshd.conf")
SSH = "-i @P/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
VSFTPD = ("mkdir -p @D/ftp/in; chmod 777 @D/ftp/in; chmod 755 @D @D/ftp; truncate -s {octets} @D/ftp/f; printf '%s\\n' listen=YES anonymous_enable=YES anon_root=@D/ftp write_enable=YES anon_upload_enable=YES "
          "no_anon_password=YES seccomp_sandbox=NO background=NO secure_chroot_dir=/run/sshd allow_writeable_chroot=YES ftp_username=ftp local_enable=NO anon_umask=022 > @D/v.conf; chown root @D/v.conf; exec vsftpd @D/v.conf")
RSYNCD = "mkdir -p @D/r/in; truncate -s {octets} @D/r/f; printf '%s\\n' 'use chroot = no' 'uid = root' 'gid = root' '[m]' 'path = @D/r' 'read only = no' > @D/rs.conf; exec rsync --daemon --no-detach --config=@D/rs.conf"


def transfer(name, sender, octets, curl=""):
    """A file or stream by a stock program, from A to B or from B to A."""
    is_up = sender == "A"
    made = "truncate -s {octets} @D/up; "
    table = {
        "nginx-curl": (nginx(), 80, f"{made}curl -sS {curl} -o /dev/null -T @D/up http://@B/put/up" if is_up else f"curl -sS {curl} -o /dev/null http://@B/f"),
        "lighttpd-wget": (lighttpd(), 80, "wget -q -O /dev/null http://@B/f"),
        "busybox-curl": (busybox(), 80, f"curl -sS {curl} -o /dev/null http://@B/f"),
        "iperf3": ("exec iperf3 -s -1", 5201, "iperf3 -c @B -n {octets} >/dev/null"),
        "iperf": ("exec iperf -s", 5001, "iperf -c @B -n {octets} >/dev/null"),
        "scp": (SSHD, 22, f"{made}scp -q {SSH} @D/up root@@B:/tmp/up2" if is_up else f"scp -q {SSH} root@@B:/tmp/down @D/down"),
        "rsync": (RSYNCD, 873, f"{made}rsync -W @D/up rsync://@B/m/in/" if is_up else "rsync -W rsync://@B/m/f @D/down"),
        "ftp": (VSFTPD, 21, f"{made}curl -sS -o /dev/null -T @D/up ftp://@B/in/up" if is_up else "curl -sS -o /dev/null ftp://@B/f"),
        "lftp": (VSFTPD, 21, "lftp -e 'get -O @D f; bye' ftp://@B"),
        "socat": ("exec socat -u TCP-LISTEN:7001,reuseaddr OPEN:/dev/null" if is_up else "exec socat -u SYSTEM:'head -c {octets} /dev/zero' TCP-LISTEN:7001,reuseaddr", 7001,
                  "head -c {octets} /dev/zero | socat -u - TCP:@B:7001" if is_up else "socat -u TCP:@B:7001 OPEN:/dev/null"),
        "ncat": ("exec ncat -l 7002 --recv-only > /dev/null" if is_up else "head -c {octets} /dev/zero | ncat -l 7002 --send-only", 7002,
                 "head -c {octets} /dev/zero | ncat --send-only @B 7002" if is_up else "ncat --recv-only @B 7002 > /dev/null"),
    }
    server, port, client = table[name]
    if name == "scp" and not is_up:
        server = "truncate -s {octets} /tmp/down; " + server
    return {"sender": sender, "server": server, "ports": [port], "client": client, "octets": int(octets)}


UPS = ("nginx-curl", "iperf3", "socat", "ncat", "ftp", "rsync", "scp", "iperf", "socat")
DOWNS = ("nginx-curl", "lighttpd-wget", "busybox-curl", "ftp", "rsync", "scp", "socat", "ncat", "lftp", "socat")


def any_transfer(draw, sender, octets):
    name = draw.random.choice(UPS if sender == "A" else DOWNS)
    draw.note(program=name)
    return transfer(name, sender, octets)


def dropped(least):
    return check(f"disciplines drop at least {least} packets", lambda truth, trial: truth["lost_segments"] >= least)


def answered(least):
    return check(f"{least} requests or more are answered, or 90% of them", lambda truth, trial: any(it.get("asked", 0) >= least for it in truth["path"]["programs"]))


def queued(least_ms):
    """The longest smoothed round trip of the sender's socket, above its shortest."""
    return check(f"round trips grow by {least_ms} ms or more", lambda truth, trial: truth["path"]["socket"].get("rtt_ms", 0) - truth["path"]["socket"].get("minrtt_ms", 0) >= least_ms)


def timeouts(least):
    return check(f"the kernels count {least} time-outs or probes for a lost end", lambda truth, trial: sum(
        truth["path"]["kernel"][end].get(key, 0) for end in ("A", "B") for key in ("TcpExtTCPTimeouts", "TcpExtTCPLossProbes")) >= least)


def waits(least_s):
    return check(f"the client waits {least_s} s or more before its first payload", lambda truth, trial: truth["path"]["wait_s"] >= least_s)


def stalled(share):
    return check(f"the pauses that were set take {share:.0%} of the time", lambda truth, trial: any(
        it.get("paused_s", 0) >= share * truth["seconds"] > 1 for it in truth["path"]["programs"]))
