"""Whose pages may read what a server answers, in a browser that stands where the server does (CORS; DNS rebinding).

A server that listens on this machine alone answers what may be for its user alone: any page that the user visits can
send requests to it. So by default only pages of this machine may read the answers, and a request that calls the server
by a name of somewhere else gets none. Source: the Fetch standard, "CORS protocol".
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import ip_address
from typing import NamedTuple
from urllib.parse import urlsplit


def is_local(host: str) -> bool:
    """Whether a name or address is that of this machine alone."""
    host = host.lower().rstrip(".").strip("[]")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Sites(NamedTuple):
    """`origins`: sites whose pages may read answers, `*` for all. `here`: those of this machine may. `local`: the
    server listens on this machine alone.
    """

    origins: frozenset[str]
    here: bool
    local: bool

    @classmethod
    def of(cls, asked: Iterable[str] | None, host: str) -> Sites:
        """What is asked for, of a server that listens at a host: sites, or `none`. Without a word about it the pages of
        this machine where the server listens here alone, else all.
        """
        given, local = frozenset(asked or ()), is_local(host)
        if not given:
            return cls(frozenset(() if local else "*"), local, local)
        return cls(frozenset() if "none" in given else given, False, local)

    @property
    def are_all(self) -> bool:
        """Whether pages of every site may read answers."""
        return "*" in self.origins

    @property
    def are_none(self) -> bool:
        """Whether no page may."""
        return not self.origins and not self.here

    def may_read(self, origin: str) -> bool:
        """Whether pages of a site may read answers."""
        host = _host(origin) if self.here else None
        return self.are_all or origin in self.origins or (host is not None and is_local(host))

    def are_meant(self, host: str) -> bool:
        """Whether a request means this server by the host that it names."""
        name = _host(f"//{host}")
        if not self.local or self.are_all or name is None:
            return True
        return is_local(name) or name in {_host(each) for each in self.origins}


def _host(url: str) -> str | None:
    try:
        return urlsplit(url).hostname
    except ValueError:
        return None
