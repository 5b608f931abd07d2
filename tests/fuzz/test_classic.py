"""Hostile classic files: cut off at every byte, mutated. Diagnostics with an offset, no traceback, no hang."""

from __future__ import annotations

import random
import struct
from collections.abc import Iterable
from itertools import islice
from pathlib import Path

import pytest

from nczarr.arrays.regions import linear_block, region_of
from nczarr.diagnostics import render
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.phases import dump
from nczarr.registry import find_format
from nczarr.semantics.checked import Checked
from tests.conftest import ROOT
from tests.support.fuzz_limits import limits
from tests.support.proof import PART, PARTS

"""The part of the slow cases that is run: `1/10` is a fixed tenth."""

TEXT = b"""netcdf t {
dimensions:
  time = UNLIMITED ; x = 3 ; y = 2 ;
variables:
  int fixed(y, x) ; fixed:units = "K" ; fixed:range = 1s, 2s, 3s ;
  short record(time, x) ; double scalar ; char text(x, y) ; byte flags(time) ;
  :title = "a title" ;
data:
  fixed = 1, 2, 3, 4, 5, 6 ; record = 1, 2, 3, 4, 5, 6 ; scalar = 3.25 ; text = "ab", "c", "" ; flags = 1, 2 ;
}
"""
LONE = b"netcdf t {\ndimensions: t = UNLIMITED ; x = 3 ;\nvariables: byte v(t, x) ;\ndata: v = 1, 2, 3, 4, 5, 6 ;\n}\n"


def made(text: bytes, kind: str) -> bytes:
    """A small file of a classic kind."""
    report, form = Report(), find_format("netcdf3")
    assert form is not None
    options = Options.of(kind=kind)
    checked = phases.read(Source("t.cdl", text), report, options)
    assert checked is not None
    pieces = phases.text(checked, form, report, options)
    assert pieces is not None
    return b"".join(pieces)


FILES = {
    f"{name} {kind}": made(text, kind)
    for name, text in (("all", TEXT), ("lone", LONE))
    for kind in ("nc3", "nc6", "nc5")
}


LOSSY = Options.of(allow_loss=frozenset({"unread"}))


def judge(data: bytes) -> bool:
    """Whether the bytes were accepted: then every variable has values, however few. Any exception is a finding.

    Values beyond the end of the file are zeros if the loss is accepted, and else an error that is announced.
    """
    with limits():
        report = Report()
        checked = phases.read(Source("t.nc", data), report, Options())
        found = report.list_sorted()
        text = "".join(render.human(found))
        if checked is not None:
            lossy = phases.read(Source("t.nc", data), Report(), LOSSY)
            assert lossy is not None
            look(lossy, len(data), LOSSY)
            refused: Iterable[Diagnostic] = ()
            try:
                look(checked, len(data), Options())
            except CompileError as error:
                refused = error.diagnostics
            assert {each.code for each in refused} <= {"unreadable-chunk"}
            assert not refused or "missing-values" in {each.code for each in found}
    errors = [each for each in found if each.severity == "error"]
    assert (checked is None) == bool(errors), "refused without a reason, or accepted in spite of one"
    assert all(character.isprintable() or character == "\n" for character in text if ord(character) < 0x300)
    for each in found:
        if each.code not in ("unknown-format", "empty-input", "unread"):
            assert each.primary.offset is not None, f"{each.code} has no place"
            assert 0 <= each.primary.offset <= len(data), each
    return checked is not None


def look(checked: Checked, size: int, options: Options) -> None:
    """Print it, 16 MiB of text at most, and read some of the values, those of a corner among them."""
    printed = 0
    for piece in dump(checked, "cdl", Report(), options) or ():
        printed += len(piece)
        if printed > 1 << 24:  # a hundred bytes may tell of a billion values
            break
    for path, parts in checked.parts.items():
        source, shape = parts[""], checked.shapes[path]
        if 0 in shape:
            continue
        block = linear_block(shape, 1000)
        for index in islice(source.list_occupied(block), 20):
            source.read(region_of(index, block, shape))
        source.read(tuple(slice(length - 1, length) for length in shape))
        assert len(source.read_encoded(tuple(0 for _ in shape)) or b"") <= size


@pytest.mark.parametrize("name", FILES)
def test_cut_off_at_every_byte(name: str) -> None:
    data = FILES[name]
    assert judge(data)
    accepted = [length for length in range(len(data)) if judge(data[:length])]
    assert accepted == list(range(accepted[0], len(data))), "behind the header every cut is accepted, with a warning"


NUMBERS = (
    0,
    1,
    2,
    3,
    4,
    7,
    10,
    11,
    12,
    2**16,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32 - 4,
    2**62,
    2**63 - 1,
    2**63,
    2**64 - 1,
)


def mutate(data: bytes, pick: random.Random) -> bytes:
    """One to four random changes: a byte, a number of four or eight bytes, a deletion, a repetition."""
    out = bytearray(data)
    for _ in range(pick.randint(1, 4)):
        at = pick.randrange(len(out) + 1)
        number = pick.choice(NUMBERS)
        match pick.randrange(6):
            case 0 if at < len(out):
                out[at] = pick.randrange(256)
            case 1:
                out[at & ~3 : (at & ~3) + 4] = struct.pack(">I", number & 0xFFFFFFFF)
            case 2:
                out[at & ~3 : (at & ~3) + 8] = struct.pack(">Q", number)
            case 3:
                del out[at : at + pick.randint(1, 20)]
            case 4:
                out[at:at] = out[at : at + pick.randint(1, 40)]
            case _:
                out[at:at] = struct.pack(">I", number & 0xFFFFFFFF)
    return bytes(out)


def run_mutants(seed: int, count: int) -> None:
    pick = random.Random(f"classic {seed}")
    for number in range(count):
        name = pick.choice(list(FILES))
        data = mutate(FILES[name], pick)
        try:
            judge(data)
        except Exception as error:
            pytest.fail(f"mutant {number} of seed {seed}, from {name}: {error!r}\n{data!r}")


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(10))
def test_mutants(seed: int) -> None:
    run_mutants(seed, 200)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100 + PART - 1, 140, PARTS))
def test_more_mutants(seed: int) -> None:
    run_mutants(seed, 500)


@pytest.mark.slow
def test_samples_cut_off_at_every_byte() -> None:
    for path in sorted(Path(ROOT / "samples").glob("*.cdl")):
        text = path.read_bytes()
        report = Report()
        if phases.read(Source(path.name, text), report, Options.of(kind="nc5")) is None:
            continue
        data = made(text, "nc5")
        for length in range(min(len(data), 20_000)):
            judge(data[:length])
