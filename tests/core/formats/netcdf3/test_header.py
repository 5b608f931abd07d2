"""Headers of classic files: what they say, and what is said of those that are wrong, with the byte."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

from nczarr.ast import Constant
from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.semantics.checked import Checked
from tests.conftest import run_command
from tests.support.classic_bytes import Made

DIMENSION, VARIABLE, ATTRIBUTE = 10, 11, 12
BYTE, CHAR, SHORT, INT, UBYTE = 1, 2, 3, 4, 7
V1 = Made(1)
ACCEPTED = frozenset({"unread"})


def read(
    data: bytes, name: str = "t.nc", losses: frozenset[str] = frozenset()
) -> tuple[Checked | None, list[tuple[str, int | None]]]:
    """The dataset, and the codes of all that was found with their offsets."""
    report = Report()
    checked = phases.read(Source(name, data), report, Options.of(allow_loss=losses))
    return checked, [(found.code, found.primary.offset) for found in report.list_sorted() if found.code != "unread"]


def scalar(begin: int, *, vsize: int = 4, kind: int = INT, data: bytes = b"\0\0\0\7") -> bytes:
    """A file with one scalar variable `v`: its header has 64 bytes, its size stands at 56, its offset at 60."""
    return V1.file(variables=V1.things(VARIABLE, V1.variable(b"v", (), kind, vsize, begin)), data=data)


@pytest.mark.parametrize(("version", "kind"), [(1, "nc3"), (2, "nc6"), (5, "nc5")])
def test_everything_that_a_header_says(version: int, kind: str) -> None:
    made = Made(version)
    data = made.file(
        made.things(DIMENSION, made.dimension(b"time", 0), made.dimension("é".encode(), 2)),
        made.things(
            ATTRIBUTE, made.attribute(b"a", SHORT, 3, b"\0\1\0\2\xff\xff\0\0"), made.attribute(b"e", CHAR, 0, b"")
        ),
        made.things(VARIABLE, made.variable(b"v", (0, 1), INT, 8, 0)),
    )
    checked, found = read(data)
    assert checked is not None
    assert found == []
    tree = checked.dataset
    assert (tree.name, tree.kind) == ("t", kind)
    assert [(each.name, each.size, each.unlimited) for each in tree.dimensions] == [("time", 0, True), ("é", 2, False)]
    assert [each.value for each in tree.attributes] == [Constant.numbers("short", [1, 2, -1]), Constant.text(b"")]
    assert [(each.name, each.type, each.dimensions) for each in tree.variables] == [("v", "int", ("/time", "/é"))]
    assert checked.shapes["/v"] == (0, 2)


TWO = V1.things(DIMENSION, V1.dimension(b"t", 0), V1.dimension(b"x", 2))
WRONG = {
    "nothing of CDF": (b"XDF\1", None, "unknown-format"),
    "unknown version": (b"CDF\3" + bytes(28), 3, "bad-header"),
    "unknown tag": (V1.file(V1.things(99)), 8, "bad-header"),
    "list of another kind": (V1.file(V1.things(VARIABLE)), 8, "bad-header"),
    "absent, and yet counted": (V1.file(V1.tag(0) + V1.count(1), data=bytes(99)), 8, "bad-header"),
    "negative number of records": (V1.file(records=-2), 4, "bad-header"),
    "negative length": (V1.file(V1.things(DIMENSION, V1.dimension(b"x", -1))), 24, "bad-header"),
    "more dimensions than bytes": (V1.file(V1.tag(DIMENSION) + V1.count(2**31 - 1)), 12, "truncated-header"),
    "a name longer than the file": (V1.file(V1.things(DIMENSION, V1.count(2**31 - 1))), 16, "truncated-header"),
    "a name without letters": (V1.file(V1.things(DIMENSION, V1.dimension(b"", 1))), 16, "bad-name"),
    "a name that is no UTF-8": (V1.file(V1.things(DIMENSION, V1.dimension(b"a\xe9", 1))), 21, "invalid-utf8"),
    "a name twice": (
        V1.file(V1.things(DIMENSION, V1.dimension(b"a", 1), V1.dimension(b"a", 2))),
        28,
        "duplicate-name",
    ),
    "two record dimensions": (
        V1.file(V1.things(DIMENSION, V1.dimension(b"t", 0), V1.dimension(b"u", 0))),
        28,
        "bad-header",
    ),
    "an attribute of no type": (V1.file(None, V1.things(ATTRIBUTE, V1.attribute(b"a", 0, 0, b""))), 32, "bad-header"),
    "a type of CDF-5": (V1.file(None, V1.things(ATTRIBUTE, V1.attribute(b"a", UBYTE, 0, b""))), 32, "bad-header"),
    "more values than bytes": (
        V1.file(None, V1.things(ATTRIBUTE, V1.attribute(b"a", INT, 2**30, b""))),
        36,
        "truncated-header",
    ),
    "a dimension that there is not": (
        V1.file(TWO, None, V1.things(VARIABLE, V1.variable(b"v", (2,), INT, 4, 200))),
        68,
        "bad-header",
    ),
    "records not in front": (
        V1.file(TWO, None, V1.things(VARIABLE, V1.variable(b"v", (1, 0), INT, 4, 200))),
        72,
        "bad-header",
    ),
    "too many dimensions": (
        V1.file(TWO, None, V1.things(VARIABLE, V1.variable(b"v", (1,) * 1025, INT, 4, 9000))),
        64,
        "rank-limit",
    ),
    "values within the header": (scalar(60), 60, "misplaced-values"),
    "an odd size": (scalar(64, vsize=12), 56, "ignored-vsize"),
    "no values": (scalar(64, data=b"\0\0\0"), 60, "missing-values"),
    "values far away": (scalar(2**31 - 1), 60, "missing-values"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_told_with_its_byte(case: str) -> None:
    data, offset, code = WRONG[case]
    assert read(data)[1] == [(code, offset)]


def test_two_variables_in_one_place() -> None:
    entries = V1.variable(b"a", (), INT, 4, 96), V1.variable(b"b", (), INT, 4, 99)
    checked, found = read(V1.file(variables=V1.things(VARIABLE, *entries), data=bytes(12)))
    assert checked is None
    assert found == [("misplaced-values", 92)]


def test_a_record_that_reaches_into_the_next_one() -> None:
    entries = V1.variable(b"a", (0,), INT, 4, 140), V1.variable(b"b", (0,), INT, 4, 148)
    data = V1.file(TWO, None, V1.things(VARIABLE, *entries), records=3, data=bytes(64))
    assert [code for code, _ in read(data)[1]] == ["misplaced-values"]
    assert read(data.replace(V1.count(3), V1.count(1), 1))[0] is not None


@pytest.mark.parametrize("vsize", [4, 2])
def test_sizes_that_writers_give(vsize: int) -> None:
    """Padded or not: both are in use."""
    assert read(scalar(64, kind=SHORT, vsize=vsize))[1] == []


@pytest.mark.parametrize("version", [1, 2, 5])
def test_the_size_of_a_file_tells_the_records_that_its_header_does_not(version: int) -> None:
    made = Made(version)
    for records in (0, 1, 5):
        head = made.file(
            made.things(DIMENSION, made.dimension(b"t", 0)),
            None,
            made.things(VARIABLE, made.variable(b"v", (0,), SHORT, 2, 200)),
            records=-1,
        )
        checked, found = read(head.ljust(200, b"\0") + bytes(2 * records))
        assert checked is not None
        assert (checked.shapes["/v"], found) == ((records,), [])


def test_headers_that_claim_everything_cost_nothing() -> None:
    claims = [
        V1.file(V1.tag(DIMENSION) + V1.count(2**31 - 1)),
        V1.file(None, V1.things(ATTRIBUTE, V1.attribute(b"a", CHAR, 2**31 - 1, b""))),
        V1.file(TWO, None, V1.things(VARIABLE, V1.variable(b"v", (0, 1), INT, 4, 100)), records=2**31 - 1),
        Made(5).file(Made(5).things(DIMENSION, Made(5).count(2**62))),
        Made(5).file(
            Made(5).things(DIMENSION, Made(5).dimension(b"x", 2**60)),
            None,
            Made(5).things(VARIABLE, Made(5).variable(b"v", (0,) * 1000, INT, 4, 9000)),
        ),
    ]
    read(claims[0])
    for data in claims:
        tracemalloc.start()
        read(data)
        assert tracemalloc.get_traced_memory()[1] < 2 << 20
        tracemalloc.stop()


def test_places_are_offsets_in_every_form(tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    path.write_bytes(scalar(60))
    assert f"--> {path}@60\n" in run_command("check", str(path)).err
    line = json.loads(run_command("check", "--message-format", "json", str(path)).err)
    assert (line["file"], line["line"], line["column"], line["offset"]) == (str(path), None, None, 60)
    log = json.loads(run_command("check", "--message-format", "sarif", str(path)).err)
    place = log["runs"][0]["results"][0]["locations"][0]["physicalLocation"]
    assert place["region"] == {"byteOffset": 60}


def test_python_callers_are_told_the_byte(tmp_path: Path) -> None:
    import nczarr

    path = tmp_path / "t.nc"
    path.write_bytes(scalar(60))
    with pytest.raises(nczarr.CompileError, match=r"misplaced-values: .* \(at .*t\.nc@60\)"):
        nczarr.open(path)


@pytest.mark.slow
def test_a_header_loads_no_numpy(tmp_path: Path) -> None:
    import subprocess
    import sys

    path = tmp_path / "t.nc"
    path.write_bytes(scalar(64))
    code = "import sys; from nczarr.__main__ import main; status = main(sys.argv[1:]); print('numpy' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code, "dump", "-h", str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "False", done.stderr


def test_values_in_more_dimensions_than_an_array_has() -> None:
    for rank, codes in ((64, []), (65, ["rank-limit"])):
        entry = V1.variable(b"v", (1,) * rank, INT, 4, 500)
        one = V1.things(DIMENSION, V1.dimension(b"t", 0), V1.dimension(b"x", 1))
        data = V1.file(one, None, V1.things(VARIABLE, entry)).ljust(504, b"\0")
        assert [code for code, _ in read(data)[1]] == codes


@pytest.mark.parametrize(
    ("path", "name"), [("a/b.nc", "b"), ("<stdin>", "stdin"), ("my {x}.cdf", "my__x_"), ("a\udcff.nc", "a_")]
)
def test_the_name_of_a_dataset_is_that_of_its_file(path: str, name: str) -> None:
    checked, found = read(scalar(64), path)
    assert checked is not None
    assert (checked.dataset.name, found) == (name, [])


def growing(records: int, held: int) -> bytes:
    """A file with an int of 25 values a record, whose header counts more records than there are."""
    one = V1.things(DIMENSION, V1.dimension(b"t", 0), V1.dimension(b"x", 25))
    head = V1.file(one, None, V1.things(VARIABLE, V1.variable(b"v", (0, 1), INT, 100, 200)), records=records)
    return head.ljust(200, b"\0") + b"\0\0\0\7" * (25 * held)


def test_some_records_that_are_missing_are_zeros() -> None:
    checked, found = read(growing(1000, 3), losses=ACCEPTED)
    assert checked is not None
    assert (checked.shapes["/v"], found) == ((1000, 25), [("missing-values", 92)])
    source = checked.parts["/v"][""]
    assert source.read((slice(2, 4), slice(0, 1))).tolist() == [[7], [0]]
    assert len(list(source.list_occupied((1, 25)))) == 1000


def test_missing_records_are_an_error_unless_they_are_accepted() -> None:
    checked, _ = read(growing(1000, 3)[:-30])
    assert checked is not None
    source = checked.parts["/v"][""]
    assert source.read((slice(0, 2), slice(0, 25))).tolist() == [[7] * 25] * 2
    assert source.read((slice(2, 3), slice(0, 17))).tolist() == [[7] * 17]
    for ask in (
        lambda: source.read((slice(2, 3), slice(0, 18))),
        lambda: source.read((slice(999, 1000), slice(0, 1))),
        lambda: source.read_into((slice(0, 4), slice(0, 25)), np.zeros((4, 25), ">i4")),
        lambda: source.read_encoded((2, 0)),
    ):
        with pytest.raises(CompileError, match="unreadable-chunk: the file ends at byte 470"):
            ask()


def test_records_far_beyond_the_file_are_left_out(tmp_path: Path) -> None:
    """Nothing takes time for what was only declared: not even the text of it."""
    checked, found = read(growing(2**31 - 1, 3))
    assert checked is not None
    assert (checked.shapes["/v"], found) == ((3, 25), [("missing-values", 4)])
    (tmp_path / "t.nc").write_bytes(growing(2**31 - 1, 3))
    done = run_command("dump", str(tmp_path / "t.nc"))
    assert len(done.out) < 1000
    assert "3 of them are read, the others are left out" in done.err


def test_values_far_beyond_the_file_are_fill() -> None:
    made = Made(5)
    head = made.file(
        made.things(DIMENSION, made.dimension(b"x", 2**40)),
        None,
        made.things(VARIABLE, made.variable(b"v", (0,), SHORT, 2**41, 200)),
    )
    checked, found = read(head.ljust(200, b"\0") + b"\0\7", losses=ACCEPTED)
    assert checked is not None
    assert [code for code, _ in found] == ["missing-values"]
    source = checked.parts["/v"][""]
    assert source.read((slice(0, 2),)).tolist() == [7, -32767]
    assert list(source.list_occupied((1 << 20,))) == [(0,)]
