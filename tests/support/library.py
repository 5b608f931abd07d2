"""Libraries that tests import when they use them: collecting all tests would import every peer otherwise."""

from __future__ import annotations

import importlib
from importlib.util import find_spec
from typing import Any

import pytest


class _Library:
    """A module, or a part of one, that is imported at the first use."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # what pytest asks every object of a module for
            raise AttributeError(attribute)
        return getattr(importlib.import_module(self._name), attribute)


def library(name: str, reason: str | None = None) -> Any:
    """Return a library that is imported at its first use; without it the module of tests is skipped visibly."""
    package = name.partition(".")[0]
    if find_spec(package) is None:
        pytest.skip(reason or f"could not import '{name}'", allow_module_level=True)
    return _Library(name)
