"""Dates in the names of files, by the patterns of `dateFormatMark`: those of Java's `SimpleDateFormat`."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from datetime import datetime, timedelta

MARK = "#"
"""Character between the text that is skipped and the pattern."""

_DIGITS = "yMdDHmsS"
_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()


def read_date(name: str, pattern: str) -> datetime:
    """Return the date in a file name. Raises ValueError for an invalid pattern, and for another name.

    As many characters are skipped as are before the mark; what is behind the date is ignored.
    """
    skipped, mark, date = pattern.partition(MARK)
    if not mark:
        raise ValueError(f"the pattern `{pattern[:80]}` has no `{MARK}` before the date")
    fields = list(_list_fields(date.partition(MARK)[0]))
    match = re.match("".join(expression for _, expression in fields), name[len(skipped) :], re.ASCII | re.IGNORECASE)
    if match is None or not any(letter for letter, _ in fields):
        raise ValueError(f"the name `{name[:80]}` has no date as `{pattern[:80]}`")
    texts = dict(zip((letter for letter, _ in fields if letter), match.groups(), strict=True))
    numbers = {letter: _number(letter, text) for letter, text in texts.items()}
    year = numbers.get("y", 1970)
    if len(texts.get("y", "")) == 2:
        year += 2000 if year < 70 else 1900
    try:
        return datetime(
            year,
            1 if "D" in numbers else numbers.get("M", 1),
            1 if "D" in numbers else numbers.get("d", 1),
            numbers.get("H", 0),
            numbers.get("m", 0),
            numbers.get("s", 0),
            numbers.get("S", 0) * 1000,
        ) + timedelta(numbers.get("D", 1) - 1)
    except (ValueError, OverflowError) as error:
        raise ValueError(f"the name `{name[:80]}` has no valid date: {error}") from None


def _number(letter: str, text: str) -> int:
    return int(text) if text.isdecimal() else _MONTHS.index(text[:3].lower()) + 1


def _list_fields(pattern: str) -> Iterator[tuple[str, str]]:
    """Yield each field with its expression; a literal has no letter. Raises ValueError for other letters."""
    seen = set()
    for number, piece in enumerate(pattern.split("'")):
        if number % 2:
            yield "", re.escape(piece or "'")
            continue
        for character, run in itertools.groupby(piece):
            length = len(list(run))
            if not (character.isascii() and character.isalpha()):
                yield "", re.escape(character * length)
                continue
            if character not in _DIGITS or character in seen:
                raise ValueError(f"`{character}` in the pattern `{pattern[:80]}` is no field of a date, or is repeated")
            seen.add(character)
            if character == "M" and length > 2:
                yield character, f"({'|'.join(_MONTHS)})[a-z]*" if length > 3 else f"({'|'.join(_MONTHS)})"
            else:
                yield character, rf"(\d{{{min(length, 9)}}})" if length > 1 else r"(\d{1,4})"


def write_date(date: datetime) -> str:
    """Return a date as text of ISO 8601 in UTC."""
    return date.isoformat(timespec="milliseconds" if date.microsecond else "seconds") + "Z"
