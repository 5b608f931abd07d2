"""Names that editors are given, against the tree that the parser makes of the same text."""

from __future__ import annotations

from pathlib import Path

import pytest

from nczarr import names, registry
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.endpoints import detect_format
from nczarr.semantics.checked import Checked
from tests.conftest import ROOT

SAMPLES = sorted(
    [*(ROOT / "samples").glob("*.cdl"), *(ROOT / "samples").glob("*.ncz"), *(ROOT / "tests" / "golden").glob("*.ncz")]
)


def compare(path: Path) -> bool:
    """Compare names and places of a valid text with its tree; False for other texts."""
    source = Source(str(path), path.read_bytes())
    form = detect_format(source)
    if form is None or form.language is None:
        return False
    text_map = registry.load(form.language).read(source)
    checked = phases.read(source, Report(), Options(), form)
    if checked is None:
        return False
    declared = {
        (mention.role, names.join(mention.scope, mention.name), mention.start, mention.end)
        for mention in text_map.mentions
        if mention.extent is not None and mention.role in ("group", "type", "dimension", "variable")
    }
    assert declared == set(list_declarations(checked)), path
    attributes = {(mention.name, mention.start) for mention in text_map.mentions if mention.role == "attribute"}
    owners = [owner for group in checked.groups.values() for owner in (group, *group.variables)]
    assert {(one.name, one.span.start) for owner in owners for one in owner.attributes} <= attributes, path
    axes = [
        (mention.owner, mention.name) for mention in text_map.mentions if mention.role == "dimension" and mention.owner
    ]
    used = [(variable.name, axis) for variable in checked.variables.values() for axis in variable.dimensions]
    assert len(axes) == sum(isinstance(axis, str) for _, axis in used), path
    for mention in text_map.mentions:
        assert mention.start < mention.end <= len(source.data)
        if mention.extent is not None:
            assert mention.extent[0] <= mention.start < mention.end <= mention.extent[1], (path, mention)
    return True


def list_declarations(checked: Checked) -> list[tuple[str, str, int, int]]:
    tables = {
        "group": checked.groups, "type": checked.types, "dimension": checked.dimensions, "variable": checked.variables,
    }  # fmt: skip
    return [
        (kind, path, node.span.start, node.span.end)
        for kind, table in tables.items()
        for path, node in table.items()  # type: ignore[attr-defined]
        if path != "/"
    ]


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.name)
def test_names_of_samples_are_those_of_the_tree(path: Path) -> None:
    assert compare(path) or path.name.startswith("bad")


@pytest.mark.slow
def test_names_of_the_corpus_are_those_of_the_tree(shared: Path) -> None:
    compared = sum(map(compare, sorted((shared / "data").rglob("*.cdl"))))
    assert compared > 500
