"""The first look at every file that is opened: most are no containers, and load nothing else of this plugin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nczarr.plugins.downloads.kinds import find_kind

if TYPE_CHECKING:
    from nczarr.sdk import Source, Store


def open_container(head: bytes, path: str, name: str) -> Source | Store | None:
    """Open a compressed file or archive; None for other first bytes. Raises CompileError, OSError."""
    if find_kind(head) is None:
        return None
    from nczarr.plugins.downloads.open import open_file

    return open_file(head, path, name)
