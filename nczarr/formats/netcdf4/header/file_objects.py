"""Objects of an HDF5 file by address, links of its groups, and the objects that links lead to, also in other files.

Links have the order in which the netCDF library takes them. Source: HDF5 File
Format Specification 3.0, III.A.1 (version 1 B-trees), III.B, III.C (symbol
tables), IV.A.2.c and g (link messages).
"""

import errno
import os
from collections.abc import Callable, Iterator
from functools import partial
from struct import unpack_from
from typing import NamedTuple, TypeAlias

from nczarr.formats.netcdf4.header.dataset_info import DatasetReader, HeaderDataset
from nczarr.formats.netcdf4.header.datatypes import NON_COORDINATE, Datatype
from nczarr.formats.netcdf4.header.file_bytes import (
    DAMAGE,
    UNDEFINED,
    HeaderFile,
    UnknownStructureError,
    UnreadableHeaderError,
    header_file,
    reason_of,
)
from nczarr.formats.netcdf4.header.heaps import DEEPEST, FractalHeap, local_heap, read_tree_records
from nczarr.formats.netcdf4.header.messages import (
    DATASPACE,
    DATATYPE,
    LAYOUT,
    LINK,
    LINK_INFO,
    SYMBOL_TABLE,
    AttributeReader,
    HeaderAttribute,
    Messages,
    messages,
    only,
)
from nczarr.stores import local_paths
from nczarr.stores.places import find_remote_file

BY_NAME = 5
"""Type of the B-tree of a group's links by name."""

_TRACKED = 1
"""Flag of a group whose links have a creation order."""

_SYMBOL = 40
"""Bytes of an entry of a symbol table."""

_SOFT_SYMBOL = 2
"""Kind of an entry that is a soft link; kinds of hard links are smaller."""

HARD, SOFT, EXTERNAL = 0, 1, 64
"""Kinds of links (H5L_type_t); programs may define others."""


class Link(NamedTuple):
    """Link of a group."""

    name: bytes
    kind: int
    address: int
    """Address of the object's header, of a hard link."""
    target: bytes = b""
    """Path of a soft link; of an external link flags, file and path, with a NUL after both."""

    @property
    def is_hard(self) -> bool:
        """True if the link has the address of an object."""
        return self.kind == HARD


def links(file: HeaderFile, header: Messages) -> list[Link]:
    """Return the links of a group by creation if that is noted, else by name. Raises UnreadableHeaderError."""
    if SYMBOL_TABLE in header:
        tree, heap = unpack_from("<QQ", only(header, SYMBOL_TABLE).body)
        names = local_heap(file, heap)
        ordered = sorted((link.name, link) for link in _symbols(file, tree, 0, names))
        return _distinct([link for _, link in ordered])
    info = only(header, LINK_INFO).body
    flags = info[1]
    heap, tree = unpack_from("<QQ", info, 10 if flags & _TRACKED else 2)  # IV.A.2.c, bit 0: a maximal index
    bodies = [message.body for message in header.get(LINK, ())]
    if heap != UNDEFINED:
        blocks = FractalHeap(file, heap)
        bodies += [blocks.get(record[4:]) for record in read_tree_records(file, tree, BY_NAME)]  # after the hash
    parsed = sorted(_parse(body, has_order=bool(flags & _TRACKED)) for body in bodies)
    return _distinct([link for _, link in parsed])


def _distinct(links: list[Link]) -> list[Link]:
    """Return links. Raises UnreadableHeaderError if several have one name."""
    if len({link.name for link in links}) < len(links):
        raise UnreadableHeaderError("several links of a group have one name")
    return links


def _parse(body: bytes, *, has_order: bool) -> tuple[int, Link]:
    """Return creation order (0 if it is not stored) and link of a link message."""
    version, flags = body[0], body[1]
    at, kind, order = 2, HARD, 0
    if flags & 8:  # IV.A.2.g, bit 3: a kind follows; else a hard link
        kind, at = body[at], at + 1
    if flags & 4:  # bit 2: creation order
        (order,) = unpack_from("<Q", body, at)
        at += 8
    elif has_order:
        raise UnreadableHeaderError("a link message is damaged")
    at += bool(flags & 16)  # bit 4: a byte for the encoding of the name
    width = 1 << (flags & 3)  # bits 0 and 1: the width of the name's length
    length = int.from_bytes(body[at : at + width], "little")
    at += width + length
    name, address, target = body[at - length : at], UNDEFINED, b""
    if kind == HARD:
        (address,) = unpack_from("<Q", body, at)
    else:
        (size,) = unpack_from("<H", body, at)  # soft and external links begin with their size
        target = body[at + 2 : at + 2 + size]
        if len(target) < size:
            raise UnreadableHeaderError("a link message is damaged")
    if version != 1:
        raise UnknownStructureError(f"version {version} of a link")
    if not name or len(name) < length:
        raise UnreadableHeaderError("a link message is damaged")
    return order if has_order else 0, Link(name, kind, address, target)


def _name_at(names: bytes, offset: int) -> bytes:
    end = names.find(b"\0", offset)
    if end < 0:
        raise UnreadableHeaderError("a local heap is damaged")
    return names[offset:end]


def _symbols(file: HeaderFile, address: int, depth: int, names: bytes) -> Iterator[Link]:
    """Yield the links below a node of a group's B-tree. `names`: the group's local heap."""
    if depth > DEEPEST:
        raise UnreadableHeaderError("the B-tree of a group is too deep")
    head = file.read(address, 24)
    (count,) = unpack_from("<H", head, 6)
    if head.startswith(b"TREE\0"):
        node = file.read(address + 24, 16 * count + 8)  # a key before each child and after the last one
        if any(unpack_from("<Q", node, 16 * place)[0] >= len(names) for place in range(count + 1)):
            raise UnreadableHeaderError("the B-tree of a group is damaged")
        for place in range(count):
            yield from _symbols(file, unpack_from("<Q", node, 16 * place + 8)[0], depth + 1, names)
        return
    if not head.startswith(b"SNOD\1"):
        raise UnreadableHeaderError("the symbol table of a group is damaged")
    node = file.read(address + 8, _SYMBOL * count)
    for at in range(0, len(node), _SYMBOL):
        name, target, kind, _, value = unpack_from("<QQIII", node, at)  # III.C: scratch space has a soft link's target
        if kind > _SOFT_SYMBOL:
            raise UnreadableHeaderError("the symbol table of a group is damaged")
        if kind == _SOFT_SYMBOL:
            yield Link(_name_at(names, name), SOFT, UNDEFINED, _name_at(names, value))
        else:
            yield Link(_name_at(names, name), HARD, target)


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
    """Why the object, or the value of an attribute, cannot be read."""

    @property
    def has_content(self) -> bool:
        """True if more than attributes was read."""
        return self.links is not None or self.dataset is not None or self.type is not None


Library: TypeAlias = Callable[[str, list[int]], tuple[int, list[FileObject]]]
"""Function that asks the HDF5 library for the address of a file's root and for objects by address. Raises OSError."""


class ObjectTable(NamedTuple):
    """All objects of one file."""

    path: str
    root: int
    """Address of the root group."""
    objects: dict[int, FileObject]
    """Objects by address."""
    is_unclosed: bool = False
    """True if a program has the file open for writing, or did not close it."""

    def find(self, group: tuple[str, ...], name: str) -> int:
        """Return the address of a variable or type of a file that the netCDF library made. Raises OSError."""
        address = self.root
        try:
            for step in group:
                address = (self.objects[address].links or {})[step.encode()].address
            links = self.objects[address].links or {}
            return (links.get((NON_COORDINATE + name).encode()) or links[name.encode()]).address
        except KeyError:
            raise OSError(errno.EIO, f"the file has no object `{name}`", self.path) from None


def read_objects(file: HeaderFile, path: str, library: Library | None = None) -> ObjectTable:
    """Return all objects of a file. Raises UnreadableHeaderError if its root cannot be read, OSError.

    `library`: it is asked for the objects that cannot be read here; None: they have a `problem`.
    """
    doubt = ""
    try:
        root = file.root()
        if file.extension != UNDEFINED:
            messages(file, file.extension)  # refuses what would change the meaning of the rest
    except DAMAGE as error:
        state = "it is open for writing or was not closed, which `h5clear -s` mends: " if file.is_unclosed else ""
        doubt = state + reason_of(error)
        root = _ask(library, path, [], doubt)[0]
    attributes = AttributeReader(file)
    datasets = DatasetReader(attributes, file.base)
    objects: dict[int, FileObject] = {}
    level = [root]
    while level:
        tasks = [partial(_read, file, attributes, datasets, address) for address in level]
        read = [FileObject([], problem=doubt) for _ in level] if doubt else file.together(tasks)
        objects.update(zip(level, read, strict=True))
        doubtful = [address for address, one in zip(level, read, strict=True) if one.problem]
        if doubtful and library is not None:
            _replace_doubtful(objects, doubtful, library, path)
        below = (link.address for address in level for link in (objects[address].links or {}).values() if link.is_hard)
        level = [address for address in dict.fromkeys(below) if address not in objects]
        if len(objects) > MOST_OBJECTS:
            raise UnreadableHeaderError("too many objects")
    if objects[root].links is None:
        raise UnreadableHeaderError(objects[root].problem or "the root of the file is no group")
    return ObjectTable(path, root, objects, file.is_unclosed)


def _ask(library: Library | None, path: str, addresses: list[int], doubt: str) -> tuple[int, list[FileObject]]:
    """Return the root and objects of a file by the library. Raises UnreadableHeaderError for what it refuses too."""
    if library is None:
        raise UnreadableHeaderError(doubt)
    try:
        return library(path, addresses)
    except OSError as error:
        raise UnreadableHeaderError(f"{doubt}; {error.strerror or error}") from None


def _replace_doubtful(objects: dict[int, FileObject], doubtful: list[int], library: Library, path: str) -> None:
    """Replace objects that cannot be read here by those of the library, and add its reason to those that it refuses."""
    try:
        answers = library(path, doubtful)[1]
    except OSError as error:
        answers = [FileObject([], problem=error.strerror or str(error))] * len(doubtful)
    for address, answer in zip(doubtful, answers, strict=True):
        own = objects[address]
        if answer.problem:
            objects[address] = own._replace(problem=f"{own.problem}; {answer.problem}")
        elif own.has_content:  # all but the values of an attribute
            objects[address] = own._replace(attributes=answer.attributes, problem="")
        else:
            objects[address] = answer


def _read(file: HeaderFile, attributes: AttributeReader, datasets: DatasetReader, address: int) -> FileObject:
    damaged = attributes.damaged
    try:
        header = messages(file, address)
        of_object = attributes.attributes(header)
        problem = "the values of an attribute are damaged" if attributes.damaged > damaged else ""
        if SYMBOL_TABLE in header or LINK_INFO in header:
            return FileObject(of_object, links={link.name: link for link in links(file, header)}, problem=problem)
        if LAYOUT in header:
            dataset = datasets.dataset(header)
            if dataset.info.chunk_index is not None:
                file.expect(dataset.info.chunk_index.address, INDEX)
            return FileObject(of_object, dataset=dataset, problem=problem)
        if DATATYPE in header and DATASPACE not in header:  # a dataset has both messages
            return FileObject(of_object, type=attributes.read_named_type(address, header), problem=problem)
        return FileObject(of_object, problem=problem)
    except DAMAGE as error:
        return FileObject([], problem=reason_of(error))


MOST_LINKS = 16
"""Maximum soft and external links that lead to each other."""


class LocatedObject(NamedTuple):
    """Object with the file that has it, and its name in a group."""

    name: str
    """Name of the link."""
    table: ObjectTable
    address: int

    @property
    def object(self) -> FileObject:
        """The object."""
        return self.table.objects[self.address]

    @property
    def identity(self) -> tuple[str, int]:
        """Path of the file and address."""
        return self.table.path, self.address


class LinkedFiles:
    """A file, and the others that its external links lead to. It raises UnreadableHeaderError, and OSError."""

    def __init__(self, path: str, library: Library) -> None:
        with header_file(path) as file:
            self.table = read_objects(file, path, library)
            """Objects of the file."""
        self.is_remote = find_remote_file(path) is not None
        """True for a remote file, whose links lead to no other file: not to those of this machine."""
        self._library = library
        self._tables: dict[str, ObjectTable | None] = {path: self.table}

    def follow(self, link: Link, table: ObjectTable, group: int, depth: int = 0) -> tuple[ObjectTable, int] | None:
        """Return file and address of the object that a link of a group leads to; None for a broken link."""
        if link.is_hard:
            return (table, link.address) if link.address in table.objects else None
        if depth == MOST_LINKS:  # HDF5's own default (H5Pset_nlinks)
            return None
        if link.kind == SOFT:
            return self._walk(link.target.rstrip(b"\0"), table, group, depth + 1)
        if link.kind != EXTERNAL or link.target[:1] != b"\0" or self.is_remote:  # version and flags of a target: 0
            return None
        name, _, path = link.target[1:].partition(b"\0")  # name of the file, NUL, path in it
        other = self._other_file(os.fsdecode(name), table.path)
        return None if other is None else self._walk(b"/" + path.rstrip(b"\0"), other, other.root, depth + 1)

    def _walk(self, path: bytes, table: ObjectTable, group: int, depth: int) -> tuple[ObjectTable, int] | None:
        """Return file and address of the object at a path from a group; None for a broken link."""
        position = table, table.root if path.startswith(b"/") else group
        for name in path.split(b"/"):
            if name in (b"", b"."):  # HDF5 takes `//` and `/./` for `/`
                continue
            link = (position[0].objects[position[1]].links or {}).get(name)
            target = None if link is None else self.follow(link, *position, depth)
            if target is None:
                return None
            position = target
        return position

    def _other_file(self, name: str, path: str) -> ObjectTable | None:
        """Return the objects of the file that an external link names, as HDF5 finds it; None if it cannot be read."""
        prefix = os.environ.get("HDF5_EXT_PREFIX")  # HDF5 looks there first, then beside the file
        folders = [*([] if prefix is None else [prefix]), local_paths.parent_of(path), ""]
        for candidate in (local_paths.join(folder, name) for folder in folders):
            if candidate not in self._tables and os.path.isfile(candidate):
                try:
                    with header_file(candidate) as file:
                        self._tables[candidate] = read_objects(file, candidate, self._library)
                except (*DAMAGE, OSError):
                    self._tables[candidate] = None
            if candidate in self._tables:
                return self._tables[candidate]
        return None
