"""Storage options, and what must not be seen of them: keys, tokens and passwords never come into a message.

A remote place is a URL and options for the library that speaks its protocol. Either may hold a secret: `shown` is a URL
without what could be one, `scrubbed` a text of a server or library without any that is known here. Options print as
nothing at all, so that no log of a library, a worker or a traceback has them.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

SECRET = re.compile(r"key|secret|token|passw|pwd|credential|sas|signature|auth|cookie|user", re.IGNORECASE)
"""What the name of an option has whose value is not to be seen."""

VARIABLES = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET", "FSSPEC_S3_KEY",
    "FSSPEC_S3_SECRET", "FSSPEC_S3_TOKEN",
)  # fmt: skip
"""Variables of the environment in which libraries look for secrets."""

SHORTEST = 4
"""Characters of a text that could be a secret; to hide shorter ones would make messages unreadable."""

HIDDEN = "…"

_USER = re.compile(r"(?<=://)[^/@\s]*@")
_SERVICE = re.compile(r"cdmremote:(?=https?:)", re.IGNORECASE)
_QUERY = re.compile(r"\?[^#\s\"'`]*")


class StorageOptions(Mapping[str, Any]):
    """Options of one or more protocols, by name; `source.`, `target.` or a protocol in front: for that side or
    protocol alone. Prints without its content.
    """

    __slots__ = ("_content",)

    def __init__(self, content: Mapping[str, Any] | None = None) -> None:
        self._content = dict(content or {})

    def __getitem__(self, name: str) -> Any:
        return self._content[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._content)

    def __len__(self) -> int:
        return len(self._content)

    def __repr__(self) -> str:
        return f"<{len(self)} storage options>"

    def __reduce__(self) -> tuple[Any, ...]:
        return StorageOptions, (self._content,)

    def of(self, side: str) -> StorageOptions:
        """The options for one side, `source` or `target`."""
        sides = ("source.", "target.")
        plain = {name: value for name, value in self._content.items() if not name.startswith(sides)}
        own = {name.removeprefix(f"{side}."): value for name, value in self._content.items()
               if name.startswith(f"{side}.")}  # fmt: skip
        return StorageOptions({**plain, **own})

    def at(self, side: str, server: str | None) -> StorageOptions:
        """The same, with the server that a URL of one side names, unless they name one themselves."""
        if server is None or "endpoint_url" in self.of(side):
            return self
        return StorageOptions({**self._content, f"{side}.endpoint_url": server})

    def secrets(self) -> Iterator[str]:
        """Every value that could be a secret, those of nested options too."""
        yield from _secrets(self._content)


NO_OPTIONS = StorageOptions()


def option(text: str) -> tuple[str, Any]:
    """One option as it is written, `K=V`. `true`, `false`, `null`, numbers, lists and objects of JSON are such, but for
    the values of what could be a secret, which are texts. Raises ValueError for a text without a name.
    """
    import json

    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ValueError("write NAME=VALUE")
    if SECRET.search(name) and not value.startswith("{"):
        return name, value
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _secrets(content: Mapping[str, Any]) -> Iterator[str]:
    for name, value in content.items():
        if isinstance(value, Mapping):
            yield from _secrets(value)
        elif isinstance(value, str) and SECRET.search(name):
            yield value


def shown(url: str) -> str:
    """A path as it is; a URL without the user's name and what stands behind `?`, where signatures are."""
    if "://" not in url:
        return url
    return _QUERY.sub(f"?{HIDDEN}", _USER.sub(f"{HIDDEN}@", url))


def scrubbed(text: str, url: str, options: StorageOptions) -> str:
    """A message without secrets: those of the options, the URL and the environment, and what a URL in it could hold."""
    for secret in sorted(set(_known(url, options)), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return re.sub(r"\w+://\S+", lambda found: shown(found[0]), text)


def _known(url: str, options: StorageOptions) -> Iterable[str]:
    from urllib.parse import parse_qsl, unquote, urlsplit

    found = [*options.secrets(), *(os.environ.get(name, "") for name in VARIABLES)]
    for part in url.split("::"):
        try:
            split = urlsplit(_SERVICE.sub("", part))
            given = (split.username or "", split.password or "", *(value for _, value in parse_qsl(split.query)))
        except ValueError:
            continue
        found += [*given, *map(unquote, given)]
    return (each for each in found if len(each) >= SHORTEST)
