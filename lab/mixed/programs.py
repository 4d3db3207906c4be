"""Parts of trials: transfers by programs that the earlier sets do not have, and by boards."""

from pathlib import Path

from hops import GATE
from setups import VSFTPD, line, octets_in, tbf  # noqa: F401

HERE = Path(__file__).resolve().parent
SEED = "links between ordinary programs, boards with smoltcp and NetX Duo, tunnels and middleboxes, drawn for the eleventh held-out set"
PEER, TALK = f"perl {HERE}/peer.pl", f"python3 {HERE}/talk.py"
LIGHTTPD = """server.document-root = "@D"
server.bind = "@B"
server.port = 8800
server.errorlog = "@D/lighttpd.log"
server.modules = ( "mod_cgi" )
cgi.assign = ( ".cgi" => "/bin/sh" )
"""
RSYNCD = "use chroot = no\nreverse lookup = no\nuid = root\ngid = root\n[all]\npath = @D\nread only = no\n"
LISTENS = {"node": 8801, "tcl": 8802, "ruby": 8803}


def sized(sender, rate, seconds):
    return {"sender": sender, "octets": max(2_000, int(rate / 8 * seconds))}


def up(rate, program, seconds=2.4, send="", read=""):
    """A sends to B at about this rate; `send` and `read` are options of the programs."""
    it = sized("A", rate, seconds)
    image = "head -c @N /dev/zero > @D/image"
    if program == "perl":
        return {**it, "servers": [("B", f"{PEER} listen @B 6100 read {read}")], "client": f"{PEER} connect @B 6100 send octets=@N {send}"}
    if program == "rsync":
        return {**it, "files": {"rsyncd.conf": RSYNCD}, "servers": [("B", "mkdir -p @D/in; exec rsync --daemon --no-detach --address=@B --port=8730 --config=@D/rsyncd.conf")],
                "client": f"head -c @N /dev/urandom > @D/image; rsync -q -W --inplace --port=8730 {send} @D/image rsync://@B/all/in/"}
    if program == "redis":
        return {**it, "servers": [("B", "cd @D; exec redis-server --bind @B --port 6379 --save '' --protected-mode no")],
                "client": "perl -e 'my $v = \"v\" x 3000; print \"*3\\r\\n\\$3\\r\\nSET\\r\\n\\$1\\r\\nk\\r\\n\\$3000\\r\\n$v\\r\\n\" for 1 .. @N / 3000' > @D/image; "
                          "redis-cli -h @B --pipe < @D/image"}
    if program == "nc":
        return {**it, "servers": [("B", "exec nc -l @B 6101 > /dev/null")], "client": f"{image}; nc -N @B 6101 < @D/image"}
    if program == "busybox-nc":
        return {**it, "servers": [("B", "exec busybox nc -l -p 6102 -s @B > /dev/null")], "client": f"{image}; timeout 25 busybox nc @B 6102 < @D/image"}
    if program == "streams":
        return {"sender": "A", "servers": [("B", "iperf3 -s")], "client": f"iperf3 -c @B -P 3 -t {round(seconds)}"}
    if program == "nuttcp":
        return {"sender": "A", "servers": [("B", "nuttcp -S --nofork")], "client": f"nuttcp -t -T {round(seconds)} {send} @B"}
    raise KeyError(program)


def down(rate, program, seconds=2.4, client="", send="", read=""):
    """B sends to A at about this rate; `client`, `send` and `read` are options of the programs."""
    it = sized("B", rate, seconds)
    data = "truncate -s @N @D/data"
    if program == "perl":
        return {**it, "servers": [("B", f"{PEER} listen @B 6104 send octets=@N {send}")], "client": f"{PEER} connect @B 6104 read {read}"}
    if program == "tls":
        return {**it, "servers": [("B", f"{data}; cd @D; exec openssl s_server -accept @B:4433 -cert /tmp/tls.crt -key /tmp/tls.key -WWW -quiet")],
                "client": f"curl -s -k -o /dev/null {client} https://@B:4433/data"}
    if program == "ftpget":
        return {**it, "files": {"vsftpd.conf": VSFTPD + send}, "client": "busybox ftpget -u anonymous -p x @B /dev/null data",
                "servers": [("B", "mkdir -p @D/empty @D/ftp; chmod 555 @D/ftp; truncate -s @N @D/ftp/data; exec vsftpd @D/vsftpd.conf")]}
    if program == "rsync":
        return {**it, "files": {"rsyncd.conf": RSYNCD}, "client": f"mkdir -p @D/got; rsync -q -W --inplace --port=8730 {client} rsync://@B/all/data @D/got/",
                "servers": [("B", f"head -c @N /dev/urandom > @D/data; exec rsync --daemon --no-detach --address=@B --port=8730 --config=@D/rsyncd.conf {send}")]}
    if program == "redis":
        return {**it, "servers": [("B", f"cd @D; redis-server --bind @B --port 6379 --save '' --protected-mode no & sleep 0.6; {data}; redis-cli -h @B -x set big < @D/data; wait")],
                "client": "redis-cli -h @B get big > /dev/null"}
    if program == "git":
        return {**it, "servers": [("B", "cd @D; git init -q --bare r.git; mkdir w; cd w; git init -q; head -c @N /dev/urandom > data; git add data; "
                                        "git -c user.name=b -c user.email=b@b commit -q -m image; git push -q ../r.git HEAD:refs/heads/main; "
                                        "git -C ../r.git repack -q -a -d; exec git daemon --listen=@B --port=9418 --base-path=@D --export-all --reuseaddr")],
                "client": "sleep 2; cd @D; git clone -q --bare git://@B/r.git got"}
    if program in ("node", "tcl"):
        port = LISTENS[program]
        start = {"node": f"exec node {HERE}/serve.js @B {port} @D/data", "tcl": f"exec tclsh {HERE}/serve.tcl @B {port} @D/data"}[program]
        tool = {"node": f"curl -s -o /dev/null {client} http://@B:{port}/data", "tcl": f"timeout 25 nc -d @B {port} > /dev/null"}[program]
        return {**it, "servers": [("B", f"{data}; {start}")], "client": tool}
    server, tool = program.split("-")
    start = {"lighttpd": "exec lighttpd -D -f @D/lighttpd.conf", "ruby": "exec ruby -run -e httpd @D -b @B -p 8803"}[server]
    url = f"http://@B:{8800 if server == 'lighttpd' else 8803}/data"
    fetch = {"curl": f"curl -s -o /dev/null {client} {url}", "wget": f"wget -q -O /dev/null {client} {url}"}[tool]
    return {**it, "files": {"lighttpd.conf": LIGHTTPD}, "servers": [("B", f"{data}; {start}")], "client": fetch}


def transfer(d, rate, *programs, **more):
    """A transfer by one of these programs, in turn: `up:NAME` or `down:NAME`."""
    how, program = d.turn("program", *programs).split(":")
    return (up if how == "up" else down)(rate, program, **more)


def board(stack, words, at="B"):
    """A command: a board's stack (with its options behind a comma) on the TAP interface of this end."""
    peer = "A" if at == "B" else "B"
    program, *options = stack.split(",")
    return " ".join(f"exec /tmp/stacks/{program} {' '.join(options)} {words} ip=@{at} gate={GATE[at]} peer=@{peer} tap=tap0".split())


def to_board(rate, stack, program, seconds=2.4, words=""):
    """The host sends to the board: iperf, nc, perl; curl or wget put or post a file; or the board fetches one from lighttpd."""
    it = {**sized("A", rate, seconds), "device": "B"}
    if program == "lighttpd":
        conf = LIGHTTPD.replace("@B", "@A")
        return {**it, "files": {"lighttpd.conf": conf}, "servers": [("A", "truncate -s @N @D/data; exec lighttpd -D -f @D/lighttpd.conf")], "client_at": "B",
                "client": board(stack, f"role=fetch port=8800 {words}")}
    if program in ("put", "post"):
        tool = {"put": "curl -s -o /dev/null -H Expect: -T @D/image http://@B/image", "post": "wget -q -O /dev/null --post-file=@D/image http://@B/image"}[program]
        return {**it, "servers": [("B", board(stack, f"role=web port=80 {words}"))], "client": f"head -c @N /dev/zero > @D/image; {tool}"}
    tool = {"iperf": "iperf -c @B -p 7000 -n @N", "nc": "head -c @N /dev/zero | nc -N @B 7000", "perl": f"{PEER} connect @B 7000 send octets=@N"}[program]
    return {**it, "servers": [("B", board(stack, f"role=sink port=7000 {words}"))], "client": tool}


def from_board(rate, stack, program, seconds=2.4, words=""):
    """The board sends to the host: a page of its web server, what it pushes to perl or nc, or what a client reads."""
    if stack.startswith("netx") and "chunk=" not in words:
        # Each write of NetX Duo is at least a segment.
        words += f" chunk={5 * 1460}"
    it = {**sized("B", rate, seconds), "device": "B"}
    if program in ("push-perl", "push-nc"):
        server = {"push-perl": f"{PEER} listen @A 7007 read", "push-nc": "exec nc -l @A 7007 > /dev/null"}[program]
        return {**it, "servers": [("A", server)], "client_at": "B", "client": board(stack, f"role=push port=7007 octets=@N {words}")}
    if program in ("perl", "nc"):
        tool = {"perl": f"{PEER} connect @B 7001 read", "nc": "timeout 20 nc -d @B 7001 > /dev/null"}[program]
        return {**it, "servers": [("B", board(stack, f"role=source port=7001 octets=@N {words}"))], "client": tool}
    tool = {"curl": "curl -s -o /dev/null http://@B/data", "wget": "wget -q -O /dev/null http://@B/data"}[program]
    return {**it, "servers": [("B", board(stack, f"role=web port=80 octets=@N {words}"))], "client": tool}


def either(d, rate, *ways, seconds=2.4, words=""):
    """`to STACK PROGRAM` or `from STACK PROGRAM`, in turn."""
    way, stack, program = d.turn("way", *ways).split()
    return (to_board if way == "to" else from_board)(rate, stack, program, seconds, words)
