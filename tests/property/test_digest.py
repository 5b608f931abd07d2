"""The digest of generated datasets: that of the other implementation, the same in any order and format, another after
any change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from nczarr import names
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Parts
from nczarr.ast import (
    ATOMIC,
    Attribute,
    CompoundType,
    Constant,
    Dataset,
    EnumType,
    Group,
    OpaqueType,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.dataset import rebuild
from nczarr.diagnostics.report import Report
from nczarr.options import Options, RunOptions
from nczarr.pipeline.compare.diff import differences
from nczarr.pipeline.compare.digest import Digest, digest
from nczarr.pipeline.select.reader import PartAssembler
from nczarr.plugins.testing.arrays import parts_of, whole
from nczarr.plugins.testing.strategies import constants, datasets_with_data, legal_names
from nczarr.registry import find_format
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked
from nczarr.stores.memory import MemoryStore
from tests.support.peers import digest_reference
from tests.support.stores import opened
from tests.support.targets import content

relaxed = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
Drawn = tuple[Dataset, dict[str, Parts]]


def checked_of(dataset: Dataset, parts: dict[str, Parts]) -> Checked:
    found = checked_or_none(dataset, parts)
    assert found is not None
    return found


def checked_or_none(dataset: Dataset, parts: dict[str, Parts]) -> Checked | None:
    """The dataset, None if it breaks a rule."""
    report = Report()
    found = check(Unchecked(dataset, parts=parts), report)
    return None if report.errors else found


def of(checked: Checked) -> Digest:
    return digest(checked, RunOptions(workers=1))


def as_bytes(values: Any, type_name: str, checked: Checked) -> Any:
    """Values with strings as bytes."""
    if isinstance(values, np.ndarray) and values.dtype.names and values.dtype.hasobject:
        out = np.empty(values.shape, values.dtype)
        declared = checked.types[type_name]
        assert isinstance(declared, CompoundType)
        for field in declared.fields:
            out[field.name] = as_bytes(values[field.name], field.type, checked)
        return out
    if not values.dtype.hasobject:
        return values
    out = np.empty(values.shape, object)
    declared = checked.types.get(type_name)
    flat = out.reshape(-1)
    for number, item in enumerate(values.reshape(-1)):
        if isinstance(declared, VlenType):
            flat[number] = as_bytes(item, declared.base, checked)
        else:
            flat[number] = item.encode("utf-8", "surrogateescape") if item is not None else None
    return flat.reshape(values.shape)


def of_parts(parts: Parts, type_name: str, shape: tuple[int, ...], checked: Checked) -> Any:
    region = tuple(slice(0, length) for length in shape)
    return as_bytes(PartAssembler(parts, checked.types).box("", type_name, region), type_name, checked)


def of_constant(constant: Constant, checked: Checked) -> Any:
    shape = (constant.count,)
    return of_parts(parts_of(constant, shape, checked.types), constant.type, shape, checked)


def plain_type(declared: UserType) -> tuple[Any, ...]:
    match declared:
        case EnumType():
            size = ATOMIC[declared.base].size
            pairs = [(each.name, each.value) for each in declared.constants]
            return "enum", declared.base, [(name, n.to_bytes(size, "little", signed=n < 0)) for name, n in pairs]
        case OpaqueType():
            return "opaque", declared.size
        case VlenType():
            return "vlen", declared.base
        case _:
            return "compound", [(field.name, field.type, field.shape) for field in declared.fields]


def plain_attributes(given: tuple[Attribute, ...], checked: Checked) -> list[Any]:
    return [(each.name, each.value.type, of_constant(each.value, checked)) for each in given]


def plain_group(path: str, group: Group, checked: Checked) -> dict[str, Any]:
    variables = {}
    for each in group.variables:
        fqn = names.join(path, each.name)
        shape = checked.shapes[fqn]
        given = checked.parts.get(fqn)
        if not given:
            from nczarr.arrays.sources.memory import all_fill

            given = all_fill(None if each.storage.no_fill else checked.fills[fqn], each.type, shape, checked.types)
        axes = [(ref if isinstance(ref, str) else "", n) for ref, n in zip(each.dimensions, shape, strict=True)]
        values = of_parts(given, each.type, shape, checked)
        variables[each.name] = (each.type, axes, plain_attributes(each.attributes, checked), np.atleast_1d(values))
    return {
        "types": {each.name: plain_type(each) for each in group.types},
        "dimensions": {each.name: (each.size, each.unlimited) for each in group.dimensions},
        "attributes": plain_attributes(group.attributes, checked),
        "variables": variables,
        "groups": {each.name: plain_group(names.join(path, each.name), each, checked) for each in group.groups},
    }


@pytest.mark.slow
@relaxed
@given(datasets_with_data())
def test_the_other_implementation_finds_the_same(drawn: Drawn) -> None:
    checked = checked_of(*drawn)
    types = {path: plain_type(each) for path, each in checked.types.items()}
    assert of(checked).whole == digest_reference.group(plain_group("/", checked.dataset, checked), types).hex()


def shuffled(group: Group, draw: Callable[[Any], Any]) -> Group:
    """The same group in another order of definition."""
    changed = {what: draw(st.permutations(getattr(group, what))) for what in ("types", "dimensions", "variables")}
    children = draw(st.permutations([shuffled(child, draw) for child in group.groups]))
    return rebuild(group, groups=tuple(children), **{what: tuple(each) for what, each in changed.items()})


@pytest.mark.slow
@relaxed
@given(datasets_with_data(), st.data())
def test_the_order_of_definition_does_not_count(drawn: Drawn, data: st.DataObject) -> None:
    dataset, parts = drawn
    other = shuffled(dataset, data.draw)
    changed = other.model_copy(update={"name": "other", "version": "1.2.3", "kind": None})
    assert of(checked_of(changed, parts)).whole == of(checked_of(dataset, parts)).whole


@pytest.mark.slow
@relaxed
@given(
    datasets_with_data(),
    st.sampled_from(("nczarr", "nczarr3", "zarr3-2019")),
    st.sampled_from(("zstd:1", "zlib:1", "none")),
)
def test_a_store_has_the_digest_of_what_it_was_made_of(drawn: Drawn, form: str, codec: str) -> None:
    checked, report = checked_of(*drawn), Report()
    options = Options.of(codecs={"": codec}, allow_loss=frozenset({"all"}))
    found = content(checked, find_format(form), report, options)  # type: ignore[arg-type]
    assert found is not None, report.list_sorted()
    seen, _ = opened(MemoryStore(dict(found)))
    same = not list(differences(checked, seen))
    undefined = any(each.storage.no_fill for each in checked.variables.values())
    assume(same and not undefined)
    assert of(seen).whole == of(checked).whole


def bits(parts: Parts) -> Iterator[tuple[str, int]]:
    """Every bit of the values of a variable: the part and the place. Counts are not values."""
    for path in parts:
        values = whole(parts, path)
        if not path.endswith("counts") and not values.dtype.hasobject:
            yield from ((path, bit) for bit in range(8 * values.nbytes))


@pytest.mark.slow
@relaxed
@given(datasets_with_data(), st.data())
def test_a_bit_of_a_value_makes_another_digest(drawn: Drawn, data: st.DataObject) -> None:
    one = checked_of(*drawn)
    places = [(fqn, *place) for fqn, parts in drawn[1].items() for place in bits(parts)]
    assume(places)
    fqn, path, bit = data.draw(st.sampled_from(places))
    values = whole(drawn[1][fqn], path).copy()
    values.reshape(-1).view(np.uint8)[bit // 8] ^= 1 << bit % 8
    changed = {**drawn[1][fqn], path: ArrayInMemory(drawn[1][fqn][path].layout, values)}
    other = one._replace(parts={**one.parts, fqn: changed})
    assert of(one).whole != of(other).whole
    assert [key for key, each in of(one).parts.items() if of(other).parts[key] != each] == [fqn]


@relaxed
@given(constants("string", {}, 3), st.integers(0, 2), st.sampled_from((None, b"", b"\0", b"\xff" * 8, b"a")))
def test_a_text_makes_another_digest(given_: Constant, place: int, new: bytes | None) -> None:
    """NIL and the empty text are two values."""
    texts = list(given_.data)
    assume(texts[place] != new)
    dataset = Dataset(name="t", variables=(Variable(name="s", type="string", dimensions=(3,)),))
    one = checked_of(dataset, {"/s": parts_of(given_, (3,), {})})
    texts[place] = new
    other = checked_of(dataset, {"/s": parts_of(Constant.strings(texts), (3,), {})})  # type: ignore[arg-type]
    assert of(one).whole != of(other).whole


def changes(group: Group, draw: Callable[[Any], Any]) -> Iterator[Group]:
    """The group with one thing changed: each in turn."""
    name = draw(legal_names())
    for what in ("types", "dimensions", "variables", "groups", "attributes"):
        nodes = getattr(group, what)
        for at, node in enumerate(nodes):
            others = [node.model_copy(update={"name": name})] if node.name != name else []
            others += list(inside(what, node, name, draw))
            for other in others:
                yield rebuild(group, **{what: (*nodes[:at], other, *nodes[at + 1 :])})
            yield rebuild(group, **{what: (*nodes[:at], *nodes[at + 1 :])})
    if len(group.attributes) > 1:
        yield rebuild(group, attributes=group.attributes[::-1])


def inside(what: str, node: Any, name: str, draw: Callable[[Any], Any]) -> Iterator[Any]:
    """A node with something in it changed."""
    match what:
        case "groups":
            yield from changes(node, draw)
        case "dimensions":
            yield node.model_copy(update={"unlimited": not node.unlimited})
            yield node.model_copy(update={"size": node.size + 1})
        case "variables":
            for at, attribute in enumerate(node.attributes):
                for other in inside("attributes", attribute, name, draw):
                    yield node.model_copy(
                        update={"attributes": (*node.attributes[:at], other, *node.attributes[at + 1 :])}
                    )
            if len(node.attributes) > 1:
                yield node.model_copy(update={"attributes": node.attributes[::-1]})
            for other in {"byte", "ubyte", "char"} if node.type in ("byte", "ubyte", "char") else ():
                if other != node.type and not any(each.name == "_FillValue" for each in node.attributes):
                    yield node.model_copy(update={"type": other})
        case "attributes":
            yield from (node.model_copy(update={"value": each}) for each in other_constants(node.value))
        case "types":
            yield from other_types(node, name)


def other_constants(value: Constant) -> Iterator[Constant]:
    if value.type == "char" and isinstance(value.data, bytes):
        yield Constant.strings([value.data.replace(b"\0", b" ")])
        yield Constant.text(value.data + b"\0")
    if value.type == "string":
        yield Constant.strings([*value.data, None])  # type: ignore[list-item]
        yield Constant.strings([None if each == b"" else b"" for each in value.data]) if value.count else value
    if isinstance(value.data, bytes) and value.data:
        for bit in (0, 7, 8 * len(value.data) - 1):
            changed = bytearray(value.data)
            changed[bit // 8] ^= 1 << bit % 8
            yield value.model_copy(update={"data": bytes(changed)})
    if value.type == "int":
        yield value.model_copy(update={"type": "uint"})
        yield value.model_copy(update={"type": "float"})


def other_types(declared: UserType, name: str) -> Iterator[UserType]:
    match declared:
        case OpaqueType():
            yield declared.model_copy(update={"size": declared.size + 1})
        case EnumType():
            first, *rest = declared.constants
            for change in ({"name": name}, {"value": first.value ^ 1}):
                yield declared.model_copy(update={"constants": (first.model_copy(update=change), *rest)})
        case VlenType():
            yield declared.model_copy(update={"base": "int64" if declared.base == "double" else "double"})
        case CompoundType():
            head, *tail = declared.fields
            yield declared.model_copy(update={"fields": (head.model_copy(update={"name": name}), *tail)})
            yield declared.model_copy(update={"fields": (head.model_copy(update={"shape": (*head.shape, 1)}), *tail)})


@pytest.mark.slow
@settings(relaxed, max_examples=8)
@given(datasets_with_data(), st.data())
def test_a_change_of_the_model_makes_another_digest(drawn: Drawn, data: st.DataObject) -> None:
    dataset, parts = drawn
    one = checked_of(dataset, parts)
    seen = of(one).whole
    for changed in changes(dataset, data.draw):
        assert isinstance(changed, Dataset)
        if changed == dataset:
            continue
        kept = {path: each for path, each in parts.items() if still_fits(path, one, changed)}
        other = checked_or_none(changed, kept)
        assert other is None or of(other).whole != seen, changed


def still_fits(path: str, one: Checked, changed: Dataset) -> bool:
    """Whether a variable is there with the type and shape that it had."""
    other = checked_or_none(changed, {})
    if other is None or path not in other.variables:
        return False
    return (
        other.shapes[path] == one.shapes[path]
        and other.types == one.types
        and other.variables[path].type == one.variables[path].type
    )
