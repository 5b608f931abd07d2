"""Codes of values: attributes, fill values and `data:` (cdl-language §5.8, §5.9, §7.3)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

CODES = (
    Code(
        "value-range",
        ERROR,
        "A number lies outside the range of the type that shall hold it; NaN and infinity fit no integer type.",
        "netcdf t {\n  byte :a = 300 ;\n}\n",
        "Correct the number, or use a wider type.",
    ),
    Code(
        "type-mismatch",
        ERROR,
        "A constant is of another kind than its target: text in a numeric variable, a number for an enum, NIL "
        "outside strings.",
        'netcdf t {\nvariables:\n  int v ;\ndata:\n  v = "one" ;\n}\n',
        "Write a constant of the target's type; the message names it.",
    ),
    Code(
        "mixed-types",
        ERROR,
        "An attribute without a declared type has both text and numbers, so that no type holds them all.",
        'netcdf t {\n  :a = "x", 1 ;\n}\n',
        "Make two attributes, or quote the number.",
    ),
    Code(
        "too-many-values",
        ERROR,
        "More values are given than the variable, row or record holds. Other tools drop the rest without a word.",
        "netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\ndata:\n  v = 1, 2, 3 ;\n}\n",
        "Remove the surplus, or enlarge the dimension.",
    ),
    Code(
        "empty-data",
        ERROR,
        "A value list in `data:` is empty.",
        "netcdf t {\nvariables:\n  int v ;\ndata:\n  v = ;\n}\n",
        "Give a value, or leave the line out: what is not given is fill.",
    ),
    Code(
        "duplicate-data",
        ERROR,
        "A variable has two value lists.",
        "netcdf t {\nvariables:\n  int v ;\ndata:\n  v = 1 ;\n  v = 2 ;\n}\n",
        "Keep one of the two.",
    ),
    Code(
        "missing-braces",
        ERROR,
        "A compound or vlen value, an array field, or the values along an inner unlimited dimension lack their braces.",
        "netcdf t {\ntypes:\n  int(*) row ;\nvariables:\n  row r ;\ndata:\n  r = 1 ;\n}\n",
        "Enclose the values that belong together in `{ }`.",
    ),
    Code(
        "unexpected-braces",
        ERROR,
        "Braces enclose values of a plain array, which CDL writes as one flat list.",
        "netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\ndata:\n  v = {1, 2} ;\n}\n",
        "Remove the braces.",
    ),
    Code(
        "opaque-length",
        ERROR,
        "A hexadecimal constant has more bytes than its opaque type.",
        "netcdf t {\ntypes:\n  opaque(1) o ;\nvariables:\n  o v ;\ndata:\n  v = 0x0102 ;\n}\n",
        "Write two hexadecimal digits a byte.",
    ),
    Code(
        "short-opaque",
        WARNING,
        "A hexadecimal constant has fewer bytes than its opaque type; zero bytes are appended.",
        "netcdf t {\ntypes:\n  opaque(2) o ;\nvariables:\n  o v ;\ndata:\n  v = 0x01 ;\n}\n",
        "Write two hexadecimal digits a byte.",
    ),
    Code(
        "fill-in-attribute",
        ERROR,
        "The fill mark `_` stands in an attribute. Attributes have no fill value.",
        "netcdf t {\n  :a = 1, _ ;\n}\n",
        "Write the value itself.",
    ),
    Code(
        "empty-attribute",
        ERROR,
        "A numeric attribute has no value. Only char and string attributes may be empty.",
        "netcdf t {\n  int :a = ;\n}\n",
        "Give a value, or leave the attribute out.",
    ),
    Code(
        "fill-value-count",
        ERROR,
        "`_FillValue` has no value or several.",
        "netcdf t {\nvariables:\n  int v ;\n  v:_FillValue = 1, 2 ;\n}\n",
        "Give exactly one; further values that mean missing go into `missing_value`.",
    ),
    Code(
        "zero-dimension",
        WARNING,
        "A dimension has size 0, which the netCDF library takes for unlimited.",
        "netcdf t {\ndimensions:\n  x = 0 ;\n}\n",
        "Write `UNLIMITED`, or a positive size.",
    ),
    Code(
        "converted-value",
        WARNING,
        "A text stands where a number is wanted, or a number where a text is, and is converted.",
        'netcdf t {\n  int :a = "12" ;\n}\n',
        "Write the constant in the target's own form.",
    ),
    Code(
        "truncated-string",
        WARNING,
        "A value of type string holds a NUL byte, where every reader ends it.",
        'netcdf t {\n  string :a = "one\\000two" ;\n}\n',
        "Use char, which keeps NUL bytes, or two strings.",
    ),
    Code(
        "untyped-attribute",
        ERROR,
        "The values of an attribute are of a kind that tells no type: braces, NIL, or hexadecimal constants.",
        "netcdf t {\n  :a = NIL ;\n}\n",
        "Write the type before the name: `string :a = NIL ;`.",
    ),
    Code(
        "no-fill-value",
        ERROR,
        "A value is left out, and its type has no fill value: an enum without `_FillValue` and without a constant of "
        "value 0.",
        "netcdf t {\ntypes:\n  byte enum e {one = 1} ;\nvariables:\n  e v ;\ndata:\n  v = _ ;\n}\n",
        "Give the variable a `_FillValue`, or write a constant of the enum.",
    ),
    Code(
        "too-few-values",
        ERROR,
        "Fewer rows or values are given than there must be, at a place that fill cannot stand in for.",
        "netcdf t {\ndimensions:\n  x = 2 ;\n  u = UNLIMITED ;\nvariables:\n  int v(x, u) ;\ndata:\n"
        "  v = {1, 2} ;\n}\n",
        "Write `{}` for a row without values.",
    ),
    Code(
        "bad-constant",
        ERROR,
        "The value of an attribute does not suit its user-defined type: wrong size, or a number that its enum lacks.",
        "",
        "Correct the value, or the type.",
    ),
    Code(
        "shape-mismatch",
        ERROR,
        "The data given to the builder do not have the shape of their variable.",
        '>>> b = nczarr.DatasetBuilder()\n>>> b.variable("v", "int", [b.dimension("x", 2)])\n'
        '>>> b.finish(data={"/v": [1, 2, 3]})\n',
        "Give as many values along each dimension as it is long; along unlimited ones any number.",
    ),
    Code(
        "sign-wrap",
        WARNING,
        "A value is outside its signed or unsigned type but is the other sign's spelling of a value inside, and is "
        "taken as that.",
        "netcdf t {\nvariables:\n  ubyte v ;\ndata:\n  v = -1 ;\n}\n",
        "Write the value of the type itself; the message names it.",
    ),
)
