"""Paths and netCDF URLs as places."""

from __future__ import annotations

import pytest

from nczarr.stores.url import BadURLError, Location, location


@pytest.mark.parametrize("text", ["a.nc", "/p/a#mode=zarr", "C:x", "a b.zarr", "-", "./s3://x", "a:b"])
def test_what_has_no_scheme_is_a_path(text: str) -> None:
    assert location(text) == Location(text)


@pytest.mark.parametrize(
    ("text", "path", "modes"),
    [
        ("file:///p/x.zarr", "/p/x.zarr", set()),
        ("file:///p/x.zarr#mode=nczarr,file", "/p/x.zarr", {"nczarr", "file"}),
        ("file:///p/x.zarr#mode=zarr&mode=consolidated", "/p/x.zarr", {"zarr", "consolidated"}),
        ("FILE://localhost/p/x%20y", "/p/x y", set()),
        ("file://t.nc", "t.nc", set()),
        ("file:///p/x#", "/p/x", set()),
        ("file:///p/50%25", "/p/50%", set()),
    ],
)
def test_urls(text: str, path: str, modes: set[str]) -> None:
    assert location(text) == Location(path, frozenset(modes))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("s3://b/k", "leads to no file"),
        ("file://", "no path"),
        ("file:///a%00b", "no path"),
        ("file:///a#mode=nczar", "no mode `nczar`"),
        ("file:///a#mode=", "no mode ``"),
        ("file:///a#bytes", "`bytes` stands behind"),
        ("file:///a#mode=zip,file", "exclude each other"),
    ],
)
def test_urls_that_are_none(text: str, reason: str) -> None:
    with pytest.raises(BadURLError, match=reason):
        location(text)


def test_pure_zarr_is_said_beside_nczarr() -> None:
    assert location("file:///a#mode=nczarr,zarr").format == "zarr2"
    assert location("file:///a#mode=nczarr").format == "nczarr"
    assert location("file:///a#mode=file").format is None
