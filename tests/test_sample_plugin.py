"""The sample plugin: installed beside the package, and tested as its users test it; the guide quotes it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

SAMPLE = ROOT / "samples" / "plugin"
QUOTE = re.compile(r"<!-- Not run: a part of `(?P<file>[^`]+)` -->\n```python no-run\n(?P<text>.*?)```", re.DOTALL)


def test_the_guide_quotes_the_sample() -> None:
    quotes = list(QUOTE.finditer((ROOT / "docs/how-to/write-a-plugin.md").read_text(encoding="utf-8")))
    assert len(quotes) >= 10
    for quote in quotes:
        assert quote["text"].rstrip() in (ROOT / quote["file"]).read_text(encoding="utf-8"), quote["file"]


def test_the_sample_uses_the_sdk_alone_and_is_short() -> None:
    lines = 0
    for path in (SAMPLE / "nczarr_esri").glob("*.py"):
        text = path.read_text(encoding="utf-8")
        lines += text.count("\n")
        used = re.findall(r"^(?:from|import) (nczarr[.\w]*)(?: import (sdk)$)?", text, re.MULTILINE)
        assert {f"{module}.{name}".rstrip(".") for module, name in used if not module.startswith("nczarr_esri")} <= {
            "nczarr.sdk"
        }
    assert lines <= 300


@pytest.mark.long
def test_installed(tmp_path: Path) -> None:
    shutil.copytree(SAMPLE, tmp_path / "plugin")
    install = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    place = str(tmp_path / "installed")
    subprocess.run([*install, "--target", place, str(tmp_path / "plugin")], check=True)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((place, str(ROOT)))}
    checks = (
        ["-m", "mypy", "--strict", "plugin/nczarr_esri"],
        ["-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", os.devnull, "--rootdir", ".", str(SAMPLE / "tests")],
    )
    for arguments in checks:
        done = subprocess.run(
            [sys.executable, *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
        )
        assert done.returncode == 0, done.stdout + done.stderr
