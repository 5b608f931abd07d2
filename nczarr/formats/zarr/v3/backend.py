"""`zarr3`: plan → metadata of a Zarr v3 store: one `zarr.json` for each group and array.

Source: the Zarr v3 core specification; consolidated metadata as in zarr-python.
`_FillValue` is the array's fill value, and an attribute too where xarray
accepts it.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from nczarr.ast import Constant
from nczarr.ast.plain_json import JsonConstant
from nczarr.ast.rectilinear import Lengths, runs_of, varies, write_runs
from nczarr.diagnostics.report import Report
from nczarr.formats.common.consolidated import join_documents
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.formats.zarr.core.writer import Entry, Writer, encode
from nczarr.formats.zarr.v3 import DOCUMENT, codecs, dtypes
from nczarr.formats.zarr.v3.declared_attributes import declare
from nczarr.plan.plans import PartTarget, StorePlan
from nczarr.stores.base import is_metadata


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Yield every metadata key with its document, children first, the root last."""
    return Zarr3Writer(plan).entries()


class Zarr3Writer(Writer):
    """Documents of Zarr v3."""

    def group(self, prefix: str, attributes: Json) -> Iterator[Entry]:
        yield prefix + DOCUMENT, encode({"zarr_format": 3, "node_type": "group", "attributes": attributes})

    def array(self, prefix: str, target: PartTarget, axes: Sequence[str], attributes: Json) -> Iterator[Entry]:
        """Yield `zarr.json` of an array.

        ::

            {"zarr_format": 3, "node_type": "array", "shape": [4, 3], "data_type": "float32",
             "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4, 3]}},
             "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}}, "fill_value": "NaN",
             "codecs": [{"name": "bytes", "configuration": {"endian": "little"}}],
             "attributes": {"units": "K"}, "dimension_names": ["y", "x"]}

        `chunk_shape` is that of a shard, if there are shards. Chunks of different
        lengths are `{"name": "rectilinear", "configuration": {"kind": "inline",
        "chunk_shapes": [[365, 365, [366, 2]], 3]}}`.
        `storage_transformers` are omitted: none exist yet. Texts with invalid
        UTF-8 have type `bytes`.
        """
        layout, utf8 = target.layout, target.utf8
        registered = self.plan.options.target.zarr_names == "registered"
        inner = None if layout.shards is None else layout.chunks
        document = {
            "zarr_format": 3,
            "node_type": "array",
            "shape": layout.shape,
            "data_type": dtypes.data_type(layout.dtype, utf8=utf8, registered=registered),
            "chunk_grid": _grid(layout.shards or layout.chunks, layout.shape),
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "/"}},  # Zarr v3's default
            "fill_value": dtypes.fill_value(layout.dtype, layout.fill, utf8=utf8, registered=registered),
            "codecs": codecs.chain(layout.dtype, layout.codecs, inner, utf8=utf8),
            "attributes": attributes,
            "dimension_names": axes,
        }
        yield prefix + DOCUMENT, encode(document)

    def consolidate(self, documents: Iterator[Entry]) -> Iterator[Entry]:
        """Yield the documents; that of the root contains those of all groups and arrays by path."""
        entries: list[Entry] = []
        for key, document in documents:
            if key == DOCUMENT:
                head = b', "consolidated_metadata": {"kind": "inline", "must_understand": false, "metadata": {'
                document = document.removesuffix(b"}") + head + join_documents(sorted(entries)) + b"}}}"
            if is_metadata(key):
                entries.append((key.removesuffix(DOCUMENT).removesuffix("/"), document))
            yield key, document

    def finish(self, path: str, shown: Json, hidden: Json) -> Json:
        """Return the attributes, with declarations of conventions if requested."""
        options = self.plan.options
        if options.target.declare is None:
            return shown
        declared = (options.target.declarations or {}).get(path)
        is_group = path in self.plan.checked.groups
        return declare(options.target.declare, shown, None if declared is None else dict(declared), is_group=is_group)

    def fill_form(self, constant: Constant) -> JsonConstant:
        return dtypes.fill_attribute(constant)


def _grid(chunks: tuple[int, ...], shape: tuple[int, ...]) -> Json:
    """Return the `chunk_grid` member.

    Icechunk reads lists of lengths alone, so one length stands only where the
    last chunk ends beyond the array.
    """
    if not varies(chunks):
        return {"name": "regular", "configuration": {"chunk_shape": chunks}}
    shapes: list[Any] = []
    for length, extent in zip(chunks, shape, strict=True):
        if isinstance(length, Lengths):
            shapes.append(length.written)
        else:
            shapes.append(write_runs(runs_of(length, extent)) if extent and not extent % length else length)
    return {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": shapes}}
