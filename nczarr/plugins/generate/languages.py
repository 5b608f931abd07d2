"""Languages of `nczarr generate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

from nczarr.sdk import Checked, Report

Generator = Callable[[Checked, str, Report], Mapping[str, str]]
"""Function from a dataset and its name to texts by file name; reports what the language cannot express."""


class ProgramLanguage(NamedTuple):
    """One language."""

    module: str
    """Module of this package with `generate`."""
    title: str
    """Description of the program."""


LANGUAGES = {
    "c": ProgramLanguage("c", "a program for libnetcdf in C99: types, create, put and get, values"),
    "python-netcdf4": ProgramLanguage("python_netcdf4", "a program for netCDF4-python"),
}
"""Languages by name."""


def load(name: str) -> Generator:
    """Return the generator of a language."""
    generator: Generator = import_module(f"nczarr.plugins.generate.{LANGUAGES[name].module}").generate
    return generator
