"""Handles of the groups, dimensions and variables of an open dataset: mappings of plain Python values.

All handles are immutable. Values are read when a variable is indexed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.api.brief import brief
from nczarr.api.hints import Hinting
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast import Attribute, Codec, Dimension, Group, Variable
from nczarr.ast.rectilinear import Lengths
from nczarr.diagnostics.report import hint
from nczarr.names import FrozenMapping
from nczarr.names.plugin_index import find_place, load_part

if TYPE_CHECKING:
    from types import ModuleType

    import xarray

    from nczarr.semantics.checked import Checked

AT_ONCE = 1 << 20
"""Elements that an iteration over a variable reads at once, unless a row or a chunk has more."""

LINES = 60
"""Maximum lines of a representation."""

WIDTH = 200
"""Maximum characters of a line of a representation."""


class NamedItems(FrozenMapping[Any]):
    """Mapping whose error for an unknown name has the closest one. `kind`: what the items are."""

    __slots__ = ("_kind",)

    def __init__(self, content: dict[str, Any], kind: str) -> None:
        super().__init__(content)
        self._kind = kind

    def __getitem__(self, name: str) -> Any:
        if name in self._content:
            return self._content[name]
        raise make_key_error(self._kind, name, str(name), self._content)

    def get(self, name: str, default: Any = None) -> Any:
        """Return the item with a name, or the default."""
        return self._content.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self._content

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self._content, self._kind)


def make_key_error(kind: str, name: str, meant: str, known: Iterable[str]) -> KeyError:
    """Return the error for an unknown name, with the closest known one. `meant`: the name as known ones are spelled."""
    return KeyError(f"no {kind} {name!r}{hint(meant, known)}".replace("\\ ", " "))


class DimensionHandle(Hinting):
    """One dimension: its name, its current length, and whether it can grow.

    Attributes
    ----------
    path : str
        Fully qualified name.
    dimension : nczarr.ast.Dimension
        The node of the tree.

    Examples
    --------
    >>> import nczarr
    >>> time = nczarr.open("samples/01-station.cdl").dimensions["time"]
    >>> time.length, time.unlimited, len(time)
    (3, True, 3)
    """

    __slots__ = ("dimension", "path")

    def __init__(self, path: str, dimension: Dimension) -> None:
        self.path = path
        self.dimension = dimension

    @property
    def name(self) -> str:
        """Simple name."""
        return self.dimension.name

    @property
    def length(self) -> int:
        """Current length."""
        return self.dimension.size

    @property
    def unlimited(self) -> bool:
        """True if the dimension can grow."""
        return self.dimension.unlimited

    def __len__(self) -> int:
        return self.dimension.size

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DimensionHandle) and (self.path, self.dimension) == (other.path, other.dimension)

    def __hash__(self) -> int:
        return hash((self.path, self.dimension))

    def __repr__(self) -> str:
        return f"<dimension {names.readable(self.path)} = {self.length}{' (unlimited)' if self.unlimited else ''}>"


class GroupHandle(Hinting, Mapping[str, Any]):
    """A group of an open dataset: its attributes, dimensions, variables and groups.

    A group is a mapping from paths to variables, those of the groups below it
    included. `group["a/b"]` is relative to the group, `group["/a/b"]` is absolute.

    Attributes
    ----------
    path : str
        Fully qualified name; `/` for the root group.
    checked : nczarr.semantics.checked.Checked
        The tree of the whole dataset.

    Examples
    --------
    >>> import nczarr
    >>> dataset = nczarr.from_cdl("netcdf d { group: g { dimensions: x = 2 ; variables: int v(x) ; :level = 5 ; } }")
    >>> dataset.groups["g"].attributes["level"], dataset["/g"].variables["v"].shape
    (np.int32(5), (2,))
    >>> [group.path for group in dataset.walk()]
    ['/', '/g']
    """

    def __init__(self, checked: Checked, path: str = "/", root: GroupHandle | None = None) -> None:
        self.checked = checked
        self.path = path
        self._root = self if root is None else root
        self._shared: dict[int, Any] = {}
        """Of a root: values that attributes share, as `values_of` keeps them."""

    @property
    def root(self) -> GroupHandle:
        """Root group of the dataset."""
        return self._root

    @property
    def name(self) -> str:
        """Simple name; for the root group the name of the dataset, which may be empty."""
        return self.node.name

    @property
    def node(self) -> Group:
        """Node of the tree."""
        return self.checked.groups[self.path]

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes of the group by name, as `VariableHandle.attributes`."""
        return _values(self.node.attributes, self._root)

    @cached_property
    def dimensions(self) -> Mapping[str, DimensionHandle]:
        """Dimensions declared in the group, by simple name."""
        return self._map("dimension", self.node.dimensions, DimensionHandle)

    @cached_property
    def variables(self) -> Mapping[str, VariableHandle]:
        """Variables of the group, by simple name."""
        return self._map("variable", self.node.variables, lambda path, _: self._make_variable(path))

    @cached_property
    def groups(self) -> Mapping[str, GroupHandle]:
        """Groups directly below the group, by simple name."""
        return self._map("group", self.node.groups, lambda path, _: self._make_group(path))

    def _map(self, kind: str, nodes: tuple[Any, ...], make: Callable[[str, Any], Any]) -> Mapping[str, Any]:
        return NamedItems({node.name: make(names.join(self.path, node.name), node) for node in nodes}, kind)

    def walk(self) -> Iterator[GroupHandle]:
        """Yield the group, and all groups below it, parents before children.

        Yields
        ------
        GroupHandle
            A group.
        """
        yield self
        for group in self.groups.values():
            yield from group.walk()

    def __getitem__(self, path: str) -> Any:
        """Return the variable or group at a path.

        Parameters
        ----------
        path : str
            Path from this group (`g1/temp`), or fully qualified name (`/g1/temp`).

        Returns
        -------
        VariableHandle or GroupHandle
            The variable; without a variable of this path, the group.

        Raises
        ------
        KeyError
            If there is neither. The message has the closest name.
        TypeError
            If `path` is no text.
        """
        if not isinstance(path, str):
            raise TypeError(f"members of a group have names, not {type(path).__name__}")
        full_path = path if path.startswith("/") else names.join(self.path, "") + path
        try:
            key = names.fqn(map(names.normal, names.split(full_path)))
        except ValueError:
            key = full_path
        if key in self.checked.variables:
            return self._make_variable(key)
        if key in self.checked.groups:
            return self._make_group(key)
        known = [*self.checked.variables, *(group for group in self.checked.groups if group != "/")]
        raise make_key_error("variable or group", path, key, known)

    def __contains__(self, path: object) -> bool:
        try:
            return isinstance(path, str) and self[path] is not None
        except KeyError:
            return False

    def __iter__(self) -> Iterator[str]:
        """Yield the fully qualified names of the variables, those of groups below included, in definition order."""
        inside = self.path if self.path == "/" else self.path + "/"
        return (path for path in self.checked.variables if path.startswith(inside))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    __eq__ = object.__eq__  # a dataset is compared by `nczarr.diff`
    __hash__ = object.__hash__

    def _ipython_key_completions_(self) -> list[str]:
        return [*self, *(group.path for group in self.walk() if group is not self)]

    def to_xarray(self, **options: Any) -> xarray.Dataset:
        """Return the group, or one below it, as an xarray dataset with lazy values.

        Parameters
        ----------
        **options
            Options of `xarray.open_dataset`, such as `group`, `chunks`, `decode_times`
            and `drop_variables`. The path `group` is relative to this group.

        Returns
        -------
        xarray.Dataset
            The group as the engine `nczarr` opens it.

        Raises
        ------
        ImportError
            If xarray is not installed.
        OSError
            If there is no such group.

        Examples
        --------
        >>> import nczarr
        >>> dataset = nczarr.open("samples/01-station.cdl").to_xarray()
        >>> dict(dataset.sizes), dataset["temperature"].units
        ({'station': 3, 'time': 3}, 'K')
        """
        opened: xarray.Dataset = _xarray().open_dataset(self, engine="nczarr", **options)
        return opened

    def to_datatree(self, **options: Any) -> xarray.DataTree:
        """Return the group and all groups below it as an xarray tree with lazy values.

        Parameters
        ----------
        **options
            Options of `xarray.open_datatree`. The path `group` is relative to this group.

        Returns
        -------
        xarray.DataTree
            The groups as the engine `nczarr` opens them.

        Raises
        ------
        ImportError
            If xarray is not installed.
        OSError
            If there is no such group.

        Examples
        --------
        >>> import nczarr
        >>> dataset = nczarr.from_cdl("netcdf d { group: g { group: h { :a = 1 ; } } }")
        >>> dataset.to_datatree().groups, dataset["g"].to_datatree().groups
        (('/', '/g', '/g/h'), ('/', '/h'))
        """
        opened: xarray.DataTree = _xarray().open_datatree(self, engine="nczarr", **options)
        return opened

    def _make_variable(self, path: str) -> VariableHandle:
        return VariableHandle(self._root, path)

    def _make_group(self, path: str) -> GroupHandle:
        return self._root if path == "/" else GroupHandle(self.checked, path, self._root)

    def __copy__(self) -> GroupHandle:
        return self

    def __deepcopy__(self, memo: object) -> GroupHandle:
        """Return the handle itself, which is immutable."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _item, (self._root, self.path)

    def __repr__(self) -> str:
        from nczarr.semantics.outline import members

        return _limit_lines(self._title, members(self.checked, self.path, stored=False))

    def _repr_html_(self) -> str | None:
        return _represent("group", self.checked, self.path, self._title)

    @property
    def _title(self) -> str:
        return f"group {self.path}: {len(self)} variable{'' if len(self) == 1 else 's'}"


class VariableHandle(Hinting):
    """One variable of an open dataset: its declaration, and its values by index.

    Attributes
    ----------
    path : str
        Fully qualified name.
    variable : nczarr.ast.Variable
        The node of the tree.

    Examples
    --------
    >>> import nczarr
    >>> temperature = nczarr.open("samples/01-station.cdl")["/temperature"]
    >>> temperature.dimensions, temperature.shape, temperature.dtype
    (('/time', '/station'), (3, 3), dtype('int16'))
    >>> temperature.dims, temperature.attributes["units"]
    (('time', 'station'), 'K')
    >>> temperature[0, ::2].tolist()
    [21800, -999]
    """

    def __init__(self, root: GroupHandle, path: str) -> None:
        self._root = root
        self._checked = root.checked
        self.path = path
        self.variable: Variable = root.checked.variables[path]

    @property
    def name(self) -> str:
        """Simple name."""
        return self.variable.name

    @property
    def type(self) -> str:
        """Atomic type name, or the FQN of a declared type."""
        return self.variable.type

    @property
    def dimensions(self) -> tuple[str | int, ...]:
        """FQNs of dimensions; an integer is an anonymous dimension."""
        return self.variable.dimensions

    @property
    def dims(self) -> tuple[str | int, ...]:
        """Simple names of dimensions; an integer is an anonymous dimension."""
        return tuple(one if isinstance(one, int) else names.last(one) for one in self.variable.dimensions)

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes by name, including `_FillValue`.

        A char attribute is one `str`, a string attribute a `str` or a list of them
        (NIL is None). Of all other types, one value is a NumPy scalar, and several are
        an array: an enum has its integers, an opaque value is `numpy.void`, a record
        is structured, and a list of variable length is an array. The nodes of the
        tree, with exact types, are `variable.variable.attributes`.
        """
        return _values(self.variable.attributes, self._root)

    @property
    def shape(self) -> tuple[int, ...]:
        """Current lengths of the dimensions."""
        return self._checked.shapes[self.path]

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of all values as an array of `dtype`, without the content of strings and lists."""
        return self.size * self.dtype.itemsize

    @property
    def chunks(self) -> tuple[int | tuple[int, ...], ...] | None:
        """Chunk length of each dimension, or the lengths of all its chunks if they differ; None without chunks."""
        chunks = self.variable.storage.chunks
        return chunks and tuple(one.expand() if isinstance(one, Lengths) else one for one in chunks)

    @property
    def codecs(self) -> tuple[Codec, ...]:
        """Codecs of the chunks in encoding order."""
        return self.variable.storage.codecs

    @property
    def fill_value(self) -> Any:
        """`_FillValue`, or the default of the type; None for an enum without one. For the forms see `attributes`.

        A file may have another value in cells that were never written, as netCDF-4
        files have for enums.
        """
        from nczarr.pipeline.select.reader import value_of

        fill = self._checked.fills[self.path]
        return None if fill is None else value_of(fill, self._checked.types)

    @property
    def dtype(self) -> np.dtype[Any]:
        """NumPy dtype of indexed values; `object` for strings and vlen values."""
        from nczarr.pipeline.select.reader import dtype_of

        return dtype_of(self.type, self._checked.types)

    def __getitem__(self, key: Any) -> Any:
        """Return the values at an index.

        Parameters
        ----------
        key : int, slice, Ellipsis, None, array of integers, mask, or tuple of these
            Index as in NumPy: integer arrays, lists and masks too, in every mixture. Of a
            chunked variable, each chunk with a wanted cell is read once, and no other.

        Returns
        -------
        numpy scalar or numpy.ndarray
            Values of `dtype`, in the shape that NumPy gives the index; a scalar if that
            has no dimensions. The values belong to the caller. A char is `S1`,
            an enum its integer, an opaque value `V`, a record a structured value. Strings
            are `str`, or None for NIL, and vlen values are arrays, both in object arrays.

        Raises
        ------
        IndexError
            If an index is out of bounds, has too many dimensions, or has arrays or masks
            of wrong shapes.
        TypeError
            If a part of the index has another type.
        CompileError
            If a chunk cannot be decoded.
        OSError
            If a chunk cannot be read.
        """
        from nczarr.pipeline.select.indexing import read

        return read(self._checked, self.path, key)

    def __iter__(self) -> Iterator[Any]:
        """Yield the values at each index of the first dimension; many are read at once."""
        rows = AT_ONCE // max(1, math.prod(self.shape[1:]))
        chunks = self.variable.storage.chunks
        chunk = int(chunks[0]) if chunks and self.shape else 1
        step = max(1, rows // chunk * chunk, min(chunk, 16 * rows))
        for start in range(0, len(self), step):
            yield from self[start : start + step]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """Return all values. Raises ValueError for `copy=False`, because values are always read."""
        from nczarr.pipeline.select.indexing import read_outer

        if copy is False:
            raise ValueError("an array of a variable's values is always a copy")
        values = read_outer(self._checked, self.path, [slice(None)] * self.ndim)
        return values if dtype is None else values.astype(dtype, copy=False)

    def __bool__(self) -> bool:
        if self.size != 1:
            raise ValueError(f"the truth value of `{self.path}`, a variable of {self.size} values, is ambiguous")
        return bool(self[(0,) * self.ndim])

    def __int__(self) -> int:
        return int(self._only())

    def __float__(self) -> float:
        return float(self._only())

    def _only(self) -> Any:
        """Return the only value. Raises TypeError for any other number of values."""
        if self.size != 1:
            raise TypeError(f"only a variable of one value is a number, and `{self.path}` has {self.size}")
        return self[(0,) * self.ndim]

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("a scalar variable has no length")
        return self.shape[0]

    def __copy__(self) -> VariableHandle:
        return self

    def __deepcopy__(self, memo: object) -> VariableHandle:
        """Return the handle itself, which is immutable."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _item, (self._root, self.path)

    def __repr__(self) -> str:
        return _limit_lines(self._title, (f"    {name} = {brief(value)}" for name, value in self.attributes.items()))

    def _repr_html_(self) -> str | None:
        return _represent("variable", self._checked, self.path, self._title)

    @property
    def _title(self) -> str:
        return f"variable {self.path} {self.type} {self.shape}"


def _item(root: GroupHandle, path: str) -> Any:
    """Return the variable or group of a handle that was pickled."""
    return root[path]


def _xarray() -> ModuleType:
    """Return xarray. Raises ImportError, with the remedy, if it is not installed."""
    try:
        import xarray
    except ImportError as error:
        raise ImportError("this needs xarray: run `pip install 'nczarr[xarray]'`", name="xarray") from error
    return xarray


def _values(attributes: tuple[Attribute, ...], root: GroupHandle) -> Mapping[str, Any]:
    """Return attributes as values by name, which cannot be changed."""
    from nczarr.pipeline.select.reader import value_of, values_of

    types = root.checked.types
    values = values_of(attributes, root._shared, lambda node: _frozen(value_of(node.value, types)))
    return NamedItems(values, "attribute")


def _frozen(value: Any) -> Any:
    """Return a value whose arrays, inner ones too, cannot be changed."""
    if isinstance(value, np.void) and value.dtype.names is not None:
        value = np.array(value)
        return _frozen(value)[()]
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            for name in value.dtype.names or ():
                _frozen(value[name])
            if value.dtype.names is None:
                for element in value.flat:
                    _frozen(element)
        value.flags.writeable = False
    return value


def _limit_lines(title: str, lines: Iterator[str]) -> str:
    """Return a representation of at most `LINES` lines and a bounded width."""
    shown_lines = [f"<{title}>", *islice(lines, LINES)]
    omitted = sum(1 for _ in lines)
    if omitted:
        shown_lines.append(f"… and {omitted} more lines")
    shown = map(names.readable, shown_lines)
    return "\n".join(line if len(line) <= WIDTH else line[: WIDTH - 1] + "…" for line in shown)


def _represent(kind: str, checked: Checked, path: str, title: str) -> str | None:
    """Return the HTML of a node for notebooks; None without a plugin for it: they show its text then."""
    place = find_place("representation", kind)
    text: str | None = None if place is None else load_part(place)(checked, path, title)
    return text
