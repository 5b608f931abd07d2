"""Paths and netCDF URLs as places."""

from __future__ import annotations

import pytest

from nczarr import registry
from nczarr.stores.url import BadURLError, Location, is_remote, location, trim, untidy


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
    ("text", "path", "modes", "server"),
    [
        ("s3://b/k", "s3://b/k", set(), None),
        ("s3://b/k#1", "s3://b/k#1", set(), None),
        ("s3://b/k#1#mode=zarr,s3", "s3://b/k#1", {"zarr", "s3"}, None),
        ("zip::s3://b/x.zip", "zip::s3://b/x.zip", set(), None),
        ("S3://B/K", "s3://B/K", set(), None),
        ("Zip::S3://b/x.zip", "zip::s3://b/x.zip", set(), None),
        ("s3://b/A::B", "s3://b/A::B", set(), None),
        ("zip://a.nc::https://h/x.zip", "zip://a.nc::https://h/x.zip", set(), None),
        ("https://h:9/b/k%201#mode=nczarr,s3", "s3://b/k 1", {"nczarr", "s3"}, "https://h:9"),
        ("https://b.s3.us-east-1.amazonaws.com/k#mode=s3", "s3://b/k", {"s3"}, None),
        ("https://s3.us-east-1.amazonaws.com/b/k#mode=s3", "s3://b/k", {"s3"}, None),
    ],
)
def test_urls_that_lead_to_no_file(text: str, path: str, modes: set[str], server: str | None) -> None:
    assert location(text) == Location(path, frozenset(modes), remote=True, server=server)
    assert is_remote(text)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("s3://b/k#mode=nczar", "unknown mode `nczar`"),
        ("https://h/#mode=s3", "names no bucket"),
        ("s3://", "names no bucket"),
        ("s3:///k", "names no bucket"),
        ("simplecache::gs://", "names no bucket"),
        ("file://", "no path"),
        ("file:///a%00b", "no path"),
        ("file:///a#mode=nczar", "unknown mode `nczar`"),
        ("file:///a#mode=", "unknown mode ``"),
        ("file:///a#bytes", "`bytes` follows `#`"),
        ("file:///a#mode=zip,file", "exclude each other"),
    ],
)
def test_urls_that_are_none(text: str, reason: str) -> None:
    with pytest.raises(BadURLError, match=reason):
        location(text)


def test_pure_zarr_is_said_beside_nczarr() -> None:
    assert registry.of_modes(location("file:///a#mode=nczarr,zarr").modes) == "zarr2"
    assert registry.of_modes(location("file:///a#mode=nczarr").modes) == "nczarr"
    assert registry.of_modes(location("file:///a#mode=file").modes) is None


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a/", "a"),
        ("/", "/"),
        ("a:/", "a:"),
        ("memory://", "memory://"),
        ("memory:///", "memory:///"),
        ("s3://b/k//", "s3://b/k"),
    ],
)
def test_slashes_at_the_end(text: str, path: str) -> None:
    assert trim(text) == path


@pytest.mark.parametrize(
    ("text", "tidy"),
    [
        ("s3://b/k.zarr", True),
        ("memory:///k.zarr", True),
        ("memory://", True),
        ("s3://b//k.zarr", False),
        ("s3://b/a//k.zarr", False),
        ("s3://b/a/../k.zarr", False),
        ("simplecache::s3://b/./k.zarr", False),
    ],
)
def test_keys_that_stores_take_differently(text: str, tidy: bool) -> None:
    assert (untidy(text) is None) == tidy
