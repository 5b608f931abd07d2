"""Reads what the netCDF library will ask of a remote file: links and attributes, in every order.

The library reads an image of the bytes that were fetched before. What it lacks
there is noticed, but it might not survive the zeros.
"""

from __future__ import annotations

from collections.abc import Iterable
from ctypes import create_string_buffer

from nczarr.formats.netcdf4.hdf5 import Hdf5, closing
from nczarr.formats.netcdf4.metadata_hints import DATA, HEADER, SIZES, Hints, MetadataPiece, hints
from nczarr.stores.remote_file import RemoteFile

BY_NAME, BY_CREATION = 0, 1
"""Orders of links and attributes (H5_index_t)."""

INDEX = 3136
"""Bytes of a node of a chunk index in three dimensions."""

HARD = 0
"""H5L_TYPE_HARD."""

MOST = 1 << 17
"""Maximum pieces of metadata that are fetched in advance."""


class ReadAhead:
    """Fetches the metadata of one file. `base`: offset of HDF5's data, behind a user block."""

    def __init__(self, h5: Hdf5, file: RemoteFile, base: int) -> None:
        self._h5 = h5
        self._file = file
        self._base = base
        self._seen: set[int] = set()

    def headers(self, links: Iterable[tuple[bytes, int, int]]) -> None:
        """Fetch what hard links lead to, level by level: name, kind and address of each link. Raises OSError."""
        addresses = (address for _, kind, address in links if kind == HARD)
        pieces = [MetadataPiece(HEADER, address, SIZES[HEADER]) for address in addresses]
        while pieces := self._new(pieces):
            self._file.fetch((self._base + piece.address, piece.size) for piece in pieces)
            leads = [self._hints(piece) for piece in pieces]
            pieces = [piece for hints in leads for piece in hints.pieces]
            self._file.indexes += [(self._base + address, INDEX) for hints in leads for address in hints.chunks]

    def _new(self, pieces: Iterable[MetadataPiece]) -> list[MetadataPiece]:
        """Return the pieces that were not fetched before, at most `MOST` in all."""
        new = {piece.address: piece for piece in pieces if piece.address not in self._seen}
        if len(self._seen) > MOST:
            return []
        self._seen.update(new)
        return list(new.values())

    def _hints(self, piece: MetadataPiece) -> Hints:
        if piece.kind == DATA:
            return Hints()
        return hints(piece.kind, self._file.read(self._base + piece.address, piece.size))

    def links(self, group: int) -> None:
        """Read the links of an open group in the order of their creation, if it is known."""
        h5 = self._h5
        h5.links = []
        h5.H5Literate_by_name2(group, b".", BY_CREATION, 0, None, h5.on_link, None, 0)

    def attributes(self, opened: int, count: int) -> None:
        """Read the attributes of an open object. HDF5 reports those that it cannot read later, where they are used."""
        for order in (BY_NAME, BY_CREATION):
            for number in range(count):
                attribute = self._h5.H5Aopen_by_idx(opened, b".", order, 0, number, 0, 0)
                if attribute < 0:
                    break
                with closing(self._h5, "H5Aclose", attribute):
                    if order == BY_NAME:
                        self._value(attribute)

    def _value(self, attribute: int) -> None:
        """Read the value of an open attribute, with lists and texts, and release it."""
        h5 = self._h5
        with (
            closing(h5, "H5Tclose", h5.H5Aget_type(attribute)) as element,
            closing(h5, "H5Sclose", h5.H5Aget_space(attribute)) as space,
        ):
            size = h5.H5Tget_size(element) * max(0, h5.H5Sget_simple_extent_npoints(space))
            if size:
                memory = create_string_buffer(size)
                if h5.H5Aread(attribute, element, memory) >= 0:
                    h5.H5Treclaim(element, space, 0, memory)
