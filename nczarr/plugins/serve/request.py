"""Parsed requests, and the sites whose pages may send them.

A path is split at its slashes before it is decoded, so `%2F` is never a separator. A segment that contains a slash or
NUL finds nothing.

A server on the loopback interface may serve private data, and every page that the user visits can send requests to it.
By default only local pages may read answers (CORS), and requests with a foreign host name are refused (DNS rebinding).
Source: the Fetch standard, "CORS protocol".
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from ipaddress import ip_address
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from nczarr.plugins.serve.answers import RefusedRequestError

LONGEST = 8192
"""Maximum bytes of a path, of a query, and of all headers."""

MOST_FIELDS = 64
"""Maximum members of a query."""

_base = ""
"""Path below which clients see the server: that of a reverse proxy. One server runs in a process."""

_ABSOLUTE = re.compile(rb"https?://([^/@]+)(/.*)?", re.IGNORECASE | re.DOTALL)
_HOST = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_:[]")


class Request(NamedTuple):
    """One request."""

    segments: tuple[str, ...]
    """Decoded path segments; the last is empty after a trailing slash."""
    query: Mapping[str, str]
    """First value of each parameter by lower-case name."""
    headers: Mapping[str, str]
    """Headers by lower-case name."""
    place: str
    """Scheme and host as the client sees them."""
    constraint: str = ""
    """Query as received."""

    @property
    def wants_json(self) -> bool:
        """True if the client asks for JSON instead of HTML."""
        if "format" in self.query:
            return self.query["format"].lower() == "json"
        accepted = self.headers.get("accept", "")
        return "application/json" in accepted and "text/html" not in accepted


def direct(scope: dict[str, Any]) -> dict[str, Any]:
    """Return the scope of a request with an absolute target as that of a plain one (RFC 9112, section 3.2.2).

    The host in the target replaces the `Host` header.
    """
    found = _ABSOLUTE.fullmatch(scope.get("raw_path") or b"")
    if found is None:
        return scope
    headers = [(b"host", found[1]), *(each for each in scope["headers"] if each[0] != b"host")]
    return {**scope, "raw_path": found[2] or b"/", "headers": headers}


def header(scope: Mapping[str, Any], wanted: bytes) -> str:
    """Return the first header of a name in lower case, empty if it is missing."""
    return next((value.decode("latin-1") for name, value in scope.get("headers", ()) if name == wanted), "")


def first_segment(scope: Mapping[str, Any]) -> str:
    """Return the first segment of the path of an ASGI scope, as received."""
    raw = bytes(scope.get("raw_path") or b"").split(b"?")[0]
    return raw.removeprefix(b"/").split(b"/")[0].decode("latin-1")


def request(scope: Mapping[str, Any], public: str | None = None) -> Request:
    """Return the request of an ASGI scope. `public`: scheme and host as clients see them, if known.

    Raises RefusedRequestError for oversized or invalid ones.
    """
    raw = bytes(scope.get("raw_path") or scope["path"].encode("utf-8")).split(b"?")[0]
    query = bytes(scope.get("query_string", b""))
    if len(raw) > LONGEST or len(query) > LONGEST:
        raise RefusedRequestError(414, f"a path or query has at most {LONGEST} characters")
    if raw[:1] != b"/":
        raise RefusedRequestError(400, "the path does not begin with a slash")
    segments = tuple(_decode(each) for each in raw.decode("latin-1")[1:].split("/"))
    try:
        fields = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=MOST_FIELDS)
    except ValueError:
        raise RefusedRequestError(400, f"a query has at most {MOST_FIELDS} members") from None
    members: dict[str, str] = {}
    for name, value in fields:
        members.setdefault(name.lower(), value)
    if sum(len(name) + len(value) for name, value in scope.get("headers", ())) > LONGEST:
        raise RefusedRequestError(431, f"headers have at most {LONGEST} bytes")
    headers: dict[str, str] = {}
    for name, value in scope.get("headers", ()):
        headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    host = headers.get("host", "")
    if not host or not _HOST.issuperset(host) or len(host) > 255:
        server = scope.get("server") or ("127.0.0.1", 80)
        host = f"{server[0]}:{server[1]}"
    home = public or f"{scope.get('scheme', 'http')}://{host}"
    return Request(segments, members, headers, home, query.decode("latin-1"))


def _decode(segment: str) -> str:
    found = unquote(segment, errors="surrogateescape")
    if "/" in found or "\0" in found:
        raise RefusedRequestError(404, "there is no such name")
    return found


def set_base(path: str) -> None:
    """Set the path below which clients see the server: empty, or with a slash at its begin and none at its end."""
    global _base
    _base = path


def below_base(scope: dict[str, Any]) -> dict[str, Any]:
    """Return the scope of a request without the base: some proxies pass it on, others remove it."""
    raw, base = bytes(scope.get("raw_path") or b""), _base.encode("ascii")
    if not base or not (raw == base or raw.startswith((base + b"/", base + b"?"))):
        return scope
    return {
        **scope,
        "raw_path": raw[len(base) :] if raw[len(base) : len(base) + 1] == b"/" else b"/" + raw[len(base) :],
    }


def url(*segments: str) -> str:
    """Return the URL path of segments, as clients see it."""
    return f"{_base}/" + "/".join(quote(each.encode("utf-8", "surrogateescape"), safe="") for each in segments)


def read_number(query: Mapping[str, str], name: str) -> float | None:
    """Return a number of a query; None without it. Raises RefusedRequestError."""
    text = query.get(name, "").strip()
    try:
        number = float(text) if text else None
    except ValueError:
        number = math.nan
    if number is not None and not math.isfinite(number):
        raise RefusedRequestError(400, f"`{name}` must be a number")
    return number


def is_local(host: str) -> bool:
    """Return whether a name or address is the local machine."""
    host = host.lower().rstrip(".").strip("[]")
    if host == "localhost" or host.endswith(".localhost"):  # RFC 6761: every name below `localhost` is this machine
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


class Sites(NamedTuple):
    """Sites whose pages may read answers."""

    origins: frozenset[str]
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
