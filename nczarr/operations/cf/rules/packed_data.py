"""8.1 Packed data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import REALS, CFDataset, CFVariable

SHORT = frozenset(("byte", "ubyte", "short", "ushort"))


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find types of packing that CF does not allow."""
    for variable in dataset.variables.values():
        names_of = [name for name in ("scale_factor", "add_offset") if name in variable.attributes]
        if names_of:
            yield from _find_types(variable, names_of)


def _find_types(variable: CFVariable, names_of: Sequence[str]) -> Iterator[Breach]:
    node, kinds = variable.attributes[names_of[0]], [variable.kind(name) for name in names_of]
    if not variable.is_typed and "text" not in kinds:
        return  # JSON has no types of numbers
    what = f"`{names_of[0]}` of `{variable.path}` has the type `{kinds[0]}`"
    if len(set(kinds)) > 1:
        yield Breach("equal", f"{what}, and `{names_of[1]}` the type `{kinds[1]}`", node)
    if kinds[0] not in REALS:
        yield Breach("real", what, node)
    elif variable.type not in SHORT | ({"int", "uint"} if kinds[0] == "double" else set()):
        yield Breach("range", f"{what}, and the variable `{variable.type}`", node)
    if kinds[0] != variable.type:
        if kinds[0] not in REALS:
            yield Breach("unpacked", what, node)
        if variable.type not in ("byte", "short", "int", "ubyte", "ushort", "uint"):
            yield Breach("packed", f"{what}, and the variable `{variable.type}`", node)
    if kinds[0] == "float" and variable.type in ("int", "uint"):
        yield Breach("precision", f"{what}, and the variable `{variable.type}`", node)


TOPIC = Topic(load_rules("packed_data"), find)
