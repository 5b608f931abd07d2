"""Siphon reads messages that we write, as far as it has the values."""

from __future__ import annotations

import io
import logging
from collections.abc import Callable
from types import ModuleType
from typing import Any

import nczarr.ncstream as door
import numpy as np
import pytest

from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from tests.support import ncstream_streams as make

pytestmark = pytest.mark.peer

NUMBERS = ["S1", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f4", "f8"]
STRINGS = np.array(["Grüße", "", "x" * 300], object)
OPAQUE = np.array([b"\0" * 5, b"abc"], object)
RECORD = np.array([(1, -2.5, 3), (4, 5.5, 6)], [("a", "<i4"), ("b", "<f8"), ("c", "u1")])


@pytest.fixture
def theirs(peer: Callable[[str], ModuleType]) -> Callable[[list[Any]], list[Any]]:
    """What siphon makes of messages; it has to be quiet about them."""
    siphon = peer("siphon.cdmr.ncstream")

    def read(messages: list[Any]) -> list[Any]:
        out = io.BytesIO()
        door.write_messages(messages, out)
        found: list[Any] = siphon.read_ncstream_messages(io.BytesIO(out.getvalue()))
        return found

    return read


def ragged() -> Any:
    made = np.empty(3, object)
    made[:] = [np.arange(3, dtype="i4"), np.arange(1, dtype="i4"), np.arange(2, dtype="i4")]
    return made


@pytest.mark.parametrize("column", [False, True])
@pytest.mark.parametrize("dtype", NUMBERS)
def test_numbers(dtype: str, column: bool, theirs: Any) -> None:
    width = np.dtype(dtype).itemsize
    array = np.frombuffer(np.random.default_rng(3).bytes(24 * width), dtype).reshape(2, 3, 4)
    (found,) = theirs([door.data("v", array, column=column)])
    assert found.shape == array.shape
    assert found.dtype.newbyteorder("<") == array.dtype.newbyteorder("<")
    assert found.astype(array.dtype).tobytes() == array.tobytes()


def test_deflated_numbers(theirs: Any) -> None:
    message = door.data("v", np.arange(1000.0).reshape(10, 100))
    assert isinstance(message, door.Data)
    message.deflate = 5
    (found,) = theirs([message])
    assert np.array_equal(found, np.arange(1000.0).reshape(10, 100))


@pytest.mark.parametrize("column", [False, True])
def test_strings_opaque_values_and_lists(column: bool, theirs: Any) -> None:
    """One-dimensional, as siphon has them."""
    messages = [
        door.data("s", STRINGS, column=column),
        door.data("o", OPAQUE, data_type="OPAQUE", column=column),
        door.data("l", ragged(), column=column),
    ]
    strings, opaque, lists = theirs(messages)
    assert strings.tolist() == STRINGS.tolist()
    assert opaque.tolist() == OPAQUE.tolist()
    assert [each.tolist() for each in lists] == [each.tolist() for each in ragged()]


def test_records(theirs: Any) -> None:
    """Columns have members; rows of the first kind are void, and their dtype is that of the message's byte order."""
    columns, rows = theirs([door.data("r", RECORD), door.data("r", RECORD, column=False)])
    assert columns.tolist() == RECORD.tolist()
    packed = RECORD.astype([("a", ">i4"), ("b", ">f8"), ("c", "u1")])
    assert rows.tobytes() == packed.tobytes()


def test_a_sequence(theirs: Any, caplog: pytest.LogCaptureFixture) -> None:
    """Siphon calls the magic of each record a bad one in its log, and reads them all."""
    with caplog.at_level(logging.CRITICAL):
        ((head, records),) = theirs([door.data("r", RECORD, data_type="SEQUENCE")])
    assert head.varName == "r"
    packed = RECORD.astype([("a", ">i4"), ("b", ">f8"), ("c", "u1")])
    assert b"".join(each.data for each in records) == packed.tobytes()


def test_a_file(theirs: Any) -> None:
    """What stands around messages in a file is passed over."""
    header = pb.Header(version=1, root=pb.Group(vars=[make.variable("v", pb.INT, 3)]))
    array = np.arange(3, dtype="i4")
    found = theirs([door.Start(), door.Header(header), door.data("v", array), door.End()])
    assert found[0].root.vars[0].name == "v"
    assert found[1].tolist() == [0, 1, 2]


def test_an_error(theirs: Any) -> None:
    with pytest.raises(RuntimeError, match="gone"):
        theirs([door.Error(pb.Error(message=b"gone", code=5))])
