"""Long description of the package: README.md with links that work outside the repository.

NCZARR_LINKS is the place of the repository's files, such as `https://HOST/OWNER/nczarr/blob/v1.0.0`. Relative links
begin with it; without it they become plain text.
"""

import os
import re
from pathlib import Path

from setuptools import setup

RELATIVE = re.compile(r"\[([^\]]+)\]\((?!https?:|#)([^)]+)\)")


def long_description() -> str:
    """Return the text of README.md without relative links."""
    text = Path(__file__).with_name("README.md").read_text(encoding="utf-8")
    home = os.environ.get("NCZARR_LINKS", "").rstrip("/")
    return RELATIVE.sub(rf"[\1]({home}/\2)" if home else r"\1", text)


setup(long_description=long_description(), long_description_content_type="text/markdown")
