"""Builder: datasets declared by Python calls, with the same checks and diagnostics as texts.

Invalid arguments do not raise. They are collected with the caller's file and
line, and `finish` raises one `CompileError` with all of them and those of the
checks.
"""

from nczarr.api.builder.dataset import DatasetBuilder
from nczarr.api.builder.group import GroupBuilder, VariableBuilder

__all__ = ["DatasetBuilder", "GroupBuilder", "VariableBuilder"]
