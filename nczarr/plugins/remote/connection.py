"""A place behind fsspec: requests with retries, and uniform errors.

Invariant: every library exception leaves as an OSError with the displayable URL
and the server's reason, without secrets. Requests of many threads are
concurrent; those of one thread are sequential.

Transient failures are retried (5xx, too many requests, time-outs, lost and
refused connections), permanent ones are not (not found, no permission,
malformed request). Pauses grow and are randomized, so that many clients do not
retry together.
"""

from __future__ import annotations

import errno
import math
import os
import random
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from copy import deepcopy
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions, show
from nczarr.plugins.common.raw_file import ChangedError
from nczarr.plugins.remote.login import add_credentials, add_login, limit_login
from nczarr.plugins.remote.quick_requests import prefer_quick
from nczarr.plugins.remote.range_request import (
    RangeAnswer,
    UnrangedError,
    await_request,
    by_http,
    by_library,
    by_s3,
    execute_request,
    is_interrupted,
)
from nczarr.plugins.remote.request_errors import Waiting, find_reason, may_pass, number_of, scrub
from nczarr.stores.places import Connection
from nczarr.stores.ranges import BoundedCache
from nczarr.stores.url import WEB, BadURLError, Location, MissingProtocolError, location

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

T = TypeVar("T")

RETRIES = 6
"""Default retries of a request; the storage option `retries` overrides it."""

FIRST_PAUSE, LONGEST_PAUSE = 0.1, 5.0
"""Seconds between two tries, at most: doubled each time."""

PATIENCE = 60.0
"""Timeout of a request in seconds, plus one for each `SLOWEST` bytes."""

SILENT = 3
"""Maximum time-outs of a request, regardless of retries."""

SLOWEST = 1 << 20

LONGEST_LISTING = 1 << 36
"""Assumed bytes of a listing if its number of requests is unknown: nearly a day's time."""

AT_ONCE = 64
"""Maximum pending requests to one server."""

PARTS_AT_ONCE = 4
"""Concurrently sent parts of one large object."""

PART = 16 << 20
"""Bytes of a part; parts in transfer are in memory."""

MOST_PARTS = 10_000  # the limit of S3's multipart uploads

WHOLE = 64 << 20
"""Maximum bytes of an object sent by one request."""

SHARED = 8
"""File systems that are kept for other places."""

MOST_REMOVED = 1000  # the limit of S3's DeleteObjects
"""Maximum keys removed by one request."""

S3 = frozenset({"s3", "s3a"})

OBJECTS = S3 | frozenset({"gs", "gcs", "abfs", "abfss", "az", "oss", "oci", "tos", "memory"})
"""Protocols with atomic objects by key and without real folders."""

_DEFAULTS: dict[str, dict[str, Any]] = {
    "s3": {
        "max_concurrency": 1,  # else every read asks for the size first
        "config_kwargs": {"max_pool_connections": AT_ONCE, "retries": {"mode": "standard", "max_attempts": 2}},
    }
}
_DEFAULTS["s3a"] = _DEFAULTS["s3"]

_SPACE = re.compile(r"\s")

_UNKNOWN = re.compile(r"unexpected keyword argument '(\w+)'")

LIBRARIES = {
    **dict.fromkeys(("abfs", "abfss", "adl", "az"), "adlfs"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("oci", "ocilake"), "ocifs"),
    **dict.fromkeys(("sftp", "ssh"), "paramiko"),
    **dict.fromkeys(("hdfs", "arrow_hdfs"), "pyarrow"),
    "hf": "huggingface_hub",
    "oss": "ossfs",
    "smb": "smbprotocol",
    **dict.fromkeys(("webdav", "webdavs"), "webdav4"),
}
"""Libraries for protocols that our extra does not include."""


REMOTE = "'nczarr[remote]'"
"""Our extra for remote places, as a shell takes it."""


def missing_library(protocol: str, text: str | None = None) -> MissingProtocolError:
    """Return the error for the missing library of a protocol. Without `text`, fsspec itself is missing."""
    ours = text is None or protocol in WEB | S3
    library = LIBRARIES.get(protocol)
    remedy = f"install the library that fsspec needs for `{protocol}`"
    if ours or library is not None:
        remedy = f"run `pip install {REMOTE if ours else library}`"
    return MissingProtocolError(text or "URLs need `fsspec`, which is not installed", remedy)


class FileConnection(Connection):
    """A path in a file system opened on first use; it pickles as a description, opened by each process.

    `make_system`: as in `RemotePlaces.connect`.
    """

    def __init__(
        self,
        url: str,
        options: StorageOptions = NO_OPTIONS,
        make_system: Callable[[Mapping[str, Any]], AbstractFileSystem] | None = None,
    ) -> None:
        self.url = url
        self.options = options
        self._make_system = make_system
        self.shown = show(url)
        self._process = os.getpid()
        self._end = math.inf
        """Time at which temporary credentials are fetched again."""

    def __repr__(self) -> str:
        return f"<{self.shown}>"

    def __getstate__(self) -> dict[str, Any]:
        """Return only the description."""
        named = {"url": self.url, "options": self.options, "shown": self.shown, "_make_system": self._make_system}
        return {**named, "_process": 0, "_end": math.inf}

    @cached_property
    def place(self) -> Location:
        """Parsed URL. Raises BadURLError."""
        return location(self.url)

    @cached_property
    def protocol(self) -> str:
        """Protocol of requests: the last of a chain."""
        return self.place.path.rpartition("::")[2].partition("://")[0].lower()

    @cached_property
    def first(self) -> str:
        """First protocol of a chain."""
        return self.place.path.partition("://")[0].partition("::")[0].lower()

    @property
    def is_object_store(self) -> bool:
        """True if keys are whole objects."""
        return self.protocol in OBJECTS and self.first == self.protocol

    @property
    def looks_like_file(self) -> bool:
        """True if the name has a suffix that is not one of folders."""
        name = self.place.path.rpartition("/")[2].partition("?")[0].lower()
        return "." in name and not name.endswith((".zarr", ".nczarr", ".zarr2", ".zarr3"))

    @cached_property
    def _retries(self) -> int:
        retries = self.options.get("retries", RETRIES)
        if not (isinstance(retries, int) and 0 <= retries <= 100):
            raise BadURLError("the storage option `retries` must be a number, 0 to 100")
        return retries

    @property
    def system(self) -> AbstractFileSystem:
        """File system. Raises BadURLError for an unknown protocol, MissingProtocolError, OSError.

        A forked process opens its own: sockets and their event loop belong to
        the parent.
        """
        if self._process != os.getpid():
            self.__dict__.pop("_opened", None)
            self._process = os.getpid()
        if self._end <= time.time():
            self.__dict__.pop("_opened", None)
        return self._opened[0]

    @cached_property
    def root(self) -> str:
        """Path of the place, without trailing slash."""
        return str(self._opened[1]).rstrip("/")

    @cached_property
    def _opened(self) -> tuple[AbstractFileSystem, str]:
        """Return the file system, shared by equal connections, and the path in it. Raises uniform errors."""
        if self._make_system is not None:
            return self._open_by(self._make_system), self.place.path
        try:
            from fsspec.registry import known_implementations
        except ImportError:
            raise missing_library(self.protocol) from None
        for part in self.place.path.split("::"):
            protocol = part.partition("://")[0].lower()
            if "/" not in protocol and protocol not in known_implementations and protocol not in _list_registered():
                raise BadURLError(f"unknown protocol `{protocol}`")
        try:
            arguments = self._arguments()
            key = self._find_shared_key(arguments)
            system = _shared.get(key) if key is not None else None
            if system is not None:
                return system, system._strip_protocol(self.place.path)
            system, root = self._find_system(arguments)
            if key is not None:
                _shared.put(key, system)
        except ImportError as error:
            raise missing_library(self.protocol, scrub(str(error), self.url, self.options)) from None
        except Exception as error:  # libraries look for servers and credentials here, and raise what they like
            raise self.failure(error) from None
        return system, root

    def _find_system(self, arguments: Mapping[str, Any]) -> tuple[AbstractFileSystem, str]:
        """Return the file system and the path in it. Raises what libraries raise.

        An archive is read by ranges; if its web server sends none, it is fetched whole.
        """
        from fsspec.core import url_to_fs

        try:
            system, root = url_to_fs(self.place.path, **arguments)
        except ValueError:
            members, chain, archive = self.place.path.rpartition("::")
            if not chain or self.protocol not in WEB:
                raise
            system, root = url_to_fs(f"{members}::simplecache::{archive}", **arguments)
        return system, root

    def _open_by(self, make_system: Callable[[Mapping[str, Any]], AbstractFileSystem]) -> AbstractFileSystem:
        try:
            return make_system(self._arguments())
        except ImportError as error:
            raise missing_library(self.protocol, str(error)) from None
        except Exception as error:  # the library refuses options as it likes
            raise self.failure(error) from None

    def _find_shared_key(self, arguments: Mapping[str, Any]) -> str | None:
        """Return what file systems that may be shared have in common; None if the URL itself has arguments."""
        if self.first != self.protocol or self.protocol not in S3 | WEB or "?" in self.place.path:
            return None
        from fsspec.utils import tokenize

        return f"{os.getpid()} {self.protocol} {tokenize(arguments)}"

    def _arguments(self) -> dict[str, Any]:
        """Return the arguments of the file system."""
        shared, arguments = {}, deepcopy(_DEFAULTS.get(self.protocol, {}))  # libraries write into what they are given
        protocols = {part.partition("://")[0].lower() for part in self.place.path.split("::")}
        for name, value in self.options.items():
            first, dot, rest = name.partition(".")
            if name != "retries" and not dot:
                shared[name] = value
            elif dot and first == self.protocol:
                arguments[rest] = value
        arguments = limit_login(_merge(arguments, shared), self.place.path)
        if self.protocol in WEB:
            arguments = add_login(arguments)
        elif self.protocol in S3:
            web = lambda url, options: FileConnection(url, StorageOptions(options)).call("cat_file", "")  # noqa: E731
            arguments, self._end = add_credentials(arguments, web)
        if self.place.server is not None:
            arguments.setdefault("endpoint_url", self.place.server)
        arguments.setdefault("use_listings_cache", False)  # fsspec would answer from its own cache of listings
        if len(protocols) == 1 and "::" not in self.place.path:
            return {**arguments, "skip_instance_cache": True}  # fsspec keeps instances as long as the process lives
        return {self.protocol: arguments}

    def share_system(self, url: str) -> FileConnection:
        """Return another place in the same file system. Raises BadURLError, OSError."""
        other = FileConnection(url, self.options)
        system = self.system
        other.__dict__["_opened"] = system, system._strip_protocol(other.place.path)
        other._end = self._end
        other._process = os.getpid()
        return other

    def path(self, key: str) -> str:
        """Return the file system path of a key."""
        if not key:
            return self.root
        if self.protocol in WEB and self.first == self.protocol:
            from urllib.parse import quote

            return f"{self.root}/{quote(key)}"
        return f"{self.root}/{key}"

    def call(self, what: str, key: str, *arguments: Any, size: int = 0, **named: Any) -> Any:
        """Call a file system method on a key's path, with retries; `size`: approximate bytes. Raises OSError."""
        return self._try(what, (self.path(key), *arguments), named, key, size)

    def ask(self, what: str, *arguments: Any, size: int = 0) -> Any:
        """Call a file system method with arguments of its own, with retries; `size`: approximate bytes.

        Raises OSError.
        """
        return self._try(what, arguments, {}, "", size)

    def listing(self, folder: str) -> Iterator[dict[str, Any]]:
        """Yield the records of all objects below a folder: `name`, and library-specific members.

        Reads page by page where supported, because many pages may exceed the
        time limit of a request. Raises OSError.
        """
        if self.protocol not in S3 or self.first != self.protocol:
            yield from self.call("find", folder, detail=True, size=LONGEST_LISTING).values()
            return
        bucket, key, _ = self.system.split_path(self.path(folder))
        asked = {"Bucket": bucket, "Prefix": f"{key}/" if key else "", **getattr(self.system, "req_kw", {})}
        while True:
            page = self._try("call_s3", ("list_objects_v2",), asked, folder, 0)
            for entry in page.get("Contents", ()):
                if not entry["Key"].endswith("/"):  # S3 consoles make empty objects for folders
                    yield {**entry, "name": f"{bucket}/{entry['Key']}", "size": entry["Size"]}
            if not page.get("IsTruncated"):
                return
            asked["ContinuationToken"] = page["NextContinuationToken"]

    def send(self, local: str, key: str, size: int) -> None:
        """Send a local file, large ones in parts. Raises OSError."""
        named = {}
        if self.protocol in S3 and size > WHOLE:
            named = {"max_concurrency": PARTS_AT_ONCE}
            if size <= PART * MOST_PARTS:  # else as large as they have to be
                named["chunksize"] = PART
        self._try("put_file", (local, self.path(key)), named, key, size)

    def replace(self, data: bytes, tag: str) -> None:
        """Replace the object of an S3 server if it still has a tag. Raises OSError."""
        bucket, key, _ = self.system.split_path(self.root)
        asked = {"Bucket": bucket, "Key": key, "Body": data, "IfMatch": f'"{tag}"'}
        self._try("call_s3", ("put_object",), asked, "", len(data))

    def remove(self, keys: Sequence[str]) -> None:
        """Remove keys; missing ones are ignored. Raises OSError."""
        if hasattr(self.system, "_bulk_delete"):
            for at in range(0, len(keys), MOST_REMOVED):
                some = [self.path(key) for key in keys[at : at + MOST_REMOVED]]
                self._try("bulk_delete", (some,), {}, "", 0)
            return
        for key in keys:
            with suppress(FileNotFoundError):
                self.call("rm_file", key)

    def tags_are_digests(self, key: str) -> bool:
        """Return whether the object's tag is its MD5: not if S3 encrypts with KMS or customer keys."""
        if self.protocol not in S3:
            return True
        bucket, name, _ = self.system.split_path(self.path(key))
        answer = self._try("call_s3", ("head_object",), {"Bucket": bucket, "Key": name}, key, 0)
        return "kms" not in str(answer.get("ServerSideEncryption", "")) and not answer.get("SSECustomerAlgorithm")

    def read_range(self, start: int, stop: int, size: int | None = None) -> RangeAnswer:
        """Return the bytes of the object from `start` to `stop`, fewer at its end, with its size and tag.

        A negative `start` counts from the end, and `stop` is 0: the last bytes. `size`:
        bytes of the object, if known. Raises UnrangedError if the server sends whole
        objects only, OSError.
        """
        system = self.system
        alone = self.first == self.protocol and bool(getattr(system, "async_impl", False))
        request: Callable[[float], RangeAnswer]
        if alone and self.protocol in WEB:
            request = partial(await_request, system, partial(by_http, system, self.root, start, stop))
        elif alone and self.protocol in S3:
            by_client = partial(await_request, system, partial(by_s3, system, self.root, start, stop))
            request = prefer_quick(system, "read_range", (self.root, start, stop), {}, by_client)
        else:
            request = partial(by_library, system, self.root, start, stop, size)
        return self._repeat(request, "", stop - start)

    def _try(self, what: str, arguments: tuple[Any, ...], named: dict[str, Any], key: str, size: int) -> Any:
        system = self.system
        request = partial(execute_request, system, what, arguments, named)
        return self._repeat(prefer_quick(system, what, arguments, named, request), key, size)

    def _repeat(self, request: Callable[[float], T], key: str, size: int) -> T:
        """Make a request until it succeeds; its argument is the time limit in seconds. Raises OSError."""
        silent = 0
        with Waiting(self.shown, self._retries) as waiting:
            for number in range(self._retries + 1):
                try:
                    return request(PATIENCE + size / SLOWEST)
                except (UnrangedError, ChangedError) as error:
                    error.filename = self.shown
                    raise
                except Exception as caught:  # libraries raise classes of their own, not all of them OSErrors
                    reason = find_reason(caught)
                    silent += isinstance(reason, TimeoutError)
                    over = number == self._retries or silent == SILENT or is_interrupted()
                    if over or not may_pass(reason):
                        raise self.failure(reason, key) from None
                waiting.count(number + 1)
                time.sleep(random.uniform(0.5, 1) * min(LONGEST_PAUSE, FIRST_PAUSE * 2**number))
        raise AssertionError

    def failure(self, error: Exception, key: str = "") -> OSError:
        """Return a failure as OSError with the server's text and the displayable place."""
        text = error.strerror if isinstance(error, OSError) and isinstance(error.strerror, str) else str(error)
        place = f"{self.shown.rstrip('/')}/{key}" if key else self.shown
        root = str(self.__dict__["_opened"][1]) if "_opened" in self.__dict__ else ""  # it may be that which failed
        if isinstance(error, FileNotFoundError) and (text.startswith(("/", root or "/")) or not _SPACE.search(text)):
            text = "No such file or object"  # libraries give a path
        if isinstance(error, NotImplementedError):
            return OSError(errno.EROFS, "the library of this protocol does not support the operation", place)
        unknown = _UNKNOWN.search(text) if isinstance(error, TypeError) else None
        if unknown is not None:
            text = f"the library of `{self.protocol}` has no option `{unknown[1]}`"
        elif isinstance(error, TypeError | AttributeError):
            text = f"the library of `{self.protocol}` rejects the storage options: {text}"
        if isinstance(error, TimeoutError):
            return OSError(errno.ETIMEDOUT, "no answer within the time allowed", place)
        message = scrub(" ".join(str(text).split()), self.url, self.options) or type(error).__name__
        return OSError(number_of(error), message, place)


_shared: BoundedCache[str, AbstractFileSystem] = BoundedCache(SHARED)
"""File systems with open connections, for the next place of the same server."""


def _list_registered() -> Mapping[str, Any]:
    """Return protocols that other packages registered."""
    from fsspec.registry import registry

    return dict(registry)


def _merge(defaults: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Merge options into defaults, recursively."""
    merged = dict(defaults)
    for name, value in options.items():
        default = merged.get(name)
        both = isinstance(default, Mapping) and isinstance(value, Mapping)
        merged[name] = _merge(default, value) if both else value  # type: ignore[arg-type]
    return merged


class LocalConnection(FileConnection):
    """A file of the file system that answers as a server of ranges does, to count what a reader would request."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.root = path

    def read_range(self, begin: int, end: int, size: int | None = None) -> RangeAnswer:
        """Return the bytes of a range; `begin` below 0: so many at the end. Raises OSError."""
        size = os.path.getsize(self.url) if size is None else size
        first, stop = (max(0, size + begin), size) if begin < 0 else (begin, min(end, size))
        with open(self.url, "rb") as file:
            file.seek(first)
            return RangeAnswer(file.read(max(0, stop - first)), {"size": size})
