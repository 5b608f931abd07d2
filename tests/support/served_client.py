"""Client of a server's application in this process, without a socket."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from nczarr.diagnostics.secrets import NO_OPTIONS
from nczarr.options import Following
from nczarr.plugins.serve.application import Application
from nczarr.plugins.serve.context import ServerContext
from nczarr.plugins.serve.dataset_cache import Shelf
from nczarr.plugins.serve.places import Root
from nczarr.plugins.serve.request import Sites
from nczarr.plugins.serve.resources import Disk, Limits
from nczarr.plugins.serve.search_index import SearchIndex
from tests.conftest import ROOT

testclient = pytest.importorskip("starlette.testclient")
pytest.importorskip("httpx")


def client(
    log: Callable[[str], None] | None = None, folder: Path = ROOT / "samples", limits: Limits | None = None
) -> testclient.TestClient:
    root, limits = Root(str(folder)), limits or Limits()
    shelf = Shelf(limits, Following(roots=(root.home,)), NO_OPTIONS)
    context = ServerContext(root, shelf, limits, Disk(limits.spill), SearchIndex(root, shelf.read))
    made = Application(context, Sites.of(None, "127.0.0.1"), log)
    return testclient.TestClient(made, base_url="http://localhost", follow_redirects=False)
