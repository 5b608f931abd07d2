"""Compacted reference documents mean to fsspec, with full templates, what they mean to us."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest

from nczarr import refs

REGULAR: dict[str, Any] = {
    f"t/{i}.{j}": [f"memory://run{i:04d}.nc", j * 100 + 7, 100] for i in range(9) for j in range(4)
}
IRREGULAR: dict[str, Any] = {
    f"{name}/{i}": [f"memory://a/file_{1850 + i}.nc", 1000 + i * i * 37 + place * 500, 500]
    for i in range(12)
    for place, name in enumerate(["a", "b'}}"])
}
REPEATED: dict[str, Any] = {f"v{name}": ["memory://bucket/some.nc", ord(name) ** 2, 3] for name in "abc"} | {
    "w": ["memory://{{x}}\n", 0, 1]
}


@pytest.mark.peer
@pytest.mark.parametrize("document", [REGULAR, IRREGULAR, REPEATED])
def test_fsspec_expands_what_we_compact(document: dict[str, Any], peer: Callable[[str], ModuleType]) -> None:
    peer("jinja2")
    reader = peer("fsspec.implementations.reference").ReferenceFileSystem
    compacted = refs.compact(document)
    assert "gen" in compacted or "templates" in compacted
    found = reader(compacted, simple_templates=False).references
    assert {key: list(value) for key, value in found.items()} == document
