"""Where our files differ from ncgen's, on purpose: the table of docs/reference/ncgen-differences.md and its test."""

from __future__ import annotations

from typing import NamedTuple


class Difference(NamedTuple):
    """What differs in one file of the corpus, made as one kind (None: as any).

    `items`: beginnings of the differences that `dumps.differences` tells, every one of which must occur; `fault`: what
    ncgen does wrong; `theirs` and `ours`: what each stores. `dumps`: it shows with the text that we print as well.
    """

    file: str
    kind: str | None
    items: tuple[str, ...]
    fault: str
    theirs: str
    ours: str
    dumps: bool = False


DATES = "a date that `ncdump -t` printed is cut down to its year"
NUL = "`'\\0'` is taken for the character 0"
INT64 = "an int64 variable of a CDF-5 file becomes an int variable"
INT64_ITEMS = ("/i64: ", "- |int i64", "+ |int64 i64")

DIFFERENCES = (
    Difference(
        "ncdump__ref_test_360_day_1900",
        None,
        ("/time: ",),
        DATES,
        "1900, 1900, 1900 …",
        "0, 1, 2 … (days since 1900-1-1)",
    ),
    Difference(
        "ncdump__ref_test_365_day_1900",
        None,
        ("/time: ",),
        DATES,
        "1900, 1900, 1900 …",
        "0, 1, 2 … (days since 1900-1-1)",
    ),
    Difference(
        "ncdump__ref_test_366_day_1900",
        None,
        ("/time: ",),
        DATES,
        "1900, 1900, 1900 …",
        "0, 1, 2 … (days since 1900-1-1)",
    ),
    Difference("ncdump__ref_times", None, ("/t",), DATES, "2009", "185900 (the unit and calendar of each variable)"),
    Difference(
        "ncgen__ncf345", None, ("/char_var_nul: ", "- |bnd_var:byte_att", "+ |bnd_var:byte_att"), NUL, "48", "0"
    ),
    Difference(
        "nczarr_test__ref_nulls",
        None,
        ("- |test:nul_sng", "+ |test:nul_sng", "- |test:nul0", "+ |test:nul0"),
        NUL,
        "48",
        "0",
    ),
)

DIFFERENCES += tuple(
    Difference(file, "nc5", INT64_ITEMS, INT64, "-1", "9223372036854775807", dumps=True)
    for file in (
        "ncdump__inttags4",
        "ncdump__ref_ctest1_nc4",
        "ncdump__ref_inttags4",
        "ncdump__ref_nc_test_netcdf4",
        "ncgen__c0_4",
    )
)

REFUSED = {
    ("ncdump__tst_calendars_nc4", "nc3"): "string attributes are left out in silence",
}
"""Files that ncgen takes for a kind that cannot hold them, by file and kind, with what it does; we refuse them."""


def unexplained(file: str, kind: str, found: list[str], *, dump: bool = False) -> list[str]:
    """Differences that the table does not have, and entries of the table that do not differ.

    `dump`: the text was printed by us.
    """
    items = [
        item
        for entry in DIFFERENCES
        if entry.file == file and entry.kind in (None, kind) and (entry.dumps or not dump)
        for item in entry.items
    ]
    wrong = [text for text in found if not text.startswith(tuple(items))]
    return wrong + [f"no longer differs: {item}" for item in items if not any(text.startswith(item) for text in found)]
