"""Peers as tests ask them: readers and makers that run in environments of their own, corpora, comparisons."""

from pathlib import Path

SCRIPTS = Path(__file__).parent
"""Folder of the scripts that run as processes of their own."""
