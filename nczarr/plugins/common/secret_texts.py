"""Messages of other libraries without secrets."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable

from nczarr.diagnostics.secrets import HIDDEN, StorageOptions, show

VARIABLES = (
    "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_STORAGE_ACCOUNT_KEY",
    "AZURE_STORAGE_CONNECTION_STRING", "AZURE_STORAGE_SAS_TOKEN", "AZURE_CLIENT_SECRET", "EARTHDATA_TOKEN",
    "FSSPEC_S3_KEY", "FSSPEC_S3_SECRET", "FSSPEC_S3_TOKEN",
)  # fmt: skip
"""Environment variables in which libraries look for secrets."""

SHORTEST = 4
"""Minimum characters of a secret; hiding shorter ones would make messages unreadable."""

_SERVICE = r"(?i)(?:cdmremote|dap2|dap4):(?=https?:)"


def scrub(text: str, url: str, options: StorageOptions) -> str:
    """Return a message without secrets of the options, the URL, the environment, or URLs in it."""
    for secret in sorted(set(_list_secrets(url, options)), key=len, reverse=True):
        text = text.replace(secret, HIDDEN)
    return re.sub(r"\w+://\S+", lambda url_match: show(url_match[0]), text)


def _list_secrets(url: str, options: StorageOptions) -> Iterable[str]:
    from urllib.parse import parse_qsl, unquote, urlsplit

    secrets = [*options.secrets(), *(os.environ.get(name, "") for name in VARIABLES)]
    for part in url.split("::"):
        try:
            split = urlsplit(re.sub(_SERVICE, "", part))
            parts = (split.username or "", split.password or "", *(value for _, value in parse_qsl(split.query)))
        except ValueError:
            continue
        secrets += [*parts, *map(unquote, parts)]
    return (secret for secret in secrets if len(secret) >= SHORTEST)
