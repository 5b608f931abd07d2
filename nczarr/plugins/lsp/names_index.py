"""Index of the names of a text: what each of them means, where it is declared, and where it is used.

Names resolve as in the pass `resolve` and the front ends: dimensions and types
in their group and the groups around it, a type also in the whole tree if one
alone has the name, variables in their group. Members of enums in values, and
variables that attributes of CF name, count as uses.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from nczarr import names
from nczarr.pipeline.select.sections import RELATED
from nczarr.plugins.languages.language import Language, Mention, Role, TextMap, pieces_of_path
from nczarr.semantics.resolve import find_in_scope, list_scopes

LONGEST_LIST = 1 << 20
"""Bytes above which a list of values is not searched for members of enums."""

_STRING = re.compile(rb'"([^"\\]*+)"')
_WORD = re.compile(rb"[^\s\"]+")
_MENTIONING = RELATED | {"cell_methods", "compress", "instance_dimension", "sample_dimension"}


class Key(NamedTuple):
    """Identity of a named item."""

    role: Role
    path: str
    """FQN of the item, or of the group, variable or type that has the member."""
    member: str = ""
    """Name of the attribute, field or constant."""

    @property
    def name(self) -> str:
        """Simple name of the item."""
        return self.member or (names.last(self.path) if self.path != "/" else "")


class IndexEntry(NamedTuple):
    """A mention with its meaning."""

    mention: Mention
    key: Key | None
    """The item; None if it is not declared, or not an item of the dataset."""
    quoted: bool = False
    """True if it stands in the text of an attribute."""
    path: bool = False
    """True if it is a part of a path."""


class NameIndex:
    """Names of one version of a text."""

    def __init__(self, text_map: TextMap, data: bytes, language: Language) -> None:
        self._data = data
        self._language = language
        self.declared: dict[Role, dict[str, Mention]] = {
            role: {} for role in ("group", "type", "dimension", "variable")
        }
        """First declarations by FQN."""
        self.axes: dict[str, list[str]] = {}
        """Dimensions of each variable as written, by its FQN."""
        for mention in text_map.mentions:
            if mention.extent is not None and mention.role in self.declared:
                self.declared[mention.role].setdefault(names.join(mention.scope, mention.name), mention)
            elif mention.role == "dimension":
                self.axes.setdefault(names.join(mention.scope, mention.owner), []).append(mention.name)
        self._types_by_name: dict[str, list[str]] = {}
        for path in self.declared["type"]:
            self._types_by_name.setdefault(names.last(path), []).append(path)
        self._constants: dict[str, set[str]] = {}
        self._parts: dict[str, set[str]] = {}
        self.unsure: set[Key] = set()
        """Members of enums with a use that may mean one of several."""
        self.entries = sorted(self._resolve_all(text_map), key=lambda entry: (entry.mention.start, entry.mention.end))
        self._starts = [entry.mention.start for entry in self.entries]
        self.by_key: dict[Key, list[IndexEntry]] = {}
        for entry in self.entries:
            if entry.key is not None:
                self.by_key.setdefault(entry.key, []).append(entry)

    # ---- questions ---------------------------------------------------------------------------------------------
    def at(self, offset: int) -> IndexEntry | None:
        """Return the name at an offset, or just before it."""
        place = bisect_right(self._starts, offset)
        for entry in reversed(self.entries[max(place - 2, 0) : place]):
            if entry.mention.start <= offset <= entry.mention.end:
                return entry
        return None

    def declaration(self, key: Key) -> Mention | None:
        """Return the declaration of an item."""
        entries = (entry.mention for entry in self.by_key.get(key, ()))
        return next((mention for mention in entries if mention.extent is not None), None)

    def partners(self, key: Key) -> tuple[Key, ...]:
        """Return an item, with the coordinate variable of a dimension, or the dimension of a coordinate variable."""
        other = Key("variable" if key.role == "dimension" else "dimension", key.path)
        pair = key.role in ("dimension", "variable") and key in self.by_key and other in self.by_key
        if pair and self.axes.get(key.path) in ([names.last(key.path)], [key.path]):
            return key, other
        return (key,)

    def visible(self, role: Role, scope: str, *, around: bool = True) -> dict[str, str]:
        """Return the FQNs of the items that a bare name reaches from a group, by name.

        `around`: also those of the groups around it.
        """
        found: dict[str, str] = {}
        for group in list_scopes(scope) if around else (scope,):
            for path in self.declared[role]:
                if names.parent(path) == group:
                    found.setdefault(names.last(path), path)
        if role == "type":
            for name, paths in self._types_by_name.items():
                if len(paths) == 1:
                    found.setdefault(name, paths[0])
        return found

    def enum_members(self, type_name: str, scope: str) -> dict[str, str]:
        """Return the members of all enums that values of a type contain, each with the FQN of its enum."""
        return {name: path for path in self._reach(type_name, scope) for name in self._constants.get(path, ())}

    def _reach(self, type_name: str, scope: str) -> list[str]:
        """Return the FQNs of a type and of all types that it contains."""
        start = self._find_type(type_name, scope)
        reached: list[str] = []
        waiting = [start] if start else []
        while waiting:
            path = waiting.pop()
            if path not in reached:
                reached.append(path)
                waiting += sorted(self._parts.get(path, ()))
        return reached

    def type_of(self, owner: str, scope: str) -> str:
        """Return the type of a variable as written; empty without one."""
        path = owner if owner.startswith("/") else names.join(scope, owner)
        variable = self.declared["variable"].get(path)
        return variable.type if variable is not None else ""

    # ---- resolution --------------------------------------------------------------------------------------------
    def _resolve_all(self, text_map: TextMap) -> Iterator[IndexEntry]:
        """Yield an entry for each mention, also those within paths, constants and attribute values."""
        for mention in text_map.mentions:
            if mention.role == "constant" and mention.extent is not None:
                self._constants.setdefault(names.join(mention.scope, mention.owner), set()).add(mention.name)
            elif mention.type and mention.role in ("field", "type"):
                holder = names.join(mention.scope, mention.owner or mention.name)
                self._parts.setdefault(holder, set()).update(
                    filter(None, [self._find_type(mention.type, mention.scope)])
                )
        for mention in text_map.mentions:
            if (
                mention.extent is None
                and mention.role != "atomic"
                and self._data[mention.start : mention.start + 1] == b"/"
            ):
                yield from self._resolve_path(mention)
            else:
                yield IndexEntry(mention, self._resolve(mention))
            if mention.value is not None:
                if self._constants:
                    yield from self._resolve_constants(mention)
                if mention.role == "attribute" and mention.name in _MENTIONING:
                    yield from self._resolve_words(mention)

    def _resolve_path(self, mention: Mention) -> Iterator[IndexEntry]:
        """Yield an entry for each segment of a path: groups, and the item itself."""
        parts, pieces = names.split(mention.name), list(pieces_of_path(self._data, mention))
        if len(parts) != len(pieces) or not parts:
            yield IndexEntry(mention, self._resolve(mention))
            return
        for number, (start, end) in enumerate(pieces, 1):
            path = names.fqn(parts[:number])
            if number == len(parts):
                yield IndexEntry(mention._replace(start=start, end=end), self._resolve(mention), path=True)
            else:
                key = Key("group", path) if path in self.declared["group"] else None
                yield IndexEntry(Mention(start, end, "group", path, mention.scope), key, path=True)

    def _resolve(self, mention: Mention) -> Key | None:
        """Return the item that a mention means, with its role and FQN; None if it is unknown."""
        role, scope, name = mention.role, mention.scope, mention.name
        if role in ("dataset", "atomic"):
            return None
        if role in ("field", "constant"):
            return Key(role, names.join(scope, mention.owner), name)
        if role == "attribute":
            return Key(role, self.find_owner(mention.owner, scope) if mention.owner else scope, name)
        if mention.extent is not None:
            return Key(role, names.join(scope, name))
        if role == "owner":
            role = "variable" if self._find_variable(name, scope) is not None else "type"
        if role == "variable":
            found = self._find_variable(name, scope)
        elif role == "type":
            found = self._find_type(name, scope)
        else:
            found = self._find(name, scope, role)
        return None if found is None else Key(role, found)

    def _find(self, name: str, scope: str, role: Role) -> str | None:
        return find_in_scope(name, list_scopes(scope), self.declared[role])

    def _find_type(self, name: str, scope: str) -> str | None:
        path = self._find(name, scope, "type") if name else None
        several = self._types_by_name.get(name, ())
        return several[0] if path is None and len(several) == 1 else path

    def _find_variable(self, name: str, scope: str) -> str | None:
        path = name if name.startswith("/") else names.join(scope, name)
        return path if path in self.declared["variable"] else None

    def find_owner(self, name: str, scope: str) -> str:
        """Return the FQN of an attribute's owner: of a variable, else of the group, as the word is then a type."""
        path = self._find_variable(name, scope)
        if path is None and name not in self._language.words["types"] and self._find_type(name, scope) is None:
            return name if name.startswith("/") else names.join(scope, name)
        return scope if path is None else path

    def _resolve_constants(self, mention: Mention) -> Iterator[IndexEntry]:
        """Yield the members of enums in the values of an attribute or variable."""
        type_name = self._find_type_of_value(mention)
        enums = self._reach(type_name, mention.scope) if type_name else []
        enum_of_member = self.enum_members(type_name, mention.scope) if enums else {}
        if not enum_of_member or mention.value is None:
            return
        start, end = mention.value
        if end - start > LONGEST_LIST:
            self.unsure.update(Key("constant", path, name) for path in enums for name in self._constants.get(path, ()))
            return
        for lexeme in self._language.split(self._data[start:end]):
            if lexeme.kind not in ("word", "keyword", "atomic"):
                continue
            first, last = start + lexeme.start, start + lexeme.end
            name = names.normal(self._language.read_name(self._data[first:last].decode("utf-8", "replace")))
            if name in enum_of_member:
                having = [path for path in enums if name in self._constants.get(path, ())]
                if len(having) > 1:
                    self.unsure.update(Key("constant", path, name) for path in having)
                constant = Mention(first, last, "constant", name, mention.scope)
                yield IndexEntry(constant, Key("constant", enum_of_member[name], name))
            elif "." in name:
                yield from self._split_dotted(name, first, last, enums, mention.scope)

    def _find_type_of_value(self, mention: Mention) -> str:
        """Return the name of the type that the values at a place have; empty if it is unknown."""
        is_fill = mention.role == "attribute" and mention.name == "_FillValue"
        if mention.role in ("variable", "owner") or is_fill:
            owner = mention.owner if mention.role == "attribute" else mention.name
            return mention.type or self.type_of(owner, mention.scope)
        if not mention.type and mention.owner and self._find_variable(mention.owner, mention.scope) is None:
            return mention.owner  # `sky :state = clear`, where the word is a type
        return mention.type

    def _split_dotted(self, name: str, first: int, last: int, enums: list[str], scope: str) -> Iterator[IndexEntry]:
        """Yield enum and member of `sky.clear`, as ncdump writes members of several enums; bytes from first to last."""
        for path in enums:
            enum = names.last(path)
            member = name.removeprefix(enum + ".")
            if member == name or member not in self._constants.get(path, ()):
                continue
            dot = first + len(enum.encode("utf-8"))
            yield IndexEntry(Mention(first, dot, "type", enum, scope), Key("type", path))
            yield IndexEntry(Mention(dot + 1, last, "constant", member, scope), Key("constant", path, member))

    def _resolve_words(self, mention: Mention) -> Iterator[IndexEntry]:
        """Yield the variables and dimensions that the text of an attribute of CF names."""
        start, end = mention.value or (0, 0)
        by_colon = mention.name == "cell_methods"
        for text in _STRING.finditer(self._data, start, end):
            depth = 0
            for word in _WORD.finditer(self._data, *text.span(1)):
                raw = word.group()
                inside = depth > 0 or raw[:1] == b"("
                depth += raw.count(b"(") - raw.count(b")")
                colon = raw.endswith(b":")
                if inside or (colon != by_colon and (by_colon or mention.name != "grid_mapping")):
                    continue
                first, last = word.start(), word.end() - colon
                name = names.normal(self._data[first:last].decode("utf-8", "replace"))
                key = self._find_mentioned(name, mention)
                if key is not None:
                    yield IndexEntry(Mention(first, last, key.role, name, mention.scope), key, quoted=True)

    def _find_mentioned(self, name: str, mention: Mention) -> Key | None:
        """Return the dimension or variable that a word in an attribute such as `coordinates` means, if any."""
        dimensional = ("cell_methods", "compress", "instance_dimension", "sample_dimension")
        roles: tuple[Role, ...] = ("dimension", "variable") if mention.name in dimensional else ("variable",)
        owner = self.find_owner(mention.owner, mention.scope) if mention.owner else mention.scope
        scope = names.parent(owner) if mention.owner and owner != "/" else mention.scope
        for role in roles:
            path = self._find(name, scope, role)
            if path is not None:
                return Key(role, path)
        return None
