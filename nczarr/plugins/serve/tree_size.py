"""Estimate of the memory that an open dataset takes: its tree, the descriptions of its arrays, and its documents.

The cache of datasets is bounded by it. It grows with everything that a document
can have many of, or make long; `tests/plugins/serve/test_dataset_cache.py` compares
it with what Python allocates.
"""

from __future__ import annotations

from collections.abc import Iterable

from nczarr.ast import Attribute, CompoundType, Constant, EnumType, UserType
from nczarr.semantics.checked import Checked

NODE = 4096
"""Bytes of a group or variable with its array description and its documents as a store."""

ATTRIBUTE = 512
"""Bytes of an attribute without its value, of a dimension, or of a member of a type."""

ITEM = 72
"""Bytes of a string among several, without its text."""

TIMES = 3
"""Copies of a value: in the tree, and in the documents of a store while they are made."""


def estimate(checked: Checked) -> int:
    """Return the approximate bytes of a dataset and one of its derived forms in memory."""
    lists = [node.attributes for node in checked.groups.values()]
    lists += [node.attributes for node in checked.variables.values()]
    members = ATTRIBUTE * len(checked.dimensions) + sum(map(_weigh_type, checked.types.values()))
    return NODE * len(lists) + sum(map(_weigh_attributes, lists)) + members


def _weigh_attributes(attributes: Iterable[Attribute]) -> int:
    return sum(ATTRIBUTE + TIMES * (_weigh_value(one.value) + len(one.json or "")) for one in attributes)


def _weigh_value(value: Constant) -> int:
    data = value.data
    if isinstance(data, bytes):
        return len(data)
    return sum(
        ATTRIBUTE + _weigh_value(item) if isinstance(item, Constant) else ITEM + len(item or b"") for item in data
    )


def _weigh_type(user_type: UserType) -> int:
    members: tuple[object, ...] = ()
    if isinstance(user_type, EnumType):
        members = user_type.constants
    elif isinstance(user_type, CompoundType):
        members = user_type.fields
    return ATTRIBUTE * (1 + len(members))
