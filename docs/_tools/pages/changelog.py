"""The page of the changelog, which the head of every page links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PATH = "reference/changelog.md"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the path and text of the page."""
    yield PATH, (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
