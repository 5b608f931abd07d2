"""Print what the playground makes of schemas as JSON: `python playground_outputs.py small|real FILE…`.

`small` takes the numbers of the playground instead of NumPy, and no package that is missing in a browser.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

ASKED = (
    ("nczarr", "ast", "c"),
    ("nczarr", "keys", "python-zarr"),
    ("zarr3", "keys", "fortran"),
    ("zarr2", "plan", "markdown"),
    ("zarr3", "analysed", "typescript"),
)
MISSING = ("numcodecs", "zlib_ng", "google_crc32c", "lark")


class _Absent:
    """Import of packages that no browser has."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] in MISSING:
            raise ImportError(f"{name} is not in the playground", name=name)


def main(numbers: str, paths: list[str]) -> None:
    """Print an object of results by file, format, emission and language."""
    sys.path.insert(0, str(Path(__file__).parents[2] / "docs" / "_tools" / "playground"))
    if numbers == "small":
        import small_numpy  # type: ignore[import-not-found]

        sys.modules["numpy"] = small_numpy
        sys.meta_path.insert(0, _Absent())  # type: ignore[arg-type]
    from compile_in_browser import compile_text  # type: ignore[import-not-found]

    results = {}
    for path in paths:
        text = Path(path).read_bytes().decode("utf-8", "surrogateescape")
        for asked in ASKED:
            results[" ".join((path, *asked))] = compile_text(text, *asked)
    json.dump(results, sys.stdout)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
