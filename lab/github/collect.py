#!/usr/bin/env python3
"""Collects the captures of a list into a set that `cargo xtask explanations score` reads."""

import argparse
import hashlib
import json
import subprocess
import sys
import tomllib
from pathlib import Path

LISTS = Path(__file__).parent


def repository(folder, name):
    """The bare clone of a repository in this folder, which is made if it is missing."""
    clone = folder / f"{name.replace('/', '+')}.git"
    if not clone.exists():
        url = f"https://github.com/{name}"
        command = ["git", "clone", "--quiet", "--bare", "--filter=blob:none", url, str(clone)]
        subprocess.run(command, check=True)
    return clone


def contents(clone, commit, capture):
    """A capture as it was published. Raises ValueError if it is another one."""
    command = ["git", "-C", str(clone), "show", f"{commit}:{capture['path']}"]
    data = subprocess.run(command, check=True, capture_output=True).stdout
    found = hashlib.sha256(data).hexdigest()
    if found != capture["sha256"]:
        raise ValueError(f"{capture['path']}: SHA-256 is {found}, not {capture['sha256']}")
    return data


def label(capture):
    """The line of labels.ndjson for a capture."""
    is_control = capture["expected"] == ["control"]
    return {
        "file": capture["file"],
        "case": capture["file"].split(".pcap")[0],
        "seed": 0,
        "part": "frozen",
        "kind": capture["kind"],
        "expected": [] if is_control else capture["expected"],
        "control": is_control,
        "reason": capture["reason"],
        "truth": {},
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    names = ["first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"]
    parser.add_argument("list", choices=names, help="the list of captures")
    parser.add_argument("--out", type=Path, required=True, help="folder of the set")
    parser.add_argument("--repositories", type=Path, help="folder of the clones (default: OUT/repositories)")
    args = parser.parse_args()
    folder = args.repositories or args.out / "repositories"
    args.out.mkdir(parents=True, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    with (args.out / "labels.ndjson").open("w") as labels:
        for it in tomllib.loads((LISTS / f"{args.list}.toml").read_text())["repository"]:
            for capture in it["capture"]:
                try:
                    data = contents(repository(folder, it["name"]), it["commit"], capture)
                except (subprocess.CalledProcessError, ValueError) as error:
                    print(f"{it['name']}: {error}", file=sys.stderr)
                    failed += 1
                    continue
                (args.out / capture["file"]).write_bytes(data)
                labels.write(json.dumps(label(capture)) + "\n")
                labels.flush()
    if failed:
        sys.exit(f"{failed} captures are missing")


if __name__ == "__main__":
    main()
