"""Programs and documents that `nczarr generate` makes, loaded and run."""

from __future__ import annotations

import subprocess
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import nczarr
from tests.conftest import ROOT

SAMPLES = sorted((ROOT / "samples").glob("*.cdl"))

HOSTILE = Path(__file__).with_name("hostile.cdl").read_text("utf-8")
"""Names and texts that end literals and comments of one language or another."""


def find_sample(number: str) -> Path:
    """Return the sample with a number."""
    return next(path for path in SAMPLES if path.name.startswith(number))


def write_files(files: Mapping[str, str], folder: Path) -> list[Path]:
    """Write generated files; return their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return [folder / name for name in files]


def load_program(files: Mapping[str, str]) -> dict[str, Any]:
    """Return the names that a program in Python defines; a warning of the compiler is an error."""
    [(name, text)] = files.items()
    namespace: dict[str, Any] = {"__name__": "generated"}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        code = compile(text, name, "exec", dont_inherit=True)
    exec(code, namespace)
    return namespace


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """Run a command that must succeed without a word on its standard error; return its output."""
    done = subprocess.run([*command], capture_output=True, text=True, check=False, cwd=cwd)
    assert (done.returncode, done.stderr) == (0, ""), f"{done.stdout[-2000:]}{done.stderr[-3000:]}"
    return done.stdout


def are_equal(source: Any, target: Any) -> bool:
    """Return whether two datasets are equal, and have one digest unless attributes have another order."""
    kinds = {one.kind for one in nczarr.diff(source, target)}
    return kinds == {"attribute-order"} or (not kinds and nczarr.digest(source) == nczarr.digest(target))
