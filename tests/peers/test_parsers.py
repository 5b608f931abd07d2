"""Parsers of VirtualiZarr as sources: GRIB, TIFF, HDF4 and FITS, beside zarr-python and the libraries of these formats.

Truth is what zarr-python reads of the same manifests, and where a library of the format decodes values itself, that.
`NCZARR_SEEDS` names a folder with GRIB files, such as those of cfgrib's source distribution.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from nczarr.refs import Writing

import nczarr
from tests.conftest import missing_peer
from tests.support.peers.parsing import FILES, make_seeds

pytestmark = [
    pytest.mark.peer,
    pytest.mark.skipif(sys.version_info < (3, 12), reason="VirtualiZarr's parsers need Python 3.12"),
    pytest.mark.filterwarnings("ignore"),
]


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a TIFF file for each compression, HDF4 and FITS files."""
    folder = tmp_path_factory.mktemp("seeds")
    try:
        import kerchunk  # noqa: F401
        import virtual_tiff  # noqa: F401

        make_seeds(folder)
    except ImportError as error:
        missing_peer(error.name or "virtual-tiff")
    return folder


@pytest.fixture(scope="module")
def registry() -> Any:
    try:
        from obspec_utils.registry import ObjectStoreRegistry
        from obstore.store import LocalStore
    except ImportError:
        missing_peer("virtualizarr")
    return ObjectStoreRegistry({"file://": LocalStore()})


LINKED = Writing(metadata="zarr3", inline=0)


def parse(path: Path, parser: str) -> Any:
    from nczarr.plugins.virtualizarr.manifests import parse_source

    return parse_source(str(path), parser)


def truth_of(manifest: Any) -> dict[str, Any]:
    """Values that zarr-python reads of a store of manifests, by path; an error where it cannot."""
    import zarr

    values: dict[str, Any] = {}
    for path, member in zarr.open_group(manifest, mode="r").members(max_depth=None):
        if isinstance(member, zarr.Array):
            try:
                values[f"/{path}"] = member[...]
            except Exception as error:
                values[f"/{path}"] = error
    return values


def same(one: Any, other: Any) -> bool:
    one, other = np.asarray(one), np.asarray(other)
    if other.dtype.kind in "iuf":
        return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=other.dtype.kind == "f")
    return one.reshape(-1).tolist() == other.reshape(-1).tolist()


def targets(source: Any, folder: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Write a dataset in every kind of format; yield name of the kind and what is read back."""
    for kind, path, options in (
        ("netcdf", folder / f"{name}.nc", {}),
        ("zarr", folder / f"{name}.zarr", {"format": "zarr3"}),
        (
            "references",
            folder / f"{name}.json",
            {"format": "reference", "writing": Writing(metadata="zarr3", inline=0)},
        ),
    ):
        done = nczarr.convert(source, path, allow_loss="all", **options)
        if kind == "references":
            assert done.transcoded_chunks == done.rechunked_chunks == 0
        yield kind, nczarr.open(path)


@pytest.mark.parametrize("name", sorted(FILES))
def test_files_of_other_formats(name: str, seeds: Path, tmp_path: Path) -> None:
    manifest = parse(seeds / name, FILES[name])
    truth = truth_of(manifest)
    assert truth
    with nczarr.open(manifest) as found:
        assert set(found) == set(truth)
        for path, values in truth.items():
            assert not isinstance(values, Exception), path
            assert same(found[path][...], values), path
        for kind, written in targets(found, tmp_path, name):
            for path, values in truth.items():
                assert same(written[path][...], values), (kind, path)
            written.close()


@pytest.mark.parametrize("name", sorted(name for name in FILES if name.endswith(".tif")))
def test_values_of_tiff_are_those_of_tifffile(name: str, seeds: Path) -> None:
    import tifffile

    with nczarr.open(parse(seeds / name, FILES[name])) as found:
        assert same(found["/0"][...], tifffile.imread(seeds / name))


def test_values_of_hdf4_are_those_of_pyhdf(seeds: Path) -> None:
    from pyhdf.SD import SD

    with nczarr.open(parse(seeds / "deflate.hdf", FILES["deflate.hdf"])) as found:
        file = SD(str(seeds / "deflate.hdf"))
        for path in ("/short", "/ubyte"):
            assert same(found[path][...], file.select(path[1:])[:]), path


def test_values_of_fits_are_those_of_astropy(seeds: Path) -> None:
    from astropy.io import fits

    with nczarr.open(parse(seeds / "a.fits", FILES["a.fits"])) as found, fits.open(seeds / "a.fits") as file:
        assert np.array_equal(found["/PRIMARY"][...], file[0].data)
        assert np.array_equal(found["/SCI"][...], file["SCI"].data)


def list_gribs() -> list[Path]:
    folder = os.environ.get("NCZARR_SEEDS")
    return sorted(Path(folder).glob("*.grib*")) if folder else []


@pytest.mark.parametrize("largest", [1 << 20, pytest.param(1 << 30, marks=pytest.mark.slow)])
def test_grib(largest: int, tmp_path: Path) -> None:
    """Files up to a size: cfgrib takes ten seconds for one of a megabyte."""
    try:
        import cfgrib
        import gribberish  # noqa: F401
    except ImportError as error:
        missing_peer(error.name or "gribberish")
    if not list_gribs():
        missing_peer("GRIB files (NCZARR_SEEDS names their folder)")
    read = compared = by_cfgrib = 0
    for path in (each for each in list_gribs() if each.stat().st_size <= largest):
        try:
            manifest = parse(path, "gribberish.virtualizarr:GribberishParser")
        except Exception:  # files that gribberish does not know
            continue
        truth = truth_of(manifest)
        sound = {name: values for name, values in truth.items() if not isinstance(values, Exception)}
        with nczarr.open(manifest) as found:
            assert set(found) == set(truth), path.name
            for name, values in sound.items():
                assert same(found[name][...], values), (path.name, name)
                compared += 1
            if len(sound) == len(truth):
                for kind, written in targets(found, tmp_path, path.name):
                    for name, values in sound.items():
                        assert same(written[name][...], values), (path.name, kind, name)
                    written.close()
            by_cfgrib += count_alike(sound, path, cfgrib)
        read += 1
    assert read >= 18
    assert compared >= 50
    assert by_cfgrib >= 10


def count_alike(truth: dict[str, Any], path: Path, cfgrib: Any) -> int:
    """The number of variables with all the values that cfgrib decodes, in single precision."""
    try:
        others = cfgrib.open_datasets(str(path), indexpath="")
    except Exception:  # files that cfgrib does not know
        return 0
    ours = [values.astype("f4") for values in truth.values() if values.dtype.kind == "f"]
    count = 0
    for other in others:
        for variable in other.data_vars.values():
            values = np.asarray(variable.values, "f4")
            alike = (mine for mine in ours if mine.size == values.size)
            count += any(
                np.allclose(np.sort(mine, None), np.sort(values, None), rtol=1e-5, equal_nan=True) for mine in alike
            )
    return count


def test_a_dataset_of_manifests(registry: Any, tmp_path: Path) -> None:
    import xarray
    from virtualizarr import open_virtual_dataset
    from virtualizarr.parsers import HDFParser

    times = np.array(["2000-01-01", "2000-01-02", "2000-01-03"], "M8[ns]")
    original = xarray.Dataset(
        {"t": (("time", "x"), np.arange(300.0).reshape(3, 100), {"units": "K"}), "n": ("x", np.arange(100))},
        coords={"time": times, "lat": ("x", np.arange(100) / 4)},
        attrs={"title": "z"},
    )
    original.to_netcdf(tmp_path / "v.nc", encoding={"t": {"chunksizes": (1, 100), "zlib": True}})
    url = (tmp_path / "v.nc").as_uri()
    virtual = open_virtual_dataset(url, registry=registry, parser=HDFParser(), loadable_variables=["time"])
    with nczarr.open(virtual) as found:
        done = nczarr.convert(found, tmp_path / "v.json", writing=Writing(inline=0))
        assert done.referenced_chunks == 5
        assert found["/t"][2, 99] == 299
    with xarray.open_dataset(tmp_path / "v.json", engine="nczarr") as read:
        xarray.testing.assert_identical(read.load(), original)
    twice = xarray.concat([virtual, virtual], dim="time", coords="minimal", compat="override", join="override")
    with nczarr.open(twice) as found:
        assert found["/t"].shape == (6, 100)
        assert found["/t"][5].tolist() == original.t.values[2].tolist()
    with pytest.raises(ValueError, match="`t/x` has a `/`"):
        nczarr.open(virtual.rename(t="t/x"))


def test_the_command(seeds: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "nczarr", "convert", str(seeds / "lzw.tif"), str(tmp_path / "a.zarr")]

    def run(parser: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*command, "--parser", parser], capture_output=True, text=True, check=False)

    refused = run("virtual_tiff:VirtualTIF")
    assert refused.returncode == 1
    assert "error[unusable-parser]" in refused.stderr
    assert "did you mean `VirtualTIFF`?" in refused.stderr
    assert not (tmp_path / "a.zarr").exists()
    assert run("virtual_tiff:VirtualTIFF(ifd=0)").returncode == 0
    import tifffile

    with nczarr.open(tmp_path / "a.zarr") as written:
        assert same(written["/0"][...], tifffile.imread(seeds / "lzw.tif"))


def test_targets_of_append_are_not_parsed(tmp_path: Path) -> None:
    import xarray

    for name, first in (("a.nc", 0), ("b.nc", 2)):
        xarray.Dataset({"v": ("x", np.arange(first, first + 2))}).to_netcdf(tmp_path / name)
    parser = ["--parser", "virtualizarr.parsers:HDFParser"]

    def run(*words: str) -> None:
        command = [sys.executable, "-m", "nczarr", *words, *parser]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr

    run("convert", "a.nc", "all.zarr")
    run("append", "b.nc", "all.zarr", "--along", "x")
    run("refs", "combine", "a.nc", "-o", "all.json", "--along", "x")
    run("refs", "append", "all.json", "b.nc", "--along", "x")
    for target in ("all.zarr", "all.json"):
        with nczarr.open(tmp_path / target) as dataset:
            assert dataset["/v"][...].tolist() == [0, 1, 2, 3]


def test_places_of_local_files(tmp_path: Path, seeds: Path) -> None:
    from nczarr.plugins.virtualizarr.manifests import ParserFaultError

    place = tmp_path / "a folder" / "ü.tif"
    place.parent.mkdir()
    place.write_bytes((seeds / "lzw.tif").read_bytes())
    import tifffile

    nczarr.convert(nczarr.open(parse(place, "virtual_tiff:VirtualTIFF(ifd=0)")), tmp_path / "a.json", writing=LINKED)
    with nczarr.open(tmp_path / "a.json") as dataset:
        assert same(dataset["/0"][...], tifffile.imread(place))
    encoded = place.rename(place.with_name("a%20b.tif"))
    with pytest.raises(ParserFaultError, match="%"):
        parse(encoded, "virtual_tiff:VirtualTIFF(ifd=0)")


def test_errors_of_parsers_are_those_of_the_parser(seeds: Path) -> None:
    from nczarr.plugins.virtualizarr.manifests import ParserFaultError

    with pytest.raises(ParserFaultError, match="FITSParser"):
        parse(seeds / "lzw.tif", "virtualizarr.parsers:FITSParser")
    with pytest.raises(FileNotFoundError):
        parse(seeds / "missing.tif", "virtualizarr.parsers:FITSParser")
