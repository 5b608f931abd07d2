"""Logins of data archives: bearer tokens, `.netrc`, and temporary credentials of S3 from an address.

    login=bearer      the option `token`, else the environment variable EARTHDATA_TOKEN
    login=netrc       user and password of each host that asks, also behind redirections, from `~/.netrc` or $NETRC
    login=earthdata   a token if there is one, else `.netrc`
    s3credentials=URL for S3: a document with `accessKeyId`, `secretAccessKey`, `sessionToken`, `expiration`

A token goes to the server of the URL alone: not to servers that it redirects to, nor to others that a document there
names. Documents of credentials are fetched with the same login, and again before they expire.
"""

from __future__ import annotations

import json
import math
import os
import re
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from threading import Lock
from typing import Any, NamedTuple

from nczarr.diagnostics.secrets import SECRET, TOKEN_SERVER
from nczarr.stores.ranges import BoundedCache
from nczarr.stores.url import BadURLError, server_of

LOGINS = ("bearer", "netrc", "earthdata")
OPTIONS = ("login", "token")

TOKEN = "EARTHDATA_TOKEN"
"""Environment variable with a token."""

EARLY = 300.0
"""Seconds before their end at which credentials are fetched again."""

LASTING = 3600.0
"""Seconds for which credentials without an expiration are kept."""


class TemporaryCredentials(NamedTuple):
    """Credentials of S3 for some time."""

    arguments: dict[str, str]
    """As arguments of the library."""
    end: float
    """Time at which they are fetched again, in seconds since 1970."""


def limit_login(arguments: dict[str, Any], url: str) -> dict[str, Any]:
    """Return the arguments of a file system without secrets that are for another server than that of a URL.

    Users and passwords of `.netrc` remain: they are for their hosts alone.
    """
    server = arguments.get(TOKEN_SERVER, "")
    arguments = {name: value for name, value in arguments.items() if name != TOKEN_SERVER}
    own_server = server_of(url)
    if server in ("", own_server) or not own_server.startswith("http"):
        return arguments
    login = arguments.pop("login", None)
    arguments = _without_secrets(arguments)
    return {**arguments, "login": "netrc"} if login in ("netrc", "earthdata") else arguments


def add_login(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a web file system with the login that the option `login` names. Raises BadURLError."""
    if arguments.get("login") is None:
        return arguments
    arguments = dict(arguments)
    login, token = arguments.pop("login"), (arguments.pop("token", None) or os.environ.get(TOKEN, "")).strip()
    if login not in LOGINS:
        raise BadURLError(f"the storage option `login` must be one of {', '.join(LOGINS)}")
    client = dict(arguments.pop("client_kwargs", {}))
    if login != "netrc" and token:
        client["headers"] = {**client.get("headers", {}), "Authorization": f"Bearer {token}"}
    elif login == "bearer":
        raise BadURLError(f"`login=bearer` needs a token: set {TOKEN}, or the storage option `token`")
    else:
        client["trust_env"] = True
    return {**arguments, "client_kwargs": client}


_known: BoundedCache[str, TemporaryCredentials] = BoundedCache(64)
_lock = Lock()


def add_credentials(
    arguments: dict[str, Any], fetch: Callable[[str, dict[str, Any]], bytes]
) -> tuple[dict[str, Any], float]:
    """Return the arguments of S3 with temporary credentials, and the time of their end; infinite without them.

    `fetch`: returns the bytes at an address, with options of a login. Raises BadURLError, OSError.
    """
    if "s3credentials" not in arguments:
        return arguments, math.inf
    address = str(arguments["s3credentials"])
    options = {name: arguments[name] for name in OPTIONS if name in arguments}
    others = {name: value for name, value in arguments.items() if name not in (*OPTIONS, "s3credentials")}
    key = repr((address, sorted(options.items()), os.environ.get(TOKEN)))
    with _lock:
        credentials: TemporaryCredentials | None = _known.get(key)
        if credentials is None or credentials.end <= time.time():
            credentials = _parse(fetch(address, options), address)
            _known.put(key, credentials)
    return {**others, **credentials.arguments}, credentials.end


def _parse(data: bytes, address: str) -> TemporaryCredentials:
    """Return the credentials of a document. Raises BadURLError."""
    try:
        document = json.loads(data)
        arguments = {"key": document["accessKeyId"], "secret": document["secretAccessKey"]}
        token, expiration = document.get("sessionToken"), document.get("expiration")
        end = time.time() + LASTING if not expiration else datetime.fromisoformat(expiration).timestamp()
    except (ValueError, KeyError, TypeError, AttributeError):
        raise BadURLError(f"`{address}` has no credentials; is the login right?") from None
    return TemporaryCredentials({**arguments, **({"token": token} if token else {})}, end - EARLY)


def _without_secrets(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return options without those that may be secret, nested ones included."""
    return {
        name: _without_secrets(value) if isinstance(value, Mapping) else value
        for name, value in content.items()
        if not re.search(SECRET, name)
    }
