"""2.1 Filename, and 2.6.1 Identification of conventions."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import NEWEST, Breach, Topic, load_rules, show_version
from nczarr.operations.cf.view import CFDataset

KNOWN = frozenset(f"CF-1.{minor}" for minor in range(NEWEST[1] + 1))
"""Names of all versions."""


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find a missing name of the convention."""
    name = dataset.filename
    if name is not None and not name.endswith(".nc"):
        yield Breach("suffix", f"the name of the file, `{name}`, does not end in `.nc`", dataset.checked.dataset)
    node = dataset.root.attributes.get("Conventions")
    expected = f"CF-{show_version(dataset.version)}"
    if node is None:
        yield Breach("version", "the dataset has no attribute `Conventions`", dataset.checked.dataset, "",
                     (f'write `:Conventions = "{expected}"`',))  # fmt: skip
        return
    text = dataset.root.text("Conventions")
    if dataset.root.kind("Conventions") != "text" or not isinstance(dataset.root.value("Conventions"), str):
        yield Breach("text", "`Conventions` is not a single text", node)
        return
    versions = [word for word in list_conventions(text) if word in KNOWN]
    if not versions:
        yield Breach("version", f"`Conventions` is `{text}`, which names no version of CF", node)
    elif expected not in versions:
        what = f"`Conventions` names `{versions[0]}`, and the dataset is checked as `{expected}`"
        yield Breach("requested", what, node, versions[0])


def list_conventions(text: str) -> list[str]:
    """Return the names in an attribute `Conventions`."""
    return text.replace(",", " ").split()


TOPIC = Topic(load_rules("conventions"), find)
