"""`compile --plugin`: programs in Python, JavaScript and jq; and all that a program may do wrong."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import ROOT, Ran, run_command

SCHEMA = """netcdf ocean {
dimensions: x = 2 ;
variables:
  float temp(x) ;
  int Count ;
}
"""
PROGRAMS = ROOT / "samples" / "programs"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ocean.cdl").write_text(SCHEMA)


def compile_by(command: str, *options: str) -> Ran:
    return run_command("compile", "ocean.cdl", "--plugin", command, "-o", "out", *options)


def test_in_python() -> None:
    ran = compile_by(f"{sys.executable} {PROGRAMS / 'dictionary.py'}")
    assert (ran.status, ran.out) == (0, b"out/ocean.md\n")
    assert "warning[plugin-warning]: /temp has no units\n  --> ocean.cdl:4:9\n" in ran.err
    assert "| /temp | float | [2] |  |" in Path("out/ocean.md").read_text()


def test_in_javascript(tool: Callable[[str], str]) -> None:
    assert compile_by(f"{tool('node')} {PROGRAMS / 'shapes.js'}").status == 0
    shown = subprocess.run(
        [tool("node"), "--input-type=module", "-e", "import s from './out/shapes.mjs'; console.log(JSON.stringify(s))"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(shown.stdout) == {"/temp": [2], "/Count": []}


def test_in_jq(tool: Callable[[str], str]) -> None:
    ran = compile_by(f"{tool('jq')} -f {PROGRAMS / 'names.jq'}")
    assert (ran.status, Path("out").exists()) == (1, False)
    assert "error[plugin-error]: /Count is not in lower case\n  --> ocean.cdl:5:7\n" in ran.err
    Path("ocean.cdl").write_text(SCHEMA.replace("Count", "count"))
    assert compile_by(f"{tool('jq')} -f {PROGRAMS / 'names.jq'}").status == 0
    assert Path("out/names.txt").read_text() == "/\n/x\n/temp\n/count\n"


def answering(answer: object) -> str:
    Path("program.py").write_text(f"import json, sys\njson.load(sys.stdin)\nprint({json.dumps(answer)!r})\n")
    return f"{sys.executable} program.py"


def file(name: object, **content: object) -> dict[str, object]:
    return {"files": [{"name": name, **(content or {"text": "x"})}]}


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (file("../x"), "not below the folder"),
        (file("/x"), "not below the folder"),
        (file("a//b"), "not below the folder"),
        (file("a/./b"), "not below the folder"),
        (file("a\\b"), "not below the folder"),
        (file("c:x"), "not below the folder"),
        (file("a\nb"), "not below the folder"),
        (file(""), "not below the folder"),
        (file(7), "not below the folder"),
        (file("x" * 300), "not below the folder"),
        ({"files": [{"name": "a", "text": ""}, {"name": "A", "text": ""}]}, "twice"),
        ({"files": [{"name": "a", "text": ""}, {"name": "a/b", "text": ""}]}, "twice"),
        (file("a", text="x", base64="eA=="), "neither"),
        (file("a", base64="?"), "no base64"),
        (file("a", text=7), "neither"),
        ([], "no object with a list"),
        ({"files": {}}, "no object with a list"),
        ({"diagnostics": [7]}, "no object with a list"),
        ({"diagnostics": [{"severity": "fatal", "message": "x"}]}, "severity is unknown"),
        ({"diagnostics": [{"severity": "error", "message": "x", "node": "/nowhere"}]}, "which no node is"),
    ],
)
def test_bad_answers_write_nothing(answer: object, words: str) -> None:
    ran = compile_by(answering(answer))
    assert (ran.status, "error[failed-plugin]" in ran.err, Path("out").exists()) == (1, True, False)
    assert words in ran.err


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("nowhere-at-all", "cannot be run"),
        ("'", "cannot be split"),
        (f"{sys.executable} -c 'import sys; sys.exit(\"no such thing\")'", "status 1; it said: no such thing"),
        (f"{sys.executable} -c 'print(1, 2)'", "wrote no JSON"),
        (f"{sys.executable} -c 'import os; os.kill(os.getpid(), 9)'", "status -9"),
    ],
)
def test_bad_programs(command: str, words: str) -> None:
    ran = compile_by(command)
    assert (ran.status, "error[failed-plugin]" in ran.err, Path("out").exists()) == (1, True, False)
    assert words in ran.err


def test_a_program_that_does_not_end_is_ended_with_its_children() -> None:
    child = "import time; time.sleep(60)"
    Path("program.py").write_text(
        "import subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {child!r}])\n"
        "open('pid', 'w').write(str(child.pid))\ntime.sleep(60)\n"
    )
    begun = time.monotonic()
    ran = compile_by(f"{sys.executable} program.py", "--plugin-timeout", "2")
    assert (ran.status, "did not end within 2 seconds" in ran.err) == (1, True)
    assert time.monotonic() - begun < 30
    deadline = time.monotonic() + 10
    while _is_alive(int(Path("pid").read_text())) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _is_alive(int(Path("pid").read_text()))


def _is_alive(process: int) -> bool:
    """False also for one that ended and that nothing has waited for."""
    try:
        state = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


def test_a_program_that_writes_without_end() -> None:
    ran = compile_by(f"{sys.executable} -c 'while True: print(\"x\" * 1000000)'")
    assert (ran.status, "more than 64 MiB" in ran.err) == (1, True)


def test_files_are_replaced_on_request_all_or_none() -> None:
    many = {"files": [{"name": f"{number}/a.txt", "text": str(number)} for number in range(3)]}
    assert compile_by(answering(many)).status == 0
    assert compile_by(answering(many)).status == 2
    changed = {"files": [{"name": f"{number}/a.txt", "text": "new"} for number in range(3)]}
    os.remove("out/2/a.txt")
    os.mkdir("out/2/a.txt")
    Path("out/2/a.txt/kept").touch()
    assert compile_by(answering(changed), "--overwrite").status == 0
    assert [Path(f"out/{number}/a.txt").read_text() for number in range(3)] == ["new"] * 3
    assert sorted(each.name for each in Path("out").iterdir()) == ["0", "1", "2"]
    os.rmdir("out/0") if not any(Path("out/0").iterdir()) else None
    blocked = {"files": [{"name": "1/a.txt", "text": "newer"}, {"name": "2/a.txt/b", "text": "below a file"}]}
    ran = compile_by(answering(blocked), "--overwrite")
    assert ran.status == 3
    assert Path("out/1/a.txt").read_text() == "new"
    assert sorted(each.name for each in Path("out").iterdir()) == ["0", "1", "2"]


def test_a_schema_with_errors_runs_no_program() -> None:
    Path("ocean.cdl").write_text(SCHEMA.replace("(x)", "(y)"))
    ran = compile_by(f'{sys.executable} -c \'open("ran", "w")\'')
    assert (ran.status, Path("ran").exists()) == (1, False)
    assert run_command("compile", "ocean.cdl", "--plugin", "x").status == 2
