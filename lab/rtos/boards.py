"""Parts of trials: boards whose stack is that of a real-time system or a library, and their transfers with a host that runs Linux."""

from hops import GATE
from setups import NGINX

SEED = "FreeRTOS+TCP, wolfIP, Mongoose and lwIP's sockets on boards, drawn for the tenth held-out set"
SEGMENT = 1_460
# FreeRTOS+TCP sends no larger segments to other networks.
REDUCED = 1_400
# Segments of FreeRTOS+TCP's buffers, by name.
WIDE = {"wide": 40, "scaled": 200}


def buffers(stack):
    """The program, and the words that set its buffers: `freertos:SEGMENTS` has windows and buffers of so many."""
    program, _, size = stack.partition(":")
    if not size:
        return program, ""
    segments = WIDE.get(size) or int(size)
    return program, f"receive={segments * SEGMENT} window={segments} send={segments * REDUCED} window_out={segments}"


def board(stack, words, at="B"):
    """A command: the stack `freertos:SEGMENTS`, `freertos-tiny`, `wolfip…`, `mongoose` or `sockets-…` (lwIP) on the TAP interface of this end."""
    peer = "A" if at == "B" else "B"
    program, sizes = buffers(stack)
    return " ".join(f"exec /tmp/stacks/{program} {sizes} {words} ip=@{at} gate={GATE[at]} peer=@{peer} tap=tap0".split())


def sized(sender, rate, seconds):
    return {"sender": sender, "octets": max(2_000, int(rate / 8 * seconds))}


def to_board(rate, stack, program, seconds=2.6, words="", options=""):
    """The host sends to the board: it connects to a program that reads, it puts or posts a file, or the board fetches one from its server."""
    it = sized("A", rate, seconds)
    if program in ("nginx", "busybox", "python"):
        port, start = {"nginx": (8080, "exec nginx -p @D -c @D/nginx.conf"), "busybox": (8084, "exec busybox httpd -f -p @A:8084 -h @D"),
                       "python": (8085, "exec python3 -m http.server -b @A -d @D 8085")}[program]
        return {**it, "files": {"nginx.conf": NGINX.replace("@B", "@A")}, "servers": [("A", f"truncate -s @N @D/data; {start}")], "client_at": "B",
                "client": board(stack, f"role=fetch port={port} {words}")}
    if program in ("put", "post"):
        tool = {"put": f"curl -s -o /dev/null -H Expect: {options} -T @D/image http://@B/image",
                "post": f"wget -q -O /dev/null {options} --post-file=@D/image http://@B/image"}[program]
        return {**it, "servers": [("B", board(stack, f"role=web port=80 {words}"))], "client": f"head -c @N /dev/zero > @D/image; {tool}"}
    port = 5001 if program == "iperf" else 9100
    tool = {"iperf": f"iperf -c @B -n @N {options}", "nc": f"head -c @N /dev/zero | nc -N {options} @B {port}",
            "socat": f"head -c @N /dev/zero | socat -u STDIN TCP:@B:{port}{options}"}[program]
    return {**it, "servers": [("B", board(stack, f"role=sink port={port} {words}"))], "client": tool}


def from_board(rate, stack, program, seconds=2.6, words="", options=""):
    """The board sends to the host: a page of its web server, or what it pushes to a server of the host."""
    it = sized("B", rate, seconds)
    if program.startswith("push-"):
        port = 5001 if program == "push-iperf" else 7007
        server = {"push-iperf": "exec iperf -s", "push-nc": f"exec nc -l {port} > /dev/null",
                  "push-socat": f"exec socat -u TCP-LISTEN:{port},bind=@A{options} OPEN:/dev/null,wronly"}[program]
        return {**it, "servers": [("A", server)], "client_at": "B", "client": board(stack, f"role=push port={port} octets=@N {words}")}
    if program in ("nc", "socat"):
        tool = {"nc": f"timeout 20 nc -d {options} @B 9100 > /dev/null", "socat": f"timeout 20 socat -u TCP:@B:9100{options} OPEN:/dev/null,wronly"}[program]
        return {**it, "servers": [("B", board(stack, f"role=source port=9100 octets=@N {words}"))], "client": tool}
    tool = {"curl": f"curl -s -o /dev/null {options} http://@B/data", "wget": f"wget -q -O /dev/null {options} http://@B/data",
            "busybox": f"busybox wget -q -O /dev/null {options} http://@B/data"}[program]
    return {**it, "servers": [("B", board(stack, f"role=web port=80 octets=@N {words}"))], "client": tool}


def either(d, rate, *ways, seconds=2.6, words=""):
    """`to STACK PROGRAM` or `from STACK PROGRAM`, in turn."""
    way, stack, program = d.turn("way", *ways).split()
    return (to_board if way == "to" else from_board)(rate, stack, program, seconds, words)
