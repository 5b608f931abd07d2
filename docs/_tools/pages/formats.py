"""Generated parts of the page of each format: what it preserves, and how a small dataset is stored in it."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from pathlib import Path

import nczarr
from nczarr import registry
from nczarr.registry import ALL_ATOMIC, NETCDF_KINDS, USER_TYPES, Capabilities, Format
from nczarr.stores.base import is_metadata
from nczarr.stores.memory import pretty

FOLDER = "reference/formats"
SAMPLE = """netcdf sample {
dimensions:
  time = UNLIMITED ;
  x = 3 ;
variables:
  double time(time) ;
    time:units = "days since 2000-01-01" ;
  short t(time, x) ;
    t:units = "K" ;
    t:_FillValue = -999s ;
data:
  time = 0, 1 ;
  t = 271, 272, 273, 274, _, 276 ;
}
"""
HEXED = 512
"""Bytes of a file that are shown."""

FEATURES: tuple[tuple[str, Callable[[Capabilities], str]], ...] = (
    ("Atomic types", lambda held: _set(held.atomic, ALL_ATOMIC)),
    ("User-defined types", lambda held: _set(held.user_types, USER_TYPES)),
    ("Attributes of user-defined types", lambda held: _yes(held.attribute_user_types)),
    ("Types of attributes", lambda held: _yes(held.typed_attributes)),
    ("Groups", lambda held: _yes(held.groups)),
    (
        "Unlimited dimensions",
        lambda held: {"any": "any number", "first": "one, the first of a variable", "none": "no"}[held.unlimited],
    ),
    ("Shared dimensions", lambda held: _yes(held.shared_dimensions)),
    ("Dimensions that no variable uses", lambda held: _yes(held.unused_dimensions)),
    ("Dimensions without names", lambda held: _yes(held.anonymous_dimensions)),
    ("Order of definitions", lambda held: _yes(held.definition_order)),
    ("Chunks, codecs, byte order", lambda held: _yes(held.storage)),
    ("Kind of netCDF file", lambda held: _yes(held.kind)),
    ("Values", lambda held: _yes(held.data)),
)


def _yes(found: bool) -> str:
    return "yes" if found else "no"


def _set(found: frozenset[str], every: frozenset[str]) -> str:
    if found == every:
        return "all"
    missing = sorted(every - found)
    return f"all but {', '.join(missing)}" if found else "no"


def completed(path: str, markdown: str) -> str:
    """Return the page of a format with its generated parts; other pages are unchanged."""
    row = next((form for form in registry.formats() if form.name == Path(path).stem), None)
    if row is None:
        return markdown
    return f"{markdown.rstrip()}\n\n{_facts(row)}\n{_capabilities(row)}\n{_dump(row)}"


def _facts(row: Format) -> str:
    suffixes = ", ".join(f"`{suffix}`" for suffix in row.suffixes) or f"none; ask for it with `--to {row.name}`"
    if row.store.commits:
        suffixes = f"none; write `{row.name}:` before the path or URL"
    spec = f"<{row.spec}>" if row.spec.startswith("http") else ""
    lines = [
        "## At a glance\n\n| property | value |\n|---|---|",
        f"| Name | `{row.name}` |",
        f"| Suffixes | {suffixes} |",
    ]
    lines += [f"| Read | {_yes(row.readable)} |", f"| Written | {_yes(row.writable)} |"]
    lines += [f"| Specification | {spec} |"] if spec else []
    return "\n".join(lines) + "\n"


def _capabilities(row: Format) -> str:
    """Return the table of what a target preserves. A format of several kinds of file has a column for each."""
    text = "## What it preserves\n\n"
    if row.target.kinds:
        kinds = list(row.target.kinds)
        head = f"| feature | {' | '.join(f'`{kind}`' for kind in kinds)} |\n|---|{'---|' * len(kinds)}\n"
        return (
            text
            + head
            + "".join(
                f"| {title} | {' | '.join(shown(NETCDF_KINDS[kind]) for kind in kinds)} |\n"
                for title, shown in FEATURES
            )
        )
    return (
        text
        + "| feature | preserved |\n|---|---|\n"
        + "".join(f"| {title} | {shown(row.capabilities)} |\n" for title, shown in FEATURES)
    )


@cache
def _sample() -> nczarr.DatasetHandle:
    return nczarr.from_cdl(SAMPLE)


def _dump(row: Format) -> str:
    """Return the sample as it is stored in a format."""
    if not row.writable or row.store.commits or (row.target.kinds and not row.target.build and not row.write):
        return ""
    intro = "## A dataset in this format\n\n"
    intro += "" if row.name == "cdl" else f"The dataset\n\n```cdl\n{SAMPLE}```\n\nis stored as:\n\n"
    return intro + "".join(_shown(row))


def _shown(row: Format) -> Iterator[str]:
    if row.capabilities.arrays is not None and not row.store.opens:
        yield from _keys(_sample().to_keys(row.name, allow_loss=("all",)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source, target = folder / "source.nc", folder / f"sample{row.suffixes[0]}"
        nczarr.write(_sample(), source, kind="nc4" if row.name == "dmrpp" else "nc3")
        nczarr.convert(source, target, row.name, allow_loss=("all",), kind="nc4" if row.name == "netcdf4" else None)
        data = target.read_bytes()
        if data[:2] == b"PK":
            with zipfile.ZipFile(target) as archive:
                yield from _keys({each: archive.read(each) for each in archive.namelist()})
        elif data[1:4] == b"HDF":
            yield from _objects(target)
        elif row.display.binary:
            yield f"{len(data)} bytes, of which these are the first:\n\n" if len(data) > HEXED else ""
            yield _fenced(_hex(data[:HEXED]))
        else:
            yield _fenced(data.decode().replace(f"{folder}/", ""))


def _fenced(text: str, kind: str = "text") -> str:
    return f"```{kind}\n{text.rstrip()}\n```\n\n"


def _keys(keys: Mapping[str, bytes]) -> Iterator[str]:
    """Yield each key of a store: documents as JSON, chunks as bytes."""
    for key in sorted(keys):
        data = keys[key]
        if is_metadata(key) or key.endswith(".json"):
            yield f"`{key}`\n\n{_fenced(pretty(json.loads(data)), 'json')}"
        else:
            yield f"`{key}` ({len(data)} bytes)\n\n{_fenced(data[:64].hex(' ', -4) + (' …' if len(data) > 64 else ''))}"


def _hex(data: bytes) -> str:
    """Return bytes as `xxd` shows them."""
    lines = []
    for start in range(0, len(data), 16):
        piece = data[start : start + 16]
        text = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in piece)
        lines.append(f"{start:06x}  {piece.hex(' ', -4):<35}  {text}")
    return "\n".join(lines)


def _objects(path: Path) -> Iterator[str]:
    """Yield the HDF5 objects of a netCDF-4 file."""
    import h5py

    with h5py.File(path) as file:
        lines = [f"/  group  {{{', '.join(sorted(file.attrs))}}}"]
        for name, item in sorted(file.items()):
            shape = "×".join(map(str, item.shape))
            chunks = "×".join(map(str, item.chunks)) if item.chunks else "contiguous"
            lines.append(f"/{name}  dataset  {item.dtype.str}  {shape}  chunks {chunks}")
            lines += [f"    {key}: {_value(item.attrs, key)}" for key in sorted(item.attrs)]
            if item.chunks:
                lines += [
                    f"    chunk {info.chunk_offset}: bytes {info.byte_offset} to {info.byte_offset + info.size}"
                    for info in (item.id.get_chunk_info(n) for n in range(item.id.get_num_chunks()))
                ]
        yield _fenced("\n".join(lines))


def _value(attributes: Mapping[str, object], key: str) -> str:
    value = attributes[key]
    return "object references" if key in ("DIMENSION_LIST", "REFERENCE_LIST") else str(value)
