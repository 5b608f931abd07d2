"""Our client of DAP2 against pydap's server: models, attributes and values."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from types import ModuleType

import numpy as np
import pytest

import nczarr
from tests.conftest import ROOT


@pytest.fixture(scope="module")
def url(peer: Callable[[str], ModuleType]) -> Iterator[str]:
    """The URL of the dataset of tests/support/peers/serve_pydap.py."""
    peer("pydap.model")
    script = ROOT / "tests" / "support" / "peers" / "serve_pydap.py"
    with subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            yield f"dap2:http://127.0.0.1:{int(server.stdout.readline())}/a"
        finally:
            server.terminate()


def test_values(url: str) -> None:
    found = nczarr.open(url)
    assert list(found.variables) == ["b", "i", "f", "one", "s", "a b", "g", "lat", "lon", "h", "h.lat", "st", "people"]
    assert found["/b"][...].tolist() == [0, 1, 2, 3, 4]
    assert np.array_equal(found["/i"][...], np.arange(-6, 6).reshape(3, 4))
    assert np.array_equal(found["/f"][1, ::2, 1:3], np.linspace(0, 1, 24).reshape(2, 3, 4)[1, ::2, 1:3])
    assert found["/one"][()] == 7
    assert found["/s"][...].tolist() == ["ann", "", "bobby"]
    assert found["/a b"][1:].tolist() == [1, 2]
    assert found["/g"][1, 1:].tolist() == [4, 5]
    assert found["/h"].dimensions == ("/h.lat",)
    assert found["/h.lat"][...].tolist() == [10, 30]
    assert found["/st"][()]["m"].tolist() == [0, 1, 2]
    assert [tuple(each) for each in found["/people"][()]] == [(10, "ann"), (20, "bo")]


def test_attributes(url: str) -> None:
    found = nczarr.open(url)
    assert found.attributes["title"] == "served"
    assert dict(found["/b"].attributes) == {"units": "1"}
    assert dict(found["/g"].attributes) == {"long_name": "grid g"}
