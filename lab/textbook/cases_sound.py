"""Healthy links: full lines, and programs that send what they have."""

from checks import both, check, filled
from draw import control
from setups import JAVA, all_answered, apache, counted, curl, ends, ftp, java_stream, line, on_time, postgres, smb

BIG = {"tcp_rmem": "4096 131072 8388608", "tcp_wmem": "4096 131072 8388608"}


@control("ten-megabit", "A line of 10 Mbit/s is full.", count=2, check=filled(0.88))
def _(draw):
    return {**line(draw, 10e6, draw.log("rtt_ms", 0.8, 6), queue_ms=35), **(apache(draw, curl(), 6000000) if draw.number % 2 else ftp(draw, 6000000))}


@control("hundred-megabit", "A line of 100 Mbit/s is full.", count=2, check=filled(0.85))
def _(draw):
    return {**line(draw, 100e6, draw.log("rtt_ms", 0.5, 3), queue_ms=12), **java_stream(ends(draw), octets=42000000), "sysctl": {"A": BIG, "B": BIG}}


@control("odd-line", "A line of an odd rate is full.", count=3, check=filled(0.85))
def _(draw):
    rate, rtt = draw.log("rate", 2.5e6, 55e6), draw.log("rtt_ms", 3, 28)
    there = draw.turn("program", "ftp", "apache", "java")
    make = {"ftp": lambda: ftp(draw, int(rate / 8 * 5)), "apache": lambda: apache(draw, curl(), int(rate / 8 * 5)),
            "java": lambda: java_stream(ends(draw), octets=int(rate / 8 * 5))}[there]
    return {**line(draw, rate, rtt, queue_ms=max(20, min(1.3 * rtt, 45))), **make()}


@control("file-share", "A file of a Samba server fills the line.", count=1, check=filled(0.8))
def _(draw):
    rate = draw.log("rate", 9e6, 30e6)
    return {**line(draw, rate, draw.log("rtt_ms", 2, 9), queue_ms=30), **smb(int(rate / 8 * 5))}


@control("table-copied", "A table of PostgreSQL is copied over a full line.", count=1, check=filled(0.8))
def _(draw):
    rate = draw.log("rate", 6e6, 20e6)
    rows = int(rate / 8 * 5 / 200)
    return {**line(draw, rate, draw.log("rtt_ms", 3, 15), queue_ms=30),
            **postgres(f"echo 'copy (select repeat(md5(n::text), 6) from generate_series(1, {rows}) n) to stdout' | psql -q -h @B -U postgres -o /dev/null")}


@control("far-and-full", "A way of 200 ms, with buffers for it, is full.", count=2, check=filled(0.75))
def _(draw):
    rate, rtt = draw.log("rate", 6e6, 16e6), draw.log("rtt_ms", 150, 230)
    return {**line(draw, rate, rtt, queue_ms=rtt), **java_stream(ends(draw), octets=int(rate / 8 * 9)), "sysctl": {"A": BIG, "B": BIG}, "least_s": 7,
            "fixed_octets": True, "most_s": 25, "congestion": "cubic"}


@control("four-at-once", "Four downloads share a line.", count=2, check=filled(0.82))
def _(draw):
    rate, rtt = draw.log("rate", 8e6, 30e6), draw.log("rtt_ms", 4, 25)
    fetch = " & ".join([curl()] * 4)
    return {**line(draw, rate, rtt, queue_ms=45), **apache(draw, f"{fetch} & wait", int(rate / 8 * 1.3))}


@control("bbr-line", "BBR fills a line.", count=2, check=filled(0.78))
def _(draw):
    rate, rtt = draw.log("rate", 7e6, 30e6), draw.log("rtt_ms", 8, 40)
    return {**line(draw, rate, rtt, queue_ms=60), **java_stream(ends(draw), octets=int(rate / 8 * 5)), "congestion": "bbr"}


@control("marked-line", "The line's queue marks packets (ECN) instead of dropping them, and stays full.", count=2, check=both(filled(0.82), counted("forward", "marked", 1)))
def _(draw):
    rate, rtt = draw.log("rate", 6e6, 30e6), draw.log("rtt_ms", 5, 22)
    path = line(draw, rate, rtt, queue_ms=150)
    path["forward"].update(markMs=max(8, 0.9 * rtt) if draw.number % 2 else 1e4, targetMs=0 if draw.number % 2 else max(6, 0.4 * rtt))
    return {**path, **java_stream(ends(draw), octets=int(rate / 8 * 5)), "sysctl": {"A": {"tcp_ecn": 1}, "B": {"tcp_ecn": 1}}}


@control("managed-line", "The line's queue drops by the time that packets wait (as CoDel does), and stays full.", count=1, check=filled(0.8))
def _(draw):
    rate, rtt = draw.log("rate", 8e6, 25e6), draw.log("rtt_ms", 6, 20)
    path = line(draw, rate, rtt, queue_ms=200)
    path["forward"]["targetMs"] = max(6, 0.5 * rtt)
    return {**path, **apache(draw, curl(), int(rate / 8 * 5))}


@control("moving-radio", "A cell's rate changes every half second, and is used up.", count=2, check=check("frames wait for up to 30 ms", lambda truth, trial: truth["path"]["forward"]["waitMsMost"] >= 30))
def _(draw):
    rate, rtt = draw.log("rate", 12e6, 30e6), draw.log("rtt_ms", 20, 40)
    path = line(draw, rate, rtt, queue_ms=90)
    path["forward"].update(slowest=draw.log("slowest", 0.35, 0.6), changeEvery=draw.log("change_ms", 300, 900))
    return {**path, **java_stream(ends(draw), octets=int(rate / 8 * 3.5))}


@control("divided-in-slots", "A line that sends in slots is full.", count=1, check=filled(0.8))
def _(draw):
    rate = draw.log("rate", 8e6, 22e6)
    path = line(draw, rate, draw.log("rtt_ms", 8, 20), queue_ms=60)
    path["forward"]["slot"] = draw.log("slot_ms", 3, 7)
    return {**path, **java_stream(ends(draw), octets=int(rate / 8 * 5))}


@control("both-ways", "An upload and a download fill both directions of a line.", count=1, check=filled(0.75))
def _(draw):
    rate = draw.log("rate", 6e6, 14e6)
    path = line(draw, rate, draw.log("rtt_ms", 5, 15), queue_ms=35)
    path["back"]["queueMs"] = 35
    upload = [("B", f"{JAVA} sink port=5301"), ("A", f"sleep 0.7; {JAVA} source host=@B port=5301 octets={int(rate / 8 * 6)}")]
    return {**path, **java_stream("B", octets=int(rate / 8 * 4.5)), "beside": upload, "beside_s": 0.9}


@control("quick-exchanges", "Requests are answered at once, one after the other.", count=2, check=all_answered(100))
def _(draw):
    rtt = draw.log("rtt_ms", 2, 12)
    return {**line(draw, draw.log("rate", 10e6, 60e6), rtt), "sender": "B", "opens": "A", "server": f"{JAVA} answer port=4840 nodelay=1", "ports": [4840],
            "client": f"{JAVA} ask host=@B port=4840 nodelay=1 count={int(4500 / (rtt + 0.5))} size={int(draw.log('size', 30, 400))} answer={int(draw.log('answer', 40, 1200))}"}


@control("register-polls", "A master polls registers at an interval, and each poll is answered at once.", count=2, check=all_answered(12))
def _(draw):
    period = draw.log("period_ms", 120, 480)
    return {**line(draw, draw.log("rate", 5e6, 40e6), draw.log("rtt_ms", 1, 15)), "sender": "B", "opens": "A", "server": f"{JAVA} answer port=502 nodelay=1", "ports": [502],
            "client": f"{JAVA} ask host=@B port=502 nodelay=1 count={int(6000 / period)} size=12 answer={int(draw.log('answer', 12, 250))} period={period}"}


@control("rows-by-key", "Short queries of a database are answered at once.", count=1, check=check("lasts for 1.5 s", lambda truth, trial: truth["seconds"] >= 1.5))
def _(draw):
    rtt = draw.log("rtt_ms", 3, 10)
    return {**line(draw, draw.log("rate", 8e6, 30e6), rtt),
            **postgres(f"for n in $(seq {int(4000 / (rtt + 0.4))}); do echo \"select md5('$n'), $n;\"; done | psql -q -h @B -U postgres -o /dev/null")}


@control("small-pages", "Pages of some kilobytes are fetched over one connection.", count=2, check=check("no loss", lambda truth, trial: not truth["lost_segments"]))
def _(draw):
    count = draw.random.randrange(120, 260)
    page = int(draw.log("page", 1500, 12000))
    there = apache(draw, f"ab -q -k -c 1 -n {count} http://@B/page.html | grep -E 'Complete|Failed'", page, "KeepAlive On\nMaxKeepAliveRequests 0", "page.html")
    return {**line(draw, draw.log("rate", 10e6, 40e6), draw.log("rtt_ms", 8, 22)), **there, "fixed_octets": True}


@control("motion-jpeg", "A camera sends frames at its rate, which the line carries.", count=2, check=on_time(0.95))
def _(draw):
    own, rate = draw.log("own_rate", 1e6, 4e6), draw.log("rate", 12e6, 40e6)
    frame = int(own / 8 / draw.turn("frames_per_s", 25, 12, 30))
    return {**line(draw, rate, draw.log("rtt_ms", 2, 20)), **java_stream(ends(draw), source=f"rate={own} write={frame} nodelay=1", octets=int(own / 8 * 6)), "own_rate": own}


@control("voice-both-ways", "Datagrams of a call, both ways.", count=1, check=on_time(0.9))
def _(draw):
    size = draw.turn("size", 172, 92)
    shoot = "seconds=6 size={0} rate={1}".format(size, size * 8 * 50)
    return {**line(draw, draw.log("rate", 2e6, 20e6), draw.log("rtt_ms", 10, 45)), "sender": "A", "opens": "A", "own_rate": size * 8 * 50,
            "server": f"{JAVA} receive port=4000", "ports": [4000], "first": [("A", f"{JAVA} receive port=4002")],
            "client": f"({JAVA} shoot host=@B port=4000 {shoot}) & wait", "beside": [("B", f"sleep 0.6; {JAVA} shoot host=@A port=4002 {shoot}")], "beside_s": 0.3}


@control("sensor-datagrams", "A sensor sends datagrams at a rate that the line carries.", count=1, check=on_time(0.93))
def _(draw):
    rate = draw.log("rate", 6e6, 20e6)
    own = rate * draw.random.uniform(0.3, 0.7)
    return {**line(draw, rate, draw.log("rtt_ms", 3, 20)), "sender": "A", "opens": "A", "own_rate": own, "server": f"{JAVA} receive port=4000", "ports": [4000],
            "client": f"{JAVA} shoot host=@B port=4000 seconds=6 size={int(draw.log('size', 300, 1300))} rate={own}"}


@control("kept-alive", "A session with a sign of life now and then.", count=1, check=all_answered(5))
def _(draw):
    period = draw.log("period_ms", 900, 1500)
    return {**line(draw, draw.log("rate", 5e6, 40e6), draw.log("rtt_ms", 8, 60)), "sender": "B", "opens": "A", "server": f"{JAVA} answer port=8883 nodelay=1", "ports": [8883],
            "client": f"{JAVA} ask host=@B port=8883 nodelay=1 count=8 size=16 answer=16 period={period}", "most_s": 25}
