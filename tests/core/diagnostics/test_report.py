"""Sources: pickles."""

from __future__ import annotations

import pickle
from pathlib import Path

from nczarr.diagnostics import report as sources
from nczarr.diagnostics.report import Source
from nczarr.stores.open import open_source


def test_a_mapped_text_is_pickled_with_its_lines(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"one\ntwo\n")
    again = pickle.loads(pickle.dumps(open_source(str(tmp_path / "t"))))
    assert (again.place(5), again.line_text(2), again.has_lines) == ("2:2", "two", True)


def test_a_long_text_and_a_binary_file_are_pickled_without_bytes(tmp_path: Path) -> None:
    (tmp_path / "t").write_bytes(b"\n" * (sources.LONGEST_DOCUMENT + 1))
    mapped = open_source(str(tmp_path / "t"))
    for each in (mapped, Source("t", mapped.data, binary=True)):
        stored = pickle.dumps(each)
        assert len(stored) < 1000
        assert pickle.loads(stored).place(5) == "byte 5"
