"""Chromium, driven by playwright-core, for tests of pages."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parent / "peers" / "browse.mjs"
VERSIONS = {"playwright-core": "1.65.1", "axe-core": "4.14.1"}


class Browser:
    """A browser in a process of its own."""

    def __init__(self, node: str, folder: Path, chromium: str) -> None:
        self.process = subprocess.Popen(
            [node, SCRIPT, folder, chromium], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(
        self,
        url: str,
        *steps: tuple[str, ...],
        width: int = 900,
        scheme: str = "light",
        script: bool = True,
        patience: int = 15,
    ) -> list[Any]:
        """The answers of the steps on a page that has no errors."""
        return self.ask_all({url: steps}, width=width, scheme=scheme, script=script, patience=patience)[0]

    def ask_all(
        self,
        pages: Mapping[str, Sequence[tuple[str, ...]]],
        *,
        width: int,
        scheme: str,
        script: bool = True,
        patience: int = 15,
    ) -> list[list[Any]]:
        """The answers of steps on some pages, which have no errors, side by side.

        `pages`: steps by URL; `patience`: seconds for the page and for each step.
        """
        common = {"width": width, "scheme": scheme, "script": script, "patience": patience * 1000}
        asked = [{"url": url, "steps": steps, **common} for url, steps in pages.items()]
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(asked) + "\n")
        self.process.stdin.flush()
        found = json.loads(self.process.stdout.readline())
        errors = [each["errors"] for each in found]
        assert errors == [[]] * len(pages), errors
        return [each["answers"] for each in found]


@contextlib.contextmanager
def open_browser(tool: Callable[[str], str]) -> Iterator[Browser]:
    """Chromium; what drives it is installed once into a folder for temporary files (NCZARR_BROWSER names another)."""
    chromium, node, npm = tool("chromium"), tool("node"), tool("npm")
    version = "-".join(VERSIONS.values())
    folder = Path(os.environ.get("NCZARR_BROWSER") or Path(tempfile.gettempdir()) / f"nczarr-browser-{version}")
    if not all((folder / "node_modules" / name / "package.json").is_file() for name in VERSIONS):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n', encoding="utf-8")
        wanted = [f"{name}@{number}" for name, number in VERSIONS.items()]
        options = ["--no-audit", "--no-fund", "--ignore-scripts", "--fetch-retries=0", "--fetch-timeout=60000"]
        done = subprocess.run(
            [npm, "install", *options, "--prefix", folder, *wanted], capture_output=True, text=True, check=False
        )
        if done.returncode:  # a machine may have npm and no way to the registry
            pytest.skip(f"npm does not bring playwright-core and axe-core: {done.stderr.strip()[-200:]}")
    made = Browser(node, folder, chromium)
    yield made
    assert made.process.stdin is not None
    made.process.stdin.close()
    made.process.wait(20)
