"""Losses of a dataset in a DMR++ document, determined before writing."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr import names
from nczarr.ast import Attribute, CompoundType, Dataset, EnumType
from nczarr.ast.walk import groups
from nczarr.check.checked import Checked
from nczarr.formats.dmrpp.link_plan import Refused, way_of
from nczarr.options import Options
from nczarr.plan.plans import Loss


def losses(checked: Checked, options: Options) -> Iterator[Loss]:
    """Yield everything that the document omits or changes. Raises OSError."""
    if checked.dataset.version != Dataset.model_fields["version"].default:
        yield Loss("version", "annotation", "/", f"the version of the data model, {checked.dataset.version}")
    if options.chunks or options.codecs or options.shards:
        yield Loss("storage", "annotation", "/", "chunks and codecs that are asked for: those of the target stay")
    used = set[str]()
    for fqn, variable in checked.variables.items():
        way = way_of(checked, fqn, options)
        if isinstance(way, Refused):
            text = f"no byte ranges lead to `{fqn}`: {way.why}"
            yield Loss("unreferable-variable", "value", fqn, text, variable.span)
            continue
        _use(variable.type, checked, used)
    for fqn, declared in checked.types.items():
        if not isinstance(declared, EnumType) and fqn not in used:
            yield Loss("type-name", "annotation", fqn, f"type `{fqn}`", declared.span)
    for path, group in groups(checked.dataset):
        yield from _attributes(path, group.attributes, checked)
        for variable in group.variables:
            yield from _attributes(names.join(path, variable.name), variable.attributes, checked)


def _use(type_name: str, checked: Checked, used: set[str]) -> None:
    """Record a type and its component types."""
    declared = checked.types.get(type_name)
    if declared is None or type_name in used:
        return
    used.add(type_name)
    for field in declared.fields if isinstance(declared, CompoundType) else ():
        _use(field.type, checked, used)


def _attributes(path: str, attributes: tuple[Attribute, ...], checked: Checked) -> Iterator[Loss]:
    for attribute in attributes:
        declared = checked.types.get(attribute.value.type)
        if declared is not None and not isinstance(declared, EnumType):
            what = f"attribute `{attribute.name}` of `{path}` has a value of type `{attribute.value.type}`"
            yield Loss("lost-attribute", "value", path, f"{what}: it would be left out", attribute.span)
