"""Pages of codes: a page lacks no part, and is read alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from nczarr.diagnostics.catalog import CODES, Code, Pages, parse
from nczarr.diagnostics.report import Severity

PAGE = """# lost-nil

- Severity: error
- Subject: Losses

A NIL string would become
an empty text. It is lost.

```cdl
netcdf t {

  :a = "\\x00" ;
}
```

**What to do.** Write `nczarr`,
which keeps it.
"""


def test_parts_of_a_page() -> None:
    assert parse("lost-nil", PAGE) == Code(
        "lost-nil",
        Severity.ERROR,
        "Losses",
        "A NIL string would become an empty text. It is lost.",
        'netcdf t {\n\n  :a = "\\x00" ;\n}\n',
        "Write `nczarr`, which keeps it.",
    )
    assert parse("lost-nil", PAGE).summary == "A NIL string would become an empty text."


def test_a_page_has_the_message_of_its_example() -> None:
    page = PAGE.replace("```\n\n**What", "```\n\n```message\nerror[lost-nil]: variable `/name`\n```\n\n**What")
    assert parse("lost-nil", page)._replace(message="") == parse("lost-nil", PAGE)
    assert parse("lost-nil", page).message == "error[lost-nil]: variable `/name`\n"


def test_bytes_of_an_example() -> None:
    before, _, rest = PAGE.partition("```cdl\n")
    _, _, after = rest.partition("```\n")
    example = "CDF\\x01\\\n\\x00\\xff\\\\\n\\q\\x0a\n\\x5c\\\n"
    assert parse("lost-nil", f"{before}```file bytes\n{example}```\n{after}").example == "CDF\x01\0\udcff\\\\q\n\n\\"


def test_a_page_without_an_example() -> None:
    before, _, rest = PAGE.partition("```cdl\n")
    assert parse("lost-nil", before + rest.partition("```\n\n")[2]).example == ""


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("# lost-nil\n", "", "has no title"),
        ("error", "fatal", "has no severity"),
        ("- Severity: error\n", "", "has no severity"),
        ("- Subject: Losses\n", "", "has no subject"),
        ("Losses", "Gains", "the subject `Gains`"),
        ("# lost-nil", "# lost-null", "the title `lost-null`"),
        ("A NIL string would become\nan empty text. It is lost.\n\n", "", "has no meaning"),
        ("```\n\n**", "**", "has no remedy"),
        ("```cdl\n", "", "has no remedy"),
        ("**What to do.** Write `nczarr`,\nwhich keeps it.\n", "", "has no remedy"),
        ("which keeps it.\n", "which keeps it.\n\nMore.\n", "has no remedy"),
    ],
)
def test_a_page_lacks_a_part(old: str, new: str, said: str) -> None:
    assert old in PAGE
    with pytest.raises(ValueError, match=said):
        parse("lost-nil", PAGE.replace(old, new, 1))


def test_a_page_is_read_alone(tmp_path: Path) -> None:
    folder = tmp_path / "codes"
    folder.mkdir()
    (folder / "lost-nil.md").write_text(PAGE, encoding="utf-8")
    (folder / "bad-page.md").write_text("nothing", encoding="utf-8")
    (tmp_path / "outside.md").write_text(PAGE, encoding="utf-8")
    pages = Pages(folder)
    assert list(pages) == ["bad-page", "lost-nil"]
    assert len(pages) == 2
    assert "bad-page" in pages
    assert pages["lost-nil"].subject == "Losses"
    with pytest.raises(ValueError, match="the page of `bad-page` has no title"):
        dict(pages)
    for name in ("../outside", "lost-null"):
        assert pages.get(name) is None


def test_names_are_known_without_a_page() -> None:
    assert "lost-nil" in CODES
    assert "../codes/lost-nil" not in CODES
