"""The one place where the server asks for bytes of ncstream and for NcML, which public doors of the package make."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nczarr.check.checked import Checked

Wanted = Sequence[tuple[str, tuple[range, ...]]]
"""Variables by FQN, each with the indices that are wanted along its dimensions."""


def header(checked: Checked, location: str) -> bytes:
    """The answer to `req=header`. Raises CompileError."""
    from nczarr import ncstream

    return ncstream.header_message(checked, location=location)


def data(checked: Checked, wanted: Wanted, deflate: int | None) -> Iterator[bytes]:
    """The answer to `req=data`, piece by piece. Raises CompileError, OSError."""
    from nczarr import ncstream

    return ncstream.data_messages(checked, wanted, deflate=deflate)


def is_sequence(checked: Checked, fqn: str) -> bool:
    """Whether clients see a variable as a sequence, of which no section can be had."""
    from nczarr import ncstream

    return ncstream.is_sequence(checked, fqn)


def ncml(checked: Checked, location: str) -> str:
    """The answer to `req=NcML`. Raises CompileError."""
    from nczarr.serve import ncml as door

    return door.text(checked, location)
