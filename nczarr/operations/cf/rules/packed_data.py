"""8.1 Packed data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import REALS, CFDataset, CFVariable

R = Rules("cf-packing", "8.1")

RULES = (
    R.must("equal", "`scale_factor` and `add_offset` have the same type.",
        "short v ; v:scale_factor = 0.1 ; v:add_offset = «1.f|1.» ;", "write both in the type of the unpacked values"),
    R.must("unpacked", "`scale_factor` and `add_offset` are float or double, or have the type of the variable.",
        "short v ; v:scale_factor = «2|2.» ;", "write a number with a decimal point", until=(1, 10)),
    R.must("packed", "A variable with another type than `scale_factor` and `add_offset` is byte, short or int.",
        "«float|short» v ; v:scale_factor = 0.1 ;", "store integers, or remove the attributes", until=(1, 10)),
    R.must("real", "`scale_factor` and `add_offset` are float or double.", "short v ; v:scale_factor = «2s|2.» ;",
        "write a number with a decimal point", since=(1, 11)),
    R.must("range",
        "Variables unpacked to float are byte or short, those unpacked to double also int, with or without sign.",
        "«int|short» v ; v:scale_factor = 0.1f ;", "write the attributes as double, or store shorter integers",
        since=(1, 11)),
    R.should("precision", "A variable unpacked to float is not int.", "«int|short» v ; v:scale_factor = 0.1f ;",
        "write the attributes as double", until=(1, 10)),
)  # fmt: skip

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


TOPIC = Topic(RULES, find)
