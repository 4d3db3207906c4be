"""Parts of trials: lines, programs."""

SEED = "what people around embedded links meet, drawn for the seventh held-out set"
NGINX = """daemon off; user root; pid @D/nginx.pid; error_log /dev/null;
events {}
http { access_log off; client_body_temp_path @D; proxy_temp_path @D; fastcgi_temp_path @D; uwsgi_temp_path @D; scgi_temp_path @D;
server { listen @B:8081; root @D; sendfile on; } }
"""
LIGHTTPD = """server.document-root = "@D"
server.bind = "@B"
server.port = 8082
server.upload-dirs = ( "@D" )
connection.kbytes-per-second = @K
"""
VSFTPD = """listen=YES
listen_address=@B
anonymous_enable=YES
anon_root=@D/ftp
no_anon_password=YES
background=NO
seccomp_sandbox=NO
secure_chroot_dir=@D/empty
pasv_min_port=40000
pasv_max_port=40100
"""
RSYNCD = "use chroot = no\nreverse lookup = no\nuid = root\ngid = root\n[all]\npath = @D\nread only = yes\n"
SSHD = "Port 2222\nListenAddress @B\nHostKey @D/host_key\nAuthorizedKeysFile @D/key.pub\nStrictModes no\nUsePAM no\nPermitRootLogin yes\nPidFile none\n"
KEYS = "mkdir -p /run/sshd; for i in host_key key; do ssh-keygen -q -t ed25519 -N '' -f @D/$i; done; exec /usr/sbin/sshd -D -e -f @D/sshd.conf"
SSH_OPTIONS = "-q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i @D/key"
DEVICE_MAC = "02:f1:e1:d5:00:02"


def queue_of(rate, ms):
    return max(10 * 1514, round(rate / 8e3 * ms))


def line(rate, rtt_ms, queue_ms=None):
    """The same rate in both directions; a queue of one round trip, 14 to 28 ms."""
    queue = queue_of(rate, queue_ms or min(28, max(14, rtt_ms)))
    return {"rate": rate, "shape": {"there": (rate, queue), "back": (rate, queue)},
            "hold": {"there.delay": round(rtt_ms / 2, 3), "back.delay": round(rtt_ms / 2, 3)}}


def held(trial, **options):
    """hold.c does this; without the cause, it does not. `there_` is the way of the data, `back_` the other."""
    named = {key.replace("there_", "there.").replace("back_", "back."): value for key, value in options.items()}
    return {**trial, "hold": {**trial["hold"], **named}, "without": {"hold": trial["hold"]}}


def shaped(trial, **ways):
    """These (rate, octets of queue) of a direction are the cause."""
    return {**trial, "shape": {**trial["shape"], **ways}, "without": {"shape": trial["shape"]}}


def up(rate, program, seconds=4, send="", read=""):
    """A sends to B at about this rate; `send` and `read` are options of ends.py."""
    it = {"sender": "A", "octets": max(2_000, int(rate / 8 * seconds))}
    if program == "ends":
        return {**it, "servers": [("B", f"@P listen @B 5101 read {read}")], "client": f"@P connect @B 5101 send octets=@N {send or 'chunk=16384'}"}
    if program == "put":
        return {**it, "servers": [("B", f"@P listen @B 8083 http octets=10 {read}")],
                "client": f"head -c @N /dev/zero > @D/image; curl -s -o /dev/null -T @D/image {send} http://@B:8083/image"}
    if program == "nc":
        return {**it, "servers": [("B", "busybox nc -l -p 5103 -s @B > /dev/null")], "client": "head -c @N /dev/zero | busybox nc @B 5103"}
    if program == "scp":
        return {**it, "files": {"sshd.conf": SSHD}, "servers": [("B", KEYS)],
                "client": f"head -c @N /dev/urandom > @D/image; scp -O {SSH_OPTIONS} -P 2222 @D/image root@@B:@D/got"}
    if program == "iperf":
        return {"sender": "A", "servers": [("B", "iperf -s")], "client": f"iperf -c @B -t {seconds}"}
    if program == "iperf3":
        return {"sender": "A", "servers": [("B", "iperf3 -s")], "client": f"iperf3 -c @B -t {seconds} {send}"}
    raise KeyError(program)


def down(rate, program, seconds=4, client="", kilobytes=0, send="", read=""):
    """B sends to A at about this rate; `client` are options of curl or wget, `kilobytes` per second a limit of lighttpd."""
    it = {"sender": "B", "octets": max(2_000, int(rate / 8 * seconds))}
    if program == "ends":
        return {**it, "servers": [("B", f"@P listen @B 5104 send octets=@N {send or 'chunk=16384'}")], "client": f"@P connect @B 5104 read {read}"}
    if program == "ftp":
        return {**it, "files": {"vsftpd.conf": VSFTPD}, "client": "lftp -c 'set net:timeout 9; get -c ftp://@B/data -o /dev/null'",
                "servers": [("B", "mkdir -p @D/empty @D/ftp; chmod 555 @D/ftp; truncate -s @N @D/ftp/data; exec vsftpd @D/vsftpd.conf")]}
    if program == "rsync":
        return {**it, "files": {"rsyncd.conf": RSYNCD}, "client": "mkdir @D/got; rsync -q -W --inplace rsync://@B/all/data @D/got/",
                "servers": [("B", "head -c @N /dev/urandom > @D/data; exec rsync --daemon --no-detach --address=@B --config=@D/rsyncd.conf")]}
    if program == "iperf3":
        return {"sender": "B", "servers": [("B", "iperf3 -s")], "client": f"iperf3 -c @B -R -t {seconds}"}
    server, tool = program.split("-")
    port = {"nginx": 8081, "lighttpd": 8082, "busybox": 8084, "python": 8085}[server]
    start = {"nginx": "exec nginx -p @D -c @D/nginx.conf", "lighttpd": "exec lighttpd -D -f @D/lighttpd.conf",
             "busybox": "exec busybox httpd -f -p @B:8084 -h @D", "python": "cd @D; exec python3 -m http.server -b @B 8085"}[server]
    url = f"http://@B:{port}/data"
    fetch = {"curl": f"curl -s -o /dev/null {client} {url}", "wget": f"wget -q -O /dev/null {client} {url}",
             "busybox": f"busybox wget -q -O /dev/null {url}", "aria": f"aria2c -q -x 4 -s 4 -k 1M --allow-overwrite=true -d @D -o got {url}"}[tool]
    return {**it, "files": {"nginx.conf": NGINX, "lighttpd.conf": LIGHTTPD.replace("@K", str(kilobytes))}, "client": fetch,
            "servers": [("B", f"truncate -s @N @D/data; {start}")]}


def transfer(d, rate, *programs, **more):
    """A transfer by one of these programs, in turn: `up:NAME` or `down:NAME`."""
    how, program = d.turn("program", *programs).split(":")
    return (up if how == "up" else down)(rate, program, **more)


def lwip(build, words):
    """lwIP instead of B's kernel."""
    program = f"$(dirname $(echo @P | cut -d' ' -f2))/field-lwip-{build}"
    return f"@P lwip {program} ip=@B mask=255.0.0.0 mac={DEVICE_MAC} {words}"


def to_device(build, words="", seconds=4, rate=1e6):
    """A sends to lwIP at B."""
    return {"sender": "A", "device": "B", "octets": int(rate / 8 * seconds), "servers": [("B", lwip(build, f"role=sink port=5101 {words}"))],
            "client": "@P connect @B 5101 send octets=@N chunk=16384"}


def from_device(build, words="", seconds=4, rate=1e6):
    """lwIP at B sends to A."""
    return {"sender": "B", "device": "B", "octets": int(rate / 8 * seconds),
            "servers": [("B", lwip(build, f"role=source port=5104 octets=@N {words}"))], "client": "@P connect @B 5104 read"}


def signalled(command, works_ms, stops_ms):
    """The command, stopped and continued by signals."""
    return (f"{command} & p=$!; while sleep {works_ms / 1e3}; do kill -STOP $p 2>/dev/null || break; sleep {stops_ms / 1e3}; "
            "kill -CONT $p 2>/dev/null || break; done; wait $p")


def simulated(rate, rtt_ms, seconds=4, queue_ms=None, **more):
    """ns-3's stations and routers."""
    queue = max(12, round(rate / 8e3 * (queue_ms or min(28, max(14, rtt_ms))) / 1500))
    words = {"rate": int(rate), "delay": round(rtt_ms / 2, 3), "queue": queue, "backqueue": queue, "seconds": 60,
             **{key.rstrip("_"): value for key, value in more.items()}}
    return {"sender": "A", "rate": rate, "simulated": words, **({"octets": int(rate / 8 * seconds)} if words.get("role", "bulk") == "bulk" else {})}


def without(trial, **other):
    """Without the cause, these options of simulated.cc are others."""
    return {**trial, "without": {"simulated": {**trial["simulated"], **other}}}
