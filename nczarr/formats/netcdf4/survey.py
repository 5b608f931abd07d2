"""Lists the objects of an HDF5 file, to leave out what crashes the netCDF library and report what it omits.

The library follows all links, even into groups that contain themselves
(libnetcdf 4.10.1 then aborts), and skips unsupported types. The walk opens
each dataset once, and describes those of flat elements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ctypes import byref, create_string_buffer
from typing import Any, NamedTuple

from nczarr.formats.netcdf4.external_links import EXTERNAL, files_of_values
from nczarr.formats.netcdf4.hdf5 import (
    ATTRIBUTES,
    BASIC,
    DATASET,
    GROUP,
    NAMED_TYPE,
    ON_ATTRIBUTE,
    Hdf5,
    ObjectInfo,
    closing,
    links,
)
from nczarr.formats.netcdf4.objects import CHUNKED, FLOAT, INTEGER, NON_COORDINATE, STRING, Describer, ListedObject
from nczarr.formats.netcdf4.unsafe_fill_values import is_fatal

LONGEST_NAME = 255
"""Longest name that the library returns in full, in bytes."""

DEEPEST = 64
"""Maximum nesting of groups in the tree."""

MOST_REPEATED = 10_000
"""Maximum number of visits to known groups by other links."""

RESERVED = frozenset(
    {"_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties", "DIMENSION_LIST", "REFERENCE_LIST"}
)
"""Attributes that the library uses internally."""

_FREQUENT = (b"DIMENSION_LIST", b"_Netcdf4Coordinates", b"_Netcdf4Dimid")
"""Internal attributes of most variables."""

_OF_SCALES = (b"CLASS", b"NAME", b"REFERENCE_LIST")
"""Internal attributes of most dimension scales."""

_OF_ROOT = (b"_NCProperties", b"_nc3_strict")
"""Internal attributes of most root groups."""

_NULL = 2
"""H5S_NULL."""

_TIME = 2
"""H5T_TIME."""

_BY_NAME, _BY_CREATION = 0, 1
"""Orders of links and attributes (H5_index_t)."""

_SCALE = frozenset({"CLASS", "NAME"})
"""Internal attributes of dimension scales, which the library always hides."""


class Survey(NamedTuple):
    """All objects of a file."""

    objects: dict[str, ListedObject]
    """Objects by path."""
    broken: tuple[str, ...] = ()
    """Paths of broken links."""
    elsewhere: tuple[str, ...] = ()
    """Paths in a remote file of links to other files and of datasets with values there, which are not opened."""
    hidden: tuple[tuple[str, str], ...] = ()
    """Path and description of each link that the library must not follow, with names that are not UTF-8 escaped."""
    fatal: tuple[int, ...] = ()
    """Header addresses, relative to HDF5's data, of datasets whose fill value crashes the library."""
    is_damaged: bool = False
    """True if HDF5 failed to answer a question about an object that exists."""
    damaged: tuple[str, ...] = ()
    """Paths of objects that HDF5 cannot read (`damage.py`)."""
    unreadable: tuple[tuple[str, bytes], ...] = ()
    """Path of the object and name of each attribute that HDF5 cannot read (`damage.py`)."""


class _GroupWalk:
    def __init__(self, h5: Hdf5, *, remote: bool) -> None:
        self._h5 = h5
        self._is_remote = remote
        self._describer = Describer(h5)
        self._info = ObjectInfo()
        self.objects: dict[str, ListedObject] = {}
        self.broken: list[str] = []
        self.elsewhere: list[str] = []
        self.hidden: list[tuple[str, str]] = []
        self.fatal: list[int] = []
        self.is_damaged = False
        self._seen: set[tuple[int, bytes]] = set()
        self._repeated = 0
        self._datasets: dict[tuple[int, bytes], ListedObject] = {}
        self._with_files: set[tuple[int, bytes]] = set()
        """Datasets of a remote file with values in other files."""

    def root(self, file: int) -> None:
        """Record all objects of a file. Raises OSError."""
        h5, info = self._h5, self._info
        h5.do("H5Oget_info_by_name3", file, b"/", byref(info), BASIC | ATTRIBUTES, 0)
        if self._is_remote:
            _read_attributes(h5, file, info.attributes)
        self.objects["/"] = ListedObject(info.type, info.attributes, info.file, self._reserved(file, _OF_ROOT))
        self.group(file, "/", ((info.file, bytes(info.token)),))

    def group(self, group: int, path: str, above: tuple[tuple[int, bytes], ...]) -> None:
        """Record the objects below an open group."""
        h5, info = self._h5, self._info
        found = links(h5, group, b".")
        if self._is_remote:
            h5.links = []
            h5.H5Literate_by_name2(group, b".", _BY_CREATION, 0, None, h5.on_link, None, 0)
        for name, link, _ in found:
            place = f"{path.rstrip('/')}/{name.decode('utf-8', 'surrogateescape')}"
            wrong = _fault_of(name)
            if wrong is not None:
                self.hidden.append((place, f"the name of {name!r} in `{path}` {wrong}"))
                continue
            if self._is_remote and link == EXTERNAL:
                self.elsewhere.append(place)
                continue
            if h5.H5Oget_info_by_name3(group, name, byref(info), BASIC | ATTRIBUTES, 0) < 0:
                h5.forget_other_file()  # a link may lead there through another one
                self.broken.append(place)
                continue
            identity = info.file, bytes(info.token)
            if info.type == DATASET:
                listed = self._datasets.get(identity) or self._dataset(group, name, identity)
                if identity in self._with_files:
                    self.elsewhere.append(place)
                else:
                    self.objects[place] = listed
                continue
            listed = ListedObject(info.type, info.attributes, info.file)
            reason = self._reason_to_hide(identity, above) if info.type == GROUP else None
            if reason is not None:
                self.hidden.append((place, f"group `{place}` {reason}"))
                continue
            self.objects[place] = listed
            if info.type == GROUP:
                self._below(group, name, place, (*above, identity), info.attributes)

    def _reason_to_hide(self, identity: tuple[int, bytes], above: tuple[tuple[int, bytes], ...]) -> str | None:
        """Return why the library must not follow a link to a group; None if it may."""
        if identity in above:
            return "contains itself through this link"
        if len(above) > DEEPEST:
            return f"is nested deeper than {DEEPEST}"
        if identity in self._seen:
            if self._repeated == MOST_REPEATED:
                return f"has other links, and more than {MOST_REPEATED} links point to such groups"
            self._repeated += 1
        self._seen.add(identity)
        return None

    def _below(
        self,
        group: int,
        name: bytes,
        path: str,
        above: tuple[tuple[int, bytes], ...],
        attributes: int,
    ) -> None:
        with closing(self._h5, "H5Gclose", self._h5.do("H5Gopen2", group, name, 0)) as opened:
            if self._is_remote:
                _read_attributes(self._h5, opened, attributes)
            self.group(opened, path, above)

    def _dataset(self, group: int, name: bytes, identity: tuple[int, bytes]) -> ListedObject:
        """Return the record of a dataset, which is opened once."""
        h5, attributes = self._h5, self._info.attributes
        number, token = identity
        reserved, scale, found = 0, False, None
        dataset = h5.H5Dopen2(group, name, 0)
        if dataset >= 0:
            with closing(h5, "H5Dclose", dataset):
                found = self._describer.describe_flat(dataset)
                if self._is_remote:
                    _read_attributes(h5, dataset, attributes)
                    if (found is None or found.layout != CHUNKED) and self._has_files(dataset):
                        self._with_files.add(identity)
                        h5.forget_other_file()
                if attributes:
                    scale = _is_scale(h5, dataset)
                    reserved = self._reserved(dataset, (*_FREQUENT, *_OF_SCALES) if scale else _FREQUENT)
        else:
            self.is_damaged = True
        if found is not None and is_fatal(found):
            self.fatal.append(int.from_bytes(token[:8], "little"))
        made = self._datasets[identity] = ListedObject(DATASET, attributes, number, reserved, scale, found)
        return made

    def _has_files(self, dataset: int) -> bool:
        """Return whether an open dataset has values in other files; False if it is damaged, so that none are read."""
        made = self._h5.H5Dget_create_plist(dataset)
        if made < 0:
            return False
        with closing(self._h5, "H5Pclose", made):
            return any(files_of_values(self._h5, made))

    def _reserved(self, opened: int, wanted: tuple[bytes, ...]) -> int:
        """Return how many of these attributes an open object has."""
        answers = [self._h5.H5Aexists(opened, name) for name in wanted]
        if min(answers, default=0) < 0:
            self.is_damaged = True
        return sum(answer > 0 for answer in answers)


def survey(h5: Hdf5, file: int, *, remote: bool = False) -> Survey:
    """Return all objects of a file. Raises OSError.

    `remote`: read everything that the netCDF library will read, which has only the bytes that were read before.
    """
    walk = _GroupWalk(h5, remote=remote)
    walk.root(file)
    left_out = tuple(walk.broken), tuple(walk.elsewhere), tuple(walk.hidden)
    return Survey(walk.objects, *left_out, tuple(walk.fatal), walk.is_damaged)


def _read_attributes(h5: Hdf5, opened: int, count: int) -> None:
    """Read the attributes of an open object. HDF5 reports those that it cannot read later, where they are used."""
    for order in (_BY_NAME, _BY_CREATION):
        for number in range(count):
            attribute = h5.H5Aopen_by_idx(opened, b".", order, 0, number, 0, 0)
            if attribute < 0:
                break
            with closing(h5, "H5Aclose", attribute):
                if order == _BY_NAME:
                    _read_value(h5, attribute)


def _read_value(h5: Hdf5, attribute: int) -> None:
    """Read the value of an open attribute, with lists and texts, and release it."""
    with (
        closing(h5, "H5Tclose", h5.H5Aget_type(attribute)) as element,
        closing(h5, "H5Sclose", h5.H5Aget_space(attribute)) as space,
    ):
        size = h5.H5Tget_size(element) * max(0, h5.H5Sget_simple_extent_npoints(space))
        if size:
            memory = create_string_buffer(size)
            if h5.H5Aread(attribute, element, memory) >= 0:
                h5.H5Treclaim(element, space, 0, memory)


def _fault_of(name: bytes) -> str | None:
    """Return why the library must not see a name; None if it may."""
    if len(name) > LONGEST_NAME:
        return f"has more than {LONGEST_NAME} bytes"
    try:
        name.decode()
    except UnicodeDecodeError:
        return "is not valid UTF-8"
    return None


class ReadNames(NamedTuple):
    """Names that were read from a group, in the file's spelling."""

    dimensions: frozenset[str]
    """Names of dimensions."""
    types: frozenset[str]
    """Names of types."""
    variables: dict[str, frozenset[str]]
    """Attribute names of each variable."""
    attributes: frozenset[str]
    """Names of the group's own attributes."""


def hidden_objects(found: Survey, shown: Mapping[str, ReadNames]) -> Iterator[tuple[str, str]]:
    """Yield path and kind of unread objects. `shown`: what was read, by path of the group; the root's is empty."""
    for place, (kind, *_) in found.objects.items():
        parent, _, name = place.rpartition("/")
        if place == "/" or kind == GROUP:
            continue
        group = shown.get(parent)
        own = name.removeprefix(NON_COORDINATE)
        if kind == DATASET and (group is None or not (own in group.variables or name in group.dimensions)):
            yield place, "dataset"
        elif kind == NAMED_TYPE and (group is None or name not in group.types):
            yield place, "type"
        elif kind not in (DATASET, NAMED_TYPE):
            yield place, "object"


def strange_objects(h5: Hdf5, file: int, found: Survey) -> Iterator[tuple[str, str]]:
    """Yield path and description of objects that libnetcdf 4.10.1 refuses. Raises OSError."""
    for place in found.broken:
        yield place, f"the link `{place}` has no target"
    for place in found.elsewhere:
        yield place, in_other_file(place)
    for place, (kind, *_) in found.objects.items():
        if kind == DATASET:
            with closing(h5, "H5Dclose", h5.do("H5Dopen2", file, place.encode(), 0)) as dataset:
                with closing(h5, "H5Sclose", h5.do("H5Dget_space", dataset)) as space:
                    if h5.H5Sget_simple_extent_type(space) == _NULL:
                        yield place, f"dataset `{place}` has no value (null dataspace)"
                with closing(h5, "H5Tclose", h5.do("H5Dget_type", dataset)) as element:
                    if h5.H5Tget_class(element) == _TIME:
                        yield place, f"dataset `{place}` has the HDF5 time type"
        elif kind == NAMED_TYPE:
            with closing(h5, "H5Tclose", h5.do("H5Topen2", file, place.encode(), 0)) as declared:
                if h5.H5Tget_class(declared) in (INTEGER, FLOAT, STRING):
                    yield place, f"`{place}` is a named atomic type"


def in_other_file(place: str) -> str:
    """Return the description of an object of a remote file that leads to another file."""
    return f"`{place}` leads to another file, and a remote file is read without others"


def hidden_attributes(h5: Hdf5, file: int, place: str, shown: frozenset[str], is_scale: bool) -> list[str]:
    """Return the unread attributes of an object, except internal ones. Raises OSError."""
    found: list[str] = []

    def note(owner: int, name: bytes, info: Any, data: Any) -> int:
        found.append(name.decode("utf-8", "surrogateescape"))
        return 0

    h5.do("H5Aiterate_by_name", file, place.encode(), 0, 0, None, ON_ATTRIBUTE(note), None, 0)
    hidden = [name for name in found if name not in shown and name not in RESERVED]
    return [name for name in hidden if name not in _SCALE] if is_scale else hidden


def _is_scale(h5: Hdf5, dataset: int) -> bool:
    """Return whether an open dataset is marked as a dimension scale. Raises OSError."""
    if h5.H5Aexists(dataset, b"CLASS") <= 0:
        return False
    with (
        closing(h5, "H5Aclose", h5.do("H5Aopen", dataset, b"CLASS", 0)) as attribute,
        closing(h5, "H5Tclose", h5.do("H5Aget_type", attribute)) as kind,
    ):
        if h5.H5Tget_class(kind) != STRING or h5.H5Tis_variable_str(kind) or h5.H5Tget_size(kind) > LONGEST_NAME:
            return False
        text = create_string_buffer(h5.H5Aget_storage_size(attribute) + 1)  # of an array, all elements are read
        h5.do("H5Aread", attribute, kind, text)
        return text.value == b"DIMENSION_SCALE"
