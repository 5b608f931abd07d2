"""Pickles of open datasets: the call that opens one again, or its content. Neither has credentials."""

from collections.abc import Callable
from functools import partial
from pickle import PicklingError
from typing import Any

from nczarr.diagnostics.secrets import show
from nczarr.options import Following
from nczarr.semantics.checked import Checked
from nczarr.stores import local_paths
from nczarr.stores.url import location


def opening(function: Callable[..., Any], path: str, following: Following, **options: Any) -> partial[Any]:
    """Return the call that opens a dataset again, in another folder too."""
    place = location(path)
    if place.repository:
        return partial(function, place.repository.absolute.text, following=following, **options)
    is_plain = not place.remote and place.path == path
    return partial(function, local_paths.absolute(path) if is_plain else path, following=following, **options)


def check_reopening(call: partial[Any]) -> None:
    """Raise PicklingError if a URL in the call may have credentials."""
    following: Following = call.keywords["following"]
    for url in (call.args[0], following.base, following.target, *following.roots):
        if url is not None and show(url) != url:
            raise PicklingError(
                f"the URL `{show(url)}` may have credentials, which are never pickled: "
                "put them into the environment, or open the dataset where it is used"
            )


def content(checked: Checked) -> tuple[Any, ...]:
    """Return a dataset as values that can be pickled. Raises PicklingError for values in remote stores."""
    for path, parts in checked.parts.items():
        if any(source.distant for source in parts.values()):
            raise PicklingError(
                f"`{path}` is read from a remote store, whose credentials are never pickled: "
                "write the dataset, and open it where it is used"
            )
    return tuple(checked._replace(foreign=dict(checked.foreign)))


def restore_checked(content: tuple[Any, ...]) -> Checked:
    """Invert `content`."""
    return Checked._make(content)
