"""The programmatic way to a legal tree: the same passes and diagnostics as for text.

No call of a builder raises for a mistake in what it is given: mistakes are kept, with the caller's file and line,
and `finish` raises one `CompileError` with all of them, those of the passes too.
"""

from nczarr.api.builder.dataset import DatasetBuilder
from nczarr.api.builder.group import GroupBuilder, VariableBuilder

__all__ = ["DatasetBuilder", "GroupBuilder", "VariableBuilder"]
