"""Where our classic files differ from ncgen's, on purpose: the table of docs/ncgen-differences.md, classic files."""

from __future__ import annotations

from nczarr.ast import Kind

from .ncgen import DATES, NUL, REFUSED, Difference

INT64 = "a variable of type int64 is made an int, and its values wrap"

CLASSIC = (
    *(
        Difference(f"ncdump__ref_test_{calendar}_day_1900", ("/time: data",), DATES, "1900, 1900 …", "0, 1, 2 …")
        for calendar in (360, 365, 366)
    ),
    Difference("ncdump__ref_times", ("/t",), DATES, "2009", "185900 (the unit and calendar of each variable)"),
    Difference("ncgen__ncf345", ("/char_var_nul: data", "/bnd_var: attribute byte_att"), NUL, "48", "0"),
    Difference("nczarr_test__ref_nulls", ("/test: attribute nul_sng", "/test: attribute nul0"), NUL, "48", "0"),
)
"""In every classic kind, as nc-same tells it (A is ncgen's file, B is ours)."""

CDF5 = tuple(
    Difference(file, ("/i64: type: A int | B int64",), INT64, "-1, an int", "9223372036854775807, an int64")
    for file in (
        "ncdump__inttags4",
        "ncdump__ref_ctest1_nc4",
        "ncdump__ref_inttags4",
        "ncdump__ref_nc_test_netcdf4",
        "ncgen__c0_4",
    )
)
"""In CDF-5 files alone: no other classic kind has the type."""


def refused(file: str) -> bool:
    """Whether ncgen leaves out what no classic kind holds, and we refuse the file."""
    return any(name == file for name, _ in REFUSED)


def differing(file: str, kind: Kind) -> tuple[str, ...]:
    """Beginnings of the differences that there must be."""
    table = (*CLASSIC, *CDF5) if kind == "nc5" else CLASSIC
    return tuple(item for entry in table if entry.file == file for item in entry.items)


def unexplained(file: str, kind: Kind, found: list[str]) -> list[str]:
    """Differences that the tables do not have, and entries that do not differ."""
    items = differing(file, kind)
    wrong = [text for text in found if not text.startswith(items)]
    return wrong + [f"no longer differs: {item}" for item in items if not any(text.startswith(item) for text in found)]
