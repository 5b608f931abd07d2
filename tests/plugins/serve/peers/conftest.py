"""Fixtures of the tests in which clients of other projects read the server."""

from __future__ import annotations

import ssl

import pytest


@pytest.fixture
def plain_http(monkeypatch: pytest.MonkeyPatch) -> None:
    """Refuse https at once: pydap asks every URL by https first, six times with pauses."""

    def refuse(*_: object) -> None:
        raise ssl.SSLError("the server has no https")

    monkeypatch.setattr("urllib3.connection.HTTPSConnection.connect", refuse)
    monkeypatch.setattr("urllib3.util.retry.Retry.sleep", lambda *_: None)
