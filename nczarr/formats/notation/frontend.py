"""Reader of the notation: text → parse tree → `Unchecked`.

The first walk collects the types of all groups, because constants may precede
them; the second builds the nodes. Undeclared type names stay as written, for
the passes to report. Bad input never raises: faults are reported, and valid
parts read.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from nczarr import names
from nczarr.ast import Attribute, Constant, Dataset, Dimension, DimensionRef, Group, Kind, Variable
from nczarr.ast.walk import MAX_DEPTH
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.notation import literals
from nczarr.formats.notation.literals import WrittenConstant
from nczarr.formats.notation.parse_tree import Written, declarations
from nczarr.formats.notation.properties import StorageBuilder
from nczarr.formats.notation.recovery import NotationExplainer, NotationRecovery
from nczarr.formats.notation.tokens import scan
from nczarr.formats.notation.typedefs import TypeTable
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P
from nczarr.syntax.tokens import ListStream

if TYPE_CHECKING:
    from nczarr.options import Options

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
    if report.errors > errors and any(diagnostic.code == "too-deep-nesting" for diagnostic in report.sorted()):
        return None
    stream = ListStream(tokens)
    parser = P(stream)
    parser.removeErrorListeners()
    parser._errHandler = strategy = NotationRecovery(source, report, NotationExplainer(source, stream))
    tree = parser.dataset()
    broken = frozenset(strategy.finish(stream))
    return Unchecked(_NotationReader(source, report).dataset(tree), forward=True, broken=broken)


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
            kind=self._kind(context.kind()),
            span=self.span(context),
            **members,
        )

    def _kind(self, context: Any) -> Kind | None:
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
            self.report.error(
                "too-deep-nesting", f"groups are nested more than {MAX_DEPTH} deep", self.span(context.name())
            )
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
                attributes.append(self._fill(inner, type_name))
            elif inner is not None:
                storage.take(inner)
        return Variable(
            name=name,
            type=type_name,
            dimensions=tuple(self._dimrefs(context)),
            attributes=_sound(attributes),
            storage=storage.done(),
            span=self.span(context.name()),
        )

    def _dimrefs(self, context: Any) -> Iterator[DimensionRef]:
        for dimref in context.getTypedRuleContexts(P.DimrefContext):
            if dimref.SIZE() is not None:
                size = self.size(dimref.SIZE())
                if size is not None:
                    yield size
            elif dimref.FQN() is not None:
                path = self.path(self.spelt(dimref), self.span(dimref))
                if path is not None:
                    yield path

    def attribute(self, context: Any, scope: str) -> Attribute | None:
        """Return an attribute; None if its name, type or value is invalid."""
        name, type_name = self.name(context.name()), self.types.use(context.value_type(), scope)
        if name is None or type_name is None:
            return None
        written = [self.literal(child) for child in context.getTypedRuleContexts(P.ConstantContext)]
        value = self._value(type_name, written, self.span(context))
        return Attribute(name=name, value=value, span=self.span(context.name())) if value is not None else None

    def _fill(self, context: Any, type_name: str) -> Attribute | None:
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
