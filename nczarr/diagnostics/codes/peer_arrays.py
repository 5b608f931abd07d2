"""Codes of what other readers do wrong with arrays and dimensions (`check --for`).

Which reader does what: docs/peers.md. An error is a dataset or variable that the reader cannot open, does not show or
reads wrong; a warning is anything less.
"""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code
from nczarr.diagnostics.codes.peer_examples import ANEW, GONE, nczarr, pure

CODES = (
    Code(
        "missing-member",
        ERROR,
        "The document of an array lacks a member that the specification demands.",
        nczarr({"order": GONE}),
        "Write all members; `dump --as keys` of a converted store shows them.",
    ),
    Code(
        "bad-shape",
        ERROR,
        "The shape of an array is no list of lengths.",
        nczarr({"shape": ["2"]}),
        "Write integers from 0 on.",
    ),
    Code(
        "bad-chunks",
        ERROR,
        "The chunk lengths of an array are not one length above 0 for each axis.",
        nczarr({"chunks": [0]}),
        "Write integers from 1 on, as many as the shape has.",
    ),
    Code(
        "column-order",
        ERROR,
        "The values of an array's chunks lie in the order of Fortran, which the reader does not heed.",
        pure("netcdf-c", {"shape": [2, 2], "chunks": [2, 2], "order": "F"}, {"_ARRAY_DIMENSIONS": ["y", "x"]}),
        ANEW,
    ),
    Code("empty-filters", ERROR, "`filters` is an empty list.", nczarr({"filters": []}), "Write `null`."),
    Code("nameless-codec", ERROR, "A codec has no `id`.", nczarr({"compressor": {"level": 1}}), "Name the codec."),
    Code(
        "unread-codec",
        ERROR,
        "An array is encoded with a codec that the reader does not have.",
        nczarr({"compressor": {"id": "lz4", "acceleration": 1}}),
        "`nczarr convert --codec` writes another.",
    ),
    Code(
        "shuffled-text",
        ERROR,
        "The bytes of texts (`|S1`, `|Sn`) are shuffled by another item size than the one that the reader takes.",
        nczarr(
            {
                "shape": [2],
                "chunks": [2],
                "dtype": "|S10",
                "fill_value": None,
                "filters": [{"id": "shuffle", "elementsize": 10}],
                "compressor": {"id": "zlib", "level": 1},
            }
        ),
        "Write the texts without a shuffle.",
    ),
    Code(
        "unknown-dtype",
        ERROR,
        "An array has a type that the reader does not know, or knows under another name.",
        nczarr({"dtype": "<c8"}),
        "Write another type, or a store for the reader in question.",
    ),
    Code(
        "unmarked-dtype",
        ERROR,
        "The type of an array has more than one byte and no byte order.",
        nczarr({"dtype": "|i4"}),
        "Write `<` or `>` before it.",
    ),
    Code(
        "lettered-char",
        WARNING,
        "An array of chars is stored as texts of one byte, which most readers know, and which netCDF-C takes "
        "for strings. It has no type for chars that others know.",
        nczarr({"dtype": "|S1", "fill_value": None}, {"nczarr": {"type": "char"}}),
        "Write `>S1` with `--char netcdf` if netCDF-C alone reads the store.",
    ),
    Code(
        "dropped-scalar",
        ERROR,
        "A scalar has the shape `[]`, as the specification of Zarr wants it.",
        pure("netcdf-c", {"shape": [], "chunks": []}, {"_ARRAY_DIMENSIONS": []}),
        "Write `nczarr`, which stores scalars as netCDF-C wants them.",
    ),
    Code(
        "bad-fill",
        ERROR,
        "The reader cannot convert the fill value of an array to its type.",
        nczarr({"fill_value": "0"}),
        "Write a value of the type, or `null`.",
    ),
    Code(
        "rounded-fill",
        WARNING,
        "The fill value of an array of integers is none.",
        nczarr({"fill_value": 1.5}),
        "Write an integer.",
    ),
    Code(
        "unequal-fills",
        WARNING,
        "`_FillValue` among the attributes is another value than `fill_value` of the array, so that missing "
        "chunks do not read as missing values.",
        nczarr({"fill_value": -1}, attributes={"_FillValue": -2}, types={"_FillValue": "<i4"}),
        "Write the same value twice.",
    ),
    Code(
        "odd-chunk",
        ERROR,
        "A chunk that is not encoded has not as many bytes as the array's chunks have.",
        nczarr(documents={"v/0": "four"}),
        "Write whole chunks, those at the edges too.",
    ),
    Code(
        "odd-separator",
        ERROR,
        "`dimension_separator` is neither `.` nor `/`.",
        nczarr({"dimension_separator": "-"}),
        "Write one of the two.",
    ),
    Code(
        "bad-dimension",
        ERROR,
        "A group of an NCZarr store declares a dimension without a length, or none at all.",
        nczarr(group={"dimensions": {"x": 2, "y": "3"}}),
        'Write `"y": 3`, or `"y": {"size": 3, "unlimited": 1}`.',
    ),
    Code(
        "boolean-unlimited",
        WARNING,
        "`unlimited` of a dimension is `true`, and netCDF-C wants the number 1.",
        nczarr(group={"dimensions": {"x": {"size": 2, "unlimited": True}}}),
        "Write 1.",
    ),
    Code(
        "unmarked-scalar",
        ERROR,
        "An array of one element refers to no dimension, and does not say that it is a scalar.",
        nczarr({"shape": [1], "chunks": [1]}, {"dimension_references": []}),
        'Write `"scalar": 1` beside the references.',
    ),
    Code(
        "missing-references",
        ERROR,
        "An array of an NCZarr store does not refer to a dimension for each axis.",
        nczarr(described={"dimension_references": GONE}),
        "Refer to one dimension for each axis.",
    ),
    Code(
        "surplus-references",
        ERROR,
        "An array of an NCZarr store refers to more dimensions than it has axes.",
        nczarr(described={"dimension_references": ["/x", "/x"]}),
        "Refer to one dimension for each axis.",
    ),
    Code(
        "unknown-reference",
        ERROR,
        "An array of an NCZarr store refers to a dimension that no group declares.",
        nczarr(described={"dimension_references": ["/y"]}),
        "Declare the dimension, or refer to another.",
    ),
    Code(
        "sideways-reference",
        ERROR,
        "An array of an NCZarr store refers to a dimension of a group that is not around it.",
        nczarr(
            described={"dimension_references": ["/g/y"]},
            group={"groups": ["g"]},
            documents={
                "g/.zgroup": {"zarr_format": 2},
                "g/.zattrs": {"_nczarr_group": {"dimensions": {"y": 2}, "arrays": [], "groups": []}},
            },
        ),
        "Declare the dimension in a group around the array.",
    ),
    Code(
        "unequal-lengths",
        ERROR,
        "A dimension has one length in one place and another elsewhere.",
        nczarr({"shape": [3]}),
        "Give all arrays over a dimension its length, those over an unlimited one too.",
    ),
    Code(
        "missing-names",
        ERROR,
        "An array does not name all its axes.",
        pure("netcdf-c", {"shape": [2, 2], "chunks": [2, 2]}),
        "Name each axis in `_ARRAY_DIMENSIONS` or `dimension_names`.",
    ),
    Code(
        "surplus-names",
        ERROR,
        "An array names more axes than it has.",
        pure("netcdf-c", attributes={"_ARRAY_DIMENSIONS": ["x", "y"]}),
        "Name each axis once.",
    ),
)
