"""Names of variables and dimensions as the attribute `_nczarr_names` tells them: `g_v` is `g%2fv`.

Our server writes it where identifiers do not tell the FQNs.
"""

from __future__ import annotations

from nczarr import names
from nczarr.formats.opendap.dap2.read.parse import DasEntry
from nczarr.formats.opendap.dap2.read.tree import Tree, TreeVariable
from nczarr.formats.opendap.dap2.spelling import NAMES


def restore_names(tree: Tree, unlimited: set[str]) -> set[str]:
    """Rename variables and dimensions; return the new names of unlimited dimensions.

    A name that another variable or dimension has changes nothing.
    """
    renamed: dict[str, str | None] = {}
    variables = set(tree.variables)
    for variable in tree.variables.values():
        flat = _flat_names(variable)
        if flat is None:
            continue
        del variable.attributes[NAMES]
        if flat[0] and flat[0] not in variables:
            variable.name = flat[0]
            variables.add(variable.name)
        for dimension, name in zip(variable.dimensions, flat[1:], strict=True):
            if isinstance(dimension, str):
                renamed.setdefault(names.split(dimension)[0], name)
    tree.variables = {variable.name: variable for variable in tree.variables.values()}
    _rename_dimensions(tree, renamed)
    return {renamed.get(name, name) or name for name in unlimited}


def container_name(entry: DasEntry) -> tuple[str, DasEntry]:
    """Return the name of a container of a group, and the container without the attribute that tells it."""
    text = next((inner.values for inner in entry.entries if inner.name == NAMES), ())
    flat = _flat(text[0]) if len(text) == 1 else None
    if not flat:
        return entry.name, entry
    return flat, entry._replace(entries=tuple(inner for inner in entry.entries if inner.name != NAMES))


def _rename_dimensions(tree: Tree, renamed: dict[str, str | None]) -> None:
    """Rename dimensions; None: anonymous."""
    taken = set(tree.dimensions)
    for old, name in renamed.items():
        if name is not None and name != old:
            renamed[old] = old if name in taken else name
            taken.add(name)
    lengths = tree.dimensions
    for variable in tree.variables.values():
        variable.dimensions = tuple(
            dimension if isinstance(dimension, int) else _dimension(names.split(dimension)[0], renamed, lengths)
            for dimension in variable.dimensions
        )
    pairs = ((renamed.get(old, old), length) for old, length in lengths.items())
    tree.dimensions = {name: length for name, length in pairs if name is not None}


def _dimension(name: str, renamed: dict[str, str | None], lengths: dict[str, int]) -> str | int:
    """Return the FQN of a dimension after renaming, the length of an anonymous one."""
    new = renamed.get(name, name)
    return lengths[name] if new is None else names.join("/", new)


def _flat_names(variable: TreeVariable) -> list[str | None] | None:
    """Return the names of a variable and its dimensions, None for anonymous ones; None without a valid attribute."""
    attribute = variable.attributes.get(NAMES)
    if attribute is None:
        return None
    data = attribute.value.data
    texts = [text or b"" for text in data] if isinstance(data, tuple) else [data]
    if len(texts) != 1 + len(variable.dimensions) or not all(isinstance(text, bytes) for text in texts):
        return None
    flat_names = [_flat(text.decode("utf-8", "surrogateescape")) for text in texts if isinstance(text, bytes)]
    return None if None in flat_names else [name or None for name in flat_names]


def _flat(fqn: str) -> str | None:
    """Return the name without groups of a FQN, an empty one for an empty text; None for other texts."""
    if not fqn:
        return ""
    try:
        name = names.normal("%2f".join(names.split(fqn)))
    except ValueError:
        return None
    return name if names.problem(name) is None else None
