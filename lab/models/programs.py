"""Parts of trials in the emulated machine: transfers by programs that the earlier sets do not have, by iPXE, and through libslirp."""

import shlex
from pathlib import Path

from hops import GATE
from setups import delays, disturbed_by, line, octets_in, stopped, tbf  # noqa: F401 (the cases take them from here)

HERE = Path(__file__).resolve().parent
SEED = "boot loaders, user-mode networks and block devices, drawn for the twelfth held-out set"
PEER, TALK = f"perl {HERE.parent}/mixed/peer.pl", f"python3 {HERE.parent}/mixed/talk.py"
DATA = "truncate -s @N @D/data; chmod 755 @D"
IMAGE = "head -c @N /dev/urandom > @D/image"
NBD = "--connections=1 --threads=1 --requests=8"
# These programs end when the system has taken their data, which is not when it has arrived.
ARRIVES = "; while ss -tnHO state all exclude time-wait | grep -q ':62[0-9][0-9]'; do sleep 0.1; done"
PORTS = {"webfs": 8810, "mini": 8811}


def sized(sender, rate, seconds):
    return {"sender": sender, "octets": max(2_000, int(rate / 8 * seconds))}


def web(server, address="@B", at="@D", more=""):
    """A web server: webfsd or mini_httpd."""
    port = PORTS[server]
    return {"webfs": f"exec webfsd -F -p {port} -i {address} -r {at} -u root -g root {more}",
            "mini": f"exec mini_httpd -D -p {port} -h {address} -d {at} -u root {more}"}[server]


def fetch(tool, url, options=""):
    return {"curl": f"curl -s -o /dev/null {options} {url}", "wget": f"wget -q -O /dev/null {options} {url}", "axel": f"axel -q -n 1 -o @D/got {options} {url}",
            "tnftp": f"tnftp -V -o /dev/null {options} {url}"}[tool]


def nbd(address, what, filters="", words=""):
    return f"exec nbdkit -f -i {address} -p 10809 {filters} {what} @N {words}"


def up(rate, program, seconds=2.4, send="", read=""):
    """A sends to B at about this rate; `send` and `read` are options of the programs."""
    it = sized("A", rate, seconds)
    if program == "mbuffer":
        return {**it, "servers": [("B", f"exec mbuffer -q -I 6200 -m 600k -s 10k {read} -o /dev/null")],
                "client": f"head -c @N /dev/zero > @D/image; mbuffer -q -m 600k -s 10k {send} -i @D/image -O @B:6200{ARRIVES}"}
    if program == "nbd":
        return {**it, "servers": [("B", nbd("@B", "memory"))], "client": f"{IMAGE}; nbdcopy {NBD} {send} @D/image nbd://@B"}
    if program == "pv":
        return {**it, "servers": [("B", f"exec socat -u TCP-LISTEN:6201,bind=@B{read} OPEN:/dev/null,wronly")],
                "client": f"head -c @N /dev/zero | pv -q {send} | socat -u STDIN TCP:@B:6201{ARRIVES}"}
    raise KeyError(program)


def down(rate, program, seconds=2.4, client="", send=""):
    """B sends to A at about this rate: `nbd`, or a web server and a client of it."""
    it = sized("B", rate, seconds)
    if program == "nbd":
        return {**it, "servers": [("B", nbd("@B", "pattern", send))], "client": f"nbdcopy {NBD} {client} nbd://@B null:"}
    server, tool = program.split("-")
    return {**it, "servers": [("B", f"{DATA}; {web(server)}")], "client": fetch(tool, f"http://@B:{PORTS[server]}/data", client)}


def transfer(d, rate, *programs, **more):
    """A transfer by one of these programs, in turn: `up:NAME` or `down:NAME`."""
    how, program = d.turn("program", *programs).split(":")
    return (up if how == "up" else down)(rate, program, **more)


def rom(url, options="", times=1):
    """iPXE at B fetches; `options` are those of its TAP interface: poll (us), frame (us), window (octets)."""
    words = "".join(f",{it}" for it in options.split())
    return (f"/tmp/stacks/ipxe --net tap,if=tap0,ip=@B,netmask=255.255.255.0,gateway={GATE['B']},filename={url}{words} --settings root-path={times} "
            "< /dev/null > /dev/null 2>&1")


def to_rom(rate, server="webfs", options="", seconds=2.4):
    """The boot ROM at B fetches an image from a web server at A."""
    return {**sized("A", rate, seconds), "device": "B", "client_at": "B", "servers": [("A", f"{DATA}; {web(server, '@A')}")],
            "client": rom(f"http://@A:{PORTS[server]}/data", options)}


def behind(command):
    """A command on the machine whose user network libslirp is: its own namespace is that of the emulated machine."""
    return f"exec nsenter --net=/proc/1/ns/net sh -c {shlex.quote(command)}"


SLIRP = ("sysctl -qw net.ipv4.conf.tap0.proxy_arp=1 net.ipv4.neigh.tap0.proxy_delay=0; "
         "exec nsenter --net=/proc/1/ns/net slirp4netns --netns-type=path --cidr=10.53.4.0/24 --disable-dns /run/netns/emulated-b tap0")


def nat_down(rate, program, seconds=2.4, client=""):
    """A fetches from a program behind libslirp, whose TCP sends."""
    server, tool = program.split("-")
    return {**sized("B", rate, seconds), "device": "B", "servers": [("B", SLIRP), ("B", f"{DATA}; {behind(web(server, '127.0.0.1'))}")],
            "client": fetch(tool, f"http://@B:{PORTS[server]}/data", client)}


def nat_up(rate, program, seconds=2.4, send="", read=""):
    """A sends to a program behind libslirp, whose TCP receives."""
    it = {**sized("A", rate, seconds), "device": "B"}
    if program == "nbd":
        return {**it, "servers": [("B", SLIRP), ("B", behind(nbd("127.0.0.1", "memory")))], "client": f"{IMAGE}; nbdcopy {NBD} {send} @D/image nbd://@B"}
    server = {"mbuffer": f"exec mbuffer -q -I 6200 {read or '-m 600k -s 10k'} -o /dev/null", "perl": f"{PEER} listen 127.0.0.1 6200 read {read}"}[program]
    return {**it, "servers": [("B", SLIRP), ("B", behind(server))], "client": f"{PEER} connect @B 6200 send octets=@N {send}"}


def either(d, rate, *ways, **more):
    """`rom SERVER [OPTION…]`, `nat-down PROGRAM`, `nat-up PROGRAM`, `up PROGRAM`, `down PROGRAM`, in turn."""
    how, program, *options = d.turn("way", *ways).split()
    if how == "rom":
        return to_rom(rate, program, " ".join(options), **more)
    return {"nat-down": nat_down, "nat-up": nat_up, "up": up, "down": down}[how](rate, program, **more)
