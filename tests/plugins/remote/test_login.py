"""Logins of archives, tried against a stand-in with redirections, cookies and temporary credentials."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

import nczarr
from nczarr.api.handle import open_unchecked
from nczarr.diagnostics.secrets import StorageOptions
from nczarr.options import Following
from nczarr.plugins.remote import connection, login
from nczarr.plugins.remote.login import EARLY, add_credentials, add_login, limit_login
from nczarr.stores.ranges import BoundedCache
from nczarr.stores.reference_policy import Policy
from nczarr.stores.url import BadURLError, server_of
from tests.conftest import run_command
from tests.support.archive import PASSWORD, TOKEN, USER, Archive
from tests.support.ncml_files import write_ncml

CDL = "netcdf a { dimensions: x = 3 ; variables: int v(x) ; data: v = 1, 2, 3 ; }"


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Archive]:
    folder = tmp_path / "data"
    folder.mkdir()
    nczarr.convert(nczarr.from_cdl(CDL), folder / "a.nc")
    monkeypatch.delenv(login.TOKEN, raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "no-netrc"))
    monkeypatch.setattr(connection, "_shared", BoundedCache(8))  # cookies of other tests are for this host as well
    made = Archive(folder)
    yield made
    made.close()


@pytest.fixture
def netrc(tmp_path: Path, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "netrc"
    path.write_text(f"machine 127.0.0.1 login {USER} password {PASSWORD}\n")
    path.chmod(0o600)
    monkeypatch.setenv("NETRC", str(path))


def read(url: str, **options: Any) -> list[int]:
    with nczarr.open(url, storage_options={"retries": 0, **options}) as found:
        values: list[int] = found["v"][...].tolist()
    return values


@pytest.mark.parametrize("name", ["netrc", "earthdata"])
@pytest.mark.usefixtures("netrc")
def test_a_netrc_file_serves_the_host_that_asks(name: str, archive: Archive) -> None:
    assert read(f"{archive.data}/a.nc", login=name) == [1, 2, 3]
    logins = [authorization for host, path, authorization in archive.seen if path == "/oauth"]
    assert len(logins) == 1  # a cookie follows
    assert all(not authorization for host, _, authorization in archive.seen if host == "localhost")


@pytest.mark.parametrize("name", ["bearer", "earthdata"])
def test_a_token_goes_to_the_server_alone(name: str, archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    assert read(f"{archive.data}/stored/a.nc", login=name, token=TOKEN) == [1, 2, 3]
    assert {authorization for host, _, authorization in archive.seen if host == "localhost"} == {f"Bearer {TOKEN}"}
    assert {authorization for host, _, authorization in archive.seen if host == "127.0.0.1"} == {""}
    monkeypatch.setenv(login.TOKEN, TOKEN)
    assert read(f"{archive.data}/a.nc", login=name) == [1, 2, 3]


@pytest.mark.parametrize("name", ["bearer", "earthdata"])
def test_documents_name_no_servers_for_a_token(name: str, archive: Archive) -> None:
    place = f"{archive.login}/storage/a.nc"
    size = (archive.folder / "a.nc").stat().st_size
    array = {"zarr_format": 2, "shape": [size], "chunks": [size], "dtype": "|u1", "compressor": None, "filters": None,
             "fill_value": 0, "order": "C"}  # fmt: skip
    references = {".zgroup": '{"zarr_format": 2}', "v/.zarray": json.dumps(array), "v/.zattrs": "{}",
                  "v/0": [place, 0, size]}  # fmt: skip
    (archive.folder / "r.json").write_text(json.dumps({"version": 1, "refs": references}))
    write_ncml(archive.folder / "n.ncml", "", f'location="{place}"')
    assert bytes(read(f"{archive.data}/r.json", login=name, token=TOKEN)).startswith(b"CDF")
    assert read(f"{archive.data}/n.ncml", login=name, token=TOKEN) == [1, 2, 3]
    assert {authorization for host, _, authorization in archive.seen if host == "localhost"} == {f"Bearer {TOKEN}"}
    assert {authorization for host, _, authorization in archive.seen if host == "127.0.0.1"} == {""}
    roots = Following(roots=(archive.data, archive.login))
    options = {"login": name, "token": TOKEN}
    with open_unchecked(f"{archive.data}/r.json", storage_options=options, following=roots) as found:
        found["v"][...]
    assert {authorization for host, _, authorization in archive.seen if host == "127.0.0.1"} == {"", f"Bearer {TOKEN}"}


def test_secrets_of_headers_are_for_one_server() -> None:
    options = {"headers": {"Authorization": "Bearer t", "X-Api-Key": "k", "Accept": "x"}, "token_server": "http://a:80",
               "login": "bearer", "token": "t", "timeout": 3}  # fmt: skip
    assert limit_login(options, "http://b/x") == {"headers": {"Accept": "x"}, "timeout": 3}
    assert limit_login(options, "http://a/x") == {key: one for key, one in options.items() if key != "token_server"}
    assert limit_login({**options, "login": "earthdata"}, "http://a:81/x")["login"] == "netrc"
    limited = Policy("http://a/folder").limit_token(StorageOptions({"http.headers": {}}))
    assert limited["token_server"] == "http://a:80"
    assert limited.limit_token("http://b:80") is limited
    for home, roots in (("/folder", ()), ("http://a/folder", ("http://b",))):
        assert "token_server" not in Policy(home, Following(roots=roots)).limit_token(
            StorageOptions({"login": "netrc"})
        )


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("https://a.org/x?y", "https://a.org:443"),
        ("HTTP://user:word@A.org:80/", "http://a.org:80"),
        ("simplecache::http://[::1]:81/x", "http://::1:81"),
        ("http:///x", ""),
        ("http://a:port/x", ""),
    ],
)
def test_servers_of_urls(url: str, server: str) -> None:
    assert server_of(url) == server


def test_blanks_around_a_token_are_left_out() -> None:
    headers = add_login({"login": "bearer", "token": "t\n"})["client_kwargs"]["headers"]
    assert headers == {"Authorization": "Bearer t"}


def test_without_a_login_nothing_is_sent(archive: Archive, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(login.TOKEN, TOKEN)
    with pytest.raises(OSError, match=r"(?i)unauthorized|log in|401"):
        read(f"{archive.data}/a.nc")
    assert {authorization for _, _, authorization in archive.seen} == {""}


@pytest.mark.usefixtures("netrc")
def test_wrong_passwords_end_without_secrets(archive: Archive, tmp_path: Path) -> None:
    (tmp_path / "netrc").write_text(f"machine 127.0.0.1 login {USER} password other-words\n")
    ran = run_command(
        "info", f"{archive.data}/a.nc", "--storage-option", "login=netrc", "--storage-option", "retries=0"
    )
    assert ran.status == 3
    assert "other-words" not in ran.err
    ran = run_command("info", f"{archive.data}/a.nc", "--storage-option", "login=bearer")
    assert "`login=bearer` needs a token" in ran.err
    ran = run_command("info", f"{archive.data}/a.nc", "--storage-option", "login=oauth")
    assert "must be one of bearer, netrc, earthdata" in ran.err


def test_a_login_keeps_other_arguments() -> None:
    given = {"login": "bearer", "token": "t", "client_kwargs": {"headers": {"X": "1"}}, "block_size": 0}
    headers = {"X": "1", "Authorization": "Bearer t"}
    assert add_login(given) == {"block_size": 0, "client_kwargs": {"headers": headers}}
    assert given["login"] == "bearer"
    assert add_login({"token": "t"}) == {"token": "t"}


def document(seconds: float) -> bytes:
    end = datetime.fromtimestamp(time.time() + seconds, UTC).isoformat(sep=" ")
    return b'{"accessKeyId": "k", "secretAccessKey": "s", "sessionToken": "t", "expiration": "%s"}' % end.encode()


def test_credentials_are_kept_until_shortly_before_their_end() -> None:
    asked: list[tuple[str, dict[str, Any]]] = []

    def fetch(address: str, options: dict[str, Any]) -> bytes:
        asked.append((address, options))
        return document(EARLY + 60 if len(asked) > 1 else EARLY - 1)

    given = {"s3credentials": "https://archive/s3", "login": "netrc", "anon": False}
    for _ in range(3):
        arguments, end = add_credentials(given, fetch)
        assert arguments == {"anon": False, "key": "k", "secret": "s", "token": "t"}
    assert asked == [("https://archive/s3", {"login": "netrc"})] * 2
    assert 0 < end - time.time() <= 60
    assert add_credentials({"token": "session"}, fetch) == ({"token": "session"}, float("inf"))


@pytest.mark.parametrize("data", [b"<html>log in</html>", b"[]", b'{"accessKeyId": "k"}', b"\xff"])
def test_documents_without_credentials_are_refused(data: bytes) -> None:
    with pytest.raises(BadURLError, match="`https://other/s3` has no credentials"):
        add_credentials({"s3credentials": "https://other/s3"}, lambda address, options: data)


@pytest.mark.usefixtures("netrc")
def test_credentials_come_through_the_login(archive: Archive) -> None:
    from nczarr.diagnostics.secrets import StorageOptions
    from nczarr.plugins.remote.connection import FileConnection

    archive.credentials = {"accessKeyId": "k", "secretAccessKey": "s", "sessionToken": "t"}
    options = StorageOptions({"s3credentials": f"{archive.data}/s3credentials", "login": "netrc"})
    system = FileConnection("s3://bucket/a.nc", options).system
    assert (system.key, system.secret, system.token) == ("k", "s", "t")
    assert [path for _, path, _ in archive.seen] == ["/s3credentials", "/oauth", "/callback", "/s3credentials"]
