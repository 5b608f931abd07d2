"""Many draws, with figures: `python -m tests.differential DRAWS [--seed N] [--newest INTERPRETER] [--report FILE]`.

Every fault that is found is shrunk, printed as a script, and counted by its first line; the search goes on with other
seeds. The exit status is 1 if there was any.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import Counter

from .conversions import KNOWN, DifferenceError
from .search import batch
from .worker import Judge


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.differential")
    parser.add_argument("draws", type=int)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--newest", default=os.environ.get("NCZARR_NEWEST"), help="an interpreter with the newest zarr-python"
    )
    parser.add_argument(
        "--known", action="append", default=[], help="pass over faults that match this regular expression"
    )
    asked = parser.parse_args()
    judges = {"old": Judge(), "hdf5": Judge()} | ({"new": Judge(asked.newest)} if asked.newest else {})
    KNOWN.extend(asked.known)
    counts: Counter[str] = Counter()
    faults: Counter[str] = Counter()
    started, seed = time.monotonic(), asked.seed
    try:
        while counts["draws"] < asked.draws:
            try:
                batch(seed, 25, judges, counts)
            except DifferenceError as error:
                first = str(error).splitlines()[0]
                faults[first] += 1
                print(f"== seed {seed}\n{error}\n", flush=True)
            seed += 1
            if seed % 40 == 0:
                print(f"{counts['draws']} draws, {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
    except KeyboardInterrupt:
        print(f"interrupted at seed {seed}")
    for judge in judges.values():
        judge.close()
    print(f"{counts.pop('draws')} draws in {time.monotonic() - started:.0f} s, {faults.total()} faults")
    for text, count in counts.most_common():
        print(f"{count:8} {text}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
