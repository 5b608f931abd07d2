"""Types of the notation: all declarations first, then the uses of their names.

A bare name is looked up from the group of its use outwards, and stays bare if
undeclared; a path is a path.
"""

from __future__ import annotations

import re
from typing import Any, cast

from nczarr import names
from nczarr.arrays.values.value_lists import sound_types
from nczarr.ast import ATOMIC, CompoundType, EnumConstant, EnumType, Field, OpaqueType, UserType, VlenType
from nczarr.ast.dataset import MAX_DEPTH
from nczarr.ast.types import IntegerName
from nczarr.formats.notation.parse_tree import Written, declarations
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P

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
            built = [node for name, context in contexts if (node := self._build(name, context, path)) is not None]
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

    def _build(self, name: str, context: Any, scope: str) -> UserType | None:
        span = self._reader.span(context.name())
        match context:
            case P.OpaqueContext():
                size = self._size(context, "bad-opaque-size", "an opaque type must have at least one byte")
                return OpaqueType(name=name, size=size, span=span) if size else None
            case P.VlenContext():
                base = self.use(context.type_(), scope)
                return VlenType(name=name, base=base, span=span) if base is not None else None
            case P.EnumContext():
                return self._enum(name, context, scope)
            case _:
                fields = [self._field(child, scope) for child in context.getTypedRuleContexts(P.FieldContext)]
                sound = tuple(field for field in fields if field is not None)
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
