"""Groups and variables under construction."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from nczarr import names
from nczarr.api.builder import storage
from nczarr.api.builder.dtypes import of_name, of_object
from nczarr.api.builder.pieces import (
    DeclaredDimension,
    PendingAttribute,
    PendingVariable,
    Site,
    TypeHandle,
    UnsuitedValueError,
    caller,
    look_up,
)
from nczarr.api.hints import Hinting, add_hints
from nczarr.ast import ATOMIC, CompoundType, Dataset, Dimension, EnumConstant, EnumType, Field, OpaqueType, VlenType
from nczarr.ast.types import MAX_DEPTH
from nczarr.diagnostics.report import CompileError, suggest

if TYPE_CHECKING:
    from nczarr.ast import UserType

DimensionLike = DeclaredDimension | str | int
TypeLike = TypeHandle | str | Any
"""A declared type, its name or path, an atomic type, or a dtype of NumPy, its name or its class."""

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


def _path_of(owner: str, what: str, name: str) -> str:
    return f"{owner}@{names.normal(name)}" if what == "attribute" else names.join(owner, names.normal(name))


def declaring(what: str) -> Callable[[Callable[Parameters, Returned]], Callable[Parameters, Returned]]:
    """Make a method of a builder raise its errors at the call, and leave the builder as it was before."""

    def wrap(method: Callable[Parameters, Returned]) -> Callable[Parameters, Returned]:
        method = add_hints(method)

        @functools.wraps(method)
        def call(*positional: Parameters.args, **named: Parameters.kwargs) -> Returned:
            owner: Any = positional[0]
            name: Any = positional[1] if len(positional) > 1 else named.get("name")
            path = _path_of(owner.path, what, name) if isinstance(name, str) and name else ""
            lengths = [len(each) for each in owner._lists()]
            try:
                with owner._site.call(what, path, caller()):
                    return method(*positional, **named)
            except CompileError:
                for each, length in zip(owner._lists(), lengths, strict=True):
                    del each[length:]
                raise

        return call

    return wrap


class VariableBuilder(Hinting):
    """A declared variable, to which attributes can be added."""

    def __init__(self, site: Site, pending: PendingVariable) -> None:
        self._site = site
        self._pending = pending

    def _lists(self) -> tuple[list[Any], ...]:
        return (self._pending.attributes,)

    @property
    def path(self) -> str:
        """FQN of the variable."""
        return self._pending.path

    @declaring("attribute")
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
        kind = self._pending.type if name == "_FillValue" and type is None else type
        self._pending.attributes.append(pending_attribute(self._site, self.path, name, value, kind))
        return self


class GroupBuilder(Hinting):
    """A group under construction. Types and dimensions are declared before they are used.

    A call with an error raises CompileError and declares nothing; the builder can go on.
    """

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

    def _lists(self) -> tuple[list[Any], ...]:
        return self.types, self.dimensions, self.variables, self.attributes, self.groups

    @declaring("dimension")
    def dimension(self, name: str, size: int | None = None, *, unlimited: bool = False) -> DeclaredDimension:
        """Declare a dimension.

        Parameters
        ----------
        name : str
            Name of the dimension.
        size : int
            Length, optional with `unlimited`. An unlimited dimension has at least this
            length, and grows to the longest data along it.
        unlimited : bool
            Declare an unlimited dimension.

        Returns
        -------
        DimensionHandle
            A handle for `variable(…, dimensions=[…])`.
        """
        name = self._site.name(name, "a dimension")
        if size is None and not unlimited:
            raise TypeError(f"dimension `{name}` needs a size, or unlimited=True")
        size = self._site.count(size or 0, 0, "bad-dimension-size", f"the size of dimension `{name}`")
        declared = Dimension(name=name, size=size, unlimited=bool(unlimited), span=caller())
        if not (size or unlimited):
            text = f"dimension `{name}` has size 0, which netCDF treats as unlimited"
            self._site.report.warning("zero-dimension", text, caller())
        self.dimensions.append(declared)
        self._site.dimensions.setdefault(names.join(self.path, name), declared)
        return DeclaredDimension(names.join(self.path, name), declared)

    @declaring("type")
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
            members.append(Field(name=field_name, type=self._resolve_type(kind), shape=tuple(shape), span=caller()))
        return self._declare(CompoundType(name=name, fields=tuple(members), span=caller()))

    @declaring("type")
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
            text = f"the base of enum `{name}` is {base!r}, which is not an integer type"
            self._site.error("bad-enum-base", text, helps=suggest(str(base), ATOMIC))
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

    @declaring("type")
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

    @declaring("type")
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
        return self._declare(VlenType(name=name, base=self._resolve_type(base), span=caller()))

    def _resolve_type(self, kind: TypeLike) -> str:
        """Return the written form of a declared or atomic type; reports others."""
        written = type_name(self._site, kind)
        self._site.require_type(written, self.path)
        return written

    def _declare(self, declared: UserType) -> TypeHandle:
        from nczarr.semantics.check_names import check_names
        from nczarr.semantics.check_types import check_types
        from nczarr.semantics.checked import Unchecked

        if declared.name in self._site.dtypes:
            self._site.error(
                "forward-reference",
                f"type `{declared.name}` is used before its declaration, as NumPy's dtype of this name",
                helps=["declare the type first"],
            )
        if self._site.judges:
            work = Unchecked(Dataset(name="", types=(declared,)))
            check_types(check_names(work, self._site.report), self._site.report)
        if not self._site.report.errors:
            self._site.types.add(declared.name)
        self.types.append(declared)
        return TypeHandle(names.join(self.path, declared.name), declared)

    @declaring("group")
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

    @declaring("attribute")
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
        self.attributes.append(pending_attribute(self._site, self.path, name, value, type))
        return self

    @declaring("variable")
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
            Codecs as in `nczarr.write`, such as `"shuffle+zlib:5"` or `"none"`, to which
            no shuffle is added; or a list in the order of encoding: of such texts,
            `("deflate", 5)`, or HDF5 filter numbers with their parameters.
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
        from nczarr.semantics.infer_shapes import check_storage

        name = self._site.name(name, "a variable")
        kind, order = type_and_order(self._site, type)
        self._site.require_type(kind, self.path)
        for reference in (references := dimension_names(self._site, name, dimensions)):
            if isinstance(reference, str):
                self._site.require("undefined-dimension", "dimension", reference, self.path)
        pending = PendingVariable(
            name=name,
            path=names.join(self.path, name),
            type=kind,
            dimensions=references,
            storage=storage.build(self._site, name, chunks, codecs, layout, endian or order, no_fill, quantize),
            span=caller(),
        )
        if fill_value is not None:
            pending.attributes.append(pending_attribute(self._site, self.path, "_FillValue", fill_value, kind))
        self.variables.append(pending)
        if self._site.judges:
            table = self._site.dimensions
            shape = [
                Dimension(name=str(each), size=each)
                if isinstance(each, int)
                else table[look_up(each, self.path, table) or ""]
                for each in references
            ]
            check_storage(pending, shape, {}, self._site.report)  # type: ignore[arg-type]
            if fill_value is not None and self._site.judges:
                self._site.declared.setdefault("attribute", {})[f"{pending.path}@_FillValue"] = pending.span
        return VariableBuilder(self._site, pending)


def pending_attribute(site: Site, owner: str, name: str, value: Any, kind: TypeLike | None) -> PendingAttribute:
    """Return a given attribute with the caller's position."""
    from nczarr.api.builder.values import attribute_constant
    from nczarr.ast.plain_json import JsonText

    named = None if kind is None else type_name(site, kind)
    if named is not None:
        site.require_type(named, owner)
    try:
        if site.judges and not isinstance(value, JsonText):
            if value is None and named is None:
                raise UnsuitedValueError("type-mismatch", "the value is None", 'type="string" makes it NIL')
            scope = None if named is None or named in ATOMIC else site.survey()
            known = (named, {}) if scope is None else (scope.type(named, owner), scope.types)
            made = attribute_constant(value, *known)
            if name == "_FillValue" and made.count != 1:
                raise UnsuitedValueError("fill-value-count", "it is a single value")
    except UnsuitedValueError as refused:
        site.error(refused.code, f"attribute `{name}`: {refused}", helps=[refused.remedy] if refused.remedy else [])
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
