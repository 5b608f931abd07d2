"""Python warnings about content that xarray has no model for."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import xarray

from nczarr.diagnostics.report import DataWarning

_OURS = tuple(f"{folder}{os.sep}" for folder in (Path(__file__).parents[2], Path(xarray.__file__).parent))
"""Folders of code that is not the user's."""


def warn(message: str) -> None:
    """Warn at the line of the user's program that opened the dataset."""
    level, frame = 1, sys._getframe()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_OURS):
        level, frame = level + 1, frame.f_back
    warnings.warn(message, DataWarning, stacklevel=level)
