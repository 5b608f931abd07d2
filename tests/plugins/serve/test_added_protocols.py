"""Protocols that other plugins add: URLs, places on pages, refusals, and the limits of the server."""

from __future__ import annotations

import pytest

from nczarr.names.plugin_index import ProtocolRow
from nczarr.plugins.serve.pages import folder, markup
from nczarr.plugins.serve.protocols import added
from nczarr.plugins.serve.resources import Limits
from nczarr.sdk import ProtocolRequest, Reply, RequestError
from tests.support.served_client import client

ROWS = {"words": ProtocolRow(f"{__name__}:answer", "Words", "Wordy"), "browse": ProtocolRow("no.module:no", "None")}


def answer(asked: ProtocolRequest) -> Reply:
    """Answer with one line for each variable; `?many=N` repeats them, `?bad` is refused."""
    if "bad" in asked.query:
        raise RequestError(409, "not `bad`")
    lines = [f"{path} {asked.dataset[path].shape}\n".encode() for path in asked.dataset]
    return Reply((line for _ in range(int(asked.query.get("many", 1))) for line in lines), "text/x-words")


@pytest.fixture(autouse=True)
def _rows(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (added, folder, markup):
        monkeypatch.setattr(module, "list_protocols", lambda: ROWS)
    markup._environment.cache_clear()
    monkeypatch.setitem(markup._environment().globals, "protocols", ROWS)


def test_a_protocol_answers() -> None:
    reply = client().get("/words/01-station.cdl")
    assert (reply.status_code, reply.headers["content-type"]) == (200, "text/x-words")
    assert reply.text.splitlines()[:2] == ["/station_name (3, 12)", "/lat (3,)"]
    assert client().get("/words/missing.cdl").status_code == 404


def test_it_refuses_in_its_words() -> None:
    reply = client().get("/words/01-station.cdl?bad")
    assert (reply.status_code, reply.text) == (409, "not `bad`\n")


def test_an_answer_has_the_limit_of_the_server() -> None:
    asked = client(limits=Limits(response=1 << 20))
    assert asked.get("/words/01-station.cdl?many=1000").status_code == 200
    assert asked.get("/words/01-station.cdl?many=100000").status_code == 413


def test_pages_and_catalogs_list_it() -> None:
    asked = client()
    page = asked.get("/browse/01-station.cdl", headers={"accept": "text/html"}).text
    assert "Words: <code>http://localhost/words/01-station.cdl</code>" in page
    services = asked.get("/browse/01-station.cdl?format=json").json()["services"]
    assert services["words"] == "http://localhost/words/01-station.cdl"
    assert '<service name="words" serviceType="Wordy" base="/words/" />' in asked.get("/catalog/catalog.xml").text


def test_the_servers_own_routes_stay() -> None:
    assert client().get("/browse/01-station.cdl").status_code == 200
