"""Storage of repositories, and stores and credentials of the chunks that they refer to, from our storage options.

Options have the names that fsspec's libraries give them, as for any other URL.
An option without a counterpart in icechunk is an error.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from threading import Lock
from typing import Any

from nczarr.secrets import StorageOptions
from nczarr.stores.repository.library import library
from nczarr.stores.url import BadURLError, Repository

S3, GOOGLE, AZURE, WEB = ("s3", "s3a"), ("gs", "gcs"), ("az", "abfs", "abfss"), ("http", "https")
MEMORY = "memory"

_S3_NAMES = {"key": "access_key_id", "secret": "secret_access_key", "token": "session_token", "anon": "anonymous",
             "endpoint_url": "endpoint_url", "requester_pays": "requester_pays", "region": "region",
             "region_name": "region"}  # fmt: skip
"""Names of icechunk by those of s3fs."""

_memory: dict[str, Any] = {}
"""Storages in memory by URL: the process has one of each."""

_lock = Lock()


def storage_of(repository: Repository, options: StorageOptions) -> Any:
    """Return icechunk's storage of a repository. Raises BadURLError, MissingIcechunkError."""
    ice = library()
    if repository.local:
        return ice.local_filesystem_storage(os.path.abspath(repository.place))
    protocol, bucket, prefix = _split(repository.place)
    given = given_options(protocol, options)
    if protocol in S3:
        return ice.s3_storage(bucket=bucket, prefix=prefix, **_s3(given), **_s3_credentials(given))
    if protocol in GOOGLE:
        return ice.gcs_storage(bucket=bucket, prefix=prefix, **_google(given))
    if protocol in AZURE:
        if "account_name" not in given:
            raise BadURLError("give the account by the storage option `account_name`")
        return ice.azure_storage(account=given["account_name"], container=bucket, prefix=prefix or "", **_azure(given))
    if protocol in WEB and hasattr(ice, "http_storage"):
        _known(given, ())
        return ice.http_storage(repository.place)
    if protocol == MEMORY:
        with _lock:
            return _memory.setdefault(repository.place, ice.in_memory_storage())
    raise BadURLError(f"icechunk {ice.__version__} has no repositories at `{protocol}://`")


def forget(repository: Repository) -> None:
    """Remove a repository in memory."""
    with _lock:
        _memory.pop(repository.place, None)


def retrying(config: Any, options: StorageOptions) -> Any:
    """Give the configuration of a repository the number of retries that the options name, and return it."""
    given = options.get("retries")
    if given is not None:
        if not (isinstance(given, int) and 0 <= given <= 100):
            raise BadURLError("the storage option `retries` must be a number, 0 to 100")
        ice = library()
        config.storage = ice.StorageSettings(retries=ice.StorageRetriesSettings(max_tries=given + 1))
    return config


def store_and_credentials(prefix: str, options: StorageOptions, own: Any) -> tuple[Any, Any]:
    """Return icechunk's description of the store of a container, and credentials for it.

    `own` is the description in the repository; None: the run makes the
    container itself. A server that only the repository names never gets
    credentials: it is read anonymously, or the reader's options replace it.
    Raises BadURLError.
    """
    ice = library()
    protocol = prefix.partition("://")[0].lower()
    sentinels = ice.credentials
    if protocol == "file":
        return ice.local_filesystem_store(prefix.partition("://")[2]), getattr(sentinels, "LocalFileSystemAccess", None)
    given = given_options(protocol, options)
    if protocol in WEB:
        return ice.http_store(), getattr(sentinels, "HttpAccess", None)
    if protocol in S3:
        ours, theirs = _s3(given), getattr(own, "_0", None)
        if theirs is not None and theirs.endpoint_url not in (None, ours.get("endpoint_url")) and not given:
            return own, ice.Credentials.S3(ice.s3_credentials(anonymous=True))
        if theirs is not None and theirs.region is not None:
            ours.setdefault("region", theirs.region)
        return ice.s3_store(**ours), ice.Credentials.S3(ice.s3_credentials(**_s3_credentials(given)))
    if protocol in GOOGLE:
        return ice.gcs_store(), ice.Credentials.Gcs(ice.gcs_credentials(**_google(given)))
    raise BadURLError(f"icechunk {ice.__version__} reads no chunks at `{protocol}://`")


def given_options(protocol: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for a protocol, those with its prefix first."""
    shared = {name: value for name, value in options.items() if "." not in name and name != "retries"}
    own = {name.partition(".")[2]: value for name, value in options.items() if name.startswith(f"{protocol}.")}
    found = {**shared, **own}
    nested = found.pop("client_kwargs", None)
    return {**(nested if isinstance(nested, Mapping) else {}), **found}


def _split(url: str) -> tuple[str, str, str | None]:
    protocol, _, rest = url.partition("://")
    bucket, _, prefix = rest.partition("/")
    return protocol.lower(), bucket, prefix or None


def _known(given: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Raise BadURLError for an option that icechunk does not have."""
    for name in given:
        if name not in names:
            words = ", ".join(f"`{each}`" for each in names) or "none"
            raise BadURLError(f"repositories have no storage option `{name}`; there are: {words}")


def _s3(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the place of a service of S3."""
    _known(given, tuple(_S3_NAMES))
    found = {_S3_NAMES[name]: value for name, value in given.items()}
    variables = (os.environ.get(name) for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
    endpoint = found.get("endpoint_url") or next(filter(None, variables), None)  # botocore reads them as well
    named: dict[str, Any] = {name: found[name] for name in ("region", "requester_pays") if name in found}
    if endpoint is None:
        return named
    plain = str(endpoint).lower().startswith("http://")
    return {"region": "us-east-1", **named, "endpoint_url": endpoint, "allow_http": plain, "force_path_style": True}


def _s3_credentials(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return credentials: the given ones, none, or those of the environment."""
    if given.get("anon"):
        return {"anonymous": True}
    names = ("key", "secret", "token")
    found = {_S3_NAMES[name]: given[name] for name in names if given.get(name) is not None}
    return found or {"from_env": True}


def _google(given: Mapping[str, Any]) -> dict[str, Any]:
    _known(given, ("token", "anon"))
    token = given.get("token")
    if token == "anon" or given.get("anon"):
        return {"anonymous": True}
    return {"from_env": True} if token is None else {"service_account_file": str(token)}


def _azure(given: Mapping[str, Any]) -> dict[str, Any]:
    _known(given, ("account_name", "account_key", "sas_token"))
    names = {"account_key": "access_key", "sas_token": "sas_token"}
    found = {own: given[name] for name, own in names.items() if given.get(name) is not None}
    return found or {"from_env": True}
