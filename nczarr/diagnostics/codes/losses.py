"""Codes of losses: what a target cannot hold. Value losses are errors, annotation losses warnings."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code
from nczarr.names import closest

_ALLOW = "Write `nczarr`, which keeps it, or accept the loss with `--allow-loss {}`."

VALUE_LOSSES = frozenset(
    {
        *("lost-type", "lost-attribute", "altered-attribute", "lost-nil", "cut-string", "lost-length", "lost-fill"),
        *("renamed-dimension", "unnamed-value", "unsafe-name", "format-conflict"),
        *("bad-metadata", "unreadable-array", "ambiguous-node", "draft-layout", "unreferable-variable"),
        *("lost-union", "lost-mask", "duplicate-name"),
    }
)
"""The losses that are errors until `--allow-loss` names them."""

ALLOWED = VALUE_LOSSES | {"all"}


def not_allowed(word: str) -> str:
    """What to say of a word that names no loss."""
    meant = closest(word, sorted(ALLOWED))
    hint = f"did you mean `{meant}`?" if meant else f"there are: {', '.join(sorted(ALLOWED))}"
    return f"`{word}` is no loss of values; {hint}"


CODES = (
    Code(
        "unreferable-variable",
        ERROR,
        "No references can lead to the chunks of a variable: they are behind a filter that Zarr does not know, have "
        "gaps between fields, or are no chunks at all; and its values are too many for the document to hold them "
        "itself.",
        "$ nczarr compile - --to reference --embed 4\nnetcdf t {\ndimensions:\n  x = 3 ;\nvariables:\n  int v(x) ;\n"
        "data:\n  v = 1, 2, 3 ;\n}\n",
        "`--embed SIZE` lets the document hold more; `--allow-loss unreferable-variable` leaves the variable out.",
    ),
    Code(
        "lost-type",
        ERROR,
        "The target has no such type, and what it shows instead changes what a reader computes: the integers of an "
        "enum without their names, the counts and content of a ragged variable as arrays of their own. Or the type is "
        "one that a text declares only later, and what is of that type would be left out.",
        "$ nczarr compile - --to zarr2\n"
        "netcdf t {\ntypes:\n  byte enum e { off = 0, on = 1 } ;\nvariables:\n  e v ;\ndata:\n  v = on ;\n}\n",
        _ALLOW.format("lost-type"),
    ),
    Code(
        "lost-attribute",
        ERROR,
        "An attribute would be left out: its type is user-defined, it has no value, or its name is one that the "
        "store needs for itself.",
        "$ nczarr compile - --to zarr2\nnetcdf t {\ntypes:\n  opaque(2) key ;\n  key :k = 0XABCD ;\n}\n",
        _ALLOW.format("lost-attribute"),
    ),
    Code(
        "altered-attribute",
        ERROR,
        "An attribute would read otherwise: it is NaN or infinite, which plain JSON shows as a text, or has bytes "
        "that no JSON text holds.",
        "$ nczarr compile - --to zarr2\nnetcdf t {\n  :missing = NaN ;\n}\n",
        _ALLOW.format("altered-attribute"),
    ),
    Code(
        "lost-nil",
        ERROR,
        "A NIL string would become an empty text.",
        "$ nczarr compile - --to zarr2\nnetcdf t {\nvariables:\n  string s ;\ndata:\n  s = NIL ;\n}\n",
        _ALLOW.format("lost-nil"),
    ),
    Code(
        "cut-string",
        ERROR,
        "A string holds a NUL byte. In a netCDF-4 file, and for every reader of CDL, it would end there.",
        '$ nczarr compile - -o t.nc\ndataset t 2.0.0 {\n  attribute note string "a\\x00b"\n}\n',
        _ALLOW.format("cut-string"),
    ),
    Code(
        "lost-length",
        ERROR,
        "An unlimited dimension has a length, and no variable along it that tells it: the dimension would have length "
        "0. In a netCDF-4 file any variable along it tells its length; in CDL only one with values that can be "
        "written, and an enum without a fill value has none where nothing was given.",
        "$ nczarr compile - --kind nc4 -o t.nc\ndataset t 2.0.0 {\n  dimension time unlimited 3\n}\n",
        _ALLOW.format("lost-length"),
    ),
    Code(
        "lost-fill",
        ERROR,
        "An array of a store reads as one value where nothing was written, and its variable is filled with another. "
        "CDL has only the latter, and the values that would have to be printed instead are more than 67 million.",
        '$ nczarr convert . t.cdl\n== .zgroup\n{"zarr_format": 2}\n== v/.zarray\n{"zarr_format": 2, '
        '"shape": [100000000], "chunks": [1000], "dtype": "<i4", "compressor": null, '
        '"filters": null, "order": "C", "fill_value": 7}\n'
        '== v/.zattrs\n{"_ARRAY_DIMENSIONS": ["x"]}\n',
        _ALLOW.format("lost-fill"),
    ),
    Code(
        "renamed-dimension",
        ERROR,
        "A dimension would get another name. Pure Zarr knows dimensions by their simple names only, and arrays of one "
        "group use two of one name and different length; or a variable uses one that a text declares only later.",
        "$ nczarr compile - --to zarr2\n"
        "netcdf t {\ndimensions:\n  x = 2 ;\ngroup: g {\ndimensions:\n  x = 3 ;\nvariables:\n  int v(/x, x) ;\n}\n}\n",
        _ALLOW.format("renamed-dimension"),
    ),
    Code(
        "unnamed-value",
        ERROR,
        "A variable or attribute of an enum type has values that no constant of the enum names. CDL writes enum values "
        "by name alone: the text shows the numbers, and does not compile until the enum names them.",
        "$ nczarr compile - --to cdl\n"
        "dataset t 2.0.0 {\n  enum sky ubyte { clear 0 cloudy 1 }\n  attribute seen sky 7\n}\n",
        _ALLOW.format("unnamed-value"),
    ),
    Code(
        "lost-annotations",
        WARNING,
        "The target does not keep some things that change no computed value: types of attributes, unlimited "
        "dimensions, storage hints and the like. `--verbose` lists them one by one.",
        "$ nczarr compile - --to zarr2\nnetcdf t {\n  :level = 5s ;\n}\n",
        "Write `nczarr` if they matter.",
    ),
    Code(
        "unreadable-char",
        WARNING,
        "`--char netcdf` writes char arrays as `>S1`, which only the netCDF library reads; to zarr-python and xarray "
        "the whole group becomes unreadable.",
        "$ nczarr compile - --char netcdf\nnetcdf t {\nvariables:\n  char c ;\n}\n",
        "Leave the option out: char arrays are `|S1` then, which all read.",
    ),
    Code(
        "unsafe-name",
        ERROR,
        "A name cannot be part of a store's keys: it has a slash or more than 255 bytes, starts with a dot, is "
        "`zarr.json` (in Zarr v3), or a group and a variable beside it share it. Or it has no spelling in the text: "
        "CDL cannot name anything `_`, nor begin a name with an invisible space.",
        "$ nczarr compile -\nnetcdf t {\nvariables:\n  int " + "v" * 256 + " ;\n}\n",
        "Rename it, or write a text format, which holds any name.",
    ),
    Code(
        "reserved-name",
        WARNING,
        "A name begins with two underscores, which the Zarr v3 specification keeps for itself. zarr-python, xarray and "
        "tensorstore open it all the same; other readers may not.",
        "$ nczarr compile - --to nczarr3\nnetcdf t {\nvariables:\n  int __v ;\n}\n",
        "Rename it, or write `nczarr`, if all readers of Zarr v3 shall open the store.",
    ),
    Code(
        "unmatched-chunks",
        ERROR,
        "`--chunks` names no dimension or variable of the dataset, or has another number of lengths than the variable "
        "has dimensions.",
        "$ nczarr compile - --chunks long=4\nnetcdf t {\ndimensions:\n  lon = 8 ;\nvariables:\n  int v(lon) ;\n}\n",
        "Correct the name, or give one length a dimension.",
    ),
    Code(
        "unmatched-shards",
        ERROR,
        "`--shards` names no dimension or variable of the dataset, has another number of lengths than the variable has "
        "dimensions, does not make whole chunks, or is given for a target without shards.",
        "$ nczarr compile - --to zarr3 --chunks lon=4 --shards lon=6\n"
        "netcdf t {\ndimensions:\n  lon = 8 ;\nvariables:\n  int v(lon) ;\n}\n",
        "Give multiples of the chunk lengths, or `--shards auto`.",
    ),
    Code(
        "unmatched-order",
        ERROR,
        "`--order F` is given for a target whose chunks have no other order than C.",
        "$ nczarr compile - --to nczarr --order F\nnetcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\n}\n",
        "Leave it out, or write `zarr3-2019`.",
    ),
    Code(
        "unmatched-separator",
        ERROR,
        "`--separator` is given for a target whose keys of chunks have no other than one.",
        "$ nczarr compile - --to nczarr --separator /\nnetcdf t {\n}\n",
        "Leave it out, or write `zarr3-2019`.",
    ),
    Code(
        "bad-codec",
        ERROR,
        "A codec specification is none, is meant for a variable that is not there, or names a codec that the target "
        "has not.",
        "$ nczarr compile - --codec zlib:12\nnetcdf t {\n}\n",
        "Write `none`, or steps joined by `+`: `zlib:5`, `shuffle+zstd:3`, `bz2:9`, `blosc:lz4:5`, `fletcher32`; for "
        "Zarr v3 also `gzip:5` and `crc32c`.",
    ),
    Code(
        "oversized-fill",
        ERROR,
        "The fill value of a ragged variable is a list that would stand in so many cells that no store should hold it.",
        "$ nczarr compile -\nnetcdf t {\ntypes:\n  int(*) row ;\ndimensions:\n  x = 1000000000 ;\nvariables:\n"
        "  row r(x) ;\n  row r:_FillValue = {1, 2} ;\n}\n",
        "Use an empty list as the fill value.",
    ),
)
