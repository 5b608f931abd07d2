"""The playground of the site: its numbers beside NumPy's, its results beside those of the compiler, and the page."""

from __future__ import annotations

import functools
import http.server
import json
import os
import random
import re
import shutil
import struct
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import ROOT
from tests.support.browser import Browser, open_browser

TOOLS = ROOT / "docs" / "_tools" / "playground"
OUTPUTS = ROOT / "tests" / "support" / "playground_outputs.py"
sys.path.insert(0, str(TOOLS))

import small_numpy  # type: ignore[import-not-found]  # noqa: E402


@pytest.mark.parametrize(("name", "letter", "bits"), [("float32", "I", 32), ("float16", "H", 16)])
def test_numbers_are_written_as_numpy_writes_them(name: str, letter: str, bits: int) -> None:
    draw = random.Random(bits)
    for _ in range(5000):
        data = struct.pack(f"<{letter}", draw.getrandbits(bits))
        theirs = np.frombuffer(data, f"<f{bits // 8}")[0]
        ours = small_numpy.frombuffer(data, f"<f{bits // 8}")[0]
        assert str(ours) == str(theirs), data
        assert ours.tobytes() == data or np.isnan(theirs)


def test_types_are_as_numpy_has_them() -> None:
    specs = ["<i4", ">i4", "|u1", "f8", "int16", "S5", "O", [("a", "<i2"), ("b", ">f4", (2, 3))], ("<f8", (2,))]
    for spec in specs:
        ours, theirs = small_numpy.dtype(spec), np.dtype(spec)
        for part in ("kind", "itemsize", "str", "names", "hasobject", "shape", "isnative"):
            assert getattr(ours, part) == getattr(theirs, part), (spec, part)


def made_of(numbers: str, paths: list[Path]) -> dict[str, Any]:
    """Results of the playground for files, computed with `small_numpy` or with NumPy."""
    command = [sys.executable, str(OUTPUTS), numbers, *map(str, paths)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(json.loads(done.stdout))


@pytest.mark.long
def test_samples_come_out_as_with_numpy() -> None:
    samples = sorted((ROOT / "samples").glob("0*.cdl"))[:6]
    assert len(samples) == 6
    ours = made_of("small", samples)
    assert ours == made_of("real", samples)
    assert any(result["values_aside"] for result in ours.values())
    assert all(result["status"] == 0 and result["records"] for key, result in ours.items() if " nczarr " in key)


@pytest.mark.slow
def test_the_corpus_comes_out_as_with_numpy(shared: Path) -> None:
    paths = [path for path in sorted((shared / "data").rglob("*.cdl")) if path.stat().st_size < 8000]
    assert len(paths) > 100
    ours, theirs = made_of("small", paths), made_of("real", paths)
    lacking = [key for key, result in ours.items() if "which this page does not have" in json.dumps(result)]
    assert {key: result for key, result in ours.items() if key not in lacking} == {
        key: result for key, result in theirs.items() if key not in lacking
    }
    assert len(lacking) < len(ours) / 50  # chunks that are encoded by numcodecs
    assert "internal-error" not in json.dumps(ours)


class _Quiet(http.server.SimpleHTTPRequestHandler):
    extensions_map = http.server.SimpleHTTPRequestHandler.extensions_map | {
        ".mjs": "text/javascript",
        ".wasm": "application/wasm",
    }

    def log_message(self, *args: Any) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory, tool: Callable[[str], str]) -> Iterator[str]:
    """URL of the page: of the site that NCZARR_SITE names, or of the page alone, which is quicker to build."""
    tool("npm")
    site = Path(os.environ.get("NCZARR_SITE") or tmp_path_factory.mktemp("site"))
    if "NCZARR_SITE" not in os.environ:
        _build_page(site)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(_Quiet, directory=str(site)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/start/playground/"
    server.shutdown()
    server.server_close()
    thread.join()


def _build_page(site: Path) -> None:
    done = subprocess.run(
        [sys.executable, TOOLS / "build.py", site / "assets" / "playground"], capture_output=True, text=True
    )
    if done.returncode:
        pytest.skip(f"npm or pip does not bring what the playground runs on: {done.stderr.strip()[-200:]}")
    for path in (ROOT / "docs" / "assets").glob("*.*"):
        shutil.copy(path, site / "assets")
    text = (ROOT / "docs" / "start" / "playground.md").read_text(encoding="utf-8")
    (body,) = re.findall(r'<div class="playground".*</script>', text, re.DOTALL)
    folder = site / "start" / "playground"
    folder.mkdir(parents=True)
    head = '<meta charset="utf-8"><title>Playground</title><link rel="stylesheet" href="../../assets/site.css">'
    head += '<link rel="icon" href="../../assets/favicon.svg">'
    html = (
        f'<!doctype html><html lang="en"><head>{head}</head><body data-md-color-scheme="default">{body}</body></html>'
    )
    (folder / "index.html").write_text(html, encoding="utf-8")


@pytest.fixture(scope="module")
def browser(tool: Callable[[str], str]) -> Iterator[Browser]:
    with open_browser(tool) as found:
        yield found


IDLE = ("wait", '#playground-app[aria-busy="false"]')
SCHEMA = """netcdf tried {
dimensions:
  x = 3 ;
variables:
  short größe(x) ;
    größe:unit = "m" ;
data:
 größe = 1, 2, 3 ;
}
"""


@pytest.mark.peer
@pytest.mark.program
@pytest.mark.long
@pytest.mark.parametrize(("width", "scheme"), [(400, "dark"), (1440, "light")])
def test_the_page_in_a_browser(page: str, browser: Browser, width: int, scheme: str) -> None:
    loaded = ("wait", ".playground-good")
    steps: list[tuple[str, ...]] = [
        loaded, IDLE, ("faults",), ("overflow",),
        ("fill", "#playground-text", SCHEMA), ("wait", ".playground-status:not([hidden])"), IDLE,
        ("text", ".playground-status"),
        ("click", "#tab-tree"), IDLE, ("text", "#panel-tree"),
        ("click", "#panel-tree div:nth-child(3) button"), ("selected",),
        ("click", "#tab-keys"), IDLE, ("text", "#playground-keys"), ("select", "#playground-target", "zarr3"),
        ("wait", "#playground-keys :text('zarr.json')"), ("text", "#playground-keys"), ("overflow",),
        ("click", "#tab-program"), IDLE, ("text", "#playground-program"),
        ("fill", "#playground-text", SCHEMA.replace("(x)", "(y)")), ("click", "#tab-diagnostics"),
        ("wait", ".playground-bad"), IDLE, ("text", "#panel-diagnostics"), ("faults",), ("overflow",),
    ]  # fmt: skip
    answers = browser.ask(page, *steps, width=width, scheme=scheme, patience=120)
    by_step = [
        answer
        for (name, *_), answer in zip(steps, answers, strict=True)
        if name not in ("wait", "fill", "click", "select")
    ]
    faults, overflow, status, tree, selected, keys, keys3, overflow2, program, diagnostics, faults2, overflow3 = by_step
    of_theme = "NCZARR_SITE" in os.environ  # whose own faults are not those of the page
    assert [each for each in faults + faults2 if not of_theme or "playground" in each] == []
    assert max(overflow, overflow2, overflow3) <= 0
    assert status == "Values of data sections are set aside."
    assert "Variable /größe" in tree
    assert selected == "größe"
    assert ".zmetadata" in keys
    assert "größe/zarr.json" in keys3
    assert "#include <netcdf.h>" in program
    assert "error[undefined-dimension]" in diagnostics
