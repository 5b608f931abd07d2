"""Names that plugins add to `nczarr.refs`, for type checkers."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from nczarr.plugins.combine.api_combine import append as append  # noqa: TC004
    from nczarr.plugins.combine.api_combine import combine as combine  # noqa: TC004

    __all__ = ["append", "combine"]
