"""What trials have in common: lines, transfers, devices."""

from checks import check

KIT = "exec @P/kit"
FORWARD = {"A": ("up", "to_b"), "B": ("down", "to_a")}
BACK = {"A": "B", "B": "A"}


def shaper(draw, rate, limit, kind=None):
    """A slow line: `rate` in bit/s, `limit` of its queue in octets. One of four disciplines."""
    kind = kind or draw.random.choice(("tbf", "tbf", "netem", "htb"))
    packets = max(2, round(limit / 1514))
    draw.settings.setdefault("shaper", kind)
    if kind == "netem":
        return f"root netem rate {rate:.0f}bit limit {packets}"
    if kind == "htb":
        return ["root handle 1: htb default 1 r2q 1", f"class parent 1: classid 1:1 htb rate {rate:.0f}bit burst 1600 cburst 1600 quantum 1514", f"parent 1:1 bfifo limit {max(3100, limit):.0f}"]
    return f"root tbf rate {rate:.0f}bit burst 1600 limit {max(3100, limit):.0f}"


def delays(draw, rtt, more_a="", more_b=""):
    """Netem's delays of both ways; `more` goes to the way of A's data or of B's ("_a" is toward A)."""
    share = draw.random.uniform(0.2, 0.8)
    return {"to_a": f"root netem limit 60000 delay {rtt * share * 1000:.0f}us {more_a}".strip(), "to_b": f"root netem limit 60000 delay {rtt * (1 - share) * 1000:.0f}us {more_b}".strip()}


def line(draw, rate, rtt, queue_ms=None, sender="B", back=None, loss="", kind=None, limit=None):
    """A line between site and provider. `queue_ms` of the way of the data, `back`: the rate of the other way, `loss`: netem's words for the data."""
    queue_ms = queue_ms if queue_ms is not None else max(12, 1.2 * rtt)
    limit = limit if limit is not None else max(rate * queue_ms / 8e3, 6 * 1514)
    back = back or rate
    way, fault = FORWARD[sender]
    other = FORWARD[BACK[sender]][0]
    more = {"more_a": loss} if fault == "to_a" else {"more_b": loss}
    found = {way: shaper(draw, rate, limit, kind), other: shaper(draw, back, max(back * 0.1 / 8, 40000), "tbf"), **delays(draw, rtt, **more)}
    return {"rate": rate, "rtt_ms": rtt, "sender": sender, "disciplines": found}


def changed(path, place, words):
    return {"disciplines": {**path["disciplines"], place: words}}


def appended(path, place, words):
    """The path with more words of netem at a place."""
    return changed(path, place, f"{path['disciplines'][place]} {words}")


WEB = {"webfs": ("exec webfsd -F -p 8000 -r @D -l /dev/null", 8000), "mini_httpd": ("exec mini_httpd -D -p 8000 -d @D -u root -l /dev/null", 8000), "weborf": ("exec weborf -p 8000 -b @D", 8000),
       "busybox httpd": ("exec busybox httpd -f -p 8000 -h @D", 8000)}
GET = {"aria2": "aria2c -q -x1 -s1 -d @D -o got --allow-overwrite=true --file-allocation=none http://@B:8000/fw.bin", "wget": "wget -q -O /dev/null http://@B:8000/fw.bin",
       "curl": "curl -sS -o /dev/null http://@B:8000/fw.bin", "axel": "axel -q -n 1 -o @D/got http://@B:8000/fw.bin", "tnftp": "tnftp -o /dev/null http://@B:8000/fw.bin", "busybox wget": "busybox wget -q -O /dev/null http://@B:8000/fw.bin"}


def fetch(draw, octets, server=None, client=None):
    """A device loads a file from a web server."""
    server, client = server or draw.random.choice(tuple(WEB)), client or draw.random.choice(tuple(GET))
    draw.note(server=server, client=client)
    return {"server": WEB[server][0], "ports": [WEB[server][1]], "client": GET[client], "files": {"fw.bin": "{octets}"}, "octets": octets, "client_at": "A", "sender": "B"}


def stream(draw, octets, sender="A", send="", recv="", opens="A"):
    """A program sends to another; `opens` is the end that connects."""
    port = draw.random.choice((554, 2404, 4059, 5001, 8554, 9100, 10001, 20480))
    sends = f"{KIT} do=send octets={{octets}} port={port} {send}"
    reads = f"{KIT} do=recv port={port} {recv}"
    server, client = (sends, reads) if sender != opens else (reads, sends)
    draw.note(program="kit", port=port)
    return {"server": server, "ports": [port], "client": f"{client} to=@{'B' if opens == 'A' else 'A'}", "octets": octets, "client_at": opens, "sender": sender}


def transfer(draw, octets, sender="B"):
    """A file or stream in the direction wanted, by one of several programs."""
    if sender == "B":
        which = draw.turn("transfer", *draw.random.sample(("web", "web ", "stream", "nc"), 4)).strip()
        if which == "web":
            return fetch(draw, octets)
        if which == "nc":
            return {"server": "socat -u OPEN:@D/fw.bin TCP-LISTEN:7070,reuseaddr", "ports": [7070], "client": "nc -d @B 7070 > /dev/null", "files": {"fw.bin": "{octets}"},
                    "octets": octets, "client_at": "A", "sender": "B"}
        return stream(draw, octets, "B", opens=draw.random.choice("AB"))
    which = draw.turn("transfer", *draw.random.sample(("rsync", "netrw", "stream", "nc"), 4))
    base = {"files": {"fw.bin": "{octets}"}, "octets": octets, "client_at": "A", "sender": "A"}
    if which == "rsync":
        return {**base, **RSYNC}
    if which == "netrw":
        return {**base, "server": "exec netread -q 7070 > /dev/null", "ports": [7070], "client": "netwrite -q @B 7070 < @D/fw.bin"}
    if which == "nc":
        return {**base, "server": "socat -u TCP-LISTEN:7070,reuseaddr OPEN:/dev/null", "ports": [7070], "client": "nc -N @B 7070 < @D/fw.bin > /dev/null"}
    return stream(draw, octets, "A", opens="A")


RSYNC = {"server": "printf 'use chroot = no\\n[b]\\npath = @D/in\\nread only = no\\nuid = root\\ngid = root\\n' > @D/r.conf; mkdir -p @D/in; exec rsync --daemon --no-detach --port=873 --config=@D/r.conf --log-file=/dev/null",
         "ports": [873], "client": "rsync -W @D/fw.bin rsync://@B/b/"}


def either(draw):
    return draw.turn("sender", *draw.random.sample("AB", 2))


def fault(sender):
    return FORWARD[sender][1]


def slow(sender):
    return FORWARD[sender][0]


# Checks without linerate.


def dropped(least, *places):
    return check(f"disciplines or filters drop {least} packets or more", lambda truth, trial: sum(truth["path"]["dropped"].get(it, 0) for it in places or truth["path"]["dropped"]) >= least)


def counted(key, least):
    return check(f"nftables counts {least} packets or more ({key})", lambda truth, trial: truth["path"].get(key, 0) >= least)


def kernel(key, least, end=None):
    """A counter of nstat at the sender, or at `end`."""
    return check(f"nstat counts {key} of at least {least}", lambda truth, trial: truth["path"]["kernel"][{"sender": trial["sender"], "receiver": BACK[trial["sender"]]}.get(end, end or trial["sender"])].get(key, 0) >= least)


def waits(milliseconds):
    return check(f"a smoothed round trip of {milliseconds} ms or more above the path's", lambda truth, trial: truth["path"]["socket"].get("rtt_ms", 0) >= trial["rtt_ms"] + milliseconds)


def prompt(milliseconds):
    return check(f"no smoothed round trip is {milliseconds} ms above the path's", lambda truth, trial: truth["path"]["socket"].get("rtt_ms", 0) <= trial["rtt_ms"] + milliseconds)


def opens_after(seconds):
    return check(f"the first payload comes {seconds} s or more after the first packet", lambda truth, trial: max(truth["path"]["opening_s"], truth["path"]["wait_s"]) >= seconds)


def at_most(name, most):
    return check(f"the sender's socket states {name} of at most {most}", lambda truth, trial: truth["path"]["socket"].get(name, 0) <= most)


def said(key, least):
    return check(f"a program counts {key} of at least {least}", lambda truth, trial: any(it.get(key, 0) >= least for it in truth["path"]["programs"]))


def arrives(least=1):
    return check(f"{least} segments with payload or more arrive", lambda truth, trial: truth["segments"] >= least)


def lossless(most=0):
    return check(f"at most {most} segments are lost", lambda truth, trial: truth["lost_segments"] <= most)


def pauses(share=0.5):
    """The pauses that the trial's program made take a share of the time."""
    return check(f"a program's pauses take {share:.0%} of the time or more", lambda truth, trial: max([it.get("waits_s", 0) for it in truth["path"]["programs"]] or [0]) >= share * truth["seconds"] > 0.5)
