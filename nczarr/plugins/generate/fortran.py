"""Programs in Fortran 2008 for netcdf-fortran: a module that creates and writes the dataset, and a main program."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.plugins.generate.c import MODES, list_filters
from nczarr.plugins.generate.growth import LastRecord, find_unrecorded, list_last_records
from nczarr.plugins.generate.model import Schema, SchemaVariable
from nczarr.plugins.generate.render import render, wrap
from nczarr.sdk import ATOMIC, Checked, Report, np

RESERVED = frozenset("check path ncid grpid varid values netcdf create write int8 int16 int32 int64 real32".split())

UNSIGNED = {"ubyte": "int16", "ushort": "int32", "uint": "int64", "uint64": "int64"}
"""Kinds of the signed integers that hold unsigned ones, which Fortran lacks."""

KINDS = {"byte": "int8", "short": "int16", "int": "int32", "int64": "int64", "float": "real32", "double": "real64"}

TINY = {"real32": 2.0**-126, "real64": 2.0**-1022}
"""Smallest normal numbers."""

LONGEST_NAME = 50
LONGEST_TEXT = 12_000
"""Most bytes of a text: a statement has at most 255 lines."""
MOST_COLUMNS = 132
BLOCK, LONGEST_LINE, SHORT = 200, 110, 40
"""Elements of one statement, columns of a line, and those of an expression that needs no line of its own."""


def number(value: Any, kind: str) -> str:
    """Return a number as a constant of a kind, exactly."""
    if kind.startswith("int"):
        integer, lowest = int(value), -(2 ** (int(kind[3:]) - 1))
        if integer == lowest:  # a literal has no sign, and its amount is one too large
            return f"-{-(integer + 1)}_{kind} - 1_{kind}"
        return f"{integer}_{kind}"
    real = np.float32(value) if kind == "real32" else np.float64(value)
    is_positive_zero = real == 0 and not np.signbit(real)
    if not np.isfinite(real) or not (abs(float(real)) >= TINY[kind] or is_positive_zero):  # no literal has its bits
        integers = "int32" if kind == "real32" else "int64"
        return f"transfer({number(real.view(integers), integers)}, 0.0_{kind})"
    shown = str(real) if kind == "real32" else repr(float(real))
    has_point = any(mark in shown for mark in ".e")
    return f"{shown if has_point else f'{shown}.0'}_{kind}"


def text(value: str | bytes) -> str:
    """Return a text as an expression; its parts stand on as many lines as they need."""
    data = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    parts = []
    for piece in re.findall(rb"[\x20-\x7e]{1,80}|[^\x20-\x7e]+", data):
        if 32 <= piece[0] < 127:
            parts.append('"' + piece.decode("ascii").replace('"', '""') + '"')  # Fortran doubles a quote in a text
        elif len(piece) > 1 and len({*piece}) == 1:
            parts.append(f"repeat(char({piece[0]}), {len(piece)})")
        else:
            parts += [f"char({byte})" for byte in piece]
    joined = " // ".join(parts) or '""'
    if len(joined) <= SHORT:
        return joined
    lines, line = [], ""
    for part in parts:
        if line and len(line) + len(part) > 90:
            lines.append(line)
            line = part
        else:
            line = f"{line} // {part}" if line else part
    return "&\n      " + " // &\n      ".join([*lines, line])


def find_obstacles(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield what netcdf-fortran cannot express: FQN and reason."""
    yield from schema.find_large()
    yield from schema.find_types()
    yield from schema.find_reserved()
    yield from find_unrecorded(schema, _has_writable_fill)
    for variable in schema.variables:
        if not variable.group.is_root and schema.kind not in (None, "nc4"):
            yield variable.path, "its group cannot be in a file of the classic model"
        if variable.type not in ATOMIC or variable.type == "string":
            yield variable.path, "programs in Fortran have variables of numbers and chars"
        elif variable.type == "uint64" and variable.has_values and np.max(variable.values) >= 2**63:
            yield variable.path, "integers of Fortran have at most 63 bits"
        if variable.has_default_chunks:
            yield variable.path, "netcdf-fortran takes no chunks without lengths"
        if variable.storage.quantize is not None:
            yield variable.path, "netcdf-fortran before 4.6 has no quantization"
        if any(isinstance(one, int) for one in variable.dimensions):
            yield variable.path, "it has an anonymous dimension, and dimensions of netCDF have names"
        if variable.type == "char" and variable.has_values and variable.shape[-1:] > (LONGEST_TEXT,):
            yield variable.path, "a statement of Fortran has at most 255 lines"
    for place, attribute in schema.attributes:
        if attribute.type not in ATOMIC or attribute.type == "string" or not attribute.count:
            yield place, "programs in Fortran have attributes of numbers and chars, at least one"
        elif attribute.type == "uint64" and np.max(attribute.value) >= 2**63:
            yield place, "integers of Fortran have at most 63 bits"
        if attribute.text.endswith(b" "):
            yield place, "netcdf-fortran cuts blanks at the end of a text"
        if attribute.count > LONGEST_TEXT // (1 if attribute.type == "char" else 20):
            yield place, "a statement of Fortran has at most 255 lines"


def _has_writable_fill(variable: SchemaVariable) -> bool:
    if variable.type not in ATOMIC or variable.type == "string":
        return False
    return variable.type != "uint64" or variable.fill < 2**63


def write_last_record(record: LastRecord) -> str:
    """Return the arguments behind the variable in the call that gives an unlimited dimension its length."""
    variable = record.variable
    start = ", ".join(str(one + 1) for one in reversed(record.start))  # Fortran counts from 1, fastest dimension first
    fill = text(variable.fill) if variable.type == "char" else f"[{number(variable.fill, kind_of(variable.type))}]"
    return f"{fill}, start=[{start}], count=[{', '.join(['1'] * variable.rank)}]"


def list_storage(variable: SchemaVariable, ncid: str) -> Iterator[str]:
    """Yield the calls that define how a variable is stored."""
    if variable.storage.chunks and variable.rank:
        chunks = ", ".join(map(str, reversed(variable.storage.chunks)))  # in Fortran the fastest dimension is first
        yield f"nf90_def_var_chunking({ncid}, varid, nf90_chunked, [{chunks}])"
    elif variable.storage.layout in ("contiguous", "compact"):
        layout = f"nf90_{variable.storage.layout}"
        yield f"nf90_def_var_chunking({ncid}, varid, {layout}, [{', '.join(['1'] * max(variable.rank, 1))}])"
    for call in list_filters(variable):  # in C; a list of parameters is `(const unsigned int[]) {1U, 2U}` there
        own = re.sub(r"\(const unsigned int\[\]\) \{(.*)\}", r"[\1]", call.replace("NULL", "[0]"))
        yield re.sub(r"(\d)U\b", r"\1", own).replace("nc_", "nf90_").replace("NC_", "nf90_").replace("ncid", ncid)
    if variable.storage.endian:
        yield f"nf90_def_var_endian({ncid}, varid, nf90_endian_{variable.storage.endian})"
    if variable.storage.no_fill:
        kind = UNSIGNED.get(variable.type) or KINDS.get(variable.type, "int8")
        yield f"nf90_def_var_fill({ncid}, varid, 1, {number(0, kind)})"


def kind_of(type_name: str) -> str:
    """Return the kind of the numbers that hold those of a type."""
    return UNSIGNED.get(type_name) or KINDS[type_name]


def declare_values(variable: SchemaVariable) -> str:
    """Return the declaration of the values: one after another, chars as texts along the last dimension."""
    if variable.type == "char":
        length = variable.shape[-1] if variable.rank else 1
        rows = f"({int(np.prod(variable.shape[:-1]))})" if variable.rank > 1 else ""
        return f"character(len={length}) :: values{rows}"
    kind = kind_of(variable.type)
    size = f"({int(np.prod(variable.shape))})" if variable.rank else ""
    return f"{'integer' if kind.startswith('int') else 'real'}({kind}) :: values{size}"


def list_assignments(variable: SchemaVariable) -> Iterator[str]:
    """Yield the statements that set the values."""
    if variable.type == "char":
        data = np.asarray(variable.values, "S1").tobytes()
        length = variable.shape[-1] if variable.rank else 1
        for row in range(0, len(data), length):
            place = f"({row // length + 1})" if variable.rank > 1 else ""
            yield f"values{place} = {text(data[row : row + length])}"
        return
    kind = kind_of(variable.type)
    items = [number(one, kind) for one in np.asarray(variable.values).reshape(-1).tolist()]
    if not variable.rank:
        yield f"values = {items[0]}"
        return
    for start in range(0, len(items), BLOCK):
        block = items[start : start + BLOCK]
        place = f"({start + 1}:{start + len(block)})" if len(items) > BLOCK else ""
        if len({*block}) == 1:
            yield f"values{place} = {block[0]}"
        else:
            yield f"values{place} = [ &\n      {_continue(block)}]"


def _continue(items: list[str]) -> str:
    return wrap(items, 6, 110).replace("\n", " &\n")


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the files of a program by name."""
    schema = Schema(
        checked, name, RESERVED, macros=re.compile("nf90_|nf_", re.IGNORECASE), same_case=True, longest=LONGEST_NAME
    )
    if schema.refuse(find_obstacles(schema), "program in Fortran", report):
        return {}
    context: dict[str, Any] = {
        "schema": schema,
        "mode": "nf90_64bit_data" if schema.kind == "nc5" else _translate_mode(MODES[schema.kind]),
        "is_enhanced": schema.kind in (None, "nc4"),
        "unsigned": UNSIGNED,
        "has_unsigned": any(attribute.type in UNSIGNED for _, attribute in schema.attributes),
        "text": text,
        "array": lambda values, type_name: _write_array(values, KINDS[type_name]),
        "id_of": lambda group: "ncid" if group.is_root else group.identifier,
        "dimensions": lambda variable: [one.identifier for one in reversed(variable.dimensions)],
        "storage": list_storage if schema.kind in (None, "nc4", "nc7") else lambda variable, ncid: [],
        "declaration": declare_values,
        "assignments": list_assignments,
        "last_records": list_last_records(schema, _has_writable_fill),
        "write_last_record": write_last_record,
        "kinds": [],
    }
    body = render("fortran/module.f90.j2", context)
    context["kinds"] = sorted({*re.findall(r"(?:\d_|[(])((?:int|real)\d+)\b", _without_texts(body))})
    return {
        f"{schema.name}.f90": _break_lines(_join_lines(render("fortran/module.f90.j2", context))),
        f"{schema.name}_main.f90": render("fortran/main.f90.j2", context),
    }


def _translate_mode(mode: str) -> str:
    flags = [flag.strip().lower().replace("nc_", "nf90_") for flag in mode.split("|") if flag.strip() != "0"]
    return f"ior({', '.join(flags)})" if len(flags) > 1 else flags[0] if flags else "0"


def _without_texts(program: str) -> str:
    """Return a program without literals of texts and comments."""
    return re.sub(r'"[^"\n]*"|![^\n]*', "", program)


def _join_lines(program: str) -> str:
    """Return a program in which statements of two lines are on one if they fit."""
    lines: list[str] = []
    for line in program.split("\n"):
        before = lines[-1].removesuffix("&").rstrip() if lines else ""
        is_second = bool(lines) and lines[-1].endswith(" &") and not (len(lines) > 1 and lines[-2].endswith(" &"))
        gap = "" if before.endswith("[") else " "
        if is_second and not line.endswith("&") and len(before) + len(gap) + len(line.strip()) <= LONGEST_LINE:
            lines[-1] = f"{before}{gap}{line.strip()}"
        else:
            lines.append(line)
    return "\n".join(lines)


def _break_lines(program: str) -> str:
    """Return a program whose lines of code have at most 132 columns, which is the most of Fortran 2008."""
    lines: list[str] = []
    for line in program.split("\n"):
        rest = line
        while len(rest) > MOST_COLUMNS and (place := _find_break(rest)) is not None:
            lines.append(f"{rest[:place]} &")
            rest = f"      {rest[place:].lstrip()}"
        lines.append(rest)
    return "\n".join(lines)


def _find_break(line: str) -> int | None:
    """Return the last place behind a comma, outside of texts and comments, at which a line can be broken."""
    found, is_text = None, False
    for place, character in enumerate(line[: MOST_COLUMNS - 2]):
        is_text ^= character == '"'
        if character == "!" and not is_text:
            break
        if character == "," and not is_text and line[:place].strip():
            found = place + 1
    return found


def _write_array(values: Any, kind: str) -> str:
    items = [number(one, kind) for one in np.asarray(values).reshape(-1).tolist()]
    lines = _continue(items)
    return f"[{lines}]" if len(lines) <= SHORT else f"[ &\n      {lines}]"
