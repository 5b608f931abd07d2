"""Codes of stores that are read: documents, arrays and chunks (nczarr-storage §15, §17, §18)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, NOTE, WARNING, Code

_ARRAY = (
    '"zarr_format": 2, "shape": [2], "chunks": [2], "dtype": "{}", "fill_value": {}, "order": "C", '
    '"filters": null, "compressor": null'
)

_GROUP_2019 = '== root.group.json\n{{"zarr_format": "http://purl.org/zarr/spec/protocol/core/3.0", {}}}\n'
_ARRAY_2019 = (
    '"zarr_format": "http://purl.org/zarr/spec/protocol/core/3.0", "shape": [2], "data_type": {}, '
    '"chunk_grid": {{"type": "regular", "chunk_shape": [2]}}, "chunk_memory_layout": "C", "chunk_codecs": [], '
    '"fill_value": {}, "extensions": [], "attributes": {{}}'
)

CODES = (
    Code(
        "bad-metadata",
        ERROR,
        "A document of a store is no JSON, or a member of it is missing or is not what it must be. What it describes "
        "is left out. An invalid `fill_value` leaves the array without a fill value.",
        '== .zgroup\n{"zarr_format": 2}\n== v/.zarray\n{"zarr_format": 2, "shape": "wide"}\n',
        "Repair the document, or read the rest with `--allow-loss bad-metadata`; `dump` and `nczarr.open` do so.",
    ),
    Code(
        "unreadable-array",
        ERROR,
        "The model has no type, name or place for an array of a store: dates, UTF-32 texts and objects, names that "
        "netCDF does not have. The array is left out.",
        '== .zgroup\n{"zarr_format": 2}\n== v/.zarray\n{' + _ARRAY.format("<M8[s]", "null") + "}\n"
        '== v/.zattrs\n{"_ARRAY_DIMENSIONS": ["x"]}\n',
        "Write the array with another type, or read the rest with `--allow-loss unreadable-array`; `dump` and "
        "`nczarr.open` do so.",
    ),
    Code(
        "unreadable-chunk",
        ERROR,
        "A chunk of a store or file cannot be decoded: its codec is not known, its bytes are damaged, it has more or "
        "fewer bytes than its shape takes, it is larger than is read at once, or the content of lists ends before "
        "their counts say.",
        '$ nczarr dump .\n== .zgroup\n{"zarr_format": 2}\n== v/.zarray\n{'
        + _ARRAY.format("<i4", "0").replace('"compressor": null', '"compressor": {"id": "zlib", "level": 1}')
        + '}\n== v/.zattrs\n{"_ARRAY_DIMENSIONS": ["x"]}\n== v/0\nno zlib\n',
        "Install what the message names, or leave the variable out: `nczarr dump -h`, `-v`.",
    ),
    Code(
        "untidy-metadata",
        WARNING,
        "A document of a store is no strict JSON, but what it says can be told: bytes stand behind its end, or words "
        "and numbers that JSON does not have. Releases of the netCDF library write such documents.",
        '== .zgroup\n{"zarr_format": 2}\n== .zattrs\n{"title": "T"}}}\n',
        "Write the store anew if other programs shall read it.",
    ),
    Code(
        "stale-extension",
        WARNING,
        "What stands in a store's extension, or in its map of types, does not agree with the plain documents, perhaps "
        "because another program changed the store. The plain documents are believed.",
        '== .zgroup\n{"zarr_format": 2}\n== .zattrs\n{"_nczarr_superblock": {"version": "2.0.0"}, "a": 70000, '
        '"_nczarr_attr": {"types": {"a": "<i2"}}}\n',
        "Nothing needs to be done; a store that is written anew has no such disagreement.",
    ),
    Code(
        "foreign-member",
        WARNING,
        "A document of a store has a member that its protocol does not have. It is not read, and would not be written.",
        _GROUP_2019.format('"extensions": [], "attributes": {}, "notes": "of mine"'),
        "Put what it says among the `attributes`, or into an object of `extensions`.",
    ),
    Code(
        "foreign-extension",
        ERROR,
        "A document of a store names a protocol extension that must be understood and is not known: what the store "
        "holds cannot be told, and nothing of it is read.",
        _GROUP_2019.format(
            '"extensions": [{"extension": "https://example.org/mirrored", "must_understand": true}], "attributes": {}'
        ),
        "Read the store with a program that knows the extension.",
    ),
    Code(
        "fallback-type",
        WARNING,
        "The data type of an array is one of a protocol extension that is not known. The array is read as the core "
        "type that it names as `fallback`.",
        _GROUP_2019.format('"extensions": [], "attributes": {}')
        + "== meta/v.array.json\n{"
        + _ARRAY_2019.format('{"extension": "https://example.org/dates", "type": "days", "fallback": "<i4"}', "0")
        + "}\n",
        "Nothing needs to be done, if the values of that type are what is wanted.",
    ),
    Code(
        "undefined-fill",
        NOTE,
        "The fill value of an array is `null`: what stands where nothing was written is not defined. It is read as "
        "zeros.",
        _GROUP_2019.format('"extensions": [], "attributes": {}')
        + "== meta/v.array.json\n{"
        + _ARRAY_2019.format('"<i4"', "null")
        + "}\n",
        "Nothing needs to be done where all chunks are written.",
    ),
    Code(
        "ambiguous-node",
        ERROR,
        "A node of a hierarchy has the document of an array, and that of a group as well, or others below it, as "
        "groups alone have. What is below it is left out.",
        _GROUP_2019.format('"extensions": [], "attributes": {}')
        + "== meta/v.array.json\n{"
        + _ARRAY_2019.format('"<i4"', "0")
        + "}\n== meta/v/w.array.json\n{"
        + _ARRAY_2019.format('"<i4"', "0")
        + "}\n",
        "Delete one of the two, or read the array with `--allow-loss ambiguous-node`; `dump` and `nczarr.open` do so.",
    ),
    Code(
        "draft-layout",
        ERROR,
        "A Zarr v3 store has metadata in the layout of a netCDF-C draft (pull request 3068), which no release of the "
        "netCDF library writes. The message names the groups, dimensions and types that are not read.",
        '== zarr.json\n{"zarr_format": 3, "node_type": "group", "attributes": '
        '{"_nczarr_superblock": {"version": "3.0.0"}, "_nczarr_group": {"subgroups": ["g"]}}}\n',
        "Read the rest with `--allow-loss draft-layout`; `dump` and `nczarr.open` do so.",
    ),
    Code(
        "unnamed-dimension",
        WARNING,
        "An array of a store does not name a dimension, or names one that has another length there. The dimension is "
        "anonymous.",
        '== .zgroup\n{"zarr_format": 2}\n== v/.zarray\n{' + _ARRAY.format("<i4", "0") + "}\n",
        "Give the array `_ARRAY_DIMENSIONS` (Zarr v2) or `dimension_names` (Zarr v3).",
    ),
)
