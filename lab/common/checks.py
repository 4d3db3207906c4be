"""What must show of a trial without `linerate`: each check has a text, which its labels repeat."""

import draw


def check(text, holds):
    holds.text = text
    return holds


def both(*checks):
    return check("; ".join(it.text for it in checks), lambda truth, trial: all(it(truth, trial) for it in checks))


def faster(times):
    return check(f"at least {times} times faster without the cause", draw.slower(times))


def missing(least):
    return check(f"at least {least} segments sent and not received", lambda truth, trial: truth["lost_segments"] >= least)


def nothing_missing():
    return check("nothing is lost", lambda truth, trial: truth["lost_segments"] == 0)


def filled(share=0.85):
    return check(f"payload takes at least {share:.0%} of the path's rate", draw.full(share))


def takes_at_most(share):
    return check(f"payload takes at most {share:.0%} of the path's rate",
                 lambda truth, trial: 0 < truth["goodput_bits_per_s"] <= share * trial["rate"])


def socket(name, least):
    return check(f"the sender's socket states {name} of at least {least}",
                 lambda truth, trial: truth["path"]["socket"].get(name, 0) >= least)


def no_payload():
    return check("no payload", lambda truth, trial: not truth["octets"])


def printed(key, least):
    """A program printed a JSON value under `key`, at least so much."""
    return check(f"a program prints {key} of at least {least}",
                 lambda truth, trial: any(it.get(key, 0) >= least for it in truth["path"]["programs"]))


def between(low, high):
    return check(f"lasts {low} to {high} s", lambda truth, trial: low <= truth["seconds"] <= high)


def thinks():
    return check("the think time that was set takes 60% of the time", lambda truth, trial: trial["thinks_s"] >= 0.6 * truth["seconds"] > 1)
