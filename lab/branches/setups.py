"""Lines and programs of trials."""

from network import OTHER

RUBY = "exec ruby @P/ends.rb"


def line(d, rates, rtts, depth=(1.2, 3.0), sender=None, seconds=4.5, share=1.0, back_rate=None):
    """Both ways at one rate, with a queue of so many times the product of rate and round trip (a hundred segments at least)."""
    rate, rtt = d.log("rate", *rates), d.log("rtt_ms", *rtts)
    deep = d.random.uniform(*depth)
    octets = int(max(rate * rtt / 8e3 * deep, 100 * 1514))
    trial = {"rate": rate, "rtt_ms": rtt, "sender": sender or d.random.choice("AB"), "octets": int(rate * share * seconds / 8),
             "ways": {"forward": {"rate": rate, "delay_ms": rtt / 2, "queue_octets": octets},
                      "back": {"rate": back_rate or rate, "delay_ms": rtt / 2, "queue_octets": max(octets, 200_000)}}}
    kinds = ("bridge", "router")
    trial["hops"] = {"P": d.random.choice(kinds + ("nat",)), "Q": d.random.choice(kinds)}
    trial["merges"] = d.random.random() < 0.33
    d.note(sender_is=trial["sender"], queue_octets=octets)
    return trial


def forward(trial, **more):
    trial["ways"]["forward"] = {**trial["ways"]["forward"], **more}
    return trial


def back(trial, **more):
    trial["ways"]["back"] = {**trial["ways"]["back"], **more}
    return trial


def without(trial, forward=(), back=(), **more):
    """The same set-up with the keys of a way taken away (or replaced, where a dictionary is given), and other settings."""
    ways = {}
    for name, keys in (("forward", forward), ("back", back)):
        if isinstance(keys, dict):
            ways[name] = {**trial["ways"][name], **keys}
        else:
            ways[name] = {key: value for key, value in trial["ways"][name].items() if key not in keys}
    trial["without"] = {"ways": ways, **more}
    return trial


def sysctl(trial, end, **values):
    """`end`: sender, receiver or AB. Double underscores stand for points."""
    name = {"sender": trial["sender"], "receiver": OTHER[trial["sender"]]}.get(end, end)
    given = trial.setdefault("sysctl", {})
    given[name] = {**given.get(name, {}), **{f"net.ipv4.{key}": value for key, value in values.items()}}
    return trial


def wide(trial):
    """Buffers that do not limit."""
    return sysctl(trial, "AB", tcp_rmem="4096 1000000 33554432", tcp_wmem="4096 500000 33554432")


def ruby_stream(trial, send="", read="", connects=None, port=7000):
    """A stream of `ends.rb`. Who connects is A, as a host behind address translation has to."""
    sender, receiver = trial["sender"], OTHER[trial["sender"]]
    if sender == "A":
        trial["servers"] = [(receiver, f"{RUBY} read listen=1 port={port} {read}")]
        trial["clients"] = [(sender, f"{RUBY} send host=@B port={port} octets=@N {send}")]
    else:
        trial["servers"] = [(sender, f"{RUBY} send listen=1 port={port} octets=@N {send}")]
        trial["clients"] = [(receiver, f"{RUBY} read host=@B port={port} {read}")]
    trial["ready"] = [("B", port)]
    return trial


def stream(d, trial, kinds=("ruby", "ncat", "webrick", "sftp", "stunnel", "git", "squid")):
    """A transfer of `octets` by one of these programs. B serves."""
    kind = d.random.choice(kinds)
    down = trial["sender"] == "B"
    if not down and kind in ("webrick", "git", "squid", "stunnel"):
        kind = "ruby"
    d.note(program=kind)
    if kind == "ruby":
        return ruby_stream(trial)
    trial.setdefault("files", {})["data"] = None
    if kind == "ncat":
        if down:
            trial.update(servers=[("B", "exec ncat -l 7001 --send-only < @D/data")], clients=[("A", "exec ncat --recv-only @B 7001 > /dev/null")])
        else:
            trial.update(servers=[("B", "exec ncat -l 7001 --recv-only > /dev/null")], clients=[("A", "exec ncat --send-only @B 7001 < @D/data")])
        trial["ready"] = [("B", 7001)]
    elif kind == "webrick":
        trial.update(servers=[("B", "exec ruby -run -e httpd -- @D -p 7002 > /dev/null")],
                     clients=[("A", "exec ruby -rnet/http -e 'Net::HTTP.get_response(URI(\"http://@B:7002/data\")) { |r| r.read_body { } }'")])
        trial["ready"] = [("B", 7002)]
    elif kind == "sftp":
        trial["setup"] = [("B", "mkdir -p /run/sshd; test -e /var/tmp/branches-key || ssh-keygen -q -t ed25519 -N '' -f /var/tmp/branches-key")]
        trial["servers"] = [("B", "exec /usr/sbin/sshd -D -e -f /dev/null -p 7022 -h /var/tmp/branches-key -o AuthorizedKeysFile=/var/tmp/branches-key.pub "
                             "-o StrictModes=no -o PermitRootLogin=yes -o Subsystem='sftp internal-sftp' -o UsePAM=no -o UseDNS=no")]
        trial["ready"] = [("B", 7022)]
        ssh = "-i /var/tmp/branches-key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
        trial["clients"] = [("A", f"exec scp -O -P 7022 {ssh} " + ("root@@B:@D/data /dev/null" if down else "@D/data root@@B:/dev/null"))]
    elif kind == "stunnel":
        trial["setup"] = [("B", "cd /var/tmp; test -e branches.pem || (openssl req -x509 -newkey rsa:2048 -nodes -subj /CN=branch -days 900 -keyout "
                           "b.key -out b.crt 2>/dev/null; cat b.key b.crt > branches.pem)")]
        trial["servers"] = [("B", "printf 'foreground=yes\\npid=\\ndebug=3\\n[s]\\naccept=7003\\nconnect=127.0.0.1:7004\\ncert=/var/tmp/branches.pem\\nsocket=a:TCP_NODELAY=1\\nsocket=l:TCP_NODELAY=1\\nsocket=r:TCP_NODELAY=1\\n' > @D/s.conf; "
                             "exec stunnel @D/s.conf"), ("B", "exec ruby -run -e httpd -- @D -p 7004 > /dev/null")]
        trial["ready"] = [("B", 7003), ("B", 7004)]
        trial["clients"] = [("A", "exec wget -q --no-check-certificate -O /dev/null https://@B:7003/data")]
    elif kind == "git":
        trial["before"] = [("B", "mkdir -p @D/r; cd @D/r; git init -q w; mv ../data w/; cd w; git -c core.compression=0 -c core.bigFileThreshold=1 add data; "
                            "git -c user.name=b -c user.email=b@b commit -qm x; cd ..; git clone -q --bare w w.git; touch w.git/git-daemon-export-ok")]
        trial["servers"] = [("B", "exec git daemon --port=7418 --base-path=@D/r --export-all")]
        trial["ready"] = [("B", 7418)]
        trial["clients"] = [("A", "exec git -c core.compression=0 clone -q --bare git://@B:7418/w.git @D/clone")]
    elif kind == "squid":
        trial["servers"] = [("B", "exec ruby -run -e httpd -- @D -p 7004 -b 127.0.0.1 > /dev/null"),
                            ("B", "mkdir -p @D/q; chmod 777 @D/q; printf 'http_port 7128\\nhttp_access allow all\\ncache deny all\\npid_filename none\\naccess_log none\\n"
                             "cache_log /dev/null\\nshutdown_lifetime 0\\ncoredump_dir @D/q\\ncache_effective_user proxy\\npinger_enable off\\nreply_body_max_size none\\n' > @D/q.conf; rm -f /dev/shm/b@L-*; exec squid -N -n b@L -f @D/q.conf")]
        trial["ready"] = [("B", 7128), ("B", 7004)]
        trial["clients"] = [("A", "exec env http_proxy=http://@B:7128 wget -q -O /dev/null http://127.0.0.1:7004/data")]
    return trial
