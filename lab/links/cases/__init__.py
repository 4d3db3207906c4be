"""The catalogue, by subject."""

from . import application, healthy, link, path, receiver, sender

CASES = [*path.CASES, *receiver.CASES, *sender.CASES, *application.CASES, *link.CASES, *healthy.CASES]

assert len({it.name for it in CASES}) == len(CASES), "two cases have the same name"
