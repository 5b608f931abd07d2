"""Figures of `benchmarks/`: rows with scripts, goals and origins, and a table that marks rows older than the code."""

from __future__ import annotations

import ast
import copy
import datetime
import importlib
import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import ROOT
from tests.support.plugins import ABSENT

FOLDER = ROOT / "benchmarks"
SCRIPTS = sorted(path for path in FOLDER.glob("*.py") if "\nMEASURES = " in path.read_text(encoding="utf-8"))
NUMBER = (int, float)

sys.path.insert(0, str(FOLDER))
try:
    report = importlib.import_module("report")
    harness = importlib.import_module("harness")
finally:
    sys.path.remove(str(FOLDER))

ENTRIES: dict[str, dict[str, Any]] = report.read_results(FOLDER)
LINE: dict[str, Any] = {
    "row": "B1", "ratio": 2.0, "spread": [1.9, 2.1], "goal": 2.3, "met": True, "rounds": 5, "date": "2026-12-02",
    "machine": {"cores": 2, "processor": "X, family 1", "system": "Linux x86_64"}, "script": "b1_shards.py",
    "python": {"version": "3.11.7", "optimised": False, "objects_ms": 6.6}, "releases": {"numpy": "2.4.6", "cp": "9.1"},
    "measures": ["stores"], "code": "0" * 12, "peer_seconds": 0.26,
}  # fmt: skip


def test_readme_is_the_report() -> None:
    """The page is what `make bench-report` writes, and shows no row as fresh whose code has changed."""
    lost = {row for row, entry in ENTRIES.items() if _folders(entry) & {f"plugins/{name}" for name in ABSENT}}
    stale = report.find_stale(ENTRIES) - lost
    faults = list(report.find_faults((FOLDER / "README.md").read_text(encoding="utf-8"), ENTRIES, stale))
    assert not faults


def test_results_are_written_in_one_form() -> None:
    """Members are sorted, one a line, so that a difference is that of a row."""
    text = (FOLDER / "results.json").read_text(encoding="utf-8")
    ordered = {row: json.loads(json.dumps(entry, sort_keys=True)) for row, entry in ENTRIES.items()}
    assert text == json.dumps(ordered, indent=2, ensure_ascii=False) + "\n"


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_rows_are_those_of_the_script(script: Path) -> None:
    """Each row that the script prints has an entry, and each of its entries is a row that it prints."""
    rows = [row for row, entry in ENTRIES.items() if entry["script"] == script.name]
    patterns = set(_patterns(script))
    assert patterns
    assert [row for row in rows if not any(re.fullmatch(each, row) for each in patterns)] == []
    assert [each for each in patterns if not any(re.fullmatch(each, row) for row in rows)] == []


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_measured_folders_exist(script: Path) -> None:
    """`MEASURES` names folders of the package."""
    folders = report.read_measures(script)
    assert folders
    assert len(set(folders)) == len(folders)
    for name in folders:
        assert (ROOT / "nczarr" / name).is_dir() or name.removeprefix("plugins/") in ABSENT, name


@pytest.mark.parametrize("row", ENTRIES)
def test_members(row: str) -> None:
    """An entry has its words and figures, and `met` follows from them."""
    entry = ENTRIES[row]
    assert entry.keys() == {"describe", "measured", "script"}
    assert (FOLDER / entry["script"]).is_file()
    assert entry["describe"].keys() == {"compared", "input", "peer"}
    assert all(isinstance(text, str) and "|" not in text for text in entry["describe"].values())
    assert entry["describe"]["input"], "write the words of the row in results.json"
    measured = entry["measured"]
    figure = measured["ratio"] if measured["ratio"] is not None else measured.get("figure")
    assert measured["ratio"] is None or "unit" not in measured
    assert figure is None or isinstance(figure, NUMBER)
    assert measured["goal"] is None or isinstance(measured["goal"], NUMBER)
    spread = measured["spread"]
    if spread is not None:
        least, largest = spread
        assert least <= (least if figure is None else figure) <= largest
    if figure is None and spread is None:
        assert (measured["met"], measured["rounds"], measured["code"]) == (None, None, None)
        return
    assert isinstance(measured["rounds"], int)
    assert measured["met"] is harness.goals_met({**measured, "figure": spread[1]} if figure is None else measured)
    if measured["code"] is not None:
        assert re.fullmatch("[0-9a-f]{12}", measured["code"])
        assert datetime.date.fromisoformat(measured["date"])
        assert measured["machine"].keys() == {"cores", "processor", "system"}
        assert measured["python"].keys() == {"version", "optimised", "objects_ms"}
        assert "numpy" in measured["releases"]
        assert spread is not None
        assert "quick" not in measured


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the scripts and the sources."""
    root = tmp_path_factory.mktemp("scratch")
    shutil.copytree(FOLDER, root / "benchmarks", ignore=shutil.ignore_patterns("__pycache__"))
    for path in (ROOT / "nczarr").rglob("*.py"):
        target = root / path.relative_to(ROOT)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
    return root


@pytest.fixture(scope="module")
def fresh(scratch: Path) -> dict[str, dict[str, Any]]:
    """The entries as if all rows had been measured just now."""
    found, codes = copy.deepcopy(ENTRIES), dict[str, str]()
    for entry in found.values():
        name = entry["script"]
        if name not in codes:
            script = scratch / "benchmarks" / name
            codes[name] = harness.digest_code(script, report.read_measures(script), scratch)
        entry["measured"]["code"] = codes[name]
    assert report.find_stale(found, scratch) == set()
    return found


@pytest.mark.parametrize(
    "changed", ["stores/lock.py", "formats/netcdf4/__init__.py", "arrays/chunks/manifest.py", "sdk.py"]
)
def test_a_changed_source_marks_rows_that_measure_its_folder(scratch: Path, fresh: Any, changed: str) -> None:
    """One more line in a file makes the rows old whose folders have it, and no others."""
    path = scratch / "nczarr" / changed
    text = path.read_text(encoding="utf-8")
    path.write_text(text + "\n", encoding="utf-8")
    try:
        stale = report.find_stale(fresh, scratch)
    finally:
        path.write_text(text, encoding="utf-8")
    wanted = {row for row, entry in fresh.items() if any(changed.startswith(f"{name}/") for name in _folders(entry))}
    assert stale == wanted
    assert bool(stale) == ("/" in changed)


def test_a_changed_script_marks_its_rows(scratch: Path, fresh: Any) -> None:
    """A row is older than its script, too."""
    path = scratch / "benchmarks" / "b7_small_chunks.py"
    text = path.read_text(encoding="utf-8")
    path.write_text(text + "\n", encoding="utf-8")
    try:
        assert report.find_stale(fresh, scratch) == {"B7, deflated", "B7, plain", "B7, work"}
    finally:
        path.write_text(text, encoding="utf-8")


def test_faults_of_a_page() -> None:
    """A row without its mark is a fault, a mark too many is none, another figure is one."""
    entries = {row: entry for row, entry in report.merge(ENTRIES, [LINE]).items() if row in ("B1", "B2, cp -r")}

    def page(stale: set[str]) -> str:
        text: str = report.fill_in(f"before\n{report.BEGIN}\n{report.END}\nafter\n", report.table(entries, stale))
        return text

    assert list(report.find_faults(page({"B1"}), entries, {"B1"})) == []
    assert list(report.find_faults(page({"B1"}), entries, set())) == []
    (fault,) = report.find_faults(page(set()), entries, {"B1"})
    assert fault.startswith("`B1` is shown as fresh")
    assert "make bench-report" in fault
    (fault,) = report.find_faults(page(set()).replace("| 2 (1.9 .. 2.1)", "| 1 (1.9 .. 2.1)"), entries, set())
    assert fault.startswith("benchmarks/README.md is not what results.json says")
    (fault,) = report.find_faults(page(set()).removesuffix("after\n"), {**entries, "B3": entries["B1"]}, set())
    assert "make bench-report" in fault


def test_record_keeps_words_and_other_rows() -> None:
    """A line replaces the figures of its row alone; a new row comes behind the last one of its script."""
    found = report.merge(ENTRIES, [LINE, {**LINE, "row": "B1, again"}])
    assert found["B1"]["describe"] == ENTRIES["B1"]["describe"]
    assert found["B1"]["measured"] == {name: value for name, value in LINE.items() if name not in ("row", "script")}
    assert {row: entry for row, entry in found.items() if not row.startswith("B1")} == {
        row: entry for row, entry in ENTRIES.items() if not row.startswith("B1")
    }
    assert list(found)[list(found).index("B1") + 1] == "B1, again"
    assert list(report.merge(ENTRIES, [LINE])) == list(ENTRIES)
    with pytest.raises(ValueError, match="small input"):
        report.merge(ENTRIES, [{**LINE, "quick": True}])


def test_table_row_and_its_note() -> None:
    """Figures with their spread, goals, day, and a note that rows of one session share."""
    entries = report.merge(ENTRIES, [LINE, {**LINE, "row": "B2, cp -r", "our_peak_mb": 151.0, "peak_goal_mb": 150.0}])
    lines = report.table({row: entries[row] for row in ("B1", "B2, cp -r", "B3, cp")}, {"B3, cp"}).splitlines()
    assert lines[2].endswith(
        "| `cp` of the file, 0.26 s | every value | 2 (1.9 .. 2.1) | 2.3 | 2026-12-02, 5 rounds, a |"
    )
    assert lines[4].endswith(f"| before 2026-12, 5 rounds, b {report.STALE} |")
    assert [line[:4] for line in lines if line.startswith("- ")] == ["- a:", "- b:"]
    note = "- a: 2 cores, X, family 1, Linux x86_64; Python 3.11.7, built without profiles; cp 9.1, numpy 2.4.6."
    assert note in lines


def test_a_missed_goal_is_not_met() -> None:
    """All goals of a line count, and other ones by words."""
    assert harness.goals_met(LINE)
    assert not harness.goals_met({**LINE, "goal": 1.9})
    assert not harness.goals_met({**LINE, "our_peak_mb": 151.0, "peak_goal_mb": 150.0})
    assert not harness.goals_met({**LINE, "missed": ["2 errors"]})
    assert not harness.goals_met({**LINE, "ratio": None, "figure": 3.0, "unit": "ms"})


def test_run_refuses_small_inputs_and_unknown_rows() -> None:
    """The arguments of `benchmarks/run`."""
    for words, message in ((["--quick", "--record", "e1"], "not recorded"), (["zz"], "no script zz"), (["--x"], "--x")):
        done = subprocess.run([FOLDER / "run", *words], capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert message in done.stderr


def _folders(entry: dict[str, Any]) -> set[str]:
    return set(report.read_measures(FOLDER / entry["script"]))


def _patterns(script: Path) -> Iterator[str]:
    """Regular expressions of the rows that a script prints, from the first arguments of the calls that print."""
    tree = ast.parse(script.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        match node:
            case ast.Call(func=ast.Name(id="show" | "measure" | "beside"), args=[ast.Name(id=name), *_]):
                yield from _bound(tree, name)
            case ast.Call(func=ast.Name(id="show" | "measure" | "beside"), args=[first, *_]):
                yield _pattern(first)


def _bound(tree: ast.AST, name: str) -> Iterator[str]:
    """Patterns of what a name is bound to: by an assignment, or by a loop over rows."""
    for node in ast.walk(tree):
        match node:
            case ast.Assign(targets=[ast.Name(id=found)], value=value) if found == name:
                yield _pattern(value)
            case ast.For(target=target, iter=values) if name in {
                each.id for each in ast.walk(target) if isinstance(each, ast.Name)
            }:
                texts = [each.value for each in ast.walk(values) if isinstance(each, ast.Constant)]
                yield from (re.escape(text) for text in texts if re.match(r"[A-Z]\d", str(text)))


def _pattern(node: ast.expr) -> str:
    match node:
        case ast.Constant(value=str(text)):
            return re.escape(text)
        case ast.JoinedStr(values=values):
            return "".join(map(_pattern, values))
        case ast.BinOp(left=left, right=right):
            return _pattern(left) + _pattern(right)
        case ast.IfExp(body=body, orelse=other):
            return f"(?:{_pattern(body)}|{_pattern(other)})"
    return ".+"
