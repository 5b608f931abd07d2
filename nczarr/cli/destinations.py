"""Destinations of `convert`.

With one source, DST is the target. With several, DST is a folder, created if
missing. Each target gets its source's name with the suffix of the format: of
`--to`, else `.zarr` for files and texts, `.nc` for stores. Two targets of one
name are an error before anything is written.
"""

from __future__ import annotations

import os

from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import StorageOptions, shown
from nczarr.stores.url import is_remote

STORE, FILE = ".zarr", ".nc"
"""Suffixes of targets of files and texts, and of stores."""


def destinations(
    sources: list[str], target: str, to: str | None, storage: StorageOptions, report: Report
) -> dict[str, str] | None:
    """Return the target of each source; None after an error."""
    if len(sources) == 1:
        return {sources[0]: target}
    if not is_remote(target) and os.path.lexists(target) and not os.path.isdir(target):
        report.error("target-exists", f"`{target}` is not a folder", helps=["several sources need a folder as target"])
        return None
    suffix = _suffix_of(to, report) if to else None
    if report.errors:
        return None
    targets: dict[str, str] = {}
    homes: dict[str, str] = {}
    for source in sources:
        path = _inside(target, _stem(source) + (suffix or _suffix_for(source, storage)))
        if path in homes:
            report.error(
                "clashing-targets",
                f"`{shown(homes[path])}` and `{shown(source)}` would both be written to `{shown(path)}`",
                helps=["convert one of them separately, to another name"],
            )
        homes.setdefault(path, source)
        targets[source] = path
    return targets if not report.errors else None


def _inside(folder: str, name: str) -> str:
    """Return the path or URL of a name in a folder; URL modes remain at the end."""
    if not is_remote(folder):
        return os.path.join(folder, name)
    url, mark, modes = folder.rpartition("#mode=")
    return f"{url.rstrip('/')}/{name}{mark}{modes}" if mark else f"{folder.rstrip('/')}/{name}"


def _suffix_of(name: str, report: Report) -> str:
    """Return the suffix of a named format."""
    from nczarr.operations import targets

    form = targets.target_format("", name, report)
    if form is None:
        return ""
    return STORE if form.emit else form.suffixes[0] if form.suffixes else FILE


def _suffix_for(source: str, storage: StorageOptions) -> str:
    """Return the default suffix of a source's target."""
    from nczarr.stores.open import is_store

    return FILE if source != "-" and is_store(source, storage.of("source")) else STORE


def _stem(source: str) -> str:
    """Return the name of a source without folder and format suffix."""
    from nczarr import registry
    from nczarr.stores.url import BadURLError, location

    if source == "-":
        return "stdin"
    try:
        place = location(source)
        path = place.repository.place if place.repository else place.path
    except BadURLError:  # told when it is read
        path = source
    name = os.path.basename(path.rstrip("/")) or "root"
    suffixes = [suffix for form in registry.formats() for suffix in form.suffixes]
    longest = max((suffix for suffix in suffixes if name.lower().endswith(suffix)), key=len, default="")
    stem = name[: len(name) - len(longest)] or name
    return stem[: -len(STORE)] if longest == ".zip" and stem.lower().endswith(STORE) and stem != STORE else stem
