"""Write the table of programs of docs/reference/generators.md: those of ncgen and of `nczarr generate`, side by side.

`python docs/_tools/generated_programs.py SHARED`, where SHARED has CDL texts below `data`, and the program
`tools/nc-same`; `--check` says whether the table is current.

Needs ncgen, gcc with libnetcdf, gfortran with netcdf-fortran, Java with netCDF-Java, and netCDF4-python; takes half an
hour. `tests/plugins/generate/test_against_ncgen.py` requires the results of nczarr.
"""

from __future__ import annotations

import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.support.peers import program_survey  # noqa: E402
from tests.support.peers.program_survey import TOOLS  # noqa: E402

PAGE = ROOT / "docs" / "reference" / "generators.md"
BEGIN, END = "<!-- programs -->", "<!-- end -->"
HEAD = "| programs of | refused | made | compiled | ran | `=` ncgen | `=` nczarr | `_FillValue` first | different |"


def count(shared: Path) -> tuple[Counter[str], dict[str, Counter[str]]]:
    """Return the texts that are left out by reason, and the results of each tool by word."""
    left, results = Counter[str](), {name: Counter[str]() for name in TOOLS}
    for text in program_survey.list_texts(program_survey.find_folders(shared)):
        with tempfile.TemporaryDirectory() as folder:
            task = program_survey.read_task(text, Path(folder))
            if isinstance(task, str):
                left[task] += 1
                continue
            for name, attempt in program_survey.survey(task, shared / "tools"):
                results[name][attempt.word] += 1
                print(text.name, name, attempt.word, attempt.reason[:200], file=sys.stderr, flush=True)
    return left, results


def write_row(name: str, words: Counter[str]) -> str:
    """Return the row of one tool."""
    made = words.total() - words["refused"]
    compiled = made - words["uncompiled"]
    ran = compiled - words["failed"] - words["compiled"]
    shown = [words["refused"], made, compiled, ran, words["equal"], words["own"], words["order"], words["different"]]
    maker, language = name.split(" ")
    title = f"`ncgen -l{language}`" if maker == "ncgen" else f"`nczarr generate {language}`"
    return "| " + " | ".join([title, *map(str, shown)]) + " |"


def write(left: Counter[str], results: dict[str, Counter[str]]) -> str:
    """Return the paragraph and the table."""
    given = next(iter(results.values())).total()
    reasons = ", ".join(f"{number} ({reason})" for reason, number in sorted(left.items()))
    lines = [f"{given} texts. Others are left out: {reasons}.", "", HEAD, "|---" * 9 + "|"]
    return "\n".join([*lines, *(write_row(name, words) for name, words in results.items())])


def main() -> int:
    """Rewrite what stands between the marks, or compare it; return the status."""
    text = PAGE.read_text("utf-8")
    before, _, rest = text.partition(BEGIN)
    made = write(*count(Path(sys.argv[1])))
    page = f"{before}{BEGIN}\n\n{made}\n\n{END}{rest.partition(END)[2]}"
    if "--check" in sys.argv:
        return int(page != text)
    PAGE.write_text(page, "utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
