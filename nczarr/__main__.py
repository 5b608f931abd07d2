"""`python -m nczarr` and the command `nczarr`: almost nothing is imported before it is known what is wanted."""

from __future__ import annotations

import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command line (`sys.argv` by default) and return its exit status (DESIGN §4)."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if given == ["--version"]:
        from nczarr import __version__

        sys.stdout.write(f"nczarr {__version__}\n")
        return 0
    from nczarr.cli import run

    return run(given)


if __name__ == "__main__":
    sys.exit(main())
