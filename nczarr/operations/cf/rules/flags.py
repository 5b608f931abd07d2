"""3.5 Flags."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import INTEGERS, CFDataset, CFVariable

_WORD = re.compile(r"[A-Za-z0-9_\-.+@]+")


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find flags that do not agree with their variable or their meanings."""
    for variable in dataset.variables.values():
        for name in ("flag_values", "flag_masks"):
            if name in variable.attributes:
                yield from _find_values(variable, name)
        if "flag_meanings" in variable.attributes:
            yield from _find_words(variable)
        yield from _find_masks(variable)


def _find_values(variable: CFVariable, name: str) -> Iterator[Breach]:
    node, path = variable.attributes[name], variable.path
    if not variable.has_type(name, variable.type):
        text = f"`{name}` of `{path}` has the type `{node.value.type}`, not `{variable.type}`"
        yield Breach("type", text, node)
    count = node.value.count
    if variable.type == "char" and not variable.numbers(name):
        count = len(variable.text(name).split()) if " " in variable.text(name) else count
    words = variable.text("flag_meanings").split()
    if "flag_meanings" not in variable.attributes:
        if name == "flag_values":
            yield Breach("meanings", f"`{path}` has `flag_values` without `flag_meanings`", node)
    elif len(words) != count and variable.kind("flag_meanings") == "text":
        text = f"`{path}` has {count} `{name}`, and {len(words)} words in `flag_meanings`"
        yield Breach("count", text, variable.attributes["flag_meanings"])
    numbers = variable.numbers(name)
    if name == "flag_values" and len(set(numbers)) < len(numbers):
        repeated = next(number for number in numbers if numbers.count(number) > 1)
        yield Breach("distinct", f"`flag_values` of `{path}` has {repeated} twice", node, str(repeated))
    if name == "flag_masks" and 0 in numbers:
        yield Breach("zero", f"a mask of `{path}` is zero", node)
    if name == "flag_masks" and variable.type not in INTEGERS | {"char"}:
        yield Breach("bits", f"`{path}` has `flag_masks` and the type `{variable.type}`", node)


def _find_words(variable: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["flag_meanings"]
    if variable.kind("flag_meanings") != "text":
        yield Breach("words", f"`flag_meanings` of `{variable.path}` is not a text", node)
    if not {"flag_values", "flag_masks"} & variable.attributes.keys():
        yield Breach("values", f"`{variable.path}` has `flag_meanings` without `flag_values` and `flag_masks`", node)
    for word in variable.text("flag_meanings").split():
        if not _WORD.fullmatch(word):
            yield Breach("words", f"`{word}` of `{variable.path}` has characters that no meaning has", node, word)


def _find_masks(variable: CFVariable) -> Iterator[Breach]:
    values, masks = variable.numbers("flag_values"), variable.numbers("flag_masks")
    if len(values) != len(masks):
        return
    for value, mask in zip(values, masks, strict=True):
        if isinstance(value, int) and isinstance(mask, int) and value & mask != value:
            text = f"the flag {value} of `{variable.path}` has bits outside of its mask {mask}"
            yield Breach("masked", text, variable.attributes["flag_values"], str(value))


TOPIC = Topic(load_rules("flags"), find)
