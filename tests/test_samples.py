"""Every sample compiles without a warning, and each compiles to every target that can hold it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT, run_command

SAMPLES = sorted(path for path in (ROOT / "samples").iterdir() if path.suffix in (".cdl", ".ncz"))


def test_there_are_enough() -> None:
    assert len(SAMPLES) >= 8


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_compiles(sample: Path, tmp_path: Path) -> None:
    text = sample.read_text(encoding="utf-8")
    assert text.count("//") >= 2, "a reader learns from comments"
    checked = run_command("check", str(sample))
    assert (checked.status, checked.err) == (0, "")
    done = run_command("compile", str(sample), "-o", str(tmp_path / "x.zarr"))
    assert (done.status, done.err) == (0, "")
    assert (tmp_path / "x.zarr" / ".zgroup").is_file()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
@pytest.mark.parametrize("suffix", [".cdl", ".ncz", ".ast.json"])
def test_is_the_same_in_every_text(sample: Path, suffix: str, tmp_path: Path) -> None:
    import nczarr

    if suffix == ".cdl" and sample.suffix == ".ncz":
        suffix = ".ncz"  # CDL has no anonymous dimensions and no chunks without a layout
    target = tmp_path / f"x{suffix}"
    done = run_command("compile", str(sample), "-o", str(target))
    assert done.status == 0, done.err
    assert nczarr.open(target).dataset == nczarr.open(sample).dataset
