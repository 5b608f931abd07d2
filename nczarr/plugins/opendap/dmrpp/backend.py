"""`write`: dataset → DMR++ document, with one variable's values in memory at a time.

The values of a variable are byte ranges of chunks, or inline values.
"""

from __future__ import annotations

import base64
import itertools
import math
import zlib
from collections.abc import Callable, Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.regions import all_of, grid_of
from nczarr.arrays.sources.source import ArraySource, Descr, Parts, find_unwritten, itemsize, little
from nczarr.arrays.values.parts import Types, descr, part_tree
from nczarr.ast import ATOMIC, EnumType, Storage, Variable
from nczarr.ast.dataset import DEFLATE
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Severity
from nczarr.options import Options
from nczarr.plan.plans import StreamPlan
from nczarr.plugins.opendap.common.dmr_writer import DmrWriter, Projection, XmlAttributes
from nczarr.plugins.opendap.common.packed import PackedCells
from nczarr.plugins.opendap.common.words import DMRPP, escape, is_safe_text, tag, text_of
from nczarr.plugins.opendap.dmrpp.link_plan import Linked, Refused, ValueEncoding, choose_encoding
from nczarr.plugins.opendap.dmrpp.references import FILTER_NAMES, fill_number
from nczarr.semantics.checked import Checked
from nczarr.stores import local_paths
from nczarr.stores.target_urls import UnnamedTargetError, UrlNaming
from nczarr.stores.url import is_remote

VERSION = "3.21.1"
"""Hyrax version of the document style. Without it, Hyrax reorders filters."""


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the lines of the document. Raises OSError, CompileError with unnamed-target."""
    yield from (f"{line}\n".encode() for line in _DmrppWriter(plan.checked, options).lines())


class _DmrppWriter(DmrWriter):
    dialect = "dmrpp"
    unlimited = ("nczarr__unlimited", "true")

    def __init__(self, checked: Checked, options: Options) -> None:
        self.encodings = {fqn: choose_encoding(checked, fqn, options.target) for fqn in checked.variables}
        selected = (fqn for fqn, encoding in self.encodings.items() if not isinstance(encoding, Refused))
        variables = {fqn: tuple(map(range, checked.shapes[fqn])) for fqn in selected}
        dimensions = {fqn: range(dimension.size) for fqn, dimension in checked.dimensions.items()}
        super().__init__(checked, Projection(variables, dimensions))
        self.options = options
        self.naming = UrlNaming(options.target.path or "", options.reading.source, options.target.writing)
        linked = (encoding for encoding in self.encodings.values() if isinstance(encoding, Linked))
        self.first_source = next((encoding.columns.sources[0] for encoding in linked), None)

    def _url(self, source: str) -> str:
        """Return the URL of a target: its bare name if it is in the folder of the document.

        Raises CompileError with `unnamed-target`.
        """
        target, writing = self.options.target.path, self.options.target.writing
        near = target is not None and not is_remote(target) and not is_remote(source) and writing.base is None
        try:
            if near and local_paths.are_neighbours(target or "", source):
                self.naming.check(source)
                return local_paths.name_of(source)
            return self.naming.url(source)
        except UnnamedTargetError as error:
            fault = Diagnostic("unnamed-target", Severity.ERROR, str(error), helps=error.helps)
            raise CompileError([fault]) from None

    def lines(self) -> Iterator[str]:
        """Yield the whole document."""
        dataset = self.checked.dataset
        name = dataset.name if self.first_source is None else local_paths.name_of(self.first_source)
        xml_attributes: XmlAttributes = {
            "dmrpp__href": None if self.first_source is None else self._url(self.first_source),
            "dmrpp__version": VERSION,
            "nczarr__name": dataset.name if dataset.name != local_paths.stem_of(name) else None,
            "nczarr__kind": dataset.kind,
        }
        return self.document("1.0", name, xml_attributes, xmlns__dmrpp=DMRPP)

    def hints(self, fqn: str) -> XmlAttributes:
        """Return the storage of a variable that the document does not tell."""
        return {"nczarr__storage": note_storage(self.checked, fqn, self.encodings[fqn])}

    def values(self, fqn: str, step: str) -> Iterator[str]:
        return value_lines(self.checked, fqn, self.encodings[fqn], self._href, step)

    def _href(self, source: str) -> str | None:
        """Return the URL of a chunk's file, None for the file that the document names first."""
        return None if source == self.first_source else self._url(source)


BATCH = 1 << 14
"""Chunks whose positions are converted to Python numbers at once."""

Href = Callable[[str], str | None]


def value_lines(checked: Checked, fqn: str, encoding: ValueEncoding, href: Href, step: str) -> Iterator[str]:
    """Yield the lines for the values of a variable. Raises OSError, CompileError."""
    variable, shape = checked.variables[fqn], checked.shapes[fqn]
    parts = checked.parts.get(fqn, {})
    if not isinstance(encoding, str):
        yield from (step + line for line in _chunks(checked, fqn, encoding, href))
    if variable.type == "char":  # netCDF-4 stores them as strings of one byte
        yield step + tag("dmrpp:FixedLengthStringArray", string_length=1, pad="null_term")
    if isinstance(encoding, str):
        yield from (step + line for line in _write_values(encoding, parts, variable.type, checked.types, shape))


def _chunks(checked: Checked, fqn: str, encoding: ValueEncoding, href: Href) -> Iterator[str]:
    """Yield the locations of a variable's chunks, and their encoding."""
    variable = checked.variables[fqn]
    dtype = descr(variable.type, checked.types)
    xml_attributes: dict[str, str | int | None] = {}
    if isinstance(encoding, Linked):
        codecs = encoding.stored.codecs
        levels = (str(codec.parameters[0]) for codec in codecs if codec.id == DEFLATE and codec.parameters)
        xml_attributes["compressionType"] = " ".join(FILTER_NAMES[codec.id] for codec in codecs) or None
        xml_attributes["deflateLevel"] = " ".join(levels) or None
        xml_attributes |= {"byteOrder": "BE" if encoding.big else "LE", "structOffset": _member_ends(dtype)}
    xml_attributes |= _fill_attributes(checked, fqn)
    yield tag("dmrpp:chunks", **xml_attributes, closed=False)
    lengths = _lengths(variable, encoding)
    if lengths is not None:
        words = " ".join(map(str, lengths))
        yield f"    <dmrpp:chunkDimensionSizes>{words}</dmrpp:chunkDimensionSizes>"
    if isinstance(encoding, Linked):
        yield from ("    " + line for line in _rows(encoding, checked.shapes[fqn], href))
    yield "</dmrpp:chunks>"


def _lengths(variable: Variable, encoding: ValueEncoding) -> tuple[int, ...] | None:
    """Return the chunk lengths in the document; None for contiguous data."""
    if isinstance(encoding, Linked) and not encoding.one_piece and 0 not in encoding.stored.chunks:
        return encoding.stored.chunks
    chunked = not isinstance(encoding, str) and variable.storage.layout == "chunked"
    return variable.storage.chunks if chunked else None


def note_storage(checked: Checked, fqn: str, encoding: ValueEncoding) -> str | None:
    """Return the storage of a variable as JSON, None if the document implies it."""
    variable = checked.variables[fqn]
    if isinstance(encoding, str):
        plain = Storage(layout="compact") if encoding == "compact" else Storage()
    else:
        lengths = _lengths(variable, encoding)
        big = isinstance(encoding, Linked) and encoding.big and variable.type in ATOMIC
        plain = Storage(
            layout="contiguous" if lengths is None else "chunked",
            chunks=lengths,
            codecs=encoding.stored.codecs if isinstance(encoding, Linked) else (),
            endian="big" if big else None,
        )
    return None if variable.storage == plain else variable.storage.model_dump_json(exclude_defaults=True)


def _member_ends(dtype: Descr) -> str | None:
    """Return the end offsets of the members of packed records."""
    if isinstance(dtype, str):
        return None
    sizes = (itemsize(field) * math.prod(shape) for _, field, shape in dtype)
    return " ".join(map(str, itertools.accumulate(sizes)))


def _rows(linked: Linked, shape: tuple[int, ...], href: Href) -> Iterator[str]:
    """Yield the elements of chunks."""
    columns, chunks = linked.columns, linked.stored.chunks
    urls = [href(place) for place in columns.sources]
    counts = grid_of(shape, chunks)
    for start in range(0, len(columns.chunk), BATCH):
        rows = slice(start, start + BATCH)
        places = (
            zip(*(axis.tolist() for axis in np.unravel_index(columns.chunk[rows], counts)), strict=True)
            if counts
            else None
        )
        table = (columns.source, columns.offset, columns.length, columns.mask)
        facts = zip(*(column[rows].tolist() for column in table), strict=True)
        for source, offset, length, mask in facts:
            position = None
            if places is not None:
                index = next(places)
                # the position of a chunk is that of its first cell
                position = f"[{','.join(str(number * length) for number, length in zip(index, chunks, strict=True))}]"
            yield tag(
                "dmrpp:chunk", offset=offset, nBytes=length, href=urls[source], fm=mask or None,
                chunkPositionInArray=None if linked.one_piece else position,
            )  # fmt: skip


def _fill_attributes(checked: Checked, fqn: str) -> dict[str, str | int | None]:
    """Return the attributes for the value of unwritten cells."""
    variable, source = checked.variables[fqn], checked.parts.get(fqn, {}).get("")
    if variable.type == "string":
        return {}
    constant = checked.fills[fqn]
    if source is None:
        data = constant.data if constant is not None else None
    else:
        data = None if source.undefined else find_unwritten(source)
    if not isinstance(data, bytes):
        return {}
    declared = checked.types.get(variable.type)
    base = declared.base if isinstance(declared, EnumType) else variable.type
    exact = base64.b64encode(data).decode()
    if variable.type == "char":
        text = data.decode("latin-1")
        return {"fillValue": text} if is_safe_text(text) else {"fillValue": "", "nczarr__fill": exact}
    if base in ATOMIC:
        text = text_of(data, base)
        fill_attribute = next(
            (attribute.value.data for attribute in variable.attributes if attribute.name == "_FillValue"), None
        )
        back = fill_number(text, base, fill_attribute if isinstance(fill_attribute, bytes) else None)
        return {"fillValue": text, "nczarr__fill": None if back == data else exact}
    return {"fillValue": "0"} if not data.strip(b"\0") else {"fillValue": "unsupported-compound", "nczarr__fill": exact}


def _write_values(element: str, parts: Parts, type_name: str, types: Types, shape: tuple[int, ...]) -> Iterator[str]:
    """Yield the values of a variable in Hyrax's representation."""
    if element == "vlsa":
        yield "<dmrpp:vlsa>"
        for text, same in itertools.groupby(_whole(parts[""]).reshape(-1).tolist()):
            yield "    " + _text(text, len(list(same)))
        yield "</dmrpp:vlsa>"
        return
    if element == "specialstructuredata":
        data = b"".join(_Records(parts, types).rows(part_tree(type_name, types), all_of(shape)))
    else:
        data = _whole(parts[""]).tobytes()
        if element == "missingdata" and math.prod(shape) != 1:
            data = zlib.compress(data)
    yield f"<dmrpp:{element}>{base64.b64encode(data).decode()}</dmrpp:{element}>"


def _whole(source: ArraySource) -> Any:
    """Return all values of an array, little-endian and in C order."""
    return np.ascontiguousarray(little(source.read(all_of(source.layout.shape)))).reshape(source.layout.shape)


def _text(text: bytes | None, count: int) -> str:
    """Return a text with its repeat count; text invalid in XML is deflated."""
    often = count if count > 1 else None
    if text is None:
        return tag("v", c=often, nczarr__nil="true")
    try:
        plain = text.decode()
    except UnicodeDecodeError:
        plain = "\0"
    if is_safe_text(plain):
        return f"{tag('v', c=often, closed=False)}{escape(plain)}</v>"
    return f"{tag('v', c=often, s=len(text), closed=False)}{base64.b64encode(zlib.compress(text)).decode()}</v>"


class _Records(PackedCells):
    """Records: packed members, and texts as base64 before a `;`."""

    def text(self, text: bytes) -> bytes:
        return base64.b64encode(text) + b";"
