"""Which failures mean that a plugin was removed, and which are failures."""

from __future__ import annotations

import pytest

from tests.support.plugins import find_asked, find_lost

ASKED = {
    "icechunk": [
        "unknown-target: the suffix of `icechunk:r` does not name a format that can be written",
        "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/main/icechunk:/tmp/b.zarr'",
        "FileNotFoundError: [Errno 2] No such file or directory: 'icechunk:b.zarr'",
    ],
    "readers": ["error[undeclarable-convention]: no plugin of this installation makes declarations of `nz`"],
    "refs": ["ImportError: cannot import name 'refs' from 'nczarr' (/tmp/main/nczarr/__init__.py)"],
    "combine": ["ImportError: cannot import name 'append' from 'nczarr.refs' (/tmp/main/nczarr/refs.py)"],
    "xarray": ["TypeError: write takes an open dataset (`nczarr.open`) or an object of xarray, not Dataset"],
}
"""Messages about what only a plugin offers."""

OTHERS = (
    "unknown-target: the suffix of `r.icechunk` does not name a format that can be written",
    "FileNotFoundError: [Errno 2] No such file or directory: '/tmp/icechunk/b.zarr'",
    "error[undeclarable-convention]: variable `/name` of char has no data type with a name; NZ-1.0 wants one",
    "ImportError: cannot import name 'zeros' from 'numpy' (/tmp/numpy/__init__.py)",
    "ImportError: cannot import name 'convert' from 'nczarr' (/tmp/main/nczarr/__init__.py)",
    "TypeError: write takes an open dataset (`nczarr.open`) or an object of xarray, not int",
    "AssertionError: assert 1 == 2",
)
"""Messages of other failures."""

EDITED = "formats that can be edited: netcdf4, zarr3"
LOST = {
    "dmrpp_edit": (f"a\n{EDITED}, dmrpp, zarr3-2019\n", f"a\n{EDITED}, zarr3-2019\n"),
    "icechunk": (f"a\n{EDITED}, icechunk, dmrpp\n", f"a\n{EDITED}, dmrpp\n"),
    "zarr_drafts": (f"a\n{EDITED}, dmrpp, zarr3-2019\n", f"a\n{EDITED}, dmrpp\n"),
    "second_reader": ("a\n2 chunks, verified with zarr-python 3.1.6, 1 B\n", "a\n2 chunks, verified, 1 B\n"),
}
"""Wanted outputs, and those without a plugin."""


@pytest.mark.parametrize(("plugin", "message"), [(name, each) for name, texts in ASKED.items() for each in texts])
def test_a_message_about_what_a_removed_plugin_offers_names_it(plugin: str, message: str) -> None:
    assert find_asked(message, frozenset({plugin})) == {plugin}
    assert find_asked(message, frozenset()) == set()


@pytest.mark.parametrize("message", OTHERS)
def test_other_failures_name_no_plugin(message: str) -> None:
    assert find_asked(message, frozenset(ASKED)) == set()


@pytest.mark.parametrize("plugin", LOST)
def test_an_output_without_the_lines_of_a_removed_plugin_names_it(plugin: str) -> None:
    wanted, found = LOST[plugin]
    assert find_lost(wanted, found, frozenset({plugin})) == {plugin}
    assert find_lost(wanted, found, frozenset()) == set()
    assert find_lost(wanted, found, frozenset({"ncml"})) == set()


def test_help_that_names_a_format_of_a_removed_plugin_names_it() -> None:
    assert find_lost("help: write `zarr3-2019`", "help: none has it", frozenset({"zarr_drafts"})) == {"zarr_drafts"}
    assert find_lost("help: write `zarr3`", "help: none has it", frozenset({"zarr_drafts"})) == set()


@pytest.mark.parametrize("plugin", LOST)
def test_an_output_that_is_otherwise_too_names_no_plugin(plugin: str) -> None:
    wanted, found = LOST[plugin]
    for changed in (found.replace("a\n", "b\n"), f"{found}b\n", found.replace("a\n", ""), f"b\n{found}"):
        assert find_lost(wanted, changed, frozenset({plugin})) == set()
