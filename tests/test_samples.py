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
    done = run_command("compile", str(sample), "-o", str(tmp_path / "x.zarr"), "--to", "nczarr")
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


STREAMS = sorted((ROOT / "samples").glob("*.ncs"))


@pytest.mark.parametrize("stream", STREAMS, ids=lambda path: path.name)
def test_a_stream_is_what_convert_makes_of_the_text(stream: Path, tmp_path: Path) -> None:
    """And it reads back as the text; after a change of the format `nczarr convert` makes it anew."""
    import nczarr

    done = run_command("convert", str(stream.with_suffix(".cdl")), str(tmp_path / stream.name), "-q")
    assert (done.status, done.err) == (0, "")
    assert (tmp_path / stream.name).read_bytes() == stream.read_bytes()
    assert nczarr.diff(stream, stream.with_suffix(".cdl")) == []


def test_streams_of_lists_hold_messages() -> None:
    import nczarr

    assert [path.name for path in STREAMS] == ["11-levels.ncs", "12-fun-soundings.ncs"]
    levels, soundings = (list(nczarr.ncstream.read_messages(path.read_bytes())) for path in STREAMS)
    assert [type(message).__name__ for message in levels] == ["Start", "Header", "DataColumn", "End"]
    lists = levels[2].values  # type: ignore[union-attr]
    assert lists.shape == (23, 100)
    assert sum(map(len, lists.reshape(-1))) == 24
    assert lists[0, 3].tolist() == [1000, 925, 850, 700]
    records = soundings[2].values  # type: ignore[union-attr]
    assert records["sounding_no"].tolist() == [0, 1, 2]
    assert [each.tolist() for each in records["temp_vl"]] == [[20.5, 18.25, 15, 11.5], [], [19.75, 17.5]]
