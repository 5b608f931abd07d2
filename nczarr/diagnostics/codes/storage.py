"""Codes of storage: chunks, filters and other special attributes (cdl-language §8)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

CODES = (
    Code(
        "bad-special-value",
        ERROR,
        "A special attribute has a value that it does not know.",
        'netcdf t {\nvariables:\n  int v ;\n  v:_Storage = "heap" ;\n}\n',
        "Use one of the values that the message lists.",
    ),
    Code(
        "bad-chunk-size",
        ERROR,
        "Chunk lengths do not suit the variable: one a dimension, each from 1 up to the size of a fixed dimension.",
        "netcdf t {\ndimensions:\n  x = 4 ;\nvariables:\n  int v(x) ;\n  v:_ChunkSizes = 8 ;\n}\n",
        "Correct the lengths, or leave `_ChunkSizes` out for a default.",
    ),
    Code(
        "filter-on-scalar",
        ERROR,
        "A scalar variable asks for chunks, compression or another filter. It is one value and has no chunks.",
        "netcdf t {\nvariables:\n  int v ;\n  v:_DeflateLevel = 5 ;\n}\n",
        "Remove the special attribute.",
    ),
    Code(
        "misplaced-special",
        ERROR,
        "A special attribute stands where it means nothing: one of variables on a group, one of the dataset on a "
        "variable, or one with a declared type.",
        "netcdf t {\n  :_DeflateLevel = 5 ;\n}\n",
        "Move it: `_Format`, `_NCProperties`, `_IsNetcdf4` and `_SuperblockVersion` belong to the root, the others to "
        "variables.",
    ),
    Code(
        "unknown-special",
        WARNING,
        "An attribute has almost the name of a special one, and is stored as an ordinary attribute.",
        "netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\n  v:_DeflateLevl = 5 ;\n}\n",
        "Correct the spelling if the special attribute is meant; case matters.",
    ),
    Code(
        "bad-storage",
        ERROR,
        "Two wishes about storage contradict each other or the variable: contiguous with filters or an unlimited "
        "dimension, a byte order for text.",
        'netcdf t {\ndimensions:\n  x = UNLIMITED ;\nvariables:\n  int v(x) ;\n  v:_Storage = "contiguous" ;\n}\n',
        "Remove one of the two.",
    ),
    Code(
        "unknown-codec",
        WARNING,
        "`_Codecs` names a codec that has no HDF5 filter number here; it is left out.",
        'netcdf t {\ndimensions:\n  x = 2 ;\nvariables:\n  int v(x) ;\n  v:_Codecs = "[{\\"id\\": \\"lz77\\"}]" ;\n}\n',
        "Name the filter by its number in `_Filter`.",
    ),
)
