"""Peers as tests ask them: readers and makers that run in environments of their own, corpora, comparisons."""

import os
import sys
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent
"""Folder of the scripts that run as processes of their own."""


def newest_python() -> str:
    """Return the interpreter with the newest release of each peer; skip the test without one, or if it runs here."""
    found = os.environ.get("NCZARR_NEWEST")
    if not found:
        pytest.skip("NCZARR_NEWEST names no interpreter")
    if Path(found).absolute() == Path(sys.executable):
        pytest.skip("NCZARR_NEWEST runs these tests: peers are the newest already")
    return found
