"""Where our classic files differ from ncgen's, as nc-same tells it; docs/reference/ncgen-differences.md says why."""

from __future__ import annotations

from nczarr.ast import Kind

from .ncgen import REFUSED

INT64 = ("/i64: type: A int | B int64",)

DIFFERENCES: dict[str, tuple[Kind | None, tuple[str, ...]]] = {
    "ncdump__ref_test_360_day_1900": (None, ("/time: data",)),
    "ncdump__ref_test_365_day_1900": (None, ("/time: data",)),
    "ncdump__ref_test_366_day_1900": (None, ("/time: data",)),
    "ncdump__ref_times": (None, ("/t",)),
    "ncgen__ncf345": (None, ("/char_var_nul: data", "/bnd_var: attribute byte_att")),
    "nczarr_test__ref_nulls": (None, ("/test: attribute nul_sng", "/test: attribute nul0")),
    "ncdump__inttags4": ("nc5", INT64),
    "ncdump__ref_ctest1_nc4": ("nc5", INT64),
    "ncdump__ref_inttags4": ("nc5", INT64),
    "ncdump__ref_nc_test_netcdf4": ("nc5", INT64),
    "ncgen__c0_4": ("nc5", INT64),
}
"""By file of the corpus: in which kind (None: in all), and beginnings of the lines, each of which must occur."""


def refused(file: str) -> bool:
    """Whether ncgen leaves out what no classic kind holds, and we refuse the file."""
    return any(name == file for name, _ in REFUSED)


def differing(file: str, kind: Kind) -> tuple[str, ...]:
    """Beginnings of the differences that there must be."""
    only, items = DIFFERENCES.get(file, (None, ()))
    return items if only in (None, kind) else ()


def unexplained(file: str, kind: Kind, found: list[str]) -> list[str]:
    """Differences that the table does not have, and entries that do not differ."""
    items = differing(file, kind)
    wrong = [text for text in found if not text.startswith(items)]
    return wrong + [f"no longer differs: {item}" for item in items if not any(text.startswith(item) for text in found)]
