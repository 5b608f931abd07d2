"""Codes of losses: what a target cannot hold (DESIGN §4). Value losses are errors, annotation losses warnings."""

from __future__ import annotations

from nczarr.codes.code import Code

CODES: tuple[Code, ...] = ()
