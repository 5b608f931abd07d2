"""Reader of the notation: text → parse tree → `Unchecked`.

The first walk collects the types of all groups, because constants may precede
them; the second builds the nodes. Undeclared type names stay as written, for
the passes to report. Bad input never raises: faults are reported, and valid
parts read.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar, cast

from nczarr import names
from nczarr.arrays.values.elements import is_element_name
from nczarr.ast import (
    Attribute,
    Codec,
    Constant,
    Dataset,
    Dimension,
    DimensionRef,
    Group,
    Kind,
    Quantize,
    Storage,
    Variable,
)
from nczarr.ast.dataset import FILTER_NUMBERS, FLETCHER32, SHUFFLE, Algorithm
from nczarr.ast.rectilinear import chunk_length
from nczarr.ast.types import MAX_DEPTH
from nczarr.diagnostics.report import Report, Source, Span, suggest
from nczarr.formats.notation import literals
from nczarr.formats.notation.literals import WrittenConstant
from nczarr.formats.notation.tokens import EscapeError, NotationExplainer, NotationRecovery, read_name, scan
from nczarr.formats.notation.typedefs import TypeTable, Written, declarations
from nczarr.semantics.checked import Unchecked
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P
from nczarr.syntax.tokens import ListStream, Token

if TYPE_CHECKING:
    from nczarr.options import Options


_WORDS = {
    "layout": ("contiguous", "compact", "chunked"),
    "endian": ("little", "big"),
    "quantize": ("bitgroom", "granularbitround", "bitround"),
    "element": ("bool", "float16", "complex64", "complex128", "datetime64[s]", "timedelta64[s]", "utf32[1]"),
}

_NAMED_BY_WORD = {P.LayoutContext: "layout", P.EndianContext: "endian", P.ElementContext: "element"}


class StorageBuilder:
    """Collector of the properties of one variable; all but `codec` may occur once."""

    def __init__(self, reader: Written) -> None:
        self._reader = reader
        self._members: dict[str, Any] = {}
        self._codecs: list[Codec] = []

    def build(self) -> Storage:
        """Return the collected storage, whose members are already checked."""
        return Storage(codecs=tuple(self._codecs), **self._members)

    def take(self, context: Any) -> None:
        """Add a property. Reports `unknown-word`, `bad-chunk-size`, `duplicate-name`, `bad-special-value`."""
        match context:
            case P.CodecContext():
                self._add_codec(context)
            case P.ChunksContext():
                chunks = tuple(self._read_lengths(context))
                if 0 in chunks:
                    message = "a chunk must have at least one element along each dimension"
                    self._reader.report.error("bad-chunk-size", message, self._reader.span(context))
                else:
                    self._once("chunks", chunks, context)
            case P.FillContext():
                self._once("no_fill", True, context)
            case P.QuantizeContext():
                self._quantize(context)
            case _ if name := _NAMED_BY_WORD.get(type(context)):
                self._once(name, self._read_word(name, context), context)

    def _read_lengths(self, context: Any) -> Iterator[int]:
        """Yield the chunk length of each dimension, 0 for an invalid one."""
        for child in context.getChildren():
            if isinstance(child, P.LengthsContext):
                runs = []
                for part in child.getChildren():
                    if isinstance(part, P.RunContext):
                        runs.append(self._reader.sizes(part, "bad-chunk-size"))
                    elif part in child.getTokens(P.SIZE):
                        runs.append((self._reader.size(part, "bad-chunk-size") or 0, 1))
                sound = runs and all(len(run) == 2 and all(run) for run in runs)
                yield chunk_length([(length, count) for length, count in runs]) if sound else 0
            elif child in context.getTokens(P.SIZE):
                size = self._reader.size(child, "bad-chunk-size")
                if size is not None:
                    yield size

    def _once(self, member: str, value: Any, context: Any) -> None:
        if member in self._members:
            word = self._reader.spelt(context).split(maxsplit=1)[0]
            self._reader.report.error("duplicate-name", f"`{word}` is given twice", self._reader.span(context))
        elif value is not None:
            self._members[member] = value

    def _read_word(self, property_: str, context: Any) -> str | None:
        """Return the word after a property's name if the property accepts it."""
        if context.NAME() is None:
            return None
        word, words = self._reader.spelt(context.NAME()), _WORDS[property_]
        if word in words:
            return word
        if property_ == "element":
            with suppress(EscapeError):
                element = read_name(word)
                if is_element_name(element):
                    return element
        self._unknown(f"`{word}` is not a valid {property_}", word, words, context)
        return None

    def _add_codec(self, context: Any) -> None:
        """Add a codec, such as `codec deflate 5` or `codec 307 9`."""
        numbers = [self._reader.size(terminal, "bad-special-value") for terminal in context.getTokens(P.SIZE)]
        parameters = [number for number in numbers if number is not None]
        if context.NAME() is not None:
            word = self._reader.spelt(context.NAME())
            identity = FILTER_NUMBERS.get(word)
            if identity is None:
                meant = "deflate" if word == "zlib" else word  # as `--codec` calls it
                self._unknown(f"`{word}` is not a codec", meant, tuple(FILTER_NUMBERS), context)
                return
        elif parameters:
            identity = parameters.pop(0)
        else:
            return
        from nczarr.arrays.codecs.chain import find_fault

        codec = Codec(id=identity, parameters=tuple(parameters), span=self._reader.span(context))
        fault = find_fault(codec)
        if codec.id in (SHUFFLE, FLETCHER32) and parameters:  # CDL of ncdump may have those of HDF5
            fault = f"`{codec.name}` has no parameters"
        if fault is not None:
            self._reader.report.error("bad-special-value", fault, codec.span)
        self._codecs.append(codec)

    def _quantize(self, context: Any) -> None:
        """Note `quantize ALGORITHM DIGITS`; report a second one."""
        word = self._read_word("quantize", context)
        digits = self._reader.size(context.SIZE(), "bad-special-value") if context.SIZE() is not None else None
        if word is None or digits is None:
            return
        if digits == 0:
            text = "quantization must keep at least one digit"
            self._reader.report.error("bad-special-value", text, self._reader.span(context))
            return
        node = Quantize(algorithm=cast("Algorithm", word), digits=digits, span=self._reader.span(context))
        self._once("quantize", node, context)

    def _unknown(self, message: str, word: str, words: tuple[str, ...], context: Any) -> None:
        helps = [*suggest(word, words), f"known words are {', '.join(f'`{valid}`' for valid in words)}"]
        self._reader.report.error("unknown-word", message, self._reader.span(context), helps=helps)


_KINDS: dict[str, Kind] = {"nc3": "nc3", "nc6": "nc6", "nc5": "nc5", "nc4": "nc4", "nc7": "nc7"}
T = TypeVar("T")


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Return the dataset of a text, with forward references; None if nothing could be read.

    Reports lexical and syntactic faults and invalid constants and properties;
    the passes report undefined and duplicate names.
    """
    errors = report.errors
    tokens = scan(source, report)
    if len(tokens) == 1:
        report.error("empty-input", "the text does not contain a dataset", Span(source, 0, 0))
        return None
    if report.errors > errors and any(diagnostic.code == "too-deep-nesting" for diagnostic in report.list_sorted()):
        return None
    tree, broken = parse(source, tokens, report)
    reader = _NotationReader(source, report)
    return Unchecked(reader.dataset(tree), forward=True, broken=frozenset(broken), uses=reader.uses)


def parse(source: Source, tokens: list[Token], report: Report) -> tuple[Any, set[str]]:
    """Return the parse tree, and the names in faulty statements; faults of syntax are reported."""
    stream = ListStream(tokens)
    parser = P(stream)
    parser.removeErrorListeners()
    parser._errHandler = strategy = NotationRecovery(source, report, NotationExplainer(source, stream))
    return parser.dataset(), strategy.finish(stream)


class _NotationReader(Written):
    """State of one run: source, report and known types."""

    def __init__(self, source: Source, report: Report) -> None:
        super().__init__(source, report)
        self.types = TypeTable(self)

    def dataset(self, context: Any) -> Dataset:
        """Return the root with everything readable."""
        self.types.collect(context)
        version = context.ZARRVERSION()
        members = self.members(context, "/", 0)
        return Dataset(
            name=self.name(context.name()) or "",
            version=self.spelt(version) if version is not None else "2.0.0",
            kind=self._read_kind(context.kind()),
            span=self.span(context),
            **members,
        )

    def _read_kind(self, context: Any) -> Kind | None:
        if context is None or context.name() is None:
            return None
        word = self.spelt(context.name())
        if word not in _KINDS:
            text = f"`{word}` is not a kind of netCDF file"
            helps = [f"kinds are {', '.join(f'`{kind}`' for kind in _KINDS)}"]
            self.report.error("unknown-word", text, self.span(context.name()), helps=helps)
        return _KINDS.get(word)

    def members(self, context: Any, path: str, depth: int) -> dict[str, tuple[Any, ...]]:
        """Return the members of a group by field name of the node."""
        dimensions, variables, attributes, groups = [], [], [], []
        for declaration in declarations(context):
            match declaration:
                case P.DimensionContext():
                    dimensions.append(self.dimension(declaration))
                case P.VariableContext():
                    variables.append(self.variable(declaration, path))
                case P.AttributeContext():
                    attributes.append(self.attribute(declaration, path))
                case P.GroupContext():
                    groups.append(self.group(declaration, path, depth + 1))
        return {
            "types": self.types.of_group(path),
            "dimensions": _sound(dimensions),
            "variables": _sound(variables),
            "attributes": _sound(attributes),
            "groups": _sound(groups),
        }

    def group(self, context: Any, path: str, depth: int) -> Group | None:
        """Return a group; None if it has no name or is nested too deep."""
        name = self.name(context.name())
        if name is None:
            return None
        if depth > MAX_DEPTH:
            text = f"groups are nested more than {MAX_DEPTH} deep"
            self.report.error("too-deep-nesting", text, self.span(context.name()))
            return None
        return Group(name=name, span=self.span(context.name()), **self.members(context, names.join(path, name), depth))

    def dimension(self, context: Any) -> Dimension | None:
        """Return a dimension; None without name or size."""
        name, size = self.name(context.name()), context.SIZE()
        length = self.size(size) if size is not None else None
        if name is None or length is None:
            return None
        unlimited = context.UNLIMITED() is not None
        return Dimension(name=name, size=length, unlimited=unlimited, span=self.span(context.name()))

    def variable(self, context: Any, scope: str) -> Variable | None:
        """Return a variable with attributes and properties; None without name or type."""
        name, type_name = self.name(context.name()), self.types.use(context.type_(), scope)
        if name is None or type_name is None:
            return None
        attributes: list[Attribute | None] = []
        storage = StorageBuilder(self)
        for child in context.getTypedRuleContexts(P.PropertyContext):
            inner = child.getChild(0)
            if isinstance(inner, P.AttributeContext):
                attributes.append(self.attribute(inner, scope))
            elif isinstance(inner, P.FillContext) and inner.constant() is not None:
                attributes.append(self._read_fill(inner, type_name))
            elif inner is not None:
                storage.take(inner)
        references = list(self._dimrefs(context))
        places = (self.span(context.type_()), *(place for _, place in references))
        self.uses.setdefault(names.join(scope, name), places)
        return Variable(
            name=name,
            type=type_name,
            dimensions=tuple(reference for reference, _ in references),
            attributes=_sound(attributes),
            storage=storage.build(),
            span=self.span(context.name()),
        )

    def _dimrefs(self, context: Any) -> Iterator[tuple[DimensionRef, Span]]:
        """Yield the dimensions of a variable, each with its place."""
        for dimref in context.getTypedRuleContexts(P.DimrefContext):
            if dimref.SIZE() is not None:
                size = self.size(dimref.SIZE())
                if size is not None:
                    yield size, self.span(dimref)
            elif dimref.FQN() is not None:
                path = self.path(self.spelt(dimref), self.span(dimref))
                if path is not None:
                    yield path, self.span(dimref)

    def attribute(self, context: Any, scope: str) -> Attribute | None:
        """Return an attribute; None if its name, type or value is invalid."""
        name, type_name = self.name(context.name()), self.types.use(context.value_type(), scope)
        if name is None or type_name is None:
            return None
        written = [self.literal(child) for child in context.getTypedRuleContexts(P.ConstantContext)]
        value = self._value(type_name, written, self.span(context))
        return Attribute(name=name, value=value, span=self.span(context.name())) if value is not None else None

    def _read_fill(self, context: Any, type_name: str) -> Attribute | None:
        """Return `fill X` as the attribute `_FillValue`: one value of the variable's type."""
        value = self._value(type_name, [self.literal(context.constant())], self.span(context))
        if value is not None and value.count != 1:
            self.report.error("fill-value-count", "`fill` takes one value", self.span(context))
            return None
        return Attribute(name="_FillValue", value=value, span=self.span(context)) if value is not None else None

    def _value(self, type_name: str, written: list[WrittenConstant], span: Span) -> Constant | None:
        if not self.types.is_sound(type_name):
            # The passes report the type; a placeholder keeps the use of its name in the tree.
            return Constant(type=type_name, count=0, data=b"", span=span)
        return literals.read(type_name, written, self.types.sound, self.report, span)

    def literal(self, context: Any) -> WrittenConstant:
        """Return a constant as written."""
        start = context.start
        span = self.span(context)
        if start.type != P.LBRACE:
            text = bytes(self.source.data[start.start : start.end])
            if start.type == P.SIZE and not text.isdigit():
                text = b"0"  # a bad number: the token source has reported it
            return WrittenConstant(start.type, text, span)
        items = tuple(self.literal(child) for child in context.getTypedRuleContexts(P.ConstantContext))
        return WrittenConstant(P.LBRACE, b"{", span, items)


def _sound(nodes: list[T | None]) -> tuple[T, ...]:
    return tuple(node for node in nodes if node is not None)
