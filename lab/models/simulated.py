"""Parts of simulated trials: lines, hosts with ns-3's TCP, boards with CycloneTCP."""

from checks import check

SEED = "boards with CycloneTCP and hosts within a simulated world, drawn for the twelfth held-out set"
TCPS = ("TcpCubic", "TcpLinuxReno", "TcpWestwood", "TcpBbr", "TcpHtcp", "TcpIllinois")
SEGMENT = 1_460
# A board with room for what a path holds, of which a queue of WIDE packets loses nothing.
ROOMY = {"board_sends": 200_000, "board_receives": 200_000, "stack": "full", "ring": 400}

WIDE = 400


def world(sender, boards, rate, rtt, seconds=3.0, goodput=None, queue_ms=None, **words):
    """A trial: the data goes from `sender`; `boards` are the ends with one. The middle link has this rate (bit/s) and round trip (ms)."""
    queue = max(8, round(rate / 8e3 * (queue_ms or max(25, rtt)) / 1514))
    it = {"boards": boards, "rate": int(rate), "delay": round(rtt / 2, 4), "queue": queue, "seconds": 60, "opens": sender, **words}
    if it.get("access", 100e6) < rate * 1.2:
        it["access"] = 1e9
    own = "CycloneTCP" if sender in boards else it.get("tcp", "TcpCubic") if it.get("kind") != "datagrams" else "none"
    return {"sender": sender, "rate": rate, "congestion": own, "octets": max(3_000, int((goodput or rate) / 8 * seconds)), "simulated": it}


def roomy(rate, rtt, queue_ms):
    """Ends with room for what the path holds, which do not overflow its queue themselves. The sender keeps no more than that; the receiver
    grants more, since ns-3's TCP fails where a recovery meets the end of the window."""
    room = max(16 * SEGMENT, min(370_000, int(0.85 * rate / 8e3 * (rtt + queue_ms))))
    return {"board_sends": room, "host_sends": room, "board_receives": 390_000, "stack": "full", "ring": 400, "queue_ms": queue_ms}


def exchange(boards, rate, rtt, server="B", **words):
    """Requests and answers by one connection; the server sends the data."""
    client = "A" if server == "B" else "B"
    it = world(server, boards, rate, rtt, kind="requests", opens=client, **words)
    del it["octets"]
    return it


def without(trial, octets=None, **words):
    """The same without the cause."""
    other = {"simulated": {**trial["simulated"], **words}}
    if octets:
        other["octets"] = int(octets)
    return {**trial, "without": other}


def counted(name, least):
    return check(f"the simulation counts {name} of at least {least}", lambda truth, trial: truth["path"]["counts"][name] >= least)


def counted_at_most(name, most):
    return check(f"the simulation counts {name} of at most {most}", lambda truth, trial: truth["path"]["counts"][name] <= most)


def mostly_damaged():
    return check("twice as many packets are damaged as are lost in the queue, or more",
                 lambda truth, trial: truth["path"]["counts"]["damaged"] >= 2 * truth["path"]["counts"]["queue_full"])


def thought(key):
    """The pauses that were set take 60% of the time."""
    return check("the pauses that were set take 60% of the time",
                 lambda truth, trial: (truth["path"]["counts"]["answers"] - 1) * trial["simulated"][key] / 1e3 >= 0.6 * truth["seconds"] > 1)


def far(d, octets, low=3e6, high=30e6):
    """A rate, and a round trip at which so many octets in flight take a share of it."""
    rate = d.log("rate", low, high)
    rtt = min(290, round(octets * 8e3 / (rate * d.log("share", 0.1, 0.42)), 2))
    d.note(rtt_ms=rtt)
    return rate, rtt
