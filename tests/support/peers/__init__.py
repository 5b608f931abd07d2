"""Peers as tests ask them: readers and makers that run in environments of their own, corpora, comparisons."""

import os
from pathlib import Path

import pytest

SCRIPTS = Path(__file__).parent
"""Folder of the scripts that run as processes of their own."""


def newest_python() -> str:
    """Return the interpreter with the newest release of each peer; skip the test without one."""
    found = os.environ.get("NCZARR_NEWEST")
    if found is None:
        pytest.skip("NCZARR_NEWEST names no interpreter")
    return found
