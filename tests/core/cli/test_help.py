"""Help texts: sections, plain option texts, examples that work, topics, and suggestions for unknown names."""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import re
import shlex
import shutil
import signal
import subprocess
import sys
import urllib.request
from importlib.util import find_spec
from pathlib import Path

import pytest

from nczarr.cli import TASKS, list_commands, parser_of
from nczarr.cli import help as topics
from nczarr.cli.parser import FEW, WIDTH
from nczarr.options import SECTIONS
from nczarr.plugins import OFFERS
from tests.conftest import ROOT, run_command
from tests.support.plugins import ABSENT, skip_without

CDL = """netcdf ocean {{
dimensions:
  time = UNLIMITED ;
  lat = 3 ;
  lon = 4 ;
variables:
  double time(time) ;
    time:units = "hours since 2020-01-01" ;
  float temp(time, lat, lon) ;
    temp:units = "K" ;
data:
  time = {time} ;
  temp = {temp} ;
}}
"""

REFS = [name.removeprefix("refs ") for name in list_commands() if name.startswith("refs ")]

METAVARS = {
    *(
        "A",
        "ADDRESS",
        "B",
        "BASE",
        "CODE",
        "CODE=LEVEL",
        "COMMAND",
        "COMMAND | TOPIC",
        "DIR",
        "DST",
        "N%",
        "FILE",
        "FORMAT",
        "KEY",
        "KIND",
        "LANGUAGE",
        "MODE",
        "MODULE:CLASS",
        "MODULE:FUNCTION",
        "N",
        "NAME",
        "NAME,…",
    ),
    *(
        "NAME=FIRST:LAST",
        "NAME=LOW:HIGH",
        "NAME=TEXT",
        "[NAME=]METHOD",
        "NAME=VALUE",
        "VERSION",
        "ORIGIN",
        "OTHER",
        "PHASE",
        "READER",
        "REVISION",
        "ROOT",
        "SCHEMA",
        "SECONDS",
        "SECTION",
        "SHELL",
        "SIZE",
    ),
    *("PATH", "PATH=NEW", "PATH@NAME=VALUES", "TARGET"),
    *("DOC", "SPEC", "SRC", "STORE", "T", "TIME", "TEXT", "UNITS", "URL", "all"),
}
"""One word for each kind of value, in all commands."""

BANNED = ("whoever", "nobody", "that is none", "has not", "under way", "how far", "is told", "what it ")


def topic_examples(name: str) -> list[str]:
    text = (topics.TOPICS / f"{name}.md").read_text(encoding="utf-8")
    _, _, tail = text.partition("\nExamples:\n\n")
    assert tail, f"{name} has no examples"
    lines = tail.splitlines()
    assert all(line.startswith("    nczarr ") for line in lines)
    return [line.removeprefix("    nczarr ") for line in lines]


SILENT = ("check", "compile", "diff", "refs", "plugins")
"""Commands that may have nothing to say: `plugins` where all were removed."""

EXAMPLES = [
    *((f"{name}: {call}", call) for name in list_commands() for _, call in parser_of(name).examples),
    *((f"{name}.md: {call}", call) for name in topics.topics() for call in topic_examples(name)),
]


@pytest.fixture(scope="module")
def ocean(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that examples name."""
    folder = tmp_path_factory.mktemp("ocean")
    with contextlib.chdir(folder):
        for name, start in (
            ("ocean", 0),
            ("day1", 0),
            ("day2", 10),
            ("day4", 30),
            ("day5", 40),
            ("run1", 0),
            ("run2", 0),
        ):
            values = range(start, start + 10)
            shift = 500 if name == "run2" else start * 12
            temp = ", ".join(str(shift + number) for number in range(120))
            Path(f"{name}.cdl").write_text(CDL.format(time=", ".join(map(str, values)), temp=temp))
            assert run_command("compile", f"{name}.cdl", "-o", f"{name}.nc", "--kind", "nc4").status == 0
        lines = [
            "convert ocean.nc ocean.zarr --consolidated",
            "convert ocean.nc old.zarr --to zarr2 --allow-loss all",
            "migrate old.zarr --to zarr3",
            "convert ocean.nc refs.json --relative --inline 0",
            "convert ocean.nc ocean.parq --relative",
            "refs expand refs.json -o plain.json",
            "refs combine day1.nc day2.nc -o all.json --along time",
            "refs combine day1.nc day2.nc -o all.parq --along time",
        ]
        if "revisions" in list_commands() and find_spec("icechunk") is not None:
            lines += ["convert ocean.nc icechunk:repo", "revisions repo --tag v0"]
        if "nwb" in list_commands() and find_spec("h5py") is not None:
            import h5py

            h5py.File("session.nwb", "w").close()
            lines += ["nwb session.nwb rat.nwb.zarr"]
        made = [run_command(*line.split()) for line in lines if line.startswith(tuple(list_commands()))]
        assert [each.status for each in made] == [0] * len(made), [each.err for each in made]
        Path("digests.txt").write_bytes(run_command("digest", "ocean.nc").out)
        Path("small.json").write_text("{}")
        Path("data").mkdir()
        shutil.copy("ocean.nc", "data/ocean.nc")
    return folder


@pytest.mark.parametrize(("name", "call"), EXAMPLES, ids=[name for name, _ in EXAMPLES])
def test_examples_work(name: str, call: str, ocean: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copytree(ocean, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(call.partition(" > ")[0])
    offers = {f"command {words[0]}", f"command {' '.join(words[:2])}"}
    skip_without(*(plugin for plugin in OFFERS if offers.intersection(OFFERS[plugin])))
    if words[0] == "revisions":
        pytest.importorskip("icechunk")
    if words[0] == "serve":
        serves([*words, "--port", "0"])
        return
    clear_target(words)
    done = run_command(*words)
    assert done.status == 0, done.err
    if words[0] == "lsp":
        return  # its client, the empty standard input, has left
    assert "error" not in done.err
    assert done.out or done.err or words[0] in SILENT, "the example shows nothing"


def clear_target(words: list[str]) -> None:
    """Remove a target that the example makes, unless it replaces or extends one."""
    name = " ".join(words[:2]) if " ".join(words[:2]) in list_commands() else words[0]
    given = parser_of(name).parse_args(words[len(name.split()) :])
    target = Path(getattr(given, "target", None) or getattr(given, "output", None) or "-")
    if not getattr(given, "overwrite", False) and target.name and not name.endswith(("append", "edit", "migrate")):
        shutil.rmtree(target) if target.is_dir() else target.unlink(missing_ok=True)


def serves(words: list[str]) -> None:
    pytest.importorskip("uvicorn")
    command = [sys.executable, "-c", "from nczarr.__main__ import process; process()", *words]
    environment = {"PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        url = server.stdout.readline().strip()
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert answer.status == 200
        server.send_signal(signal.SIGTERM)
        assert server.wait(30) == 0


@pytest.mark.parametrize("name", list_commands())
def test_help_of_a_command(name: str) -> None:
    made = parser_of(name)
    text = made.format_help()
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    assert len(made.examples) == 2 or (name == "info" and "cf" in ABSENT)
    assert text.startswith(f"usage: nczarr {name} ")
    sections = [title for title, _ in made.sections()]
    assert sections == [title for title in SECTIONS if f"\n{title}:\n" in text]
    assert "options:" not in text
    if name != "help":
        assert sections[-1] == "output"
    for word in BANNED:
        assert word not in text


@pytest.mark.parametrize("name", list_commands())
def test_option_texts(name: str) -> None:
    for action in parser_of(name).actions():
        said = action.help or ""
        assert said, f"{action.dest} has no help"
        assert not said.endswith(".")
        assert said[:1].islower() or said.startswith(("CDL", "Zarr")), said
        words = action.metavar if isinstance(action.metavar, tuple) else (action.metavar,)
        assert {word for word in words if word is not None} <= set(METAVARS)
        if action.nargs is None and not action.choices and action.option_strings:
            assert action.metavar, f"{action.dest} shows the name of a variable"
        plain = action.default in (None, False, argparse.SUPPRESS) or action.default == []
        assert plain or "(default: " in said, f"{action.dest} does not say its default"
        if isinstance(action.default, int | str) and not plain and "iB" not in said and action.default is not True:
            assert f"(default: {action.default}" in said


def test_an_option_has_one_text_in_all_commands() -> None:
    texts: dict[str, set[str]] = {}
    different = {
        "--memory",
        "--sample",
        "--set",
        "--undo",
        "--unpack",
        "--undo-file",
        "--chunks",
        "--check",
        "--along",
        "--to",
        "--as",
        "--kind",
    }
    different |= {"--no-consolidated", "-s", "-v", "-g", "-n", "-h", "-c", "-o"}
    for name in list_commands():
        for action in parser_of(name).actions():
            if action.option_strings and not different & set(action.option_strings):
                texts.setdefault(action.option_strings[-1], set()).add(action.help or "")
    assert {flag: found for flag, found in texts.items() if len(found) > 1} == {}


def test_help_command_equals_the_option() -> None:
    for name in list_commands():
        words = name.split()
        assert run_command("help", *words).text.startswith(run_command(*words, "--help").text)
        assert run_command(*words, "--help").status == 0
    assert run_command("help").text == run_command("--help").text == run_command("-h").text
    assert run_command("help", "refs").text == run_command("refs", "--help").text


def list_flags(text: str) -> list[str]:
    """Return the last spelling of each option that a help text shows."""
    return re.findall(r"^  (?:-\w(?: \S+)?, )?(--?[\w-]+)", text.partition("\nexamples:")[0], re.MULTILINE)


@pytest.mark.parametrize("name", list_commands())
def test_help_shows_usual_options_and_the_way_to_all(name: str) -> None:
    words = name.split()
    text, everything = run_command(*words, "--help").text, run_command(*words, "--help", "all").text
    assert everything == parser_of(name).format_help()
    assert everything == run_command(*words, "--help=all").text
    assert run_command("help", *words, "all").text.startswith(everything)
    options = [action for action in parser_of(name).actions() if action.option_strings]
    assert len(list_flags(everything)) == len(options)
    if len(options) <= FEW:
        assert text == everything
        return
    shown = list_flags(text)
    assert shown == [flag for flag in list_flags(everything) if flag in shown]
    assert 3 <= len(shown) <= 16
    assert shown[-1] == "--help"
    assert text.splitlines()[-1] == f"`nczarr {name} --help all` shows all {len(options)} options."
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    head, tail = everything.split("\nexamples:")
    assert text.startswith(head.partition("\n\n")[0])
    assert tail in text


def test_help_of_convert_has_what_a_first_conversion_needs() -> None:
    flags = "--var --dim --sel --to --kind --overwrite --allow-loss --chunks --codec --verify --dry-run --help"
    assert list_flags(run_command("convert", "--help").text) == flags.split()


def test_a_plugin_marks_its_usual_options() -> None:
    skip_without("combine")
    assert "--sort" in list_flags(run_command("combine", "--help").text)
    assert "--decode-times" not in list_flags(run_command("combine", "--help").text)
    assert "--decode-times" in list_flags(run_command("combine", "--help", "all").text)


def test_help_takes_another_word_for_an_argument() -> None:
    assert run_command("convert", "--help", "a.nc").text == run_command("convert", "a.nc", "--help").text


def test_overview_lists_every_command_and_topic() -> None:
    text = run_command("help").text
    assert [line for line in text.splitlines() if len(line) > WIDTH] == []
    assert [row.task for row in list_commands().values()] == sorted(
        (row.task for row in list_commands().values()), key=TASKS.index
    )
    for name in [*list_commands(), *topics.topics()]:
        assert f" {name} " in text


@pytest.mark.parametrize("name", topics.topics())
def test_a_topic_is_one_screen(name: str) -> None:
    text = run_command("help", name).text
    page = topics.topic(name)
    assert text.endswith(page)
    assert page.startswith("# ")
    assert page.count("\n") <= 36
    assert [line for line in page.splitlines() if len(line) > WIDTH] == []
    for word in BANNED:
        assert word not in page


def test_wanted_topics_are_there() -> None:
    wanted = {"formats", "losses", "sections", "chunks", "codecs", "urls", "exit-status", "references"}
    assert wanted <= set(topics.topics())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("help losss", "nczarr help: unknown command or topic `losss`; did you mean `losses`?"),
        ("help konvert", "nczarr help: unknown command or topic `konvert`; did you mean `convert`?"),
        ("help xyzzy", "nczarr help: unknown command or topic `xyzzy`; `nczarr help` lists the commands and topics"),
        ("help lost-type", "nczarr help: `lost-type` is a diagnostic code; `nczarr explain lost-type` explains it"),
        ("konvert a b", "nczarr: unknown command `konvert`; did you mean `convert`?\n`nczarr help` lists the commands"),
        (
            "--nonsense convert a b",
            "nczarr: unknown option `--nonsense`\noptions follow their command; `nczarr help` lists the commands",
        ),
        ("", "usage: nczarr COMMAND [OPTION]…\nnczarr: name a command\n`nczarr help` lists the commands"),
        ("refs", f"nczarr refs: name a command: {', '.join(REFS)}"),
        pytest.param(
            *("refs verfy a.json", "nczarr refs: unknown command `refs verfy`; did you mean `refs verify`?"),
            marks=pytest.mark.plugin("refs"),
        ),
    ],
)
def test_unknown_names(line: str, said: str) -> None:
    done = run_command(*line.split())
    assert (done.status, done.text, done.err) == (2, "", f"{said}\n")


def test_a_wrong_option_shows_the_usage_in_one_line() -> None:
    err = io.StringIO()
    with contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
        parser_of("convert").parse_args(["a", "b", "--nonsense"])
    assert stopped.value.code == 2
    assert err.getvalue().splitlines()[0] == "usage: nczarr convert [OPTION]… SRC… DST"


def test_the_list_of_commands_loads_no_parser() -> None:
    code = "import sys; from nczarr.__main__ import main; main(['--help']); "
    code += "print('argparse' in sys.modules, sorted(each for each in sys.modules if each.startswith('nczarr')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    rows = [
        name
        for plugin in set(OFFERS) - ABSENT
        for name in (f"nczarr.plugins.{plugin}", f"nczarr.plugins.{plugin}.plugin")
    ]
    light = {"nczarr.plugins.testing.datasets"}  # a public function of the plugin's package
    modules = [
        "nczarr",
        "nczarr.__main__",
        "nczarr.cli",
        "nczarr.cli.help",
        "nczarr.names",
        "nczarr.names.records",
        "nczarr.names.plugin_index",
        "nczarr.plugins",
    ]
    parsers, _, loaded = done.stdout.splitlines()[-1].partition(" ")
    assert parsers == "False"
    assert set(ast.literal_eval(loaded)) - light == {*modules, *rows}
