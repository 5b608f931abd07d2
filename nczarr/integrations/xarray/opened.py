"""Datasets that lazy arrays read: opened once per process, and pickled as a path with its options."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakValueDictionary

from nczarr.ast import Variable
from nczarr.ast.storage import Element
from nczarr.integrations.xarray.values import Known, Presentation, presentation
from nczarr.plan.keys import axes
from nczarr.stores.bounded_cache import BoundedCache

if TYPE_CHECKING:
    from nczarr.api.node_handles import GroupHandle

MOST = 16
"""Datasets that a process keeps open for arrays that it has unpickled."""

_lock = Lock()
_known: WeakValueDictionary[str, OpenedDataset] = WeakValueDictionary()
"""All datasets of the process by token."""

_kept: BoundedCache[str, OpenedDataset] = BoundedCache(MOST)
"""The last datasets that were unpickled, by token: between two tasks, no array may refer to one."""


class OpenedDataset:
    """An open dataset that pickles as the call that opens it again."""

    __slots__ = ("__weakref__", "_axes", "_forms", "_open", "_token", "handle", "values")

    def __init__(self, handle: GroupHandle, open_again: Callable[[], GroupHandle] | None = None) -> None:
        self.handle = handle
        self.values: Known = {}
        self._open = open_again
        self._token = ""
        self._forms: dict[tuple[str, Element | None, str | None], Presentation | None] = {}
        self._axes: tuple[dict[str, tuple[str, ...]], dict[str, str]] | None = None

    def form(self, variable: Variable) -> Presentation | None:
        """Return the form of a variable's values, as `presentation` does."""
        storage = variable.storage
        key = variable.type, storage.element, storage.endian
        if key not in self._forms:
            self._forms[key] = presentation(variable, self.handle.checked.types)
        return self._forms[key]

    @property
    def axes(self) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
        """Dimension names of each variable by FQN, and notes on renamed ones by FQN of the variable."""
        if self._axes is None:
            self._axes = axes(self.handle.checked)
        return self._axes

    def __repr__(self) -> str:
        return f"<{self.handle!r}>"

    def __reduce__(self) -> tuple[Any, ...]:
        open_again = partial(pickle.loads, pickle.dumps(self.handle)) if self._open is None else self._open
        with _lock:
            if not self._token:
                self._token = uuid4().hex
                _known[self._token] = self
        return _reopened, (self._token, open_again)


def _reopened(token: str, open_again: Callable[[], GroupHandle]) -> OpenedDataset:
    """Return the dataset with a token, opened if the process does not have it. Raises the errors of opening."""
    with _lock:
        dataset = _known.get(token)
        if dataset is None:
            dataset = OpenedDataset(open_again(), open_again)
            dataset._token = token
            _known[token] = dataset
        _kept.put(token, dataset)
    return dataset
