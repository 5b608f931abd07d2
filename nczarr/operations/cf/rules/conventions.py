"""2.1 Filename, and 2.6.1 Identification of conventions."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import NEWEST, Breach, Rules, Topic, show_version
from nczarr.operations.cf.view import CFDataset

R = Rules("cf-conventions", "2.6.1")

RULES = (
    Rules("cf-conventions", "2.1").must("suffix", "The name of a netCDF file ends in `.nc`.", "", "rename the file"),
    R.must("text", "`Conventions` is one text of names, separated by blanks or commas.",
        ':Conventions = «1.13|"CF-1.13"» ;', 'write a text such as `"CF-1.8, ACDD-1.3"`'),
    R.must("version", "`Conventions` names the version of CF.", ':Conventions = "«CF|CF-1.13»" ;',
        "name the version, such as `CF-1.8`"),
    R.should("requested", "`Conventions` names the version by which the dataset is checked.",
        ':Conventions = "CF-«1.0|1.13»" ;', "check with `--cf` and the version that the dataset names, from 1.6 on"),
)  # fmt: skip

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


TOPIC = Topic(RULES, find)
