"""Where our files differ from ncgen's, on purpose: the table behind docs/ncgen-differences.md and its test."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """What differs in one file of the corpus.

    `items`: beginnings of the differences that `dumps.differences` tells, every one of which must occur; `fault`: what
    ncgen does wrong; `theirs` and `ours`: what each stores.
    """

    file: str
    items: tuple[str, ...]
    fault: str
    theirs: str
    ours: str


DATES = "a date that `ncdump -t` printed is cut down to its year"
NUL = "`'\\0'` is taken for the character 0"
_TIMES = ("t1", "t2", "t3", "t4")

DIFFERENCES = (
    Difference(
        "ncdump__ref_test_360_day_1900", ("/time: ",), DATES, "1900, 1900, 1900 …", "0, 1, 2 … (days since 1900-1-1)"
    ),
    Difference(
        "ncdump__ref_test_365_day_1900", ("/time: ",), DATES, "1900, 1900, 1900 …", "0, 1, 2 … (days since 1900-1-1)"
    ),
    Difference(
        "ncdump__ref_test_366_day_1900", ("/time: ",), DATES, "1900, 1900, 1900 …", "0, 1, 2 … (days since 1900-1-1)"
    ),
    Difference("ncdump__ref_times", ("/t",), DATES, "2009", "185900 (the unit and calendar of each variable)"),
    Difference("ncgen__ncf345", ("/char_var_nul: ", "- |bnd_var:byte_att", "+ |bnd_var:byte_att"), NUL, "48", "0"),
    Difference(
        "nczarr_test__ref_nulls",
        ("- |test:nul_sng", "+ |test:nul_sng", "- |test:nul0", "+ |test:nul0"),
        NUL,
        "48",
        "0",
    ),
)

REFUSED = {
    ("ncdump__tst_calendars_nc4", "nc3"): "string attributes are left out in silence",
}
"""Files that ncgen takes for a kind that cannot hold them, by file and kind, with what it does; we refuse them."""


def unexplained(file: str, found: list[str]) -> list[str]:
    """Differences that the table does not have, and entries of the table that do not differ."""
    items = [item for entry in DIFFERENCES if entry.file == file for item in entry.items]
    wrong = [text for text in found if not text.startswith(tuple(items))]
    return wrong + [f"no longer differs: {item}" for item in items if not any(text.startswith(item) for text in found)]
