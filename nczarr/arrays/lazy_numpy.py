"""numpy, loaded when something of it is first used, because metadata alone must start fast."""

from __future__ import annotations

from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
else:

    class _Numpy(ModuleType):
        """Stand-in for numpy that keeps what was asked for."""

        def __getattr__(self, name: str) -> Any:
            import numpy

            found = getattr(numpy, name)
            setattr(self, name, found)
            return found

    np = _Numpy("numpy")
    NDArray = Any  # in annotations, which are not evaluated

__all__ = ["NDArray", "np"]
