"""Collection of CDL declarations: attribute owners, name meanings, value lists.

Called by `statements.py` and `typedefs.py`; independent of the parse tree.
Values of atomic attributes become constants; lists that need type lookup
remain spans.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from nczarr import names
from nczarr.ast import Attribute, Constant, Dimension, Kind
from nczarr.diagnostics.report import NOWHERE, Fix, Label, Report, Source, Span, did_you_mean, suggest
from nczarr.formats.cdl.read.patterns import PRIMITIVES, SECTIONS
from nczarr.formats.cdl.read.scope import GroupScope, VariableDraft
from nczarr.formats.cdl.spelling import GLOBAL, SPECIAL, Words, attribute_owner, identifier
from nczarr.formats.cdl.values.literal_values import Converter, plain_numbers
from nczarr.formats.cdl.values.literals import ListReader, Literal
from nczarr.syntax.tokens import Token

if TYPE_CHECKING:
    from nczarr.formats.cdl.read.special_attributes import Specials

MAX_RANK = 1024
"""libnetcdf's limit on the rank of a variable (NC_MAX_VAR_DIMS)."""


class Assembler:
    """Collector of one text's declarations; resolves attribute owners and names."""

    def __init__(self, source: Source, report: Report, broken: Collection[str] = ()) -> None:
        """Set up; `broken`: names that statements with syntax errors would have declared."""
        self.source = source
        self.report = report
        self.broken = broken
        self.words = Words(source, report)
        self.lists = ListReader(source, report)
        self.convert = Converter(source, report)
        self.kind: Kind | None = None
        self.root = GroupScope("", "/", NOWHERE)
        self.scope = self.root  # the group whose statements are being read
        self.value_lists: dict[str, Span] = {}
        self.attribute_lists: dict[tuple[str, str], Span] = {}
        self.uses: dict[str, tuple[Span, ...]] = {}
        self._known: dict[tuple[str | None, bytes, bool], Constant] = {}

    @cached_property
    def specials(self) -> Specials:
        """Reader of special attributes."""
        from nczarr.formats.cdl.read.special_attributes import Specials

        return Specials(self.source, self.report)

    def span(self, token: Token) -> Span:
        """Return the span of a token."""
        return Span(self.source, token.start, token.end)

    # ---- dimensions and variables ------------------------------------------------------------------------------
    def add_dimension(
        self, name: str, length: int | None, place: Span, size_place: Span, *, unlimited: bool = False
    ) -> None:
        """Add a dimension; `length` is None after a fault, or if it is unlimited. 0 means that, with a warning."""
        if length is not None and length >= 2**63:
            message = f"a dimension has at most 2^63 - 1 elements, not {length}"
            self.report.error("bad-dimension-size", message, size_place)
            length = None
        if length == 0:  # ncgen, too, makes it unlimited
            message = f'size 0 means "unlimited" to the netCDF library: `{name}` becomes an unlimited dimension'
            help_ = Fix("write UNLIMITED, or a positive size", "UNLIMITED")
            self.report.warning("zero-dimension", message, size_place, helps=[help_])
        self.uses[names.join(self.scope.path, name) + "="] = (size_place,)
        self.scope.dimensions.append(
            Dimension(name=name, size=length or 0, unlimited=unlimited or length == 0, span=place)
        )

    def declare(self, type_name: str, name: str, dimensions: list[str], place: Span, uses: list[Span]) -> None:
        """Add a variable; `uses`: spans of its type and of each dimension."""
        if len(dimensions) > MAX_RANK:
            message = f"`{name}` has {len(dimensions)} dimensions; the limit is {MAX_RANK}"
            self.report.error("rank-limit", message, place)
            dimensions = dimensions[:1]
        if self.broken and any(self._is_broken(used) for used in (type_name, *dimensions)):
            self.report.hush(place)  # its values are unknown
        self.uses.setdefault(self.scope.variable_path(name), tuple(uses))
        self.scope.declare(VariableDraft(name, type_name, tuple(dimensions), place))

    def _is_broken(self, name: str) -> bool:
        """Return whether a type or dimension has a faulty declaration, or occurs only in faulty statements."""
        holder: GroupScope | None = self.scope
        while holder is not None:
            for declared in (*holder.types, *holder.dimensions):
                if declared.name == name:
                    return self.report.is_hushed(declared.span)
            holder = holder.parent
        return name in self.broken

    # ---- attributes --------------------------------------------------------------------------------------------
    def attribute(self, words: list[Token], name: Token, start: int, end: int) -> None:
        """Process `[T] [x]:name = values`; `start` and `end` enclose the values."""
        attribute_name = self.words.name(name.start, name.end)
        declared: str | None = None
        variable: VariableDraft | None = None
        owner = self.scope
        if len(words) == 2:
            declared = self.type_word(words[0])
            assigned = self.variable(words[1])
            if assigned is None:
                return
            owner, variable = assigned
        elif words:
            place = self.variable_or_type(words[0])
            if place is None:
                return
            if isinstance(place, str):
                declared = place
            else:
                owner, variable = place
        literal_span = Span(self.source, start, end)
        self.add_attribute(owner, variable, declared, words, attribute_name, self.span(name), literal_span)

    def add_attribute(
        self,
        scope: GroupScope,
        variable: VariableDraft | None,
        declared: str | None,
        words: list[Token],
        name: str,
        place: Span,
        values: Span,
    ) -> None:
        """Read the values of an attribute and add it to its known owner."""
        if name in SPECIAL:
            self._read_special(scope, variable, declared, name, place, values)
            return
        if name.startswith("_") and (meant := self.specials.find_special(name)) is not None:
            message = f"`{name}` is not a special attribute; it is stored as an ordinary one"
            self.report.warning("unknown-special", message, place, helps=[did_you_mean(meant, name)])
        if name == "_FillValue" and variable is not None:
            declared = variable.type
        attributes = variable.attributes if variable is not None else scope.attributes
        owner = scope.variable_path(variable.name) if variable is not None else scope.path
        if words and (variable is None or len(words) == 2):
            self.uses[f"{owner}:{name}"] = (self.span(words[0]),)
        if declared is not None and declared not in _ATOMIC:
            self.attribute_lists[owner, name] = values
            attributes.append(Attribute(name=name, value=Constant(type=declared, count=0, data=b""), span=place))
            return
        constant = self._read_constant(variable, declared, name, place, values)
        if constant is not None:
            attributes.append(Attribute(name=name, value=constant, span=place))

    def _read_constant(
        self, variable: VariableDraft | None, declared: str | None, name: str, place: Span, values: Span
    ) -> Constant | None:
        """Convert the values of an attribute, `plain` ones quickly; None after a reported error."""
        quick = self.plain(bytes(self.source.data[values.start : values.end]), declared)
        if quick is not None and (name != "_FillValue" or variable is None or quick.count == 1):
            return quick
        literals = self.lists.read(values.start, values.end)
        if literals is None:
            return None
        if name == "_FillValue" and variable is not None:
            return self._convert_fill_value(variable, literals, place)
        if not literals:
            if declared in (None, "char"):
                return Constant.text(b"" if declared else b"\0")
            if declared == "string":
                return Constant.strings(())
            end = Span(self.source, values.end, values.end + 1)
            message = (
                f"attribute `{name}` of type {declared} has no value; only char and string attributes may be empty"
            )
            self.report.error("empty-attribute", message, end, helps=["give a value"])
            return None
        if declared is None:
            owner = "" if variable is None else attribute_owner(variable.name)
            return self.convert.type_untyped(literals, f"{owner}:{identifier(name)}")
        return self.convert.atomic(literals, declared, f"{_article(declared)} attribute")

    def text(self, text: bytes) -> Constant:
        """Return the constant of one plain string; an empty one becomes a NUL, as in ncgen."""
        constant = self._known.get((None, text, True))
        if constant is None:
            constant = self._known[None, text, True] = Constant(type="char", count=len(text) or 1, data=text or b"\0")
        return constant

    def plain(self, text: bytes, declared: str | None) -> Constant | None:
        """Return the constant of plain numbers. None: parse the text as literals.

        Equal texts share one constant, because schemas repeat scale factors and
        fill values.
        """
        key = (declared, text, False)
        constant = self._known.get(key)
        if constant is None:
            constant = plain_numbers(text, declared)
            if constant is not None:
                self._known[key] = constant
        return constant

    def _convert_fill_value(self, variable: VariableDraft, literals: list[Literal], place: Span) -> Constant | None:
        declared = variable.type
        if not literals:
            self.report.error("fill-value-count", f"`_FillValue` of `{variable.name}` has no value", place)
            return None
        what = f"`_FillValue` of the {declared} variable `{variable.name}`"
        if len(literals) > 1:
            self.convert.error("fill-value-count", "_FillValue must be a single value", literals[1])
            return None
        if declared == "char" and literals[0].kind == "string" and len(literals[0].value) != 1:
            if literals[0].value:
                text = "_FillValue of a char variable must be one character"
                self.convert.error("fill-value-count", text, literals[0])
                return None
            return Constant.text(b"\0")
        return self.convert.atomic(literals, declared, what)

    def _read_special(
        self,
        scope: GroupScope,
        variable: VariableDraft | None,
        declared: str | None,
        name: str,
        place: Span,
        values: Span,
    ) -> None:
        """Read a special attribute: storage of a variable, such as `_ChunkSizes`, or `_Format` of the root."""
        on_root = variable is None and scope is self.root
        if declared is not None or (name in GLOBAL) != (variable is None) or (variable is None and not on_root):
            belongs = "the root group" if name in GLOBAL else "a variable"
            message = f"special attribute `{name}` belongs to {belongs}, without a type"
            self.report.error("misplaced-special", message, place)
            return
        literals = self.lists.read(values.start, values.end)
        if literals is None:
            return
        if variable is not None and not self.report.is_hushed(variable.span):
            self.specials.of_variable(variable, name, literals, place)
        elif name == "_Format":
            self.kind = self.specials.kind(literals, place) or self.kind

    # ---- what words mean -----------------------------------------------------------------------------------------
    def type_word(self, word: Token) -> str:
        """Return the atomic type of a type use, or its name (a path as FQN)."""
        atomic = PRIMITIVES.get(bytes(self.source.data[word.start : word.end]))
        if atomic is not None:
            return atomic
        name = self.words.reference(word.start, word.end)
        return self._find_escaped_type(name) if name in _ATOMIC else name

    def _find_escaped_type(self, name: str) -> str:
        r"""Return the FQN of a declared type named like an atomic one (`\float`): the bare name is ambiguous."""
        scope: GroupScope | None = self.scope
        while scope is not None:
            if any(declared.name == name for declared in scope.types):
                return names.join(scope.path, name)
            scope = scope.parent
        return names.join("/", name)

    def variable(self, word: Token) -> tuple[GroupScope, VariableDraft] | None:
        """Return the variable that a word names (in this group, or by path), or report it and return None."""
        variable = self.find_variable(word)
        if variable is None:
            self.report_undefined_variable(word)
        return variable

    def find_variable(self, word: Token) -> tuple[GroupScope, VariableDraft] | None:
        """Return the variable that a word names, or None."""
        name = self.words.reference(word.start, word.end)
        if not name.startswith("/") or self.source.data[word.start] != 0x2F:
            variable = self.scope.variable_by_name.get(name)
            return (self.scope, variable) if variable is not None else None
        *path, last = names.split(name) or ("",)
        holder = self._find_group(path)
        variable = holder.variable_by_name.get(last) if holder is not None else None
        return (holder, variable) if holder is not None and variable is not None else None

    def variable_or_type(self, word: Token) -> tuple[GroupScope, VariableDraft] | str | None:
        """Resolve the word before the colon of `x:a`: a variable if one exists, else a type."""
        variable = self.find_variable(word)
        if variable is not None:
            return variable
        raw = bytes(self.source.data[word.start : word.end])
        if raw in PRIMITIVES:
            return PRIMITIVES[raw]
        name = self.words.reference(word.start, word.end)
        if self.scope.has_type(names.last(name) if raw.startswith(b"/") and name != "/" else name):
            return self._find_escaped_type(name) if name in _ATOMIC else name
        self.report_undefined_variable(word)
        return None

    def report_undefined_variable(self, word: Token) -> None:
        """Report an undefined variable."""
        name = self.words.reference(word.start, word.end)
        is_path = self.source.data[word.start] == 0x2F
        if is_path and self._find_group(names.split(name)[:-1]) is None:
            self.report.error("undefined-group", f"group `{names.parent(name)}` is not defined", self.span(word))
            return
        helps, others = list[str](), list[Label]()
        simple = names.last(name) if is_path and name != "/" else name
        if simple in self.broken:
            self.report.consequence()
            return
        elsewhere = [other for other in self.root.walk() if simple in other.variable_by_name]
        meant = names.closest(name, self.scope.variable_by_name)
        if elsewhere and not is_path:
            helps.append(f"a variable of another group needs its path: `{elsewhere[0].variable_path(name)}`")
        elif meant is not None:
            helps.append(did_you_mean(meant, name))
            others.append(Label(self.scope.variable_by_name[meant].span, "declared here"))
        elif self.source.data[word.end : word.end + 2] == b": ":  # `dimension: x = 3` looks like an attribute
            helps += suggest(name + ":", (f"{section.decode()}:" for section in SECTIONS))
        outer = self.scope.parent  # the path of a group that repeats a name has a number
        where = f" in group `{names.join(outer.path, self.scope.name)}`" if outer is not None else ""
        message = f"variable `{name}` is not defined{where}"
        self.report.error("undefined-variable", message, self.span(word), helps=helps, others=others)

    def _find_group(self, path: Iterable[str]) -> GroupScope | None:
        """Return the group that these names lead to, or None."""
        holder: GroupScope | None = self.root
        for part in path:
            holder = holder.child(part) if holder is not None else None
        return holder

    def values(self, word: Token, start: int, end: int) -> None:
        """Process `x = values` of a data section."""
        assigned = self.variable(word)
        if assigned is None:
            return
        owner, variable = assigned
        if self.report.is_hushed(variable.span):
            return  # of an unknown shape
        path = owner.variable_path(variable.name)
        if path in self.value_lists:
            first = Label(self.value_lists[path], "first given here")
            message = f"the values of `{variable.name}` are already given"
            self.report.error(
                "duplicate-data", message, self.span(word), others=[first], helps=["remove one of the lists"]
            )
            return
        self.value_lists[path] = Span(self.source, start, end)


_ATOMIC = frozenset(PRIMITIVES.values())


def _article(type_name: str) -> str:
    return f"an {type_name}" if type_name[0] in "aeiou" and not type_name.startswith("ub") else f"a {type_name}"
