"""Chars that DAP2 sends as texts, with the length and name of their last dimension in attributes."""

from __future__ import annotations

from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.report import CompileError

DDS = b"Dataset {\n    String a[x = 2];\n    String one;\n} t;\n\nData:\n"
VALUES = b"\0\0\0\2\0\0\0\3red\0\0\0\0\0\0\0\0\1Z\0\0\0"
DAS = """Attributes {
a { Int32 DODS.strlen %d; String DODS.dimName "n"; String _FillValue "-"; String note "a\\x00b\\\\x"; }
one { Int32 DODS.strlen 1; }
}
"""


def test_texts_are_chars(tmp_path: Path) -> None:
    (tmp_path / "t.dods").write_bytes(DDS + VALUES)
    (tmp_path / "t.das").write_text(DAS % 4)
    with nczarr.open(tmp_path / "t.dods") as found:
        chars = found["a"]
        assert (chars.dtype, chars.shape) == ("S1", (2, 4))
        assert chars[...].tolist() == [[b"r", b"e", b"d", b""], [b""] * 4]
        assert found["one"][()] == b"Z"
        assert set(chars.attributes) == {"_FillValue", "note"}
        assert len(found.dimensions["n"]) == 4
        assert chars.attributes["_FillValue"] == "-"
        assert chars.attributes["note"] == "a\0b\\x"


def test_a_longer_text_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.dods").write_bytes(DDS + VALUES)
    (tmp_path / "t.das").write_text(DAS % 2)
    with pytest.raises(CompileError, match=r"a text has 3 bytes, but `DODS\.strlen` is 2"):
        nczarr.open(tmp_path / "t.dods")


def test_a_dimension_has_the_name_that_variables_have(tmp_path: Path) -> None:
    (tmp_path / "t.dods").write_bytes(DDS + VALUES)
    (tmp_path / "t.das").write_text((DAS % 4).replace('"n"', '"a%20b"'))
    with nczarr.open(tmp_path / "t.dods") as found:
        assert found["a"].dimensions == ("/x", "/a\\ b")


def test_texts_stay_if_they_claim_too_many_chars(tmp_path: Path) -> None:
    (tmp_path / "t.dods").write_bytes(DDS + VALUES)
    (tmp_path / "t.das").write_text(DAS % ((1 << 31) - 1))
    with nczarr.open(tmp_path / "t.dods") as found:
        assert found["a"][...].tolist() == ["red", ""]


def test_names_of_dimensions_are_any_bytes(tmp_path: Path) -> None:
    (tmp_path / "t.dods").write_bytes(DDS + VALUES)
    (tmp_path / "t.das").write_bytes((DAS % 4).encode().replace(b'"n"', b'"\xff/"'))
    with nczarr.open(tmp_path / "t.dods") as found:
        assert found["a"].shape == (2, 4)
