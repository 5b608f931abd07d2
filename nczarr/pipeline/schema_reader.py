"""`SchemaReader`: how a plugin reads the schemas of `compile`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from nczarr.options import Option

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.options import Options
    from nczarr.semantics.checked import Checked


class SchemaReader(NamedTuple):
    """Reader of several schemas as one, and its options."""

    options: tuple[Option, ...]
    """Rows of its options; the first one takes the definitions."""
    read: Callable[[Sequence[str], Sequence[str], Report, Options], Checked | None]
    """Returns the dataset of paths and definitions; None after a reported error. Raises OSError."""
