"""Parts of trials: lines, programs, and what must show without `linerate`."""

import draw
from checks import check

SEED = "access networks, drawn for the sixth held-out set"
NGINX = """daemon off; user root; pid @D/nginx.pid; error_log /dev/null;
events {}
http { access_log off; client_body_temp_path @D; proxy_temp_path @D; fastcgi_temp_path @D; uwsgi_temp_path @D; scgi_temp_path @D;
server { listen @B:8081; root @D; @L } }
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
RSYNCD = """use chroot = no
reverse lookup = no
uid = root
gid = root
[all]
path = @D
read only = yes
"""
SSHD = """Port 2222
ListenAddress @B
HostKey @D/host_key
AuthorizedKeysFile @D/key.pub
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile none
"""
KEYS = "mkdir -p /run/sshd; for i in host_key key; do ssh-keygen -q -t ed25519 -N '' -f @D/$i; done; exec /usr/sbin/sshd -D -e -f @D/sshd.conf"
SSH = "ssh -q -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -i @D/key -p 2222 root@@B"


def line(rate, rtt_ms, queue_ms=None, **more):
    """The same rate in both directions; a queue of one round trip, 12 to 25 ms."""
    queue = max(10 * 1514, round(rate / 8e3 * (queue_ms or min(25, max(12, rtt_ms)))))
    return {"rate": rate, "path": {"rate": rate, "queue": queue, "delay": rtt_ms / 2, **more}}


def on_path(trial, **options):
    """The cause is on the path: without it, the path is as it was. `there_` is the way of the data, `back_` the other."""
    named = {key.replace("there_", "there.").replace("back_", "back."): value for key, value in options.items()}
    return {**trial, "path": {**trial["path"], **named}, "without": {"path": trial["path"]}}


def upload(rate, program="ends", to="", more="", seconds=5):
    """A sends to B at about this rate; `to` are options of the sending program, `more` of the receiving one."""
    it = {"sender": "A", "octets": max(2_000, int(rate / 8 * seconds))}
    if program == "ends":
        return {"sender": "A", "servers": [("B", f"@P listen @B 5101 read {more}")],
                "client": f"@P connect @B 5101 send seconds={seconds} {to or 'chunk=16384'}"}
    if program == "socat":
        return {**it, "servers": [("B", "socat -u TCP-LISTEN:5102,bind=@B OPEN:/dev/null")],
                "client": "head -c @N /dev/zero | socat -u - TCP:@B:5102,so-linger=20"}
    if program == "nuttcp":
        return {"sender": "A", "servers": [("B", "nuttcp -S --nofork")], "client": f"nuttcp -T{seconds} @B"}
    if program == "busybox":
        return {**it, "servers": [("B", "@P listen @B 5103 read")], "client": "head -c @N /dev/zero | busybox nc @B 5103"}
    if program == "ssh":
        return {**it, "files": {"sshd.conf": SSHD}, "servers": [("B", KEYS)],
                "client": f"head -c @N /dev/urandom | {SSH} 'cat > /dev/null'"}
    raise KeyError(program)


def download(rate, program="nginx-curl", to="", limit="", seconds=5, more=""):
    """B sends to A at about this rate; `to` are options of the client, `limit` lines of nginx, `more` options of the sending `ends`."""
    it = {"sender": "B", "octets": max(2_000, int(rate / 8 * seconds))}
    if program == "ends":
        return {"sender": "B", "servers": [("B", f"@P listen @B 5104 send seconds={seconds} {more or 'chunk=16384'}")],
                "client": f"@P connect @B 5104 read {to}"}
    if program == "ftp":
        return {**it, "files": {"vsftpd.conf": VSFTPD}, "client": f"curl -s -o /dev/null {to} ftp://@B/data",
                "servers": [("B", "mkdir -p @D/empty @D/ftp; chmod 555 @D/ftp; truncate -s @N @D/ftp/data; exec vsftpd @D/vsftpd.conf")]}
    if program == "rsync":
        return {**it, "files": {"rsyncd.conf": RSYNCD}, "client": "mkdir @D/got; rsync -q -W --inplace rsync://@B/all/data @D/got/",
                "servers": [("B", "head -c @N /dev/urandom > @D/data; exec rsync --daemon --no-detach --address=@B --config=@D/rsyncd.conf")]}
    if program == "nbd":
        return {**it, "servers": [("B", "exec nbdkit -f -i @B -p 10809 pattern size=@N")], "client": "nbdcopy nbd://@B null:"}
    if program == "ssh":
        return {**it, "files": {"sshd.conf": SSHD}, "servers": [("B", KEYS)], "client": f"{SSH} 'head -c @N /dev/urandom' > /dev/null"}
    if program == "caddy":
        return {**it, "servers": [("B", "truncate -s @N @D/data; HOME=@D exec caddy file-server --root @D --listen @B:8081")],
                "client": f"curl -s -o /dev/null {to} http://@B:8081/data"}
    client = {"curl": f"curl -s -o /dev/null {to} http://@B:8081/data", "wget": f"wget -q -O /dev/null {to} http://@B:8081/data",
              "axel": "axel -q -n 4 -o @D/got http://@B:8081/data"}[program.split("-")[1]]
    return {**it, "files": {"nginx.conf": NGINX.replace("@L", limit)}, "client": client,
            "servers": [("B", "truncate -s @N @D/data && exec nginx -p @D -c @D/nginx.conf")]}


def transfer(d, rate, *programs, **more):
    """A transfer by one of these programs, in turn: `up:NAME` or `down:NAME`."""
    how, program = d.turn("program", *programs).split(":")
    return (upload if how == "up" else download)(rate, program, **more)


def signalled(command, works_ms, stops_ms):
    """The command, stopped and continued by signals."""
    return (f"{command} & p=$!; while sleep {works_ms / 1e3}; do kill -STOP $p 2>/dev/null || break; sleep {stops_ms / 1e3}; "
            "kill -CONT $p 2>/dev/null || break; done; wait $p")


# ---- what must show

def count_of(truth, trial, name, back=False):
    return truth["path"]["counts"]["ba" if (trial["sender"] == "B") != back else "ab"].get(name, 0)


def counted(name, least, back=False):
    return check(f"the path counts {name} of at least {least}{' on the way back' if back else ''}",
                 lambda truth, trial: count_of(truth, trial, name, back) >= least)


def mostly(name):
    return check(f"the path counts twice as many {name} as are lost in its queue, or more",
                 lambda truth, trial: count_of(truth, trial, name) >= 2 * count_of(truth, trial, "queue_full"))


def at_most(name, most):
    return check(f"the path counts {name} of at most {most}", lambda truth, trial: count_of(truth, trial, name) <= most)
