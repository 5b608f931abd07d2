"""Array sources of variables whose parts are decoded together, one section of cells at a time.

A format defines the `VariableSections` and decodes them: messages of a stream, answers
of a server, or calls of a library. `DecodedCells` is a part with the variable's
dimensions, `DecodedContent` a part in a ragged dimension.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, Region, Selection, all_of, every_block, region_or_all
from nczarr.arrays.sources.memory import Window, fill_array
from nczarr.arrays.sources.source import ArraySource, Descr, IndexPlace, Layout, Parts, numpy_dtype
from nczarr.arrays.values.parts import Part, descr, parts
from nczarr.ast.node import TypeName
from nczarr.ast.types import UserType
from nczarr.names.records import frozen

Values: TypeAlias = "Mapping[str, NDArray[Any]]"
"""Values of cells by part."""


class VariableSections:
    """Sections of one variable, picklable. Methods raise OSError."""

    type: TypeName
    shape: tuple[int, ...]
    types: Mapping[str, UserType]
    __slots__ = ()

    @property
    def distant(self) -> bool:
        """True if sections are read over a network."""
        return False

    def place_index(self) -> IndexPlace | None:
        """Return the places of the variable's index and chunks in a file; None without stored chunks."""
        return None

    def meeting(self, region: Region) -> Iterator[tuple[Any, Region]]:
        """Yield sections that meet a region, and their cells; for a shared cell the last section counts."""
        raise NotImplementedError

    def decode(self, section: Any) -> Values:
        """Return the values of a section by part path, in its shape and the parts' dtypes."""
        raise NotImplementedError

    def section(self, region: Selection) -> Any | None:
        """Return the section that is a nonempty region; None if the region has parts of several sections."""
        return None

    def part(self, region: Selection) -> VariableSections | None:
        """Return a nonempty region as a variable of its own; None if that costs as much as the whole variable."""
        return None

    def each(self, call: Callable[[Any], None], sections: Iterable[Any]) -> None:
        """Call a function with each section, in order or concurrently."""
        for section in sections:
            call(section)

    def list_occupied(self, chunks: tuple[int, ...], region: Region) -> Iterator[Index]:
        """Yield the blocks of a region of a part that meet a section, in C order, as `ArraySource.list_occupied`."""
        return every_block(tuple(map(len, region)), chunks)

    def ends(self, part: str, stop: int | None = None) -> Sequence[int]:
        """Return the content ends of the first stretches that reach `stop`; None: of all."""
        raise NotImplementedError

    def content(self, stretch: int) -> Values:
        """Return the values of a stretch by part path, in the parts' dtypes."""
        raise NotImplementedError


@frozen
class DecodedCells(ArraySource):
    """Part with the dimensions of its variable, and possibly of fields."""

    sections: VariableSections
    part: str
    """Path of the part."""
    layout: Layout

    @property
    def distant(self) -> bool:
        """Value of the sections."""
        return self.sections.distant

    def place_index(self) -> IndexPlace | None:
        """Return the places of the variable. Raises OSError."""
        return self.sections.place_index()

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype. Raises OSError."""
        whole = tuple(range(*part.indices(size)[:2]) for part, size in zip(selection, self.layout.shape, strict=True))
        shape = tuple(map(len, whole))
        if not all(shape):
            return fill_array(self.layout, shape)
        rank = len(self.sections.shape)
        rest = tuple(slice(indices.start, indices.stop) for indices in whole[rank:])
        meeting = self.sections.meeting(whole[:rank])
        first = next(meeting, None)
        if first is None:
            return fill_array(self.layout, shape)

        def taken(section: Any, cells: Region) -> tuple[Selection, NDArray[Any]]:
            inside, outside = overlap(cells, whole)
            values = self.sections.decode(section)[self.part]
            return outside, values[(*inside, *rest)] if whole else values

        second = next(meeting, None)
        if second is None:
            outside, values = taken(*first)
            if values.shape == shape:
                return values
        out = fill_array(self.layout, shape)
        if second is None:
            out[outside] = values
            return out

        def put(meeting_section: tuple[Any, Region]) -> None:
            place, values = taken(*meeting_section)
            out[place] = values

        self.sections.each(put, (meeting_section for some in ((first, second), meeting) for meeting_section in some))
        return out

    def list_occupied(self, chunks: tuple[int, ...], region: Region | None = None) -> Iterator[Index]:
        """Return the blocks of a region that meet a section, in C order."""
        return self.sections.list_occupied(chunks, region_or_all(region, self.layout.shape))


def overlap(cells: Region, region: Region) -> tuple[Selection, Selection]:
    """Return the overlap of a section's cells and a region without steps, in coordinates of each."""
    inside, outside = [], []
    for indices, part in zip(cells, region, strict=False):
        step = indices.step
        first = max(0, -(-(part.start - indices.start) // step))
        last = max(first, min(len(indices), -(-(part.stop - indices.start) // step)))
        begin = indices.start + first * step - part.start
        inside.append(slice(first, last))
        outside.append(slice(begin, begin + (last - first) * step, step))
    return tuple(inside), tuple(outside)


@frozen
class DecodedContent(ArraySource):
    """Part with a ragged dimension, whose length the sections define."""

    sections: VariableSections
    part: Part

    @property
    def distant(self) -> bool:
        """Value of the sections."""
        return self.sections.distant

    @property
    def _dtype(self) -> Descr:
        return descr(self.part.type, self.sections.types)

    @property
    def layout(self) -> Layout:
        """Layout in one chunk. Decodes all sections once. Raises OSError."""
        ends = self.sections.ends(self.part.path)
        inner = tuple(length or 0 for length in self.part.shape[1:])
        return in_one_piece(self._dtype, (ends[-1] if ends else 0, *inner))

    def read(self, selection: Selection) -> NDArray[Any]:
        """Return the values of a region, in its shape and the layout's dtype. Raises OSError."""
        start, stop = selection[0].start, selection[0].stop
        ends = self.sections.ends(self.part.path, stop)
        pieces = []
        for number in range(bisect_right(ends, start), len(ends)):
            begin = ends[number - 1] if number else 0
            if begin >= stop:
                break
            inside = slice(max(0, start - begin), min(ends[number], stop) - begin)
            if inside.start < inside.stop:
                pieces.append(self.sections.content(number)[self.part.path][(inside, *selection[1:])])
        if len(pieces) == 1:
            return pieces[0]
        rest = [part.stop - part.start for part in selection[1:]]
        return np.concatenate(pieces) if pieces else np.empty((0, *rest), numpy_dtype(self._dtype))


def read_together(variable_parts: Parts, region: Selection) -> Parts | None:
    """Return the parts of a nonempty region in memory, decoded once; None if they are not decoded together.

    The regions of the returned parts begin at 0.
    """
    sections = _sections_of(variable_parts)
    section = None if sections is None else sections.section(region)
    if sections is None or section is None:
        return None
    decoded = sections.decode(section)
    windows: Parts = {}
    for part in parts(sections.type, sections.shape, sections.types):
        values = decoded[part.path]
        whole = all_of(values.shape)
        windows[part.path] = Window(in_one_piece(descr(part.type, sections.types), values.shape), whole, values)
    return windows


def region_of_lists(variable_parts: Parts, region: Selection) -> Parts | None:
    """Return the parts of a nonempty region of a variable with lists; None if that costs as much as the whole."""
    sections = _sections_of(variable_parts)
    part = None if sections is None else sections.part(region)
    if part is None or all(isinstance(source, DecodedCells) for source in variable_parts.values()):
        return None
    fills = {path: source.layout.fill for path, source in variable_parts.items() if isinstance(source, DecodedCells)}
    return sources(part, fills)


def _sections_of(variable_parts: Parts) -> VariableSections | None:
    """Return the sections of which all parts of a variable are decoded, or None."""
    sections = [
        source.sections if isinstance(source, DecodedCells | DecodedContent) else None
        for source in variable_parts.values()
    ]
    return sections[0] if sections and all(section is sections[0] for section in sections) else None


def in_one_piece(dtype: Descr, shape: tuple[int, ...], fill: bytes | None = None) -> Layout:
    """Return the layout of an unchunked array."""
    return Layout(dtype, shape, tuple([max(1, length) for length in shape]), fill=fill)


def sources(sections: VariableSections, fills: Mapping[str, bytes | None]) -> Parts:
    """Return a variable's array sources by part. `fills`: the fill values of arrays."""
    part_sources: Parts = {}
    for part in parts(sections.type, sections.shape, sections.types):
        lengths = tuple(length for length in part.shape if length is not None)
        if len(lengths) < len(part.shape):
            part_sources[part.path] = DecodedContent(sections, part)
        else:
            layout = in_one_piece(descr(part.type, sections.types), lengths, fills.get(part.path))
            part_sources[part.path] = DecodedCells(sections, part.path, layout)
    return part_sources
