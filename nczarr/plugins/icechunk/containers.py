"""Containers of chunks in other files: which of them a reader may follow.

A repository is untrusted, as a reference document is, so the same policy
decides (`stores/reference_policy.py`). Without roots the policy depends on the
protocol alone, so each container is allowed or refused as a whole; a chunk of a
refused one is an error when it is read. With roots, every file is checked when
the repository is opened.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import unquote

from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity
from nczarr.diagnostics.secrets import StorageOptions, show
from nczarr.plugins.icechunk.storage import store_and_credentials
from nczarr.stores.reference_policy import ForbiddenTargetError, Policy

MOST_FAULTS = 20
"""Maximum reported files."""

NAMED = "vcc://"
"""Beginning of a location that names its container instead of a prefix."""


class Access(NamedTuple):
    """Containers of a repository that the reader may follow."""

    credentials: dict[str, Any]
    """Credentials by prefix of the allowed containers."""
    refused: dict[str, str]
    """Reasons by prefix of the other containers."""


def allow(config: Any, policy: Policy, options: StorageOptions) -> Access:
    """Decide about the containers in a configuration, and replace the stores of the allowed ones by ours.

    So neither a path nor a server comes from the repository, unless it is read
    without credentials.
    """
    access = Access({}, {})
    for container in dict(config.virtual_chunk_containers or {}).values():
        prefix = container.url_prefix  # the key is a name in configurations of icechunk 0.1 and 0.2
        try:
            if not policy.given.roots:
                policy.follow(prefix)
            store, credentials = store_and_credentials(prefix, options, container.store)
            config.set_virtual_chunk_container(make_container(prefix, store, container.name))
        except ValueError as error:  # of the policy, of a URL, or of icechunk for a damaged prefix
            access.refused[prefix] = str(error)
            continue
        access.credentials[prefix] = credentials
    return access


def make_container(prefix: str, store: Any, name: str | None) -> Any:
    """Return a container of icechunk. Raises ValueError for a prefix that the library refuses."""
    from nczarr.plugins.icechunk.library import load_library

    ice = load_library()
    if name is not None:
        with suppress(TypeError):  # icechunk 1 takes no name, which configurations of 0.1 and 0.2 have
            return ice.VirtualChunkContainer(prefix, store, name=name)
    return ice.VirtualChunkContainer(prefix, store)


def check_locations(locations: Iterable[str], config: Any, policy: Policy, path: str, report: Report) -> None:
    """Report every file of a repository that the policy refuses: forbidden-target."""
    label, faults = Label(key=path), 0
    named = {
        container.name: prefix
        for prefix, container in dict(config.virtual_chunk_containers or {}).items()
        if container.name
    }
    for location in sorted(set(locations)):
        url = _prefix_location(location, named)
        try:
            for reading in {url, unquote(url, errors="surrogateescape")}:
                policy.follow(reading)
        except ForbiddenTargetError as error:
            report.add(Diagnostic("forbidden-target", Severity.ERROR, f"`{show(location)}`: {error}", label))
            faults += 1
            if faults == MOST_FAULTS:
                return


def _prefix_location(location: str, named: dict[str, str]) -> str:
    """Return a location with the prefix of the container that it names."""
    if not location.startswith(NAMED):
        return location
    name, _, rest = location[len(NAMED) :].partition("/")
    return named.get(name, f"{NAMED}{name}/") + rest
