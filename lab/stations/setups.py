"""Parts of trials: lines, programs, and what must show without `linerate`."""

import draw
from checks import check

# The set became the fifth one; the word stays, as another seed draws other trials.
SEED = "stations, drawn for the fourth held-out set"
LIGHTTPD = """server.document-root = "@D"
server.port = 8080
server.bind = "@B"
server.modules = ( "mod_cgi" )
cgi.assign = ( ".cgi" => "" )
@L
"""
REDIS = "redis-server --port 6379 --bind @B --save '' --dir @D --protected-mode no --enable-debug-command yes --daemonize no"
SSHD = """Port 2222
ListenAddress @B
HostKey @D/host_key
AuthorizedKeysFile @D/authorized_keys
StrictModes no
UsePAM no
PermitRootLogin yes
PidFile none
"""
KEYS = ("mkdir -p /run/sshd; ssh-keygen -q -t ed25519 -N '' -f @D/host_key; dropbearkey -t ed25519 -f @D/key > /dev/null 2>&1; "
        "dropbearkey -y -f @D/key | grep ^ssh- > @D/authorized_keys; exec /usr/sbin/sshd -D -e -f @D/sshd.conf")
SSH = "HOME=@D dbclient -y -y -i @D/key -p 2222 root@@B"


# ---- lines

def line(rate, rtt_ms, queue_ms=None, **more):
    """The same rate in both directions; a queue of one round trip, 12 to 25 ms."""
    queue = max(8 * 1514, round(rate / 8e3 * (queue_ms or min(25, max(12, rtt_ms)))))
    return {"rate": rate, "path": {"rate": rate, "queue": queue, "delay": rtt_ms / 2, **more}}


def on_path(trial, **options):
    """The cause is on the path: without it, the path is as it was. `there_` is the way of the data, `back_` the other."""
    named = {key.replace("there_", "there.").replace("back_", "back."): value for key, value in options.items()}
    return {**trial, "path": {**trial["path"], **named}, "without": {"path": trial["path"]}}


def octets_for(rate, seconds=4.5):
    return max(2_000, int(rate / 8 * seconds))


# ---- programs

def upload(rate, program="app", to="", more="", seconds=5):
    """A sends to B at about this rate; `to` are options of the sending program, `more` of the receiving one."""
    octets = octets_for(rate, seconds)
    if program == "app":
        return {"sender": "A", "servers": [("B", f"@P listen @B 5001 read {more}")],
                "client": f"@P connect @B 5001 send seconds={seconds} {to}"}
    if program == "nc":
        return {"sender": "A", "octets": octets, "servers": [("B", "nc.openbsd -l @B 5002 > /dev/null")],
                "client": "head -c @N /dev/zero | nc.openbsd -N @B 5002"}
    if program == "ncat":
        return {"sender": "A", "octets": octets, "servers": [("B", "ncat --recv-only -l @B 5003 > /dev/null")],
                "client": "head -c @N /dev/zero | ncat --send-only @B 5003"}
    if program == "ssh":
        return {"sender": "A", "octets": octets, "files": {"sshd.conf": SSHD}, "servers": [("B", KEYS)],
                "client": f"head -c @N /dev/urandom | {SSH} 'cat > /dev/null'"}
    if program == "iperf-board":
        return {"sender": "A", "board": True, "servers": [], "client": f"iperf -c @B -t {seconds}"}
    raise KeyError(program)


def download(rate, program="lighttpd-curl", to="", limit="", seconds=5, more=""):
    """B sends to A at about this rate; `to` are options of the client, `more` of the sending app."""
    octets = octets_for(rate, seconds)
    if program == "app":
        return {"sender": "B", "servers": [("B", f"@P listen @B 5004 send seconds={seconds} {more}")],
                "client": f"@P connect @B 5004 read {to}"}
    if program == "redis":
        return {"sender": "B", "octets": octets,
                "servers": [("B", f"({REDIS}) & sleep 0.5; head -c @N /dev/zero | redis-cli -h @B -x set big; wait")],
                "client": "redis-cli -h @B --raw get big > /dev/null"}
    if program == "ssh":
        return {"sender": "B", "octets": octets, "files": {"sshd.conf": SSHD}, "servers": [("B", KEYS)],
                "client": f"{SSH} 'head -c @N /dev/urandom' > /dev/null"}
    if program == "board":
        return {"sender": "B", "board": True, "octets": octets, "servers": [], "client": f"curl -s -o /dev/null {to} http://@B/@N"}
    if program == "python-wget":
        servers, files = [("B", "truncate -s @N @D/data && exec python3 -m http.server -b @B -d @D 8080")], {}
    else:
        servers = [("B", "truncate -s @N @D/data && exec lighttpd -D -f @D/lighttpd.conf")]
        files = {"lighttpd.conf": LIGHTTPD.replace("@L", limit)}
    url = "http://@B:8080/data"
    client = {"curl": f"curl -s -o /dev/null {to} {url}", "wget": f"wget -q -O /dev/null {to} {url}",
              "lftp": f"lftp -c 'set net:socket-buffer 0; cat {url}' > /dev/null"}[program.split("-")[1]]
    return {"sender": "B", "octets": octets, "servers": servers, "files": files, "client": client}


def transfer(d, rate, *programs, **more):
    """A transfer by one of these programs, in turn: `up:NAME` or `down:NAME`."""
    how, program = d.turn("program", *programs).split(":")
    return (upload if how == "up" else download)(rate, program, **more)


# ---- what must show

def way(trial, back=False):
    return "ba" if (trial["sender"] == "B") != back else "ab"


def counted(name, least, back=False):
    return check(f"the path counts {name} of at least {least}{' on the way back' if back else ''}",
                 lambda truth, trial: truth["path"]["counts"][way(trial, back)].get(name, 0) >= least)


def at_most(name, most):
    return check(f"the path counts {name} of at most {most}",
                 lambda truth, trial: truth["path"]["counts"][way(trial)].get(name, 0) <= most)


def wide_congestion_window(times):
    def holds(truth, trial):
        it = truth["path"]["socket"]
        return it["cwnd"] * it["mss"] * 8e3 / it["minrtt"] >= times * truth["goodput_bits_per_s"] and it.get("rwnd_limited_share", 0) < 10
    return check(f"the sender's congestion window permits {times} times the goodput; nothing is lost",
                 lambda truth, trial: truth["lost_segments"] == 0 and holds(truth, trial))


def printed(text, key, least):
    """A program printed a JSON value under `key`, at least so much."""
    return check(f"{text}: {key} at least {least}",
                 lambda truth, trial: any(it.get(key, 0) >= (least(trial) if callable(least) else least) for it in truth["path"]["programs"]))


def lasting(least):
    return check(f"lasts at least {least} s", lambda truth, trial: truth["seconds"] >= least)
