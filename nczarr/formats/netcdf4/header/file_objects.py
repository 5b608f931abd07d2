"""Objects of an HDF5 file: groups, datasets and named types by address, read level by level."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from nczarr.formats.netcdf4.header.attributes import AttributeReader, HeaderAttribute
from nczarr.formats.netcdf4.header.dataset_info import DatasetReader, HeaderDataset
from nczarr.formats.netcdf4.header.datatypes import Datatype
from nczarr.formats.netcdf4.header.file_bytes import HeaderFile, UnreadableHeaderError
from nczarr.formats.netcdf4.header.groups import Link, links
from nczarr.formats.netcdf4.header.messages import DATASPACE, LAYOUT, LINK_INFO, SYMBOL_TABLE, messages

INDEX = 1 << 12
"""Bytes of the first part of a chunk index."""

DEEPEST = 64
"""Maximum nesting of groups."""


class FileObject(NamedTuple):
    """Object of a file: a group, a dataset or a named type."""

    attributes: list[HeaderAttribute]
    """Attributes, in the order of their creation."""
    links: list[Link] | None = None
    """Links of a group."""
    dataset: HeaderDataset | None = None
    """Metadata of a dataset."""
    type: Datatype | None = None
    """Named type."""


def read_objects(file: HeaderFile, root: int) -> dict[int, FileObject]:
    """Return all objects of a file by address. Raises UnreadableHeaderError, also for objects with several links."""
    attributes = AttributeReader(file)
    datasets = DatasetReader(attributes, file.base)
    objects: dict[int, FileObject] = {}
    level = [root]
    for _ in range(DEEPEST + 2):
        objects.update(zip(level, _read_level(file, attributes, datasets, level), strict=True))
        level = [link.address for address in level for link in objects[address].links or ()]
        if not level:
            return objects
        if len(set(level)) < len(level) or not objects.keys().isdisjoint(level):
            raise UnreadableHeaderError("several links to an object")
    raise UnreadableHeaderError("groups")


def _read_level(
    file: HeaderFile, attributes: AttributeReader, datasets: DatasetReader, addresses: list[int]
) -> list[FileObject]:
    return file.together([partial(_read, file, attributes, datasets, address) for address in addresses])


def _read(file: HeaderFile, attributes: AttributeReader, datasets: DatasetReader, address: int) -> FileObject:
    """Return the object at an address. Raises UnreadableHeaderError."""
    found = messages(file, address)
    of_object = attributes.attributes(found)
    if SYMBOL_TABLE in found or LINK_INFO in found:
        return FileObject(of_object, links=links(file, found))
    if LAYOUT in found:
        dataset = datasets.dataset(found)
        if dataset.info.chunk_index is not None:
            file.expect(dataset.info.chunk_index.address, INDEX)
        return FileObject(of_object, dataset=dataset)
    if DATASPACE in found:
        raise UnreadableHeaderError("object")
    return FileObject(of_object, type=attributes.named_type(address, found))
