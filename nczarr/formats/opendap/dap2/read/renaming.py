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
    for made in tree.variables.values():
        flat = _flat_names(made)
        if flat is None:
            continue
        del made.attributes[NAMES]
        if flat[0] and flat[0] not in variables:
            made.name = flat[0]
            variables.add(made.name)
        for dimension, name in zip(made.dimensions, flat[1:], strict=True):
            if isinstance(dimension, str):
                renamed.setdefault(names.split(dimension)[0], name)
    tree.variables = {made.name: made for made in tree.variables.values()}
    _rename_dimensions(tree, renamed)
    return {renamed.get(each, each) or each for each in unlimited}


def container_name(entry: DasEntry) -> tuple[str, DasEntry]:
    """Return the name of a container of a group, and the container without the attribute that tells it."""
    text = next((each.values for each in entry.entries if each.name == NAMES), ())
    flat = _flat(text[0]) if len(text) == 1 else None
    if not flat:
        return entry.name, entry
    return flat, entry._replace(entries=tuple(each for each in entry.entries if each.name != NAMES))


def _rename_dimensions(tree: Tree, renamed: dict[str, str | None]) -> None:
    """Rename dimensions; None: anonymous."""
    taken = set(tree.dimensions)
    for old, name in renamed.items():
        if name is not None and name != old:
            renamed[old] = old if name in taken else name
            taken.add(name)
    lengths = tree.dimensions
    for made in tree.variables.values():
        made.dimensions = tuple(
            each if isinstance(each, int) else _dimension(names.split(each)[0], renamed, lengths)
            for each in made.dimensions
        )
    pairs = ((renamed.get(old, old), length) for old, length in lengths.items())
    tree.dimensions = {name: length for name, length in pairs if name is not None}


def _dimension(name: str, renamed: dict[str, str | None], lengths: dict[str, int]) -> str | int:
    """Return the FQN of a dimension after renaming, the length of an anonymous one."""
    new = renamed.get(name, name)
    return lengths[name] if new is None else names.join("/", new)


def _flat_names(made: TreeVariable) -> list[str | None] | None:
    """Return the names of a variable and its dimensions, None for anonymous ones; None without a valid attribute."""
    attribute = made.attributes.get(NAMES)
    if attribute is None:
        return None
    data = attribute.value.data
    texts = [each or b"" for each in data] if isinstance(data, tuple) else [data]
    if len(texts) != 1 + len(made.dimensions) or not all(isinstance(each, bytes) for each in texts):
        return None
    found = [_flat(each.decode("utf-8", "surrogateescape")) for each in texts if isinstance(each, bytes)]
    return None if None in found else [each or None for each in found]


def _flat(fqn: str) -> str | None:
    """Return the name without groups of a FQN, an empty one for an empty text; None for other texts."""
    if not fqn:
        return ""
    try:
        name = names.normal("%2f".join(names.split(fqn)))
    except ValueError:
        return None
    return name if names.problem(name) is None else None
