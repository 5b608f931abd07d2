"""2.6.2 Description of file contents."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset, CFVariable

TEXTS = ("title", "history", "institution", "source", "references", "comment")


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find descriptions that are no texts, or stand at a variable."""
    for owner in dataset.owners:
        for name in TEXTS:
            node = owner.attributes.get(name)
            if node is None:
                continue
            if owner.kind(name) != "text":
                yield Breach("text", f"attribute `{name}` of `{owner.path}` is not a text", node)
            if isinstance(owner, CFVariable) and name in ("title", "history"):
                yield Breach("global", f"`{owner.path}` has the attribute `{name}`", node)


TOPIC = Topic(load_rules("description"), find)
