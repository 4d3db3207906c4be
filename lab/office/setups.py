"""Lines, servers and clients that trials have in common."""

END = "perl @P/ends.pl"


def ways(sender):
    return ("up", "down") if sender == "A" else ("down", "up")


def shaper(kind, rate, limit, burst=None):
    """Words of tc for a rate in bit/s and a queue in octets."""
    burst = burst or max(1600, int(rate / 8 * 0.001))
    if kind == "tbf":
        return f"tbf rate {rate:.0f}bit burst {burst} limit {max(int(limit), 3200)}"
    return ["qdisc add dev DEV root handle 1: htb default 1 r2q 1", f"class add dev DEV parent 1: classid 1:1 htb rate {rate:.0f}bit burst {burst} cburst {burst} quantum 1600",
            f"qdisc add dev DEV parent 1:1 bfifo limit {max(int(limit), 3200)}"]


def line(draw, rate, rtt, sender, queue_ms=None, back=None, kind=None, asymmetric=False, least=None):
    """A path with a rate in the direction of the data (and `back` in the other), a round trip, and a queue that loses hardly anything."""
    there, back_way = ways(sender)
    kind = kind or draw.turn("shaper", "tbf", "htb", "path")
    queue_ms = queue_ms if queue_ms is not None else max(60, 1.3 * rtt)
    limit = max(rate / 8 * queue_ms / 1e3, least or (24000 if rate > 3e5 else 16000))
    back = back or rate
    share = draw.random.uniform(0.4, 0.6) if asymmetric else 0.5
    path = {"sender": sender, "rate": rate, "rtt_ms": rtt, "snap": 96 if rate > 6e7 else 192, "ttl": draw.random.choice((64, 64, 128, 255)),
            there: {"delay_us": int(rtt * 1e3 * share)}, back_way: {"delay_us": int(rtt * 1e3 * (1 - share))},
            "mid": draw.random.choice(("in", "out")), "fills": draw.random.choice((1, 1, 1, 0)), "nat": draw.random.choice((1, 0, 0)) if sender == "B" else 0}
    if kind == "path":
        path[there].update(rate=int(rate), queue=int(limit))
        path[back_way].update(rate=int(back), queue=int(max(back / 8 * 0.1, 24000)))
    else:
        path["tc"] = {there: shaper(kind, rate, limit), back_way: shaper(kind, back, max(back / 8 * 0.1, 24000))}
    return path


def cable(draw, rate, sender, queue=None, kind=None):
    """No program between the routers: a cable, shaped to `rate` if it is given."""
    there, back = ways(sender)
    path = {"sender": sender, "rate": rate or 1e10, "rtt_ms": 0.2, "direct": 1, "snap": 96, "ttl": draw.random.choice((64, 64, 128)), "fills": 1, "mid": "in"}
    if rate:
        kind = kind or draw.turn("shaper", "htb", "tbf")
        path["tc"] = {there: shaper(kind, rate, queue or max(rate / 8 * 0.02, 60000), max(3100, int(rate / 8 * 0.0005))),
                      back: shaper(kind, rate, max(rate / 8 * 0.02, 60000), max(3100, int(rate / 8 * 0.0005)))}
    return path


def make_file(name):
    return f"mkdir -p @D/www; head -c {{octets}} /dev/urandom > @D/www/{name}; chmod -R a+rX @D/www @D; "


def nginx(more="", http=""):
    conf = ("daemon off; worker_processes 1; pid @D/nginx.pid; error_log /dev/null; user root; events { worker_connections 256; } http { access_log off; keepalive_timeout 65; "
            f"sendfile on; client_max_body_size 0; client_body_temp_path @D/body; {http} server {{{{ listen 8080; root @D/www; {more} }}}} }}")
    return make_file("file.bin") + f"mkdir -p @D/body; echo '{conf}' > @D/nginx.conf; exec nginx -c @D/nginx.conf -e /dev/null"


CURL = "curl -sS -o /dev/null http://@B:8080/file.bin"
WGET = "wget -q -O /dev/null http://@B:8080/file.bin"


def download(draw, octets, more="", program=None):
    client = program or draw.turn("program", "curl", "wget", "fetch")
    if client == "fetch":
        return {"sender": "B", "opens": "A", "server": f"{END} give port=9100 octets={{octets}} forks=1", "ports": [9100], "client": f"{END} fetch host=@B port=9100", "octets": int(octets)}
    return {"sender": "B", "opens": "A", "server": nginx(more), "ports": [8080], "client": CURL if client == "curl" else WGET, "octets": int(octets)}


def upload(draw, octets, program=None):
    kind = program or draw.turn("program", "socat", "nc", "iperf3", "send")
    if kind == "socat":
        server, client = "exec socat -u TCP-LISTEN:7070,reuseaddr,fork OPEN:/dev/null", "head -c {octets} /dev/urandom | socat -u - TCP:@B:7070"
    elif kind == "nc":
        server, client = "nc -l -p 7070 >/dev/null", "head -c {octets} /dev/urandom | nc -N @B 7070"
    elif kind == "iperf3":
        server, client = "exec iperf3 -s -p 7070", "iperf3 -c @B -p 7070 -n {octets}"
    else:
        server, client = f"{END} take port=7070", f"{END} send host=@B port=7070 octets={{octets}}"
    return {"sender": "A", "opens": "A", "server": server, "ports": [7070], "client": client, "octets": int(octets)}


def stream(draw, sender, octets):
    return upload(draw, octets) if sender == "A" else download(draw, octets)


def perl_stream(sender, octets, at_sender="", at_receiver=""):
    """The program of this set at both ends."""
    if sender == "A":
        return {"sender": "A", "opens": "A", "server": f"{END} take port=7070 {at_receiver}", "ports": [7070], "client": f"{END} send host=@B port=7070 octets={{octets}} {at_sender}",
                "octets": int(octets)}
    return {"sender": "B", "opens": "A", "server": f"{END} give port=9100 octets={{octets}} {at_sender}", "ports": [9100], "client": f"{END} fetch host=@B port=9100 {at_receiver}",
            "octets": int(octets)}


def exchange(sender, count, at_client="", at_server="", size=80, answer=300, port=4433):
    return {"sender": sender, "opens": "A", "server": f"{END} answer port={port} size={size} answer={answer} {at_server}", "ports": [port],
            "client": f"{END} ask host=@B port={port} size={size} answer={answer} count={count} {at_client}"}


def to_small(octets, **keys):
    """An upload to the user-space end."""
    return {"sender": "A", "opens": "A", "small": {"port": 7000, "role": 0, **keys}, "client": f"{END} send host=@B port=7000 octets={{octets}} nodelay=1", "octets": int(octets)}


def from_small(octets, **keys):
    """The user-space end sends to who connects."""
    return {"sender": "B", "opens": "A", "small": {"port": 7000, "role": 1, "octets": "{octets}", **keys}, "client": f"{END} fetch host=@B port=7000", "octets": int(octets)}
