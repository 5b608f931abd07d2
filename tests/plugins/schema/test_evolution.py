"""Evolution of schemas: the rules, and that programs in C of the old schema read data of compatible new ones."""

from __future__ import annotations

import json
import random
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import nczarr
from nczarr.diagnostics.catalog import KINDS
from nczarr.plugins.schema.evolution.rules import RULES
from tests.conftest import missing_peer, run_command

OLD = """netcdf d {
types: byte enum state { off = 0, on = 1 } ;
dimensions: time = UNLIMITED ; x = 3 ; y = 2 ; n = 2 ;
variables:
  double time(time) ; time:units = "days since 2000-01-01" ;
  short v(time, x) ; v:units = "K" ; v:scale_factor = 0.1 ; v:note = "n" ;
  float w(x, y) ; w:_FillValue = -1.f ;
  state s(x) ; string name(n) ;
:title = "T" ;
data: time = 1, 2 ; v = 1, 2, 3, 4, 5, 6 ; w = 1, 2, 3, 4, 5, 6 ; s = off, on, off ; name = "a", "b" ;
group: g { variables: int deep(x) ; data: deep = 1, 2, 3 ; }
}"""

SAFE = [
    ("double time(time) ;", "double time(time) ; int added(x) ;"),
    ("short v", "int v"),
    ("short v", "float v"),
    ("off = 0, on = 1 }", "off = 0, on = 1, new = 2 }"),
    ("data: time = 1, 2 ; v = 1, 2, 3, 4, 5, 6", "data: time = 1, 2, 3 ; v = 1, 2, 3, 4, 5, 6, 7, 8, 9"),
    ("n = 2 ;", "n = UNLIMITED ;"),
    ("y = 2 ;", "y = 2 ; z = 4 ;"),
    (':title = "T"', ':title = "U"'),
    (':title = "T"', ':title = "T" ; :level = 1'),
    ('v:note = "n"', 'v:note = "m" ; v:long_name = "V"'),
    ("float w", "double w"),
    ("int deep(x)", "int deep(x) ; int more"),
]

BREAKING = [
    ('v:units = "K"', 'v:units = "degC"', "other-units"),
    ('v:units = "K" ;', "", "other-units"),
    ("v:scale_factor = 0.1", "v:scale_factor = 0.01", "other-meaning"),
    ("_FillValue = -1.f", "_FillValue = -2.f", "other-fill"),
    ("short v", "byte v", "narrowed-type"),
    ("short v", "ushort v", "other-type"),
    ("float w(x, y)", "float w(y, x)", "reordered-dimensions"),
    ("time = UNLIMITED", "time = 2", "closed-dimension"),
    ("off = 0, on = 1", "off = 0, on = 2", "other-definition"),
    ("double time(time) ;", 'double time(time) ; time:calendar = "noleap" ;', "other-meaning"),
]


def rules_of(old: str, new: str) -> list[str]:
    return [change.rule for change in nczarr.changes(nczarr.from_cdl(old), nczarr.from_cdl(new))]


def test_a_schema_that_did_not_change() -> None:
    assert rules_of(OLD, OLD) == []


@pytest.mark.parametrize(("part", "new", "rule"), BREAKING)
def test_breaking_changes(part: str, new: str, rule: str) -> None:
    assert part in OLD
    assert rules_of(OLD, OLD.replace(part, new)) == [rule]
    assert not RULES[rule].backward


@pytest.mark.parametrize(("part", "new"), SAFE)
def test_safe_changes(part: str, new: str) -> None:
    assert part in OLD
    rules = rules_of(OLD, _widen_fill(OLD.replace(part, new)))
    assert rules
    assert all(RULES[rule].backward for rule in rules)


def _widen_fill(text: str) -> str:
    return text.replace("_FillValue = -1.f", "_FillValue = -1.") if "double w" in text else text


def test_what_is_one_mode_s_addition_is_the_other_s_removal() -> None:
    for rule, kept in RULES.items():
        verb, _, what = rule.partition("-")
        mirror = {"added": "removed", "removed": "added", "widened": "narrowed", "narrowed": "widened"}.get(verb)
        if mirror is not None and f"{mirror}-{what}" in RULES and what != "member":
            assert tuple(kept) == tuple(RULES[f"{mirror}-{what}"])[::-1]


def test_a_renamed_dimension_changes_nothing_else() -> None:
    new = re.sub(r"\by\b", "lat", OLD)
    assert rules_of(OLD, new) == ["renamed-dimension"]


def test_status_and_forms(tmp_path: Path) -> None:
    for name, text in (("a.cdl", OLD), ("b.cdl", OLD.replace("short v", "int v"))):
        (tmp_path / name).write_text(text)
    paths = (str(tmp_path / "a.cdl"), str(tmp_path / "b.cdl"))
    ran = run_command("diff", *paths, "--compat", "backward")
    assert (ran.status, ran.out) == (0, b"compatible  /v  widened-type: type: short | int\n")
    assert run_command("diff", *paths, "--compat", "forward").status == 1
    record = json.loads(run_command("diff", *paths, "--compat", "full", "--message-format", "json").out)
    assert (record["code"], record["severity"], record["backward"], record["forward"]) == (
        *("widened-type", "error", True, False),
    )
    log = run_command("diff", *paths, "--compat", "backward", "--changelog").out.decode()
    assert "### Compatible (backward)\n\n- `/v`: widened type, type: short | int\n" in log
    assert run_command("diff", *paths, "--changelog").status == 2
    assert run_command("diff", *paths, "--compat", "sideways").status == 2
    quiet = run_command("diff", *paths, "--compat", "forward", "-q")
    assert (quiet.status, quiet.out) == (1, b"")


def build_reader(old: nczarr.DatasetHandle, folder: Path, tool: Callable[[str], str]) -> Path:
    """Compile a program of a schema that reads the first element of each of its variables."""
    if not Path("/usr/include/netcdf.h").exists():
        missing_peer("libnetcdf-dev")
    files = dict(nczarr.generate("c", old, name="old"))
    calls = re.findall(r"int (get_\w+)\(int ncid, (const size_t \*start, )?", files["old.h"])
    reads = "".join(
        f"    if (!status) status = {name}(ncid, {'start, count, ' if shaped else ''}(void *)room);\n"
        for name, shaped in calls
    )
    main = f"""#include <stdio.h>
#include <stdlib.h>
#include "old.h"
int main(int argc, char **argv) {{
    size_t start[8] = {{0}}, count[8] = {{1, 1, 1, 1, 1, 1, 1, 1}};
    double *room = calloc(1024, sizeof(double));
    int ncid, status = argc == 2 ? nc_open(argv[1], NC_NOWRITE, &ncid) : 1;
    (void)start; (void)count; (void)room;
{reads}    if (status) {{ fprintf(stderr, "%s\\n", nc_strerror(status)); return 1; }}
    return nc_close(ncid) ? 1 : 0;
}}
"""
    (folder / "old.h").write_text(files["old.h"])
    (folder / "old.c").write_text(files["old.c"])
    (folder / "main.c").write_text(main)
    sources = [str(folder / name) for name in ("old.c", "main.c")]
    made = subprocess.run(
        [tool("gcc"), "-O0", "-o", str(folder / "program"), *sources, "-lnetcdf", "-lm"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    return folder / "program"


def run_reader(program: Path, new: nczarr.DatasetHandle, path: Path) -> subprocess.CompletedProcess[str]:
    nczarr.write(new, path, overwrite=True)
    return subprocess.run([program, path], capture_output=True, text=True, check=False)


@pytest.mark.long
def test_programs_of_the_old_schema_read_compatible_data(tmp_path: Path, tool: Callable[[str], str]) -> None:
    """Several changes at once, drawn from all that are safe: 68 pairs. Removed variables end such a program."""
    old = nczarr.from_cdl(OLD)
    program = build_reader(old, tmp_path, tool)
    rng = random.Random(54)
    for _ in range(68):
        text = OLD
        for part, new in rng.sample(SAFE, rng.randint(1, 5)):
            text = text.replace(part, new, 1)
        changed = nczarr.from_cdl(_widen_fill(text))
        assert all(change.backward for change in nczarr.changes(old, changed))
        ran = run_reader(program, changed, tmp_path / "new.nc")
        assert ran.returncode == 0, (text, ran.stderr)
    lacking = nczarr.from_cdl(re.sub(r"state s\(x\) ; |s = off, on, off ; ", "", OLD))
    assert "removed-variable" in [change.rule for change in nczarr.changes(old, lacking)]
    assert run_reader(program, lacking, tmp_path / "new.nc").returncode == 1


@pytest.mark.long
def test_the_example_of_each_rule_with_programs(tmp_path: Path, tool: Callable[[str], str]) -> None:
    """The pages of all rules: where programs of the old schema are said to survive, one does."""
    survived = 0
    for rule, kept in RULES.items():
        texts = re.split(r"^== \w+\.cdl\n", KINDS[rule].example, flags=re.MULTILINE)[1:]
        old, new = map(nczarr.from_cdl, texts)
        assert [change.rule for change in nczarr.changes(old, new)] == [rule]
        if kept.backward:
            folder = tmp_path / rule
            folder.mkdir()
            ran = run_reader(build_reader(old, folder, tool), new, folder / "new.nc")
            assert ran.returncode == 0, (rule, ran.stderr)
            survived += 1
    assert survived >= 10


def test_files_against_a_revision_of_git(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, tool: Callable[[str], str]
) -> None:
    monkeypatch.chdir(tmp_path)
    git = [tool("git"), "-c", "user.name=t", "-c", "user.email=t@example.org"]
    schema = tmp_path / "s" / "schema.cdl"
    schema.parent.mkdir()
    schema.write_text(OLD)
    for words in (["init", "-q"], ["add", "s"], ["commit", "-q", "-m", "schema"]):
        subprocess.run([*git, *words], check=True, capture_output=True)
    (tmp_path / "new.cdl").write_text(OLD)
    asked = ("diff", "--compat", "backward", "--against", "HEAD", "s/schema.cdl", "new.cdl")
    assert run_command(*asked).status == 0
    schema.write_text(OLD.replace("short v", "int v"))
    assert run_command(*asked).status == 0
    schema.write_text(OLD.replace("short v", "byte v"))
    ran = run_command(*asked)
    assert (ran.status, ran.out) == (1, b"breaking  /v  narrowed-type: type: short | byte\n")
    assert run_command("diff", "--against", "HEAD", "s/schema.cdl").status == 1
    unknown = run_command("diff", "--against", "nowhere", "s/schema.cdl")
    assert (unknown.status, "no revision `nowhere`" in unknown.err) == (2, True)


def test_a_renamed_type_changes_no_type_with_a_longer_name() -> None:
    text = """netcdf d { types: opaque(2) k ; opaque(3) key ; compound c { k one ; key two ; } ; int(*) l ;
      variables: c v ; }"""
    assert rules_of(text, text.replace("opaque(2) k ;", "opaque(2) m ;").replace("{ k one", "{ m one")) == [
        "renamed-type"
    ]


def test_a_renamed_coordinate_renames_no_dimension() -> None:
    old = 'netcdf d { dimensions: x = 2 ; variables: double x(x) ; x:units = "m" ; int v(x) ; }'
    new = old.replace("double x(x) ; x:units", "double z(x) ; z:units")
    assert rules_of(old, new) == ["renamed-variable"]
