"""The examples of the text of CF 1.13: `check --cf` finds no error in them but the text's own slips."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

from nczarr.diagnostics.report import Report, Severity, Source
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.plugins.cf.check import check_cf
from nczarr.semantics.checked import Checked

SLIPS = {
    "/humidity": "the standard name `specific humidity` has a blank",
    "/trajectory": "section 2.5 forbids texts with the name of their dimension; Appendix H has one",
    "/fragment_map_time": "time names the fragments of another variable",
    "the aggregation variable": "section 2.8 demands scalars",
    "`station_name`, which does not exist": "the example omits the variable",
    "`missing_value` of `/Temperature`": "the value is written as a double",
}
"""Parts of messages about examples that break the rules, and how."""


def examples(folder: Path) -> Iterator[str]:
    """Each example with dimensions and variables, as CDL with the characters and semicolons that the text lacks."""
    for path in sorted(folder.glob("*.adoc")):
        for block in re.findall(r"^----\n(.*?)^----", path.read_text(encoding="utf-8-sig"), re.DOTALL | re.MULTILINE):
            if "dimensions:" not in block or "variables:" not in block:
                continue
            text = block.split("data:")[0].replace("\xa0", " ").replace("“", '"').replace("”", '"')
            text = re.sub(r"^\s*\.\.\.\s*;?.*$", "", text, flags=re.MULTILINE).replace("attributes:", "// global")
            for statement in (r"\s*\w*:\w+\s*=\s*\"[^\"]*\"", r"\s*\w+\s*=\s*\d+", r"\s*(?:double|float|int)\s+\w+"):
                text = re.sub(rf"^({statement})\s*(//.*)?$", r"\1 ;", text, flags=re.MULTILINE)
            text = text.rstrip().rstrip("}")
            yield (text if text.lstrip().startswith("netcdf") else "netcdf example {\n" + text) + "\n}"


def read(text: str) -> Checked | None:
    """The dataset of an example, with the dimensions that it does not declare; None for a fragment."""
    for _ in range(8):
        report = Report()
        checked = phases.read(Source("example.cdl", text.encode()), report, Options())
        if checked is not None:
            return checked
        names = {
            re.findall(r"`(\w+)`", one.message)[0] for one in report.list_sorted() if one.code == "undefined-dimension"
        }
        if not names:
            return None
        declared = "".join(f"{name} = {2 if name == 'two' else 3} ; " for name in sorted(names))
        text = text.replace("dimensions:", f"dimensions: {declared}", 1)
    return None


def test_examples_of_the_text(shared: Path, peer: Callable[[str], ModuleType]) -> None:
    peer("cf_units")
    datasets = [checked for text in examples(shared / "specs" / "cf" / "1.13") if (checked := read(text)) is not None]
    assert len(datasets) > 60
    found = []
    for checked in datasets:
        report = Report()
        check_cf(checked, (1, 13), report)
        found += [one.message for one in report.list_sorted() if one.severity is Severity.ERROR]
    found = [message for message in found if "no attribute `Conventions`" not in message]
    assert [message for message in found if not any(part in message for part in SLIPS)] == []
