"""Languages of `nczarr generate`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module
from typing import NamedTuple

from nczarr.sdk import Checked, Report

Generator = Callable[[Checked, str, Report], Mapping[str, str]]
"""Function from a dataset and its name to texts by file name; reports what the language cannot express."""


class ProgramLanguage(NamedTuple):
    """One language."""

    module: str
    """Module of this package with `generate`, or with the function after a colon."""
    title: str
    """Description of the program."""
    needs: str
    """Compilers and libraries that the program needs."""
    refuses: str
    """Parts of the model that the language cannot express."""


CONTRACT = "contract"
"""Language that is made from several datasets."""

LANGUAGES = {
    "c": ProgramLanguage(
        "c",
        "a program for libnetcdf in C99: types, create, put and get, values",
        "libnetcdf, a compiler of C99",
        "anonymous dimensions, NUL in strings, NaN with bits of its own, undefined cells of strings and lists",
    ),
    "python-netcdf4": ProgramLanguage(
        "python_netcdf4",
        "a program for netCDF4-python",
        "`netCDF4`",
        "opaque types, lists of other than numbers, compounds with strings, lists or enums, missing strings, "
        "texts with NUL or beyond ASCII, a fill value that is an attribute only, other filters than deflate, shuffle, "
        "fletcher32, zstd and bzip2, two compressions of a variable",
    ),
    "python-zarr": ProgramLanguage(
        "python_zarr",
        "a program for zarr-python: NCZarr stores of Zarr v2 and v3",
        "`zarr>=3.1`",
        "lists of any length, fields that are structures, arrays or strings, missing strings, backslashes in names",
    ),
    "xarray": ProgramLanguage(
        "python_xarray",
        "a function that returns an xarray dataset, or a tree of datasets",
        "`xarray`, `netCDF4`; `xarray-schema` for the schemas",
        "compounds, lists, opaque types, dimensions without variables or that hide others, scalar chars, missing "
        "strings and single ones of ASCII in attributes, names of dimensions for other variables than "
        "their coordinates, unsigned and 64-bit integers in CDF-5, what netCDF4-python refuses",
    ),
    "json-schema": ProgramLanguage(
        "json_schema",
        "a JSON Schema of the documents of Zarr stores",
        "a validator of JSON Schema 2020-12",
        "lists of any length, which are several arrays",
    ),
    "pydantic": ProgramLanguage(
        "python_pydantic",
        "models of the documents of Zarr stores",
        "`pydantic>=2.11`",
        "lists of any length, which are several arrays",
    ),
    "typescript": ProgramLanguage(
        "typescript",
        "types of Zarr stores in TypeScript, and a reader over zarrita",
        "`zarrita>=0.7`; chars of Zarr v3 are not read by it",
        "lists of any length, compounds, opaque types, `?`, `#`, `%` and backslashes in names",
    ),
    "ncml": ProgramLanguage(
        "ncml",
        "an NcML document of the declarations",
        "a reader of NcML 2.2",
        "enums of 64 bits, dimensions whose names have blanks or that a nearer one hides, missing strings, texts that "
        "end in NUL",
    ),
    "markdown": ProgramLanguage("data_dictionary:generate_markdown", "a data dictionary in Markdown", "–", "–"),
    "html": ProgramLanguage("data_dictionary:generate_html", "a data dictionary in HTML with a picture", "–", "–"),
    "fortran": ProgramLanguage(
        "fortran",
        "a module and a program in Fortran 2008 for netcdf-fortran",
        "netcdf-fortran, a compiler of Fortran 2008",
        "strings, user-defined types, anonymous dimensions, quantization, integers of 64 bits without sign "
        "above 2⁶³ - 1",
    ),
    "contract": ProgramLanguage(
        "contract",
        "a contract that all given datasets keep, as CDL with rules",
        "`nczarr check --schema`",
        "variables of other dimensions, and types of other definitions, in some of the datasets",
    ),
    "java": ProgramLanguage(
        "java",
        "a class for netCDF-Java that writes a dataset",
        "netCDF-Java 5 before 5.4 or 4.6; libnetcdf where the classic model does not hold the schema",
        "user-defined types, strings in attributes, chunks and filters of a variable, CDF-5, texts with NUL",
    ),
}
"""Languages by name."""


def load(name: str) -> Generator:
    """Return the generator of a language."""
    module, _, function = LANGUAGES[name].module.partition(":")
    generator: Generator = getattr(import_module(f"nczarr.plugins.generate.{module}"), function or "generate")
    return generator
