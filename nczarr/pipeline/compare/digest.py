"""`digest`: one hash of a dataset's model and values, independent of format and storage. See docs/reference/digest.md.

It covers every bit of what `diff` compares without `storage`. Digest files have
lines in `sha256sum` format.
"""

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from hashlib import sha256
from typing import NamedTuple, assert_never

from nczarr import names
from nczarr.arrays.execution.thread_pool import Crew, Task
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.values.parts import Types, is_fixed
from nczarr.ast import (
    ATOMIC,
    Attribute,
    CompoundType,
    Constant,
    EnumType,
    Group,
    OpaqueType,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.plain_json import get_json
from nczarr.diagnostics.report import Report, Source, Span
from nczarr.options import RunOptions
from nczarr.pipeline.compare.digest_ragged import RaggedHasher, leaf_of, width
from nczarr.pipeline.compare.digest_values import Dense, Hashed, ValueHasher
from nczarr.pipeline.select.selection import Subset
from nczarr.semantics.checked import Checked, whole_parts

VERSION = "nczarr-digest-1"
"""Prefix of each record; other definitions need another number."""


def number(value: int) -> bytes:
    """Return a number in eight bytes, little-endian."""
    return value.to_bytes(8, "little")


def data(value: bytes) -> bytes:
    """Return length-prefixed bytes."""
    return number(len(value)) + value


def text(value: str) -> bytes:
    """Return a length-prefixed name in UTF-8; surrogate-escaped bytes are restored."""
    return data(value.encode("utf-8", "surrogateescape"))


def variable_hash(variable: Variable, shape: tuple[int, ...], values: bytes, types: Types) -> bytes:
    """Return the hash of a variable without its name. `values`: the hash of its values."""
    axes = (
        text(named if isinstance(named, str) else own or "") + number(length)
        for named, own, length in itertools.zip_longest(variable.dimensions, variable.axes, shape)
    )
    return _hash(
        "variable",
        text(variable.type),
        number(len(shape)) + b"".join(axes),
        attributes(variable.attributes, types),
        values,
    )


def attributes(declared: tuple[Attribute, ...], types: Types) -> bytes:
    """Return attributes in their order: name, type, number of values, values; JSON has type `json` and one value."""
    pieces = [number(len(declared))]
    for attribute in declared:
        value, json = attribute.value, get_json(attribute)
        if json is not None:
            pieces += text(attribute.name), text("json"), number(1), text(json)
            continue
        pieces += (
            text(attribute.name),
            text(value.type),
            number(value.count),
            data(elements(value.type, [value], types)),
        )
    return b"".join(pieces)


def elements(type_name: str, constants: Sequence[Constant], types: Types) -> bytes:
    """Return the concatenated values of constants of one type, as variables' values are hashed."""
    declared = types.get(type_name)
    if type_name == "string":
        return b"".join(map(_string, itertools.chain.from_iterable(constant.data for constant in constants)))
    if is_fixed(type_name, types):
        return b"".join(constant.data for constant in constants if isinstance(constant.data, bytes))
    inner = [item for constant in constants for item in constant.data if isinstance(item, Constant)]
    if isinstance(declared, VlenType):
        return b"".join(number(item.count) for item in inner) + elements(declared.base, inner, types)
    assert isinstance(declared, CompoundType)  # enums and opaque types are of fixed size
    fields = declared.fields
    members = (elements(field.type, inner[at :: len(fields)], types) for at, field in enumerate(fields))
    return b"".join(members)


def _string(value: object) -> bytes:
    return data(value) if isinstance(value, bytes) else b"\xff" * 8


def _encode_definition(declared: UserType) -> bytes:
    """Return the bytes of a type's definition that are hashed; its name is not among them."""
    match declared:
        case EnumType():
            size = ATOMIC[declared.base].size
            constants = (
                text(member.name) + member.value.to_bytes(size, "little", signed=member.value < 0)
                for member in declared.constants
            )
            return text("enum") + text(declared.base) + number(len(declared.constants)) + b"".join(constants)
        case OpaqueType():
            return text("opaque") + number(declared.size)
        case VlenType():
            return text("vlen") + text(declared.base)
        case CompoundType():
            fields = (
                text(field.name) + text(field.type) + number(len(field.shape)) + b"".join(map(number, field.shape))
                for field in declared.fields
            )
            return text("compound") + number(len(declared.fields)) + b"".join(fields)
        case _:
            assert_never(declared)


def _pack(named: Iterable[tuple[str, bytes]]) -> bytes:
    """Return items sorted by name bytes, after their number."""
    lines = sorted((name.encode("utf-8", "surrogateescape"), record) for name, record in named)
    return number(len(lines)) + b"".join(data(name) + record for name, record in lines)


def _hash(kind: str, *pieces: bytes) -> bytes:
    return sha256(text(VERSION) + text(kind) + b"".join(pieces)).digest()


class Digest(NamedTuple):
    """Hexadecimal digest of a dataset and of its parts."""

    whole: str
    parts: dict[str, str]
    """Digest of each variable by FQN, and of the model of each group by its FQN and `/`."""


def digest(checked: Checked, run: RunOptions) -> Digest:
    """Return the digest of a dataset; `memory` and `workers` of the options limit resources.

    Raises OSError if values are unreachable, CompileError if they cannot be
    decoded or need more memory.
    """
    value_hashes = _hash_values(checked, run)
    parts: dict[str, str] = {}
    whole = _hash_group("/", checked.dataset, checked, value_hashes, parts)
    return Digest(whole.hex(), parts)


def choose_part(checked: Checked, subset: Subset, report: Report) -> Checked | None:
    """Return the wanted part of a dataset, as in `diff`; None after an error."""
    from nczarr.pipeline.compare.diff import choose_parts as of_both

    sides = of_both(checked, checked, subset, report)
    return None if sides is None else sides[0]


def _hash_group(
    path: str, group: Group, checked: Checked, value_hashes: dict[str, bytes], parts: dict[str, str]
) -> bytes:
    """Return the hash of a group, and add its parts to `parts`."""
    model = _hash(
        "model",
        attributes(group.attributes, checked.types),
        _pack((declared.name, _encode_definition(declared)) for declared in group.types),
        _pack((dimension.name, number(dimension.size) + number(dimension.unlimited)) for dimension in group.dimensions),
    )
    parts[path if path == "/" else path + "/"] = model.hex()
    variables = []
    for variable in group.variables:
        fqn = names.join(path, variable.name)
        hash_of_variable = variable_hash(variable, checked.shapes[fqn], value_hashes[fqn], checked.types)
        variables.append((variable.name, hash_of_variable))
        parts[fqn] = hash_of_variable.hex()
    inner = [
        (child.name, _hash_group(names.join(path, child.name), child, checked, value_hashes, parts))
        for child in group.groups
    ]
    return _hash("group", model, _pack(variables), _pack(inner))


def _hash_values(checked: Checked, run: RunOptions) -> dict[str, bytes]:
    """Return the hashes of all variables' values; one stream of tasks keeps threads busy between variables."""
    hashers: dict[str, ValueHasher] = {}
    value_hashes: dict[str, bytes] = {}

    def tasks(crew: Crew) -> Iterator[Task]:
        for path in checked.variables:
            hashers[path] = hasher = _choose_hasher(checked, path)
            yield from hasher.tasks(crew, run.memory)
            yield Task(partial(str, path), here=True)  # results come in order: the path ends those of a variable

    is_distant = any(source.distant for parts in checked.parts.values() for source in parts.values())
    with Crew(run.workers, run.memory, distant=is_distant) as crew:
        for result in crew.results(tasks(crew)):
            if isinstance(result, Hashed):
                result.owner.take(result)
            elif isinstance(result, str):
                value_hashes[result] = hashers.pop(result).root()
    return value_hashes


def _choose_hasher(checked: Checked, path: str) -> ValueHasher:
    """Return the hasher of a variable's values."""
    variable, shape = checked.variables[path], checked.shapes[path]
    if not checked.parts.get(path):
        return _Constant(checked, path)
    sources = whole_parts(checked, path)
    if variable.type == "string" or is_fixed(variable.type, checked.types):
        return Dense(sources[""], shape, path)
    return RaggedHasher(sources, variable.type, shape, checked.types)


class _Constant(ValueHasher):
    """Values of a variable without data: fill, or zeros if that is undefined."""

    def __init__(self, checked: Checked, path: str) -> None:
        variable = checked.variables[path]
        self._fill = checked.fills[path]
        self._type_name = variable.type
        self._types = checked.types
        super().__init__(checked.shapes[path], width(variable.type, checked.types))

    def leaf_of_fill(self, count: int) -> bytes:
        """Return the hash of a leaf of fill."""
        sources = all_fill(self._fill, self._type_name, (count,), self._types)
        return leaf_of(sources, self._type_name, count, self._types)


_LINE = re.compile(rb"(\\?)([0-9A-Fa-f]{64}) [ *](.+)", re.DOTALL)
_ESCAPES = {b"\\": b"\\\\", b"\n": b"\\n", b"\r": b"\\r"}
_ESCAPED = {escape: plain for plain, escape in _ESCAPES.items()}


def line(digest: str, name: str, part: str | None = None) -> bytes:
    r"""Return the line of a dataset, `DIGEST NAME`, or of a part, `DIGEST NAME#FQN`; the FQN of a group ends in `/`.

    Backslashes and line ends in a name are written `\\`, `\n` and `\r`, and the
    line then begins with a backslash.
    """
    text = (name if part is None else f"{name}#{part}").encode("utf-8", "surrogateescape")
    escaped = re.sub(rb"[\\\n\r]", lambda special: _ESCAPES[special[0]], text)
    return (b"\\" if escaped != text else b"") + digest.encode() + b"  " + escaped + b"\n"


def parse(source: Source, report: Report) -> dict[str, Digest]:
    """Return the datasets in a digest file by name; parts follow their dataset. Reports: bad-digest-line."""
    datasets: dict[str, Digest] = {}
    last, at = "", 0
    for text in bytes(source.data).split(b"\n"):
        span, at = Span(source, at, at + len(text)), at + len(text) + 1
        text = text.removesuffix(b"\r")
        if not text:
            continue
        parsed = _LINE.fullmatch(text)
        if parsed is None or (parsed[1] and not re.fullmatch(rb"(?:[^\\]|\\[\\nr])*", parsed[3], re.DOTALL)):
            report.error("bad-digest-line", "the line is not `DIGEST  NAME`", span)
            continue
        name = re.sub(rb"\\.", lambda special: _ESCAPED[special[0]], parsed[3]) if parsed[1] else parsed[3]
        words, digest = name.decode("utf-8", "surrogateescape"), parsed[2].decode().lower()
        if last and words.startswith(last + "#/"):
            known = datasets[last].parts.setdefault(words[len(last) + 1 :], digest)
        else:
            known, last = datasets.setdefault(words, Digest(digest, {})).whole, words
        if known != digest:
            report.error(
                "bad-digest-line", f"the line has another digest of `{names.readable(words)}` than one before", span
            )
    if not datasets and not report.errors:
        report.error("bad-digest-line", f"`{source.name}` has no line `DIGEST  NAME`")
    return datasets
