"""Checks of what a path did to packets, by its counters, and names of losses that a capture cannot tell apart."""

from checks import check

LOSS = ["random-loss", "wire-errors"]
SHALLOW = {"late": ["shallow-queue", "queue-overflow", "loss-in-bursts", "random-loss", "congestion-window"],
           "else": ["shallow-queue", "queue-overflow", "loss-in-bursts"]}


def counted(name, least, way="there"):
    return check(f"the path counts {name} of at least {least}{' on the way back' if way == 'back' else ''}",
                 lambda truth, trial: truth["path"]["counts"][way].get(name, 0) >= least)


def mostly_netem():
    return check("netem drops twice as many as the queue, or more",
                 lambda truth, trial: truth["path"]["counts"]["there"]["netem_drops"] >= 2 * truth["path"]["counts"]["there"]["shaper_drops"])


def queued(ms, way="there"):
    return check(f"{ms} ms wait in the queue{' on the way back' if way == 'back' else ''} at least once",
                 lambda truth, trial: truth["path"]["counts"][way]["queue_octets_max"] * 8e3 >= ms * trial[f"{way}_rate"])


def filtered(end, least):
    return check(f"a filter counts at least {least}", lambda truth, trial: truth["path"]["counts"].get(f"filtered_{end}", 0) >= least)
