"""Identifiers of programs for names of netCDF, which may have any character.

`UniqueIdentifiers` makes one for each node, so that no two are equal and none is a word of the language.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable

NO_MACROS = re.compile(r"(?!)")
"""Pattern that matches nothing."""


class UniqueIdentifiers:
    """Identifiers of a program.

    `reserved`: words that none may be; `macros`: beginnings that none may have; `same_case`: differ by more than case.
    """

    def __init__(
        self,
        reserved: Iterable[str] = (),
        *,
        macros: re.Pattern[str] = NO_MACROS,
        same_case: bool = False,
        longest: int = 200,
    ) -> None:
        self._longest = longest
        self._macros = macros
        self._fold: Callable[[str], str] = str.lower if same_case else str
        self._taken = {self._fold(word) for word in reserved}

    def make(self, *parts: str) -> str:
        """Return a new identifier like some names, joined by underscores."""
        words = [re.sub(r"[^A-Za-z0-9_]+", "_", _in_ascii(part)) for part in parts if part]
        word = "_".join(filter(None, words)).strip("_") or "x"
        word = re.sub(r"_{2,}", "_", word)[: self._longest]
        if word[0].isdigit():
            word = f"n{word}"
        if self._macros.match(word):
            word = f"x_{word}"
        found, number = word, 2
        while self._fold(found) in self._taken:
            found, number = f"{word}_{number}", number + 1
        self._taken.add(self._fold(found))
        return found


def _in_ascii(text: str) -> str:
    """Return a text without accents: `Höhe` becomes `Hohe`."""
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode() or "x"


def write_camel(identifier: str) -> str:
    """Return an identifier as names of classes are written: `sea_level` becomes `SeaLevel`."""
    return "".join(part[:1].upper() + part[1:] for part in identifier.split("_")) or "X"
