"""Comments of a text that hide warnings: `// nczarr: ignore[cf-units]`.

A comment concerns its line; alone on a line it concerns the next one as well.
"""

import re
from collections.abc import Iterable

_COMMENT = re.compile(r"//.*?\bnczarr:\s*ignore\[([^\]]*)\]")


def matches(code: str, words: Iterable[str]) -> bool:
    """Return whether a code, or its first words, are among some."""
    return any(code == word or code.startswith(word + "-") for word in words)


def is_ignored(code: str, line: str, above: str) -> bool:
    """Return whether a comment of a line, or one that stands alone on the line above, names a code."""
    comments = [_COMMENT.search(line)]
    if (above := above.strip()).startswith("//"):
        comments.append(_COMMENT.match(above))
    words = (word.strip() for comment in comments if comment is not None for word in comment[1].split(","))
    return matches(code, words)
