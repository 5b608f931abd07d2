"""Sixty damages: all are found at their places; other programs are asked the same, and a table says what they find."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import run_command
from tests.support.planted_damage import Planted, list_planted, make

PATIENCE = 60
"""Seconds in which a program tells of a small dataset."""

SUFFIXES = {"netcdf3": ".nc", "netcdf4": ".nc", "reference": ".json"}

ZARR = """
import json, sys, warnings, zarr
from fsspec import filesystem
from zarr.storage import FsspecStore
warnings.simplefilter("ignore")
for path in json.load(sys.stdin):
    try:
        store = path
        if path.endswith(".json"):
            files = filesystem("reference", fo=path, target_protocol="file", remote_protocol="file", asynchronous=True,
                               remote_options={"asynchronous": True})
            store = FsspecStore(files, read_only=True, path="")
        group = zarr.open_group(store, mode="r")
        for name in ("time", "temp"):
            group[name][...]
        print("sound", group["temp"][0, 0])
    except Exception as error:
        print("found", type(error).__name__)
"""


FIRST = "0.6250"
"""First digits of the first value of a sound dataset: one that is not printed was not read."""

Ask = Callable[[list[Path]], list[tuple[bool, str]]]
"""Asks a program about files in one folder: has it reported a fault, and its output."""


def ask_zarr(paths: list[Path]) -> list[tuple[bool, str]]:
    names = json.dumps([str(path) for path in paths])
    folder = paths[0].parent  # relative targets of references
    ran = subprocess.run([sys.executable, "-c", ZARR], input=names, capture_output=True, text=True, cwd=folder)
    return [(line.startswith("found"), line) for line in ran.stdout.splitlines()]


def ask_program(command: Callable[[Path], list[str]]) -> Ask:
    def ask_one(path: Path) -> tuple[bool, str]:
        try:
            ran = subprocess.run(command(path), capture_output=True, text=True, errors="replace", timeout=PATIENCE)
        except subprocess.TimeoutExpired:  # gdalinfo reads one of the documents without end
            return False, ""
        return ran.returncode != 0 or "error" in ran.stderr.lower(), ran.stdout

    return lambda paths: list(map(ask_one, paths))


def name_for_netcdf(path: Path) -> str:
    mode = "zarr" if (path / "zarr.json").exists() or "nczarr" not in (path / ".zgroup").read_text() else "nczarr"
    return f"file://{path}#mode={mode},file"


PEERS: dict[str, tuple[str | None, tuple[str, ...], Ask]] = {
    "ncdump": (
        "ncdump",
        ("netcdf3", "netcdf4", "zarr2", "zarr3", "nczarr"),
        ask_program(lambda path: ["ncdump", name_for_netcdf(path) if path.is_dir() else str(path)]),
    ),
    "h5dump": ("h5dump", ("netcdf4",), ask_program(lambda path: ["h5dump", str(path)])),
    "zarr-python": (None, ("zarr2", "zarr3", "nczarr", "reference"), ask_zarr),
    "gdalinfo": (
        "gdalinfo",
        ("netcdf3", "netcdf4", "zarr2", "zarr3", "nczarr"),
        ask_program(lambda path: ["gdalinfo", "-checksum", str(path)]),
    ),
}
"""Program, formats that it reads, and what asks it, by name."""


def ask_peers(planted: list[Planted], folder: Path) -> dict[str, Counter[str]]:
    """Return how many damages of each kind a peer finds, and after `of ` how many it was asked for."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for peer, (program, forms, ask) in PEERS.items():
        if program is not None and shutil.which(program) is None:
            print(f"{peer} is not installed: it was not asked")
            continue
        for form in forms:
            sound = make(folder / f"{peer}-{form}{SUFFIXES.get(form, '.zarr')}", form, "zlib")
            ((is_refused, printed),) = ask([sound])
            if is_refused or (peer != "gdalinfo" and FIRST not in printed):
                print(f"{peer} does not read a sound {form} dataset: it was not asked for damaged ones")
                continue
            here = [each for each in planted if each.form == form]
            by_folder: dict[Path, list[Planted]] = defaultdict(list)
            for each in here:
                by_folder[each.path.parent].append(each)
            for group in by_folder.values():
                for each, (found, _) in zip(group, ask([one.path for one in group]), strict=True):
                    counts[peer][each.kind] += found
                    counts[peer][f"of {each.kind}"] += 1
    return counts


def is_found(each: Planted) -> bool:
    ran = run_command("check", "--data", str(each.path))
    is_note = each.code in ("unwritten-chunks", "odd-number")
    return (
        ran.status == (0 if is_note else 1)
        and (not each.code or f"[{each.code}]" in ran.err)
        and all(place in ran.err for place in each.places)
    )


def write_table(planted: list[Planted], counts: dict[str, Counter[str]], ours: Counter[str]) -> str:
    asked = Counter(each.kind for each in planted)
    lines = [f"| damage | nczarr | {' | '.join(counts)} |", "|---|---|" + "---|" * len(counts)]
    for kind, number in asked.items():
        cells = [f"{counts[peer][kind]} of {n}" if (n := counts[peer][f"of {kind}"]) else "" for peer in counts]
        lines.append(f"| {kind} | {ours[kind]} of {number} | {' | '.join(cells)} |")
    return "\n".join(lines)


@pytest.mark.slow
@pytest.mark.peer
def test_every_damage_is_found_at_its_place(tmp_path: Path, peer: Callable[[str], object]) -> None:
    peer("netCDF4"), peer("zarr"), peer("h5py")
    (tmp_path / "planted").mkdir()
    (tmp_path / "sound").mkdir()
    planted = list(list_planted(tmp_path / "planted"))
    assert len(planted) == 60
    missed = [each for each in planted if not is_found(each)]
    print(
        write_table(
            planted, ask_peers(planted, tmp_path / "sound"), Counter(e.kind for e in planted if e not in missed)
        )
    )
    assert not missed


@pytest.mark.slow
@pytest.mark.peer
@pytest.mark.parametrize("form", ["netcdf3", "netcdf4", "zarr2", "zarr3", "nczarr", "reference"])
@pytest.mark.parametrize("codec", ["none", "zlib", "checksum"])
def test_a_sound_dataset_passes(form: str, codec: str, tmp_path: Path, peer: Callable[[str], object]) -> None:
    peer("netCDF4"), peer("zarr"), peer("h5py")
    path = make(tmp_path / f"sound{SUFFIXES.get(form, '.zarr')}", form, codec, valid_range=[0.0, 1.0])
    ran = run_command("check", "--data", str(path))
    assert ran.status == 0, ran.err
    assert "error[" not in ran.err


@pytest.mark.peer
def test_numbers_that_no_member_of_an_enum_has(tmp_path: Path, peer: Callable[[str], object]) -> None:
    import numpy as np

    h5py = peer("h5py")
    with h5py.File(tmp_path / "e.nc", "w") as file:
        kind = h5py.enum_dtype({"no": 0, "yes": 1}, basetype="i1")
        file.create_dataset("flag", data=np.array([0, 1, 7, 1], "i1"), dtype=kind)
    ran = run_command("check", "--data", str(tmp_path / "e.nc"))
    assert ran.status == 1
    assert "the value 7 at (2) of `/flag`, in chunk (0), is no member of its enum" in ran.err
