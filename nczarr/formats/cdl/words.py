"""Words of CDL by what they are, for editors and highlighters."""

from nczarr.formats.cdl.read.patterns import PRIMITIVES, SECTIONS
from nczarr.formats.cdl.read.patterns import WORDS as TOKENS
from nczarr.formats.cdl.spelling import SPECIAL
from nczarr.syntax._generated.CDLParser import CDLParser as P


def _list(*kinds: int) -> tuple[str, ...]:
    return tuple(sorted(word.decode("ascii") for word, kind in TOKENS.items() if kind in kinds))


WORDS: dict[str, tuple[str, ...]] = {
    "sections": tuple(word.decode("ascii") for word in SECTIONS),
    "declarations": _list(P.NETCDF, P.ENUM, P.OPAQUE, P.COMPOUND),
    "types": tuple(word.decode("ascii") for word in PRIMITIVES),
    "constants": _list(P.UNLIMITED, P.NIL, P.SPECIAL_FLOAT, P.FILL),
    "attributes": tuple(sorted((*SPECIAL, "_FillValue"))),
}
"""Words by class: section keywords, words that begin a declaration, types, constants, special attributes."""
