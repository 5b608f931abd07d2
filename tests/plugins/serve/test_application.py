"""The application in this process, without a socket: its table of routes, and what becomes of errors."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from nczarr.plugins.serve import application
from nczarr.plugins.serve.answers import HttpAnswer, RefusedRequestError, describe_refusal
from nczarr.plugins.serve.application import ROUTES
from nczarr.plugins.serve.context import Answer, ServerContext, ServerRoute
from nczarr.plugins.serve.dataset_cache import CachedDataset
from nczarr.plugins.serve.request import Request
from tests.support.served_client import client


def added(monkeypatch: pytest.MonkeyPatch, answer: Callable[[], HttpAnswer]) -> None:
    """Add the route `/added/…`."""

    def handler(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
        return answer()

    monkeypatch.setattr(application, "ROUTES", (*ROUTES, ServerRoute("added", handler)))


def test_a_route_is_a_row(monkeypatch: pytest.MonkeyPatch) -> None:
    added(monkeypatch, lambda: HttpAnswer(b"yes\n"))
    asked = client()
    for path in ("/added", "/added/", "/added/a/b?c"):
        reply = asked.get(path)
        assert (reply.status_code, reply.text) == (200, "yes\n")
        assert reply.headers["cache-control"] == "no-cache"
    head = asked.head("/added")
    assert (head.status_code, head.text, head.headers["content-length"]) == (200, "", "4")
    for path in ("/addedx", "/added%2Fa", "/x/added", "//added"):
        assert asked.get(f"http://localhost{path}").status_code == 404
    assert asked.post("/added").status_code == 405


def test_names_of_routes_are_distinct() -> None:
    names = [row.name for row in ROUTES]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    ("error", "status", "words", "logged"),
    [
        (RefusedRequestError(400, "not so"), 400, "not so", ""),
        (OSError(5, "broken disk"), 500, "broken disk", "unreachable"),
        (ValueError("a secret"), 500, "internal error", "a secret"),
    ],
)
def test_errors_become_answers(
    error: Exception, status: int, words: str, logged: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> HttpAnswer:
        raise error

    added(monkeypatch, fail)
    lines: list[str] = []
    asked = client(lines.append)
    reply = asked.get("/added")
    assert (reply.status_code, words in reply.text, "secret" in reply.text) == (status, True, False)
    page = asked.get("/added", headers={"Accept": "text/html"})
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert "secret" not in page.text
    assert logged in "".join(lines)


@pytest.mark.parametrize("kept", [True, False])
def test_a_missing_target_is_a_fault_of_the_dataset(kept: bool, tmp_path: Path) -> None:
    """Without the root it is one of the server. 404 would be a chunk of fill values."""
    home = tmp_path / "root"
    if kept:
        home.mkdir()
    error = FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(home / "sub" / "gone.nc"))
    refusal = describe_refusal(error, str(home))
    assert (refusal.status, "`sub/gone.nc`" in refusal.text) == ((422, True) if kept else (500, False))
    assert str(tmp_path) not in refusal.text


def test_the_dataset_page_plans_stores_and_makes_no_documents(monkeypatch: pytest.MonkeyPatch) -> None:
    from nczarr.plugins.common import store_view

    monkeypatch.setattr(store_view, "emit", None)
    reply = client().get("/browse/05-every-type.cdl?format=json")
    assert reply.status_code == 200
    assert all(reply.json()["losses"][version] for version in ("zarr2", "zarr3"))
