"""Codes of names, references and type definitions (cdl-language §3, §7.1–§7.4)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

CODES = (
    Code(
        "bad-name",
        ERROR,
        "A name that no netCDF library accepts: empty, with a control character, ending in a space, or starting "
        "with a character other than a letter, a digit, an underscore or one outside ASCII.",
        "netcdf t {\nvariables:\n  int v\\  ;\n}\n",
        "Choose another name.",
    ),
    Code(
        "slash-in-name",
        ERROR,
        "A declared name contains `/`, which separates groups in paths and can be in no netCDF name.",
        "netcdf t {\nvariables:\n  int a\\/b ;\n}\n",
        "Choose another name, or make a group and declare the variable inside it.",
    ),
    Code(
        "reserved-attribute",
        WARNING,
        "An attribute has a name by which netCDF-4 files say what is a dimension: `CLASS`, `NAME`, `DIMENSION_LIST` "
        "and others. Classic files and stores hold it; a netCDF-4 file cannot (format-conflict).",
        'netcdf t {\n  :CLASS = "B" ;\n}\n',
        "Rename it.",
    ),
    Code(
        "unmatched-name",
        ERROR,
        "`-v` or `--var`, `-g` or `--group` names no variable or group of the dataset.",
        "$ nczarr dump - -v temp\nnetcdf t {\nvariables:\n  int time ;\n}\n",
        "Correct the name, or give its path: `/g/temp`.",
    ),
    Code(
        "name-too-long",
        ERROR,
        "A name is longer than 256 bytes of UTF-8, the netCDF library's limit.",
        "netcdf t {\nvariables:\n  int " + "v" * 257 + " ;\n}\n",
        "Shorten the name and keep the long form in the attribute `long_name`.",
    ),
    Code(
        "duplicate-name",
        ERROR,
        "Two things of one scope have the same name after Unicode normalisation (NFC), or a member stands twice in a "
        "JSON object. A variable, a type and a group share one name space, a dimension shares it with types and "
        "groups. The rule is the same for every input: files, stores, references, streams and texts.",
        "netcdf t {\ndimensions:\n  x = 1 ;\n  x = 2 ;\n}\n",
        "Rename one of the two; the note shows the first. With `--allow-loss duplicate-name` the first keeps its name, "
        "and the others are read under other names (`x_2`); of members that stand twice the last is read.",
    ),
    Code(
        "duplicate-enum-value",
        ERROR,
        "Two constants of one enum have the same value, so that a stored number would have two names.",
        "netcdf t {\ntypes:\n  byte enum e {a = 1, b = 1} ;\n}\n",
        "Give each constant a value of its own.",
    ),
    Code(
        "undefined-dimension",
        ERROR,
        "A variable uses a dimension that neither its group nor an enclosing one declares.",
        "netcdf t {\nvariables:\n  float t(time) ;\n}\n",
        "Declare the dimension, correct its name, or name one of another group by its path, `/g/x`.",
    ),
    Code(
        "undefined-type",
        ERROR,
        "A type name is neither atomic nor declared. Names of atomic types are lower case: `int`, `int64`, `float`.",
        "netcdf t {\nvariables:\n  int32 v ;\n}\n",
        "Correct the name, or declare the type under `types:` before its first use.",
    ),
    Code(
        "undefined-variable",
        ERROR,
        "An attribute or a value list names a variable that its group does not declare.",
        "netcdf t {\ndata:\n  v = 1 ;\n}\n",
        "Declare the variable, correct the name, or name one of another group by its path.",
    ),
    Code(
        "undefined-enum-constant",
        ERROR,
        "A name among values is no constant of the enum that is wanted, nor any other value.",
        "netcdf t {\ntypes:\n  byte enum e {a = 1} ;\nvariables:\n  e v ;\ndata:\n  v = b ;\n}\n",
        "Use one of the constants that the message lists; text needs double quotes.",
    ),
    Code(
        "undefined-group",
        ERROR,
        "A path leads through a group that is not declared before this place.",
        "netcdf t {\nvariables:\n  float t(/g/x) ;\n}\n",
        "Correct the path, or declare the group earlier.",
    ),
    Code(
        "forward-reference",
        ERROR,
        "A name is used before its declaration, which CDL forbids (the notation allows it).",
        "netcdf t {\ntypes:\n  compound c {b f ;} ;\n  opaque(4) b ;\n}\n",
        "Move the declaration before its first use.",
    ),
    Code(
        "circular-type",
        ERROR,
        "A type contains itself, directly or through others, so that a value would have no end.",
        "netcdf t {\ntypes:\n  t(*) t ;\n}\n",
        "Break the circle; store links between records as indices.",
    ),
    Code(
        "empty-type",
        ERROR,
        "A compound has no field, or an enum no constant.",
        "netcdf t {\ntypes:\n  compound c { } ;\n}\n",
        "Declare at least one.",
    ),
    Code(
        "bad-enum-base",
        ERROR,
        "The base type of an enum is not an integer type.",
        "netcdf t {\ntypes:\n  double enum e {a = 1} ;\n}\n",
        "Use `byte ubyte short ushort int uint int64` or `uint64`.",
    ),
    Code(
        "bad-opaque-size",
        ERROR,
        "An opaque type has a size below one byte.",
        "netcdf t {\ntypes:\n  opaque(0) o ;\n}\n",
        "Give the number of bytes, at least 1.",
    ),
    Code(
        "oversized-type",
        ERROR,
        "One value of a type is larger than 128 MiB, or has more than 65,536 members, those of its members counted.",
        "netcdf t {\ntypes:\n  opaque(1000000000000) o ;\n}\n",
        "Give the variable more dimensions, and the type fewer.",
    ),
    Code(
        "bad-field-size",
        ERROR,
        "A length of an array field is below 1.",
        "netcdf t {\ntypes:\n  compound c {int x(0) ;} ;\n}\n",
        "Give a positive length, or leave the parentheses out for a single value.",
    ),
    Code(
        "bad-dimension-size",
        ERROR,
        "The size of a dimension is negative, above 2^63 - 1, or not an integer.",
        "netcdf t {\ndimensions:\n  x = -1 ;\n}\n",
        "Give a positive integer or `UNLIMITED`.",
    ),
    Code(
        "rank-limit",
        ERROR,
        "A variable has more dimensions than netCDF allows (1024), or values in more than 64, which no array can have.",
        "netcdf t {\ndimensions:\n  x = 1 ;\nvariables:\n  int v(" + ",".join(["x"] * 1025) + ") ;\n}\n",
        "Use fewer dimensions.",
    ),
    Code(
        "undefined-field",
        ERROR,
        "A record given to the builder names a field that its compound type does not have.",
        '>>> b = nczarr.DatasetBuilder()\n>>> b.compound("c", {"x": "int"})\n'
        '>>> b.attribute("a", {"y": 1}, type="c")\n>>> b.finish()\n',
        "Use the names of the type's fields, each once.",
    ),
    Code(
        "repeated-attribute",
        WARNING,
        "A text attribute is given twice; the second replaces the first, as in other tools.",
        'netcdf t {\n  :a = "one" ;\n  :a = "two" ;\n}\n',
        "Remove one of the two.",
    ),
)
