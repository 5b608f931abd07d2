"""Memory for sizes that a document declares: it is asked for before it is taken."""

from __future__ import annotations

import builtins
import io
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy
import pytest

import nczarr
from nczarr.arrays.lazy_numpy import np
from nczarr.stores import allowance, ranges


def _systems_files(monkeypatch: pytest.MonkeyPatch, texts: dict[str, str]) -> None:
    real = builtins.open

    def opened(path: Any, *arguments: Any, **named: Any) -> Any:
        if str(path).startswith(("/proc/meminfo", "/sys/fs/cgroup")):
            if path not in texts:
                raise FileNotFoundError(path)
            return io.StringIO(texts[path])
        return real(path, *arguments, **named)

    monkeypatch.setattr(builtins, "open", opened)


@pytest.mark.parametrize(
    ("texts", "free"),
    [
        ({}, sys.maxsize),
        ({"/proc/meminfo": "MemTotal: 9000 kB\nMemAvailable: 1000 kB\nSwapFree: 24 kB\nHugePages_Total: 0\n"}, 1 << 20),
        (
            {
                "/proc/meminfo": "MemAvailable: 1000000 kB\n",
                "/sys/fs/cgroup/memory.max": "5000\n",
                "/sys/fs/cgroup/memory.current": "4000\n",
                "/sys/fs/cgroup/memory.stat": "anon 900\nactive_file 1000\ninactive_file 500\n",
            },
            2500,
        ),
        (
            {
                "/proc/meminfo": "MemAvailable: 10 kB\n",
                "/sys/fs/cgroup/memory.max": "max\n",
                "/sys/fs/cgroup/memory.current": "4000\n",
                "/sys/fs/cgroup/memory.stat": "anon 900\n",
            },
            10240,
        ),
        (
            {
                "/sys/fs/cgroup/memory/memory.limit_in_bytes": "5000\n",
                "/sys/fs/cgroup/memory/memory.usage_in_bytes": "6000\n",
                "/sys/fs/cgroup/memory/memory.stat": "cache 10\n",
            },
            0,
        ),
    ],
    ids=["unknown", "system", "container", "container without a limit", "container of the first version"],
)
def test_free_memory(texts: dict[str, str], free: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files in memory are free: the system drops them."""
    _systems_files(monkeypatch, texts)
    assert allowance.find_free_memory() == free


@pytest.mark.parametrize(
    "make",
    [
        lambda: np.empty(1 << 26),
        lambda: np.zeros((1 << 13, 1 << 13), "<f8"),
        lambda: np.ones([1 << 26], dtype=np.float64),
        lambda: np.full((1 << 26,), 1.0, np.dtype("<f8")),
        lambda: np.empty((), "S536870912"),
        lambda: np.empty(np.int64(1 << 26), float),
    ],
)
def test_large_arrays_ask_for_room(make: Callable[[], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(allowance, "find_free_memory", lambda: 1 << 28)
    with pytest.raises(MemoryError, match="536870912 bytes are needed at once, and 268435456 are free"):
        make()


def test_arrays_are_those_of_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        allowance, "find_free_memory", lambda: pytest.fail("the free memory was looked up for a small array")
    )
    for ours, theirs in (
        (np.zeros((2, 3), "i2", order="F"), numpy.zeros((2, 3), "i2", order="F")),
        (np.full(3, b"a", "S2"), numpy.full(3, b"a", "S2")),
        (np.full((), 1.5), numpy.full((), 1.5)),
        (np.ones([2], bool), numpy.ones([2], bool)),
        (np.zeros(0, object), numpy.zeros(0, object)),
    ):
        assert (ours.dtype, ours.shape, ours.strides) == (theirs.dtype, theirs.shape, theirs.strides)
        assert numpy.array_equal(ours, theirs)


def test_ranges_beyond_a_file_take_no_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").write_bytes(b"abc")
    with pytest.raises(OSError, match="the file ends before byte 1152921504606846976"):
        ranges.read_places(str(tmp_path / "a"), [(0, 1 << 60)])


def test_a_reader_without_room_says_how_much_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    schema = "netcdf a { dimensions: x = 70000000 ; variables: double v(x) ; }"
    nczarr.write(nczarr.from_cdl(schema), tmp_path / "a.zarr")
    monkeypatch.setattr(allowance, "find_free_memory", lambda: 1 << 28)
    with nczarr.open(tmp_path / "a.zarr") as dataset:
        with pytest.raises(MemoryError, match="560000000 bytes are needed at once, and 268435456 are free"):
            dataset["v"][:]
        assert dataset["v"][5:7].shape == (2,)
