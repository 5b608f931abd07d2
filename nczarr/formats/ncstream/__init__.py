"""ncstream: a dataset as one stream of messages (contract: ncstream). `nczarr.ncstream` is the door to messages."""

from __future__ import annotations
