"""Datasets on OPeNDAP servers: `dap2:http://host/path` and `dap4:http://host/path`.

An open dataset is a source with its declarations (DDS or DMR), and the service
for attributes and values. Constraint expressions are encoded here: brackets as
`%5B` and `%5D`, and the name `a%20b` of a DDS, whose escapes are part of the
expression, as `a%2520b`.
"""

from __future__ import annotations

import errno
import re
import threading
from collections import OrderedDict
from functools import cached_property
from typing import ClassVar
from urllib.parse import quote

from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.diagnostics.source import Source
from nczarr.stores.url import BadURLError
from nczarr.stores.web_service import MOST_BYTES, WORDS, WebService, message

LONGEST_TEXT = 256 << 20
"""Maximum bytes of a DDS, DAS or DMR."""

KEPT_BYTES = 64 << 20
"""Bytes of answers that a service caches."""

SAFE = ",.:/;"
"""Characters of constraint expressions that URLs may contain."""

DOCUMENTS = (".dmr.xml", ".dmr")
"""Suffixes of the document of DAP4: Hyrax has the first, THREDDS the second."""

_DDS = re.compile(rb"\s*dataset\s*\{", re.IGNORECASE)
_DMR = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<\?(?:[^?]|\?(?!>))*\?>\s*)?<(?:\w+:)?Dataset\s[^>]*xml\.opendap\.org/ns/DAP/4", re.DOTALL
)

_keeping = threading.Lock()


class Served(Source):
    """Declarations of a dataset on a server, with the service for its values."""

    __slots__ = ("service",)

    def __init__(self, name: str, data: bytes, service: Service) -> None:
        super().__init__(name, data)
        self.service = service


class Service(WebService):
    """A dataset on an OPeNDAP server."""

    title: ClassVar[str] = "OPeNDAP"

    @cached_property
    def base(self) -> str:
        """URL of the dataset. Raises BadURLError."""
        base, _, fragment = self.place.path.partition("#")
        if "?" in base:
            raise BadURLError(
                "the URL of a dataset has a query; select variables and sections by `--var` and `--section`"
            )
        return (f"{base}%23{fragment}" if fragment else base).rstrip("/")

    @cached_property
    def _kept(self) -> OrderedDict[str, bytes]:
        return OrderedDict()

    def text(self, suffix: str) -> bytes:
        """Return a text about the dataset. Raises OSError."""
        return self.fetched(self.base + suffix, LONGEST_TEXT).data

    def answer(self, query: str, *, most: int = MOST_BYTES, size: int = 0, keep: bool = False) -> bytes:
        """Return the answer to a suffix with a query; `keep`: cached. Raises OSError.

        `most`: maximum bytes; `size`: approximate bytes.
        """
        with _keeping:
            cached = self._kept.get(query)
            if cached is not None:
                self._kept.move_to_end(query)
                return cached
        data = self.fetched(self.base + query, most, size).data
        if keep:
            with _keeping:
                self._kept[query] = data
                total = sum(map(len, self._kept.values()))
                while total > KEPT_BYTES and len(self._kept) > 1:
                    total -= len(self._kept.popitem(last=False)[1])
        return data


def encoded(expression: str) -> str:
    """Return a constraint expression as URLs contain it."""
    return quote(expression.encode("utf-8", "surrogateescape"), safe=SAFE)


def served_dap2(url: str, storage: StorageOptions = NO_OPTIONS) -> Served:
    """Return the dataset at a URL, with its DDS. Raises OSError, BadURLError, MissingProtocolError."""
    service = Service(url, storage)
    return Served(service.shown, _checked(service, service.text(".dds"), _DDS, "DDS"), service)


def served_dap4(url: str, storage: StorageOptions = NO_OPTIONS) -> Served:
    """Return the dataset at a URL, with its DMR. Raises OSError, BadURLError, MissingProtocolError."""
    service = Service(url, storage)
    for suffix in DOCUMENTS[:-1]:
        try:
            data = service.text(suffix)
        except OSError as error:
            if error.errno not in (errno.ENOENT, errno.EIO):
                raise
            continue  # a server that lacks this document answers as it likes
        if _DMR.match(data):
            return Served(service.shown, data, service)
    return Served(service.shown, _checked(service, service.text(DOCUMENTS[-1]), _DMR, "DMR"), service)


def _checked(service: Service, data: bytes, begins: re.Pattern[bytes], what: str) -> bytes:
    """Return a text that begins as it should. Raises OSError."""
    if begins.match(data):
        return data
    head = data[:4096].decode("utf-8", "replace")
    words = message(head)
    text = f"the server reports an error: {words[:WORDS]}"
    if words == " ".join(head.split()):
        came = f"{len(data)} bytes that begin with {head[:16]!r}"
        text = f"this is not an OPeNDAP server: it sent {came} instead of a {what}"
    raise OSError(errno.EIO, text, service.shown)
