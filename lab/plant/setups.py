"""Lines and programs of the cases."""

import functools

import draw

case = functools.partial(draw.case, count=2)
control = functools.partial(draw.control, count=2)


def queue_for(rate, rtt_ms, factor, least=30_000):
    """Octets of a queue of so many round trips."""
    return int(max(least, factor * rate * rtt_ms / 8000))


def line(draw, rate, rtt_ms, sender=None, queue=1.5, board=None, **more):
    """A trial on a line: its rate (one or a range), its round trip, who sends, hops."""
    rate = draw.log("rate", *rate) if isinstance(rate, tuple) else rate
    rtt_ms = draw.log("rtt_ms", *rtt_ms) if isinstance(rtt_ms, tuple) else rtt_ms
    sender = sender or draw.turn("sender_is", "B", "A")
    octets = queue_for(rate, rtt_ms, queue)
    draw.note(rate=rate, rtt_ms=rtt_ms, sender_is=sender, queue_octets=octets)
    hops = {"P": draw.random.choice(("router", "bridge") if board else ("router", "bridge", "nat")),
            "Q": "bridge" if board else draw.random.choice(("router", "bridge"))}
    trial = {"rate": rate, "rtt_ms": rtt_ms, "sender": sender, "hops": hops, "offload": draw.random.random() < 0.33,
             "data": {"queue_octets": octets}, "acks": {"queue_octets": octets}, "octets": int(rate * 4.5 / 8), **({"board": board} if board else {})}
    for key, value in more.items():
        trial[key] = {**trial[key], **value} if key in ("data", "acks") else value
    return trial


def words(**settings):
    return " ".join(f"{key}={value}" for key, value in settings.items())


def stream(trial, write=None, read=None, times=1, port=5001):
    """A transfer by ends.ml: an upload of A, or a download from B."""
    write, read = write or {}, read or {}
    if trial["sender"] == "A":
        trial["servers"] = [("B", f"@P/ends sink port={port} connections={times} {words(**read)}")]
        trial["client"] = ("A", f"@P/ends push host=@B port={port} octets={{octets}} {words(**write)}")
    else:
        trial["servers"] = [("B", f"@P/ends serve port={port} connections={times} {words(**write)}")]
        trial["client"] = ("A", f"@P/ends fetch host=@B port={port} octets={{octets}} times={times} {words(**read)}")
    trial["port"] = port
    return trial


def page(trial, server="lighttpd", port=8080):
    """A download with curl."""
    words = {"lighttpd": "printf 'server.document-root=\"@D/w\"\\nserver.port=%d\\n' > @D/l.conf; exec lighttpd -D -f @D/l.conf" % port,
             "merecat": f"exec merecat -n -p {port} @D/w"}[server]
    trial["servers"] = [("B", f"mkdir -p @D/w; truncate -s {{octets}} @D/w/f; {words}")]
    trial["client"] = ("A", f"exec curl -sS -o /dev/null http://@B:{port}/f")
    trial["port"], trial["sender"] = port, "B"
    return trial


def more_streams(trial, count, back=False):
    """Transfers beside that of the trial; `back` is the other way."""
    also, servers = list(trial.get("also", ())), list(trial["servers"])
    for i in range(count):
        port = 6001 + i
        up = (trial["sender"] == "A") != back
        if up:
            servers.insert(0, ("B", f"@P/ends sink port={port}"))
            also.append(("A", f"@P/ends push host=@B port={port} octets=400000000 alarm=18", 0.2))
        else:
            servers.insert(0, ("B", f"@P/ends serve port={port}"))
            also.append(("A", f"@P/ends fetch host=@B port={port} octets=400000000 alarm=18", 0.2))
    trial["servers"], trial["also"] = servers, also
    return trial


def questions(trial, asks, answers=None, port=5001):
    """Requests of A, answers of B."""
    both = {key: asks[key] for key in ("size", "reply") if key in asks}
    trial["servers"] = [("B", f"@P/ends answer port={port} connections={9999 if asks.get('each') else 1} {words(**both, **(answers or {}))}")]
    trial["client"] = ("A", f"@P/ends ask host=@B port={port} {words(**asks)}")
    trial["port"] = port
    trial.pop("octets", None)
    return trial


def board_reads(trial, port=5001):
    """A sends to the board."""
    trial["board"]["mode"] = "read"
    trial["board"]["port"] = port
    trial["client"] = ("A", f"@P/ends push host=@B port={port} octets={{octets}}")
    trial["sender"], trial["port"] = "A", port
    return trial


def board_sends(trial, port=5001):
    """The board serves; A reads."""
    trial["board"].update(mode="write", port=port, octets="{octets}", **{"await": 1})
    trial["client"] = ("A", f"@P/ends fetch host=@B port={port} octets={{octets}}")
    trial["sender"], trial["port"] = "B", port
    return trial


def board_pushes(trial, port=5001):
    """The board connects and sends to A."""
    trial["board"].update(mode="send", port=port, octets="{octets}", begins="@D/begin")
    trial["servers"] = [("A", f"@P/ends sink port={port}")]
    trial["sender"], trial["port"], trial["opener"] = "B", port, "B"
    trial["cold"] = 1
    trial["hops"]["P"] = "bridge" if trial["hops"]["P"] == "nat" else trial["hops"]["P"]
    return trial


def without(trial, **changes):
    """The same set-up without the cause."""
    trial["without"] = changes
    return trial


def at(trial, way, **settings):
    """The settings of a way, without those of the cause."""
    return {way: {**trial[way], **settings}}
