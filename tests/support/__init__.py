"""Helpers and fixtures of the tests."""
