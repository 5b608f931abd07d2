"""Special attributes of CDL: storage properties and file kind, written as attributes but never stored as such.

Values are checked here; chunk lengths are compared with dimensions later.
"""

import json
import math
import re
from collections.abc import Callable, Sequence

from nczarr import names
from nczarr.arrays.codecs import chain, table
from nczarr.arrays.codecs.table import LeveledCodec
from nczarr.ast import Codec, Kind, Quantize, Storage
from nczarr.ast.dataset import BLOSC, DEFLATE, FILTER_LIMIT, FLETCHER32, KIND_SPELLINGS, SHUFFLE, most_digits
from nczarr.ast.rectilinear import read_lengths
from nczarr.diagnostics.report import Fix, Label, Report, Source, Span
from nczarr.formats.cdl.read.scope import VariableDraft
from nczarr.formats.cdl.spelling import QUANTIZE, SPECIAL
from nczarr.formats.cdl.values.literals import Literal, Stop

_CHUNKS = ("_ChunkLengths", "_ChunkSizes")


class Specials:
    """Reader of one source's special attributes into variable storage."""

    def __init__(self, source: Source, report: Report) -> None:
        self.source = source
        self.report = report
        self.readers: dict[str, Callable[[VariableDraft, Sequence[Literal], Span], object]] = {
            "_Storage": self._layout,
            "_ChunkSizes": self._chunks,
            "_ChunkLengths": self._lengths,
            "_DeflateLevel": self._deflate,
            "_Shuffle": self._flag,
            "_Fletcher32": self._flag,
            "_NoFill": self._flag,
            "_Endianness": self._endian,
            "_Filter": self._filter,
            "_Codecs": self._codecs,
            **dict.fromkeys(QUANTIZE, self._quantize),
        }
        self.known = {*SPECIAL, "_FillValue"}

    def find_special(self, name: str) -> str | None:
        """Return the special name that a name resembles, or None."""
        if name in self.known:  # ncgen takes a misspelt one for an ordinary attribute
            return None
        lowered = {special.lower(): special for special in self.known}
        if name.lower() in lowered:
            return lowered[name.lower()]
        if not name.startswith("_"):
            return None
        begun = [special for special in lowered if _begins(name.lower(), special)]
        if begun:
            return lowered[min(begun, key=lambda special: (-_measure_common(name.lower(), special), len(special)))]
        closest = names.closest(name, self.known)
        return closest if closest is not None and abs(len(closest) - len(name)) <= 2 and _near(name, closest) else None

    def of_variable(self, variable: VariableDraft, name: str, literals: Sequence[Literal], place: Span) -> None:
        """Process `v:_Name = literals`; `place`: span of the name."""
        if name in variable.specials:  # in ncgen the last of several wins
            first = Label(variable.specials[name][1], "first given here")
            message = f"attribute `{variable.name}:{name}` is already given"
            self.report.error("duplicate-name", message, place, others=[first])
            return
        try:
            value = self.readers[name](variable, literals, place)
        except Stop:
            return
        if value is not None:
            if name in ("_DeflateLevel", "_Shuffle", "_Fletcher32", "_Filter") and not variable.dimensions and value:
                message = f"the scalar variable `{variable.name}` cannot be compressed or filtered"
                self.report.error("filter-on-scalar", message, place, helps=[f"remove `{name}`"])
                return
            span = self._at(literals[0]) if literals else place
            variable.specials[name] = (value, span if name in _CHUNKS else place)

    def kind(self, literals: Sequence[Literal], place: Span) -> Kind | None:
        """Return the value of `:_Format`."""
        try:
            text = self._take_text(literals, place, "_Format", "a kind of netCDF file, in quotes")
        except Stop:
            return None
        kind = KIND_SPELLINGS.get(text)
        if kind is None:
            meant = names.closest(text, KIND_SPELLINGS)
            known = "known formats: " + ", ".join(sorted(KIND_SPELLINGS))
            help_ = Fix(f"did you mean `{meant}`?", f'"{meant}"') if meant else known
            self.report.error("bad-special-value", f'unknown format "{text}"', self._at(literals[0]), helps=[help_])
        return kind

    def storage(self, variable: VariableDraft) -> Storage:
        """Return the storage from a variable's special attributes; its span is that of the chunk lengths."""
        values = {name: value for name, (value, _) in variable.specials.items()}
        codecs: list[Codec] = []
        # The order in which libnetcdf 4.9.0 sets up its pipeline for them (measured: fletcher32, shuffle, deflate).
        if values.get("_Fletcher32"):
            codecs.append(Codec(id=FLETCHER32))
        if values.get("_Shuffle"):
            codecs.append(Codec(id=SHUFFLE))
        if values.get("_DeflateLevel"):
            codecs.append(Codec(id=DEFLATE, parameters=(values["_DeflateLevel"],)))  # type: ignore[arg-type]
        listed = values.get("_Filter") or values.get("_Codecs") or ()
        codecs += [codec for codec in listed if codec.id not in {earlier.id for earlier in codecs}]  # type: ignore[attr-defined]
        quantize = next((value for name, value in values.items() if name in QUANTIZE), None)
        named = next((name for name in _CHUNKS if values.get(name)), None)
        span = variable.span if named is None else variable.specials[named][1]
        lengths = () if named is None else values[named]
        chunks = lengths if any(lengths) else None  # type: ignore[arg-type]  # 0 asks for the default
        layout = values.get("_Storage") or ("chunked" if lengths else None)
        return Storage(
            layout=layout,  # type: ignore[arg-type]
            chunks=chunks,  # type: ignore[arg-type]
            codecs=tuple(codecs),
            endian=values.get("_Endianness"),  # type: ignore[arg-type]
            no_fill=bool(values.get("_NoFill")),
            quantize=quantize,  # type: ignore[arg-type]
            span=span,
        )

    # ---- one reader a special, which raises Stop after a fault ------------------------------------------------
    def _layout(self, variable: VariableDraft, literals: Sequence[Literal], place: Span) -> object:
        return self._word(literals, place, "_Storage", ("contiguous", "chunked", "compact"))

    def _endian(self, variable: VariableDraft, literals: Sequence[Literal], place: Span) -> object:
        word = self._word(literals, place, "_Endianness", ("little", "big", "native"))
        if variable.type in ("char", "string"):  # ncgen refuses these, and ignores it for bytes
            message = f"a variable of type {variable.type} has no byte order"
            raise self._bad(message, literals[0], "remove `_Endianness`")
        return None if word == "native" else word

    def _chunks(self, variable: VariableDraft, literals: Sequence[Literal], place: Span) -> object:
        if not literals:  # ncdump -s prints an empty list for scalars
            return ()
        sizes: list[int] = []
        for literal in literals:
            if literal.kind != "int" or literal.value < 0:
                raise self._bad("a chunk size must be a positive integer", literal, code="bad-chunk-size")
            sizes.append(literal.value)
        rank = len(variable.dimensions)
        if len(sizes) != rank:  # ncgen 4.9.0 reads past a short list, and ignores the rest of a long one
            ones = "dimension" if rank == 1 else "dimensions"
            counted = "1 chunk size is" if len(sizes) == 1 else f"{len(sizes)} chunk sizes are"
            message = f"`{variable.name}` has {rank or 'no'} {ones}, {counted} given"
            raise self._bad(message, literals[0], "give one size for each dimension", code="bad-chunk-size")
        if 0 in sizes and any(sizes):  # 0 alone asks for the library's default
            raise self._bad("a chunk size must be at least 1", literals[sizes.index(0)], code="bad-chunk-size")
        return tuple(sizes)

    def _lengths(self, variable: VariableDraft, literals: Sequence[Literal], place: Span) -> object:
        """Return chunk lengths that differ: a text for each dimension, `"366"` or `"[365, [366, 2]]"`."""
        lengths = []
        for literal in literals:
            try:
                lengths.append(read_lengths(json.loads(literal.value) if literal.kind == "string" else literal.value))
            except (ValueError, RecursionError):
                help_ = 'write "[365, 366, [365, 2]]" for one dimension: lengths, and pairs of a length and a number'
                raise self._bad("this is not a list of chunk lengths", literal, help_, code="bad-chunk-size") from None
        rank = len(variable.dimensions)
        if len(lengths) != rank:
            message = f"`{variable.name}` has {rank} dimensions, and the chunk lengths of {len(lengths)} are given"
            raise self._bad(message, literals[0] if literals else place, code="bad-chunk-size")
        return tuple(lengths)

    def _deflate(self, variable: VariableDraft, literals: Sequence[Literal], place: Span) -> object:
        level = self._integer(literals, place, "_DeflateLevel")
        if not -1 <= level <= 9:  # 0 and -1 mean no deflate, as in ncgen
            raise self._bad("_DeflateLevel must be 0 .. 9", literals[0])
        return max(level, 0)

    def _flag(self, variable: VariableDraft, literals: Sequence[Literal], place: Span) -> object:
        if len(literals) == 1:
            value = literals[0].value
            if literals[0].kind == "int" and value in (0, 1):  # ncgen turns `_Fletcher32 = 0` on
                return bool(value)
            if literals[0].kind == "string" and value in (b"true", b"false", b"1", b"0"):
                return value in (b"true", b"1")
        raise self._bad('expected "true" or "false"', literals[0] if literals else place, "1 and 0 are valid too")

    def _filter(self, variable: VariableDraft, literals: Sequence[Literal], place: Span) -> object:
        message = '_Filter must be "ID,parameter,…|ID,…", numbers only'
        text = self._take_text(literals, place, "_Filter", 'a text such as "307,9"')
        codecs: list[Codec] = []
        for piece in text.split("|"):
            numbers = [part.strip() for part in piece.split(",")]
            if not all(re.fullmatch(r"[0-9]{1,10}[uU]?", part) for part in numbers):
                raise self._bad(message, literals[0])
            values = [int(part.rstrip("uU")) for part in numbers]
            if max(values) >= FILTER_LIMIT:
                raise self._bad("filter parameters have 32 bits", literals[0])
            codecs.append(Codec(id=values[0], parameters=tuple(values[1:])))
        for fault in filter(None, map(chain.find_fault, codecs)):
            raise self._bad(fault, literals[0])
        return tuple(codecs)

    def _codecs(self, variable: VariableDraft, literals: Sequence[Literal], place: Span) -> object:
        text = self._take_text(literals, place, "_Codecs", "a JSON list of codecs, in quotes")
        try:
            listed = json.loads(text)
        except (ValueError, RecursionError):
            listed = None
        items = listed if isinstance(listed, list) else [listed]
        if not all(isinstance(item, dict) and isinstance(item.get("id"), str) for item in items):
            raise self._bad('_Codecs must be a JSON list such as [{"id": "zlib", "level": 5}]', literals[0])
        codecs: list[Codec] = []
        for item in items:
            number = chain.number_of(item["id"])
            if number is None or number == BLOSC:
                message = f"codec `{item['id']}` is unknown and left out"
                self.report.warning(
                    "unknown-codec", message, self._at(literals[0]), helps=["use `_Filter` with its number"]
                )
                continue
            level = item.get("level") if isinstance(table.of_number(number), LeveledCodec) else None
            codecs.append(Codec(id=number, parameters=(level,) if isinstance(level, int) and level >= 0 else ()))
            if (fault := chain.find_fault(codecs[-1])) is not None:
                raise self._bad(fault, literals[0])
        return chain.nearest(codecs, table.list_encoded(hdf5=True))

    def _quantize(self, variable: VariableDraft, literals: Sequence[Literal], place: Span) -> object:
        name = self.source.text(place.start, place.end)
        digits = self._integer(literals, place, name)
        algorithm = QUANTIZE[name]
        limit = most_digits(variable.type, algorithm)
        if not limit:
            message = f"only float and double variables can be quantized; `{variable.name}` is {variable.type}"
            raise self._bad(message, place)
        if not 1 <= digits <= limit:
            unit = "bits" if algorithm == "bitround" else "digits"
            raise self._bad(f"a {variable.type} variable keeps 1 .. {limit} significant {unit}", literals[0])
        return Quantize(algorithm=algorithm, digits=digits)  # type: ignore[arg-type]

    # ---- shapes of values -----------------------------------------------------------------------------------
    def _at(self, literal: Literal) -> Span:
        return Span(self.source, literal.start, literal.end)

    def _bad(self, message: str, where: Literal | Span, *helps: str, code: str = "bad-special-value") -> Stop:
        """Report a fault of a value; return the exception to raise."""
        self.report.error(code, message, self._at(where) if isinstance(where, Literal) else where, helps=helps)
        return Stop()

    def _take_single(self, literals: Sequence[Literal], place: Span, kind: str, message: str) -> Literal:
        if len(literals) == 1 and literals[0].kind == kind:
            return literals[0]
        wrong = next((literal for literal in literals if literal.kind != kind), literals[1] if literals[1:] else place)
        raise self._bad(message, wrong)

    def _take_text(self, literals: Sequence[Literal], place: Span, name: str, expected: str) -> str:
        text: bytes = self._take_single(literals, place, "string", f"{name} is {expected}").value
        return text.decode("utf-8", "replace")

    def _integer(self, literals: Sequence[Literal], place: Span, name: str) -> int:
        integer: int = self._take_single(literals, place, "int", f"{name} must be one integer").value
        return integer

    def _word(self, literals: Sequence[Literal], place: Span, name: str, words: tuple[str, ...]) -> str:
        spelled = ", ".join(f'"{word}"' for word in words if word != "native")
        text = self._take_text(literals, place, name, f"one of {spelled}")
        if text in words:
            return text
        meant = names.closest(text, words)
        helps = [Fix(f'did you mean "{meant}"?', f'"{meant}"')] if meant else []
        raise self._bad(f"{name} must be one of {spelled}", literals[0], *helps)


def _measure_common(one: str, other: str) -> int:
    """Return the length of the common prefix."""
    return next((at for at, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), min(len(one), len(other)))


def _begins(name: str, special: str) -> bool:
    """Return whether most of a name is a prefix of a special one: `_deflate`, `_endian`, `_chunking`."""
    return _measure_common(name, special) >= max(5, math.ceil(2 * len(name) / 3))


def _near(one: str, other: str) -> bool:
    """Return whether two names differ by case and at most two letters."""
    a, b = one.lower(), other.lower()
    if len(a) == len(b):
        return sum(x != y for x, y in zip(a, b, strict=True)) <= 2
    longer, shorter = (a, b) if len(a) > len(b) else (b, a)
    at = _measure_common(longer, shorter)
    return longer[at + len(longer) - len(shorter) :] == shorter[at:]
