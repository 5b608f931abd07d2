"""Fixtures of the tests of load."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests.support.forked_runs import Runner, forked_runs


@pytest.fixture(scope="module")
def failing_runner(tmp_path_factory: pytest.TempPathFactory, tool: Callable[[str], str]) -> Iterator[Runner]:
    """Run commands in processes of which one call fails."""
    with forked_runs(tmp_path_factory.mktemp("calls"), tool("cc")) as found:
        yield found
