"""MkDocs hook of the site: adds the pages that the package describes, and renders console blocks and pictures.

`docs/` holds what people write. The pages of commands, diagnostic codes, formats and grammars are made here at build
time, so they always agree with the code and are not committed.
"""

from __future__ import annotations

import re
import shutil
import sys
import tomllib
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

TOOLS = Path(__file__).resolve().parent
ROOT = TOOLS.parents[1]
sys.path[:0] = [str(ROOT), str(TOOLS)]

from pages import changelog, codes, commands, formats, grammars, sessions  # noqa: E402
from playground import build as playground  # noqa: E402

import nczarr  # noqa: E402

PICTURE = re.compile(r"^!\[(?P<text>[^\]]*)\]\((?P<path>[^)]+\.svg)\)$", re.MULTILINE)
NAMED = re.compile(r"""(?<![\w"'/.=-])docs/((?:start|how-to|reference|explanation)/[\w/-]+\.(?:md|schema\.json))""")
FOREIGN = re.compile(
    r"""(?:<script[^>]*\ssrc|<link[^>]*\shref|<img[^>]*\ssrc|url\()=?["']?\s*((?:https?:)?//[^"')\s>]+)"""
)


def on_config(config: Any) -> Any:
    """Give the head of the pages the release, and the repository if the package states one (`project.urls`)."""
    config.extra["release"] = nczarr.__version__
    package = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    config.repo_url = package.get("urls", {}).get("Repository") or config.repo_url
    return config


def on_files(files: Files, config: Any) -> Files:
    """Add the generated pages."""
    for maker in (commands, codes, grammars, changelog):
        for path, text in maker.pages():
            files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    """Insert what is generated within a page, put pictures into the text, and show console blocks as sessions."""
    path = page.file.src_uri
    if path.startswith(f"{formats.FOLDER}/"):
        markdown = formats.completed(path, markdown)
    folder = Path(config.docs_dir) / Path(path).parent
    markdown = PICTURE.sub(lambda match: _picture(match["text"], folder / match["path"]), markdown)
    return sessions.rendered(markdown)


def _picture(text: str, path: Path) -> str:
    """Return a picture as part of the page, so that it follows the colours of the page."""
    drawn = re.sub(r"\s*\n\s*", " ", path.read_text(encoding="utf-8").strip())
    caption = f"<figcaption>{text}</figcaption>" if text else ""
    return f'<figure class="drawing" markdown="0">{drawn}{caption}</figure>'


def on_page_content(html: str, page: Any, config: Any, files: Files) -> str:
    """Link the pages that docstrings and the table of formats name by their path in the repository."""

    def link(match: re.Match[str]) -> str:
        found = files.get_file_from_path(match[1])
        if found is None:
            return match[0]
        title = found.page.title if found.page and found.page.title else Path(match[1]).name
        return f'<a href="{found.url_relative_to(page.file)}">{title}</a>'

    return NAMED.sub(link, html)


def on_post_page(output: str, page: Any, config: Any) -> str:
    """Refuse a page that loads anything from another host."""
    found = FOREIGN.search(output)
    if found:
        raise PluginError(f"{page.file.src_uri} loads {found[1]} from another host")
    return output


def on_post_build(config: Any) -> None:
    """Put what the playground runs on beside its script, if `playground/build.py` has gathered it."""
    made = ROOT / "build" / "playground"
    target = Path(config.site_dir) / "assets" / "playground"
    for name in playground.PUBLISHED if (made / playground.ARCHIVE).exists() else ():
        target.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(made / name, target / name)
