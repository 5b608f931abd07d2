"""Names that plugins add to `nczarr.refs`, for type checkers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nczarr.api.combine import append as append  # noqa: TC004
    from nczarr.api.combine import combine as combine  # noqa: TC004

    __all__ = ["append", "combine"]
