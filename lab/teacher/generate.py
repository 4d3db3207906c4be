"""Records the captures of lab/teacher: see README.md."""

import argparse
import json
import os
import sys
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, os.environ.get("LAB_COMMON", str(HERE.parent / "common")))

import setups  # noqa: E402
from draw import CASES, Draw  # noqa: E402
import cases_ends  # noqa: E402, F401
import cases_path  # noqa: E402, F401
import cases_small  # noqa: E402, F401
import cases_sound  # noqa: E402, F401


def safely(name, number, out):
    try:
        return setups.record(name, number, CASES[name], Draw("teacher 23", name, number), out)
    except Exception as error:  # A trial that fails is left out, and said.
        return None, f"failed: {type(error).__name__} {error}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--only", nargs="+", default=[])
    parser.add_argument("--first", action="store_true", help="one trial of each case")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    names = [it for it in CASES if not options.only or it in options.only]
    wanted = [(name, number) for number in range(1, 9) for name in names if number <= (1 if options.first else CASES[name]["count"])]
    lines, trials = [], []
    with ProcessPoolExecutor(2) as pool:
        running = {pool.submit(safely, *it, options.out): it for it in wanted}
        for future in as_completed(running):
            name, number = running[future]
            labels, result = future.result()
            print(f"{time.strftime('%H:%M:%S')} {name} {number}: {result}", flush=True)
            lines += labels or []
            trials.append({"case": name, "seed": number, "result": result})
    lines.sort(key=lambda it: it["file"])
    (options.out / "labels.ndjson").write_text("".join(json.dumps(it) + "\n" for it in lines))
    (options.out / "trials.ndjson").write_text("".join(json.dumps(it) + "\n" for it in sorted(trials, key=lambda it: (it["case"], it["seed"]))))


if __name__ == "__main__":
    main()
