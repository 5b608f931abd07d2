"""A served file in which the HDF5 library hangs or crashes is answered in time, and harms no other file."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

from nczarr.plugins.serve.helpers import Helpers
from nczarr.plugins.serve.resources import Limits
from tests.support.hanging_file import hanging
from tests.support.library import library
from tests.support.serving import serving

h5py = library("h5py")

OBJECT_SIZE = 24
"""Where the size of the first object of a global heap stands behind its signature."""

DAMAGED = "a global heap is damaged"
"""Reason of refusals."""


def hanging_text(path: Path) -> Path:
    """Make a file whose heap of texts has an object of no length: HDF5 never comes to the next one."""
    with h5py.File(path, "w") as file:
        file.create_dataset("s", data=np.array(["abc", "defgh"], object), dtype=h5py.string_dtype())
        file["n"] = [1, 2]
    data = bytearray(path.read_bytes())
    data[data.index(b"GCOL") + OBJECT_SIZE] = 0
    path.write_bytes(data)
    return path


@pytest.mark.slow
def test_headers_that_hang_are_answered_in_time(tmp_path: Path) -> None:
    hanging(tmp_path / "bad.h5")
    with h5py.File(tmp_path / "good.h5", "w") as file:
        file["v"] = [1, 2, 3]
    os.utime(tmp_path / "bad.h5", (0, 0))  # else it may be incomplete
    with serving(tmp_path, "--timeout", "8") as served:
        assert served.get("/zarr3/good.h5/v/zarr.json").status == 200
        for _ in range(2):
            begun = time.monotonic()
            refused = served.get("/zarr3/bad.h5/zarr.json")
            assert (refused.status, time.monotonic() - begun < 9) == (422, True)
            assert "a local heap is damaged" in refused.text
        with h5py.File(tmp_path / "late.h5", "w") as file:
            file["v"] = [1, 2, 3]
        assert served.get("/zarr3/late.h5/v/zarr.json").status == 200
        assert served.end() == 0


@pytest.mark.slow
def test_values_that_hang_are_answered_in_time(tmp_path: Path) -> None:
    hanging_text(tmp_path / "bad.h5")
    with h5py.File(tmp_path / "good.h5", "w") as file:
        file.create_dataset("s", data=np.array(["abc", "defgh"], object), dtype=h5py.string_dtype())
    with serving(tmp_path, "--timeout", "8") as served:
        for _ in range(2):
            refused = served.get("/zarr3/bad.h5/s/c/0")
            assert (refused.status, DAMAGED in refused.text) == (422, True)
            refused = served.get("/dap4/bad.h5.dap?dap4.ce=/s")
            assert (refused.status, DAMAGED in refused.text, "<Error" in refused.text) == (422, True, True)
            assert served.get("/zarr3/good.h5/s/c/0").status == 200


def _crash(path: str) -> None:
    os.kill(os.getpid(), signal.SIGSEGV)


def _fail(path: str) -> None:
    raise KeyError(path)


@pytest.mark.slow
def test_a_crash_ends_a_helper_alone(tmp_path: Path) -> None:
    bad, good = tmp_path / "bad", tmp_path / "good"
    for path in (bad, good):
        path.touch()
    helpers = Helpers(Limits(timeout=30))
    try:
        for _ in range(2):
            with pytest.raises(OSError, match="crashed"):
                helpers.call(str(bad), _crash, str(bad))
        assert helpers.call(str(good), os.path.basename, str(good)) == "good"
        with pytest.raises(KeyError):
            helpers.call(str(good), _fail, str(good))
        bad.write_text("another file")
        assert helpers.call(str(bad), os.path.basename, str(bad)) == "bad"
    finally:
        helpers.close()


@pytest.mark.slow
def test_a_call_of_a_helper_is_cheap(tmp_path: Path) -> None:
    helpers = Helpers(Limits())
    try:
        helpers.call(str(tmp_path), os.path.basename, "a")
        times = []
        for _ in range(50):
            begun = time.perf_counter()
            helpers.call(str(tmp_path), os.path.basename, "a")
            times.append(time.perf_counter() - begun)
        assert min(times) < 0.005
    finally:
        helpers.close()
