"""Client of CDM Remote: datasets that a server provides in sections over HTTP.

`open_path` returns `served` for such a URL: the header as a source, and the
service for the rest. Requests use `connection.py`: retries, time limits, the
server's error texts, no secrets. Invariant: answers are limited to their
maximum size, and an answer that is not a message stream raises an OSError that
describes it.
"""

from __future__ import annotations

import errno
import threading
from collections import OrderedDict
from functools import cached_property

from nczarr.diagnostics.secrets import NO_OPTIONS, StorageOptions
from nczarr.diagnostics.source import Source
from nczarr.stores.web_service import MOST_BYTES, ServiceAnswer, WebService

LONGEST_HEADER = 256 << 20
"""Maximum bytes of a header."""

KEPT_BYTES = 64 << 20
"""Bytes of answers that a service caches."""

BEGINNINGS = (b"CDFS", b"\xad\xec\xce\xda", b"\xab\xec\xce\xba", b"\xab\xeb\xbe\xba", b"\xab\xad\xba\xda")
"""Magic numbers of answers."""

_keeping = threading.Lock()


class Served(Source):
    """Header of a dataset on a server, with the service for its values."""

    __slots__ = ("service",)

    def __init__(self, name: str, data: bytes, service: Service) -> None:
        super().__init__(name, data, binary=True)
        self.service = service


def served(url: str, storage: StorageOptions = NO_OPTIONS) -> Served:
    """Return the dataset at a URL, with its header. Raises OSError, BadURLError, MissingProtocolError."""
    service = Service(url, storage)
    return Served(service.shown, service.ask("header", most=LONGEST_HEADER), service)


class Service(WebService):
    """A dataset on a server, picklable like all connections."""

    title = "CDM Remote"

    @cached_property
    def _kept(self) -> OrderedDict[str, bytes]:
        return OrderedDict()

    def ask(self, what: str, *, variable: str | None = None, size: int = 0, most: int = MOST_BYTES) -> bytes:
        """Return the stream that answers `req=what`.

        `variable`: a section; `size`: approximate bytes; `most`: maximum bytes.
        Raises OSError, also if the answer is no stream.
        """
        from urllib.parse import quote

        query = f"req={what}"
        if variable is not None:
            query += "&var=" + quote(variable.encode("utf-8", "surrogateescape"), safe="")
        base, _, fragment = self.place.path.partition("#")
        if fragment:
            base += "%23" + fragment
        url = f"{base}{'&' if '?' in base else '?'}{query}"
        answer = self.fetched(url, most, size)
        if not answer.data.startswith(BEGINNINGS):
            raise OSError(errno.EIO, self._surprise(answer), self.shown)
        return answer.data

    def recall(self, what: str, *, variable: str, size: int = 0, most: int = MOST_BYTES) -> bytes:
        """Return a cached answer, or `ask`."""
        with _keeping:
            cached = self._kept.get(variable)
            if cached is not None:
                self._kept.move_to_end(variable)
                return cached
        data = self.ask(what, variable=variable, size=size, most=most)
        with _keeping:
            self._kept[variable] = data
            total = sum(map(len, self._kept.values()))
            while total > KEPT_BYTES and len(self._kept) > 1:
                total -= len(self._kept.popitem(last=False)[1])
        return data

    def _surprise(self, answer: ServiceAnswer) -> str:
        kind = answer.description or answer.type.partition(";")[0].strip() or "an answer without a content type"
        begins = answer.data[:16].decode("latin-1")
        came = f"{len(answer.data)} bytes of `{kind}` that begin with {begins!r}" if answer.data else "an empty answer"
        return f"this is not a CDM Remote server: it sent {came} instead of a stream of messages"
