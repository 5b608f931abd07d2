"""2.6.2 Description of file contents."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import CFDataset, CFVariable

R = Rules("cf-description", "2.6.2")

TEXTS = ("title", "history", "institution", "source", "references", "comment")

RULES = (
    R.must("text", "`title`, `history`, `institution`, `source`, `references` and `comment` are texts.",
        ':title = «1|"one"» ;', "write a text"),
    R.should("global", "`title` and `history` are attributes of the dataset or of groups.",
        'float v ; «v|»:title = "t" ;', "move it to the dataset", since=(1, 8)),
)  # fmt: skip


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


TOPIC = Topic(RULES, find)
