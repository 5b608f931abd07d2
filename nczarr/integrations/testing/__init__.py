"""Test tools for programs that use nczarr: strategies of valid datasets with data, and comparison of arrays.

`strategies` requires hypothesis.
"""
