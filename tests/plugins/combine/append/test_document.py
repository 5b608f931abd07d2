"""Documents that are extended: nothing old is read or lost, and the result is that of one combination."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import nczarr
from nczarr import refs
from nczarr.diagnostics.report import CompileError, Severity
from tests.conftest import ROOT, run_command
from tests.support.series import TEXT, content, days


def refused(document: Path, *sources: str | Path | nczarr.api.handle.DatasetHandle, **given: object) -> list[str]:
    """The errors of an extension, which leaves the document as it was."""
    before = content(document)
    with pytest.raises(CompileError) as caught:
        refs.append(document, sources, **given)  # type: ignore[arg-type]
    assert content(document) == before
    return [f"{each.code}: {each.message}" for each in caught.value.diagnostics if each.severity is Severity.ERROR]


@pytest.mark.long
@pytest.mark.parametrize("chunk", [1, 512])
@pytest.mark.parametrize("metadata", ["nczarr", "zarr2", "zarr3", "nczarr3"])
@pytest.mark.parametrize("name", ["all.json", "all.parq"])
@pytest.mark.sampled(7)
def test_twelve_files_one_by_one_are_twelve_at_once(tmp_path: Path, name: str, metadata: str, chunk: int) -> None:
    if name.endswith(".parq") and "3" in metadata:
        pytest.skip("Parquet references hold Zarr v2")
    sources = days(tmp_path / "d", 12, chunk=chunk)
    writing = refs.Writing(metadata=metadata)
    refs.combine(sources[:1], tmp_path / name, along="time", writing=writing)
    for each in sources[1:]:
        refs.append(tmp_path / name, [each])
    refs.combine(sources, tmp_path / f"right{name}", along="time", writing=writing)
    assert content(tmp_path / name) == content(tmp_path / f"right{name}")
    assert refs.verify(tmp_path / name, chunks="all") == ()


def test_relative_names_stay_relative(tmp_path: Path) -> None:
    sources = days(tmp_path / "d", 4)
    writing = refs.Writing(relative=True)
    refs.combine(sources[:2], tmp_path / "all.json", along="time", writing=writing)
    refs.append(tmp_path / "all.json", sources[2:])
    refs.combine(sources, tmp_path / "right.json", along="time", writing=writing)
    assert content(tmp_path / "all.json") == content(tmp_path / "right.json")


def test_old_names_stay_as_they_are(tmp_path: Path) -> None:
    sources = days(tmp_path / "d", 3)
    document = tmp_path / "all.json"
    refs.combine(sources[:2], document, along="time", writing=refs.Writing(base="s3://bucket/x", inline=1000))
    refs.append(document, sources[2:], along="time", writing=refs.Writing(inline=1000))
    targets = (
        json.loads(document.read_text())["nczarr"]["targets"] if "nczarr" in json.loads(document.read_text()) else {}
    )
    urls = {value[0] for value in json.loads(document.read_text())["refs"].values() if isinstance(value, list)}
    assert urls | targets.keys() <= {f"s3://bucket/x/0000{number}.nc" for number in range(2)} | {f"file://{sources[2]}"}


def test_old_sources_are_not_read(tmp_path: Path) -> None:
    """Variables without the dimension and the coordinate are in the document here, so nothing else is needed."""
    sources = days(tmp_path / "d", 4)
    document = tmp_path / "all.json"
    refs.combine(sources[:3], document, along="time")
    for each in sources[:3]:
        os.unlink(each)
    refs.append(document, sources[3:])
    found = json.loads(document.read_text())
    assert [found["refs"][f"temp/{number}.0.0"][0] for number in range(4)] == [f"file://{each}" for each in sources]
    assert found["nczarr"]["targets"].keys() == {f"file://{each}" for each in sources}


def test_recorded_properties_are_carried_on(tmp_path: Path) -> None:
    """A target that changed after it was recorded is still found to have changed."""
    sources = days(tmp_path / "d", 3)
    document = tmp_path / "all.json"
    refs.combine(sources[:2], document, along="time")
    old = json.loads(document.read_text())["nczarr"]["targets"]
    os.utime(sources[0], ns=(10**18, 10**18))
    refs.append(document, sources[2:])
    assert json.loads(document.read_text())["nczarr"]["targets"].items() >= old.items()
    assert [each.code for each in refs.verify(document)] == ["changed-target"]
    refs.combine([document, sources[2]], tmp_path / "again.json", along="time", unsorted=True)
    assert json.loads((tmp_path / "again.json").read_text())["nczarr"]["targets"].items() >= old.items()


def test_tags_of_remote_targets_are_carried_on(tmp_path: Path) -> None:
    sources = days(tmp_path / "d", 2)
    document = tmp_path / "all.json"
    refs.combine(sources[:1], document, along="time", writing=refs.Writing(inline=1000))
    text = document.read_text()
    found = json.loads(text.replace(f"file://{sources[0]}", "https://example.org/a.nc"))
    found["refs"]["temp/0.0.0"] = ["https://example.org/a.nc", 100, 40]
    facts = {"size": 5000, "etag": "0123", "mtime": "2026-01-31T12:00:00.5Z"}
    document.write_text(json.dumps({**found, "nczarr": {"targets": {"https://example.org/a.nc": facts}}}))
    refs.append(document, sources[1:], writing=refs.Writing(inline=1000))
    assert json.loads(document.read_text())["nczarr"]["targets"]["https://example.org/a.nc"] == facts


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("days since", "hours since"), "unequal-sources: attribute `units` of `/time` differs"),
        (("float temp", "double temp"), "unequal-sources: the type of `/temp` differs: float in"),
        (("lat = 1, 2, 3", "lat = 1, 2, 4"), "unequal-sources: `/lat` does not have `/time`, and is not the same"),
        (("  int count(time) ;\n    count:_ChunkSizes = 1 ;\n", ""), "variable `/count` is in"),
    ],
)  # fmt: skip
def test_faults_are_those_of_a_combination(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    refs.combine(days(tmp_path / "d", 2), tmp_path / "all.json", along="time")
    text = TEXT.format(day=2, values=", ".join(map(str, range(48))), chunk=1).replace(*change)
    if "count" in change[0]:
        text = text.replace("  count = 2 ;\n", "")
    nczarr.write(nczarr.from_cdl(text), tmp_path / "odd.nc")
    assert any(message in each for each in refused(tmp_path / "all.json", tmp_path / "odd.nc"))


def test_units_are_recoded_exactly(tmp_path: Path) -> None:
    refs.combine(days(tmp_path / "d", 2), tmp_path / "all.json", along="time")
    text = TEXT.format(day=48, values=", ".join(map(str, range(48))), chunk=1).replace("days since", "hours since")
    nczarr.write(nczarr.from_cdl(text), tmp_path / "odd.nc")
    refs.append(tmp_path / "all.json", [tmp_path / "odd.nc"], decode_times=True)
    with nczarr.open(tmp_path / "all.json") as dataset:
        assert dataset["time"][:].tolist() == [0, 1, 2]
        assert dataset["count"][:].tolist() == [0, 1, 48]


def test_an_unordered_source_is_refused(tmp_path: Path) -> None:
    sources = days(tmp_path / "d", 3)
    refs.combine(sources[1:], tmp_path / "all.json", along="time")
    (message,) = refused(tmp_path / "all.json", sources[0])
    assert message.startswith("unordered-coordinate: the values of `/time` do not increase: 2000-01-01 in")
    refs.append(tmp_path / "all.json", sources[:1], unsorted=True)
    with nczarr.open(tmp_path / "all.json") as dataset:
        assert dataset["time"][:].tolist() == [1, 2, 0]


def test_the_dimension_is_the_one_that_differs(tmp_path: Path) -> None:
    text = "netcdf s {{ dimensions: n = {0} ; x = 2 ; variables: int v(n, x) ; int x(x) ; data: x = 1, 2 ; v = {1} ; }}"
    for name, count in (("a", 3), ("b", 2), ("c", 3)):
        nczarr.write(nczarr.from_cdl(text.format(count, ", ".join(["7"] * 2 * count))), tmp_path / f"{name}.nc")
    refs.combine([tmp_path / "a.nc"], tmp_path / "all.json", along="n")
    assert refused(tmp_path / "all.json", tmp_path / "c.nc") == [
        f"unmatched-dimension: lengths do not show along which dimension `{tmp_path / 'all.json'}` is extended by "
        f"`{tmp_path / 'c.nc'}`"
    ]
    refs.append(tmp_path / "all.json", [tmp_path / "c.nc"], along="n")
    refs.append(tmp_path / "all.json", [tmp_path / "b.nc"])
    with nczarr.open(tmp_path / "all.json") as dataset:
        assert dataset["v"].shape == (8, 2)


def test_only_documents_are_extended(tmp_path: Path) -> None:
    sources = days(tmp_path / "d", 2)
    done = run_command("refs", "append", *sources)
    assert (done.status, "is not a reference document" in done.err) == (1, True)
    done = run_command("refs", "append", str(tmp_path / "none.json"), *sources)
    assert done.status == 3


def test_a_dry_run_changes_nothing(tmp_path: Path) -> None:
    sources = days(tmp_path / "d", 3)
    refs.combine(sources[:2], tmp_path / "all.json", along="time")
    before = content(tmp_path / "all.json")
    done = run_command("refs", "append", str(tmp_path / "all.json"), sources[2], "--dry-run")
    assert done.status == 0, done.err
    assert done.out.decode().splitlines()[:3] == [
        "`/time`: 2 sources, 3 in all", f"0  2  {tmp_path / 'all.json'}", f"2  1  {sources[2]}",
    ]  # fmt: skip
    assert content(tmp_path / "all.json") == before


def test_a_document_that_changes_meanwhile_is_not_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.plugins.combine.append import changes

    sources = days(tmp_path / "d", 3)
    refs.combine(sources[:1], tmp_path / "all.json", along="time")
    real = changes.combine_sources

    def changing(*arguments: object, **named: object) -> object:
        (tmp_path / "all.json").write_bytes((tmp_path / "all.json").read_bytes() + b"\n")
        return real(*arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(changes, "combine_sources", changing)
    with pytest.raises(CompileError, match="busy-target: another writer has changed"):
        refs.append(tmp_path / "all.json", sources[1:])


@pytest.mark.long
@pytest.mark.parametrize("name", ["all.json", "all.parq"])
@pytest.mark.parametrize("moment", range(5))
@pytest.mark.sampled(10)
def test_a_killed_extension_leaves_the_old_or_the_new_document(tmp_path: Path, moment: int, name: str) -> None:
    sources = days(tmp_path / "d", 60)
    target = tmp_path / name
    refs.combine(sources[:1], target, along="time")
    old = content(target)
    refs.combine(sources, tmp_path / f"right{name}", along="time")
    command = ["refs", "append", str(target), *sources[1:]]
    process = subprocess.Popen([sys.executable, "-m", "nczarr", *command], env={**os.environ, "PYTHONPATH": str(ROOT)})
    time.sleep(0.3 + 0.25 * moment)
    process.send_signal(signal.SIGKILL)
    process.wait()
    new = content(tmp_path / f"right{name}")
    assert content(target) in (old, new)
    if content(target) == old:
        assert run_command(*command).status == 0
    assert content(target) == new


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["all.json", "all.parq"])
@pytest.mark.parametrize("also", [(), ("--inline", "1000")])
def test_a_repeated_command_changes_nothing(tmp_path: Path, name: str, also: tuple[str, ...]) -> None:
    sources = days(tmp_path / "d", 4)
    target = tmp_path / name
    refs.combine(sources[:2], target, along="time")
    assert run_command("refs", "append", str(target), sources[2], *also).status == 0
    before = content(target)
    for again in (sources[2:3], sources[2:], sources[1:2], [sources[3], sources[3]]):
        done = run_command("refs", "append", str(target), *again, *also)
        assert (done.status, "error[misplaced-records]" in done.err) == (1, True), done.err
        assert content(target) == before
    assert run_command("refs", "append", str(target), sources[3], *also).status == 0


@pytest.mark.parametrize("name", ["all.json", "all.parq"])
def test_sources_without_a_coordinate_are_known_by_their_chunks(tmp_path: Path, name: str) -> None:
    text = "netcdf s {{ dimensions: n = UNLIMITED ; x = 9 ; variables: double v(n, x) ; {1} data: v = {0} ; }}"
    for source in ("a", "b"):
        made = nczarr.from_cdl(text.format(", ".join(["7"] * 18), "v:_ChunkSizes = 1, 9 ; "))
        nczarr.write(made, tmp_path / f"{source}.nc", kind="nc4")
    target = tmp_path / name
    refs.combine([tmp_path / "a.nc"], target, along="n")
    refs.append(target, [tmp_path / "b.nc"], along="n")  # equal values, other chunks
    before = content(target)
    (tmp_path / "link.nc").symlink_to("b.nc")
    for again in ("a.nc", "b.nc", "link.nc"):
        found = refused(target, tmp_path / again)
        assert len(found) == 1
        assert found[0].startswith(f"misplaced-records: `{target}` has the records of")
    assert content(target) == before


@pytest.mark.parametrize("name", ["all.json", "all.parq"])
def test_a_link_leads_to_the_document_that_is_extended(tmp_path: Path, name: str) -> None:
    sources = days(tmp_path / "d", 3)
    refs.combine(sources[:2], tmp_path / name, along="time")
    link = tmp_path / f"link-{name}"
    link.symlink_to(name)
    done = run_command("refs", "append", str(link), str(sources[2]))
    assert done.status == 0, done.err
    assert f"`{link}`: 1 more source" in done.err
    assert link.is_symlink()
    refs.combine(sources, tmp_path / f"right-{name}", along="time")
    assert content(tmp_path / name) == content(tmp_path / f"right-{name}")


@pytest.mark.parametrize("name", ["all.json", "all.parq"])
def test_times_are_counted_in_the_units_of_the_document(tmp_path: Path, name: str) -> None:
    text = 'netcdf d {{ dimensions: t = UNLIMITED ; variables: {0} t(t) ; t:units = "{1}" ; data: t = {2} ; }}'
    units = "days since 2000-01-01"
    rows = [("double", units, "0, 1"), ("double", "hours since 2000-01-03", "0, 24"), ("int", units, "4, 5")]
    rows.append(("double", "hours since 2000-01-09", "0.1"))
    sources = [tmp_path / f"{number}.nc" for number in range(len(rows))]
    for source, row in zip(sources, rows, strict=True):
        nczarr.write(nczarr.from_cdl(text.format(*row)), source, kind="nc4")
    target = tmp_path / name
    nczarr.convert(sources[0], target)
    for source in sources[1:3]:
        ran = run_command("append", str(source), str(target), "--along", "t")
        assert ran.status == 0, ran.err
    assert nczarr.open(target)["t"][...].tolist() == [0, 1, 2, 3, 4, 5]
    assert "error[inexact-times]" in run_command("append", str(sources[3]), str(target), "--along", "t").err
