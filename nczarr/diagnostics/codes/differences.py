"""Kinds of difference, which `nczarr diff` finds and names as it names a code in JSON. Each example shows exactly one.

A difference is no fault of either dataset, so it has no place in a report.
"""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, Code


def _kind(name: str, meaning: str, first: str, second: str, remedy: str, *options: str) -> Code:
    """One kind; `first` and `second`: what stands in two datasets that differ so."""
    command = " ".join(("$ nczarr diff a.cdl b.cdl", *options))
    texts = "".join(f"== {file}.cdl\nnetcdf t {{\n{text}\n}}\n" for file, text in (("a", first), ("b", second)))
    return Code(name, ERROR, meaning, f"{command}\n{texts}", remedy)


_MISSING = "Add it where it is missing; if it has another name there, both names are said, each as missing."
_X = "dimensions:\n  x = 2 ;\n"
_V = _X + "variables:\n  int v(x) ;"

CODES = (
    _kind(
        "missing-group",
        "Only one of two datasets has a group. What is in the group is not said as well.",
        "group: g {\n}",
        "",
        _MISSING,
    ),
    _kind(
        "missing-type",
        "Only one of two datasets has a user-defined type, in a group that both have.",
        "types:\n  byte enum colour {red = 1} ;",
        "",
        _MISSING,
    ),
    _kind(
        "missing-dimension",
        "Only one of two datasets has a dimension, in a group that both have.",
        _X.rstrip(),
        "",
        _MISSING + " Stores of pure Zarr keep only dimensions that a variable uses.",
    ),
    _kind(
        "missing-variable",
        "Only one of two datasets has a variable, in a group that both have.",
        _V,
        _X.rstrip(),
        _MISSING,
    ),
    _kind(
        "missing-attribute",
        "A group or variable has an attribute in one of two datasets, and none of that name in the other.",
        ':title = "one" ;',
        "",
        _MISSING,
    ),
    _kind(
        "type",
        "A user-defined type is declared otherwise: as another kind of type, with other constants or fields, or of "
        "another size. With `--storage` the offsets of fields count as well.",
        "types:\n  byte enum colour {red = 1} ;",
        "types:\n  byte enum colour {red = 2} ;",
        "Declare it alike. What a value of the type means depends on it, so values are not compared then.",
    ),
    _kind(
        "dimension",
        "A dimension has another length, or is unlimited in one of two datasets only.",
        "dimensions:\n  x = 2 ;",
        "dimensions:\n  x = 3 ;",
        "Give it the same length; stores of pure Zarr do not keep which dimensions are unlimited.",
    ),
    _kind(
        "variable-type",
        "A variable is of another type. Its values are not compared.",
        "variables:\n  int v ;",
        "variables:\n  float v ;",
        "Give it the same type; only then can values be the same.",
    ),
    _kind(
        "variable-dimensions",
        "A variable has other dimensions, or the same in another order. Values are compared where its shape is the "
        "same.",
        "dimensions:\n  x = 2 ;\n  y = 2 ;\nvariables:\n  int v(x) ;",
        "dimensions:\n  x = 2 ;\n  y = 2 ;\nvariables:\n  int v(y) ;",
        "Give it the same dimensions, by their full names.",
    ),
    _kind(
        "attribute",
        "An attribute has another type, another number of values, or a value that differs in any bit.",
        "variables:\n  int v ;\n    v:factor = 1.0 ;",
        "variables:\n  int v ;\n    v:factor = 1.0f ;",
        "Write the same value in the same type: `1.0` is a double, `1.0f` a float.",
    ),
    _kind(
        "attribute-order",
        "A group or variable has the same attributes in another order.",
        ":a = 1 ;\n  :b = 2 ;",
        ":b = 2 ;\n  :a = 1 ;",
        "Define them in the same order; for most readers it has no meaning.",
    ),
    _kind(
        "values",
        "Values of a variable differ: how many, where the first of them is, what stands there, and how far numbers are "
        "apart at most. Values are the same if their bits are; any NaN is like any other.",
        _V + "\ndata:\n  v = 1, 2 ;",
        _V + "\ndata:\n  v = 1, 3 ;",
        "Allow for the distance with `--tolerance`, or leave values out with `--no-data`.",
    ),
    _kind(
        "kind",
        "With `--storage`: the datasets are of different kinds of netCDF file, or one of no kind.",
        ':_Format = "netCDF-4" ;',
        ':_Format = "classic" ;',
        "Convert to the same kind, with `--kind`; without `--storage` it does not count.",
        "--storage",
    ),
    _kind(
        "layout",
        "With `--storage`: a variable is stored otherwise: in other chunks, behind other codecs, or in the other byte "
        "order.",
        _V + "\n    v:_ChunkSizes = 1 ;",
        _V + "\n    v:_ChunkSizes = 2 ;",
        "Convert with `--chunks` and `--codec`; without `--storage` it does not count.",
        "--storage",
    ),
    _kind(
        "definition-order",
        "With `--storage`: the same types, dimensions, variables or groups of a group are defined in another order.",
        "variables:\n  int v ;\n  int w ;",
        "variables:\n  int w ;\n  int v ;",
        "Define them in the same order; without `--storage` it does not count.",
        "--storage",
    ),
)
