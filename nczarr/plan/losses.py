"""Losses of a target, found before its first byte is written.

Each function yields the `Loss`es of one subject in tree order. Kinds of value
losses are diagnostic codes; those of annotation losses are keys of
`ANNOTATIONS`, counted in one warning.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from nczarr import names
from nczarr.arrays.sources.source import Descr, fill_of
from nczarr.arrays.values.elements import choose_kept_dtype, find_booleans, is_boolean, is_odd_nan
from nczarr.arrays.values.parts import Types, descr, inner_types, is_fixed
from nczarr.ast import ATOMIC, Attribute, CompoundType, Constant, EnumType, Group, Variable, plain_json
from nczarr.ast.dataset import VERSION, groups
from nczarr.ast.plain_json import HIDDEN, is_finite, is_strict, narrow, plain
from nczarr.ast.types import is_number
from nczarr.diagnostics.report import NOWHERE, Diagnostic, Label, Report, Severity
from nczarr.options import RunOptions
from nczarr.plan.layout import find_kept_element
from nczarr.plan.plans import Loss
from nczarr.registry import PLAIN_STORE, Arrays, Format
from nczarr.semantics.check_types import default_fill
from nczarr.semantics.checked import Checked

ANNOTATIONS = {
    "attribute-type": "types of attributes",
    "attribute-bytes": "trailing NULs of attributes",
    "nan-bits": "the bits of unusual NaNs",
    "type-name": "names of types",
    "default-fill": "fill values equal to the default of their type",
    "char-or-string": "strings, which become chars",
    "unlimited": "unlimited dimensions",
    "unused-dimension": "unused dimensions",
    "anonymous-dimension": "anonymous dimensions, which get names",
    "empty-dimension": "dimensions of length 0, which become unlimited",
    "dimension-home": "the groups of dimensions",
    "storage": "storage hints",
    "filter": "filters without a name or effect there (chunks are stored without them)",
    "definition-order": "the order of definition",
    "compound-layout": "the layout of compounds",
    "kind": "the kind of netCDF file",
    "dataset-name": "the dataset's name",
    "version": "the version of the data model",
    "extension": "unknown protocol extensions",
}
"""Phrases of the summary, by kind of annotation loss."""

_REMEDY = "write the rest with `--allow-loss {}`, or {}, which keeps it"
_REMEDIES = {"unreferable-variable": "embed more values with `--embed SIZE`, or leave it out with `--allow-loss {}`"}
"""Help texts of value losses."""


def report_losses(lost: Sequence[Loss], form: Format, run: RunOptions, report: Report) -> None:
    """Report value losses one by one, and annotation losses in one warning."""
    allowed, label = run.allow_loss, form.display.label or form.name
    other = "write `nczarr3`" if form.name == PLAIN_STORE else "write `nczarr`"
    other = "give `--metadata nczarr3`" if form.store.begins else other  # others of references keep no types
    for loss in lost:
        if loss.weight == "value":
            accepted = "all" in allowed or loss.kind in allowed
            severity = Severity.WARNING if accepted else Severity.ERROR
            helps: tuple[str, ...] = () if accepted else (_REMEDIES.get(loss.kind, _REMEDY).format(loss.kind, other),)
            report.add(Diagnostic(loss.kind, severity, loss.message, Label(loss.span), helps=helps))
    annotations = [loss for loss in lost if loss.weight == "annotation"]
    if not annotations:
        return
    phrases = []
    for kind, phrase in ANNOTATIONS.items():
        count = sum(loss.kind == kind for loss in annotations)
        if count:
            phrases.append(f"{phrase} ({count})")
    notes = [f"lost: {loss.message}" for loss in annotations] if run.verbose else []
    hints = [] if run.verbose else ["list them with `--verbose`"]
    report.warning("lost-annotations", f"{label} does not keep {', '.join(phrases)}", notes=notes, helps=hints)


def losses(checked: Checked, form: Format) -> Iterator[Loss]:
    """Yield what the format's capabilities cannot hold, except losses by layout."""
    capabilities = form.capabilities
    if not capabilities.extensions:
        yield from unknown_extensions(checked)
    if capabilities.json_attributes != "any":
        yield from json_losses(checked, form)
    if not capabilities.axis_names:
        yield from axis_losses(checked, form)
    if (
        capabilities.user_types
        and capabilities.typed_attributes
        and capabilities.kind
        and capabilities.names
        and capabilities.anonymous_dimensions
    ):
        return  # such a format holds the whole model: no need to walk the tree
    yield from _list_dataset_losses(checked, form)
    strict = capabilities.json_attributes == "strict"
    plain_attributes = not capabilities.attribute_user_types or not capabilities.typed_attributes
    has_json = capabilities.arrays is not None or not capabilities.typed_attributes
    for path, group in groups(checked.dataset):
        if plain_attributes and not has_json:
            yield from _list_user_typed(path, group.attributes)
        elif plain_attributes:
            yield from _lose_attributes(path, group.attributes, checked.types, strict=strict)
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            if plain_attributes and not has_json:
                yield from _list_user_typed(fqn, variable.attributes)
            elif plain_attributes:
                fills = [attribute for attribute in variable.attributes if attribute.name == "_FillValue"]
                fitting = [attribute for attribute in fills if attribute.value.type == variable.type]
                others = tuple(attribute for attribute in variable.attributes if attribute not in fitting)
                yield from _lose_attributes(fqn, others, checked.types, strict=strict)
                if fitting:
                    yield from _own_fill(fqn, variable, checked, form)
            yield from _list_losses(fqn, variable, checked, form)
        if not capabilities.definition_order and _is_sorted_differently(
            [variable.name for variable in group.variables]
        ) | _is_sorted_differently([child.name for child in group.groups]):
            yield Loss("definition-order", "annotation", path, f"group `{path}`: order of definition", group.span)


def unknown_extensions(checked: Checked) -> Iterator[Loss]:
    """Yield the unknown protocol extensions of a source."""
    for fqn, foreign in checked.foreign.items():
        owner = checked.variables.get(fqn) or checked.groups.get(fqn)
        for extension in foreign.extensions if owner is not None else ():
            span = owner.span if owner is not None else NOWHERE
            yield Loss("extension", "annotation", fqn, f"`{fqn}`, the extension `{extension.get('extension')}`", span)


def axis_losses(checked: Checked, form: Format) -> Iterator[Loss]:
    """Yield the names that axes of single arrays have in a Zarr store."""
    for path, variable in checked.variables.items():
        lost = [name for name in variable.axes if name is not None]
        if lost:
            text = f"the names of axes of `{path}` that are no dimensions: {', '.join(f'`{name}`' for name in lost)}"
            yield Loss("renamed-dimension", "value", path, f"{text}; {form.name} has no place for them", variable.span)


def json_losses(checked: Checked, form: Format) -> Iterator[Loss]:
    """Yield the attributes with JSON that formats without JSON narrow, unless the source is such a format.

    Numbers with another spelling are the same numbers.
    """
    owners: list[tuple[str, Group | Variable]] = [*checked.groups.items(), *checked.variables.items()]
    for path, owner in owners:
        for attribute in () if path in checked.noted else owner.attributes:
            what = plain_json.describe_json(attribute)
            if form.capabilities.json_attributes == "strict":
                what = None if what is None or is_strict(attribute) else f"{what} with NaN or infinities"
            if what is not None:
                text = f"attribute `{attribute.name}` of `{path}` is {what} in JSON, which {form.name} lacks"
                yield Loss("json-attribute", "value", path, text, attribute.span)


def _is_sorted_differently(member_names: list[str]) -> bool:
    return member_names != sorted(member_names)


def _list_dataset_losses(checked: Checked, form: Format) -> Iterator[Loss]:
    """Yield what a format lacks for the whole dataset: kind of file, names, types, dimensions."""
    capabilities, dataset = form.capabilities, checked.dataset
    if not capabilities.kind and dataset.kind is not None:
        yield Loss("kind", "annotation", "/", f"the kind of file, {dataset.kind}", dataset.span)
    file = dataset.span.source
    if not capabilities.names and dataset.name and not (file and dataset.name == names.stem(file.name)):
        yield Loss("dataset-name", "annotation", "/", f"the dataset's name, `{dataset.name}`", dataset.span)
    if not capabilities.names and dataset.version != VERSION:
        yield Loss("version", "annotation", "/", f"the version of the data model, {dataset.version}", dataset.span)
    if not capabilities.user_types:
        users = Counter(variable.type for variable in checked.variables.values())
        for fqn, declared in checked.types.items():
            named = checked.variables.get(fqn.removesuffix("_t"))
            if named is not None and named.type == fqn and users[fqn] == 1:
                continue  # the name that readers of such stores give
            yield Loss("type-name", "annotation", fqn, f"type `{fqn}`", declared.span)
    uses: dict[str, set[str]] = {}
    for fqn, variable in checked.variables.items():
        for reference in variable.dimensions:
            if isinstance(reference, str):
                uses.setdefault(reference, set()).add(names.parent(fqn))
    for fqn, dimension in checked.dimensions.items():
        homes = uses.get(fqn)
        if not homes and not capabilities.unused_dimensions:
            yield Loss("unused-dimension", "annotation", fqn, f"dimension `{fqn}`, unused", dimension.span)
            continue
        if dimension.unlimited and capabilities.unlimited != "any":
            yield Loss("unlimited", "annotation", fqn, f"dimension `{fqn}`, unlimited", dimension.span)
        if not capabilities.names and homes != {names.parent(fqn)}:
            yield Loss("dimension-home", "annotation", fqn, f"dimension `{fqn}`, used in other groups", dimension.span)


def _own_fill(fqn: str, variable: Variable, checked: Checked, form: Format) -> Iterator[Loss]:
    """Yield the losses of a `_FillValue` of the variable's own type in a pure store.

    The array's fill value holds most of them. Where it alone does, because
    plain JSON or xarray does not accept the attribute, a reader finds it before
    all others, and takes zeros, empty texts and type defaults (for raw bytes:
    zeros) for absent.
    """
    place, attribute = next(
        (n, candidate) for n, candidate in enumerate(variable.attributes) if candidate.name == "_FillValue"
    )
    value, arrays = attribute.value, form.capabilities.arrays
    record = _find_kept_record(fqn, variable, checked, arrays)
    needed = arrays is not None and (arrays.fill_needed or _has_hidden_fill(value, record, arrays))
    number = isinstance(checked.types.get(value.type), EnumType) or is_number(value.type)
    where = f"attribute `_FillValue` of `{fqn}`"
    empty = value.type == "char" and value.data == b"\0"  # an empty text means NUL there
    if number or (not needed and (plain(value).exact or empty)):
        alone = not needed and not is_finite(value)
    elif (
        _fills_chunks(fqn, value, checked)
        and value == default_fill(value.type, checked.types)
        and not (
            arrays
            and needed
            and is_fixed(value.type, checked.types)
            and record is None
            and _has_raw_field(value.type, checked.types, nested=arrays.nested_records)
            and _has_nonzero_bytes(value)
        )
    ):
        yield Loss("default-fill", "annotation", fqn, f"{where}, the default", attribute.span)
        return
    elif not needed or value.data == (None,) or not (is_fixed(value.type, checked.types) or value.type == "string"):
        strict = form.capabilities.json_attributes == "strict"
        yield from _lose_attributes(fqn, (attribute,), checked.types, strict=strict)
        return
    elif not _has_nonzero_bytes(value):
        text = f"{where} is zero: it would be left out"
        yield Loss("lost-attribute", "value", fqn, text, attribute.span)
        return
    else:
        alone = True
    if alone and not _fills_chunks(fqn, value, checked):
        text = f"{where} is not the fill value of missing chunks and has no other place: it would be left out"
        yield Loss("lost-attribute", "value", fqn, text, attribute.span)
    elif alone and isinstance(value.data, bytes) and is_odd_nan(value.data, str(descr(value.type, checked.types))):
        yield Loss("nan-bits", "annotation", fqn, where, attribute.span)
    elif alone and any(plain(earlier.value).value is not None for earlier in variable.attributes[:place]):
        yield Loss("definition-order", "annotation", fqn, f"{where}: its place", attribute.span)


def _fills_chunks(fqn: str, value: Constant, checked: Checked) -> bool:
    """Return whether the variable's array reads as this value where no chunk is stored."""
    source = checked.parts.get(fqn, {}).get("")
    fill = None if source is None else fill_of(source)
    return fill is None or fill == (value.data if isinstance(value.data, bytes) else value.data[0])


def _has_nonzero_bytes(value: Constant) -> bool:
    """Return whether a fill value has nonzero bytes."""
    data = value.data if isinstance(value.data, bytes) else b"".join(x for x in value.data if isinstance(x, bytes))
    return bool(data.strip(b"\0"))


def _lose_attributes(path: str, attributes: tuple[Attribute, ...], types: Types, *, strict: bool) -> Iterator[Loss]:
    """Yield losses of untyped plain JSON, one per attribute at most. `strict`: JSON has no NaN and infinities."""
    for attribute in attributes:
        name, value = attribute.name, attribute.value
        where = f"attribute `{name}` of `{path}`"
        shown = plain(value)
        if name == plain_json.CARRIED:
            continue
        has_json = attribute.json is not None and (not strict or is_strict(attribute))
        told = plain_json.guess_constant(shown.value if strict else plain_json.show_untyped(value))
        if name in HIDDEN:
            text = f"{where} has a name that Zarr stores reserve: it would be left out"
            yield Loss("lost-attribute", "value", path, text, attribute.span)
        elif find_booleans(value, types) is not None:
            yield Loss("attribute-type", "annotation", path, f"{where}: type {value.type}", attribute.span)
        elif shown.value is None and not has_json:
            what = "no value" if value.count == 0 else f"a value of type `{value.type}`"
            yield Loss("lost-attribute", "value", path, f"{where} has {what}: it would be left out", attribute.span)
        elif told == value or (has_json and _states_value(attribute)):
            continue  # what reads the plain form takes it for the same
        elif isinstance(value.data, tuple) and None in value.data:
            yield Loss(
                "lost-nil", "value", path, f"{where} contains NIL, which would become an empty string", attribute.span
            )
        elif has_json or _same_numbers(value, told):
            yield Loss("attribute-type", "annotation", path, f"{where}: type {value.type}", attribute.span)
        elif not is_finite(value) and strict:
            text = f"{where} is NaN or infinite: the repository would have a text"
            yield Loss("altered-attribute", "value", path, text, attribute.span)
        elif not is_finite(value):
            yield Loss("nan-bits", "annotation", path, where, attribute.span)
        elif not shown.exact and isinstance(value.data, bytes) and _only_trailing_nuls(value.data, shown.value):
            yield Loss("attribute-bytes", "annotation", path, f"{where}: trailing NULs", attribute.span)
        elif not shown.exact and value.count:
            text = f"{where} has bytes that plain JSON cannot represent: they would be left out"
            yield Loss("altered-attribute", "value", path, text, attribute.span)
        elif value.type == "string":
            yield Loss("char-or-string", "annotation", path, f"{where}: a string", attribute.span)


def _list_user_typed(path: str, attributes: Iterable[Attribute]) -> Iterator[Loss]:
    """Yield the attributes of user-defined types, for targets that keep the bytes of all others."""
    for attribute in attributes:
        if attribute.value.type not in ATOMIC:
            text = (
                f"attribute `{attribute.name}` of `{path}` has the type `{attribute.value.type}`: it would be left out"
            )
            yield Loss("lost-attribute", "value", path, text, attribute.span)


def _states_value(attribute: Attribute) -> bool:
    """Return whether the JSON of an attribute reads as its value without a type."""
    text = attribute.json
    return text is not None and narrow(json.loads(text, parse_float=plain_json.Real.of)) == attribute.value


def _same_numbers(one: Constant, other: Constant | None) -> bool:
    """Return whether the plain form has the same numbers, in any width."""
    number_type = ATOMIC[one.type]
    if other is None or not is_number(other.type):
        return False
    numbers = other.as_numbers()
    if number_type.is_integer:
        return one.as_numbers() == numbers
    return number_type.is_float and Constant.numbers(one.type, [float(number) for number in numbers]) == one


def _only_trailing_nuls(data: bytes, text: object) -> bool:
    return isinstance(text, str) and data.rstrip(b"\0") == text.encode()


def _list_losses(fqn: str, variable: Variable, checked: Checked, form: Format) -> Iterator[Loss]:
    capabilities = form.capabilities
    axes = itertools.zip_longest(variable.dimensions, variable.axes)
    nameless = [one for one, name in axes if name is None or not capabilities.axis_names]
    sizes = [str(reference) for reference in nameless if isinstance(reference, int)]
    if sizes and not capabilities.anonymous_dimensions:
        text = f"variable `{fqn}`, anonymous dimension{'s' * (len(sizes) > 1)} of length {', '.join(sizes)}"
        yield Loss("anonymous-dimension", "annotation", fqn, text, variable.span)
    if not capabilities.user_types:
        arrays = capabilities.arrays
        nested = arrays is not None and arrays.nested_records
        is_record = _find_kept_record(fqn, variable, checked, arrays) is not None
        problem = None if is_record else _structure(variable.type, checked.types, nested=nested)
        if problem and arrays is not None and arrays.elements and is_boolean(variable.type, checked.types):
            problem = "has no boolean for its unwritten cells, which a `_FillValue` of FALSE or TRUE would be"
        if problem:
            text = f"variable `{fqn}` is of type `{variable.type}`: {form.display.label or form.name} {problem}"
            yield Loss("lost-type", "value", fqn, text, variable.span)


def _find_kept_record(fqn: str, variable: Variable, checked: Checked, arrays: Arrays | None) -> Descr | None:
    """Return the dtype of a variable's elements in the target, if they are no type of the model; else None."""
    element = None if arrays is None else find_kept_element(fqn, variable, checked)
    return (
        None if element is None or arrays is None else choose_kept_dtype(element, variable.type, checked.types, arrays)
    )


def _has_hidden_fill(value: Constant, record: Descr | None, arrays: Arrays) -> bool:
    """Return whether an array declares a fill value that no plain attribute holds, if it is not zero."""
    if not isinstance(record, str | None):
        return True
    text = value.data[0] if isinstance(value.data, tuple) and value.data else None
    is_fixed_text = arrays.numpy_types and record is not None and record[1] == "S"
    return is_fixed_text and isinstance(text, bytes) and b"\0" in text.rstrip(b"\0")


def _structure(type_name: str, types: Types, *, nested: bool) -> str | None:
    """Return how a pure store shows a type, if that changes what a reader computes."""
    if not is_fixed(type_name, types) and type_name != "string":
        return "stores counts and content as separate arrays"
    if enums := [inner for inner in inner_types(type_name, types) if isinstance(types.get(inner), EnumType)]:
        return f"keeps the integers of {names.list_first(dict.fromkeys(enums), 3)} but not their names"
    return "stores fields as raw bytes" if _has_raw_field(type_name, types, nested=nested) else None


def _has_raw_field(type_name: str, types: Types, *, nested: bool) -> bool:
    """Return whether a record has array fields, or records where these cannot nest."""
    declared = types.get(type_name)
    if not isinstance(declared, CompoundType):
        return False
    return any(
        field.shape
        or (isinstance(types.get(field.type), CompoundType) and not nested)
        or _has_raw_field(field.type, types, nested=nested)
        for field in declared.fields
    )
