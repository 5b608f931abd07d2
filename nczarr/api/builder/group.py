"""Groups and variables under construction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.api.builder import storage
from nczarr.api.builder.dtypes import of_name, of_object
from nczarr.api.builder.pieces import DeclaredDimension, PendingAttribute, PendingVariable, Site, TypeHandle, caller
from nczarr.ast import ATOMIC, CompoundType, Dimension, EnumConstant, EnumType, Field, OpaqueType, VlenType
from nczarr.ast.types import MAX_DEPTH

if TYPE_CHECKING:
    from nczarr.ast import UserType

DimensionLike = DeclaredDimension | str | int
TypeLike = TypeHandle | str | Any
"""A declared type, its name or path, an atomic type, or a dtype of NumPy, its name or its class."""


class VariableBuilder:
    """A declared variable, to which attributes can be added."""

    def __init__(self, site: Site, pending: PendingVariable) -> None:
        self._site = site
        self._pending = pending

    @property
    def path(self) -> str:
        """FQN of the variable."""
        return self._pending.path

    def attribute(self, name: str, value: Any, type: TypeLike | None = None) -> VariableBuilder:  # noqa: A002
        """Add an attribute to the variable.

        Parameters
        ----------
        name : str
            Name of the attribute.
        value : str, bytes, number, array_like, tuple or dict
            One value, or a sequence of values.
        type : str or TypeHandle, optional
            Type of the values. By default text is char, a list of texts string, and
            numbers have the type of their dtype, or int, int64, uint64 or double.

        Returns
        -------
        VariableBuilder
            The same builder, for chained calls.
        """
        self._pending.attributes.append(pending_attribute(self._site, name, value, type))
        return self


class GroupBuilder:
    """A group under construction. Types and dimensions may be used before they are declared."""

    def __init__(self, site: Site, path: str, name: str) -> None:
        self._site = site
        self.path = path
        self.name = name
        self.span = caller()
        self.types: list[UserType] = []
        self.dimensions: list[Dimension] = []
        self.variables: list[PendingVariable] = []
        self.attributes: list[PendingAttribute] = []
        self.groups: list[GroupBuilder] = []

    def dimension(self, name: str, size: int = 0, *, unlimited: bool = False) -> DeclaredDimension:
        """Declare a dimension.

        Parameters
        ----------
        name : str
            Name of the dimension.
        size : int
            Length. An unlimited dimension has at least this length, and grows to the
            longest data along it.
        unlimited : bool
            Declare an unlimited dimension.

        Returns
        -------
        DimensionHandle
            A handle for `variable(…, dimensions=[…])`.
        """
        name = self._site.name(name, "a dimension")
        size = self._site.count(size, 0, "bad-dimension-size", f"the size of dimension `{name}`")
        declared = Dimension(name=name, size=size, unlimited=bool(unlimited), span=caller())
        if not (size or unlimited):
            text = f"dimension `{name}` has size 0, which netCDF treats as unlimited"
            self._site.report.warning("zero-dimension", text, caller())
        self.dimensions.append(declared)
        return DeclaredDimension(names.join(self.path, name), declared)

    def compound(self, name: str, fields: Mapping[str, TypeLike | tuple[Any, ...]]) -> TypeHandle:
        """Declare a compound type.

        Parameters
        ----------
        name : str
            Name of the type.
        fields : Mapping
            Type by name of a field, or `(type, length, …)` for a field that is an array.

        Returns
        -------
        TypeHandle
            A handle, usable as a type.

        Examples
        --------
        >>> import nczarr
        >>> builder = nczarr.DatasetBuilder()
        >>> wind = builder.compound("wind", {"speed": "float", "gusts": ("float", 2)})
        >>> _ = builder.variable("w", wind, [1])
        >>> builder.finish({"w": [(1.5, [2.0, 2.5])]})["w"][0]["gusts"].tolist()
        [2.0, 2.5]
        """
        name = self._site.name(name, "a compound")
        members = []
        for field, spec in dict(fields).items():
            kind, *lengths = spec if isinstance(spec, tuple) else (spec,)
            shape = [self._site.count(n, 1, "bad-field-size", f"a length of field `{field}`") for n in lengths]
            field_name = self._site.name(field, "a field")
            members.append(Field(name=field_name, type=type_name(self._site, kind), shape=tuple(shape), span=caller()))
        return self._declare(CompoundType(name=name, fields=tuple(members), span=caller()))

    def enum(self, name: str, base: str, constants: Mapping[str, int]) -> TypeHandle:
        """Declare an enum type.

        Parameters
        ----------
        name : str
            Name of the type.
        base : str
            Integer type of the values.
        constants : Mapping of str to int
            Values by name.

        Returns
        -------
        TypeHandle
            A handle, usable as a type.
        """
        name = self._site.name(name, "an enum")
        if base not in ATOMIC or not ATOMIC[base].is_integer:
            self._site.error("bad-enum-base", f"the base of enum `{name}` is {base!r}, which is not an integer type")
            base = "int64"
        members = []
        for key, value in dict(constants).items():
            if isinstance(value, bool) or not hasattr(value, "__index__"):
                self._site.error(
                    "value-range", f"constant `{key}` of enum `{name}` is {value!r}, which is not an integer"
                )
                continue
            members.append(
                EnumConstant(name=self._site.name(key, "a constant"), value=value.__index__(), span=caller())
            )
        if constants and not members:  # the fault is reported; an enum without constants would be another
            members.append(EnumConstant(name="_", value=0))
        return self._declare(EnumType(name=name, base=base, constants=tuple(members), span=caller()))  # type: ignore[arg-type]

    def opaque(self, name: str, size: int) -> TypeHandle:
        """Declare an opaque type.

        Parameters
        ----------
        name : str
            Name of the type.
        size : int
            Length of a value in bytes.

        Returns
        -------
        TypeHandle
            A handle, usable as a type.
        """
        name = self._site.name(name, "an opaque type")
        size = self._site.count(size, 1, "bad-opaque-size", f"the size of opaque type `{name}`")
        return self._declare(OpaqueType(name=name, size=size, span=caller()))

    def vlen(self, name: str, base: TypeLike) -> TypeHandle:
        """Declare a vlen type, whose values are sequences of any length.

        Parameters
        ----------
        name : str
            Name of the type.
        base : str or TypeHandle
            Type of the elements.

        Returns
        -------
        TypeHandle
            A handle, usable as a type.
        """
        name = self._site.name(name, "a vlen")
        return self._declare(VlenType(name=name, base=type_name(self._site, base), span=caller()))

    def _declare(self, declared: UserType) -> TypeHandle:
        if declared.name in self._site.dtypes:
            self._site.error(
                "forward-reference",
                f"type `{declared.name}` is used before its declaration, as NumPy's dtype of this name",
                helps=["declare the type first"],
            )
        self._site.types.add(declared.name)
        self.types.append(declared)
        return TypeHandle(names.join(self.path, declared.name), declared)

    def group(self, name: str) -> GroupBuilder:
        """Declare a child group.

        Parameters
        ----------
        name : str
            Name of the group.

        Returns
        -------
        GroupBuilder
            The child group.
        """
        name = self._site.name(name, "a group")
        child = GroupBuilder(self._site, names.join(self.path, name), name)
        if len(names.split(child.path)) > MAX_DEPTH:
            self._site.error("too-deep-nesting", f"group `{name}` is nested more than {MAX_DEPTH} deep")
        else:
            self.groups.append(child)
        return child

    def attribute(self, name: str, value: Any, type: TypeLike | None = None) -> GroupBuilder:  # noqa: A002
        """Add an attribute to the group.

        Parameters
        ----------
        name : str
            Name of the attribute.
        value : str, bytes, number, array_like, tuple or dict
            One value, or a sequence of values.
        type : str or TypeHandle, optional
            Type of the values; by default as in `VariableBuilder.attribute`.

        Returns
        -------
        GroupBuilder
            The same builder, for chained calls.
        """
        self.attributes.append(pending_attribute(self._site, name, value, type))
        return self

    def variable(
        self,
        name: str,
        type: TypeLike,  # noqa: A002
        dimensions: Sequence[DimensionLike] = (),
        *,
        fill_value: Any = None,
        chunks: Sequence[int | Sequence[int]] | None = None,
        codecs: Sequence[Any] | str = (),
        layout: str | None = None,
        endian: str | None = None,
        no_fill: bool = False,
        quantize: tuple[str, int] | None = None,
    ) -> VariableBuilder:
        """Declare a variable.

        Parameters
        ----------
        name : str
            Name of the variable.
        type : str, TypeHandle, numpy.dtype or type
            Atomic type (`float`), declared type or its path, or a dtype of NumPy
            (`"float32"`, `">f4"`, `np.int16`), whose byte order is that of the storage.
            Names of atomic types come first: `"int"` and `"float"` have 32 bits.
        dimensions : sequence of DimensionHandle, str or int
            Dimensions as handles, names or paths. A number is the length of an anonymous
            dimension.
        fill_value : value of the type, optional
            Value of the attribute `_FillValue`. Without it, masked numbers of more than one
            byte get netCDF's default of the type, which is then declared.
        chunks : sequence of int or of sequence of int, optional
            Chunk length along each dimension, or the lengths of all its chunks: `([365, 366], 90)`.
        codecs : str or sequence
            Codecs in the order of encoding: `"shuffle"`, `("deflate", 5)`, or an HDF5
            filter number with its parameters. A text names a single codec.
        layout : str, optional
            `chunked`, `contiguous` or `compact`.
        endian : str, optional
            `little` or `big`.
        no_fill : bool
            Leave cells that were never written undefined.
        quantize : tuple of (str, int), optional
            Algorithm and number of significant digits or bits.

        Returns
        -------
        VariableBuilder
            The variable, to which attributes can be added.
        """
        name = self._site.name(name, "a variable")
        kind, order = type_and_order(self._site, type)
        pending = PendingVariable(
            name=name,
            path=names.join(self.path, name),
            type=kind,
            dimensions=dimension_names(self._site, name, dimensions),
            storage=storage.build(self._site, name, chunks, codecs, layout, endian or order, no_fill, quantize),
            span=caller(),
        )
        if fill_value is not None:
            pending.attributes.append(PendingAttribute("_FillValue", fill_value, pending.type, caller()))
        self.variables.append(pending)
        return VariableBuilder(self._site, pending)


def pending_attribute(site: Site, name: str, value: Any, kind: TypeLike | None) -> PendingAttribute:
    """Return a given attribute with the caller's position."""
    named = None if kind is None else type_name(site, kind)
    return PendingAttribute(site.name(name, "an attribute"), value, named, caller())


def type_name(site: Site, kind: object) -> str:
    """Return the written form of a type reference: an atomic name, a bare name, or a FQN."""
    return type_and_order(site, kind)[0]


def type_and_order(site: Site, kind: object) -> tuple[str, str | None]:
    """Return the written form of a type reference, and the byte order if a dtype of NumPy names one.

    The name of a declared type means that type, even if NumPy has a dtype of
    this name.
    """
    if isinstance(kind, TypeHandle):
        return kind.path, None
    if isinstance(kind, str) and kind:
        dtype = None if kind in ATOMIC or kind in site.types else of_name(kind)
        if dtype is None:
            return _reference(kind), None
        site.dtypes.add(kind)
        return dtype
    converted = of_object(kind)
    if isinstance(converted, tuple):
        return converted
    text = f"{kind!r} is not a type; give a type name, a dtype or the result of `compound`, `enum`, …"
    site.error("undefined-type", text if converted is None else converted)
    return "int", None


def dimension_names(site: Site, variable: str, references: object) -> tuple[str | int, ...]:
    """Return the written forms of dimension references: bare names, FQNs, or anonymous sizes."""
    if isinstance(references, str | DeclaredDimension) or not isinstance(references, Sequence):
        site.error("undefined-dimension", f"the dimensions of `{variable}` are {references!r}, which is not a list")
        return ()
    out: list[str | int] = []
    for item in references:
        if isinstance(item, DeclaredDimension):
            out.append(item.path)
        elif isinstance(item, str) and item:
            out.append(_reference(item))
        else:
            out.append(site.count(item, 0, "bad-dimension-size", f"a dimension of variable `{variable}`"))
    return tuple(out)


def _reference(name: str) -> str:
    """Return a name or path in NFC; blanks in a path may be escaped."""
    if not name.startswith("/"):
        return names.normal(name)
    try:
        return names.fqn(names.normal(part) for part in names.split(name))
    except ValueError:
        return name  # an undefined name, which the passes report
