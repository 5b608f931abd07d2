"""Source text of parse tree nodes, and types of the notation: all declarations first, then the uses of their names.

A bare name is looked up from the group of its use outwards, and stays bare if
undeclared; a path is a path. Contexts may be incomplete after a syntax error.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any, cast

from nczarr import names
from nczarr.ast import ATOMIC, CompoundType, EnumConstant, EnumType, Field, OpaqueType, UserType, VlenType
from nczarr.ast.types import MAX_DEPTH, IntegerName, sound_types
from nczarr.diagnostics.report import Report, Source, Span
from nczarr.formats.notation.tokens import EscapeError, read_fqn, read_name
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P

_LARGEST = 2**63 - 1


class Written:
    """Source and report of one run. Contexts may be incomplete after a syntax error."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report
        self.uses: dict[str, tuple[Span, ...]] = {}
        """Places of types and dimensions by the FQN of what uses them, as in `Unchecked`."""

    def span(self, context: Any) -> Span:
        """Return the span of a rule."""
        stop = context.stop or context.start
        return Span(self.source, context.start.start, max(stop.end, context.start.start))

    def spelt(self, context: Any) -> str:
        """Return the text of a rule or terminal; invalid UTF-8 becomes U+FFFD."""
        first = context.symbol if hasattr(context, "symbol") else context.start
        last = context.symbol if hasattr(context, "symbol") else context.stop or first
        return bytes(self.source.data[first.start : last.end]).decode("utf-8", "replace")

    def name(self, context: Any) -> str | None:
        """Return the name in a rule `name`; None if missing or invalid (the latter reported)."""
        if context is None or not context.getChildCount():
            return None
        return self._unescape(self.spelt(context), self.span(context), read_name)

    def path(self, text: str, span: Span) -> str | None:
        """Return the FQN of a token; None (reported) if invalid."""
        return self._unescape(text, span, read_fqn)

    def _unescape(self, text: str, span: Span, read_: Callable[[str], str]) -> str | None:
        """Return a name without its escapes; None after a reported error."""
        try:
            return read_(text)
        except EscapeError as fault:
            helps = ["write a backslash before `/`, `\\`, a blank, other punctuation or a first digit, or as `\\xHH`"]
            self.report.error("bad-escape", f"unknown escape `{fault.escape}` in a name", span, helps=helps)
            return None

    def size(self, terminal: Any, code: str = "bad-dimension-size") -> int | None:
        """Return the number of a SIZE token; None (reported) if no file can have it."""
        text = self.spelt(terminal).lstrip("@")
        if not text.isdecimal():
            return None  # a bad number: the token source has reported it
        if len(text) > 30 or int(text) > _LARGEST:
            token = terminal.symbol
            where = Span(self.source, token.start, token.end)
            self.report.error(code, f"size {text[:30]} is larger than {_LARGEST}", where)
            return None
        return int(text)

    def sizes(self, context: Any, code: str = "bad-dimension-size") -> tuple[int, ...]:
        """Return the valid SIZE tokens directly below a rule."""
        sizes = (self.size(terminal, code) for terminal in context.getTokens(P.SIZE))
        return tuple(size for size in sizes if size is not None)


def declarations(context: Any) -> Iterator[Any]:
    """Yield the declaration rules directly in a group or dataset."""
    for child in context.getTypedRuleContexts(P.DeclarationContext):
        if child.getChildCount():
            yield child.getChild(0)


_TYPE_RULES = (P.CompoundContext, P.OpaqueContext, P.EnumContext, P.VlenContext)


class TypeTable:
    """Declared types of one text. `sound`: noncircular types with known parts."""

    def __init__(self, reader: Written) -> None:
        self._reader = reader
        self._declared: dict[str, list[tuple[str, Any]]] = {}
        self._names: set[str] = set()
        self._built: dict[str, tuple[UserType, ...]] = {}
        self.sound: dict[str, UserType] = {}

    def collect(self, root: Any) -> None:
        """Collect the types of all groups, names first: uses may precede declarations."""
        self._collect(root, "/", 0)
        types: dict[str, UserType] = {}
        for path, contexts in self._declared.items():
            built = [node for name, context in contexts if (node := self._build_type(name, context, path)) is not None]
            self._built[path] = (*self._built.get(path, ()), *built)
            for node in built:
                types.setdefault(names.join(path, node.name), node)
        self.sound = sound_types(types)

    def of_group(self, path: str) -> tuple[UserType, ...]:
        """Return a group's types once: a second group of the same path gets none."""
        return self._built.pop(path, ())

    def use(self, context: Any, scope: str) -> str | None:
        """Return the type in a rule `type`, `value_type` or `fixed_size_type`: atomic, a FQN, or as written."""
        if context is None or context.start is None or not context.getChildCount():
            return None
        token = context.start
        text = self._reader.spelt(context)
        if token.type == P.FQN:
            return self._reader.path(text, self._reader.span(context))
        if token.type != P.NAME:
            return text if text in ATOMIC else None
        name = self._reader.name(context)
        if name is None:
            return None
        while True:
            path = names.join(scope, name)
            if path in self._names:
                return path
            if scope == "/":
                # Undeclared: the passes say so. A name that begins with an (escaped) slash must not look like a path.
                return names.join("/", name) if name.startswith("/") else name
            scope = names.parent(scope)

    def is_sound(self, type_name: str) -> bool:
        """Return whether constants of the type can be built."""
        return type_name in ATOMIC or type_name in self.sound

    def _collect(self, context: Any, path: str, depth: int) -> None:
        """Note the type declarations of a group and of those below it, by the path of their group."""
        contexts = self._declared.setdefault(path, [])
        for child in declarations(context):
            if isinstance(child, _TYPE_RULES):
                name = self._reader.name(child.name())
                if name is not None:
                    contexts.append((name, child))
                    self._names.add(names.join(path, name))
            elif isinstance(child, P.GroupContext) and depth < MAX_DEPTH:
                name = self._reader.name(child.name())
                if name is not None:
                    self._collect(child, names.join(path, name), depth + 1)

    def _build_type(self, name: str, context: Any, scope: str) -> UserType | None:
        """Convert a type declaration; None after a reported error. `scope`: path of its group."""
        span = self._reader.span(context.name())
        match context:
            case P.OpaqueContext():
                size = self._size(context, "bad-opaque-size", "an opaque type must have at least one byte")
                return OpaqueType(name=name, size=size, span=span) if size else None
            case P.VlenContext():
                base = self.use(context.type_(), scope)
                if base is not None:
                    self._reader.uses.setdefault(names.join(scope, name), (self._reader.span(context.type_()),))
                return VlenType(name=name, base=base, span=span) if base is not None else None
            case P.EnumContext():
                return self._enum(name, context, scope)
            case _:
                written = context.getTypedRuleContexts(P.FieldContext)
                fields = [(child, self._field(child, scope)) for child in written]
                sound = tuple(field for _, field in fields if field is not None)
                places = (self._reader.span(child.fixed_size_type()) for child, field in fields if field is not None)
                self._reader.uses.setdefault(names.join(scope, name), tuple(places))
                return CompoundType(name=name, fields=sound, size=self._offset(context) or None, span=span)

    def _size(self, context: Any, code: str, why: str) -> int | None:
        terminal = context.SIZE()
        size = self._reader.size(terminal, code) if terminal is not None else None
        if size == 0:
            self._reader.report.error(code, f"{why}, but its size is 0", self._reader.span(context))
        return size

    def _offset(self, context: Any) -> int | None:
        terminal = context.OFFSET()
        return self._reader.size(terminal, "bad-field-size") if terminal is not None else None

    def _field(self, context: Any, scope: str) -> Field | None:
        name, type_name = self._reader.name(context.name()), self.use(context.fixed_size_type(), scope)
        if name is None or type_name is None:
            return None
        shape = self._reader.sizes(context, "bad-field-size")
        if 0 in shape:
            text = f"field `{name}` has a dimension of length 0"
            self._reader.report.error("bad-field-size", text, self._reader.span(context))
            return None
        span = self._reader.span(context.name())
        return Field(name=name, type=type_name, shape=shape, offset=self._offset(context), span=span)

    def _enum(self, name: str, context: Any, scope: str) -> EnumType | None:
        base = self.use(context.value_type(), scope)
        if base is None:
            return None
        if base not in ATOMIC or not ATOMIC[base].is_integer:
            text = f"enum `{name}` has base `{base}`; the base of an enum must be an integer type"
            self._reader.report.error("bad-enum-base", text, self._reader.span(context.value_type()))
            return None
        atomic = ATOMIC[base]
        constants = []
        for child in context.getTypedRuleContexts(P.EnumeratorContext):
            constant = self._reader.name(child.name())
            number = child.SIZE() or child.INTEGER()
            if constant is None or number is None:
                continue
            text = self._reader.spelt(number)
            if not re.fullmatch("[+-]?[0-9]+", text):
                continue  # a bad number: the token source has reported it
            if len(text) > 40 or not atomic.low <= (value := int(text)) <= atomic.high:
                message = f"value {text[:40]} of `{constant}` does not fit type {base}"
                self._reader.report.error("value-range", message, self._reader.span(child))
                continue
            constants.append(EnumConstant(name=constant, value=value, span=self._reader.span(child)))
        span = self._reader.span(context.name())
        return EnumType(name=name, base=cast("IntegerName", base), constants=tuple(constants), span=span)
