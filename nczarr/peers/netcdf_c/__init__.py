"""netCDF-C: faults with Zarr stores (nczarr-storage).

Observed with 4.10.1 and the development version of August 2026, called 4.10.2 here. Releases before 4.9.3 use
other layouts and are not judged: 4.9.0 sees any current store as pure Zarr.
"""

from __future__ import annotations

from nczarr.peers.netcdf_c import arrays, attributes, dimensions, stores
from nczarr.peers.netcdf_c.view import View
from nczarr.peers.rule import Peer, Rule

NOW = "4.10.1"
BOTH = "4.10.1, 4.10.2"
DATASET = "refuses the whole dataset (-137)"

STORES = (
    Rule(
        "unread-format",
        "cannot open it (-51)",
        BOTH,
        "write Zarr v2: `nczarr convert SRC DST --to nczarr`",
        stores.version_3,
    ),
    Rule(
        "mixed-versions",
        "reads v2, and from 4.10.2 on refuses the store",
        BOTH,
        "write one version",
        stores.both_versions,
    ),
    Rule(
        "zipped-store",
        "needs a build with zip archives, which most are not (-128)",
        "4.9.0, 4.10.1",
        "write a folder",
        stores.archive,
    ),
    Rule(
        "broken-document",
        DATASET,
        BOTH,
        "write the document anew; releases leave the old tail of one that became shorter",
        stores.broken,
    ),
    Rule("escaped-text", "drops the backslash", BOTH, "write UTF-8 as it is, without `\\u`", stores.escaped),
    Rule(
        "doubled-attribute", "lists it twice, with the last value", BOTH, "write each attribute once", stores.repeated
    ),
    Rule("odd-format-number", DATASET, NOW, 'write `"zarr_format": 2`', stores.format_number),
    Rule("odd-superblock", DATASET, NOW, 'write `"_nczarr_superblock": {"version": "2.0.0"}`', stores.superblock),
    Rule(
        "odd-superblock",
        "takes it for pure Zarr from 4.10.2 on",
        "4.10.2",
        'write `{"version": "2.0.0"}`',
        stores.empty_superblock,
    ),
    Rule(
        "missing-superblock",
        "takes the store for pure Zarr: texts are strings, nothing is unlimited, nothing hidden",
        NOW,
        'write the root attribute `"_nczarr_superblock": {"version": "2.0.0"}`',
        stores.no_superblock,
    ),
    Rule(
        "missing-lists",
        "hides all members",
        NOW,
        'write `"_nczarr_group": {"dimensions": {…}, "arrays": […], "groups": […]}`',
        stores.no_lists,
    ),
    Rule("missing-group", "crashes", NOW, 'write a `.zgroup`: `{"zarr_format": 2}`', stores.no_group),
    Rule(
        "missing-array",
        "refuses the whole dataset (-36)",
        BOTH,
        "write the array, or a list without its name",
        stores.listed,
    ),
    Rule("hidden-member", "hides it", BOTH, "", stores.unlisted),
    Rule(
        "missing-description",
        DATASET,
        NOW,
        'write `"_nczarr_array": {"dimension_references": […]}`',
        stores.undescribed,
    ),
    Rule(
        "illegal-name",
        "refuses the whole dataset (-59)",
        NOW,
        "write a name that netCDF can have",
        stores.illegal_names,
    ),
    Rule("root-array", "shows an empty dataset", NOW, "write the array in a group", stores.root_array),
    Rule(
        "old-layout",
        "takes the store for pure Zarr, from 4.9.3 on",
        BOTH,
        "write the layout of today: `nczarr convert SRC DST`",
        stores.capitals,
    ),
    Rule(
        "read-only-layout",
        "reads it, and refuses to change it (-37)",
        NOW,
        "write the layout of today: `nczarr convert SRC DST`",
        stores.read_only,
    ),
)

ARRAYS = (
    Rule(
        "missing-member",
        DATASET,
        BOTH,
        "write all members: `zarr_format`, `shape`, `dtype`, `chunks`, `fill_value`, `order`",
        arrays.missing,
    ),
    Rule("bad-shape", DATASET, NOW, "write a list of lengths", arrays.shapes),
    Rule("bad-chunks", DATASET, NOW, "write one length above 0 for each axis", arrays.chunks),
    Rule(
        "column-order",
        "reads the values in the wrong order",
        BOTH,
        'write `"order": "C"`, and the values so',
        arrays.column_order,
    ),
    Rule("empty-filters", "crashes", BOTH, 'write `"filters": null`', arrays.empty_filters),
    Rule("nameless-codec", "refuses the whole dataset (-136)", NOW, "write the codec's `id`", arrays.nameless_codecs),
    Rule(
        "unread-codec",
        "lists the variable and cannot read its data (-136)",
        BOTH,
        "write zlib, zstd, bz2, blosc, shuffle, fletcher32",
        arrays.unknown_codecs,
    ),
    Rule(
        "shuffled-text",
        "puts the bytes back by items of 8, whatever the document says: the texts are scrambled",
        NOW,
        "leave out the shuffle, which gains nothing for texts: `nczarr convert SRC DST --to nczarr`",
        arrays.shuffled_texts,
    ),
    Rule(
        "unknown-dtype",
        DATASET,
        BOTH,
        "write a type that it knows, or an array that `_nczarr_group` does not list",
        arrays.dtypes,
    ),
    Rule(
        "unmarked-dtype",
        "reads the bytes of each value in reverse",
        BOTH,
        "write `<` or `>` before the type",
        arrays.unmarked,
    ),
    Rule(
        "lettered-char",
        "reads strings of one letter each",
        NOW,
        "write `>S1` if nobody else reads it: `--char netcdf`",
        arrays.letters,
    ),
    Rule(
        "dropped-scalar",
        "drops the variable without a word; 4.10.2 shows it",
        BOTH,
        'write the shape `[1]` with `"dimension_references": []` and `"scalar": 1`',
        arrays.dropped_scalars,
    ),
    Rule(
        "bad-fill",
        "aborts, or refuses the whole dataset (-60, -36)",
        NOW,
        'write a number of the type, `"NaN"`, `"Infinity"`, a text for `S`, or `null`',
        arrays.fills,
    ),
    Rule("rounded-fill", "cuts it to an integer", NOW, "write an integer", arrays.cut_fills),
    Rule(
        "unequal-fills",
        "shows the one, and reads the other where chunks are missing",
        NOW,
        "write the same value twice",
        arrays.two_fills,
    ),
    Rule(
        "odd-chunk",
        "fills the rest with zeros, not with the fill value",
        NOW,
        "write all bytes of the chunk",
        arrays.short_chunks,
    ),
    Rule("odd-separator", "looks for keys with `.`", NOW, "write `.` or `/`", arrays.separators),
)

DIMENSIONS = (
    Rule(
        "bad-dimension",
        "refuses the whole dataset",
        NOW,
        'write `"x": 3` or `"x": {"size": 3, "unlimited": 1}`',
        dimensions.entries,
    ),
    Rule(
        "boolean-unlimited",
        "takes it for a fixed dimension",
        NOW,
        'write `"unlimited": 1`',
        dimensions.boolean_unlimited,
    ),
    Rule("unmarked-scalar", "crashes", NOW, 'write `"scalar": 1` beside the references', dimensions.unmarked_scalars),
    Rule(
        "missing-references",
        "crashes",
        BOTH,
        "write the name of a dimension for each axis",
        dimensions.missing_references,
    ),
    Rule(
        "surplus-references",
        "refuses the whole dataset (-63)",
        BOTH,
        "write the name of a dimension for each axis",
        dimensions.surplus_references,
    ),
    Rule(
        "unknown-reference",
        "crashes",
        BOTH,
        "write the path of a dimension: group and name, nothing escaped",
        dimensions.unknown_references,
    ),
    Rule(
        "sideways-reference",
        "crashes, or refuses the whole dataset (-125)",
        BOTH,
        "write a dimension of a group around the array",
        dimensions.sideways_references,
    ),
    Rule(
        "unequal-lengths",
        "refuses the whole dataset (-63)",
        NOW,
        "write one length a dimension, in every shape",
        dimensions.unequal_lengths,
    ),
    Rule(
        "unnamed-dimension",
        "makes one dimension of all axes of a length: `_Anonymous_Dim_3`",
        NOW,
        "write `_ARRAY_DIMENSIONS`",
        dimensions.unnamed,
    ),
    Rule("missing-names", "crashes", BOTH, "write one name an axis in `_ARRAY_DIMENSIONS`", dimensions.missing_names),
    Rule(
        "surplus-names",
        "makes dimensions that nothing has",
        NOW,
        "write one name an axis in `_ARRAY_DIMENSIONS`",
        dimensions.surplus_names,
    ),
    Rule("illegal-name", "refuses the whole dataset (-125, -36)", NOW, "write a simple name", dimensions.illegal_names),
)

ATTRIBUTES = (
    Rule(
        "unknown-attribute-type",
        "refuses the dataset (-137)",
        BOTH,
        "write `<i4` and the like, `>S1` for char, `|Sn` for strings",
        attributes.unknown_types,
    ),
    Rule(
        "quoted-number",
        "aborts",
        BOTH,
        'write numbers as numbers; `"NaN"`, `"Infinity"`, `"-Infinity"`',
        attributes.quoted_numbers,
    ),
    Rule("large-number", "refuses the dataset (-60)", BOTH, "write a wider type", attributes.large_numbers),
    Rule(
        "bare-text",
        "takes the first letter alone, or refuses the dataset (-36)",
        BOTH,
        "write every text in quotes, whatever it looks like",
        attributes.bare_texts,
    ),
    Rule(
        "empty-list",
        "refuses the dataset (-45)",
        BOTH,
        "write a type in `_nczarr_attr`, or no attribute",
        attributes.empty_lists,
    ),
    Rule(
        "mixed-list",
        "aborts, refuses the dataset (-60), or cuts numbers to integers",
        BOTH,
        "write numbers of one type, or a type in `_nczarr_attr`",
        attributes.mixed_lists,
    ),
    Rule(
        "structured-attribute",
        "shows the text of its JSON",
        BOTH,
        "write texts and numbers; lists of texts with a type in `_nczarr_attr`",
        attributes.structured,
    ),
    Rule("hidden-attribute", "hides it", NOW, "write another name", attributes.hidden_names),
    Rule("odd-provenance", DATASET, NOW, "write a text, or none", attributes.provenance),
)

PEER = Peer(
    "netcdf-c",
    "netCDF-C",
    "4.10.1, and the development head of August 2026 (4.10.2)",
    (*STORES, *ARRAYS, *DIMENSIONS, *ATTRIBUTES),
    View,
    (),
)
