"""Parser and validator of reference documents, versions 0 and 1.

    {"version": 1, "templates": {"u": "s3://b/a.nc"},
     "gen": [{"key": "t/{{i}}", "url": "{{u}}", "offset": "{{i*8}}", "length": "8", "dimensions": {"i": {"stop": 9}}}],
     "refs": {".zgroup": "{…}", "x/0": ["{{u}}", 0, 8], "y/0": ["s3://b/whole.bin"], "z/0": "base64:AAEC"}}

Input: a source. Output: a `ReferenceDocument`, None after an error. Values stay as
parsed JSON (ranges packed, `table.py`), and each is checked. Faults contain key
and location.
"""

import binascii
import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from nczarr.ast.dataset import building
from nczarr.diagnostics.report import Buffer, Report, Source
from nczarr.formats.reference import TEXT
from nczarr.formats.reference.limits import LARGEST_END, Limits, shorten
from nczarr.formats.reference.table import ReferenceTable, give_back, long_text
from nczarr.formats.reference.table import read as read_large
from nczarr.syntax.json.positions import Faults, Path, kind
from nczarr.syntax.json.tolerant import DEEPEST, noting, reason, too_deep

encode = json.JSONEncoder(separators=(",", ":")).encode
"""Encode a value as ASCII JSON without spaces."""


class GeneratorDimension(NamedTuple):
    """A dimension of a generator."""

    name: str
    values: range | tuple[Any, ...]
    """Its values: integers, floats, texts, booleans, null."""

    @property
    def length(self) -> int:
        """Number of values; `len` rejects ranges beyond 2^63."""
        values = self.values
        if isinstance(values, tuple):
            return len(values)
        step = values.step
        return max(0, (values.stop - values.start + step - (1 if step > 0 else -1)) // step)


class Generator(NamedTuple):
    """An item of `gen`: one entry per combination of values, the last dimension varying fastest."""

    key: str
    """Template of the keys."""
    url: str
    """Template of the URLs."""
    offset: int | str | None
    """Start in bytes, or its template; None for whole targets."""
    length: int | str | None
    """Length in bytes, or its template; None for whole targets."""
    dimensions: tuple[GeneratorDimension, ...]
    """Dimensions in order."""

    @property
    def entries(self) -> int:
        """Number of entries, exact up to 2^63."""
        count = 1
        lengths = [dimension.length for dimension in self.dimensions]
        for length in lengths if all(lengths) else [0]:
            count *= length
            if count >= LARGEST_END:
                break
        return count


class ReferenceDocument(NamedTuple):
    """A reference document. Version 0 has only `refs`, unrendered."""

    version: int
    templates: dict[str, str]
    """Templates by name."""
    generators: tuple[Generator, ...]
    """Items of `gen`."""
    refs: ReferenceTable
    """References by key."""
    noted: Any = None
    """Optional member `nczarr` of version 1, unchecked."""


def read(
    source: Source, report: Report, limits: Limits, overrides: Mapping[str, str] | None = None
) -> ReferenceDocument | None:
    """Return a source's document, or None (reported). `overrides` replace or add templates."""
    faults = Faults(source, report)
    before = report.errors
    members = _read_members(faults, limits)
    if members is None:
        return None
    version = members.get("version")
    if version is None and isinstance(members.get("refs"), Mapping):
        text = "the document has the member `refs`, as documents of version 1 have, and no `version`"
        faults.error("bad-reference-document", text, ("refs",), ['add `"version": 1`'])
        return None
    if version is None:
        plain = ((key, dict(value) if isinstance(value, ReferenceTable) else value) for key, value in members.items())
        refs = members if isinstance(members, ReferenceTable) else ReferenceTable(dict(plain))
        refs.discard("version")  # fsspec leaves a null in the map
        check_values(refs, (), 0, faults)
        document = ReferenceDocument(0, {}, (), refs)
    elif isinstance(version, int | float) and not isinstance(version, bool) and version == 1:  # fsspec takes `true`
        document = _read_version_1(members, faults, overrides or {})
    else:
        text = f"version must be the number 1, not `{_show(version)}`"
        faults.error("bad-reference-document", text, ("version",), ["documents of version 0 have no `version`"])
        return None
    if report.errors == before:
        _check_count(document, limits, faults)
    return document if report.errors == before else None


def _read_members(faults: Faults, limits: Limits) -> Mapping[str, Any] | None:
    """Return the members of the document; None (reported) if it is invalid."""
    data = faults.source.data
    if is_oversized(data, faults, limits):
        return None
    place = long_text(data, limits.value)
    if place is not None:
        text = f"a string that begins at byte {place} is longer than the limit, {limits.value} bytes"
        faults.error("oversized-expansion", text)
        return None
    members = read_large(data)
    if members is not None:
        return members
    repeated: list[str] = []
    try:
        with building():
            value = json.loads(_decode(data), strict=False, object_pairs_hook=noting(repeated))
    except json.JSONDecodeError as error:
        fault = f"{reason(error)} at line {error.lineno}, column {error.colno}"
    except UnicodeDecodeError as error:
        fault = f"byte {error.start} is not valid UTF-8"
    except RecursionError:
        fault = "it is nested too deeply"
    except ValueError:  # Python refuses integers of thousands of digits
        fault = "a number has thousands of digits"
    else:
        if isinstance(value, dict) and not too_deep(value):
            report_repeated(repeated, faults, limits)
            return value
        fault = (
            f"it is nested more than {DEEPEST} deep"
            if isinstance(value, dict)
            else f"it is {kind(value)}, not an object"
        )
    faults.error("bad-reference-document", f"invalid reference document: {fault}")
    return None


def is_oversized(data: Buffer, faults: Faults, limits: Limits) -> bool:
    """Report a document above the limit, and return whether it is."""
    if len(data) > limits.document:
        text = f"the document has {len(data)} bytes, more than the limit, {limits.document}"
        faults.error("oversized-expansion", text)
    return len(data) > limits.document


def report_repeated(repeated: Iterable[str], faults: Faults, limits: Limits) -> None:
    """Report repeated members of an object: errors, unless the limits allow them."""
    helps = ("remove one", "read the last one with `--allow-loss duplicate-name`")
    for name in dict.fromkeys(repeated):
        text = f"member `{name}` occurs twice in one object: only the last one is read"
        faults.lose("duplicate-name", text, allowed=limits.repeated, helps=helps)


def _decode(data: Buffer) -> str:
    """Decode a document and release its mapped pages. Raises UnicodeDecodeError."""
    with memoryview(data) as view:
        text = str(view, "utf-8-sig")
    give_back(data)
    return text


def _read_version_1(members: Mapping[str, Any], faults: Faults, overrides: Mapping[str, str]) -> ReferenceDocument:
    """Return a version 1 document; report faults."""
    texts = _object(members, "templates", faults)
    for name, text in texts.items():
        if not isinstance(text, str):
            message = f"template `{name}` must be a string, not {kind(text)}"
            faults.error("bad-reference-document", message, ("templates", name))
    written = _object(members, "refs", faults)
    refs = written if isinstance(written, ReferenceTable) else ReferenceTable(written)
    check_values(refs, ("refs",), 1, faults)
    templates = {**{name: text for name, text in texts.items() if isinstance(text, str)}, **overrides}
    items = members.get("gen", [])
    if not isinstance(items, list):
        faults.error("bad-reference-document", f"`gen` must be a list, not {kind(items)}", ("gen",))
        items = []
    generators = [_generator(item, ("gen", number), templates, faults) for number, item in enumerate(items)]
    return ReferenceDocument(
        1, templates, tuple(generator for generator in generators if generator is not None), refs, members.get("nczarr")
    )


def _object(members: Mapping[str, Any], name: str, faults: Faults) -> Mapping[str, Any]:
    value = members.get(name, {})
    if isinstance(value, dict | ReferenceTable):
        return value
    faults.error("bad-reference-document", f"`{name}` must be an object, not {kind(value)}", (name,))
    return {}


def _generator(item: Any, path: Path, templates: dict[str, str], faults: Faults) -> Generator | None:
    """Return an item of `gen`, or None (reported)."""
    fault = functools.partial(faults.error, "bad-generator")
    if not isinstance(item, dict):
        fault(f"an item of `gen` must be an object, not {kind(item)}", path)
        return None
    before = faults.report.errors
    named = f"generator `{item['key']}`" if isinstance(item.get("key"), str) else f"generator {path[-1]}"
    for name in ("key", "url"):
        if not isinstance(item.get(name), str):
            fault(f"{named}: {_describe_misfit(item, name, 'text')}", (*path, name))
    for name in ("offset", "length"):
        value = item.get(name, 0)
        if isinstance(value, bool) or not isinstance(value, int | str):
            fault(f"{named}: {_describe_misfit(item, name, 'text or an integer')}", (*path, name))
    if ("offset" in item) != ("length" in item):  # fsspec: one alone is a ValueError
        fault(f"{named}: `offset` and `length` must be given together", path, ["leave both out for whole targets"])
    declared = item.get("dimensions")
    if not isinstance(declared, dict):
        fault(f"{named}: {_describe_misfit(item, 'dimensions', 'an object')}", (*path, "dimensions"))
        declared = {}
    dimensions = []
    for name, values in declared.items():
        here = (*path, "dimensions", name)
        if name in templates:  # fsspec raises a TypeError here
            fault(f"{named}: dimension `{name}` has the name of a template", here)
        parsed = _list_values(values)
        if isinstance(parsed, str):
            fault(f"{named}: dimension `{name}`: {parsed}", here)
        else:
            dimensions.append(GeneratorDimension(name, parsed))
    if faults.report.errors > before:
        return None
    return Generator(item["key"], item["url"], item.get("offset"), item.get("length"), tuple(dimensions))


def _describe_misfit(item: dict[str, Any], name: str, expected: str) -> str:
    return f"`{name}` must be {expected}, not {kind(item[name]) if name in item else 'missing'}"


def _list_values(declared: Any) -> range | tuple[Any, ...] | str:
    """Return the values of a dimension, or an error message."""
    if isinstance(declared, list):
        if any(isinstance(value, list | dict) for value in declared):
            return "values must be numbers or strings"
        return tuple(declared)
    if not isinstance(declared, dict):
        return f"it must be a list or an object, not {kind(declared)}"
    if "stop" not in declared:
        return "`stop` is missing"
    bounds = [declared.get("start", 0), declared["stop"], declared.get("step", 1)]
    for name, value in zip(("start", "stop", "step"), bounds, strict=True):
        if isinstance(value, bool) or not isinstance(value, int):
            return f"`{name}` must be an integer, not {kind(value)}"
    return range(*bounds) if bounds[2] else "`step` is 0"


def check_values(refs: ReferenceTable, path: Path, version: int, faults: Faults) -> None:
    """Report every value that is invalid in `version`."""
    for key, value in refs.odd():
        wrong = _value_fault(value, version)
        if wrong is not None:
            faults.error("bad-reference", f"`{key}`: {wrong}", (*path, key))


def _value_fault(value: Any, version: int) -> str | None:
    """Return the fault of a key's value, or None."""
    if isinstance(value, list):
        return _reference_fault(value)
    if isinstance(value, str):
        return None if value.isascii() and value[: len(TEXT)] != TEXT else _text_fault(value, version)
    return None if isinstance(value, dict) else f"value must be a string, object or list, not {kind(value)}"


def _reference_fault(value: list[Any]) -> str | None:
    if len(value) not in (1, 3):
        return f"a reference has one or three elements, not {len(value)}"
    if not isinstance(value[0], str) and value[0] is not None:
        return f"the URL must be a string, not {kind(value[0])}"
    return None if len(value) == 1 else range_fault(value[1], value[2])


def range_fault(offset: Any, length: Any) -> str | None:
    """Return the fault of a byte range, or None."""
    if type(offset) is not int or type(length) is not int:
        return f"offset and length must be integers, not `{_show(offset)}` and `{_show(length)}`"
    if offset < 0 or length < 0:  # fsspec reads some as distances from the end
        return f"offset and length must not be negative: {_show(offset)} and {_show(length)}"
    return None if offset + length < LARGEST_END else "offset and length add up to 2^63 or more"


def data_of(text: str) -> bytes:
    """Return the bytes of a text; base64 is parsed leniently. Raises binascii.Error."""
    if not text.startswith(TEXT):
        return text.encode()
    return binascii.a2b_base64(text[len(TEXT) :].encode("utf-8", "surrogatepass"))


def _text_fault(text: str, version: int) -> str | None:
    """Return the fault of a data text; in version 0, base64 is checked only when read."""
    if text.startswith(TEXT) and version:
        try:
            data_of(text)
        except binascii.Error as error:
            return f"its base64 is invalid: {str(error)[:1].lower()}{str(error)[1:]}"
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return "its string contains a lone surrogate, which UTF-8 cannot encode"
    return None


def _check_count(document: ReferenceDocument, limits: Limits, faults: Faults) -> None:
    """Reject more entries than the limit, before making them."""
    total = len(document.refs)
    for number, generator in enumerate(document.generators):
        total += generator.entries
        if total > limits.entries:
            text = (
                f"generator `{generator.key}` raises the entries to {_show(total)}, above the limit, {limits.entries}"
            )
            faults.error("oversized-expansion", text, ("gen", number), ["raise the limit with `--max-entries`"])
            return


def _show(value: Any) -> str:
    text = json.dumps(value) if not isinstance(value, int) or abs(value) < 10**40 else "an integer with many digits"
    return shorten(text)
