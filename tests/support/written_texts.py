"""Texts of CDL and the notation: samples, goldens, and those of the shared data."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import ROOT, shared_folder


def list_texts(longest: int) -> list[Path]:
    """Return the texts of at most so many bytes."""
    folder = shared_folder()
    paths = [*(ROOT / "samples").glob("*.cdl"), *(ROOT / "tests").rglob("*.ncz"), *(ROOT / "tests").rglob("*.cdl")]
    if folder is not None:
        paths += (folder / "data").rglob("*.cdl")
    return sorted(path for path in paths if path.stat().st_size <= longest)
