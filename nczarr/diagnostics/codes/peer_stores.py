"""Codes of what other readers do wrong with stores and attributes (`check --for`).

Which reader does what: docs/peers.md. An error is a dataset or variable that the reader cannot open, does not show or
reads wrong; a warning is anything less.
"""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code
from nczarr.diagnostics.codes.peer_examples import ANEW, GONE, array, nczarr, pure, store

CODES = (
    Code(
        "unread-format",
        ERROR,
        "The reader does not read this format at all: netCDF-C no Zarr v3, zarr-python no netCDF file, none of them a "
        "text.",
        store("netcdf-c", {"zarr.json": {"zarr_format": 3, "node_type": "group", "attributes": {}}}),
        "Convert the dataset to a format that the reader knows.",
    ),
    Code(
        "mixed-versions",
        ERROR,
        "A group has documents of Zarr v2 and v3, and readers do not agree on which counts.",
        nczarr(documents={"zarr.json": {"zarr_format": 3, "node_type": "group", "attributes": {}}}),
        "Remove the documents of one version.",
    ),
    Code(
        "zipped-store",
        WARNING,
        "The store is one zip archive, which only some builds of the reader can open.",
        "$ nczarr compile - -o t.zip --to nczarr\n$ nczarr check t.zip --for netcdf-c\nnetcdf t {\n}\n",
        "Convert it to a folder.",
    ),
    Code(
        "broken-document",
        ERROR,
        "A document of a store is no JSON for the reader: it is cut off, has bytes behind its end, or "
        "words that JSON does not have.",
        nczarr(documents={"v/.zattrs": '{"_nczarr_array": {"dimension_references": ["/x"]}}}'}),
        ANEW,
    ),
    Code(
        "escaped-text",
        ERROR,
        "A text of a document is written with `\\u` and four digits, which is JSON, and which the reader does not "
        "decode.",
        nczarr(documents={"v/.zattrs": '{"units": "\\u00b0", "_nczarr_array": {"dimension_references": ["/x"]}}'}),
        ANEW,
    ),
    Code(
        "doubled-attribute",
        WARNING,
        "An attribute stands twice in one document. Readers take the last value, and some show it twice.",
        nczarr(documents={"v/.zattrs": '{"a": 1, "a": 2, "_nczarr_array": {"dimension_references": ["/x"]}}'}),
        "Remove all but one.",
    ),
    Code(
        "odd-format-number",
        ERROR,
        "`zarr_format` is not the version of Zarr that the document is of.",
        nczarr({"zarr_format": 3}),
        "Write the number of the version.",
    ),
    Code(
        "odd-superblock",
        ERROR,
        "`_nczarr_superblock` has no version, or one that is none.",
        nczarr(root={"_nczarr_superblock": {"version": "abc"}}),
        'Write `{"version": "2.0.0"}`.',
    ),
    Code(
        "missing-superblock",
        WARNING,
        "A store lists its members as NCZarr does, and has no superblock that makes it NCZarr.",
        nczarr(root={"_nczarr_superblock": GONE}),
        "Give the root the attribute `_nczarr_superblock`.",
    ),
    Code(
        "missing-lists",
        ERROR,
        "A group of an NCZarr store does not list its dimensions, arrays and groups.",
        nczarr(root={"_nczarr_group": GONE}),
        "Give each group the attribute `_nczarr_group`.",
    ),
    Code(
        "missing-group",
        ERROR,
        "A group has no document of its own: there are arrays below it, or it is listed.",
        pure("netcdf-c", documents={"g/w/.zarray": array(), "g/w/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}}),
        'Give each group a `.zgroup`: `{"zarr_format": 2}`.',
    ),
    Code(
        "missing-array",
        ERROR,
        "A group lists an array that is not stored: its writer died, or it was removed by hand.",
        nczarr(group={"arrays": ["v", "w"]}),
        "Remove the name from the list, or write the array.",
    ),
    Code(
        "hidden-member",
        ERROR,
        "An array or group is stored, and the reader does not show it, because no list names it. We leave out "
        "of the lists what netCDF-C has no type for, so that it opens the rest.",
        nczarr(group={"arrays": []}),
        "Nothing, where the reader has no such type; list it where it has.",
    ),
    Code(
        "missing-description",
        ERROR,
        "An array of an NCZarr store has no `_nczarr_array` among its attributes.",
        nczarr(documents={"v/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}}),
        "Give each array the attribute `_nczarr_array`.",
    ),
    Code(
        "illegal-name",
        ERROR,
        "A name of a store is none for the reader.",
        nczarr(group={"dimensions": {"x": 2, "#": 3}}),
        "Choose a name that begins with a letter and has no `/`.",
    ),
    Code(
        "root-array",
        ERROR,
        "The root of the store is an array itself, and the reader looks for groups.",
        store("netcdf-c", {".zarray": array(), ".zattrs": {"_ARRAY_DIMENSIONS": ["x"]}}),
        "Write the array into a group.",
    ),
    Code(
        "old-layout",
        ERROR,
        "The store was written by netCDF-C 4.8 to 4.9.0, in a layout that its releases from 4.9.3 on do not know.",
        pure("netcdf-c", {"_NCZARR_ARRAY": {"dimrefs": ["/x"], "storage": "chunked"}}),
        ANEW,
    ),
    Code(
        "read-only-layout",
        WARNING,
        "The store was written by netCDF-C 4.9.1 or 4.9.2, in a layout that later releases read and do not write.",
        nczarr(
            {"_nczarr_array": {"dimrefs": ["/x"]}},
            documents={
                ".zgroup": {
                    "zarr_format": 2,
                    "_nczarr_superblock": {"version": "2.0.0"},
                    "_nczarr_group": {"dims": {"x": 2}, "vars": ["v"], "groups": []},
                },
                ".zattrs": GONE,
                "v/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]},
            },
        ),
        ANEW,
    ),
    Code(
        "unknown-attribute-type",
        ERROR,
        "The store gives an attribute a type that netCDF-C does not know.",
        nczarr(attributes={"a": "x"}, types={"a": "|J0"}),
        "Write one of the types of arrays, `>S1` for char, `|Sn` for strings.",
    ),
    Code(
        "quoted-number",
        ERROR,
        "An attribute is typed as a number and written as a text.",
        nczarr(attributes={"a": "5"}, types={"a": "<i4"}),
        "Write a number.",
    ),
    Code(
        "large-number",
        ERROR,
        "An attribute is outside of the type that the store gives it.",
        nczarr(attributes={"a": 70000}, types={"a": "<i2"}),
        "Give it a wider type.",
    ),
    Code(
        "bare-text",
        ERROR,
        "An attribute is typed as text and is written without quotes, because it looks like JSON. netCDF-C writes "
        "so, and reads no more than the first letter.",
        nczarr(attributes={"a": 123}, types={"a": ">S1"}),
        ANEW,
    ),
    Code(
        "empty-list",
        ERROR,
        "An attribute without a type has no values.",
        pure("netcdf-c", attributes={"a": []}),
        "Leave it out, or give it a type.",
    ),
    Code(
        "mixed-list",
        ERROR,
        "An attribute without a type is a list of values of several types.",
        pure("netcdf-c", attributes={"a": [1, 2.5]}),
        "Write all values as numbers of one type, or all as texts.",
    ),
    Code(
        "structured-attribute",
        WARNING,
        "An attribute is what netCDF does not have: an object, null, nested lists; or a list of texts "
        "that nothing says are strings. The reader shows its JSON as a text.",
        pure("netcdf-c", attributes={"a": {"b": 1}}),
        "Write texts, numbers, or lists of numbers.",
    ),
    Code(
        "hidden-attribute",
        WARNING,
        "An attribute has a name that netCDF-C keeps for itself.",
        nczarr(attributes={"CLASS": "x"}, types={"CLASS": ">S1"}),
        "Choose another name.",
    ),
    Code(
        "odd-provenance",
        ERROR,
        "`_NCProperties`, which says who wrote a dataset, is no text.",
        nczarr(root={"_NCProperties": 1}),
        "Write a text, or leave it out.",
    ),
)
