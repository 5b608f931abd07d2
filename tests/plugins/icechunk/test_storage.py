"""Our storage options as those of icechunk."""

from __future__ import annotations

import pytest

from nczarr.diagnostics.secrets import StorageOptions
from nczarr.plugins.icechunk import repositories
from nczarr.plugins.icechunk.library import explain, failure
from nczarr.stores.url import BadURLError, Repository
from tests.support.repositories import icechunk


def test_options_of_s3(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    given = repositories.select_options(
        "s3",
        {"key": "k", "secret": "s", "retries": 3, "gs.token": "t", "s3.key": "own",
         "client_kwargs": {"region_name": "eu-west-1", "endpoint_url": "http://h:1"}},
    )  # fmt: skip
    assert given == {"key": "own", "secret": "s", "region_name": "eu-west-1", "endpoint_url": "http://h:1"}
    assert repositories._s3_credentials(given) == {"access_key_id": "own", "secret_access_key": "s"}
    assert repositories._s3(given) == {
        "region": "eu-west-1", "endpoint_url": "http://h:1", "allow_http": True, "force_path_style": True
    }  # fmt: skip
    assert repositories._s3({}) == {}
    assert repositories._s3_credentials({"anon": True, "key": "k"}) == {"anonymous": True}
    assert repositories._s3_credentials({}) == {"from_env": True}


def test_every_place_has_a_storage() -> None:
    icechunk()
    options = StorageOptions({"az.account_name": "a", "az.account_key": "aGk="})
    for place in ("/data/r", "s3://b/r", "s3://b", "gs://b/r", "az://c/r", "memory://r"):
        assert repositories.storage_of(Repository("icechunk", place), options) is not None
    assert repositories.storage_of(Repository("icechunk", "memory://r"), options) is repositories.storage_of(
        Repository("icechunk", "memory://r"), options
    )
    repositories.forget(Repository("icechunk", "memory://r"))


@pytest.mark.parametrize(
    ("place", "options", "text"),
    [
        ("ftp://h/r", {}, "has no repositories at `ftp://`"),
        ("s3://b/r", {"use_ssl": False}, "no storage option `use_ssl`"),
        ("gs://b/r", {"project": "p"}, "no storage option `project`"),
        ("az://c/r", {}, "`account_name`"),
    ],
)
def test_what_icechunk_cannot_do(place: str, options: dict[str, object], text: str) -> None:
    icechunk()
    with pytest.raises(BadURLError, match=text):
        repositories.storage_of(Repository("icechunk", place), StorageOptions(options))


def test_credentials_never_go_to_a_server_that_the_repository_names(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without options of the reader the server of the container is asked anonymously."""
    ice = icechunk()
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    own = ice.s3_store(region="us-east-1", endpoint_url="http://elsewhere")
    store, credentials = repositories.store_and_credentials("s3://b/", StorageOptions(), own)
    assert store is own
    assert "Anonymous" in type(credentials._0).__name__
    store, credentials = repositories.store_and_credentials("s3://b/", StorageOptions({"key": "k", "secret": "s"}), own)
    assert (store is own, store._0.endpoint_url) == (False, None)
    assert "Static" in type(credentials._0).__name__
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://elsewhere")
    store, credentials = repositories.store_and_credentials("s3://b/", StorageOptions(), own)
    assert (store._0.endpoint_url, store._0.region) == ("http://elsewhere", "us-east-1")
    assert "Env" in type(credentials._0).__name__
    plain = ice.s3_store(region="eu-west-1")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    store, credentials = repositories.store_and_credentials("s3://b/", StorageOptions(), plain)
    assert (store._0.endpoint_url, store._0.region) == (None, "eu-west-1")
    assert "Env" in type(credentials._0).__name__


class IcechunkError(Exception):
    """An error as the library raises it."""


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("the repository doesn't exist\n\ncontext:\n   0: icechunk::open\n", "the repository doesn't exist"),
        (
            "  x error fetching virtual reference\n  | \n  | context:\n  |    0: icechunk::store::get\n  | \n"
            "  |-> error fetching virtual reference\n  |-> Object at x not found\n  `-> No such file\n",
            "error fetching virtual reference: No such file",
        ),
        ("bad key prefix (meta): only x and y", "bad key prefix (meta): only x and y"),
        ("  x a long text is\n  | folded\n  | \n  | context:\n  |   0: y\n  `-> a long text is\n      folded\n",
         "a long text is folded"),
    ],
)  # fmt: skip
def test_reasons(text: str, wanted: str) -> None:
    assert explain(IcechunkError(text)) == wanted


def test_secrets_stay_out_of_errors() -> None:
    error = failure(IcechunkError("bad key hunter22 at s3://user@b"), "s3://b", StorageOptions({"secret": "hunter22"}))
    assert "hunter22" not in str(error)
    assert "user@" not in str(error)
