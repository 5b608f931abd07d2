"""`python -m tests.cost [NUMBER] [SEED]`: measure random operations and print the worst ones first.

`--all` measures every operation. A line has the ratio to the expected cost, processor seconds, megabytes of memory,
megabytes read, and the operation.
"""

from __future__ import annotations

import random
import sys
import tempfile
from pathlib import Path

from tests.cost.model import FACTOR, ratio
from tests.cost.operations import Case, every_case, measured


def main(arguments: list[str]) -> int:
    """Measure operations; return 1 if one takes too much or fails."""
    cases = every_case()
    words = [word for word in arguments if not word.isdigit()]
    count = next((int(word) for word in arguments if word.isdigit()), 100)
    seed = words[0] if words and words[0] != "--all" else "0"
    random.Random(seed).shuffle(cases)
    rows: list[tuple[float, str]] = []
    folder = Path(tempfile.gettempdir()) / "nczarr-cost"
    folder.mkdir(exist_ok=True)
    for case in cases if "--all" in words else cases[:count]:
        rows += row(case, folder)
    rows.sort(reverse=True)
    for _, line in rows:
        print(line)
    return int(any(value > FACTOR for value, _ in rows))


def row(case: Case, folder: Path) -> list[tuple[float, str]]:
    """Return the ratio and the line of an operation; none if it makes no sense."""
    work = measured(case, folder)
    if work is None:
        return []
    value = ratio(case, work)
    figures = f"{value:6.2f} {work.seconds:8.2f} s {work.megabytes:6.0f} MB {work.read:8.1f} MB read"
    line = f"{figures}  {case} {work.failure.strip().splitlines()[-1] if work.failure else ''}"
    print(line, file=sys.stderr, flush=True)
    return [(value, line)]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
