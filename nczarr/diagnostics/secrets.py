"""Storage options and their secrets: keys, tokens and passwords never appear in messages.

A remote place is a URL with options for its protocol library; both may contain
secrets. `show` returns a URL without possible secrets. The `repr` of options is empty, so that no log or traceback
contains them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.names import FrozenMapping

SECRET = r"(?i)key|secret|token|passw|pwd|credential|sas|signature|auth|cookie|user"
"""Pattern in names of options with secret values; this and the others are compiled on first use."""

HIDDEN = "…"

_USER = r"(?<=://)[^/@\s]*@"
_QUERY = r"\?[^#\s\"'`]*"

TOKEN_SERVER = "token_server"
"""Name of the option with the only server that may get a token."""

WEB_SECRETS = frozenset({"login", "headers", "client_kwargs", "auth", "cookies"})
"""Options of the web that have secrets, themselves or in their members."""


class StorageOptions(FrozenMapping[Any]):
    """Options by name, optionally prefixed `source.`, `target.` or a protocol; the `repr` hides the content.

    Raises TypeError for anything but a dictionary with names.
    """

    __slots__ = ()

    def __init__(self, content: Mapping[str, Any] | None = None) -> None:
        content = {} if content is None else content
        if not isinstance(content, Mapping) or not all(isinstance(name, str) for name in content):
            raise TypeError(f"storage_options must be a dictionary with names of options, not {type(content).__name__}")
        super().__init__(dict(content))

    def __repr__(self) -> str:
        return f"<{len(self)} storage options>"

    def of(self, side: str) -> StorageOptions:
        """Return the options for one side, `source` or `target`."""
        sides = ("source.", "target.")
        plain = {name: value for name, value in self._content.items() if not name.startswith(sides)}
        specific = {name.removeprefix(f"{side}."): value for name, value in self._content.items()
               if name.startswith(f"{side}.")}  # fmt: skip
        return StorageOptions({**plain, **specific})

    def at(self, side: str, server: str | None) -> StorageOptions:
        """Return the options with the server of one side's URL as default."""
        if server is None or "endpoint_url" in self.of(side):
            return self
        return StorageOptions({**self._content, f"{side}.endpoint_url": server})

    def limit_token(self, server: str) -> StorageOptions:
        """Return the options with secrets of the web for one server alone; an earlier limit stays."""
        if TOKEN_SERVER in self._content or not any(name.rpartition(".")[2] in WEB_SECRETS for name in self._content):
            return self
        return StorageOptions({**self._content, TOKEN_SERVER: server})

    def secrets(self) -> Iterator[str]:
        """Yield every possibly secret value, nested ones included."""
        yield from _secrets(self._content)


NO_OPTIONS = StorageOptions()


def option(text: str) -> tuple[str, Any]:
    """Parse one option `K=V`. Values are JSON (`true`, `false`, `null`, numbers, lists, objects) or text.

    Possible secrets are texts. Raises ValueError without a name.
    """
    import json

    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError("write NAME=VALUE")
    if re.search(SECRET, name) and not value.startswith("{"):
        return name, value
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _secrets(content: Mapping[str, Any]) -> Iterator[str]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _secrets(value)
        elif isinstance(value, str) and re.search(SECRET, name):
            yield value


def show(url: str) -> str:
    """Return a path unchanged; a URL without user and query, which may hold signatures."""
    return url if "://" not in url else re.sub(_QUERY, f"?{HIDDEN}", re.sub(_USER, f"{HIDDEN}@", url))


def word(path: str) -> str:
    """Return a path or URL, as `show` does, as one word of a command line."""
    import shlex  # only for a message

    return shlex.quote(show(path))
