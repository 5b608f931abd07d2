"""Repositories and their read-only sessions, opened by icechunk, and their storage.

Stores and credentials, also of the chunks that repositories refer to, follow from our storage options. Options have
the names that fsspec's libraries give them, as for any other URL. An option without a counterpart in icechunk is an
error.
"""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Mapping
from threading import Lock
from typing import Any

from nczarr.diagnostics.report import suggest
from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.plugins.icechunk.library import explain, failing, is_foreign, load_library
from nczarr.stores import local_paths
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
    """Return icechunk's storage of a repository. Raises BadURLError, MissingProtocolError."""
    ice = load_library()
    if repository.local:
        return ice.local_filesystem_storage(local_paths.absolute(repository.place))
    protocol, bucket, prefix = _split(repository.place)
    settings = select_options(protocol, options)
    if protocol in S3:
        return ice.s3_storage(bucket=bucket, prefix=prefix, **_s3(settings), **_s3_credentials(settings))
    if protocol in GOOGLE:
        return ice.gcs_storage(bucket=bucket, prefix=prefix, **_google(settings))
    if protocol in AZURE:
        if "account_name" not in settings:
            raise BadURLError("give the account by the storage option `account_name`")
        return ice.azure_storage(
            account=settings["account_name"], container=bucket, prefix=prefix or "", **_azure(settings)
        )
    if protocol in WEB and hasattr(ice, "http_storage"):
        _check_option(settings, ())
        return ice.http_storage(repository.place)
    if protocol == MEMORY:
        with _lock:
            return _memory.setdefault(repository.place, ice.in_memory_storage())  # every call makes another one
    raise BadURLError(f"icechunk {ice.__version__} has no repositories at `{protocol}://`")


def forget(repository: Repository) -> None:
    """Remove a repository in memory."""
    with _lock:
        _memory.pop(repository.place, None)


def retrying(config: Any, options: StorageOptions) -> Any:
    """Give the configuration of a repository the number of retries that the options name, and return it."""
    retries = options.get("retries")
    if retries is not None:
        if not (isinstance(retries, int) and 0 <= retries <= 100):
            raise BadURLError("the storage option `retries` must be a number, 0 to 100")
        ice = load_library()
        # `max_tries` counts the first one too
        config.storage = ice.StorageSettings(retries=ice.StorageRetriesSettings(max_tries=retries + 1))
    return config


def store_and_credentials(prefix: str, options: StorageOptions, declared: Any) -> tuple[Any, Any]:
    """Return icechunk's description of the store of a container, and credentials for it.

    `declared` is the description in the repository; None: the run makes the
    container itself. A server that only the repository names never gets
    credentials: it is read anonymously, or the reader's options replace it.
    Raises BadURLError.
    """
    ice = load_library()
    protocol = prefix.partition("://")[0].lower()
    sentinels = ice.credentials
    if protocol == "file":
        return ice.local_filesystem_store(prefix.partition("://")[2]), getattr(sentinels, "LocalFileSystemAccess", None)
    settings = select_options(protocol, options)
    if protocol in WEB:
        plain = {"allow_http": "true"} if protocol == "http" else None  # icechunk refuses plain HTTP without it
        return ice.http_store(plain), getattr(sentinels, "HttpAccess", None)
    if protocol in S3:
        ours, theirs = _s3(settings), getattr(declared, "_0", None)
        if theirs is not None and theirs.endpoint_url not in (None, ours.get("endpoint_url")) and not settings:
            return declared, ice.Credentials.S3(ice.s3_credentials(anonymous=True))
        if theirs is not None and theirs.region is not None:
            ours.setdefault("region", theirs.region)
        return ice.s3_store(**ours), ice.Credentials.S3(ice.s3_credentials(**_s3_credentials(settings)))
    if protocol in GOOGLE:
        return ice.gcs_store(), ice.Credentials.Gcs(ice.gcs_credentials(**_google(settings)))
    raise BadURLError(f"icechunk {ice.__version__} reads no chunks at `{protocol}://`")


def select_options(protocol: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options for a protocol, those with its prefix first."""
    shared = {name: value for name, value in options.items() if "." not in name and name != "retries"}
    specific = {name.partition(".")[2]: value for name, value in options.items() if name.startswith(f"{protocol}.")}
    settings = {**shared, **specific}
    nested = settings.pop("client_kwargs", None)
    return {**(nested if isinstance(nested, Mapping) else {}), **settings}


def _split(url: str) -> tuple[str, str, str | None]:
    protocol, _, rest = url.partition("://")
    bucket, _, prefix = rest.partition("/")
    return protocol.lower(), bucket, prefix or None


def _check_option(settings: Mapping[str, Any], names: tuple[str, ...]) -> None:
    """Raise BadURLError for an option that icechunk does not have."""
    for name in settings:
        if name not in names:
            words = ", ".join(f"`{name_of_option}`" for name_of_option in names) or "none"
            raise BadURLError(f"repositories have no storage option `{name}`; there are: {words}")


def _s3(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the place of a service of S3."""
    _check_option(settings, tuple(_S3_NAMES))
    arguments = {_S3_NAMES[name]: value for name, value in settings.items()}
    variables = (os.environ.get(name) for name in ("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"))
    endpoint = arguments.get("endpoint_url") or next(filter(None, variables), None)  # botocore reads them as well
    named: dict[str, Any] = {name: arguments[name] for name in ("region", "requester_pays") if name in arguments}
    if endpoint is None:
        return named
    plain = str(endpoint).lower().startswith("http://")
    return {"region": "us-east-1", **named, "endpoint_url": endpoint, "allow_http": plain, "force_path_style": True}


def _s3_credentials(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return credentials: the given ones, none, or those of the environment."""
    if settings.get("anon"):
        return {"anonymous": True}
    names = ("key", "secret", "token")
    arguments = {_S3_NAMES[name]: settings[name] for name in names if settings.get(name) is not None}
    return arguments or {"from_env": True}


def _google(settings: Mapping[str, Any]) -> dict[str, Any]:
    _check_option(settings, ("token", "anon"))
    token = settings.get("token")
    if token == "anon" or settings.get("anon"):  # as gcsfs has it
        return {"anonymous": True}
    return {"from_env": True} if token is None else {"service_account_file": str(token)}


def _azure(settings: Mapping[str, Any]) -> dict[str, Any]:
    _check_option(settings, ("account_name", "account_key", "sas_token"))
    names = {"account_key": "access_key", "sas_token": "sas_token"}
    arguments = {argument: settings[name] for name, argument in names.items() if settings.get(name) is not None}
    return arguments or {"from_env": True}


_NO_SNAPSHOT = re.compile(r"invalid snapshot id|snapshot (?:id )?not found", re.IGNORECASE)


class UnknownRevisionError(ValueError):
    """A branch, tag or snapshot that a repository does not have; `helps` names those that it has."""

    def __init__(self, text: str, helps: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.helps = helps


def is_repository(path: str) -> bool:
    """Return whether a local folder is a repository. Raises OSError if it is inaccessible."""
    return not {"repo", "refs"}.isdisjoint(os.listdir(path))


def _check_place(repository: Repository) -> None:
    """Raise OSError without a repository at a local path: icechunk 1 would make a folder there, or panic."""
    if repository.local and not is_repository(repository.place):
        raise OSError(errno.EINVAL, "it is not an icechunk repository", repository.place)


def configuration(repository: Repository, storage: StorageOptions = NO_OPTIONS) -> Any:
    """Return the configuration that a repository stores. Raises OSError, BadURLError."""
    ice = load_library()
    _check_place(repository)
    place = storage_of(repository, storage)
    with failing(repository.place, storage):
        return ice.Repository.fetch_config(place) or ice.RepositoryConfig.default()


def open_repository(
    repository: Repository, storage: StorageOptions, config: Any, credentials: Mapping[str, Any]
) -> Any:
    """Open a repository with a configuration and credentials by prefix of its containers. Raises as `configuration`."""
    ice = load_library()
    _check_place(repository)
    place = storage_of(repository, storage)
    with failing(repository.place, storage):
        try:
            return ice.Repository.open(
                place, config=retrying(config, storage), authorize_virtual_chunk_access=dict(credentials)
            )
        except ValueError:  # icechunk reads containers that 0.1 and 0.2 stored, but refuses to be given them
            return ice.Repository.open(place)


def session_of(opened: Any, repository: Repository, storage: StorageOptions = NO_OPTIONS) -> Any:
    """Return a read-only session at a revision. Raises OSError, UnknownRevisionError."""
    kind, name = repository.kind, repository.revision
    with failing(repository.place, storage):
        if kind == "snapshot":
            return _at_snapshot(opened, name)
        revisions = opened.list_branches() if kind == "branch" else opened.list_tags()
        if name in revisions:
            return opened.readonly_session(**{kind: name})
    helps = tuple(suggest(name, revisions))
    if revisions and not helps:
        words = {"branch": "branches", "tag": "tags"}[kind]
        helps = (f"its {words}: " + ", ".join(f"`{revision}`" for revision in sorted(revisions)[:8]),)
    raise UnknownRevisionError(f"the repository has no {kind} `{name}`", helps)


def _at_snapshot(opened: Any, name: str) -> Any:
    """Return the session at a snapshot. Raises UnknownRevisionError, and what icechunk raises."""
    try:
        return opened.readonly_session(snapshot_id=name)
    except BaseException as error:
        if is_foreign(error) and _NO_SNAPSHOT.search(explain(error)):
            raise UnknownRevisionError(f"the repository has no snapshot `{name}`") from None
        raise


def snapshot_at(repository: Repository, storage: StorageOptions = NO_OPTIONS) -> str:
    """Return the identifier of the snapshot at a revision. Raises OSError, BadURLError, UnknownRevisionError."""
    opened = open_repository(repository, storage, configuration(repository, storage), {})
    return str(session_of(opened, repository, storage).snapshot_id)
