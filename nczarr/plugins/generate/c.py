"""Programs in C for libnetcdf: types, `create_NAME`, functions that read variables, and words that they cannot use."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.plugins.generate.growth import find_unrecorded, list_last_records
from nczarr.plugins.generate.model import Schema, SchemaAttribute, SchemaType, SchemaVariable
from nczarr.plugins.generate.render import render
from nczarr.sdk import ATOMIC, Checked, Report, names, np

RESERVED = frozenset(
    "auto break case char const continue default do double else enum extern float for goto if inline int long register "
    "restrict return short signed sizeof static struct switch typedef union unsigned void volatile while bool true "
    "false main errno stdin stdout stderr ncid path status made values fill start count size_t ptrdiff_t NULL NAN "
    "int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t ids groups varid dimensions y0 y1 yn j0 j1 jn "
    "gamma index time div exp log pow sin cos tan abs remove rename signal types CHECK linux unix BUFSIZ EOF FILE "
    "FILENAME_MAX FOPEN_MAX TMP_MAX HUGE_VAL HUGE_VALF HUGE_VALL DIM_WITHOUT_VARIABLE MSC_EXTRA INFINITY "
    "math_errhandling "
    "size ptrdiff wchar max_align off ssize fpos clock int8 int16 int32 int64 intptr uint8 uint16 uint32 uint64 "
    "uintptr intmax uintmax".split()
)
"""Words of C, names of its library that compilers warn of, those of our functions, and types without their `_t`."""

MACROS = re.compile(
    r"(?:NC|NC2|NC4|nc|FILL|MAX|FP|M|MATH|SEEK|L|P)_|E(?:"
    r"2BIG|ACCES|ADDRINUSE|ADDRNOTAVAIL|ADV|AFNOSUPPORT|AGAIN|ALREADY|BADE|BADF|BADFD|BADMSG|"
    r"BADR|BADRQC|BADSLT|BFONT|BUSY|CANCELED|CHILD|CHRNG|COMM|CONNABORTED|CONNREFUSED|"
    r"CONNRESET|DEADLK|DEADLOCK|DESTADDRREQ|DOM|DOTDOT|DQUOT|EXIST|FAULT|FBIG|HOSTDOWN|"
    r"HOSTUNREACH|HWPOISON|IDRM|ILSEQ|INPROGRESS|INTR|INVAL|IO|ISCONN|ISDIR|ISNAM|KEYEXPIRED|"
    r"KEYREJECTED|KEYREVOKED|L2HLT|L2NSYNC|L3HLT|L3RST|LIBACC|LIBBAD|LIBEXEC|LIBMAX|LIBSCN|"
    r"LNRNG|LOOP|MEDIUMTYPE|MFILE|MLINK|MSGSIZE|MULTIHOP|NAMETOOLONG|NAVAIL|NETDOWN|NETRESET|"
    r"NETUNREACH|NFILE|NOANO|NOBUFS|NOCSI|NODATA|NODEV|NOENT|NOEXEC|NOKEY|NOLCK|NOLINK|"
    r"NOMEDIUM|NOMEM|NOMSG|NONET|NOPKG|NOPROTOOPT|NOSPC|NOSR|NOSTR|NOSYS|NOTBLK|NOTCONN|"
    r"NOTDIR|NOTEMPTY|NOTNAM|NOTRECOVERABLE|NOTSOCK|NOTSUP|NOTTY|NOTUNIQ|NXIO|OF|OPNOTSUPP|"
    r"OVERFLOW|OWNERDEAD|PERM|PFNOSUPPORT|PIPE|PROTO|PROTONOSUPPORT|PROTOTYPE|RANGE|REMCHG|"
    r"REMOTE|REMOTEIO|RESTART|RFKILL|ROFS|SHUTDOWN|SOCKTNOSUPPORT|SPIPE|SRCH|SRMNT|STALE|"
    r"STRPIPE|TIME|TIMEDOUT|TOOMANYREFS|TXTBSY|UCLEAN|UNATCH|USERS|WOULDBLOCK|XDEV|XFULL|XTERNL"
    r")(?:_|$)"
)
"""Beginnings of names of macros in headers of C and libnetcdf; names of error numbers."""


TYPES = {
    "byte": "signed char", "ubyte": "unsigned char", "char": "char", "short": "short", "ushort": "unsigned short",
    "int": "int", "uint": "unsigned int", "int64": "long long", "uint64": "unsigned long long", "float": "float",
    "double": "double", "string": "char *",
}  # fmt: skip
"""Types of C by atomic type, as libnetcdf's functions take them."""

CODES = {
    "byte": "NC_BYTE", "ubyte": "NC_UBYTE", "char": "NC_CHAR", "short": "NC_SHORT", "ushort": "NC_USHORT",
    "int": "NC_INT", "uint": "NC_UINT", "int64": "NC_INT64", "uint64": "NC_UINT64", "float": "NC_FLOAT",
    "double": "NC_DOUBLE", "string": "NC_STRING",
}  # fmt: skip

SUFFIXES = {
    "byte": "schar", "ubyte": "uchar", "char": "text", "short": "short", "ushort": "ushort", "int": "int",
    "uint": "uint", "int64": "longlong", "uint64": "ulonglong", "float": "float", "double": "double",
    "string": "string",
}  # fmt: skip
"""Ends of the names of functions, such as `nc_put_att_int`."""

MODES = {
    None: "NC_NETCDF4", "nc3": "0", "nc6": "NC_64BIT_OFFSET", "nc5": "NC_64BIT_DATA", "nc4": "NC_NETCDF4",
    "nc7": "NC_NETCDF4 | NC_CLASSIC_MODEL",
}  # fmt: skip

LONGEST = 4000
"""Longest literal of a text in bytes: compilers of C99 need not take longer ones."""

_ENDINGS = {"uint": "U", "int64": "LL", "uint64": "ULL"}


def number(value: Any, type_name: str) -> str:
    """Return a number as a constant of C, exactly."""
    if type_name == "float":
        return _real(float(value), str(np.float32(value)), "f")
    if type_name == "double":
        return _real(float(value), repr(float(value)), "")
    integer = int(value)
    lowest = ATOMIC[type_name].low
    if integer == lowest < -(2**15):  # the constant without its sign does not fit
        ending = _ENDINGS.get(type_name, "")
        return f"(-{-integer - 1}{ending} - 1)"
    return f"{integer}{_ENDINGS.get(type_name, '')}"


def _real(value: float, text: str, ending: str) -> str:
    if math.isnan(value):
        return "NAN"  # NAN of C99's math.h
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return f"{text}{'' if any(mark in text for mark in '.e') else '.0'}{ending}"


def text(data: bytes) -> str:
    """Return bytes as a literal of a text."""
    shown = []
    for byte in data:
        character = chr(byte)
        if character in '"\\?':  # two question marks begin a trigraph
            shown.append(f"\\{character}")
        elif character == "\n":
            shown.append("\\n")
        elif 32 <= byte < 127:
            shown.append(character)
        else:
            shown.append(f"\\{byte:03o}")  # three digits: a digit behind them would count
    return f'"{"".join(shown)}"'


class Values:
    """Initializers of the values of a type. `before`: declarations of lists that they point to."""

    def __init__(self, schema: Schema, name: str) -> None:
        self.schema = schema
        self.name = name
        self.before: list[str] = []

    def list_items(self, values: Any, type_name: str, *, single: bool = False) -> list[str]:
        """Return the initializers of all elements in C order. `single`: there is one, without dimensions."""
        if single and type_name not in ("string", "char"):
            return [self.item(values, type_name)]
        if type_name == "string":
            return [self.item(one, type_name) for one in _flatten(values)]
        array = np.asarray(values)
        return [self.item(one, type_name) for one in array.reshape(-1)]

    def item(self, value: Any, type_name: str) -> str:
        """Return the initializer of one value."""
        if type_name == "string":
            return "NULL" if value is None else text(_encode(value))
        if type_name == "char":
            return _char(bytes(value))
        if type_name in ATOMIC:
            return number(value, type_name)
        declared = self.schema.types[type_name]
        match declared.kind:
            case "enum":
                return self._constant(declared, int(value))
            case "opaque":
                return "{{" + ", ".join(f"0x{byte:02x}" for byte in bytes(value)) + "}}"
            case "vlen":
                return self._write_list(declared, value)
            case _:
                return "{" + ", ".join(self._write_field(value[one.name], one) for one in declared.fields) + "}"

    def _constant(self, declared: SchemaType, value: int) -> str:
        return next((own for own, _, stated in declared.constants if stated == value), number(value, declared.base))

    def _write_field(self, value: Any, field: Any) -> str:
        if not field.shape:
            return self.item(value, field.type)
        items = self.list_items(value, field.type)
        for length in reversed(field.shape):
            items = ["{" + ", ".join(items[at : at + length]) + "}" for at in range(0, len(items), length)]
        return items[0]

    def _write_list(self, declared: SchemaType, value: Any) -> str:
        """Return an initializer of a variable-length list (`nc_vlen_t`), whose items are declared before it."""
        items = self.list_items(value, declared.base)
        if not items:
            return "{0, NULL}"
        own = f"{self.name}_{len(self.before) + 1}"
        c_type = type_of(self.schema, declared.base)
        self.before.append(f"static {c_type} {own}[] = {{{', '.join(items)}}};")
        return f"{{{len(items)}, {own}}}"


def _flatten(values: Any) -> Iterator[Any]:
    if isinstance(values, list | tuple):
        for one in values:
            yield from _flatten(one)
    elif isinstance(values, np.ndarray):
        yield from values.reshape(-1).tolist()
    else:
        yield values


def _encode(value: Any) -> bytes:
    return value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")


def _char(value: bytes) -> str:
    byte = value[0] if value else 0
    return f"'{chr(byte)}'" if 32 <= byte < 127 and chr(byte) not in "'\\" else f"'\\{byte:03o}'"


def type_of(schema: Schema, type_name: str) -> str:
    """Return the type of C for a type."""
    return TYPES.get(type_name) or f"{schema.types[type_name].identifier}_t"


def code_of(schema: Schema, type_name: str) -> str:
    """Return the expression of a type's number in the file."""
    return CODES.get(type_name) or f"ids->{schema.types[type_name].identifier}"


def find_obstacles(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield what C or libnetcdf cannot express: FQN and reason."""
    yield from schema.find_large()
    yield from schema.find_reserved()
    yield from schema.find_undefined()
    yield from find_unrecorded(schema, lambda variable: True)
    for variable in schema.variables:
        if not variable.group.is_root and schema.kind not in (None, "nc4"):
            yield variable.path, "its group cannot be in a file of the classic model"
        if any(isinstance(one, int) for one in variable.dimensions):
            yield variable.path, "it has an anonymous dimension, and dimensions of netCDF have names"
    for place, attribute in schema.attributes:
        if b"\0" in b"".join(_strings(attribute)):
            yield place, "a string with a NUL ends there in C"
        if _has_payload(attribute):
            yield place, "a NaN with bits of its own has no constant in C"


def _strings(attribute: SchemaAttribute) -> Iterator[bytes]:
    if attribute.type == "string":
        yield from (part for part in attribute.constant.data if isinstance(part, bytes))


def _has_payload(attribute: SchemaAttribute) -> bool:
    """Return whether a NaN of the attribute has other bits than the usual one, which C's `NAN` would lose."""
    data = attribute.constant.data
    if attribute.type not in ("float", "double") or not isinstance(data, bytes):
        return False
    code, usual = ("f", 0x7FC00000) if attribute.type == "float" else ("d", 0x7FF8000000000000)
    size, bits = struct.calcsize(code), "I" if code == "f" else "Q"
    values = struct.unpack(f"<{len(data) // size}{code}", data)
    patterns = struct.unpack(f"<{len(data) // size}{bits}", data)
    return any(math.isnan(value) and pattern != usual for value, pattern in zip(values, patterns, strict=True))


def list_filters(variable: SchemaVariable) -> list[str]:
    """Return the calls that define the codecs of a variable."""
    calls, codecs = [], list(variable.storage.codecs)
    shuffled = any(codec.id == 2 for codec in codecs)
    deflate = next((codec for codec in codecs if codec.id == 1), None)
    if shuffled or deflate is not None:
        level = deflate.parameters[0] if deflate is not None and deflate.parameters else 0
        calls.append(f"nc_def_var_deflate(ncid, varid, {int(shuffled)}, {int(deflate is not None)}, {level})")
    for codec in codecs:
        if codec.id == 3:
            calls.append("nc_def_var_fletcher32(ncid, varid, NC_FLETCHER32)")
        elif codec.id not in (1, 2):
            parameters = ", ".join(f"{one}U" for one in codec.parameters)
            given = f"(const unsigned int[]) {{{parameters}}}" if parameters else "NULL"
            calls.append(f"nc_def_var_filter(ncid, varid, {codec.id}, {len(codec.parameters)}, {given})")
    return calls


QUANTIZATIONS = {"bitgroom": "BITGROOM", "granularbitround": "GRANULARBR", "bitround": "BITROUND"}


def list_fill(values: Values, variable: SchemaVariable) -> list[str] | None:
    """Return the initializer of the fill value of a variable; None for zeros, which statics have without one."""
    if variable.storage.no_fill and variable.type != "string":
        return None
    stated = next((one for one in variable.attributes if one.name == "_FillValue"), None)
    if stated is not None and variable.type != "char":
        return values.list_items(stated.value, variable.type, single=True)
    if variable.type not in ATOMIC:
        return None
    return [values.item(variable.fill, variable.type)]


def literal_of_text(data: bytes) -> str | None:
    """Return a text as a literal, None if it is too long or has NULs."""
    return text(data) if len(data) <= LONGEST else None


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the files of a program by name."""
    schema = Schema(checked, name, RESERVED, macros=MACROS)
    if schema.refuse(find_obstacles(schema), "program in C", report):
        return {}
    paths = [group.path for group in schema.groups]
    context = {
        "schema": schema,
        "guard": schema.identifiers.make(f"{schema.name.upper()}_H"),
        "chars": lambda data: [_char(bytes([byte])) for byte in data],
        "group_of": lambda node: paths.index(names.parent(node.path)),
        "group_path": lambda node: names.parent(node.path),
        "dimension_ids": lambda variable: [f"ids->{one.identifier}" for one in variable.dimensions],
        "mode": MODES[schema.kind],
        "is_enhanced": schema.kind in (None, "nc4", "nc7"),
        "type_of": lambda type_name: type_of(schema, type_name),
        "code_of": lambda type_name: code_of(schema, type_name),
        "suffix": SUFFIXES,
        "atomic": ATOMIC,
        "text": text,
        "number": number,
        "literal": literal_of_text,
        "filters": list_filters,
        "values": lambda own: Values(schema, own),
        "quantizations": QUANTIZATIONS,
        "last_records": list_last_records(schema, lambda variable: True),
        "fill": list_fill,
    }
    return {
        f"{schema.name}.h": render("c/header.h.j2", context),
        f"{schema.name}.c": render("c/source.c.j2", context),
        f"{schema.name}_main.c": render("c/main.c.j2", context),
    }
