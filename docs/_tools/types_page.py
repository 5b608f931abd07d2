"""Makes docs/reference/types.md: one variable of each type, written in every format, and what lies there then."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from nczarr import ncstream
from nczarr.diagnostics.report import Report, Severity, Source
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.semantics.checked import Checked
from nczarr.semantics.classic_layout import lay_out
from nczarr.stores.base import is_metadata
from nczarr.stores.memory import pretty

STORES = ("zarr2", "nczarr", "zarr3", "nczarr3", "zarr3-2019")
FORMATS = ("netcdf3", "netcdf4", *STORES, "ncstream")
OWN = ("v/", "data/v/", "meta/v/", "meta/v.")
"""How keys of the variable begin."""

HEXED = 64
"""Bytes of a chunk that are shown."""


class Sample(NamedTuple):
    """One type: the variable `v` in CDL, and what stands before it."""

    title: str
    declared: str
    values: str
    types: str = ""

    @property
    def cdl(self) -> str:
        """The whole text."""
        types = f"types:\n  {self.types}\n" if self.types else ""
        variable = f"variables:\n  {self.declared} ;\ndata:\n  v = {self.values} ;\n"
        return f"netcdf sample {{\n{types}dimensions:\n  x = 2 ;\n{variable}}}\n"


SAMPLES = (
    Sample("byte", "byte v(x)", "-1, 2"),
    Sample("ubyte", "ubyte v(x)", "1, 254"),
    Sample("char", "char v(x)", '"ab"'),
    Sample("short", "short v(x)", "-1, 2"),
    Sample("ushort", "ushort v(x)", "1, 65000"),
    Sample("int", "int v(x)", "-1, 2"),
    Sample("uint", "uint v(x)", "1, 4000000000"),
    Sample("int64", "int64 v(x)", "-1, 2"),
    Sample("uint64", "uint64 v(x)", "1, 2"),
    Sample("float", "float v(x)", "1.5, NaN"),
    Sample("double", "double v(x)", "1.5, -Infinity"),
    Sample("string", "string v(x)", '"é", "abc"'),
    Sample("string with NIL", "string v(x)", '"abc", NIL'),
    Sample("enum", "sky v(x)", "cloudy, clear", "byte enum sky { clear = 0, cloudy = 1 } ;"),
    Sample("opaque", "key v(x)", "0X010203, 0XFFFEFD", "opaque(3) key ;"),
    Sample("compound", "point v(x)", "{1, 2.5}, {3, 4.5}", "compound point { short n ; double d ; } ;"),
    Sample(
        "compound with an array and a compound",
        "outer v(x)",
        '{{1}, "ab"}, {{2}, "cd"}',
        "compound inner { int i ; } ;\n  compound outer { inner p ; char c(2) ; } ;",
    ),
    Sample("vlen", "row v(x)", "{1, 2, 3}, {}", "int(*) row ;"),
    Sample("vlen of string", "texts v(x)", '{"a", "bc"}, {}', "string(*) texts ;"),
    Sample("vlen of compound", "track v(x)", "{{1, 2}, {3, 4}}, {}", "compound p { int i, j ; } ;\n  p(*) track ;"),
    Sample(
        "compound with a string and a vlen",
        "entry v(x)",
        '{"a", {1}}, {"b", {2, 3}}',
        "int(*) row ;\n  compound entry { string s ; row r ; } ;",
    ),
)

HEAD = """# Types in every format

Look up how a type is stored in each format: first a table, then for each type a sample with its keys and bytes.

One rule (`nczarr/arrays/values/parts.py`) applies to all stores: a type of fixed size is one array; a vlen is `counts`
and `content`; a compound with members of variable size has one child for each member. A *loss* is an error until
`--allow-loss` names it; the page shows what is written then. `docs/_tools/generate.py` makes this page from what
`nczarr compile` writes.

"""


def page() -> str:
    """The whole page."""
    made = [(sample, {form: lies(sample, form) for form in FORMATS}) for sample in SAMPLES]
    lines = ["| type | " + " | ".join(FORMATS) + " |", "|---" * (len(FORMATS) + 1) + "|"]
    lines += [f"| [{s.title}](#{anchor(s.title)}) | " + " | ".join(cell(r[f]) for f in FORMATS) + " |" for s, r in made]
    sections = [section(sample, rows) for sample, rows in made]
    return HEAD + "\n".join(lines) + "\n" + "".join(sections)


def cell(row: Lies) -> str:
    """The words of a table's cell."""
    return row.short.replace("|", "\\|")


def anchor(title: str) -> str:
    """The link target that a heading gets."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower())


def section(sample: Sample, rows: dict[str, Lies]) -> str:
    """One type."""
    parts = [f"\n## {sample.title}\n\n```\n{sample.cdl}```\n"]
    for form, row in rows.items():
        parts.append(f"\n**{form}**{': ' + row.note if row.note else ''}\n")
        if row.text:
            parts.append(f"\n```\n{row.text}```\n")
    return "".join(parts)


class Lies(NamedTuple):
    """A type in one format: a few words, a remark, and what is there."""

    short: str
    note: str = ""
    text: str = ""


def lies(sample: Sample, form: str) -> Lies:
    """Write the sample in a format, and look."""
    report = Report()
    checked = phases.read(Source("sample.cdl", sample.cdl.encode()), report, Options())
    assert checked is not None
    if form == "netcdf3":
        return classic(checked)
    if form == "netcdf4":
        return hdf5(checked)
    if form == "ncstream":
        return stream(checked)
    found = endpoints.target_format("", form, report)
    assert found is not None
    keys = phases.keys(checked, found, report, Options.of(allow_loss=frozenset({"all"})))
    assert keys is not None
    losses = [
        each.code for each in report.list_sorted() if each.code.startswith("lost-") and each.code != "lost-annotations"
    ]
    own = {key: data for key, data in sorted(keys.items()) if key.startswith(OWN)}
    short = ", ".join(dict.fromkeys(array_types(own)))
    note = f"loss `{losses[0]}`" if losses else ""
    return Lies(f"`{short}`" + (f" ({losses[0]})" if losses else ""), note, "".join(shown(own)))


def array_types(keys: dict[str, bytes]) -> Iterator[str]:
    """The element type of every array, with the name of the part."""
    for key, data in keys.items():
        document = json.loads(data) if key.endswith((".zarray", "zarr.json", ".array.json")) else {}
        part = (
            key.removeprefix("meta/").removesuffix(".array.json") if key.startswith("meta/") else key.rpartition("/")[0]
        )
        part = part.removeprefix("v").lstrip("/")
        kind = document.get("dtype") or document.get("data_type")
        if kind is not None:
            yield (f"{part}: " if part else "") + (kind if isinstance(kind, str) else named(kind))


def named(kind: Any) -> str:
    """A type that is no single word."""
    if isinstance(kind, dict) and "extension" in kind:
        return str(kind["type"])
    return str(kind["name"]) if isinstance(kind, dict) else "[" + " ".join(field[1] for field in kind) + "]"


def shown(keys: dict[str, bytes]) -> Iterator[str]:
    """The keys as blocks, chunks in hexadecimal digits."""
    for key, data in keys.items():
        if is_metadata(key):
            yield f"== {key}\n{pretty(json.loads(data))}\n"
        else:
            yield f"== {key} ({len(data)} bytes)\n{hexed(data)}\n"


def hexed(data: bytes) -> str:
    """The first bytes."""
    return data[:HEXED].hex(" ", -4) + (" …" if len(data) > HEXED else "")


def stream(checked: Checked) -> Lies:
    """In a stream: the messages of the variable."""
    form, report = endpoints.target_format("", "ncstream", Report()), Report()
    assert form is not None
    pieces = phases.text(checked, form, report, Options())
    assert pieces is not None
    data = b"".join(pieces)
    _, _, *found, _ = ncstream.read_messages(data)
    places = [message.offset or 0 for message in found] + [len(data) - 4]
    words, text = [], ""
    for message, (start, end) in zip(found, pairwise(places), strict=True):
        assert isinstance(message, ncstream.Data | ncstream.DataColumn)
        kind = "DATA" if isinstance(message, ncstream.Data) else "DATA2"
        ragged = "(*)" if message.message is not None and getattr(message.message, "isVlen", False) else ""
        words.append(f"{kind} {message.data_type}{ragged}")
        text += f"{words[-1]}, bytes {start} to {end}\n{data[start:end].hex(' ', -4)}\n"
    return Lies(", ".join(words), "", text)


def classic(checked: Checked) -> Lies:
    """In a classic file of the smallest kind that holds it."""
    for kind in ("nc3", "nc5"):
        report = Report()
        form = endpoints.target_format("", "netcdf3", report)
        assert form is not None
        settled = endpoints.settle(checked, form, report, Options.of(kind=kind))
        pieces = settled and phases.text(checked, settled[0], report, settled[1])
        if pieces:
            place = lay_out(checked, kind).places["/v"]
            data = b"".join(pieces)[place.begin : place.begin + place.size]
            type_name = checked.variables["/v"].type
            return Lies(
                f"{type_name} ({kind})", kind, f"bytes {place.begin} to {place.begin + len(data)}\n{hexed(data)}\n"
            )
    found = next(each for each in report.list_sorted() if each.severity is Severity.ERROR)
    return Lies("–", f"`{found.code}`: {found.message.split(';')[0]}")


def hdf5(checked: Checked) -> Lies:
    """In an HDF5 file: the dataset's type and, where it lies in one piece, its bytes."""
    import h5py

    report = Report()
    form = endpoints.target_format("t.h5", None, report)
    assert form is not None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "t.h5"
        assert phases.write(checked, str(path), form, report, Options.of(kind="nc4")), report.list_sorted()
        with h5py.File(path) as file:
            dataset = file["v"].id
            text = f"DATATYPE {datatype(dataset.get_type())}\n"
            if not variable(dataset.get_type()):
                data = path.read_bytes()[dataset.get_offset() : dataset.get_offset() + dataset.get_storage_size()]
                text += f"contiguous, {len(data)} bytes\n{hexed(data)}\n"
            short = datatype(dataset.get_type()).split(" {")[0]
    return Lies(short, "", text)


def variable(kind: Any) -> bool:
    """Whether values of an HDF5 type lie in the heap."""
    import h5py

    if isinstance(kind, h5py.h5t.TypeCompoundID):
        return any(variable(kind.get_member_type(number)) for number in range(kind.get_nmembers()))
    if isinstance(kind, h5py.h5t.TypeArrayID):
        return variable(kind.get_super())
    return isinstance(kind, h5py.h5t.TypeVlenID) or (
        isinstance(kind, h5py.h5t.TypeStringID) and bool(kind.is_variable_str())
    )


def datatype(kind: Any) -> str:
    """An HDF5 type in words."""
    from h5py import h5t

    match kind:
        case h5t.TypeCompoundID():
            members = (
                f"{kind.get_member_name(number).decode()} {datatype(kind.get_member_type(number))}"
                f" at {kind.get_member_offset(number)}"
                for number in range(kind.get_nmembers())
            )
            return f"compound of {many(kind)} {{ {'; '.join(members)} }}"
        case h5t.TypeEnumID():
            names = [kind.get_member_name(number) for number in range(kind.get_nmembers())]
            values = "; ".join(f"{name.decode()} = {kind.enum_valueof(name)}" for name in names)
            return f"enum of {datatype(kind.get_super())} {{ {values} }}"
        case h5t.TypeVlenID():
            return f"vlen of {datatype(kind.get_super())}"
        case h5t.TypeArrayID():
            return f"array {kind.get_array_dims()} of {datatype(kind.get_super())}"
        case h5t.TypeStringID():
            return "string of any length" if kind.is_variable_str() else f"string of {many(kind)}"
        case h5t.TypeOpaqueID():
            return f"opaque of {many(kind)}"
        case h5t.TypeIntegerID():
            return f"{'signed' if kind.get_sign() else 'unsigned'} integer of {many(kind)}"
        case _:
            return f"float of {many(kind)}"


def many(kind: Any) -> str:
    """The size of an HDF5 type."""
    return "1 byte" if kind.get_size() == 1 else f"{kind.get_size()} bytes"
