"""NumPy, imported on first use, because metadata operations must start fast."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:

    class _Numpy(ModuleType):
        """Stand-in for NumPy that caches its attributes."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            member = getattr(numpy, name)
            setattr(self, name, member)
            return member

    np = _Numpy("numpy")
    NDArray = Any  # in annotations, which are not evaluated

__all__ = ["NDArray", "np"]
