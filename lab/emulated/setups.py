"""Parts of trials: lines, programs."""

SEED = "an emulated Linux between two hosts, drawn for the eighth held-out set"
NGINX = """daemon off; user root; pid @D/nginx.pid; error_log /dev/null; worker_processes 1;
events {}
http { access_log off; client_body_temp_path @D; proxy_temp_path @D; fastcgi_temp_path @D; uwsgi_temp_path @D; scgi_temp_path @D;
server { listen @B:8080; root @D; sendfile on; } }
"""
VSFTPD = """listen=YES
listen_address=@B
anonymous_enable=YES
anon_root=@D/ftp
no_anon_password=YES
background=NO
seccomp_sandbox=NO
secure_chroot_dir=@D/empty
pasv_min_port=41000
pasv_max_port=41050
"""


def octets_in(rate, ms):
    return max(8 * 1514, round(rate / 8e3 * ms))


def tbf(rate, queue_octets, burst=3_200):
    return f"tbf rate {int(rate)} burst {burst} limit {int(queue_octets + burst)}"


def line(rate, rtt_ms, queue_ms=None, back=None):
    """The same rate in both directions; a queue of one round trip, 20 ms at least. Half of the round trip is in each direction."""
    queue = octets_in(rate, queue_ms or max(20, rtt_ms))
    return {"rate": rate, "shape": {"there": tbf(rate, queue), "back": tbf(back or rate, queue)}, "netem": delays(rtt_ms)}


def delays(rtt_ms, there="", back=""):
    """netem in both directions, with more options for each."""
    half = f"delay {rtt_ms / 2:.3f}ms"
    return {"there": f"{half} {there}".strip(), "back": f"{half} {back}".strip()}


def disturbed_by(trial, rtt_ms, there="", back=""):
    """netem does this; without the cause, it only delays."""
    return {**trial, "netem": delays(rtt_ms, there, back), "without": {"netem": delays(rtt_ms)}}


def up(rate, program, seconds=2.6, send="", read=""):
    """A sends to B at about this rate; `send` and `read` are options of the programs."""
    it = {"sender": "A", "octets": max(2_000, int(rate / 8 * seconds))}
    if program == "ends":
        return {**it, "servers": [("B", f"@P listen @B 5201 read {read}")], "client": f"@P connect @B 5201 send octets=@N {send or 'chunk=8192'}"}
    if program == "socat":
        return {**it, "servers": [("B", f"socat -u TCP-LISTEN:7100,bind=@B,reuseaddr{read} OPEN:/dev/null,wronly")],
                "client": f"head -c @N /dev/zero | socat -u STDIN TCP:@B:7100{send}"}
    if program == "put":
        return {**it, "servers": [("B", f"@P listen @B 8083 http octets=10 {read}")],
                "client": f"head -c @N /dev/zero > @D/firmware; curl -s -o /dev/null -T @D/firmware {send} http://@B:8083/firmware"}
    if program == "nuttcp":
        return {"sender": "A", "servers": [("B", "nuttcp -S --nofork")], "client": f"nuttcp -t -T {round(seconds)} {send} @B"}
    if program in ("iperf", "iperf3"):
        return {"sender": "A", "servers": [("B", f"{program} -s")], "client": f"{program} -c @B -t {round(seconds)} {send}"}
    raise KeyError(program)


def down(rate, program, seconds=2.6, client="", send="", read=""):
    """B sends to A at about this rate; `client` are options of curl or wget."""
    it = {"sender": "B", "octets": max(2_000, int(rate / 8 * seconds))}
    if program == "ends":
        return {**it, "servers": [("B", f"@P listen @B 5204 send octets=@N {send or 'chunk=8192'}")], "client": f"@P connect @B 5204 read {read}"}
    if program == "ftp":
        return {**it, "files": {"vsftpd.conf": VSFTPD}, "client": "lftp -c 'set net:timeout 9; get -c ftp://@B/data -o /dev/null'",
                "servers": [("B", "mkdir -p @D/empty @D/ftp; chmod 555 @D/ftp; truncate -s @N @D/ftp/data; exec vsftpd @D/vsftpd.conf")]}
    if program == "iperf3":
        return {"sender": "B", "servers": [("B", "iperf3 -s")], "client": f"iperf3 -c @B -R -t {round(seconds)}"}
    server, tool = program.split("-")
    port = {"nginx": 8080, "busybox": 8084}[server]
    start = {"nginx": "exec nginx -p @D -c @D/nginx.conf", "busybox": "exec busybox httpd -f -p @B:8084 -h @D"}[server]
    url = f"http://@B:{port}/data"
    fetch = {"curl": f"curl -s -o /dev/null {client} {url}", "wget": f"wget -q -O /dev/null {client} {url}"}[tool]
    return {**it, "files": {"nginx.conf": NGINX}, "client": fetch, "servers": [("B", f"truncate -s @N @D/data; {start}")]}


def transfer(d, rate, *programs, **more):
    """A transfer by one of these programs, in turn: `up:NAME` or `down:NAME`."""
    how, program = d.turn("program", *programs).split(":")
    return (up if how == "up" else down)(rate, program, **more)


def stopped(command, works_ms, stops_ms):
    """The command, stopped and continued by signals."""
    return (f"{command} & p=$!; while sleep {works_ms / 1e3}; do kill -STOP $p 2>/dev/null || break; sleep {stops_ms / 1e3}; "
            "kill -CONT $p 2>/dev/null || break; done; wait $p")
