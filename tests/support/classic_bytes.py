"""Classic headers put together by hand, right or wrong, for tests of the reader."""

from __future__ import annotations

from typing import NamedTuple

WIDTHS = {1: (4, 4), 2: (4, 8), 5: (8, 8)}


class Made(NamedTuple):
    """Pieces of a header of one version (1, 2 or 5)."""

    version: int = 1

    def count(self, number: int) -> bytes:
        return number.to_bytes(WIDTHS[self.version][0], "big", signed=number < 0)

    def offset(self, number: int) -> bytes:
        return number.to_bytes(WIDTHS[self.version][1], "big")

    def tag(self, number: int) -> bytes:
        return number.to_bytes(4, "big")

    def name(self, name: bytes) -> bytes:
        return self.count(len(name)) + name + bytes(-len(name) % 4)

    def absent(self) -> bytes:
        return self.tag(0) + self.count(0)

    def things(self, tag: int, *entries: bytes) -> bytes:
        return self.tag(tag) + self.count(len(entries)) + b"".join(entries)

    def dimension(self, name: bytes, length: int) -> bytes:
        return self.name(name) + self.count(length)

    def attribute(self, name: bytes, kind: int, count: int, data: bytes) -> bytes:
        return self.name(name) + self.tag(kind) + self.count(count) + data

    def variable(self, name: bytes, ids: tuple[int, ...], kind: int, vsize: int, begin: int) -> bytes:
        made = self.name(name) + self.count(len(ids)) + b"".join(map(self.count, ids)) + self.absent()
        return made + self.tag(kind) + self.count(vsize) + self.offset(begin)

    def file(
        self,
        dimensions: bytes | None = None,
        attributes: bytes | None = None,
        variables: bytes | None = None,
        *,
        records: int = 0,
        data: bytes = b"",
    ) -> bytes:
        lists = (self.absent() if part is None else part for part in (dimensions, attributes, variables))
        return b"CDF" + bytes([self.version]) + self.count(records) + b"".join(lists) + data
