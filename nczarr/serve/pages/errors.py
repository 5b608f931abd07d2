"""Pages of refused requests, with the way back."""

from __future__ import annotations

from http import HTTPStatus

from nczarr.serve.pages.markup import link, page, text
from nczarr.serve.request import url


def error_page(status: int, words: str) -> str:
    """Return the page of a refused request. `words`: lines that say why."""
    body = (
        f'<pre class="error">{text(words.rstrip())}</pre>\n',
        f"<p>{link(url(''), 'All datasets')}</p>\n",
    )
    return page(f"{status} {HTTPStatus(status).phrase}", body)
