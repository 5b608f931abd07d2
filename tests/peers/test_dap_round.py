"""Our client of DAP4 against our server: the samples come back, but for what DAP4 cannot say."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nczarr.__main__ import main
from tests.conftest import ROOT
from tests.support.serving import Served, serving

SAMPLES = ROOT / "samples"

LOST = {
    "03-compound-vlen.cdl": "an attribute of a compound type",
    "06-strings.cdl": "NIL",
    "09-notation.ncz": "types that no variable has",
}
"""Samples that do not come back whole, and what DAP4 lacks."""

NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.suffix in (".cdl", ".ncz", ".ncs"))


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(SAMPLES) as found:
        yield found


@pytest.mark.parametrize("name", NAMES)
def test_samples_come_back(served: Served, name: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    status = main(["diff", str(SAMPLES / name), f"dap4:{served.url.rstrip('/')}/dap4/{name}"])
    found = capfdbinary.readouterr().out
    if name not in LOST:
        assert (status, found) == (0, b"")
        return
    assert status == 1
    expected = {
        "03-compound-vlen.cdl": (b"_nczarr_left_out", b"attribute `at` only in the first"),
        "06-strings.cdl": (b'NIL | ""',),
        "09-notation.ncz": (b"/key    type only in the first", b"/track  type only in the first"),
    }[name]
    lines = [line for line in found.splitlines() if line.strip()]
    assert len(lines) == len(expected), found
    assert all(each in line for each, line in zip(expected, lines, strict=True)), found
