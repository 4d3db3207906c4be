"""Applications that wait for each other, and connections that do not come about."""

from model import AT_BOTH, LEFT, RECEIVER, RIGHT, SENDER, Case, Draw, Program, Setup, filtered, into, path

CASES: list[Case] = []
case = into(CASES)


def dialogue(answer: str, ask: str) -> list[Program]:
    """The server is at the left end, which sends more."""
    return [Program("left", f"answer {answer}"), Program("right", f"ask to={LEFT} {ask}", awaited=True)]


@case("server-think-time", "server-think-time", "The server takes some 100 ms before each answer.", removable=True)
def server_think_time(draw: Draw) -> Setup:
    think, reply = draw.between((150, 300), (300, 450)), int(draw.between((10e3, 40e3), (40e3, 80e3)))
    wait = draw.cause(f"think_ms={think:.0f} vary=0.2", "think_ms=0") + draw.pick([" busy=0"], [" busy=1", " busy=0"])
    return Setup(dialogue(f"reply={reply} {wait} seed={draw.tag}", f"reply={reply} count=14"),
                 relay=path(draw, 25e6, 150, draw.between((4, 12), (12, 25))), timestamps=not draw.frozen)


@case("server-thinks-at-the-end", "server-think-time",
      "The server takes a second or more before its last answer; trial finding 6.", kinds=AT_BOTH)
def server_thinks_at_the_end(draw: Draw) -> Setup:
    think, count = draw.between((1000, 1400), (1500, 2200)), draw.pick([8], [5, 12])
    return Setup(dialogue(f"reply=20000 delay_last={count} think_ms={think:.0f}", f"reply=20000 count={count}"),
                 relay=path(draw, 25e6, 150, draw.between((4, 12), (12, 25))))


@case("server-thinks-once", "server-think-time", "A download whose server takes a second before the first byte.",
      kinds=AT_BOTH)
def server_thinks_once(draw: Draw) -> Setup:
    think, reply = draw.between((900, 1400), (1800, 3000)), int(draw.between((2e5, 5e5), (5e5, 1e6)))
    return Setup(dialogue(f"reply={reply} think_ms={think:.0f}", f"reply={reply} count=1"),
                 relay=path(draw, 20e6, 150, draw.between((4, 12), (12, 25))))


@case("client-think-time", "client-think-time", "The client waits a while between an answer and its next request.",
      removable=True)
def client_think_time(draw: Draw) -> Setup:
    think, reply = draw.between((200, 400), (400, 700)), int(draw.between((20e3, 60e3), (60e3, 120e3)))
    wait = draw.cause(f"think_ms={think:.0f} vary=0.1 seed={draw.tag}", "")
    return Setup(dialogue(f"reply={reply}", f"reply={reply} count=10 {wait}"),
                 relay=path(draw, 25e6, 150, draw.between((4, 12), (12, 25))))


@case("client-thinks-once", "client-think-time", "The client waits 1.3 s before its last request; trial finding 6.",
      kinds=AT_BOTH)
def client_thinks_once(draw: Draw) -> Setup:
    count = draw.pick([8], [5, 12])
    return Setup(dialogue("reply=30000", f"reply=30000 count={count} last_ms={draw.pick([1300], [1700, 2400])}"),
                 relay=path(draw, 25e6, 150, draw.between((4, 12), (12, 25))))


@case("name-resolution", "name-resolution", "The name server takes some 100 ms before each connection is opened.",
      removable=True)
def name_resolution(draw: Draw) -> Setup:
    delay = draw.cause(draw.between((300, 500), (500, 800)), 1)
    programs = [Program("left", f"serve-names address={LEFT} delay_ms={delay:.0f} seed={draw.tag}"),
                *dialogue("reply=8000", f"reply=8000 count=7 fresh=1 lookup={LEFT}")]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((4, 12), (12, 25))))


@case("name-server-repeats", "name-resolution", "The first query to the name server stays unanswered.")
def name_server_repeats(draw: Draw) -> Setup:
    programs = [Program("left", f"serve-names address={LEFT} ignore={draw.pick([1], [1, 2])} seed={draw.tag}"),
                *dialogue("reply=12000", f"reply=12000 count={draw.pick([4], [3])} fresh=1 lookup={LEFT}")]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((4, 12), (12, 25))))


@case("no-answer", "no-answer", "Nobody has the address: requests to connect stay unanswered; trial finding 5.",
      kinds=SENDER)
def no_answer(draw: Draw) -> Setup:
    nobody = "10.9.0.77"
    left = [f"ip neigh add {nobody} lladdr 02:4c:00:00:00:77 dev eth0"]
    patience = draw.pick([5], [2.5, 8])
    words = f"attempt to={nobody} port={draw.pick([80], [443, 5001])} patience={patience} seconds=6"
    programs = [Program("left", words, awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, 5), left=left, seconds=11)


@case("no-answer-filtered", "no-answer", "A firewall discards the requests without a word.")
def no_answer_filtered(draw: Draw) -> Setup:
    port = draw.pick([5201], [8080, 22])
    right = ["nft add table ip wall", "nft add chain ip wall in { type filter hook input priority 0 ; }",
             f"nft add rule ip wall in tcp dport {port} drop"]
    words = f"attempt to={RIGHT} port={port} patience={draw.pick([4], [7])} seconds=5"
    programs = [Program("left", words, awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((4, 12), (12, 25))), right=right, seconds=10)


@case("refused", "refused", "Nothing listens on the port.")
def refused(draw: Draw) -> Setup:
    port, pause = draw.pick([8883], [502, 9100]), draw.pick([400], [150, 900])
    words = f"attempt to={RIGHT} port={port} pause_ms={pause} seconds=4"
    return Setup([Program("left", words, awaited=True)], relay=path(draw, 20e6, 100, draw.between((4, 12), (12, 25))))


@case("reset-at-once", "refused", "The server accepts each connection and resets it at once.")
def reset_at_once(draw: Draw) -> Setup:
    programs = [Program("right", f"reset after_ms={draw.pick([0], [2, 20])}"),
                Program("left", f"attempt to={RIGHT} pause_ms={draw.pick([300], [700, 150])} seconds=4", awaited=True)]
    return Setup(programs, relay=path(draw, 20e6, 100, draw.between((4, 12), (12, 25))))


@case("syn-lost", "slow-handshake", "The first request to connect is lost; the next follows a second later.",
      kinds=("sender", "snapped-sender"), removable=True)
def syn_lost(draw: Draw) -> Setup:
    words = path(draw, 20e6, 100, draw.between((4, 12), (12, 25)),
                 forward={"drop_syns": draw.cause(draw.pick([1], [1, 2]), 0)})
    programs = [Program("right", "sink"),
                Program("left", f"source to={RIGHT} bytes={draw.pick([3e5], [6e5])}", awaited=True)]
    return Setup(programs, relay=words)


@case("syn-ack-lost", "slow-handshake", "The answer to the request to connect is lost once.", kinds=AT_BOTH,
      removable=True)
def syn_ack_lost(draw: Draw) -> Setup:
    words = path(draw, 20e6, 100, draw.between((4, 12), (12, 25)), forward={"drop_syns": draw.cause(1, 0)})
    size = draw.pick([200e3], [500e3])
    programs = [Program("left", f"source bytes={size}"), Program("right", f"sink to={LEFT}", awaited=True)]
    return Setup(programs, relay=words, timestamps=not draw.frozen)


@case("syn-ack-delayed", "slow-handshake",
      "Each new connection waits some 100 ms for its handshake, on a path of a few milliseconds.", removable=True,
      kinds=RECEIVER)
def syn_ack_delayed(draw: Draw) -> Setup:
    hold = draw.cause(draw.between((250, 450), (450, 900)), 0)
    words = path(draw, 20e6, 100, draw.between((4, 10), (10, 20)), forward={"hold_syn_ms": hold})
    return Setup(dialogue("reply=6000", "reply=6000 count=7 fresh=1"), relay=words)


@case("no-answer-filtered-on-the-way", "no-answer", "The server's port is filtered on the way there.", kinds=SENDER)
def filtered_on_the_way(draw: Draw) -> Setup:
    port = draw.pick([1883], [8443])
    words = f"attempt to={RIGHT} port={port} patience={draw.pick([3.5], [7])} seconds=6"
    programs = [Program("left", words, awaited=True)]
    return Setup(programs, middle=filtered(f"tcp dport {port} drop"), seconds=10)
