"""NumPy, imported on first use, because metadata operations must start fast.

Arrays are made through one gate (`stores/allowance.py`): a size that a document
declares may be larger than the memory that is free.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:
    _SHAPED = {"empty": 1, "zeros": 1, "ones": 1, "full": 2}
    """Functions that make an array of a shape, and the place of the dtype among their arguments."""
    _SHAPES = (tuple, list)

    def _make_gate(name: str, function: Callable[..., Any], dtype_class: Any) -> Callable[..., Any]:
        """Return a function that makes arrays of a shape, if there is room for them."""
        from nczarr.stores.allowance import LARGE, check_memory

        place = _SHAPED[name] - 1

        @functools.wraps(function)
        def make(shape: Any, *others: Any, **named: Any) -> Any:
            """Make the array if there is room; `place` is that of the dtype among `others`."""
            dtype = others[place] if len(others) > place else named.get("dtype")
            if not isinstance(dtype, dtype_class):
                dtype = dtype_class(dtype)
            size = (math.prod(shape) if type(shape) in _SHAPES else int(shape)) * dtype.itemsize
            if size > LARGE:
                check_memory(size)
            return function(shape, *others, **named)

        return make

    class _Numpy(ModuleType):
        """Stand-in for NumPy that caches its attributes."""

        def __getattr__(self, name: str) -> Any:
            """Import a member of NumPy on first use; functions that make arrays check the free memory first."""
            import numpy

            member = getattr(numpy, name)
            if name in _SHAPED:
                member = _make_gate(name, member, numpy.dtype)
            setattr(self, name, member)
            return member

    np = _Numpy("numpy")
    NDArray = Any  # in annotations, which are not evaluated

__all__ = ["NDArray", "np"]
