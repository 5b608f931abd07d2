"""Test tools for programs that use nczarr: datasets from CDL, comparison of datasets and arrays, strategies.

`strategies` requires hypothesis. pytest loads the fixture `cdl` of `plugin` by itself.
"""

from nczarr.plugins.testing.datasets import assert_same_dataset

__all__ = ["assert_same_dataset"]
