"""Objects of an HDF5 file: groups, datasets and named types by address, read level by level."""

from __future__ import annotations

import errno
from functools import partial
from typing import NamedTuple

from nczarr.formats.netcdf4.header.attributes import AttributeReader, HeaderAttribute
from nczarr.formats.netcdf4.header.dataset_info import DatasetReader, HeaderDataset
from nczarr.formats.netcdf4.header.datatypes import Datatype
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, UNDEFINED, HeaderFile, UnreadableHeaderError, reason_of
from nczarr.formats.netcdf4.header.groups import Link, links
from nczarr.formats.netcdf4.header.messages import DATASPACE, DATATYPE, LAYOUT, LINK_INFO, SYMBOL_TABLE, messages
from nczarr.formats.netcdf4.objects import NON_COORDINATE

INDEX = 1 << 12
"""Bytes of the first part of a chunk index."""

MOST_OBJECTS = 1 << 24
"""Maximum objects of a file."""


class FileObject(NamedTuple):
    """Object of a file: a group, a dataset, a named type, or another one without these."""

    attributes: list[HeaderAttribute]
    """Attributes, in the order of their creation."""
    links: dict[bytes, Link] | None = None
    """Links of a group by name."""
    dataset: HeaderDataset | None = None
    """Metadata of a dataset."""
    type: Datatype | None = None
    """Named type."""
    problem: str = ""
    """Why the object cannot be read."""


class ObjectTable(NamedTuple):
    """All objects of one file."""

    path: str
    root: int
    """Address of the root group."""
    objects: dict[int, FileObject]
    """Objects by address."""

    def find(self, group: tuple[str, ...], name: str) -> int:
        """Return the address of a variable or type of a file that the netCDF library made. Raises OSError."""
        here = self.root
        try:
            for step in group:
                here = (self.objects[here].links or {})[step.encode()].address
            links = self.objects[here].links or {}
            return (links.get((NON_COORDINATE + name).encode()) or links[name.encode()]).address
        except KeyError:
            raise OSError(errno.EIO, f"the file has no object `{name}`", self.path) from None


def read_objects(file: HeaderFile, path: str) -> ObjectTable:
    """Return all objects of a file. Raises UnreadableHeaderError if its root cannot be read, OSError."""
    root = file.root()
    if file.extension != UNDEFINED:
        messages(file, file.extension)  # refuses what would change the meaning of the rest
    attributes = AttributeReader(file)
    datasets = DatasetReader(attributes, file.base)
    objects: dict[int, FileObject] = {}
    level = [root]
    while level:
        read = file.together([partial(_read, file, attributes, datasets, address) for address in level])
        objects.update(zip(level, read, strict=True))
        below = (link.address for one in read for link in (one.links or {}).values() if link.is_hard)
        level = [address for address in dict.fromkeys(below) if address not in objects]
        if len(objects) > MOST_OBJECTS:
            raise UnreadableHeaderError("too many objects")
    if objects[root].links is None:
        raise UnreadableHeaderError(objects[root].problem or "the root of the file is no group")
    return ObjectTable(path, root, objects)


def _read(file: HeaderFile, attributes: AttributeReader, datasets: DatasetReader, address: int) -> FileObject:
    """Return the object at an address."""
    try:
        header = messages(file, address)
        of_object = attributes.attributes(header)
        if SYMBOL_TABLE in header or LINK_INFO in header:
            return FileObject(of_object, links={link.name: link for link in links(file, header)})
        if LAYOUT in header:
            dataset = datasets.dataset(header)
            if dataset.info.chunk_index is not None:
                file.expect(dataset.info.chunk_index.address, INDEX)
            return FileObject(of_object, dataset=dataset)
        if DATATYPE in header and DATASPACE not in header:
            return FileObject(of_object, type=attributes.read_named_type(address, header))
        return FileObject(of_object)
    except DAMAGE as error:
        return FileObject([], problem=reason_of(error))
