"""Options: their fingerprint holds each one that may change a byte."""

from __future__ import annotations

from nczarr.options import RUN_ONLY, Options, Writing


def test_each_option_counts_or_is_of_the_run_alone() -> None:
    assert set(Options._fields) > RUN_ONLY
    plain = Options().fingerprint
    for name in Options._fields:
        changed = Options()._replace(**{name: Writing(inline=1)})
        assert (changed.fingerprint == plain) == (name in RUN_ONLY), name


def test_order_of_mappings_and_sets_does_not_count() -> None:
    one = Options(codecs={"/a": "zlib", "/b": "zstd"}, allow_loss=frozenset(["lost-union", "lost-mask"]))
    other = Options(codecs={"/b": "zstd", "/a": "zlib"}, allow_loss=frozenset(["lost-mask", "lost-union"]))
    assert one.fingerprint == other.fingerprint != Options().fingerprint
