"""Texts that name a revision of a repository."""

from __future__ import annotations

import pytest

from nczarr.stores.url import BadURLError, Location, Repository, is_remote, location


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("icechunk:repo", Repository("icechunk", "repo")),
        ("icechunk:/a/repo/", Repository("icechunk", "/a/repo")),
        ("Icechunk:file:///a/re%20po#tag=v1", Repository("icechunk", "/a/re po", "tag", "v1")),
        ("icechunk:s3://b/r#snapshot=ABC", Repository("icechunk", "s3://b/r", "snapshot", "ABC")),
        ("icechunk:a#b#branch=x/y=z", Repository("icechunk", "a#b", "branch", "x/y=z")),
    ],
)
def test_repositories(text: str, wanted: Repository) -> None:
    found = location(text)
    assert found == Location(text, remote=True, repository=wanted, kind="icechunk")
    assert is_remote(text)
    assert location(location(wanted.text).repository.text) == location(wanted.text)  # type: ignore[union-attr]


@pytest.mark.parametrize("text", ["icechunk:", "icechunk:#branch=x", "icechunk:r#branch=", "icechunk:r#x", "icechunk:s3://",
                                  "icechunk:file:///r#mode=zarr", "icechunk:zip::s3://b/x"])  # fmt: skip
def test_places_that_are_no_repositories(text: str) -> None:
    with pytest.raises(BadURLError):
        location(text)
