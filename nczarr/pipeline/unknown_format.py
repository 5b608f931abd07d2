"""Message about a source in a format that cannot be read, with what may help."""

from nczarr import registry
from nczarr.diagnostics.report import HEAD, Report, Source
from nczarr.names import list_first, plugin_index
from nczarr.stores.base import ROOT_KEYS, Store


def report_unknown_format(source: Source | Store, report: Report) -> None:
    """Report unknown-format for a file or store."""
    readable = ", ".join(row.name for row in registry.formats() if row.readable)
    helps = [f"formats that can be read: {readable}; CDL starts with `netcdf`"]
    head = bytes(source.data[:HEAD]) if isinstance(source, Source) else b""
    if isinstance(source, Source) and not head:
        helps = ["the file is empty"]
    elif hints := _find_hints(head):
        helps = hints
    elif not isinstance(source, Source) and (inner := _find_inner_stores(source)):
        helps = [f"it contains stores: {list_first(inner, 5)}; name one of them"]
    elif not isinstance(source, Source) and source.listed and (files := source.children("")):
        helps = [f"it is a folder and no store: name its files, such as `{source.path}/{files[0]}`"]
    name = source.name if isinstance(source, Source) else source.path
    notes = [*plugin_index.list_faults(), *registry.list_faults()]
    report.error("unknown-format", f"`{name}` is not in a format that can be read", notes=notes, helps=helps)


def _find_hints(head: bytes) -> list[str]:
    """Return what plugins know of a file with these first bytes."""
    hints = (registry.load(place)(head) for place in plugin_index.list_own("hint").values()) if head else ()
    return [hint for hint in hints if hint is not None]


def _find_inner_stores(store: Store) -> list[str]:
    """Return the paths of stores below a folder that is not a store. Raises OSError."""
    paths: list[str] = []
    waiting = [""] if store.listed else []
    for prefix in waiting:
        children = store.children(prefix)
        if prefix and not set(ROOT_KEYS).isdisjoint(children):
            paths.append(prefix.rstrip("/"))
        elif prefix.count("/") < _DEEPEST_INNER:
            waiting += [f"{prefix}{child}/" for child in children[: _MOST_FOLDERS - len(waiting)]]
    return paths


_DEEPEST_INNER, _MOST_FOLDERS = 4, 500
"""Limits of the search for stores in a folder."""
