"""Hypothesis strategies for valid datasets of every type with values; examples shrink.

    @given(datasets())                    the whole model
    @given(datasets(elements=True))       with elements that only stores have
    @given(datasets(cdl=True))            datasets whose CDL text reads back to an equal tree
    @given(datasets_with_data(cdl=True))  (dataset, parts by variable FQN)

Declarations precede their uses, names are legal and in NFC, and all rules of
the model hold.
"""

from __future__ import annotations

import math
import struct
from typing import Any

from hypothesis import strategies as st

from nczarr import names
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.elements import suits
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.ast import (
    ATOMIC,
    Attribute,
    Codec,
    CompoundType,
    Constant,
    Dataset,
    Dimension,
    EnumConstant,
    EnumType,
    Field,
    Group,
    OpaqueType,
    Quantize,
    Storage,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.dataset import RESERVED_ATTRIBUTES, groups
from nczarr.ast.types import Atomic
from nczarr.plugins.testing.arrays import parts_of

INTEGERS = tuple(name for name, atomic in ATOMIC.items() if atomic.is_integer)
CLASSIC = ("byte", "char", "short", "int", "float", "double")
CDF5 = tuple(name for name in ATOMIC if name != "string")
_WORDS = (
    "time", "lat", "x", "group", "dimension", "float", "int", "byte", "fill", "none", "unlimited", "NaN", "data",
    "types", "variables", "enum", "a b", "a|b", "1st", "é", "日本", "a.b", "x-1", "50%", "what?",
    'q"', "it's", "a\\b", "{x}", "(y)", "a:b", "a=b", "a,b", "a;b", "[0]", "n#1", "_", "kind",
)  # fmt: skip
_ODD = st.characters(codec="utf-8", exclude_categories=("Cc", "Cs", "Cn"), exclude_characters="/")


def legal_names() -> st.SearchStrategy[str]:
    """Return a strategy of legal netCDF names: plain names, keywords of the languages, any Unicode.

    Returns
    -------
    hypothesis.strategies.SearchStrategy of str
        Names in NFC; never `_` alone.
    """
    odd = st.text(_ODD, min_size=1, max_size=6)
    plain = st.text("abcdefg_0123456789.+-@", min_size=1, max_size=4)
    drawn = st.one_of(st.sampled_from("abcdefgh"), st.sampled_from(_WORDS), plain, odd)
    return drawn.map(names.normal).filter(_legal)


def _legal(name: str) -> bool:
    # Names that begin with an underscore may be special attributes, or near enough to one for a warning.
    # CDL has no spelling for a name that begins with an invisible space beyond ASCII. netCDF-4 files keep some names
    # of attributes for themselves.
    usable = names.problem(name) is None and not name.startswith("_") and not names.is_strange(name[0])
    return usable and name not in RESERVED_ATTRIBUTES


@st.composite
def constants(
    draw: st.DrawFn, type_name: str, types: dict[str, UserType], count: int, *, cdl: bool = False
) -> Constant:
    """Return a strategy of constants of a type.

    Parameters
    ----------
    type_name : str
        Atomic type, or fully qualified name of a declared type.
    types : dict of str to UserType
        Declared types by fully qualified name.
    count : int
        Number of values.
    cdl : bool
        Draw only values that CDL can represent: no NaN payloads, named enum values.

    Returns
    -------
    Constant
        The drawn constant.
    """
    declared = types.get(type_name)
    if type_name == "string":
        return Constant.strings(draw(st.lists(_strings(), min_size=count, max_size=count)))
    if isinstance(declared, VlenType):
        lengths = draw(st.lists(st.integers(0, 3), min_size=count, max_size=count))
        elements = tuple(draw(constants(declared.base, types, length, cdl=cdl)) for length in lengths)
        return Constant(type=type_name, count=count, data=elements)
    if isinstance(declared, CompoundType) and not is_fixed(type_name, types):
        shapes = [(field.type, math.prod(field.shape)) for field in declared.fields] * count
        members = tuple(draw(constants(name, types, length, cdl=cdl)) for name, length in shapes)
        return Constant(type=type_name, count=count, data=members)
    return Constant(type=type_name, count=count, data=draw(_pack(type_name, types, count, cdl)))


@st.composite
def _pack(draw: st.DrawFn, type_name: str, types: dict[str, UserType], count: int, cdl: bool) -> bytes:
    """Return packed bytes of values of a fixed-size type."""
    declared = types.get(type_name)
    if isinstance(declared, EnumType):
        values = st.sampled_from([constant.value for constant in declared.constants])
        code = ATOMIC[declared.base].code
        return b"".join(struct.pack(f"<{code}", draw(values)) for _ in range(count))
    if isinstance(declared, CompoundType):
        pieces = [
            draw(_pack(field.type, types, math.prod(field.shape), cdl))
            for _ in range(count)
            for field in declared.fields
        ]
        return b"".join(pieces)
    if isinstance(declared, OpaqueType) or type_name == "char":
        length = count * size(type_name, types)
        return draw(st.one_of(st.binary(min_size=length, max_size=length), _chars(length)))
    return b"".join(draw(_number(ATOMIC[type_name], cdl)) for _ in range(count))


def _chars(length: int) -> st.SearchStrategy[bytes]:
    return st.text("abc \n\0'\"\\", min_size=length, max_size=length).map(lambda text: text.encode("ascii"))


def _number(atomic: Atomic, cdl: bool) -> st.SearchStrategy[bytes]:
    """Return a strategy for the bytes of a number; `cdl`: NaN only as CDL can write it."""
    code = f"<{atomic.code}"
    if atomic.is_integer:
        edges = st.sampled_from((0, 1, atomic.low, atomic.high))
        return st.one_of(edges, st.integers(atomic.low, atomic.high)).map(lambda value: struct.pack(code, value))
    finite = st.floats(width=32 if atomic.code == "f" else 64, allow_nan=False)
    spelt = finite.map(lambda value: struct.pack(code, value))
    usual = st.just(struct.pack(code, math.nan))
    exotic = st.binary(min_size=atomic.size, max_size=atomic.size)
    return st.one_of(spelt, usual) if cdl else st.one_of(spelt, usual, exotic)


def _strings() -> st.SearchStrategy[bytes | None]:
    text = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=5).map(str.encode)
    raw = st.binary(max_size=4).map(lambda data: data.replace(b"\0", b"x"))
    return st.one_of(st.none(), text, raw)


class _Scene:
    """Declarations drawn so far in one dataset, in text order."""

    def __init__(self, draw: st.DrawFn, *, cdl: bool, classic: bool, wide: bool, elements: bool) -> None:
        self.draw = draw
        self.elements = elements
        self.cdl = cdl
        self.classic = classic or wide
        self.types: dict[str, UserType] = {}
        self.dimensions: dict[str, Dimension] = {}
        self.atomic = CDF5 if wide else CLASSIC if classic else tuple(ATOMIC)

    def some(self, most: int) -> int:
        return self.draw(st.integers(0, most))

    def group(self, path: str, depth: int) -> dict[str, Any]:
        """Draw the members of one group."""
        taken: set[str] = set()
        types = [] if self.classic else [self.type(path, taken) for _ in range(self.some(3))]
        dimensions = [self.dimension(path, taken) for _ in range(self.some(3))]
        variables = [self.variable(path, self.name(taken, dimensions)) for _ in range(self.some(3))]
        if self.cdl:
            for dimension in dimensions:  # only data tell the length of an unlimited dimension
                fqn = names.join(path, dimension.name)
                told = any(variable.dimensions == (fqn,) and self.has_fill(variable.type) for variable in variables)
                if dimension.unlimited and dimension.size and not told:
                    variables.append(Variable(name=self.name(taken), type="int", dimensions=(fqn,)))
        attributes = self.attributes()
        deeper = 0 if self.classic or depth > 2 else self.some(2)
        children = [self.name(taken) for _ in range(deeper)]
        groups = [Group(name=name, **self.group(names.join(path, name), depth + 1)) for name in children]
        return {
            "types": tuple(types),
            "dimensions": tuple(dimensions),
            "variables": tuple(variables),
            "attributes": attributes,
            "groups": tuple(groups),
        }

    def has_fill(self, type_name: str) -> bool:
        """Return whether CDL can write missing values of a type; an enum may have none."""
        return type_name not in self.types

    def name(self, taken: set[str], coordinates: list[Dimension] | None = None) -> str:
        """Draw a name unused in the group; a variable may share a dimension's name."""
        free = [dimension.name for dimension in coordinates or () if dimension.name + "\0" not in taken]
        if free and self.some(1):
            shared: str = self.draw(st.sampled_from(free))
            taken.add(shared + "\0")
            return shared
        name: str = self.draw(legal_names().filter(lambda name: name not in taken))
        taken.add(name)
        return name

    def any_type(self, *, fixed: bool = False) -> str:
        """Draw an atomic or declared type."""
        known = [path for path in self.types if not fixed or is_fixed(path, self.types)]
        atomic = st.sampled_from([name for name in self.atomic if not fixed or name != "string"])
        return self.draw(st.one_of(atomic, st.sampled_from(known)) if known else atomic)

    def type(self, path: str, taken: set[str]) -> UserType:
        draw, name = self.draw, self.name(taken)
        declared: UserType
        stored = ("bool", "complex") if self.elements else ()
        match draw(st.sampled_from(("enum", "opaque", "vlen", "compound", *stored))):
            case "bool":
                truths = (EnumConstant(name="FALSE", value=0), EnumConstant(name="TRUE", value=1))
                declared = EnumType(name=name, base="byte", constants=truths)
            case "complex":
                part = draw(st.sampled_from(("float", "double")))
                declared = CompoundType(name=name, fields=(Field(name="r", type=part), Field(name="i", type=part)))
            case "enum":
                base = draw(st.sampled_from(INTEGERS))
                values = st.integers(ATOMIC[base].low, ATOMIC[base].high)
                numbers = draw(st.lists(values, min_size=1, max_size=3, unique=True))
                labels = draw(st.lists(legal_names(), min_size=len(numbers), max_size=len(numbers), unique=True))
                pairs = zip(labels, numbers, strict=True)
                constants_ = tuple(EnumConstant(name=label, value=number) for label, number in pairs)
                declared = EnumType.model_validate({"name": name, "base": base, "constants": constants_})
            case "opaque":
                declared = OpaqueType(name=name, size=draw(st.integers(1, 4)))
            case "vlen":
                declared = VlenType(name=name, base=self.any_type())
            case _:
                declared = self.compound(name)
        self.types[names.join(path, name)] = declared
        return declared

    def compound(self, name: str) -> CompoundType:
        """Draw a compound type, with gaps between the members if it is not for CDL."""
        draw = self.draw
        labels = draw(st.lists(legal_names(), min_size=1, max_size=3, unique=True))
        shapes = st.lists(st.integers(1, 2), max_size=2).map(tuple)
        fields = [Field(name=label, type=self.any_type(), shape=draw(shapes)) for label in labels]
        if self.cdl or not draw(st.booleans()) or not all(is_fixed(field.type, self.types) for field in fields):
            return CompoundType(name=name, fields=tuple(fields))
        placed, end = [], 0
        for field in fields:  # a file's own layout: gaps wherever it likes them
            end += draw(st.integers(0, 3))
            placed.append(Field(name=field.name, type=field.type, shape=field.shape, offset=end))
            end += math.prod(field.shape) * size(field.type, self.types)
        return CompoundType(name=name, fields=tuple(placed), size=end + draw(st.integers(0, 3)))

    def dimension(self, path: str, taken: set[str]) -> Dimension:
        """Draw a dimension; classic datasets have at most one unlimited dimension."""
        free = not self.classic or not any(known.unlimited for known in self.dimensions.values())
        unlimited = free and self.draw(st.booleans())
        low = 0 if unlimited else 1
        dimension = Dimension(name=self.name(taken), size=self.draw(st.integers(low, 3)), unlimited=unlimited)
        self.dimensions[names.join(path, dimension.name)] = dimension
        return dimension

    def variable(self, path: str, name: str) -> Variable:
        draw, type_name = self.draw, self.any_type()
        references: tuple[str | int, ...] = ()
        if self.dimensions:
            known = st.sampled_from(sorted(self.dimensions))
            anonymous = st.integers(1, 3)
            one = known if self.cdl or self.classic else st.one_of(known, anonymous)
            references = draw(st.lists(one, max_size=3).map(tuple))
        if self.classic:  # the unlimited dimension comes first
            unlimited = [each for each in references if self._list_unlimited(each)]
            references = (*unlimited[:1], *(each for each in references if not self._list_unlimited(each)))
        attributes = self.attributes()
        if draw(st.booleans()):
            value = draw(constants(type_name, self.types, 1, cdl=self.cdl))
            at = draw(st.integers(0, len(attributes)))
            attributes = (*attributes[:at], Attribute(name="_FillValue", value=value), *attributes[at:])
        storage = Storage() if self.classic else self.storage(type_name, references)
        if self.elements:
            suited = [each for each in draw(_elements()) if suits(each, type_name, self.types)]
            storage = storage.model_copy(update={"element": draw(st.sampled_from((None, *suited)))})
        return Variable(name=name, type=type_name, dimensions=references, attributes=attributes, storage=storage)

    def _list_unlimited(self, reference: str | int) -> bool:
        return isinstance(reference, str) and self.dimensions[reference].unlimited

    def attributes(self) -> tuple[Attribute, ...]:
        found: list[Attribute] = []
        taken: set[str] = set()
        for _ in range(self.some(2)):
            type_name = self.any_type()
            low = 1 if self.cdl and type_name not in ("char", "string") else 0
            count = self.draw(st.integers(low, 4))
            value = self.draw(constants(type_name, self.types, count, cdl=self.cdl))
            found.append(Attribute(name=self.name(taken), value=value))
        return tuple(found)

    def storage(self, type_name: str, references: tuple[str | int, ...]) -> Storage:
        """Draw storage that suits the variable."""
        draw = self.draw
        fixed = type_name != "string" and is_fixed(type_name, self.types)
        wide = fixed and type_name in ATOMIC and ATOMIC[type_name].size > 1
        endian = draw(st.sampled_from((None, "little", "big"))) if wide else None
        quantize = None
        if type_name in ("float", "double") and draw(st.booleans()):
            algorithm = draw(st.sampled_from(("bitgroom", "granularbitround", "bitround")))
            quantize = Quantize.model_validate({"algorithm": algorithm, "digits": draw(st.integers(1, 7))})
        lengths = [each if isinstance(each, int) else self.dimensions[each].size for each in references]
        growing = any(self._list_unlimited(each) for each in references)
        chunked = bool(references) and draw(st.booleans())
        if not chunked:
            layouts = st.sampled_from((None, "contiguous") if not growing else (None,))
            return Storage.model_validate(
                {"layout": draw(layouts), "endian": endian, "quantize": quantize, "no_fill": draw(st.booleans())}
            )
        chunks = tuple(draw(st.integers(1, max(1, length))) for length in lengths)
        codecs = draw(st.lists(_codecs(), max_size=3, unique_by=lambda codec: codec.id)) if fixed else []
        return Storage.model_validate(
            {"layout": "chunked", "chunks": chunks, "codecs": tuple(codecs), "endian": endian, "quantize": quantize}
        )


@st.composite
def _elements(draw: st.DrawFn) -> tuple[str, ...]:
    """Return a strategy of store elements, of each kind one."""
    length = draw(st.integers(1, 9))
    unit = draw(st.sampled_from(("", "[s]", "[25us]", "[D]", "[M]", "[ns]")))
    time = draw(st.sampled_from(("datetime64", "timedelta64")))
    text = draw(st.sampled_from(("utf32", "bytes")))
    return "bool", "float16", "complex64", "complex128", f"{text}[{length}]", f"{time}{unit}"


def _codecs() -> st.SearchStrategy[Codec]:
    """Return a strategy for codecs, by their numbers in HDF5."""
    level = st.integers(1, 9)
    named = st.sampled_from((Codec(id=2), Codec(id=3)))
    deflate = level.map(lambda value: Codec(id=1, parameters=(value,)))
    zstd = level.map(lambda value: Codec(id=32015, parameters=(value,)))
    bzip2 = level.map(lambda value: Codec(id=307, parameters=(value,)))
    return st.one_of(named, deflate, zstd, bzip2)


@st.composite
def datasets(
    draw: st.DrawFn, *, cdl: bool = False, classic: bool = False, wide: bool = False, elements: bool = False
) -> Dataset:
    """Return a strategy of valid datasets without values.

    Parameters
    ----------
    cdl : bool
        Draw only what CDL can represent.
    classic : bool
        Draw only what a netCDF-3 file can hold.
    wide : bool
        As `classic`, with the types of CDF-5.
    elements : bool
        Draw store elements of variables as well, such as `bool` and `datetime64[s]`.
        CDL and netCDF-3 files have none.

    Returns
    -------
    Dataset
        The drawn tree.

    Examples
    --------
    >>> from hypothesis import given, settings
    >>> from nczarr.testing.strategies import datasets
    >>> @settings(max_examples=5, database=None)
    ... @given(datasets(classic=True))
    ... def test(dataset):
    ...     assert not dataset.groups
    >>> test()
    """
    classic = classic or wide
    elements = elements and not (cdl or classic)
    scene = _Scene(draw, cdl=cdl or classic, classic=classic, wide=wide, elements=elements)
    members = scene.group("/", 0)
    kinds = ("nc5", None) if wide else ("nc3", "nc6", "nc7", None) if classic else ("nc4", None)
    name = draw(st.one_of(st.just("sample"), legal_names()))
    if cdl or classic:
        name = "".join(character for character in name if character > " " and character not in "{}/\"'\\")
    version = "2.0.0" if cdl or classic else draw(st.sampled_from(("2.0.0", "0.1.20")))
    return Dataset(name=name, version=version, kind=draw(st.sampled_from(kinds)), **members)


@st.composite
def datasets_with_data(
    draw: st.DrawFn, *, cdl: bool = False, classic: bool = False, wide: bool = False
) -> tuple[Dataset, dict[str, Parts]]:
    """Return a strategy of valid datasets with values for most of their variables.

    Parameters
    ----------
    cdl : bool
        Draw only what CDL can represent.
    classic : bool
        Draw only what a netCDF-3 file can hold.
    wide : bool
        As `classic`, with the types of CDF-5.

    Returns
    -------
    tuple of Dataset and dict of str to Parts
        The drawn tree, and arrays by fully qualified name of a variable. Variables
        without arrays have fill values.
    """
    dataset = draw(datasets(cdl=cdl, classic=classic, wide=wide))
    found = list(groups(dataset))
    types = {names.join(path, node.name): node for path, group in found for node in group.types}
    lengths = {names.join(path, node.name): node.size for path, group in found for node in group.dimensions}
    parts: dict[str, Parts] = {}
    for path, group in found:
        for variable in group.variables:
            shape = tuple(each if isinstance(each, int) else lengths[each] for each in variable.dimensions)
            if math.prod(shape) <= 12 and draw(st.integers(0, 3)):
                values = draw(constants(variable.type, types, math.prod(shape), cdl=cdl or classic or wide))
                parts[names.join(path, variable.name)] = parts_of(values, shape, types)
    return dataset, parts
