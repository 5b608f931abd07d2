"""Text of a reference document with other documents of its store, other keys, and without removed nodes.

The text keeps its spaces, the order of its members, and all references that are
not concerned.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nczarr.formats.reference.target import text_of
from nczarr.plugins.edit.patches.documents import DocumentPatch
from nczarr.plugins.edit.patches.file_patch import BytePatch, FilePatch
from nczarr.stores.folder_moves import move_key

STYLES: tuple[dict[str, Any], ...] = tuple(
    {"separators": separators, "indent": indent, "ensure_ascii": ascii_only}
    for ascii_only in (True, False)
    for separators, indent in (
        ((",", ":"), None), ((", ", ": "), None), ((",", ": "), 1), ((",", ": "), 2), ((",", ": "), 4), ((",", ":"), 0)
    )
)  # fmt: skip
"""Ways of writing JSON that programs have; the first is ours."""


class UnchangeableTextError(ValueError):
    """A document whose text cannot be changed as a patch asks for."""


def patch_text(path: str, patch: DocumentPatch, removed: Sequence[str]) -> FilePatch:
    """Return the new bytes of a document. `removed`: key prefixes of nodes whose references go.

    Raises UnchangeableTextError, OSError.
    """
    with open(path, "rb") as file:
        data = file.read()
    try:
        document = json.loads(data, object_pairs_hook=_refuse_repeated)
    except (ValueError, RecursionError) as error:
        raise UnchangeableTextError(f"its text is not plain JSON: {error}") from None
    write = _find_style(data, document)
    if "version" in document:
        document = {**document, "refs": _change(document.get("refs", {}), patch, removed, document)}
    else:
        document = _change(document, patch, removed, {})
    new = write(document)
    if new == data:
        return FilePatch((), len(data), len(data))
    first = next((at for at, pair in enumerate(zip(data, new, strict=False)) if pair[0] != pair[1]), None)
    first = min(len(data), len(new)) if first is None else first
    return FilePatch((BytePatch(first, data[first:], new[first:]),), len(data), len(new))


def _refuse_repeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the members of an object. Raises ValueError for repeated ones, of which one would be lost."""
    members = dict(pairs)
    if len(members) < len(pairs):
        raise ValueError("a member stands twice")
    return members


def _find_style(data: bytes, document: Any) -> Callable[[Any], bytes]:
    """Return the function that wrote a text; ours if none of the usual ways gives it."""
    end = data[len(data.rstrip()) :]
    head = data[: len(data) - len(data.lstrip())]

    def write(style: Mapping[str, Any], value: Any) -> bytes:
        return head + json.dumps(value, **style).encode("utf-8", "surrogatepass") + end

    style = next((style for style in STYLES if write(style, document) == data), STYLES[0])
    return lambda value: write(style, value)


def _change(
    refs: Mapping[str, Any], patch: DocumentPatch, removed: Sequence[str], document: Mapping[str, Any]
) -> dict[str, Any]:
    """Return references with the documents of a patch and under their new keys. Raises UnchangeableTextError."""
    if patch.moves and document.get("gen"):
        raise UnchangeableTextError("its generators make keys by rules, which no new name fits into")
    changed = {move_key(key, patch.moves): value for key, value in refs.items()}
    gone = tuple(f"{prefix}/" for prefix in removed)
    changed = {key: value for key, value in changed.items() if not (gone and key.startswith(gone))}
    for key, data in patch.after.items():
        if data is None:
            changed.pop(key, None)
            continue
        text = text_of(data)
        if document.get("templates") and "{{" in text:
            raise UnchangeableTextError(f"the text of `{key}` would be taken for a template")
        changed[key] = json.loads(data) if isinstance(changed.get(key), dict) else text
    return changed
