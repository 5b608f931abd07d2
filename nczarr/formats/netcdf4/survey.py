"""What is in an HDF5 file, by HDF5's own listing: to refuse what the netCDF library does not survive, and to say what
it does not show.

The library follows every link, into groups that hold themselves as well (there libnetcdf 4.10.1 aborts the process),
and passes over objects and attributes whose types it has no name for. The walk looks at links and at the kind of
each object, and opens none.
"""

from __future__ import annotations

from collections.abc import Iterator
from ctypes import byref, create_string_buffer
from typing import Any, NamedTuple

from nczarr import names
from nczarr.formats.netcdf4.hdf5 import ON_ATTRIBUTE, ON_LINK, Hdf5, ObjectInfo, closing
from nczarr.formats.netcdf4.objects import FLOAT, INTEGER, NON_COORDINATE, STRING

GROUP, DATASET, NAMED_TYPE = 0, 1, 2
"""H5O_type_t."""

LONGEST_NAME = 255
"""Bytes of a name that the library gives back whole."""

DEEPEST = 64
"""Groups within one another that our trees have."""

MOST_REPEATED = 10_000
"""How often a walk may come to groups that it has seen already, by other links."""

_BASIC, _ATTRIBUTES = 0x1, 0x4
"""What is asked of an object (H5O_INFO_…)."""

RESERVED = frozenset(
    {"_Netcdf4Dimid", "_Netcdf4Coordinates", "_nc3_strict", "_NCProperties", "DIMENSION_LIST", "REFERENCE_LIST"}
)
"""Attributes that are the library's own notes, and no part of a dataset."""

_NULL = 2
"""H5S_NULL."""

_TIME = 2
"""H5T_TIME."""

_SCALE = frozenset({"CLASS", "NAME"})
"""Of dimension scales these are notes too; the library hides them everywhere."""


class Refusal(NamedTuple):
    """Why a file is not given to the library: a code and a message."""

    code: str
    message: str


class Survey(NamedTuple):
    """Every object by its path in the file: its kind, and how many attributes it has; links that lead to none."""

    objects: dict[str, tuple[int, int]]
    broken: tuple[str, ...] = ()


class _Walk:
    def __init__(self, h5: Hdf5, file: int) -> None:
        self._h5 = h5
        self._file = file
        self.objects: dict[str, tuple[int, int]] = {}
        self.broken: list[str] = []
        self._seen: set[tuple[int, bytes]] = set()
        self._repeated = 0

    def group(self, path: str, above: tuple[tuple[int, bytes], ...]) -> Refusal | None:
        """Note a group and all below it; the first thing that the library would not survive ends the walk."""
        for name in self._links(path):
            try:
                text = name.decode()
            except UnicodeDecodeError:
                return Refusal("unreadable-file", f"the name `{name!r}` in `{path}` is no UTF-8")
            place = f"{path.rstrip('/')}/{text}"
            if len(name) > LONGEST_NAME:
                return Refusal("unreadable-file", f"the name of `{place}` has more than {LONGEST_NAME} bytes")
            info = ObjectInfo()
            if self._h5.H5Oget_info_by_name3(self._file, place.encode(), byref(info), _BASIC | _ATTRIBUTES, 0) < 0:
                self.broken.append(place)
                continue
            self.objects[place] = info.type, info.attributes
            if info.type == GROUP:
                refusal = self._below(place, (info.file, bytes(info.token)), above)
                if refusal is not None:
                    return refusal
        return None

    def _below(self, path: str, identity: tuple[int, bytes], above: tuple[tuple[int, bytes], ...]) -> Refusal | None:
        if identity in above:
            return Refusal("unreadable-file", f"group `{path}` is one of the groups that it lies in: they have no end")
        if len(above) > DEEPEST:
            return Refusal("too-deep-nesting", f"groups nest deeper than {DEEPEST}")
        if identity in self._seen:
            self._repeated += 1
            if self._repeated > MOST_REPEATED:
                return Refusal("unreadable-file", f"more than {MOST_REPEATED} links lead to groups that have others")
        self._seen.add(identity)
        return self.group(path, (*above, identity))

    def _links(self, path: str) -> list[bytes]:
        found: list[bytes] = []

        def note(group: int, name: bytes, link: Any, data: Any) -> int:
            found.append(name)
            return 0

        self._h5.do("H5Literate_by_name2", self._file, path.encode(), 0, 0, None, ON_LINK(note), None, 0)
        return found


def survey(h5: Hdf5, file: int) -> Survey | Refusal:
    """Every object of a file, or what the library would not survive. Raises OSError."""
    walk = _Walk(h5, file)
    root = ObjectInfo()
    h5.do("H5Oget_info_by_name3", file, b"/", byref(root), _BASIC | _ATTRIBUTES, 0)
    walk.objects["/"] = root.type, root.attributes
    refusal = walk.group("/", ((root.file, bytes(root.token)),))
    return refusal if refusal is not None else Survey(walk.objects, tuple(walk.broken))


class Shown(NamedTuple):
    """What a reader has of a group: names of its dimensions, types and variables."""

    dimensions: frozenset[str]
    types: frozenset[str]
    variables: frozenset[str]


def hidden_objects(found: Survey, shown: dict[str, Shown]) -> Iterator[tuple[str, str]]:
    """What a reader has not, with a word for what it is. Paths of `shown` are FQNs of groups."""
    for place, (kind, _) in found.objects.items():
        parent, _, name = place.rpartition("/")
        if place == "/" or kind == GROUP:
            continue
        group = shown.get(fqn(parent))
        own = name.removeprefix(NON_COORDINATE)
        if kind == DATASET and (group is None or not (own in group.variables or name in group.dimensions)):
            yield place, "dataset"
        elif kind == NAMED_TYPE and (group is None or name not in group.types):
            yield place, "type"
        elif kind not in (DATASET, NAMED_TYPE):
            yield place, "object"


def strange_objects(h5: Hdf5, file: int, found: Survey) -> Iterator[tuple[str, str]]:
    """Objects because of which libnetcdf 4.10.1 does not open a file: their paths, and what they are in words.

    Raises OSError.
    """
    for place in found.broken:
        yield place, f"the link `{place}` leads nowhere"
    for place, (kind, _) in found.objects.items():
        if kind == DATASET:
            with closing(h5, "H5Dclose", h5.do("H5Dopen2", file, place.encode(), 0)) as dataset:
                with closing(h5, "H5Sclose", h5.do("H5Dget_space", dataset)) as space:
                    if h5.H5Sget_simple_extent_type(space) == _NULL:
                        yield place, f"dataset `{place}` has no value, not even a single one"
                with closing(h5, "H5Tclose", h5.do("H5Dget_type", dataset)) as element:
                    if h5.H5Tget_class(element) == _TIME:
                        yield place, f"dataset `{place}` is of HDF5's type of times"
        elif kind == NAMED_TYPE:
            with closing(h5, "H5Tclose", h5.do("H5Topen2", file, place.encode(), 0)) as declared:
                if h5.H5Tget_class(declared) in (INTEGER, FLOAT, STRING):
                    yield place, f"`{place}` is an atomic type with a name"


def fqn(place: str) -> str:
    """The name in our tree of a group with this path in the file."""
    made = "/"
    for name in place.split("/"):
        if name:
            made = names.join(made, name)
    return made


def hidden_attributes(h5: Hdf5, file: int, place: str, shown: frozenset[str]) -> list[str]:
    """The attributes of an object that a reader has not, and that are no notes of the library. Raises OSError."""
    found: list[str] = []

    def note(owner: int, name: bytes, info: Any, data: Any) -> int:
        found.append(name.decode("utf-8", "surrogateescape"))
        return 0

    h5.do("H5Aiterate_by_name", file, place.encode(), 0, 0, None, ON_ATTRIBUTE(note), None, 0)
    hidden = [name for name in found if name not in shown and name not in RESERVED]
    if not _SCALE.isdisjoint(hidden) and _is_scale(h5, file, place):
        hidden = [name for name in hidden if name not in _SCALE]
    return hidden


def _is_scale(h5: Hdf5, file: int, place: str) -> bool:
    """Whether a dataset says that it is a dimension scale."""
    dataset = h5.H5Dopen2(file, place.encode(), 0)
    if dataset < 0:  # a group
        return False
    with closing(h5, "H5Dclose", dataset):
        if h5.H5Aexists(dataset, b"CLASS") <= 0:
            return False
        with (
            closing(h5, "H5Aclose", h5.do("H5Aopen", dataset, b"CLASS", 0)) as attribute,
            closing(h5, "H5Tclose", h5.do("H5Aget_type", attribute)) as kind,
        ):
            if h5.H5Tget_class(kind) != STRING or h5.H5Tis_variable_str(kind) or h5.H5Tget_size(kind) > LONGEST_NAME:
                return False
            text = create_string_buffer(LONGEST_NAME + 1)
            h5.do("H5Aread", attribute, kind, text)
            return text.value == b"DIMENSION_SCALE"
