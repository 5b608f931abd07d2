"""Datasets that a server gives by sections, over HTTP (CDM Remote): questions, and answers as bytes.

`served` is what `open_path` returns for such a URL: the header as the bytes of a source, and the service that has the
rest. Requests go the way of all others (`connection.py`): tried again where that may help, within a time, in the
server's words, without secrets. Invariant: of an answer no more is taken than there can be, whatever is sent, and what
does not begin as a stream of messages is refused here, as an OSError that says what came instead.
"""

from __future__ import annotations

import errno
import threading
from collections import OrderedDict
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.secrets import NO_OPTIONS, StorageOptions
from nczarr.source import Source
from nczarr.stores.connection import Connection, MissingProtocolError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

MOST_BYTES = 1 << 30
"""Bytes of one answer, where nobody knows how many there have to be."""

LONGEST_HEADER = 256 << 20
"""Bytes of a header."""

KEPT_BYTES = 64 << 20
"""Bytes of answers that a service keeps for whoever asks the same again."""

WORDS = 300
"""Characters of a server's words that are repeated."""

BEGINNINGS = (b"CDFS", b"\xad\xec\xce\xda", b"\xab\xec\xce\xba", b"\xab\xeb\xbe\xba", b"\xab\xad\xba\xda")
"""What answers begin with."""

_keeping = threading.Lock()


class Served(Source):
    """The header of a dataset on a server, and the service that has its values."""

    __slots__ = ("service",)

    def __init__(self, name: str, data: bytes, service: Service) -> None:
        super().__init__(name, data, binary=True)
        self.service = service


class Answer(NamedTuple):
    """What a server sent: its words for what it is, and the bytes."""

    description: str
    type: str
    data: bytes


class RefusedAnswerError(OSError):
    """A status other than 200, in the server's words."""

    def __init__(self, status: int, words: str) -> None:
        number = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT}.get(status, errno.EIO)
        super().__init__(number, f"the server says {status}: {words}" if words else f"the server says {status}")
        self.status = status


def served(url: str, storage: StorageOptions = NO_OPTIONS) -> Served:
    """The dataset at a URL, with its header. Raises OSError, BadURLError, MissingProtocolError."""
    service = Service(url, storage)
    return Served(service.shown, service.ask("header", most=LONGEST_HEADER), service)


class Service(Connection):
    """A dataset on a server. A description that pickles, as all connections are."""

    @cached_property
    def _opened(self) -> tuple[AbstractFileSystem, str]:
        try:
            system: AbstractFileSystem = _asking()(**self._arguments())
        except ImportError:
            raise MissingProtocolError("fsspec", self.protocol) from None
        except Exception as error:  # the library refuses options as it likes
            raise self.failure(error) from None
        return system, self.place.path

    @cached_property
    def _kept(self) -> OrderedDict[str, bytes]:
        return OrderedDict()

    def ask(self, what: str, *, variable: str | None = None, size: int = 0, most: int = MOST_BYTES) -> bytes:
        """The stream that answers `req=what`. `variable`: a section; `size`: bytes that it takes, about; `most`: bytes
        after which no more is taken.

        Raises OSError, also for an answer that is no stream.
        """
        from urllib.parse import quote

        query = f"req={what}"
        if variable is not None:
            query += "&var=" + quote(variable.encode("utf-8", "surrogateescape"), safe="")
        base, _, fragment = self.place.path.partition("#")
        if fragment:
            base += "%23" + fragment
        url = f"{base}{'&' if '?' in base else '?'}{query}"
        answer: Answer = self._tried("ask", (url, most), {}, "", size)
        if not answer.data.startswith(BEGINNINGS):
            raise OSError(errno.EIO, self._surprise(answer), self.shown)
        return answer.data

    def recall(self, what: str, *, variable: str, size: int = 0, most: int = MOST_BYTES) -> bytes:
        """The same, unless the answer to the same question is still here."""
        with _keeping:
            known = self._kept.get(variable)
            if known is not None:
                self._kept.move_to_end(variable)
                return known
        data = self.ask(what, variable=variable, size=size, most=most)
        with _keeping:
            self._kept[variable] = data
            total = sum(map(len, self._kept.values()))
            while total > KEPT_BYTES and len(self._kept) > 1:
                total -= len(self._kept.popitem(last=False)[1])
        return data

    def _surprise(self, answer: Answer) -> str:
        kind = answer.description or answer.type.partition(";")[0].strip() or "nothing that says what it is"
        begins = answer.data[:16].decode("latin-1")
        came = f"{len(answer.data)} bytes of `{kind}` that begin with {begins!r}" if answer.data else "an empty answer"
        return f"this is no CDM Remote server: {came}, where a stream of messages was asked for"


@cache
def _asking() -> Any:
    """The file system of web servers, with questions whose answers have headers."""
    from fsspec.implementations.http import HTTPFileSystem
    from yarl import URL

    class Asking(HTTPFileSystem):  # type: ignore[misc]
        async def _ask(self, url: str, most: int) -> Answer:
            session = await self.set_session()
            async with session.get(URL(url, encoded=True), **self.kwargs) as response:
                if response.status != 200:
                    said = await response.content.read(4 * WORDS)
                    words = " ".join(said.decode("utf-8", "replace").split())
                    plain = "html" not in response.headers.get("Content-Type", "")
                    raise RefusedAnswerError(
                        response.status, words[:WORDS] if plain and words else str(response.reason or "")
                    )
                pieces, count = [], 0
                async for piece in response.content.iter_chunked(1 << 20):
                    count += len(piece)
                    if count > most:
                        raise ValueError(f"the answer has more than {most} bytes")  # is not asked for again
                    pieces.append(piece)
                told = response.headers
                return Answer(told.get("Content-Description", ""), told.get("Content-Type", ""), b"".join(pieces))

    return Asking
