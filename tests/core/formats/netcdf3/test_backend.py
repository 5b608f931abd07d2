from __future__ import annotations

import itertools
import math
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nczarr.arrays.sources.memory import GivenValues, Runs
from nczarr.arrays.sources.source import Layout, Parts
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Dimension, Kind, Variable
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.netcdf3 import backend as data
from nczarr.formats.netcdf3.backend import header
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plan.planner import plan_target
from nczarr.registry import find_format
from nczarr.semantics.checked import Checked
from nczarr.semantics.classic_layout import CLASSIC_KINDS, check_sizes, lay_out
from nczarr.semantics.kinds import choose
from tests.conftest import ROOT, Ran
from tests.support.chunked import Chunked
from tests.support.making import checked


def pieces(dataset: Checked, kind: Kind = "nc3") -> Any:
    report, form = Report(), find_format("netcdf3")
    assert form is not None
    options = Options.of(kind=kind, max_size=2**62)
    planned = plan_target(dataset, form, options, report)
    assert planned is not None, [found.message for found in report.list_sorted()]
    return phases.text(dataset, form, Report(), options)


def simple(variables: Mapping[str, tuple[str, tuple[int, ...]]], records: int | None = None) -> Dataset:
    """Variables of (type, shape); with `records` the first axis of a variable named `r…` is unlimited."""
    lengths = sorted({size for name, (_, shape) in variables.items() for size in shape[name.startswith("r") :]})
    dimensions = [Dimension(name=f"d{size}", size=size) for size in lengths]
    if records is not None:
        dimensions.insert(0, Dimension(name="t", size=records, unlimited=True))
    made = tuple(
        Variable(
            name=name,
            type=type_name,
            dimensions=tuple(
                "/t" if name.startswith("r") and not axis else f"/d{size}" for axis, size in enumerate(shape)
            ),
        )
        for name, (type_name, shape) in variables.items()
    )
    return Dataset(name="t", dimensions=tuple(dimensions), variables=made)


def naive(dataset: Checked, kind: Kind) -> bytes:
    """The file made the plain way: whole arrays, whole records."""
    layout = lay_out(dataset, kind)
    out = header(dataset, kind, layout)
    parts: dict[str, Any] = {}
    for path, variable in dataset.variables.items():
        fill = dataset.fills[path]
        assert fill is not None
        assert isinstance(fill.data, bytes)
        source = dataset.parts.get(path, {}).get("")
        shape = dataset.shapes[path]
        dtype = np.dtype(f"V{ATOMIC[variable.type].size}")
        values = (
            source.read(tuple(slice(0, size) for size in shape)) if source is not None else
            np.full(shape, np.frombuffer(fill.data, dtype)[0])
        )  # fmt: skip
        raw = np.ascontiguousarray(values).view(np.uint8).reshape(-1, dtype.itemsize)[:, ::-1]
        parts[path] = raw.tobytes(), (fill.data[::-1] * 4)

    def padded(raw: bytes, fill: bytes) -> bytes:
        return raw + fill[: -len(raw) % 4]

    growing = [path for path, place in layout.places.items() if place.record]
    for path in dataset.variables:
        if path not in growing:
            out += padded(*parts[path])
    for number in range(layout.records):
        for path in growing:
            raw, fill = parts[path]
            size = layout.places[path].size
            record = raw[number * size : (number + 1) * size]
            out += padded(record, fill) if len(growing) > 1 else record
    return out


TYPES = ("byte", "char", "short", "int", "double", "ushort", "uint64")


@st.composite
def sparse(draw: st.DrawFn) -> Checked:
    """Fixed and record variables of which runs are given here and there."""
    records = draw(st.integers(0, 6))
    variables: dict[str, tuple[str, tuple[int, ...]]] = {}
    for number in range(draw(st.integers(0, 4))):
        record = draw(st.booleans())
        inner = tuple(draw(st.lists(st.integers(1, 4), max_size=3)))
        name = f"{'r' if record else 'f'}{number}"
        variables[name] = draw(st.sampled_from(TYPES)), ((records, *inner) if record else inner)
    dataset = simple(variables, records)
    values: dict[str, Any] = {}
    for name, (type_name, shape) in variables.items():
        if draw(st.booleans()):
            values[f"/{name}"] = runs(draw, type_name, shape)
    return checked(dataset, values)


def runs(draw: st.DrawFn, type_name: str, shape: tuple[int, ...]) -> Runs:
    total = math.prod(shape)
    bounds = sorted(draw(st.lists(st.integers(0, total), max_size=6, unique=True)))
    pairs = list(itertools.pairwise(bounds))[::2]
    offsets = [0, *itertools.accumulate(stop - start for start, stop in pairs)]
    width = ATOMIC[type_name].size
    code = {"char": "|S1"}.get(type_name) or np.dtype(ATOMIC[type_name].code).newbyteorder("<").str
    raw = bytes((7 * place) % 251 + 1 for place in range(offsets[-1] * width))
    fill = draw(st.sampled_from([bytes(width), bytes(range(1, width + 1))]))
    return Runs(
        Layout(code, shape, shape, (), fill),
        [start for start, _ in pairs],
        offsets,
        GivenValues(code, np.frombuffer(raw, code)),
    )


@pytest.mark.slow
@pytest.mark.parametrize("piece", [8, 24, 100, 1 << 22])
@given(sparse())
def test_the_stream_is_the_file_made_the_plain_way(piece: int, dataset: Checked) -> None:
    usual, data.PIECE = data.PIECE, piece
    try:
        made = list(pieces(dataset, "nc5"))
    finally:
        data.PIECE = usual
    wanted = naive(with_fills(dataset), "nc5")
    assert b"".join(made) == wanted


@pytest.mark.slow
@pytest.mark.parametrize("piece", [8, 24, 100, 1 << 22])
@pytest.mark.parametrize("held", [1, 100, 1 << 22])
@given(sparse(), st.data())
def test_chunks_of_any_shape_are_decoded_once(held: int, piece: int, dataset: Checked, choices: st.DataObject) -> None:
    parts: dict[str, Parts] = {}
    for path, found in dataset.parts.items():
        chunks = tuple(choices.draw(st.integers(1, max(1, size))) for size in found[""].layout.shape)
        parts[path] = {"": Chunked(found[""], chunks)}
    usual = data.PIECE, data.HELD
    data.PIECE, data.HELD = piece, held
    try:
        made = b"".join(pieces(dataset._replace(parts=parts), "nc5"))
    finally:
        data.PIECE, data.HELD = usual
    assert made == naive(with_fills(dataset), "nc5")
    for path, found in parts.items():
        source = found[""]
        assert isinstance(source, Chunked)
        if held >= 100 and 0 not in source.layout.shape:
            assert set(source.decoded.values()) <= {1}, (path, source.layout)


def with_fills(dataset: Checked) -> Checked:
    """The fill of a source is that of its variable."""
    fills = dict(dataset.fills)
    for path, parts in dataset.parts.items():
        fill = parts[""].layout.fill
        fills[path] = Constant(type=dataset.variables[path].type, count=1, data=fill or b"")
    return dataset._replace(fills=fills)


def test_every_bit_of_a_nan_is_kept() -> None:
    payloads = np.array([0x7F800001, 0xFFC12345, 0x7FBFFFFF, 0x80000000], "<u4")
    doubles = np.array([0x7FF0000000000001, 0xFFF8123456789ABC, 0x8000000000000000], "<u8")
    dataset = simple({"f": ("float", (4,)), "g": ("double", (3,)), "r": ("float", (4,)), "s": ("byte", ())}, 4)
    values = {"/f": payloads.view("<f4"), "/g": doubles.view("<f8"), "/r": payloads.view("<f4")}
    sources = {path: runs_of(array) for path, array in values.items()}
    made = b"".join(pieces(checked(dataset, sources)))
    swapped = payloads.astype(">u4").tobytes()
    assert made.count(swapped) == 2
    assert doubles.astype(">u8").tobytes() in made


def runs_of(values: Any) -> Runs:
    fill = b"\x01\x00\xa0\x7f"[: values.itemsize].ljust(values.itemsize, b"\0")
    return Runs(
        Layout(values.dtype.str, values.shape, values.shape, (), fill),
        [0],
        [0, values.size],
        GivenValues(values.dtype.str, values),
    )


def test_fill_of_any_size_is_repeated_pieces() -> None:
    dataset = checked(simple({"a": ("byte", (7, 2**30)), "r": ("short", (3, 10**9)), "s": ("byte", (3,))}, 3))
    made = pieces(dataset, "nc5")
    next(made)
    seen = set()
    for piece in itertools.islice(made, 1000):
        seen.add(id(piece))
        assert len(piece) <= data.PIECE
    assert len(seen) == 1


def test_a_few_values_far_apart() -> None:
    """The first value and one of the last of ten billion: only their slabs are read."""
    size = 10**10
    far = Runs(
        Layout("|i1", (10, 10**9), (10, 10**9), (), b"\x05"),
        [0, size - 2],
        [0, 1, 2],
        GivenValues("|i1", np.array([1, 2], "|i1")),
    )
    dataset = simple({"v": ("byte", (10, 10**9))})
    made = pieces(checked(dataset, {"/v": far}), "nc5")
    length, first, last = 0, b"", b""
    head = next(made)
    for piece in made:
        length += len(piece)
        first = first or piece[:2]
        last = piece[-4:] if len(piece) >= 4 else last + piece
    assert (length, first, last) == (size, b"\x01\x05", b"\x05\x05\x02\x05")
    assert len(head) == lay_out(checked(dataset), "nc5").header


def test_records_lie_side_by_side_and_a_lone_one_without_gaps() -> None:
    two = simple({"ra": ("byte", (2, 3)), "rb": ("short", (2,))}, 2)
    values = {"/ra": np.arange(6, dtype="i1").reshape(2, 3), "/rb": np.array([258, 259], "<i2")}
    made = b"".join(pieces(checked(two, values)))
    assert made.endswith(bytes.fromhex("00010281 01028001 03040581 01038001"))
    one = checked(simple({"ra": ("byte", (2, 3))}, 2), {"/ra": values["/ra"]})
    assert b"".join(pieces(one)).endswith(bytes(range(6)))
    assert lay_out(one, "nc3").places["/ra"].padded == 4


@pytest.mark.parametrize("piece", [4, 16, 1 << 22])
def test_a_lone_record_variable_of_any_size_has_no_gaps(piece: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data, "PIECE", piece)
    values = np.arange(18, dtype="i1").reshape(2, 3, 3)
    dataset = checked(simple({"f": ("byte", ()), "r": ("byte", (2, 3, 3))}, 2), {"/f": 7, "/r": values})
    assert b"".join(pieces(dataset)).endswith(bytes.fromhex("07818181") + bytes(range(18)))


@pytest.mark.slow
def test_a_header_alone_needs_no_numpy(tmp_path: Any) -> None:
    source = tmp_path / "t.cdl"
    source.write_text(
        'netcdf t { dimensions: x = 3 ; t = UNLIMITED ; variables: short v(t, x) ; v:a = 1., 2. ; :b = "c" ; }'
    )
    script = (
        "import sys; from nczarr.__main__ import main\n"
        f"status = main(['compile', {str(source)!r}, '-o', {str(tmp_path / 't.nc')!r}, '--kind', 'nc3'])\n"
        "assert 'numpy' not in sys.modules; sys.exit(status)"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=ROOT)
    assert (tmp_path / "t.nc").read_bytes()[:4] == b"CDF\x01"


def test_a_file_goes_to_a_pipe(nczarr_command: Any) -> None:
    text = b"netcdf t { dimensions: x = 2 ; variables: int v(x) ; data: v = 1, 2 ; }"
    ran: Ran = nczarr_command("compile", "-", "--to", "netcdf3", "--kind", "nc6", "-o", "-", stdin=text)
    assert (ran.status, ran.out[:4], ran.out[-8:]) == (0, b"CDF\x02", b"\0\0\0\x01\0\0\0\x02")


def test_anonymous_dimensions_get_names() -> None:
    dataset = Dataset(name="t", variables=(Variable(name="v", type="byte", dimensions=(3, 4, 3)),))
    made = b"".join(pieces(checked(dataset)))
    assert made.count(b"_Anonymous_Dim_3") == made.count(b"_Anonymous_Dim_4") == 1


def findings(dataset: Checked, kind: Kind) -> list[str]:
    report = Report()
    check_sizes(dataset, kind, report)
    assert {found.code for found in report.list_sorted()} <= {"format-conflict"}
    return [found.message for found in report.list_sorted()]


G2, G4 = 2**31, 2**32


@pytest.mark.parametrize(
    ("variables", "smallest"),
    [
        ({"a": ("byte", (G2 // 4 - 1, 4)), "b": ("byte", (4,))}, "nc6"),  # b would begin behind 2^31
        ({"a": ("byte", (G2 // 4 - 100, 4)), "b": ("byte", (4,))}, "nc3"),
        ({"a": ("byte", (G2 // 4 - 100, 4)), "b": ("double", (10**6, 10**4))}, "nc3"),
        ({"a": ("byte", (4,)), "b": ("double", (10**6, 10**4)), "ra": ("byte", (1,))}, "nc5"),
        ({"ra": ("byte", (1, 4)), "rb": ("double", (1, 10**6, 10**4))}, "nc3"),
        ({"rb": ("double", (1, 10**6, 10**4)), "ra": ("byte", (1, 4))}, "nc5"),
        ({"rb": ("double", (1, 10**6, 10**4)), "a": ("byte", (4,))}, "nc3"),
        ({"ra": ("byte", (1, 4)), "b": ("double", (10**6, 10**4))}, "nc5"),
        ({"ra": ("short", (1, G2 // 4, 2)), "rb": ("byte", (1, 4))}, "nc6"),
        ({"a": ("double", (2**30, 2**29)), "b": ("double", (2**30, 2**30))}, "nc4"),
    ],
)
def test_the_smallest_kind_that_holds_the_sizes(variables: dict[str, Any], smallest: Kind) -> None:
    dataset = checked(simple(variables, 1))
    kinds: tuple[Kind, ...] = ("nc3", "nc6", "nc5", "nc4")
    assert next(kind for kind in kinds if not findings(dataset, kind)) == smallest
    assert choose(dataset, kinds, None) == ("nc5" if smallest == "nc6" else smallest)


def test_what_does_not_fit_is_told_once_with_the_kinds_that_do() -> None:
    variables = {"a": ("double", (G2 // 8, 8)), **{f"b{number}": ("byte", (4,)) for number in range(50)}}
    dataset = checked(simple(variables))
    report = Report()
    check_sizes(dataset, "nc3", report)
    (found,) = report.list_sorted()
    assert "`a` takes 17179869184 bytes and is not the last one; the limit is then 2147483644" in found.message
    assert found.helps == ("use --kind nc5 or nc4",)
    (message,) = findings(
        checked(simple({"a": ("byte", (G2 // 4 - 1, 4)), "b": ("byte", ()), "c": ("int", ())})), "nc3"
    )
    assert "`b` would begin at byte 21474838" in message
    assert "and 1 after it; the limit is 2147483647" in message


def test_check_reports_sizes_with_their_place(nczarr_command: Any) -> None:
    text = b"netcdf t {\ndimensions: x = 50000 ; y = 50000 ;\nvariables:\n  byte v(x, y) ;\n  byte w ;\n}\n"
    ran: Ran = nczarr_command("check", "-", "--kind", "nc3", stdin=text)
    assert ran.status == 1
    assert "format-conflict" in ran.err
    assert ":4:8" in ran.err
    assert nczarr_command("check", "-", "--kind", "nc6", stdin=text).status == 0


@pytest.mark.parametrize("kind", CLASSIC_KINDS)
def test_a_fixed_dimension_of_length_zero_is_refused(kind: Kind) -> None:
    dataset = checked(Dataset(name="t", dimensions=(Dimension(name="x", size=0),)))
    (message,) = findings(dataset, kind)
    assert "length 0" in message
    anonymous = checked(Dataset(name="t", variables=(Variable(name="v", type="byte", dimensions=(0,)),)))
    assert len(findings(anonymous, kind)) == 1


def test_records_are_counted_in_a_signed_number() -> None:
    dataset = Dataset(name="t", dimensions=(Dimension(name="t", size=G2, unlimited=True),))
    assert [bool(findings(checked(dataset), kind)) for kind in CLASSIC_KINDS] == [True, True, False]


def test_the_largest_dimension_of_cdf5() -> None:
    dataset = Dataset(name="t", dimensions=(Dimension(name="x", size=2**63),))
    assert findings(checked(dataset), "nc5")


def test_headers_have_the_length_that_the_layout_says() -> None:
    text = (ROOT / "samples" / "01-station.cdl").read_bytes()
    for kind in CLASSIC_KINDS:
        dataset = phases.read(Source("t.cdl", text), Report(), Options())
        assert dataset is not None
        layout = lay_out(dataset, kind)
        assert len(header(dataset, kind, layout)) == layout.header


def test_attributes_are_turned_round() -> None:
    values = (Constant.numbers("short", [1, 2, 3]), Constant.numbers("double", [1.0]), Constant.text(b"abcde"))
    attributes = tuple(Attribute(name=f"a{number}", value=value) for number, value in enumerate(values))
    made = b"".join(pieces(checked(Dataset(name="t", attributes=attributes))))
    assert b"\0\x01\0\x02\0\x03\0\0" in made
    assert b"\x3f\xf0\0\0\0\0\0\0" in made
    assert b"abcde\0\0\0" in made


SMALL = b"""netcdf t { dimensions: t = UNLIMITED ; x = 3 ;
variables: short v(t, x) ; v:u = "K" ; int s ; :n = 1s, 2s, 3s ;
data: v = 1, 2, 3, 4 ; s = -1 ; }"""

CLASSIC_BYTES = """
43444601 00000002                                                 # magic number, two records
0000000a 00000002                                                 # two dimensions
00000001 74000000 00000000  00000001 78000000 00000003            # t is unlimited, x = 3
0000000c 00000001                                                 # one attribute of the file
00000001 6e000000 00000003 00000003 00010002 00030000             # n: three shorts and padding
0000000b 00000002                                                 # two variables
00000001 76000000 00000002 00000000 00000001                      # v(t, x)
0000000c 00000001 00000001 75000000 00000002 00000001 4b000000    # u: one char
00000003 00000008 000000b0                                        # short; 8 bytes a record; where it begins
00000001 73000000 00000000 00000000 00000000                      # s, a scalar without attributes
00000004 00000004 000000ac                                        # int; 4 bytes; where it begins
ffffffff                                                          # s
0001 0002 0003                                                    # the first record, without padding
0004 8001 8001                                                    # the second, filled
"""


def from_hex(text: str) -> bytes:
    return bytes.fromhex("".join(line.partition("#")[0] for line in text.split("\n")))


def test_every_byte_of_a_classic_file(nczarr_command: Any) -> None:
    ran: Ran = nczarr_command("compile", "-", "--to", "netcdf3", "--kind", "nc3", "-o", "-", stdin=SMALL)
    assert ran.out.hex(" ", 4) == from_hex(CLASSIC_BYTES).hex(" ", 4)


def test_wider_numbers_in_the_other_kinds(nczarr_command: Any) -> None:
    """64-bit offset: eight bytes for `begin`; CDF-5: for every count and size as well."""
    made = {
        kind: nczarr_command("compile", "-", "--to", "netcdf3", "--kind", kind, "-o", "-", stdin=SMALL).out
        for kind in CLASSIC_KINDS
    }
    assert len(made["nc6"]) == len(made["nc3"]) + 2 * 4
    numbers = 1 + (1 + 2 * 2) + (1 + 2) + 1 + (4 + 1 + 2 + 1) + (2 + 1 + 1)  # records, dimensions, attribute, v, s
    assert len(made["nc5"]) == len(made["nc6"]) + numbers * 4
    assert made["nc6"].endswith(made["nc3"][-16:])
    assert made["nc5"].endswith(made["nc3"][-16:])
