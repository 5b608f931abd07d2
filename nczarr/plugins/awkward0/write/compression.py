"""Compression policies of `serialize` and `save`.

A policy is a list of rules; the first applicable rule compresses an array.
Short forms: `None` or False (no rule), True (zlib for everything), `"default"`,
a function with a partner, a pair (function, name of its inverse), a rule, or a
list of functions, pairs and rules. A rule is a dictionary:

    {"minsize": 8192, "types": [bool, numpy.bool_, numpy.integer], "contexts": "*.counts", "pair": zlib.compress}

The inverse must be known to readers by default (`READERS`); otherwise the
document is unreadable, which awkward0 detects only when reading. `"foreign":
True` in a rule allows any name, for readers whose whitelist contains it.
"""

from __future__ import annotations

import lzma
import sys
import zlib
from collections.abc import Callable, Iterable, Mapping
from fnmatch import fnmatchcase
from typing import Any, NamedTuple, TypeAlias

from nczarr.arrays.lazy_numpy import NDArray, np

Compress: TypeAlias = Callable[[Any], Any]
Policy: TypeAlias = Any
"""Any accepted policy; see the module docstring."""

DEFAULT = "default"
"""awkward0's own policy: zlib for integers and booleans of at least 8192 bytes."""

SMALLEST = 8192

partner: dict[Compress, tuple[str, ...]] = {
    zlib.compress: ("zlib", "decompress"),
    lzma.compress: ("lzma", "decompress"),
}
"""Inverses of functions that may be given alone; extensible."""

READERS = frozenset(
    {("zlib", "decompress"), ("lzma", "decompress"), ("backports.lzma", "decompress"), ("lz4.block", "decompress")}
)
"""Decompressors in awkward0's default whitelist and in our reader's table."""

_INVERSES: dict[tuple[str, ...], Callable[[bytes], bytes]] = {
    ("zlib", "decompress"): zlib.decompress,
    ("lzma", "decompress"): lzma.decompress,
    ("backports.lzma", "decompress"): lzma.decompress,
}
_MEMBERS = ("minsize", "types", "contexts", "pair", "foreign")


class CompressionRule(NamedTuple):
    """Compression of arrays that are large enough and have a suitable scalar type."""

    compress: Compress
    """Function that compresses."""
    decompress: tuple[str, ...]
    """Name of its inverse."""
    minsize: float = 0
    """Minimum size in bytes."""
    types: tuple[type, ...] = (object,)
    """Classes of scalar types; a subclass of one suffices."""
    contexts: tuple[str, ...] = ("*",)
    """Case-sensitive patterns of blob names, such as `JaggedArray.counts`."""

    def applies(self, array: NDArray[Any], context: str) -> bool:
        """Return whether this rule compresses an array of any shape, by its bytes, dtype and context."""
        return (
            array.nbytes >= self.minsize
            and issubclass(array.dtype.type, self.types)
            and any(fnmatchcase(context, pattern) for pattern in self.contexts)
        )

    def apply(self, array: NDArray[Any]) -> bytes:
        """Return the compressed bytes of an array (any shape and dtype) in C order.

        Raises ValueError if the named inverse fails, TypeError if the function
        does not return bytes.
        """
        plain = array.tobytes()
        data = self.compress(plain)
        if not isinstance(data, bytes | bytearray | memoryview):
            raise TypeError(f"{_name(self.compress)} returned {type(data).__name__}, not bytes")
        packed = bytes(data)
        inverse = _INVERSES.get(self.decompress)
        if (
            inverse is not None
            and partner.get(self.compress) != self.decompress
            and not _undoes(inverse, packed, plain)
        ):
            raise ValueError(f"{'.'.join(self.decompress)} does not undo {_name(self.compress)}")
        return packed


def rules_of_policy(policy: Policy) -> tuple[CompressionRule, ...]:
    """Return the rules of a policy.

    Raises TypeError for an invalid policy, ValueError for an unknown
    decompressor or a function without partner.
    """
    if policy is None or policy is False:
        return ()
    if policy is True:
        return (_rule(zlib.compress),)
    if isinstance(policy, str) and policy == DEFAULT:
        return (_rule({"minsize": SMALLEST, "types": [bool, np.bool_, np.integer], "pair": zlib.compress}),)
    if isinstance(policy, list | tuple) and not isinstance(policy, CompressionRule) and not _is_pair(policy):
        return tuple(_rule(rule) for rule in policy)
    return (_rule(policy),)


def find_rule(rules: Iterable[CompressionRule], array: NDArray[Any], context: str) -> CompressionRule | None:
    """Return the first rule that compresses an array (any shape), by its bytes, dtype and context, or None."""
    return next((rule for rule in rules if rule.applies(array, context)), None)


def _rule(rule: Any) -> CompressionRule:
    """Return the rule for a user's rule, mapping with `pair`, function, or pair. Raises TypeError."""
    if isinstance(rule, CompressionRule):
        return rule
    if not isinstance(rule, Mapping):
        return CompressionRule(*_pair(rule, foreign=False))
    unknown = [name for name in rule if name not in _MEMBERS]
    if unknown or "pair" not in rule:
        raise TypeError(
            f"{unknown[0]!r} is not a member of a rule" if unknown else "a rule for compression lacks its `pair`"
        )
    minsize = rule.get("minsize", 0)
    if isinstance(minsize, bool) or not isinstance(minsize, int | float) or not minsize >= 0:
        raise TypeError(f"{minsize!r}: `minsize` must be a number of bytes")
    types = rule.get("types", object)
    types = tuple(types) if isinstance(types, list | tuple | set | frozenset) else (types,)
    if not all(isinstance(kind, type) for kind in types):
        raise TypeError("`types` of a rule must be classes, such as numpy.integer")
    contexts = rule.get("contexts", "*")
    contexts = tuple(contexts) if isinstance(contexts, list | tuple | set | frozenset) else (contexts,)
    if not all(isinstance(context, str) for context in contexts):
        raise TypeError("`contexts` of a rule must be patterns, such as '*.counts'")
    return CompressionRule(*_pair(rule["pair"], foreign=bool(rule.get("foreign"))), minsize, types, contexts)


def _is_pair(candidate: Any) -> bool:
    """Return whether a value is a function and its inverse's name, not a list of two rules."""
    if len(candidate) != 2 or not callable(candidate[0]) or not isinstance(candidate[1], list | tuple):
        return False
    return all(isinstance(word, str) for word in candidate[1])


def _pair(candidate: Any, *, foreign: bool) -> tuple[Compress, tuple[str, ...]]:
    """Return a compressor and the dotted name of its decompressor in parts; `foreign`: readers need not know it."""
    if isinstance(candidate, list | tuple) and _is_pair(candidate):
        compress, decompress = candidate[0], tuple(candidate[1])
    elif callable(candidate):
        compress, decompress = candidate, _partner(candidate)
    else:
        raise TypeError(f"{candidate!r} is not a function, pair or rule for compression")
    if len(decompress) < 2:
        raise TypeError(f"{decompress!r}: a decompressor is given by the name of its module and its own name")
    if decompress not in READERS and not foreign:
        names = ", ".join(sorted(".".join(reader) for reader in READERS))
        text = f"readers do not know {'.'.join(decompress)}; they know {names} (a rule with `foreign` accepts any name)"
        raise ValueError(text)
    return compress, decompress


def _partner(compress: Compress) -> tuple[str, ...]:
    """Return the dotted name, in parts, of the decompressor that belongs to a compressor. Raises ValueError."""
    try:
        inverse = partner.get(compress)
    except TypeError:  # a callable that has no hash
        inverse = None
    lz4 = sys.modules.get("lz4.block")
    if inverse is None and lz4 is not None and compress is getattr(lz4, "compress", None):
        return ("lz4.block", "decompress")
    if inverse is None:
        text = f"{_name(compress)} has no known inverse: give a pair, the function and the name of its inverse"
        raise ValueError(text)
    return inverse


def _undoes(inverse: Callable[[bytes], bytes], packed: bytes, plain: bytes) -> bool:
    try:
        return inverse(packed) == plain
    except (zlib.error, lzma.LZMAError, EOFError):
        return False


def _name(of: Compress) -> str:
    return str(getattr(of, "__qualname__", None) or type(of).__qualname__)
