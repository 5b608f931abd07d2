"""Words of the notation by what they are, for editors and highlighters."""

from nczarr.ast import ATOMIC
from nczarr.formats.notation.tokens import WORDS as TOKENS
from nczarr.syntax._generated.NCZarrParser import NCZarrParser as P

_DECLARATIONS = (
    P.DATASET, P.GROUP, P.ATTRIBUTE, P.DIMENSION, P.VARIABLE, P.COMPOUND, P.OPAQUE, P.ENUM, P.VLEN,
)  # fmt: skip
_PROPERTIES = (P.KIND, P.FILL, P.CHUNKS, P.CODEC, P.LAYOUT, P.ENDIAN, P.QUANTIZE, P.ELEMENT)


def _list(*kinds: int) -> tuple[str, ...]:
    return tuple(sorted(word.decode("ascii") for word, kind in TOKENS.items() if kind in kinds))


WORDS: dict[str, tuple[str, ...]] = {
    "declarations": _list(*_DECLARATIONS),
    "properties": _list(*_PROPERTIES),
    "types": tuple(ATOMIC),
    "constants": _list(P.UNLIMITED, P.NONE, P.NAN, P.INFINITY, P.NIL),
}
"""Words by class: words that begin a declaration or a property, types, constants."""
