"""netCDF model of an HDF5 file: groups, dimensions, types and variables by id.

The rules are those of libnetcdf: dimension scales are dimensions, `_Netcdf4Dimid` numbers them,
`_Netcdf4Coordinates` or `DIMENSION_LIST` name the dimensions of a variable; a dataset without scales gets dimensions by
its lengths, and a type without a name gets one.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nczarr import names
from nczarr.formats.netcdf4.dimension_scales import (
    ALL_INTERNAL,
    CLASS,
    COORDINATES,
    DIMENSION_ID,
    INTERNAL,
    NAME,
    PROVENANCE,
    STRICT,
    DimensionScales,
    HeaderDimension,
    integers,
)
from nczarr.formats.netcdf4.header.dataset_info import HeaderDataset
from nczarr.formats.netcdf4.header.datatypes import (
    ATOMIC_IDS,
    COMPOUND,
    ENUM,
    NON_COORDINATE,
    OPAQUE,
    STRING,
    VLEN,
    Datatype,
    text_of,
)
from nczarr.formats.netcdf4.header.file_objects import EXTERNAL, FileObject, Link, LinkedFiles, LocatedObject
from nczarr.formats.netcdf4.header.messages import HeaderAttribute
from nczarr.semantics.checked import Omission

NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"
"""Start of the name of a dimension scale without a variable."""

FIRST_TYPE = 32
"""Id of the first user-defined type."""

DEEPEST = 64
"""Maximum nesting of groups in the tree."""

MOST_REPEATED = 10_000
"""Maximum number of visits to known groups by other links."""

CLASSES = {COMPOUND: "Compound", ENUM: "Enum", OPAQUE: "Opaque", VLEN: "Vlen"}
"""Classes of user-defined types, as names of types without a name have them."""


class HeaderVariable(NamedTuple):
    """Variable of a group."""

    name: str
    """Name, without the prefix of the file."""
    dataset: HeaderDataset
    type: int
    """Id of its type."""
    dimensions: tuple[int, ...]
    """Ids of its dimensions."""
    attributes: tuple[HeaderAttribute, ...]
    """Attributes, without internal ones."""


class HeaderGroup:
    """Members of a group."""

    def __init__(self, name: str, place: str) -> None:
        self.name = name
        """Name."""
        self.place = place
        """Path in the file's spelling; empty for the root."""
        self.groups: list[HeaderGroup] = []
        """Its groups."""
        self.types: dict[int, str] = {}
        """Names of its types by id."""
        self.dimensions: list[int] = []
        """Ids of its dimensions."""
        self.datasets: list[tuple[LocatedObject, HeaderDataset, int, dict[str, HeaderAttribute]]] = []
        """Its datasets that are variables, the ids of their types, and their internal attributes."""
        self.variables: list[HeaderVariable] = []
        """Its variables."""
        self.stored_attributes: list[HeaderAttribute] = []
        """All attributes."""
        self.attributes: tuple[HeaderAttribute, ...] = ()
        """Attributes, without internal ones."""


class HeaderModel:
    """Model of one file. Raises UnreadableHeaderError, and OSError, when it is made."""

    def __init__(self, path: str) -> None:
        """Read the headers of a file, and build the groups, types, dimensions and variables of the netCDF model."""
        self.path = path
        self._files = LinkedFiles(path, ask_library)
        table = self._files.table
        self.dimensions: dict[int, HeaderDimension] = {}
        """Dimensions by id."""
        self.lengths: dict[int, int] = {}
        """Lengths of dimensions by id."""
        self.types: dict[int, Datatype] = {}
        """User-defined types by id."""
        self.omitted: list[Omission] = []
        """Objects and attributes that are left out."""
        self.changes: dict[str, list[str]] = {}
        """Places of content that the model holds in another form, by a text about the form."""
        self._named: dict[tuple[str, int], int] = {}
        self._keys: dict[tuple[object, ...], int] = {}
        self.scales = DimensionScales(self.dimensions)
        """Its dimension scales."""
        self._next_dimension = 0
        self._next_type = FIRST_TYPE
        self._anonymous = 0
        self._repeated = 0
        self._seen: set[tuple[str, int]] = set()
        self._shown: set[int] = set()
        """Attributes that the model can hold, by `id`: those of equal bytes are one object."""
        root = LocatedObject("/", table, table.root)
        self.is_unclosed = table.is_unclosed
        """True if a program has the file open for writing, or did not close it."""
        self.scales.is_netcdf = any(attribute.name in (STRICT, PROVENANCE) for attribute in root.object.attributes)
        self.is_classic = any(attribute.name == STRICT for attribute in root.object.attributes)
        """True for the classic model (nc7)."""
        self.root = HeaderGroup("/", "")
        """Root group."""
        pending = self._collect(self.root, root, (root.identity,))
        for group in every_group(self.root):
            for kind in [self.types[number] for number in group.types]:
                self._declare_parts(group, kind)
        for group, located in pending:
            self._dataset(group, located)
        self._resolve(self.root)
        self._find_lengths(self.root)

    def _omit(self, code: str, place: str, text: str) -> None:
        """Record what is left out. `place`: the object, or the owner of the attribute, in the file's spelling."""
        self.omitted.append(Omission(code, names.fqn(tuple(filter(None, place.split("/")))), text))

    # ---- links ----------------------------------------------------------------------------------------------------
    def _collect(
        self, group: HeaderGroup, located: LocatedObject, above: tuple[tuple[str, int], ...]
    ) -> list[tuple[HeaderGroup, LocatedObject]]:
        """Record a group and all below it; return the datasets, those of a group before those below it."""
        group.stored_attributes = self._attributes(located)
        datasets, below = [], []
        for link in (located.object.links or {}).values():
            place = f"{group.place}/{link.name.decode('utf-8', 'surrogateescape')}"
            target = self._follow_link(link, located, place)
            if target is None:
                continue
            one = target.object
            if one.links is not None:
                reason = self._reason_to_omit(target, above)
                if reason is None:
                    below.append((HeaderGroup(target.name, place), target))
                else:
                    self._omit("omitted-link", place, f"group `{place}` {reason}")
            elif one.dataset is not None:
                datasets.append((group, target))
            elif one.type is not None:
                self._record_type(group, target, place)
            elif one.problem:
                self._omit("omitted-object", place, f"`{place}` cannot be read: {one.problem}")
            else:
                self._omit("omitted-object", place, f"`{place}` is not a group, dataset or type")
        for child, target in below:
            group.groups.append(child)
            datasets += self._collect(child, target, (*above, target.identity))
        return datasets

    def _follow_link(self, link: Link, owner: LocatedObject, place: str) -> LocatedObject | None:
        """Return the object that a link leads to; None if it is left out."""
        try:
            name = link.name.decode()
        except UnicodeDecodeError:
            self._omit("omitted-name", place, f"the name {link.name!r} in `{owner.name}` is not valid UTF-8")
            return None
        if link.kind == EXTERNAL and self._files.is_remote:
            self._omit("omitted-link", place, in_other_file(place))
            return None
        target = self._files.follow(link, owner.table, owner.address)
        if target is None:
            self._omit("omitted-link", place, f"the link `{place}` has no target")
            return None
        return LocatedObject(name, *target)

    def _reason_to_omit(self, group: LocatedObject, above: tuple[tuple[str, int], ...]) -> str | None:
        """Return why a link to a group is not followed; None if it is."""
        if group.identity in above:
            return "contains itself through this link"
        if len(above) > DEEPEST:
            return f"is nested deeper than {DEEPEST}"
        if group.identity in self._seen:
            if self._repeated == MOST_REPEATED:
                return f"has other links, and more than {MOST_REPEATED} links point to such groups"
            self._repeated += 1
        self._seen.add(group.identity)
        return None

    # ---- types ----------------------------------------------------------------------------------------------------
    def _record_type(self, group: HeaderGroup, located: LocatedObject, place: str) -> None:
        """Record a named type. Several links to one type are one type."""
        kind = located.object.type
        assert kind is not None
        if located.identity in self._named:
            self._omit("omitted-link", place, f"the link `{place}` leads to a type that has another name")
        elif kind.lack is not None:
            self._omit("omitted-type", place, f"type `{place}` holds {kind.lack}")
        elif kind.family not in CLASSES or kind.is_text:
            text = f"type `{place}` is a name of a type that has no declaration in the tree (its uses are read)"
            self._omit("omitted-type", place, text)
        else:
            self._named[located.identity] = self._add_type(group, located.name, kind)
            for attribute in located.object.attributes:
                text = f"attribute `{attribute.name}` belongs to the type `{place}`, and types have no attributes"
                self._omit("omitted-type", place, text)

    def _add_type(self, group: HeaderGroup, name: str, kind: Datatype) -> int:
        number = self._next_type
        self._next_type += 1
        self.types[number] = kind
        self._keys.setdefault(kind.key, number)
        group.types[number] = name
        return number

    def type_id(self, kind: Datatype, declared: tuple[str, int] | None = None) -> int | None:
        """Return the id of a type; None if the model has no such type. `declared`: place of the named type."""
        if declared in self._named:
            return self._named[declared]
        if kind.family in CLASSES and not kind.is_text:
            return self._keys.get(kind.key)
        name = "string" if kind.family == STRING and kind.size > 1 else kind.atomic
        return None if name is None else ATOMIC_IDS[name]

    def _declare(self, group: HeaderGroup, kind: Datatype, declared: tuple[str, int] | None = None) -> int:
        """Return the id of a type without a `lack`; a type without a name gets one in the group, its parts first."""
        number = self.type_id(kind, declared)
        if number is None:
            self._declare_parts(group, kind)
            self._anonymous += 1
            number = self._add_type(group, f"_Anonymous{CLASSES[kind.family]}{self._anonymous}", kind)
        return number

    def _declare_parts(self, group: HeaderGroup, kind: Datatype) -> None:
        """Declare the types of members and elements."""
        for part in (*(member.type for member in kind.members), *(() if kind.base is None else (kind.base,))):
            self._declare(group, part)

    # ---- dimensions and variables ---------------------------------------------------------------------------------
    def _dataset(self, group: HeaderGroup, located: LocatedObject) -> None:
        """Record a dataset: a dimension, a variable, or both."""
        dataset, place = located.object.dataset, f"{group.place}/{located.name}"
        assert dataset is not None
        if self._files.is_remote and dataset.info.elsewhere:
            self._omit("omitted-link", place, in_other_file(place))
            return
        internal = _internal(located.object)
        self.scales.is_netcdf |= DIMENSION_ID in internal or COORDINATES in internal
        if _is_scale(internal) and dataset.info.extent != ():
            numbers = integers(internal[DIMENSION_ID]) if DIMENSION_ID in internal else ()
            dimension = HeaderDimension(located.name, 0, False)
            if dataset.info.extent is not None:
                dimension = HeaderDimension.of(located.name, dataset.info.extent[0], dataset.most[0])
            number = self._add_dimension(group, dimension, numbers[0] if numbers else None)
            self.scales.add(located.identity, group.place, place, number)
            if dataset.info.extent is None:
                self.scales.without_length.add(number)
            if NAME in internal and (_read_text(internal[NAME]) or b"").startswith(NO_VARIABLE):
                self.scales.is_netcdf = True
                for attribute in located.object.attributes:
                    if attribute.name not in ALL_INTERNAL:
                        text = f"attribute `{attribute.name}` belongs to the dimension `{place}` without a variable"
                        self._omit("omitted-object", place, text)
                return
        kind = dataset.type.cell
        if kind.lack is not None:
            self._omit("omitted-type", place, f"dataset `{place}` holds {kind.lack}")
            return
        declared = None if dataset.declared is None else (located.table.path, dataset.declared)
        if dataset.info.extent is None:
            self.changes.setdefault("datasets without a dataspace are read as arrays without values", []).append(place)
        if dataset.type.change is not None:
            self.changes.setdefault(dataset.type.change, []).append(place)
        group.datasets.append((located, dataset, self._declare(group, kind, declared), internal))

    def _add_dimension(self, group: HeaderGroup, dimension: HeaderDimension, declared: int | None = None) -> int:
        """Record a dimension and return its id. `declared`: its id in the file, if the file has one."""
        number = declared
        if number is None or number in self.dimensions or number < 0:
            number = self._next_dimension
        self._next_dimension = max(self._next_dimension, number + 1)
        self.dimensions[number] = dimension
        group.dimensions.append(number)
        return number

    def _resolve(self, group: HeaderGroup) -> None:
        """Make the variables of a group. Dimensions without a scale are made of the deepest groups first."""
        for below in group.groups:
            self._resolve(below)
        group.attributes = self._list_shown(group, group.stored_attributes, group.place or "/", INTERNAL)
        for located, dataset, number, internal in group.datasets:
            place = f"{group.place}/{located.name}"
            hidden = ALL_INTERNAL if _is_scale(internal) else INTERNAL
            attributes = self._list_shown(group, self._attributes(located), place, hidden)
            if located.table.path != self.path:
                dataset = dataset._replace(info=dataset.info._replace(elsewhere=True, address=None))
            shape, most = dataset.info.extent or (), dataset.most
            axes = self.scales.choose(located.table.path, group.place, place, shape, most, internal)
            dimensions = [axis.number for axis in axes]
            for axis, (length, end) in enumerate(zip(shape, most, strict=True) if None in dimensions else ()):
                if dimensions[axis] is None:
                    is_phony = axes[axis].has_scale
                    dimensions[axis] = self._of_length(group, dimensions, length, end, is_phony=is_phony)
            name = located.name.removeprefix(NON_COORDINATE)
            complete = tuple([number for number in dimensions if number is not None])
            group.variables.append(HeaderVariable(name, dataset, number, complete, attributes))

    def _of_length(
        self, group: HeaderGroup, taken: Sequence[int | None], length: int, most: int, *, is_phony: bool
    ) -> int:
        """Return a dimension of a group by its length, for an axis without a scale that fits, or make one.

        `taken`: dimensions that the dataset has already; `is_phony`: not the dimension of a scale.
        """
        for number in group.dimensions:
            is_other = number not in taken and not (is_phony and number in self.scales.places)
            if is_other and self.dimensions[number].fits(length, most):
                return number
        return self._add_dimension(group, HeaderDimension.of(f"phony_dim_{self._next_dimension}", length, most))

    def _find_lengths(self, root: HeaderGroup) -> None:
        """Find the length of each dimension: that of the longest variable, if it is unlimited."""
        self.lengths = {number: 0 if one.is_unlimited else one.length for number, one in self.dimensions.items()}
        for group in every_group(root):
            for variable in group.variables:
                for dimension, length in zip(variable.dimensions, variable.dataset.info.extent or (), strict=True):
                    if self.dimensions[dimension].is_unlimited:
                        self.lengths[dimension] = max(self.lengths[dimension], length)

    # ---- attributes -----------------------------------------------------------------------------------------------
    def _attributes(self, located: LocatedObject) -> list[HeaderAttribute]:
        """Return the attributes of an object. Addresses of named types in another file mean nothing in this one."""
        attributes = located.object.attributes
        if located.table.path == self.path:
            return attributes
        return [attribute._replace(declared=None) for attribute in attributes]

    def _list_shown(
        self, group: HeaderGroup, attributes: list[HeaderAttribute], place: str, hidden: frozenset[str]
    ) -> tuple[HeaderAttribute, ...]:
        """Return the attributes that the model can hold, without internal ones."""
        shown = []
        for attribute in attributes:
            if id(attribute) in self._shown:
                shown.append(attribute)
                continue
            name, kind = attribute.name, attribute.type
            if name in hidden:
                continue
            declared = None if attribute.declared is None else (self.path, attribute.declared)
            what = f"attribute `{name}` of `{place}`"
            if attribute.is_damaged:
                self._omit("omitted-object", place, f"{what} is damaged: HDF5 cannot read its values")
            elif kind.lack is not None:
                self._omit("omitted-type", place, f"{what} holds {kind.lack}")
            else:
                self._declare(group, kind, declared)
                if kind.change is not None:
                    self.changes.setdefault(kind.change, []).append(f"{place}@{name}")
                shown.append(attribute)
                self._shown.add(id(attribute))
        return tuple(shown)


def ask_library(path: str, addresses: list[int]) -> tuple[int, list[FileObject]]:
    """Return the address of a file's root, and objects by address, by the HDF5 library. Raises OSError."""
    from nczarr.formats.netcdf4.library_objects import ask  # rarely needed

    return ask(path, addresses)


def every_group(group: HeaderGroup) -> Iterator[HeaderGroup]:
    """Yield a group and all below it."""
    yield group
    for below in group.groups:
        yield from every_group(below)


def in_other_file(place: str) -> str:
    """Return the description of an object of a remote file that leads to another file."""
    return f"`{place}` leads to another file, and a remote file is read without others"


def _internal(one: FileObject) -> dict[str, HeaderAttribute]:
    """Return the internal attributes of an object by name."""
    return {attribute.name: attribute for attribute in one.attributes if attribute.name in ALL_INTERNAL}


def _is_scale(internal: dict[str, HeaderAttribute]) -> bool:
    """Return whether a dataset with these internal attributes is a dimension scale."""
    return CLASS in internal and _read_text(internal[CLASS]) == b"DIMENSION_SCALE"


def _read_text(attribute: HeaderAttribute) -> bytes | None:
    """Return the value of an internal attribute that is one fixed-length text; None for other types."""
    return None if attribute.type.family != STRING or attribute.shape else text_of(attribute.data, 0)
