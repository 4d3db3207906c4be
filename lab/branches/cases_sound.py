"""Healthy links, among them ones that look odd."""

import checks
from cases_ends import mariadb
from checks import both, check, filled
from draw import control
from setups import RUBY, back, forward, line, ruby_stream, stream, sysctl, wide


def asked(share=0.95):
    return check("requests are answered about as fast as the path allows", lambda truth, trial: any(
        it.get("asked", 0) >= share * trial.get("turns", 1) and it["median_ms"] <= trial["rtt_ms"] + 6 for it in truth["path"]["programs"]))


def steady(least=2.0):
    return check(f"lasts {least} s and loses nothing", lambda truth, trial: truth["seconds"] >= least and truth["lost_segments"] == 0)


@control("full-line", "A transfer fills its line.", count=5, check=filled(0.85))
def full_line(d):
    return stream(d, wide(line(d, (1.5e6, 60e6), (3, 50), seconds=6)))


@control("full-fast-line", "A transfer fills a fast line on a short path.", count=2, check=filled(0.8))
def full_fast_line(d):
    trial = wide(line(d, (120e6, 220e6), (0.6, 4), seconds=3.5))
    trial["merges"] = True
    return stream(d, trial, ("ruby", "ncat", "sftp"))


@control("slow-but-complete", "A slow line that carries all it can: a telemetry modem.", count=2, check=filled(0.85))
def slow_but_complete(d):
    trial = wide(line(d, (0.11e6, 0.4e6), (30, 180), seconds=9))
    # A queue of a fifth of a second and more at most, as such modems have.
    forward(trial, queue_octets=int(max(12_000, trial["rate"] * 0.15 / 8)))
    return stream(d, trial, ("ruby", "ncat", "webrick"))


@control("loss-that-costs-nothing", "A frame in some thousands is lost on a short path, whose line is full anyway.", count=2,
         check=both(filled(0.85), check("something is lost", lambda truth, trial: truth["lost_segments"] >= 1)))
def loss_that_costs_nothing(d):
    trial = wide(line(d, (10e6, 50e6), (3, 12), seconds=7))
    forward(trial, loss={"chance": d.log("lost", 0.0003, 0.0007), "least": 1})
    return stream(d, trial)


@control("several-share", "Several connections of a host share a line that they fill.", count=3, check=filled(0.85))
def several_share(d):
    trial = wide(line(d, (6e6, 60e6), (5, 50), seconds=6))
    n = 3 + d.number
    whole = trial["octets"]
    trial["octets"] = whole // n
    ruby_stream(trial, send=f"times={n}", read=f"times={n}")
    trial["fixed_octets"] = True
    return trial


@control("both-directions", "Both sites copy to the other one at once, and both ways are full.", count=2, check=filled(0.75))
def both_directions(d):
    trial = wide(line(d, (4e6, 40e6), (4, 25), seconds=6, depth=(1.0, 1.6)))
    ruby_stream(trial)
    for it in ("A", "B"):
        if it == trial["sender"]:
            continue
        other = trial["sender"]
        if it == "A":
            trial["servers"].append(("B", f"{RUBY} read listen=1 port=7051"))
            trial["clients"].append(("A", f"{RUBY} send host=@B port=7051 octets=@N"))
        else:
            trial["servers"].append(("B", f"{RUBY} send listen=1 port=7051 octets=@N"))
            trial["clients"].append(("A", f"{RUBY} read host=@B port=7051"))
    trial["ready"].append(("B", 7051))
    return trial


@control("one-radio-channel", "A half-duplex radio: data and acknowledgments share the channel, which is full.", count=2, check=filled(0.75))
def one_radio_channel(d):
    trial = wide(line(d, (3e6, 30e6), (3, 14), seconds=6))
    trial["medium"] = {"half_duplex": True, "turn_us": d.log("turn_us", 20, 60, 2)}
    trial["merges"] = False
    return stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))


@control("policer-never-reached", "The contract allows more than the line carries.", count=2,
         check=both(filled(0.85), check("nothing is policed", lambda truth, trial: truth["path"]["forward"]["policed"] == 0)))
def policer_never_reached(d):
    trial = wide(line(d, (3e6, 30e6), (5, 40), seconds=6))
    forward(trial, police=trial["rate"] * 1.3, police_burst=90_000_000 // 8)
    return stream(d, trial)


@control("even-jitter", "Frames come unevenly but in order; the line is full.", count=1, check=filled(0.8))
def even_jitter(d):
    trial = wide(line(d, (4e6, 25e6), (10, 30), seconds=6, depth=(2, 3.5)))
    forward(trial, jitter_ms=d.log("jitter_ms", 1, 4))
    return stream(d, trial)


@control("grants-of-the-cell", "A cell grants slots of some milliseconds; all of them are used.", count=2, check=filled(0.75))
def grants_of_the_cell(d):
    trial = wide(line(d, (8e6, 30e6), (16, 40), seconds=6, depth=(2, 3.5)))
    slot = d.log("slot_ms", 4, 9)
    each = max(1, int(trial["rate"] * slot / 1e3 / 8 / 1538))
    trial["rate"] = each * 1538 * 8 / slot * 1e3
    forward(trial, rate=trial["rate"] * 3, slot_ms=slot, slot_frames=each)
    trial["merges"] = False
    return stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))


@control("tunnel-that-says-so", "A tunnel has a smaller MTU, and its router says so (ICMP): path MTU discovery works.", count=2, check=filled(0.8))
def tunnel_that_says_so(d):
    trial = wide(line(d, (4e6, 40e6), (5, 40), seconds=6))
    trial["hop_mtu"] = int(d.log("mtu", 1380, 1480))
    trial["hops"] = {"P": "router", "Q": "router"}
    trial["merges"] = False
    return stream(d, trial)


@control("six-of-the-branch", "A full line with IPv6.", count=2, check=filled(0.85))
def six_of_the_branch(d):
    trial = wide(line(d, (2e6, 40e6), (5, 60), seconds=6))
    trial.update(ipv6=True, hops={"P": d.random.choice(("bridge", "router")), "Q": "bridge"})
    ruby_stream(trial)
    trial["servers"] = [(end, it.replace("listen=1", "listen=1 host=::")) for end, it in trial["servers"]]
    return trial


@control("bbr-fills", "BBR fills a line with a moderate queue.", count=2, check=filled(0.8))
def bbr_fills(d):
    trial = wide(line(d, (4e6, 40e6), (10, 50), seconds=6, depth=(2, 3)))
    trial["congestion"] = "bbr"
    return stream(d, trial)


@control("marked-but-full", "A line marks (ECN) instead of dropping and stays full.", count=2, check=both(filled(0.85), check("marks", lambda truth, trial: truth["path"]["forward"]["marked"] >= 3)))
def marked_but_full(d):
    trial = wide(line(d, (8e6, 40e6), (6, 25), seconds=6, depth=(3, 4)))
    sysctl(trial, "AB", tcp_ecn=1)
    forward(trial, mark_ms=trial["rtt_ms"] * 1.4 + 6)
    return stream(d, trial, ("ruby", "ncat", "webrick", "sftp"))


@control("line-changes-rate", "The line's rate changes, and stays full at each.", count=1, check=check("the line is full at both rates", lambda truth, trial: truth["octets"] * 8 >= 0.85 * (
    3 * trial["rate"] + max(0, truth["seconds"] - 3) * trial["then"])))
def line_changes_rate(d):
    trial = wide(line(d, (6e6, 16e6), (8, 30), seconds=5))
    trial["then"] = trial["rate"] * d.log("then", 1.5, 2.2)
    forward(trial, steps=[[3.4, trial["then"]]])
    trial["fixed_octets"] = True
    trial["octets"] = int((trial["rate"] * 3 + trial["then"] * 3) / 8)
    return ruby_stream(trial)


@control("datagrams-below-rate", "Datagrams at an even rate that the line carries: a video stream.", count=2, check=steady())
def datagrams_below_rate(d):
    trial = line(d, (4e6, 40e6), (3, 60), sender="A")
    trial.update(servers=[("B", f"{RUBY} count port=7100")], ready=[("B", 7100)], fixed_octets=True, merges=False,
                 clients=[("A", f"{RUBY} datagrams host=@B port=7100 size={int(d.log('size', 500, 1400))} rate={trial['rate'] * d.log('of_line', 0.3, 0.7)} seconds=5")])
    return trial


@control("calls-both-ways", "Two telephones: fifty datagrams each second each way.", count=2, check=steady())
def calls_both_ways(d):
    trial = line(d, (1e6, 10e6), (8, 90), sender="A")
    words = f"{RUBY} datagrams host=@%s port=%d size={d.turn('size', 172, 72, 52)} tick=0.02 seconds=6 from=%d"
    trial["hops"] = {"P": "router", "Q": "bridge"}
    trial.update(servers=[("B", f"{RUBY} count port=7102"), ("A", f"{RUBY} count port=7103")], ready=[("B", 7102), ("A", 7103)], fixed_octets=True, merges=False,
                 clients=[("A", words % ("B", 7102, 7104)), ("B", words % ("A", 7103, 7105))])
    return trial


@control("queries-on-lan", "A chatty program: many short queries of a database near by (MariaDB).", count=2, check=check("lasts 1.5 s", lambda truth, trial: truth["seconds"] >= 1.5))
def queries_on_lan(d):
    trial = line(d, (80e6, 200e6), (0.3, 0.9), sender="B")
    turns = int(d.log("queries", 2000, 3500))
    return mariadb(trial, int(d.log("row", 40, 900)), 200, f"for i in $(seq 1 {turns}); do echo \"select v from t where k=$((i % 200 + 1));\"; done")


@control("jobs-on-lan", "Jobs are put one by one into a queue near by (beanstalkd).", count=1, check=check("lasts 1.5 s", lambda truth, trial: truth["seconds"] >= 1.5))
def jobs_on_lan(d):
    trial = line(d, (80e6, 200e6), (0.3, 0.8), sender="A")
    size = int(d.log("job", 100, 900))
    program = ("exec ruby -rsocket -e 's = TCPSocket.new(\"@B\", 7130); s.setsockopt(:TCP, Socket::TCP_NODELAY, 1); job = \"put 1 0 60 %d\\r\\n\" + \"j\" * %d + \"\\r\\n\"; 4000.times { s.write(job); s.gets }'")
    trial.update(servers=[("B", "exec beanstalkd -l @B -p 7130")], ready=[("B", 7130)], fixed_octets=True, clients=[("A", program % (size, size))])
    return trial


@control("kept-alive", "Idle connections that say a few octets now and then.", count=2, check=steady(4))
def kept_alive(d):
    trial = line(d, (1e6, 30e6), (4, 80), sender="B")
    tick = d.log("tick_s", 0.8, 1.6)
    trial["turns"] = int(7 / tick)
    trial.update(servers=[("B", f"{RUBY} answer port=7012 ask=12 give=12 nodelay=1")], ready=[("B", 7012)], fixed_octets=True,
                 clients=[("A", f"{RUBY} ask host=@B port=7012 ask=12 give=12 nodelay=1 turns={trial['turns']} tick={tick} times=2")])
    return trial


@control("registers-polled", "A controller asks a device for registers at a fixed cycle, and each answer comes at once.", count=2, check=both(steady(3), asked()))
def registers_polled(d):
    trial = line(d, (4e6, 90e6), (0.6, 9), sender="B")
    cycle = d.log("cycle_s", 0.05, 0.25)
    trial["turns"] = int(6 / cycle)
    give = int(d.log("give", 30, 260))
    trial.update(servers=[("B", f"{RUBY} answer port=7502 ask=12 give={give} nodelay=1")], ready=[("B", 7502)], fixed_octets=True,
                 clients=[("A", f"{RUBY} ask host=@B port=7502 ask=12 give={give} nodelay=1 turns={trial['turns']} tick={cycle}")])
    return trial


@control("keystrokes", "Somebody types over a terminal session, and each key is echoed.", count=1, check=both(steady(3), asked()))
def keystrokes(d):
    trial = line(d, (2e6, 40e6), (6, 60), sender="B")
    tick = d.log("key_s", 0.11, 0.2)
    trial["turns"] = int(6 / tick)
    trial.update(servers=[("B", f"{RUBY} answer port=7022 ask=36 give=36 nodelay=1")], ready=[("B", 7022)], fixed_octets=True,
                 clients=[("A", f"{RUBY} ask host=@B port=7022 ask=36 give=36 nodelay=1 turns={trial['turns']} tick={tick}")])
    return trial


@control("values-published", "Stations publish values to a broker at an even rate (NATS).", count=2, check=steady(3))
def values_published(d):
    trial = line(d, (2e6, 30e6), (3, 50), sender="A")
    size, tick = int(d.log("value", 30, 500)), d.log("tick_s", 0.04, 0.2)
    body = ("exec ruby -rsocket -e 's = TCPSocket.new(\"@B\", 7222); s.setsockopt(:TCP, Socket::TCP_NODELAY, 1); s.gets; s.write(\"CONNECT {\\\"verbose\\\":false}\\r\\n\"); "
            "%d.times { |i| s.write(\"PUB hall.%%d %d\\r\\n\" %% (i %% 7) + \"v\" * %d + \"\\r\\n\"); sleep %f }; s.write(\"PING\\r\\n\"); s.gets; s.close'")
    trial.update(servers=[("B", "exec nats-server -a @B -p 7222 >/dev/null 2>&1")], ready=[("B", 7222)], fixed_octets=True, clients=[("A", body % (int(6 / tick), size, size, tick))])
    return trial


@control("checkout-near-by", "A checkout of many small files from a server near by (Subversion).", count=2, check=check("lasts 0.7 s", lambda truth, trial: truth["seconds"] >= 0.7), kinds=("sender", "receiver", "middle", "late", "truncated", "snapped"))
def checkout_near_by(d):
    trial = line(d, (60e6, 150e6), (0.4, 1.2), sender="B")
    n = int(d.log("files", 2500, 3600))
    trial["before"] = [("B", "mkdir -p @D/w; cd @D/w; for i in $(seq 1 %d); do head -c $((300 + i * 37 %% 2900)) /dev/urandom > f$i; done; cd ..; svnadmin create @D/repo; "
                        "printf '[general]\\nanon-access = write\\n' > @D/repo/conf/svnserve.conf; svn import -q -m x @D/w file://@D/repo/trunk" % n)]
    trial.update(servers=[("B", "exec svnserve -d --foreground -T -r @D --listen-port 7690")], ready=[("B", 7690)], fixed_octets=True, least_s=0.7,
                 clients=[("A", "exec svn export -q --non-interactive svn://@B:7690/repo/trunk @D/out")])
    return trial


@control("page-of-small-files", "A page of small files over connections that stay open, near by.", count=2, check=asked())
def page_of_small_files(d):
    trial = line(d, (50e6, 150e6), (0.8, 3), sender="B")
    give = int(d.log("give", 500, 6000))
    trial["turns"] = 1100
    trial.update(servers=[("B", f"{RUBY} answer port=7012 ask=300 give={give} nodelay=1")], ready=[("B", 7012)], fixed_octets=True,
                 clients=[("A", f"{RUBY} ask host=@B port=7012 ask=300 give={give} nodelay=1 turns=1100 times=3")])
    return trial


@control("alarms", "A server sends events when they happen (long polling).", count=1, check=steady(3))
def alarms(d):
    trial = line(d, (2e6, 30e6), (4, 50), sender="B")
    trial.update(servers=[("B", f"{RUBY} send listen=1 port=7000 octets={int(d.log('event', 80, 400)) * 40} block={int(d.settings['event'])} every={int(d.settings['event'])} pause={d.log('pause_s', 0.12, 0.2)} nodelay=1")],
                 clients=[("A", f"{RUBY} read host=@B port=7000")], ready=[("B", 7000)], fixed_octets=True)
    return trial


@control("depth-of-requests", "Many requests in flight on a long path: the line is full of answers.", count=2, check=filled(0.8))
def depth_of_requests(d):
    trial = wide(line(d, (3e6, 20e6), (20, 70), sender="B"))
    give = 16_000
    turns = int(trial["rate"] * 6 / 8 / give)
    depth = max(4, int(trial["rate"] * trial["rtt_ms"] / 8e3 * 2.5 / give) + 2)
    trial.update(servers=[("B", f"{RUBY} answer port=7012 ask=60 give={give} nodelay=1")], ready=[("B", 7012)], fixed_octets=True,
                 clients=[("A", f"{RUBY} ask host=@B port=7012 ask=60 give={give} nodelay=1 turns={turns} depth={depth}")])
    return trial


@control("some-answers-lost", "A way back loses some acknowledgments, which costs nothing: the line is full.", count=2,
         check=both(filled(0.85), check("acknowledgments are lost", lambda truth, trial: truth["path"]["back"]["lost"] >= 15)))
def some_answers_lost(d):
    trial = wide(line(d, (4e6, 30e6), (4, 30), seconds=6))
    back(trial, loss={"chance": d.log("lost", 0.02, 0.08)})
    return ruby_stream(trial)


@control("rare-copies", "A frame in fifty comes twice, on a line that is full.", count=1, check=both(filled(0.83), check("frames come twice", lambda truth, trial: truth["path"]["forward"]["copied"] >= 10)))
def rare_copies(d):
    trial = wide(line(d, (4e6, 30e6), (4, 30), seconds=6))
    forward(trial, copy=d.log("copies", 0.008, 0.02))
    trial["merges"] = False
    return stream(d, trial)


@control("rarely-overtaken", "A frame in some hundreds is overtaken by a few others, on a line that is full.", count=2,
         check=both(filled(0.85), check("frames are overtaken", lambda truth, trial: truth["path"]["forward"]["overtaken"] >= 5)))
def rarely_overtaken(d):
    trial = wide(line(d, (8e6, 30e6), (8, 30), seconds=6))
    forward(trial, overtake=d.log("overtaken", 0.002, 0.006), overtake_ms=d.log("later_ms", 1.5, 4))
    return stream(d, trial)


@control("blocks-on-lan", "A boot loader near by fetches blocks one after the other: the ends take as long as the path.", count=2, check=steady(1.5))
def blocks_on_lan(d):
    trial = line(d, (60e6, 150e6), (0.3, 0.8), sender="A")
    size = int(d.log("block", 500, 1400))
    trial.update(servers=[("B", f"{RUBY} blocks listen=1 port=7200")], ready=[("B", 7200)], fixed_octets=True, merges=False,
                 clients=[("A", f"{RUBY} blocks host=@B port=7200 size={size} octets={size * 3500}")])
    return trial
