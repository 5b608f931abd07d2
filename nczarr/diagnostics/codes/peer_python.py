"""Codes of what zarr-python and xarray alone do wrong with stores and netCDF files (`check --for`).

Which reader does what: docs/peers.md. An error is a dataset or variable that the reader cannot open, does not show or
reads wrong; a warning is anything less.
"""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code
from nczarr.diagnostics.codes.peer_examples import array, file, pure, store, version_3

CODES = (
    Code(
        "unsized-shuffle",
        ERROR,
        "The shuffle filter of an array has the element size 0, as netCDF-C writes it: who takes the number as "
        "it stands does not put the bytes back in order.",
        pure(
            "zarr-python", {"filters": [{"id": "shuffle", "elementsize": 0}], "compressor": {"id": "zlib", "level": 1}}
        ),
        "Write the size of the type; `nczarr convert` does.",
    ),
    Code(
        "stale-consolidation",
        ERROR,
        "The consolidated metadata of a store are not those of its documents, and the reader takes the "
        "former. Who changes a store must consolidate it again.",
        pure(
            "zarr-python",
            documents={".zmetadata": {"zarr_consolidated_format": 1, "metadata": {".zgroup": {"zarr_format": 2}}}},
        ),
        "Consolidate the store again, or remove `.zmetadata`.",
    ),
    Code(
        "unknown-member",
        ERROR,
        "A document of Zarr v3 has a member that the reader does not know, and must not pass over.",
        version_3("zarr-python", {"extra": 1}),
        "Put it among the attributes.",
    ),
    Code(
        "unknown-extension",
        ERROR,
        "An array of Zarr v3 has a grid or names of chunks that the reader does not know.",
        version_3("zarr-python", {"chunk_key_encoding": {"name": "mine"}}),
        "Write the array with a `regular` grid and `default` keys.",
    ),
    Code(
        "bad-codecs",
        ERROR,
        "The codecs of an array of Zarr v3 do not turn values into bytes exactly once.",
        version_3("zarr-python", {"codecs": []}),
        "Begin with `bytes`, or `vlen-utf8` for texts.",
    ),
    Code(
        "doubled-dimension",
        WARNING,
        "An array has one dimension twice, which netCDF and Zarr allow, and xarray hardly.",
        pure("xarray", {"shape": [2, 2], "chunks": [2, 2], "fill_value": None}, {"_ARRAY_DIMENSIONS": ["x", "x"]}),
        "Give the second axis a dimension of its own.",
    ),
    Code(
        "clashing-scalar",
        ERROR,
        "A scalar variable has the name of a dimension that another variable has.",
        pure(
            "xarray",
            {"fill_value": None},
            documents={
                "x/.zarray": array(shape=[], chunks=[], fill_value=None),
                "x/.zattrs": {"_ARRAY_DIMENSIONS": []},
            },
        ),
        "Rename one of them.",
    ),
    Code(
        "masking-fill",
        WARNING,
        "An array of Zarr v2 has a fill value, and xarray takes that for missing data wherever it stands. Integers "
        "become floating-point numbers.",
        pure("xarray", {"fill_value": 0}),
        "Write `null`, or open the store with `mask_and_scale=False`.",
    ),
    Code(
        "rounded-integer",
        WARNING,
        "An array of 64-bit integers has a missing value, so that xarray makes doubles of all of them, and "
        "those beyond 2^53 change.",
        pure("xarray", {"dtype": "<i8", "fill_value": -1}, {"_FillValue": -1}),
        "Remove the missing value, or open the dataset with `mask_and_scale=False`.",
    ),
    Code(
        "unencoded-fill",
        ERROR,
        "`_FillValue` of an array of Zarr v3 is not written as xarray writes it: an integer, or the bytes of a "
        "double in base64.",
        version_3("xarray", {"data_type": "float32", "attributes": {"_FillValue": -1.0}}),
        "Write it so, or leave it out.",
    ),
    Code(
        "undecodable-attribute",
        ERROR,
        "An attribute of the CF conventions is not what they say, and xarray follows it: a `scale_factor` "
        "that is a text or a list, `coordinates` that are numbers.",
        pure("xarray", {"fill_value": None}, {"scale_factor": "2"}),
        "Correct it, or open the dataset with `decode_cf=False`.",
    ),
    Code(
        "undecodable-time",
        ERROR,
        "Units with the word `since` are not those of a time that xarray can decode.",
        pure("xarray", {"fill_value": None}, {"units": "months since 2000-01-01"}),
        "Correct them, or open the dataset with `decode_times=False`.",
    ),
    Code(
        "hidden-group",
        WARNING,
        "The reader opens one group at a time, and the root unless told otherwise.",
        pure(
            "xarray",
            {"fill_value": None},
            documents={
                "g/.zgroup": {"zarr_format": 2},
                "g/w/.zarray": array(fill_value=None),
                "g/w/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]},
            },
        ),
        "Open each group with `group=`, or all with `open_datatree`.",
    ),
    Code(
        "unconsolidated-store",
        WARNING,
        "The reader looks for consolidated metadata first, and warns where there are none.",
        store("xarray", {".zgroup": {"zarr_format": 2}}),
        "Write the store with `--consolidated`.",
    ),
    Code(
        "skipped-type",
        ERROR,
        "A variable of a netCDF file has a type that netCDF4-python does not know, so that xarray does not show it: "
        "opaque, records with strings, enums or lists in them, lists of anything but numbers.",
        file("xarray", "types:\n  opaque(2) o ;\nvariables:\n  o v ;\n"),
        "Convert the file to Zarr, where such variables are arrays or groups of arrays.",
    ),
    Code(
        "unread-attribute",
        ERROR,
        "An attribute of a netCDF file has a type that netCDF4-python does not know, and xarray fails to open the "
        "dataset because of it.",
        file("xarray", "types:\n  opaque(2) o ;\nvariables:\n  int v ;\n  o v:a = 0X0102 ;\n"),
        "Remove the attribute.",
    ),
    Code(
        "dropped-dimension",
        WARNING,
        "No variable has a dimension, and xarray knows none without variables.",
        file("xarray", "dimensions:\n  x = 2 ;\n"),
        "Nothing, unless its length says something.",
    ),
)
