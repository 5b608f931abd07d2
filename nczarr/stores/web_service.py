"""A dataset on a web server that answers requests with whole documents.

Invariants: an answer is limited to its maximum size, and a status other than
200 raises an OSError with the server's text. Requests use `connection.py`:
retries, time limits, no secrets.
"""

from __future__ import annotations

import errno
import re
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from nczarr.stores.connection import FileConnection, MissingProtocolError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

MOST_BYTES = 1 << 30
"""Maximum bytes of an answer of unknown size."""

WORDS = 300
"""Maximum characters of a server's error text."""

_MESSAGE = re.compile(r'\bmessage\s*=\s*"((?:\\.|[^"\\])*)|<(?:\w+:)?Message[^>]*>([^<]*)', re.IGNORECASE)
"""Messages in error documents of OPeNDAP."""


class ServiceAnswer(NamedTuple):
    """Answer of a server."""

    description: str
    """Header `Content-Description`."""
    type: str
    """Content type."""
    data: bytes
    """Body."""


class RefusedAnswerError(OSError):
    """A status other than 200, with the server's text."""

    def __init__(self, status: int, words: str) -> None:
        number = {401: errno.EACCES, 403: errno.EACCES, 404: errno.ENOENT}.get(status, errno.EIO)
        super().__init__(number, f"the server reports {status}: {words}" if words else f"the server reports {status}")
        self.status = status


class WebService(FileConnection):
    """A dataset on a server, picklable like all connections."""

    title: ClassVar[str] = "this protocol"
    """Name of the protocol in messages."""

    @cached_property
    def _opened(self) -> tuple[AbstractFileSystem, str]:
        try:
            system: AbstractFileSystem = _asking()(**self._arguments())
        except ImportError as error:
            library = (error.name or "aiohttp").partition(".")[0]
            raise MissingProtocolError(
                self.protocol, f"{self.title} needs `{library}`, which is not installed"
            ) from None
        except Exception as error:  # the library refuses options as it likes
            raise self.failure(error) from None
        return system, self.place.path

    def fetched(self, url: str, most: int, size: int = 0) -> ServiceAnswer:
        """Return the answer to an encoded URL. Raises OSError.

        `most`: maximum bytes; `size`: approximate bytes.
        """
        answer: ServiceAnswer = self._tried("ask", (url, most), {}, "", size)
        return answer


def message(text: str) -> str:
    """Return the message of an error document, else the text, with single blanks."""
    match_of_message = _MESSAGE.search(text)
    return " ".join((text if match_of_message is None else match_of_message[1] or match_of_message[2] or text).split())


@cache
def _asking() -> Any:
    """Return the HTTP file system class with requests that also return headers."""
    from fsspec.implementations.http import HTTPFileSystem
    from yarl import URL

    class Asking(HTTPFileSystem):  # type: ignore[misc]
        async def _ask(self, url: str, most: int) -> ServiceAnswer:
            session = await self.set_session()
            async with session.get(URL(url, encoded=True), **self.kwargs) as response:
                if response.status != 200:
                    body = await response.content.read(4 * WORDS)
                    words = message(body.decode("utf-8", "replace"))
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
                headers = response.headers
                return ServiceAnswer(
                    headers.get("Content-Description", ""), headers.get("Content-Type", ""), b"".join(pieces)
                )

    return Asking
