"""Small CDL texts that reach every corner of the classic formats, with the kinds of file that they suit."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.ast import Kind
from nczarr.semantics.classic_layout import CLASSIC_KINDS

NARROW = ("byte", "char", "short", "int", "float", "double")
WIDE = (*NARROW, "ubyte", "ushort", "uint", "uint64")
SUFFIXES = {"byte": "b", "short": "s", "int": "", "float": ".5f", "double": ".", "ubyte": "ub", "ushort": "us",
            "uint": "u", "int64": "ll", "uint64": "ull"}  # fmt: skip
MANY = 1000

Text = tuple[str, str, tuple[Kind, ...]]


def texts() -> Iterator[Text]:
    """Name, text, kinds."""
    for label, types, kinds in (("narrow", NARROW, CLASSIC_KINDS), ("wide", WIDE, ("nc5",))):
        for data in ("", "1", "1, 2, 3, 4, 5, 6, 7"):
            yield f"{label}-fixed-{len(data)}", grid(types, (7, 8, 9), "x{}", data), kinds
            yield f"{label}-records-{len(data)}", grid(types, (1, 2, 3, 5), "t, x{}", data), kinds
        for type_name in types:
            yield f"{label}-lone-{type_name}", grid((type_name,), (3,), "t, x{}", "1, 2, 3, 4, 5, 6, 7"), kinds
            yield f"{label}-lone-filled-{type_name}", lone(type_name), kinds
        numbers = [item for item in SUFFIXES if item in types or label == "wide"]
        yield f"{label}-attributes", attributes(numbers), kinds
    for name, text in CORNERS.items():
        yield name, text, CLASSIC_KINDS
    yield "many-record-variables", many(), CLASSIC_KINDS


def grid(types: tuple[str, ...], lengths: tuple[int, ...], dimensions: str, data: str) -> str:
    """A variable of each type and each of some lengths of `x`, with some values given."""
    out = ["netcdf t { dimensions: t = UNLIMITED ;", *(f"x{length} = {length} ;" for length in lengths), "variables:"]
    variables = [(name, length, f"{name}_{length}") for name in types for length in lengths]
    out += [f"{type_name} {name}({dimensions.format(length)}) ;" for type_name, length, name in variables]
    if data:
        out.append("data:")
        out += [f"{name} = {data if type_name != 'char' else chars('ab')} ;" for type_name, _, name in variables]
    return " ".join([*out, "}"])


def lone(type_name: str) -> str:
    """The only record variable, after a fixed one, with a fill value of its own."""
    fill, data = (chars("x"), chars("abcde")) if type_name == "char" else ("5", "1, _, 3, 4, _")
    variables = f"byte b ; {type_name} v(t) ; v:_FillValue = {fill} ;"
    return f"netcdf t {{ dimensions: t = UNLIMITED ; variables: {variables} data: b = 1 ; v = {data} ; }}"


def attributes(types: list[str]) -> str:
    """Attributes of one, two and three values of every type, of a variable and of the file."""
    out = ['v:none = "" ;', *(f"v:c{count} = {chars('abc'[:count])} ;" for count in (1, 2, 3))]
    for name in types:
        out += [f"v:{name}_{count} = {', '.join([f'7{SUFFIXES[name]}'] * count)} ;" for count in (1, 2, 3)]
    return f"netcdf t {{ variables: int v ; {' '.join(out)} {' '.join(out).replace('v:', ':')} }}"


def many() -> str:
    """A thousand record variables of every type, most with holes, some without data."""
    variables = [f"{NARROW[number % 6]} v{number}(t) ;" for number in range(MANY)]
    data = [f"v{number} = {number % 100}, _, 3 ;" for number in range(MANY) if number % 6 != 1]
    return f"netcdf t {{ dimensions: t = UNLIMITED ; variables: {' '.join(variables)} data: {' '.join(data)} }}"


def chars(text: str) -> str:
    return f'"{text}"'


LONG = "n" * 256
CORNERS = {
    "unlimited-unused": "netcdf t { dimensions: t = UNLIMITED ; x = 3 ; variables: int v(x) ; }",
    "no-records": "netcdf t { dimensions: t = UNLIMITED ; variables: int v(t) ; byte w(t) ; }",
    "records-only": "netcdf t { dimensions: t = UNLIMITED ; variables: byte v(t) ; byte w(t) ; data: v = 1, 2 ; }",
    "scalars": "netcdf t { variables: byte a ; short b ; int c ; char d ; data: d = 'x' ; }",
    "dimensions-only": "netcdf t { dimensions: a = 1 ; b = 2 ; t = UNLIMITED ; }",
    "attributes-only": 'netcdf t { :a = "x" ; :b = 1, 2 ; }',
    "long-names": f"netcdf t {{ dimensions: {LONG} = 2 ; variables: int {LONG}({LONG}) ; {LONG}:{LONG} = 1 ; }}",
    "nfc": "netcdf t { dimensions: e\u0301 = 2 ; variables: int e\u0301(e\u0301) ; e\u0301:\u212b = 1 ; }",
    "coordinates": """netcdf t { dimensions: t = UNLIMITED ; x = 2 ; y = 3 ;
        variables: double t(t) ; float v(t, y, x) ; int x(x) ; short s(t, x, x) ;
        data: t = 1, 2 ; v = 1, 2, 3, 4, 5, 6, NaN, -Infinity ; x = 1 ; s = 1, 2, 3, 4, 5, 6, 7 ; }""",
}
