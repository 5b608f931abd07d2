"""Write the pages and tables that the code itself knows, or prove with --check that they are current.

docs/CODES.md and docs/ast.schema.json whole; in README.md and docs/FORMATS.md what stands between
`<!-- NAME -->` and `<!-- end -->`.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from nczarr import registry  # noqa: E402
from nczarr.cli import explain, formats  # noqa: E402
from nczarr.formats.ast_json.wire import schema  # noqa: E402


def table() -> str:
    """The table of formats."""
    return "".join(formats.markdown([formats.row(form) for form in registry.formats()]))


def pages() -> Iterator[tuple[Path, str]]:
    """Each generated page with the text that it should have."""
    yield ROOT / "docs" / "CODES.md", "".join(explain.markdown())
    yield ROOT / "docs" / "ast.schema.json", json.dumps(schema(), indent=1, ensure_ascii=False) + "\n"
    for path in (ROOT / "README.md", ROOT / "docs" / "FORMATS.md"):
        old = path.read_text(encoding="utf-8")
        yield (
            path,
            re.sub(
                r"(<!-- formats -->\n).*?(<!-- end -->)",
                lambda match: match[1] + table() + match[2],
                old,
                flags=re.DOTALL,
            ),
        )


def main() -> int:
    """Write, or with --check complain; the status says whether anything was stale."""
    stale = [(path, text) for path, text in pages() if not path.exists() or path.read_text(encoding="utf-8") != text]
    if "--check" in sys.argv:
        for path, _ in stale:
            print(f"{path.relative_to(ROOT)} is stale: run `make docs`")
        return int(bool(stale))
    for path, text in stale:
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
