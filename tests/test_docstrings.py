"""Docstrings of the public API: NumPy-style sections, and examples that run."""

from __future__ import annotations

import doctest
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.conftest import ROOT

MODULES = [
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in sorted((ROOT / "nczarr").rglob("*.py"))
    if ">>> " in path.read_text(encoding="utf-8")
]

PUBLIC = (
    "nczarr",
    "nczarr.api.builder",
    "nczarr.awkward0",
    "nczarr.ncstream",
    "nczarr.refs",
    "nczarr.zarr3_2019",
    "nczarr.testing.arrays",
    "nczarr.testing.strategies",
)

ACCEPTED = {
    "ES01",  # a summary may be all that is to say
    "EX01",  # methods share the example of their class
    "SA01",  # related names stand in the same page of the reference
    "GL01",  # a summary begins beside the quotes
}


def public_names() -> Iterator[str]:
    """Every function, class and method that a caller may use."""
    for module in PUBLIC:
        loaded = importlib.import_module(module)
        own = [name for name, value in vars(loaded).items() if getattr(value, "__module__", "") == module]
        for name in getattr(loaded, "__all__", [each for each in own if not each.startswith("_")]):
            value = getattr(loaded, name)
            if inspect.isfunction(value) or inspect.isclass(value):
                yield f"{module}.{name}"
            if inspect.isclass(value):
                members = [*value.__mro__[:-1]] if value.__module__.startswith("nczarr.api.builder") else [value]
                for member in dict.fromkeys(each for owner in members for each in vars(owner)):
                    if inspect.isfunction(getattr(value, member)) and not member.startswith("_"):
                        yield f"{module}.{name}.{member}"


def faults(name: str) -> list[str]:
    """Faults that numpydoc finds in a docstring, except for fields and options, which have docstrings of their own."""
    from numpydoc.validate import Validator, validate

    value = Validator._load_obj(name)
    found = []
    for code, text in validate(name)["errors"]:
        has_fields = inspect.isclass(value) and code == "PR01"
        has_options = code in {"PR01", "PR02"} and "**options" in (value.__doc__ or "")
        if code not in ACCEPTED and not has_fields and not has_options:
            found.append(f"{name}: {code} {text}")
    return found


def test_public_docstrings_have_numpy_sections() -> None:
    names = list(public_names())
    assert len(names) > 60
    assert [fault for name in names for fault in faults(name)] == []


@pytest.mark.parametrize("module", MODULES)
def test_examples(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peer: Callable[[str], ModuleType]
) -> None:
    (tmp_path / "samples").symlink_to(ROOT / "samples")
    monkeypatch.chdir(tmp_path)
    loaded = importlib.import_module(module)
    for name in re.findall(r">>> import .*\b(xarray|zarr)\b", inspect.getsource(loaded)):
        peer(name)
    found = doctest.testmod(loaded, optionflags=doctest.ELLIPSIS)
    assert found.attempted > 0
    assert found.failed == 0
