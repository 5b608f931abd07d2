"""Requests to S3 by `obstore`, which takes a fraction of the processor time of s3fs.

s3fs stays the authority: its client gives credentials, region and address, and
repeats every request that fails here, except for missing keys. So error messages
and retries have one origin. Options that `obstore` cannot express exactly keep a
file system with s3fs.
"""

from __future__ import annotations

import html
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from nczarr.plugins.remote.range_request import GivenUpError, RangeAnswer, await_request

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")

LARGEST = 64 << 20
"""Maximum bytes of an object that is written; s3fs sends larger ones in parts."""

SHARE = 0.25
"""Part of a request's time for the try here: 15 s for a small object, after which s3fs too leaves a silent server."""

FAILURES, PAUSE = 8, 60.0
"""Failures in a row after which requests go to s3fs alone, and for how many seconds."""

_OPTIONS = {
    "key", "secret", "token", "username", "password", "anon", "endpoint_url", "use_ssl", "profile", "client_kwargs",
    "config_kwargs", "max_concurrency", "use_listings_cache", "listings_expiry_time", "max_paths",
    "skip_instance_cache", "default_block_size", "default_cache_type", "default_fill_cache",
}  # fmt: skip
"""Options of s3fs that its client turns into credentials and addresses, or that do not concern these requests."""

_CLIENT = {"region_name", "endpoint_url", "use_ssl", "aws_access_key_id", "aws_secret_access_key", "aws_session_token"}

_CONFIG = {"max_pool_connections", "retries", "s3"}

_ENVIRONMENT = re.compile("AWS_(TOKEN$|SESSION_TOKEN$|PROXY|SSE|SERVER_SIDE|CHECKSUM|DEFAULT_(CONT|HEAD)|ROOT)")
"""Environment variables that `obstore` reads and arguments cannot take back."""

_BUCKET = re.compile("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")

_MISSING = re.compile("<Code>NoSuchKey</Code>.*?<Message>(.*?)</Message>", re.DOTALL)


class UntranslatableError(Exception):
    """A request, a setting or an error that `obstore` cannot express."""


_owner = 0
"""Process that has threads of `obstore`, which its forks lack: there requests would wait forever."""


class QuickRequests:
    """Requests with the credentials and the address of one file system of s3fs."""

    def __init__(self, system: Any) -> None:
        self._system = system
        self._stores: dict[str, tuple[object, Any]] = {}
        """Credentials and store of each bucket."""
        import asyncio  # which takes 20 ms; local files are read through this package too, without requests

        self._lock = asyncio.Lock()
        self._failures = 0
        self._begin = 0.0
        """Time before which s3fs makes the requests."""

    def is_ready(self) -> bool:
        """Return whether requests may be made."""
        return self._begin <= time.monotonic() and _owner == os.getpid()

    def note(self, *, failed: bool) -> None:
        """Count failures in a row, and pause after too many: each costs a request that s3fs repeats."""
        self._failures = self._failures + 1 if failed else 0
        if self._failures >= FAILURES:
            self._failures, self._begin = 0, time.monotonic() + PAUSE

    async def read(self, path: str, start: int | None = None, end: int | None = None) -> bytes:
        """Return the bytes of an object or of a range, as `cat_file` of s3fs."""
        return (await self._get(path, start, end))[0]

    async def read_range(self, path: str, start: int, stop: int) -> RangeAnswer:
        """Return the bytes of a range and the properties of the object, as `by_s3`."""
        data, meta = await self._get(path, start, None if start < 0 else stop)
        told = {"ETag": meta["e_tag"], "LastModified": meta["last_modified"], "VersionId": meta["version"]}
        info = {name: value for name, value in told.items() if value is not None}
        return RangeAnswer(data, {"size": meta["size"], **info})

    async def _get(self, path: str, start: int | None, end: int | None) -> tuple[bytes, Mapping[str, Any]]:
        from obstore import get_async

        store, key = await self._locate(path)
        selected: Any = None
        if start is not None:
            selected = {"range": {"suffix": -start} if start < 0 else (start, end)}
        try:
            answer = await get_async(store, key, options=selected)
            return bytes(await answer.bytes_async()), answer.meta
        except FileNotFoundError as error:
            match_of_missing = _MISSING.search(str(error))
            if match_of_missing is None:  # the bucket is missing: s3fs has the words
                raise UntranslatableError from None
            raise FileNotFoundError(html.unescape(match_of_missing[1])) from None

    async def write(self, path: str, data: bytes) -> dict[str, Any]:
        """Write an object, and return its tag as `pipe_file` of s3fs."""
        from obstore import put_async

        store, key = await self._locate(path)
        try:
            answer = await put_async(store, key, data, use_multipart=False)
        except FileNotFoundError:
            raise UntranslatableError from None
        told = {"ETag": answer["e_tag"], "VersionId": answer["version"]}
        return {name: value for name, value in told.items() if value is not None}

    async def _locate(self, path: str) -> tuple[Any, str]:
        """Return the store of a path, with the present credentials of s3fs, and the key in it."""
        bucket, key, version = self._system.split_path(path)
        if version or not key.isprintable() or {"", ".", ".."} & set(key.split("/")):
            raise UntranslatableError  # `obstore` normalizes such keys
        client = await self._system.set_session()
        signer = client._request_signer._credentials  # `get_credentials` of the session ignores explicit keys
        credentials = None if self._system.anon else await signer.get_frozen_credentials()
        async with self._lock:
            known = self._stores.get(bucket)
            if known is None or known[0] != credentials:
                known = self._stores[bucket] = credentials, await self._open(client, bucket, credentials)
        return known[1], key

    async def _open(self, client: Any, bucket: str, credentials: Any) -> Any:
        """Return the store of a bucket. Raises UntranslatableError, and then requests are left to s3fs."""
        from obstore.store import S3Store

        try:
            return S3Store(bucket, **await _find_settings(self._system, client, bucket, credentials))
        except Exception:  # of these settings, or of settings in the environment that `obstore` refuses
            self._begin = math.inf
            raise UntranslatableError from None


async def _find_settings(system: Any, client: Any, bucket: str, credentials: Any) -> dict[str, Any]:
    """Return the arguments of a store that makes the requests of a client of s3fs. Raises UntranslatableError."""
    # a signed URL shows which address the client would use, by all of its rules
    url = urlsplit(await client.generate_presigned_url("get_object", Params={"Bucket": bucket, "Key": "k"}))
    is_virtual = url.path == "/k"
    own_authorities = url.scheme == "https" and system.session.get_config_variable("ca_bundle")
    signature = getattr(client.meta.config, "signature_version", None)
    token = None if credentials is None else credentials.token
    untaken = {"AWS_TOKEN", "AWS_SESSION_TOKEN"} if token or system.anon else set()
    if (
        not _BUCKET.fullmatch(bucket)
        or bucket.endswith("--x-s3")  # directory buckets have sessions of their own
        or url.path not in ("/k", f"/{bucket}/k")
        or own_authorities
        or (signature != "s3v4" and not system.anon)
        or any(_ENVIRONMENT.match(name) for name in os.environ.keys() - untaken)
    ):
        raise UntranslatableError
    region = client.meta.region_name
    address = f"{url.scheme}://{url.netloc}"
    settings: dict[str, Any] = {
        "endpoint": address, "aws_endpoint_url_s3": address, "virtual_hosted_style_request": is_virtual,
        "region": "us-east-1" if region in (None, "aws-global") else region, "skip_signature": bool(system.anon),
        "unsigned_payload": False, "request_payer": False, "s3_express": False,
    }  # fmt: skip
    if credentials is not None:
        settings |= {"access_key_id": credentials.access_key, "secret_access_key": credentials.secret_key}
    if token:
        settings["session_token"] = token
    # `await_request` limits the time, `_repeat` repeats
    client_options = {"allow_http": url.scheme == "http", "allow_invalid_certificates": False, "timeout": "1 day"}
    return {"config": settings, "client_options": client_options, "retry_config": {"max_retries": 0}}


def prefer_quick(
    system: AbstractFileSystem, what: str, arguments: tuple[Any, ...], named: Mapping[str, Any],
    request: Callable[[float], T],
) -> Callable[[float], T]:  # fmt: skip
    """Return a request that is first made here if it can be, then by `request`; the argument is seconds.

    `what`: method of fsspec, or `read_range`.
    """
    quick = _find_requests(system) if _is_simple(what, arguments, named) else None
    if quick is None or not quick.is_ready():
        return request
    methods: dict[str, Any] = {"cat_file": quick.read, "pipe_file": quick.write, "read_range": quick.read_range}
    own_requests = [partial(methods[what], *arguments, **named)]

    def ask(seconds: float) -> T:
        """Make the first try here. Raises FileNotFoundError, TimeoutError, and what `request` raises."""
        if not own_requests:
            return request(seconds)
        try:
            answer: T = await_request(system, own_requests.pop(), SHARE * seconds)
        except (FileNotFoundError, TimeoutError, GivenUpError):
            raise
        except UntranslatableError:
            return request(seconds)
        except Exception:  # s3fs has the words for it, or succeeds
            quick.note(failed=True)
            return request(seconds)
        quick.note(failed=False)
        return answer

    return ask


def _is_simple(what: str, arguments: tuple[Any, ...], named: Mapping[str, Any]) -> bool:
    """Return whether a method with such arguments is known here."""
    if what == "pipe_file":
        return not named and len(arguments) == 2 and type(arguments[1]) is bytes and len(arguments[1]) <= LARGEST
    if what == "read_range":
        _, start, stop = arguments
        return bool(start < 0 or start < stop)
    if what != "cat_file" or len(arguments) != 1 or not named.keys() <= {"start", "end"}:
        return False
    start, end = named.get("start"), named.get("end")
    return (start is None or start < 0) if end is None else start is not None and 0 <= start < end


def _find_requests(system: Any) -> QuickRequests | None:
    """Return the requests of a file system; None if it stays with its library."""
    kind = type(system)
    if (kind.__module__, kind.__name__) != ("s3fs.core", "S3FileSystem"):
        return None
    if "_nczarr_requests" not in vars(system):
        vars(system).setdefault("_nczarr_requests", _make_requests(system))
    found: QuickRequests | None = vars(system)["_nczarr_requests"]
    return found


def _make_requests(system: Any) -> QuickRequests | None:
    global _owner
    if _owner not in (0, os.getpid()):
        return None
    options = system.storage_options
    client, config = (options.get(name) or {} for name in ("client_kwargs", "config_kwargs"))
    is_exact = options.keys() <= _OPTIONS and client.keys() <= _CLIENT and config.keys() <= _CONFIG
    if not is_exact or not (config.get("s3") or {}).keys() <= {"addressing_style"}:
        return None
    try:
        import obstore.store  # noqa: F401
    except ImportError:
        return None
    _owner = os.getpid()
    return QuickRequests(system)
