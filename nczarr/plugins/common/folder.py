"""Files of a generated product, written into a folder: all of them, or none."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from nczarr.sdk import Report, show, write_product


def write_files(folder: Path, files: Mapping[str, bytes], report: Report, *, overwrite: bool) -> None:
    """Write files by name, which may have folders, and print their paths. Reports target-exists. Raises OSError.

    Every file is complete before the first one takes its place; if one cannot, those before it are put back.
    """
    taken = [name for name in files if os.path.lexists(folder / name)]
    if taken and not overwrite:
        text = f"`{show(str(folder / taken[0]))}` exists"
        report.error("target-exists", text, helps=["`--overwrite` replaces the files of the program"])
        return
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".nczarr-") as work:
        new, old = Path(work, "new"), Path(work, "old")
        for name, data in files.items():
            (new / name).parent.mkdir(parents=True, exist_ok=True)
            (new / name).write_bytes(data)
        _move(files, new, folder, old)
    write_product(f"{folder / name}\n".encode("utf-8", "surrogateescape") for name in files)


def _move(names: Mapping[str, bytes], new: Path, folder: Path, old: Path) -> None:
    """Move files to their places, and what is there to `old`; undo it after a failure."""
    moved: list[tuple[Path, Path]] = []
    try:
        for name in names:
            target = folder / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if os.path.lexists(target):
                (old / name).parent.mkdir(parents=True, exist_ok=True)
                os.rename(target, old / name)
                moved.append((old / name, target))
            os.rename(new / name, target)
            moved.append((target, new / name))
    except OSError:
        for source, target in reversed(moved):
            os.rename(source, target)
        raise
