"""Strings as C libraries hold them: they end at a NUL byte, and NIL in lists crashes a reader."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from nczarr.arrays.values.parts import Types, inner_types
from nczarr.ast import Attribute, Constant, VlenType
from nczarr.ast.dataset import groups
from nczarr.plan.chunk_lengths import survey
from nczarr.plan.plans import Loss
from nczarr.semantics.checked import Checked


def cut_strings(checked: Checked, shown: Collection[str]) -> Iterator[Loss]:
    """Yield strings with a NUL byte, where C readers end them; `shown`: variables to inspect."""
    with_texts = {path for path in checked.types if "string" in inner_types(path, checked.types)} | {"string"}
    for path, group in groups(checked.dataset):
        yield from _cut_attributes(path, group.attributes)
    for path, variable in checked.variables.items():
        yield from _cut_attributes(path, variable.attributes)
        if variable.type not in with_texts or path not in shown:
            continue
        for source in checked.parts.get(path, {}).values():
            if source.layout.dtype == "|O" and survey(source, source.layout.fill or b"").nul:
                text = f"variable `{path}` has a string with a NUL byte, where it would end"
                yield Loss("cut-string", "value", path, text, variable.span)
                break


def _cut_attributes(path: str, attributes: tuple[Attribute, ...]) -> Iterator[Loss]:
    for attribute in attributes:
        if _has_nul(attribute.value):
            text = f"attribute `{attribute.name}` of `{path}` has a string with a NUL byte, where it would end"
            yield Loss("cut-string", "value", path, text, attribute.span)


def without_nil(constant: Constant, types: Types, *, listed: bool = False) -> Constant:
    """Replace NIL in lists of strings by empty texts; return the same object without any NIL.

    libnetcdf 4.10.1 crashes on NIL there, because it copies every text.
    """
    data = constant.data
    if isinstance(data, bytes):
        return constant
    if constant.type == "string":
        return Constant.strings(item or b"" for item in data) if listed and None in data else constant  # type: ignore[misc]
    inside = isinstance(types.get(constant.type), VlenType)
    items = tuple(without_nil(item, types, listed=inside) for item in data if isinstance(item, Constant))
    if all(new is old for new, old in zip(items, data, strict=True)):
        return constant
    return Constant(type=constant.type, count=constant.count, data=items)


def _has_nul(constant: Constant) -> bool:
    data = constant.data
    if isinstance(data, bytes):
        return False
    return any(_has_nul(item) if isinstance(item, Constant) else item is not None and b"\0" in item for item in data)
