"""`nczarr`: a compiler for array data models.

The public names live here and are loaded on first use, so that `import nczarr` costs nothing.
"""

from __future__ import annotations

__version__ = "0.1.0"
