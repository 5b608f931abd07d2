"""Sites whose pages may read answers in a browser (CORS), and protection against DNS rebinding.

A server on the loopback interface may serve private data, and every page that
the user visits can send requests to it. By default only local pages may read
answers, and requests with a foreign host name are refused. Source: the Fetch
standard, "CORS protocol".
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit


def is_local(host: str) -> bool:
    """Return whether a name or address is the local machine."""
    host = host.lower().rstrip(".").strip("[]")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Sites(NamedTuple):
    """Sites whose pages may read answers."""

    origins: frozenset[str]
    """Origins; `*` for all."""
    here: bool
    """True if pages of this machine may."""
    local: bool
    """True if the server listens on the loopback interface only."""

    @classmethod
    def of(cls, asked: Iterable[str] | None, host: str) -> Sites:
        """Return the requested sites for a server on `host`.

        By default local pages on the loopback interface, else all.
        """
        given, local = frozenset(asked or ()), is_local(host)
        if not given:
            return cls(frozenset(() if local else "*"), local, local)
        return cls(frozenset() if "none" in given else given, False, local)

    @property
    def are_all(self) -> bool:
        """True if pages of every site may read answers."""
        return "*" in self.origins

    @property
    def are_none(self) -> bool:
        """True if no page may read answers."""
        return not self.origins and not self.here

    def may_read(self, origin: str) -> bool:
        """Return whether pages of a site may read answers."""
        host = _host(origin) if self.here else None
        return self.are_all or origin in self.origins or (host is not None and is_local(host))

    def are_meant(self, host: str) -> bool:
        """Return whether the host of a request is a valid name of this server."""
        name = _host(f"//{host}")
        if not self.local or self.are_all or name is None:
            return True
        return is_local(name) or name in {_host(each) for each in self.origins}


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
