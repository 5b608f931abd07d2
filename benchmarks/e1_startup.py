"""Row E1: `nczarr --version` and `nczarr --help` against an interpreter that does nothing."""

from __future__ import annotations

import sys
from pathlib import Path

from harness import OURS, Side, main, measure

MEASURES = ("cli",)


def row(folder: Path, quick: bool) -> bool:
    """Start-up against `python -c pass`."""
    rounds = 15 if quick else 40
    nothing = Side([sys.executable, "-c", "pass"])

    def compare() -> str:
        text = (folder / "log.txt").read_text()
        assert "nczarr" in text
        return f"last output: {text.splitlines()[0]}"

    done = [
        measure(f"E1, {flag}", 3, nothing, Side([*OURS, flag]), folder, compare, rounds)
        for flag in ("--version", "--help")
    ]
    return all(done)


if __name__ == "__main__":
    main(row)
