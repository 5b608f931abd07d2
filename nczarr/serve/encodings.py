"""Access to ncstream and NcML bytes, through the public modules of the package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nczarr.check.checked import Checked

Wanted = Sequence[tuple[str, tuple[range, ...]]]
"""Variables by FQN with an index range per dimension."""


def header(checked: Checked, location: str) -> bytes:
    """Return the answer to `req=header`. Raises CompileError."""
    from nczarr import ncstream

    return ncstream.header_message(checked, location=location)


def data(checked: Checked, wanted: Wanted, deflate: int | None) -> Iterator[bytes]:
    """Yield the answer to `req=data` in pieces. Raises CompileError, OSError."""
    from nczarr import ncstream

    return ncstream.data_messages(checked, wanted, deflate=deflate)


def is_sequence(checked: Checked, fqn: str) -> bool:
    """Return whether clients see a variable as a sequence, which has no sections."""
    from nczarr import ncstream

    return ncstream.is_sequence(checked, fqn)


def ncml(checked: Checked, location: str) -> str:
    """Return the answer to `req=NcML`. Raises CompileError."""
    from nczarr.serve import ncml as door

    return door.text(checked, location)
