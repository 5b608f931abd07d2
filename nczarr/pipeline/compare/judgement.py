"""`DiffJudgement`: what a plugin says about two datasets instead of their differences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.options import Option

if TYPE_CHECKING:
    from nczarr.semantics.checked import Checked


class DiffJudgement(NamedTuple):
    """A judgement of `diff`, by the first of its options."""

    options: tuple[Option, ...]
    """Rows of its options: first the one that asks for it, then those that belong to it."""
    judge: Callable[[tuple[Checked, Checked], tuple[str, str], Mapping[str, Any], str], tuple[Iterator[str], int]]
    """Function of two datasets, their names, the values of the options, and `--message-format`.

    It returns the lines to print, and how many of them make the status 1.
    """
