"""Our clients of DAP2 and DAP4 against our server: datasets come back, but for what the protocols cannot say."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nczarr.__main__ import main
from tests.conftest import ROOT
from tests.support.peers import exactness
from tests.support.serving import Served, serving

SAMPLES = ROOT / "samples"
REAL = exactness.real_folder()

LOST = {
    "03-compound-vlen.cdl": "an attribute of a compound type",
    "06-strings.cdl": "NIL",
    "09-notation.ncz": "types that no variable has",
}
"""Samples that do not come back whole by DAP4, and what it lacks."""

NAMES = sorted(path.name for path in SAMPLES.iterdir() if path.suffix in (".cdl", ".ncz", ".ncs"))

DAP2_RULES = (
    r"type: (byte \| short|u?int64 \| double)",
    r"type: /\S+ \| (u?byte|u?short|u?int|double|/\w+)",  # base of an enum, bytes of an opaque, name of a structure
    r"(type|group) +only in the first",
    r"type +only in the second",
    r"attribute `[^`]*`: .* \((byte, (\d+)\) \| .* \(short, \2\)|u?int64, (\d+)\) \| .* \(double, \3\))",
    r"attribute `[^`]*`: .* \(string, \d+\) \| .* \(char, \d+\)",
    r"attribute `[^`]*`: .* of `/\w+`.*",  # an enum
    r"attribute `(_Unsigned|_nczarr_left_out)` only in the second: .*",
    r"dimension: unlimited \| fixed",
    r"(dimension|variable) +only in the (first|second)",  # of a group, of a list, of length 0: the test looks closer
    r"dimensions: \((.*)\) \| \(\1, \d+\)",  # the bytes of an opaque
    r"attribute `[^`/]*\.[^`]*` only in the second: .*",  # of a group whose container is not one of a variable
    r"attribute `\w+`: .*NIL.*",
    r"attribute `\w+`: .*\\x00['\"].*",  # NULs at the end
    r".* values? differs?, first at \([^)]*\): NIL \| \"\"",
)
"""Differences of a dataset by DAP2, as the table in docs/how-to/serve.md has them."""


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with serving(SAMPLES) as found:
        yield found


def difference(path: Path, url: str, capfdbinary: pytest.CaptureFixture[bytes]) -> list[str]:
    """The lines of `nczarr diff`, those after the first of a place with its name."""
    main(["diff", str(path), url])
    found = capfdbinary.readouterr()
    assert found.err.strip() == b""
    lines = []
    place = ""
    for line in found.out.decode().splitlines():
        name, words = re.fullmatch(r"(\S*) *(.*)", line).groups()  # type: ignore[union-attr]
        place = name or place
        if words:
            lines.append(f"{place} {words}")
    return lines


def unexpected(lines: list[str]) -> list[str]:
    """Lines that no rule explains. What only one side has must be below a group, or named as left out."""
    told = " ".join(line for line in lines if "_nczarr_left_out" in line)
    found = []
    for line in lines:
        place, _, words = line.partition(" ")
        unnamed = words.endswith("only in the first") and place not in told and "…" not in told
        foreign = words.endswith("only in the second") and "%2f" not in place
        if not any(re.fullmatch(rule, words, re.DOTALL) for rule in DAP2_RULES) or (
            words.startswith("variable") and (unnamed or foreign)
        ):
            found.append(line)
    return found


@pytest.mark.sampled(9)
@pytest.mark.parametrize("name", NAMES)
def test_samples_come_back_by_dap2(served: Served, name: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    lines = difference(SAMPLES / name, f"dap2:{served.url}dap2/{name}", capfdbinary)
    assert unexpected(lines) == []
    assert bool(lines) == (name not in ("01-station.cdl", "04-cmip.cdl"))


@pytest.mark.slow
@pytest.mark.skipif(REAL is None, reason="no real files: `real-files DIR`, and NCZARR_REAL names DIR")
@pytest.mark.parametrize("protocol", ["dap2", "dap4"])
def test_real_files_come_back(protocol: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    assert REAL is not None
    wrong, count = {}, 0
    with serving(REAL) as served:
        for subject in exactness.real(REAL):
            place = subject.path.relative_to(REAL).as_posix()
            lines = difference(subject.path, f"{protocol}:{served.url}{protocol}/{place}", capfdbinary)
            wrong[place] = unexpected(lines) if protocol == "dap2" else lines
            count += 1
    assert {place: lines for place, lines in wrong.items() if lines} == {}
    assert count > 50


@pytest.mark.long
@pytest.mark.sampled(3)
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
