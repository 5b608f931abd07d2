"""Storage properties of a variable: `chunks codec layout endian quantize element fill none`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from nczarr import names
from nczarr.arrays.codecs import table
from nczarr.arrays.values.elements import is_element_name
from nczarr.ast import Codec, Quantize, Storage
from nczarr.ast.rectilinear import chunk_length
from nczarr.ast.storage import Algorithm
from nczarr.formats.notation.spelling import EscapeError, read_name
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P

if TYPE_CHECKING:
    from nczarr.formats.notation.parse_tree import Written

_WORDS = {
    "layout": ("contiguous", "compact", "chunked"),
    "endian": ("little", "big"),
    "quantize": ("bitgroom", "granularbitround", "bitround"),
    "element": ("bool", "float16", "complex64", "complex128", "datetime64[s]", "timedelta64[s]", "utf32[1]"),
}


class StorageBuilder:
    """Collector of the properties of one variable; all but `codec` may occur once."""

    def __init__(self, reader: Written) -> None:
        self._reader = reader
        self._members: dict[str, Any] = {}
        self._codecs: list[Codec] = []

    def done(self) -> Storage:
        """Return the collected storage, whose members are already checked."""
        return Storage(codecs=tuple(self._codecs), **self._members)

    def take(self, context: Any) -> None:
        """Add a property. Reports `unknown-word`, `bad-chunk-size`, `duplicate-name`, `bad-special-value`."""
        match context:
            case P.CodecContext():
                self._codec(context)
            case P.ChunksContext():
                chunks = tuple(self._lengths(context))
                if 0 in chunks:
                    message = "a chunk must have at least one element along each dimension"
                    self._reader.report.error("bad-chunk-size", message, self._reader.span(context))
                else:
                    self._once("chunks", chunks, context)
            case P.FillContext():
                self._once("no_fill", True, context)
            case P.LayoutContext():
                self._once("layout", self._word("layout", context), context)
            case P.EndianContext():
                self._once("endian", self._word("endian", context), context)
            case P.ElementContext():
                self._once("element", self._word("element", context), context)
            case P.QuantizeContext():
                self._quantize(context)

    def _lengths(self, context: Any) -> Iterator[int]:
        """Yield the chunk length of each dimension, 0 for an invalid one."""
        for child in context.getChildren():
            if isinstance(child, P.LengthsContext):
                runs = []
                for part in child.getChildren():
                    if isinstance(part, P.RunContext):
                        runs.append(self._reader.sizes(part, "bad-chunk-size"))
                    elif part in child.getTokens(P.SIZE):
                        runs.append((self._reader.size(part, "bad-chunk-size") or 0, 1))
                sound = runs and all(len(run) == 2 and all(run) for run in runs)
                yield chunk_length([(length, count) for length, count in runs]) if sound else 0
            elif child in context.getTokens(P.SIZE):
                size = self._reader.size(child, "bad-chunk-size")
                if size is not None:
                    yield size

    def _once(self, member: str, value: Any, context: Any) -> None:
        if member in self._members:
            word = self._reader.spelt(context).split(maxsplit=1)[0]
            self._reader.report.error("duplicate-name", f"`{word}` is given twice", self._reader.span(context))
        elif value is not None:
            self._members[member] = value

    def _word(self, property_: str, context: Any) -> str | None:
        """Return the word after a property's name if the property accepts it."""
        if context.NAME() is None:
            return None
        word, words = self._reader.spelt(context.NAME()), _WORDS[property_]
        if word in words:
            return word
        if property_ == "element":
            with suppress(EscapeError):
                element = read_name(word)
                if is_element_name(element):
                    return element
        self._unknown(f"`{word}` is not a valid {property_}", word, words, context)
        return None

    def _codec(self, context: Any) -> None:
        terminals = context.getTokens(P.SIZE)
        numbers = [self._reader.size(terminal, "bad-special-value") for terminal in terminals]
        parameters = [number for number in numbers if number is not None]
        if context.NAME() is not None:
            word = self._reader.spelt(context.NAME())
            identity = table.numbers().get(word)
            if identity is None:
                self._unknown(f"`{word}` is not a codec", word, tuple(table.numbers()), context)
                return
        elif parameters:
            identity = parameters.pop(0)
        else:
            return
        self._codecs.append(Codec(id=identity, parameters=tuple(parameters), span=self._reader.span(context)))

    def _quantize(self, context: Any) -> None:
        word = self._word("quantize", context)
        digits = self._reader.size(context.SIZE(), "bad-special-value") if context.SIZE() is not None else None
        if word is None or digits is None:
            return
        if digits == 0:
            text = "quantization must keep at least one digit"
            self._reader.report.error("bad-special-value", text, self._reader.span(context))
            return
        node = Quantize(algorithm=cast("Algorithm", word), digits=digits, span=self._reader.span(context))
        self._once("quantize", node, context)

    def _unknown(self, message: str, word: str, words: tuple[str, ...], context: Any) -> None:
        near = names.closest(word, words)
        helps = [f"did you mean `{near}`?"] if near else []
        helps.append(f"known words are {', '.join(f'`{valid}`' for valid in words)}")
        self._reader.report.error("unknown-word", message, self._reader.span(context), helps=helps)
