"""Builder: datasets declared by Python calls, with the same checks and diagnostics as texts.

A call with invalid arguments raises one `CompileError` at the caller's file and
line, and declares nothing. `finish` raises one with all errors of the data.
"""

from nczarr.api.builder.dataset import DatasetBuilder
from nczarr.api.builder.group import GroupBuilder, VariableBuilder

__all__ = ["DatasetBuilder", "GroupBuilder", "VariableBuilder"]
