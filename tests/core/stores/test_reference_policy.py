"""Which targets a reference may name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nczarr.options import Following
from nczarr.stores.reference_policy import ForbiddenTargetError, Policy


def test_a_relative_url_begins_in_the_folder_of_the_document() -> None:
    assert Policy("/data/sets").follow("x/a.nc").path == "/data/sets/x/a.nc"
    assert Policy("s3://b/sets").follow("x/a.nc").url == "s3://b/sets/x/a.nc"
    assert Policy("/data", Following(base="s3://b/d")).follow("a.nc").url == "s3://b/d/a.nc"
    assert Policy("s3://b/sets", Following(base="/data")).follow("a.nc").path == "/data/a.nc"


@pytest.mark.parametrize("home", ["/data/sets", "s3://b/sets", "https://h/sets"])
@pytest.mark.parametrize("url", ["../a.nc", "x/../../a.nc", "../sets2/a.nc", "..", "../../../../a.nc"])
def test_a_relative_url_stays_below_it(home: str, url: str) -> None:
    with pytest.raises(ForbiddenTargetError, match="is outside the folder of the document"):
        Policy(home).follow(url)


def test_files_may_be_named_by_documents_of_this_machine_alone() -> None:
    for url in (
        "/data/a.nc",
        "file:///data/a.nc",
        "file://localhost/data/a.nc",
        "local:///data/a.nc",
        "FILE:///data/a.nc",
    ):
        assert Policy("/elsewhere").follow(url).path == "/data/a.nc"
        for home in ("s3://b", "https://h/d", "memory://d"):
            with pytest.raises(ForbiddenTargetError, match="is a local file"):
                Policy(home).follow(url)


@pytest.mark.parametrize(
    "url",
    ["sftp://h/a.nc", "github://a", "zip::s3://b/a.zip", "simplecache::s3://b/a", "ftp://h/a", "http://x::file:///a"],
)
def test_other_protocols_have_to_be_allowed(url: str) -> None:
    with pytest.raises(ForbiddenTargetError, match=r"uses the protocol|chain of protocols"):
        Policy("/d").follow(url)
    root = url.partition("://")[0] + "://"
    assert Policy("/d", Following(roots=(root,))).follow(url).url == url


def test_what_lies_below_no_root_may_not_be_named(tmp_path: Path) -> None:
    policy = Policy("/d", Following(roots=("s3://b/x", "https://h", str(tmp_path))))
    allowed = ["s3://b/x/a", "s3://b/x", "https://h/a", f"{tmp_path}/a.nc"]
    refused = ["s3://b/xy", "s3://b/x/../y", "s3://c/x/a", "http://h/a", "https://hh/a", f"{tmp_path}2/a.nc", "a.nc"]
    for url in allowed:
        policy.follow(url)
    for url in refused:
        with pytest.raises(ForbiddenTargetError, match="is outside all allowed roots"):
            policy.follow(url)


def test_a_link_out_of_a_root_is_no_way(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "secret").write_bytes(b"x")
    os.symlink(tmp_path / "secret", tmp_path / "in" / "link")
    with pytest.raises(ForbiddenTargetError):
        Policy(str(tmp_path / "in"), Following(roots=(str(tmp_path / "in"),))).follow("link")


def test_a_reference_without_url_leads_to_what_the_reader_gave() -> None:
    assert Policy("/d", Following(target="/x/a.nc")).follow(None).path == "/x/a.nc"
    with pytest.raises(ForbiddenTargetError, match="names no target"):
        Policy("/d").follow(None)


def test_percent_signs_are_of_the_name_where_there_is_such_a_file(tmp_path: Path) -> None:
    (tmp_path / "a%20b.nc").write_bytes(b"")
    (tmp_path / "c d.nc").write_bytes(b"")
    policy = Policy(str(tmp_path))
    assert policy.follow(f"file://{tmp_path}/a%20b.nc").path == str(tmp_path / "a%20b.nc")
    assert policy.follow(f"file://{tmp_path}/c%20d.nc").path == str(tmp_path / "c d.nc")


@pytest.mark.parametrize("url", ["", "a\0b"])
def test_what_is_no_url(url: str) -> None:
    with pytest.raises(ForbiddenTargetError):
        Policy("/d").follow(url)


@pytest.mark.parametrize("url", ["a\ud800.nc", "file:///a%00b.nc"])
def test_what_is_no_name_of_a_file(url: str, tmp_path: Path) -> None:
    for roots in ((), (str(tmp_path),)):
        with pytest.raises(ForbiddenTargetError, match=r"a lone surrogate|NUL"):
            Policy("/d", Following(roots=roots)).follow(url)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil/../h/d/a.nc",
        "https://evil?/../h/d/a.nc",
        "https://h/secret?/../d/a.nc",
        "https://h/secret#/../d/a.nc",
        "https://h/secret/../d/a.nc",
        "https://h/d/%2e%2e/a.nc",
        "https://h/d/..%2Fa.nc",
        "https://h/d/..\\a.nc",
        "https://evil\\@h/d/a.nc",
        "https://h@evil/d/a.nc",
        "s3://evil/../b/x/a.nc",
        "s3://b/y/../x/a.nc",
    ],
)
def test_no_spelling_of_a_url_leaves_a_root(url: str) -> None:
    with pytest.raises(ForbiddenTargetError, match="is outside all allowed roots"):
        Policy("/d", Following(roots=("https://h/d", "s3://b/x"))).follow(url)


@pytest.mark.parametrize("url", ["%2e%2e/a.nc", "x/..%2f..%2fa.nc", "..\\a.nc"])
def test_no_spelling_of_a_relative_url_leaves_a_web_folder(url: str) -> None:
    with pytest.raises(ForbiddenTargetError, match="is outside the folder of the document"):
        Policy("https://h/d").follow(url)


def test_a_query_is_no_part_of_the_path() -> None:
    policy = Policy("/d", Following(roots=("https://h/my%20d", "s3://b/x")))
    for url in ("https://h/my%20d/a.nc?key=/../../b", "https://h/my%20d/a%2eb.nc", "s3://b/x/%2e%2e/a.nc"):
        assert policy.follow(url).url == url
