"""The example notebook runs from top to bottom, and shows what it showed when it was committed."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.peer

NOTEBOOK = ROOT / "samples" / "first-look.ipynb"
STYLE = re.compile(r"<style>.*?</style>", re.DOTALL)


def texts(notebook: Any) -> list[list[str]]:
    """Return what each cell shows as text, and our HTML without its style."""
    found = []
    for cell in notebook.cells:
        shown = []
        for output in cell.get("outputs", ()):
            data = output.get("data", {})
            shown.append(output.get("text") or data.get("text/plain", ""))
            if "class='nz'" in data.get("text/html", ""):
                shown.append(STYLE.sub("", data["text/html"]))
        found.append(shown)
    return found


@pytest.mark.long
def test_the_notebook_runs(tmp_path: Path, peer: Callable[[str], ModuleType], monkeypatch: pytest.MonkeyPatch) -> None:
    nbformat = peer("nbformat")
    for name in ("nbclient", "ipykernel", "xarray", "zarr"):
        peer(name)
    from nbclient import NotebookClient

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    committed = nbformat.read(NOTEBOOK, 4)
    nbformat.validate(committed)
    folder = tmp_path / "samples"
    folder.mkdir()
    shutil.copy(NOTEBOOK.parent / "01-station.cdl", folder)
    again = nbformat.read(NOTEBOOK, 4)
    for cell in again.cells:
        if cell.cell_type == "code":
            cell.outputs, cell.execution_count = [], None
    NotebookClient(again, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
    assert texts(again) == texts(committed)
    pages = [text for shown in texts(committed) for text in shown if "class='nz'" in text]
    assert len(pages) >= 2
    assert "Vostok" not in "".join(pages), "an overview reads no values"
