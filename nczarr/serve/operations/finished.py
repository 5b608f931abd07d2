"""Finished requests, as logs and metrics count them."""

from __future__ import annotations

from typing import Any, NamedTuple


class Finished(NamedTuple):
    """One request and what became of it."""

    scope: dict[str, Any]
    """ASGI scope of the request."""
    status: int
    """HTTP status of the answer."""
    size: int
    """Bytes of the body that were sent."""
    seconds: float
    """Time from the request to the end of its answer."""
    note: str
    """Why an answer was cut; mostly empty."""

    @property
    def client(self) -> str:
        """Address of the client."""
        return str((self.scope.get("client") or ("-",))[0])

    @property
    def target(self) -> str:
        """Path and query as received."""
        query = bytes(self.scope.get("query_string", b""))
        raw = bytes(self.scope.get("raw_path") or b"") + (b"?" + query if query else b"")
        return raw.decode("latin-1")

    @property
    def line(self) -> str:
        """The entry of the verbose log."""
        found = f"{self.client} {self.scope['method']} {self.target} {self.status} {self.size}"
        return f"{found} {self.seconds * 1000:.0f}ms {self.note}".rstrip()

    def header(self, wanted: bytes) -> str:
        """Return the first header of a name in lower case, empty if it is missing."""
        headers = self.scope.get("headers", ())
        return next((value.decode("latin-1") for name, value in headers if name == wanted), "")
