"""Codecs that documents of the 2019 draft may name: those that turn bytes into bytes, numbers or texts alone."""

from __future__ import annotations

import pytest

from nczarr.plugins.zarr_drafts.dtypes import BASE, configs

NAMES = ("pickle", "szip", "transpose", "byteswap", "sharding_indexed")


@pytest.mark.plugin("rare_codecs")
def test_documents_name_harmless_codecs_only() -> None:
    assert [step["id"] for step in configs([{"codec": f"{BASE}delta"}])] == ["delta"]
    assert [step["id"] for step in configs([{"codec": f"{BASE}{name}"} for name in NAMES])] == [
        f"{BASE}{name}" for name in NAMES
    ]
