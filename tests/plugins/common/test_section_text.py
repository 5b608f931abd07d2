"""Texts of sections."""

from __future__ import annotations

from nczarr.plugins.common.section_text import write_section


def test_sections_are_written() -> None:
    assert write_section(["g", "temp"], [range(0, 9, 2), range(5), range(5, 6)]) == "/g/temp(0:8:2,0:4,5:5)"
    assert write_section(["a.b"], None, [("c(d)", [None])]) == r"/a\.b.c\(d\)(:)"
    assert write_section([" a b "]) == "/\\ a b\\ "
