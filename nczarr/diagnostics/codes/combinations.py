"""Codes of combining several datasets into one."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

_TWO = (
    "$ nczarr compile - -o a.zarr --to nczarr\n{}\n"
    "$ nczarr refs combine a.zarr b.zarr -o c.zarr --to nczarr {}\n"
    "netcdf t {{\ndimensions:\n  x = 2 ;\nvariables:\n  int x(x) ;\n  int k(x) ;\n    k:n = 1s ;\n"
    "data:\n  x = 1, 2 ;\n  k = 3, 4 ;\n}}\n"
)
"""Two stores made of one text, and a combination."""

CODES = (
    Code(
        "unmatched-dimension",
        ERROR,
        "`--along` or `--new-dim` does not suit the sources: there is no such dimension or variable, the new dimension "
        "is there already, or nothing would lie along it.",
        "$ nczarr refs combine - -o c.zarr --to nczarr --along y\n"
        "netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\n}\n",
        "`--along` names a dimension of every source; with `--new-dim` it names variables that are stacked.",
    ),
    Code(
        "unequal-sources",
        ERROR,
        "Something differs between sources that are to be combined, and has to be the same: groups, types, dimensions, "
        "variables, attributes that change what a reader computes, or the values of a variable that is not joined.",
        _TWO.format("$ nczarr convert a.zarr b.zarr --to nczarr --section x(0) --section k(0)", "--new-dim n"),
        "Choose what is combined with `--var` and `--group`, or make the sources alike: a packed variable cannot be "
        "combined with one of another scale without new values.",
    ),
    Code(
        "unaligned-chunks",
        ERROR,
        "The chunks of a variable make no grid when the sources are put one behind the other: their lengths or filters "
        "differ, or a source that is not the last ends within a chunk. References can only name chunks as they are.",
        "$ nczarr compile - -o a.zarr --to nczarr\n$ nczarr refs combine a.zarr a.zarr -o c.json --along x --embed 4\n"
        "netcdf t {\ndimensions:\n  x = 3 ;\nvariables:\n  int v(x) ;\n    v:_ChunkSizes = 2 ;\n"
        "    v:_DeflateLevel = 1 ;\ndata:\n  v = 1, 2, 3 ;\n}\n",
        "Write a store or file (`-o OUT.zarr`), for which values are put into new chunks, or leave the variable out "
        "with `--var`.",
    ),
    Code(
        "differing-attributes",
        WARNING,
        "Attributes that no reader computes with, as `history`, differ between sources that are combined; those of the "
        "first source are kept.",
        _TWO.format("$ nczarr convert a.zarr b.zarr --to zarr2", "--new-dim n --along k"),
        "Nothing need be done; if another source has the better ones, name it first.",
    ),
    Code(
        "unordered-coordinate",
        WARNING,
        "The values of the coordinate along which sources are combined do not ascend from each to the next.",
        _TWO.format("$ nczarr convert a.zarr b.zarr --to nczarr", "--along x"),
        "Give the sources in the order of the coordinate. Readers that search it need it ordered.",
    ),
)
