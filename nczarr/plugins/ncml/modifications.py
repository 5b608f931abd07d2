"""Changes of a dataset by the elements of a document: attributes, dimensions, types, variables, removals, groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, cast

from nczarr import names
from nczarr.arrays.regions import all_of
from nczarr.arrays.sources.memory import all_fill
from nczarr.ast import ATOMIC, Attribute, Dimension, EnumConstant, EnumType, Group, UserType, Variable, VlenType
from nczarr.ast.dataset import building, map_groups
from nczarr.ast.types import IntegerName, is_number
from nczarr.diagnostics.report import suggest
from nczarr.plugins.combine.join.recode import units_of
from nczarr.plugins.common.xml_reader import XmlElement
from nczarr.plugins.ncml.trees import rename_nodes
from nczarr.plugins.ncml.values import (
    ENUM_BASES,
    MOST_OF_DOCUMENT,
    MOST_VALUES,
    TYPES,
    StatedValueError,
    constant_of,
    convert_constant,
    convert_values,
    read_values,
)
from nczarr.plugins.ncml.vocabulary import CHANGES, NcmlDocument, is_true
from nczarr.semantics.check_types import variable_fill
from nczarr.semantics.checked import Unchecked, tables

FILL = "_FillValue"
LONGEST = 2**63 - 1


def has_changes(element: XmlElement) -> bool:
    """Return whether a dataset element changes anything."""
    return any(child.tag in CHANGES for child in element.children)


def modify(draft: Unchecked, element: XmlElement, document: NcmlDocument) -> Unchecked | None:
    """Return a dataset as the elements of a document change it; None after an error.

    Reports bad-ncml, unmatched-ncml, unmatched-removal, unsupported-ncml. Raises OSError.
    """
    before = document.report.errors
    with building():
        renamed = rename_nodes(draft, element, document)
        if document.report.errors > before:
            return None
        modifier = _Modifier(renamed, document, explicit=element.first("explicit") is not None)
        tree = modifier.change_content(element, renamed.dataset, "/", [])
        if document.report.errors > before:
            return None
        variables = tables(tree).variables
        parts = {path: arrays for path, arrays in modifier.parts.items() if path in variables}
        return Unchecked(_fit_storage(tree), parts=parts)


def _fit_storage(tree: Any) -> Any:
    """Return a tree in which storage suits dimensions that have become unlimited or fixed."""
    dimensions = tables(tree).dimensions

    def fit(variable: Variable) -> Variable:
        """Return the variable with chunks within the new lengths, not contiguous if a dimension is unlimited now."""
        storage, axes = variable.storage, [dimensions.get(str(one)) for one in variable.dimensions]
        grows = any(axis is not None and axis.unlimited for axis in axes)
        layout = None if grows and storage.layout in ("contiguous", "compact") else storage.layout
        chunks = storage.chunks
        if chunks is not None and len(chunks) == len(axes):
            chunks = tuple(
                min(length, max(axis.size, 1))
                if axis is not None and not axis.unlimited and type(length) is int
                else length
                for length, axis in zip(chunks, axes, strict=True)
            )
        if (layout, chunks) == (storage.layout, storage.chunks):
            return variable
        return variable.model_copy(update={"storage": storage.model_copy(update={"layout": layout, "chunks": chunks})})

    return map_groups(tree, lambda path, group: {"variables": tuple(map(fit, group.variables))})


def _rename_keys(before: Mapping[str, Attribute], elements: Sequence[XmlElement]) -> dict[str, Attribute]:
    """Return attributes under the new names of all elements at once, so that two may exchange their names."""
    renamed: dict[str, str] = {}
    for one in elements:
        name = names.normal(one.attributes["name"])
        origin = names.normal(one.attributes.get("orgName") or name)
        if origin != name:
            renamed.setdefault(origin, name)
    taken = set(renamed.values())
    return {renamed.get(key, key): one for key, one in before.items() if key in renamed or key not in taken}


def _suit_fill(variable: Variable, type_name: str) -> tuple[Attribute, ...]:
    """Return the attributes of a variable with a fill value of its new type. Raises StatedValueError."""
    if variable.type == type_name or not (is_number(variable.type) and is_number(type_name)):
        return variable.attributes
    return tuple(
        one.with_value(convert_constant(one.value, type_name))
        if one.name == FILL and one.value.type == variable.type
        else one
        for one in variable.attributes
    )


Scopes = list[tuple[str, dict[str, Dimension], dict[str, UserType]]]
"""FQN, dimensions and types of each enclosing group, the root first."""


class _Modifier:
    """Changes of one dataset, whose nodes have their new names."""

    def __init__(self, draft: Unchecked, document: NcmlDocument, *, explicit: bool) -> None:
        self.document, self.explicit = document, explicit
        self.old = tables(draft.dataset)
        self.used = {one for variable in self.old.variables.values() for one in variable.dimensions}
        self.parts = dict(draft.parts)

    def _bad(self, text: str, element: XmlElement, helps: Sequence[str] = ()) -> None:
        self.document.report.error("bad-ncml", text, self.document.span(element), helps=helps)

    def change_content(self, element: XmlElement, group: Any, path: str, outer: Scopes) -> Any:
        """Return a group or dataset with the changes of an element."""
        self._check_unique(element)
        report, known = self.document.report, not self.explicit
        attributes = self._change_attributes(element, group.attributes, None, known=known)
        types = {node.name: node for node in group.types}
        for child in element.all("enumTypedef"):
            declared = self._declare_enum(child)
            if declared is not None:
                types[declared.name] = declared
        old = {node.name: node for node in group.dimensions}
        dimensions = dict(old) if known else {}
        for child in element.all("dimension"):
            dimension = self._declare_dimension(child, old.get(names.normal(child.attributes["name"])), path)
            if dimension is not None:
                dimensions[dimension.name] = dimension
        scopes: Scopes = [*outer, (path, dimensions, types)]
        old_variables = {node.name: node for node in group.variables}
        variables = dict(old_variables) if known else {}
        for child in element.all("variable"):
            name = names.normal(child.attributes["name"])
            try:
                variables[name] = self._declare_variable(child, name, old_variables.get(name), scopes)
            except StatedValueError as error:
                is_unknown = name not in old_variables and "type" not in child.attributes
                helps = suggest(name, old_variables) if is_unknown else ()
                self._bad(f"variable `{name[:80]}`: {error}", child, helps)
        groups = {node.name: node for node in group.groups}
        nodes: dict[str, dict[str, Any]] = {"variable": variables, "dimension": dimensions, "group": groups}
        for child in element.all("remove"):
            kind, name = child.attributes["type"], names.normal(child.attributes["name"])
            if kind == "attribute":
                continue
            if kind not in nodes:
                text = f"`remove` takes the types attribute, variable, dimension and group, not `{kind[:80]}`"
                self._bad(text, child, suggest(kind, ("attribute", *nodes)))
            elif nodes[kind].pop(name, None) is None:
                text = f"there is no {kind} `{names.join(path, name)}` to remove"
                report.warning("unmatched-removal", text, self.document.span(child))
            elif kind == "dimension":
                self._check_removed(names.join(path, name), variables, child)
        if self.explicit:
            wanted = {names.normal(child.attributes["name"]) for child in element.all("group")}
            groups = {name: node for name, node in groups.items() if name in wanted}
        for child in element.all("group"):
            name = names.normal(child.attributes["name"])
            if not names.is_segment(name) or len(scopes) > 64:
                self._bad(f"`{name[:80]}` cannot be the name of a group here", child)
                continue
            inner = groups.get(name) or Group(name=name, span=self.document.span(child))
            groups[name] = self.change_content(child, inner, names.join(path, name), scopes)
        return group.model_copy(
            update={
                "attributes": attributes,
                "types": tuple(types.values()),
                "dimensions": tuple(dimensions.values()),
                "variables": tuple(variables.values()),
                "groups": tuple(groups.values()),
            }
        )

    def _check_unique(self, element: XmlElement) -> None:
        """Report a node that two elements change: each states the change of the dataset before."""
        seen = set()
        for child in element.children:
            if child.tag in ("dimension", "variable", "group", "enumTypedef"):
                name = names.normal(child.attributes["name"])
                if (child.tag, name) in seen:
                    self._bad(f"two elements `{child.tag}` have the name `{name[:80]}`; join them", child)
                seen.add((child.tag, name))

    def _check_removed(self, path: str, variables: Mapping[str, Variable], element: XmlElement) -> None:
        uses = next((name for name, one in variables.items() if path in one.dimensions), None)
        if uses is not None:
            self._bad(f"the dimension `{path}` cannot be removed: `{uses}` has it", element)

    # ---- attributes --------------------------------------------------------------------------------------------------
    def _change_attributes(
        self, element: XmlElement, old: tuple[Attribute, ...], type_name: str | None, *, known: bool
    ) -> tuple[Attribute, ...]:
        """Return the attributes of an owner. `type_name`: that of a variable; `known`: those of before remain."""
        before = {attribute.name: attribute for attribute in old}
        members = _rename_keys(before, element.all("attribute")) if known else {}
        for child in element.all("attribute"):
            name = names.normal(child.attributes["name"])
            origin = names.normal(child.attributes.get("orgName") or name)
            if origin != name and origin not in before:
                helps = suggest(origin, before)
                text = f"there is no attribute `{origin}` to rename"
                self.document.report.error("unmatched-ncml", text, self.document.span(child), helps=helps)
                continue
            if not names.is_segment(name):
                self._bad(f"`{name[:80]}` cannot be the name of an attribute", child)
                continue
            value = before[origin].value if origin in before else None
            try:
                if value is None or "value" in child.attributes or child.text.strip():
                    own = type_name if name == FILL and type_name in ATOMIC else None
                    value = constant_of(child, own)
            except StatedValueError as error:
                self._bad(f"attribute `{name}`: {error}", child)
                continue
            members[name] = Attribute(name=name, value=value, span=self.document.span(child))
        for child in element.all("remove"):
            if child.attributes["type"] == "attribute":
                if members.pop(names.normal(child.attributes["name"]), None) is None:
                    text = f"there is no attribute `{child.attributes['name'][:80]}` to remove"
                    self.document.report.warning("unmatched-removal", text, self.document.span(child))
            elif element.tag == "variable":
                kind = child.attributes["type"]
                self._bad(f"`remove` in a variable takes the type attribute, not `{kind[:80]}`", child)
        return tuple(members.values())

    # ---- types and dimensions ----------------------------------------------------------------------------------------
    def _declare_enum(self, element: XmlElement) -> EnumType | None:
        """Return an enumeration, None after an error."""
        name, word = names.normal(element.attributes["name"]), element.attributes.get("type", "enum1").lower()
        base = ENUM_BASES.get(word) or TYPES.get(word, "")
        try:
            constants = tuple(
                EnumConstant(name=names.normal(child.text.strip()), value=int(child.attributes["key"]))
                for child in element.all("enum")
            )
            if names.is_segment(name) and constants:
                span = self.document.span(element)
                return EnumType(name=name, base=cast("IntegerName", base), constants=constants, span=span)
        except ValueError:
            pass
        self._bad(f"the enumeration `{name[:80]}` needs an integer type, and keys and names of its constants", element)
        return None

    def _declare_dimension(self, element: XmlElement, old: Dimension | None, path: str) -> Dimension | None:
        """Return a new or changed dimension, None after an error."""
        name, length = names.normal(element.attributes["name"]), element.attributes.get("length", "").strip()
        shared = is_true(element, "isShared", "true")
        if is_true(element, "isVariableLength") or length == "*" or not shared:
            text = f"the dimension `{name[:80]}` is of variable length or not shared, which is not read"
            self.document.report.error("unsupported-ncml", text, self.document.span(element))
            return None
        if length and not (
            length.isascii() and length.isdecimal() and int(length[:20]) <= LONGEST and len(length) < 20
        ):
            self._bad(f"`{length[:40]}` is no length of a dimension", element)
            return None
        if old is None:
            if not length or not names.is_segment(name):
                self._bad(f"the new dimension `{name[:80]}` needs a name that netCDF allows, and a length", element)
                return None
            unlimited = is_true(element, "isUnlimited")
            return Dimension(name=name, size=int(length), unlimited=unlimited, span=self.document.span(element))
        fqn = names.join(path, name)
        if length and int(length) != old.size and fqn in self.used:
            self._bad(f"the dimension `{fqn}` has the length {old.size} in the dataset, not {length}", element)
            return None
        unlimited = is_true(element, "isUnlimited") if "isUnlimited" in element.attributes else old.unlimited
        return old.model_copy(update={"size": int(length) if length else old.size, "unlimited": unlimited})

    # ---- variables ---------------------------------------------------------------------------------------------------
    def _declare_variable(self, element: XmlElement, name: str, old: Variable | None, scopes: Scopes) -> Variable:
        """Return a new or changed variable, and record its values. Raises StatedValueError."""
        path, span = names.join(scopes[-1][0], name), self.document.span(element)
        if not names.is_segment(name):
            raise StatedValueError("the name is not allowed")
        type_name = self._type_of(element, old, scopes)
        if old is None or "shape" in element.attributes:
            dimensions, sizes = self._shape_of(element, type_name, scopes)
        else:
            dimensions, sizes = old.dimensions, self._sizes(old.dimensions, scopes)
        before = () if old is None else _suit_fill(old, type_name)
        attributes = self._change_attributes(element, before, type_name, known=not self.explicit)
        members: dict[str, Any] = {"type": type_name, "dimensions": dimensions, "attributes": attributes}
        variable = (
            Variable(name=name, span=span, **members)
            if old is None
            else old.model_copy(update={**members, "span": span})
        )
        new = {names.join(path, name): node for path, _, types in scopes for name, node in types.items()}
        types = {**self.old.types, **new}
        stated = element.all("values")
        if len(stated) > 1:
            raise StatedValueError("it has two elements `values`")
        if stated:
            self._count(math.prod(sizes))
            self.parts[path] = read_values(stated[0], type_name, sizes, types)
            return variable
        if old is None:
            return variable
        old_sizes = tuple(one if isinstance(one, int) else self.old.dimensions[one].size for one in old.dimensions)
        if sizes != old_sizes:
            raise StatedValueError(f"its shape is {list(old_sizes)} in the dataset, not {list(sizes)}")
        if old.type != type_name:
            self._convert(path, old, variable, sizes, types)
        return variable

    def _count(self, values: int) -> None:
        """Count values that are in memory. Raises StatedValueError beyond the limit of a document."""
        self.document.counts["values"] += values
        if self.document.counts["values"] > MOST_OF_DOCUMENT:
            raise StatedValueError(f"the document states or converts more than {MOST_OF_DOCUMENT} values")

    def _convert(
        self, path: str, old: Variable, variable: Variable, sizes: tuple[int, ...], types: Mapping[str, UserType]
    ) -> None:
        """Record the values of a variable in its new type. Raises StatedValueError, OSError."""
        count = math.prod(sizes)
        if count > MOST_VALUES or not (is_number(old.type) or old.type == "string"):
            text = f"{count} values of type `{old.type}` are not converted"
            raise StatedValueError(f"{text}; leave `type` out, or state the type of the dataset")
        self._count(count)
        fill = variable_fill(old, self.old)
        whole = all_fill(fill, old.type, sizes, types, self.parts.get(path))[""]
        values = whole.read(all_of(sizes))
        self.parts[path] = convert_values(values, old.type, variable.type, units_of(variable), sizes, types)

    def _type_of(self, element: XmlElement, old: Variable | None, scopes: Scopes) -> str:
        """Return the type of a variable. Raises StatedValueError."""
        word = element.attributes.get("type", "").strip()
        if old is not None and (not word or old.type in self.old.types):
            return old.type
        if word.lower() in ENUM_BASES:
            wanted = names.normal(element.attributes.get("typedef", ""))
            for path, _, types in reversed(scopes):
                if isinstance(types.get(wanted), EnumType):
                    return names.join(path, wanted)
            raise StatedValueError(f"there is no enumeration `{wanted[:80]}`")
        if word.lower() not in TYPES:
            if not word:
                raise StatedValueError("the dataset has no such variable, and a new one needs a type")
            raise StatedValueError(f"`{word[:40]}` is no type of new variables")
        return TYPES[word.lower()]

    def _shape_of(
        self, element: XmlElement, type_name: str, scopes: Scopes
    ) -> tuple[tuple[str | int, ...], tuple[int, ...]]:
        """Return the dimensions of a variable and their lengths. Raises StatedValueError."""
        words = element.attributes.get("shape", "").split()
        if words and words[-1] == "*" and isinstance(self.old.types.get(type_name), VlenType):
            words = words[:-1]
        dimensions: list[str | int] = []
        for word in map(names.normal, words):
            if word.isascii() and word.isdecimal() and len(word) < 19:
                dimensions.append(int(word))
                continue
            home = next((path for path, known, _ in reversed(scopes) if word in known), None)
            if home is None:
                known_names = [name for _, known, _ in scopes for name in known]
                hint = "".join(f"; {text}" for text in suggest(word, known_names))
                raise StatedValueError(f"there is no dimension `{word[:80]}`{hint}")
            dimensions.append(names.join(home, word))
        return tuple(dimensions), self._sizes(tuple(dimensions), scopes)

    def _sizes(self, dimensions: tuple[str | int, ...], scopes: Scopes) -> tuple[int, ...]:
        """Return the lengths of dimensions. Raises StatedValueError for undeclared ones."""
        declared = {names.join(path, name): node for path, known, _ in scopes for name, node in known.items()}
        if not self.explicit:
            declared = {**self.old.dimensions, **declared}
        sizes = []
        for one in dimensions:
            if isinstance(one, str) and one not in declared:
                raise StatedValueError(f"its dimension `{one}` is not declared, which an explicit document must do")
            sizes.append(one if isinstance(one, int) else declared[one].size)
        return tuple(sizes)
