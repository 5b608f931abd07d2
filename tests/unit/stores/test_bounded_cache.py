"""Caches of a bounded size: what goes first, and entries that are too large."""

from __future__ import annotations

from nczarr.stores.bounded_cache import BoundedCache


def test_the_least_recently_used_entry_goes_first() -> None:
    cache: BoundedCache[str, int] = BoundedCache(2)
    assert (cache.get("a"), len(cache), cache.entries()) == (None, 0, {})
    cache.put("a", 1)
    cache.put("b", 2)
    assert cache.get("a") == 1
    cache.put("c", 3)
    assert cache.entries() == {"a": 1, "c": 3}
    assert ("b" in cache, cache.get("b", "missing")) == (False, "missing")


def test_sizes_count() -> None:
    cache: BoundedCache[int, bytes] = BoundedCache(10, len)
    cache.put(1, b"aaaa")
    cache.put(2, b"bbbb")
    cache.put(1, b"a" * 7)
    assert cache.entries() == {1: b"a" * 7}
    cache.put(3, b"c" * 99)
    assert len(cache) == 1
    cache.put(4, b"")
    assert len(cache) == 2
    cache.put(5, b"d")
    assert cache.entries() == {4: b"", 5: b"d"}
