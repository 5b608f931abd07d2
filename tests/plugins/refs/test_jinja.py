"""Texts beyond the grammar: what jinja2 makes of them, and nothing that grows, hangs or reaches out."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from nczarr import CompileError, refs
from nczarr.diagnostics.report import Diagnostic, Report, Source
from nczarr.formats.reference.limits import Limits
from nczarr.formats.reference.lookup import open_document
from nczarr.plugins.refs.templates import jinja
from nczarr.stores.base import Reference
from tests.conftest import ROOT, Ran
from tests.support.library import library

jinja2 = library("jinja2.sandbox")
TEMPLATES = {"u": "value", "f": "{{c}}-{{d}}", "g": "{% if c %}<{{c}}>{% endif %}{{c.upper()}}"}
BEYOND = Limits(jinja=True)


def text(url: str, limits: Limits = BEYOND) -> str:
    """What a URL renders to."""
    document = {"version": 1, "templates": TEMPLATES, "refs": {"a": [url]}}
    return str(refs.expand(document, limits=limits)["a"][0])


def attempted(url: str) -> tuple[str | None, list[Diagnostic]]:
    """What a URL renders to, None if it is refused, and why."""
    try:
        return text(url), []
    except CompileError as error:
        return None, error.diagnostics


@pytest.mark.parametrize(
    "url",
    [
        "{{u.upper()}}",
        "{{u[0]}}{{u[1:3]}}{{u[-1]}}",
        "{{'a' ~ 1 ~ u}}",
        "{% for i in range(3) %}{{i}},{% endfor %}{{u}}",
        "{{u}}{# comment #}",
        "{{1 and 2}}{{not u}}",
        "{{u if nope is undefined else 'x'}}",
        "{{u is defined}}",
        "{{1.5 * 2}}",
        "{% set x = 3 %}{{x * 2}}{{u ~ x}}",
        "{{f(c=u.upper())}}",
        "{{g(c='x')}}",
        "{{[1, 2, 3]|join('/')}}",
        "{{u|replace('a', 'b')}}",
        "{{'%s-%03d' % (u, 7)}}",
        "{{u|title}}{{u|capitalize}}",
        "{{'  x '|trim}}",
        "{{u|center(11)}}|",
        "{{'a\nb\n\nc'|indent(2)}}",
        "{{'a\nb\n'|indent(2, true, true)}}",
        "{{u|length}}",
        "{{u|first}}{{u|last}}",
        "{{(u|list)|sort|join}}",
        "{{[3, 1, 2]|max}}",
        "{{['b', 'A', 'a', 'B', 'c']|unique|join}}",
        "{{['b', 'A']|sort|join}}{{['b', 'A']|min}}",
        "{{[1, 2]|sum}}",
        "{{u|reverse}}",
        "{{2.567|round(1)}}{{2.1|round(0, 'ceil')}}{{42|round}}",
        "{{'3.7'|float + 1}}",
        "{{(-3)|abs}}",
        "{{nope|default('d')}}",
        "{{''|d('e', true)}}",
        "{{u.split('l')|join('+')}}",
        "{{'/'.join(['a', 'b'])}}",
        "{{'7'.zfill(3)}}",
        "{{u.replace('v', 'w')}}",
        "{{u.startswith('v')}}",
        "{% if 3 is divisibleby(3) and 2 is even %}y{% else %}n{% endif %}{{u[0]}}",
        "{{u[0]}}{{0x1f}}",
        "{% for i in [1, 2, 3] if i != 2 %}{{loop.index}}{{loop.cycle('a', 'b')}}{% else %}-{% endfor %}{{u[0]}}",
        "{% set n = namespace(x=1) %}{% for i in range(9) %}{% set n.x = n.x * 2 %}{% endfor %}{{n.x}}{{u[0]}}",
        "{% for a in 'xy' %}{% for b in range(2) %}{{a}}{{b}}{% endfor %}{% endfor %}{{u[0]}}",
        "{% with x = 1 %}{{x}}{% endwith %}{{u[0]}}",
        "{{ u[0] -}}   x\n",
        "{{u[0]}}\n",
        "{% if u %}\n{{u}}{% endif %}",
        "{{'a' in 'abc'}}{{5 in [1, 5]}}",
        "{{none}}{{true}}",
        "{{'{{'}}{% raw %}{{x}}{% endraw %}",
        "{{[1, 2] + [3]|list}}|{{u[9:]}}",
        "{{nope.x}}",
        "{{u.nope}}",
        "{{1 // 0 ~ ''}}",
        "{{u[99]}}",
        "{{5|upper ~ ''}}",
        "{{'x' * 3 ~ ''}}",
        "{{u|nofilter}}",
        "{{u is notest}}",
        "{% endfor %}{{u}}",
        "{{u ~}}",
    ],
)
def test_texts_mean_what_jinja2_says_or_are_refused(url: str) -> None:
    from jinja2 import TemplateError

    environment = jinja2.SandboxedEnvironment()
    try:
        calls = {name: environment.from_string(TEMPLATES[name]).render for name in "fg"}
        wanted = environment.from_string(url).render(u=TEMPLATES["u"], **calls)
    except (TemplateError, TypeError, ZeroDivisionError, LookupError):
        wanted = None
    found, why = attempted(url)
    assert all("`a`" in each.message for each in why)
    outside = any(part in url for part in ("u.nope", "nope.x", "u[99]", "[3]|list"))
    assert found == wanted or (found is None and outside), why


def test_without_the_option_they_are_refused() -> None:
    with pytest.raises(CompileError, match="bad-expression"):
        text("{{u.upper()}}", Limits())


def test_generators_templates_and_undefined_names() -> None:
    item = {
        "key": "x/{% if i %}{{i}}{% else %}first{% endif %}",
        "url": "{{f(c=i) ~ j}}{{nope}}",
        "offset": "{{[i, j]|max}}",
        "length": "{{'9'.zfill(2)}}",
        "dimensions": {"i": {"stop": 2}, "j": [5]},
    }
    source = Source("t.json", json.dumps({"version": 1, "templates": TEMPLATES, "gen": [item]}).encode())
    wanted = {"x/first": ["0-5", 5, 9], "x/1": ["1-5", 5, 9]}
    report = Report()
    found = open_document(source, report, BEYOND)
    assert found is not None
    assert {key: found.find(key) for key in wanted} == {key: Reference(*value) for key, value in wanted.items()}
    assert {each.code for each in report.list_sorted()} == {"undefined-name"}
    assert json.loads(b"".join(refs.expand_source(source, Report(), BEYOND, {}))) == wanted


def test_threads_do_not_meet() -> None:
    item = {
        "key": "x/{{i}}",
        "url": "{{u[0]}}{% for j in range(i) %}{{j}}{% endfor %}",
        "dimensions": {"i": {"stop": 20}},
    }
    source = Source("t.json", json.dumps({"version": 1, "templates": TEMPLATES, "gen": [item]}).encode())
    found = open_document(source, Report(), BEYOND)
    assert found is not None
    with ThreadPoolExecutor(8) as pool:
        for number, each in enumerate(pool.map(lambda n: found.find(f"x/{n % 20}"), range(2000))):
            assert each == Reference("v" + "".join(map(str, range(number % 20))))


@pytest.mark.parametrize(
    "url",
    [
        "{{u.__class__}}",
        "{{u['__class__']}}",
        "{{f.__globals__}}",
        "{{f.__call__.__globals__}}",
        "{{u.format(u)}}",
        "{{''.format_map({})}}",
        "{{u[0]}}{{self}}",
        "{{u[0]}}{{range.__init__}}",
        "{{(range(3)|list).append(1)}}",
        "{% import 'x' as y %}{{u}}",
        "{% include 'x' %}{{u}}",
        "{% extends 'x' %}{{u}}",
        "{% block b %}{{self.b()}}{% endblock %}{{u}}",
        "{% macro m() %}{{m()}}{% endmacro %}{{m()}}",
        "{% for i in [1] recursive %}{{loop([1])}}{% endfor %}{{u}}",
        "{% call f() %}{% endcall %}{{u}}",
        "{% filter upper %}x{% endfilter %}{{u}}",
        "{% set x %}y{% endset %}{{u}}",
        "{{u|attr('__class__')}}",
        "{{u|map('upper')|list}}",
        "{{lipsum() ~ ''}}",
        "{{cycler(1).next()}}",
        "{{dict(a=1)}}",
        "{{f ~ ''}}",
        "{{[1]}}",
        "{{[[1]]|first}}",
        "{{u[0]}}{{namespace()}}",
        "{{loop ~ ''}}{{(1).to_bytes(9)}}",
        "{{u.translate({1: 2})}}",
        "{{u[0]}}{{'%(a)s'|format(a=1)}}",
        "{{u|xmlattr}}",
        "{{u.encode()}}",
        "{{u[0]}}{{'a'.ljust('b')}}",
    ],
)
def test_nothing_else_is_within_reach(url: str) -> None:
    with pytest.raises(CompileError, match="bad-expression") as raised:
        text(url)
    assert all("`a`" in each.message for each in raised.value.diagnostics)


LOOP = "{% for i in range(100000) %}"
LIST = "{% set l = range(99999)|list %}"
ATTACKS = {
    "loops": f"{LOOP}{LOOP}{{% endfor %}}{{% endfor %}}",
    "deep loops": "{% for a in range(10) %}" * 18 + "{% endfor %}" * 18,
    "texts": "".join(f"{{% set a{n} = 'x' * 60000 %}}" for n in range(2000)),
    "joined": "{% set a='x'*60000 %}{{" + "~".join("a" * 9000) + "}}",
    "wide": "".join(f"{{% set a{n} = '\U0001f600' * 60000 %}}" for n in range(2000)),
    "lists": "".join(f"{{% set a{n} = range(100000)|list %}}" for n in range(1500)),
    "long": "{{u[0]}}" * 8000,
    "in": f"{LIST}{LOOP}{{% if -1 in l %}}{{% endif %}}{{% endfor %}}",
    "equal": f"{LIST}{LOOP}{{% if l is eq(l|list) %}}{{% endif %}}{{% endfor %}}",
    "parts": "{% set a='x'*60000 %}{% set b=[" + ",".join(["a[1:]"] * 9000) + "] %}",
    "sum": "{{" + "+".join(["u[0]"] * 12000) + "}}",
    "brackets": "{{" + "(" * 30000 + ")" * 30000 + "}}",
    "not": "{{" + "not " * 16000 + "u}}",
    "if": "{% if u %}" * 3200 + "{% endif %}" * 3200,
    "cycle": LOOP + "{{loop.cycle(*range(100000))}}{% endfor %}",
    "length": f"{LOOP}{LOOP}{{% set q = loop.length %}}{{% endfor %}}{{% endfor %}}",
    "sort": LOOP + "{% set l = range(100000)|list|sort %}{% endfor %}",
    "center": LOOP + "{% set q = 'x'.center(60000) %}{% endfor %}",
    "find": "{% set a='a'*65000 %}{% set b='a'*32000~'b' %}" + LOOP + "{% if b in a %}{% endif %}{% endfor %}",
    "doubled": "{% set n=namespace(x='x') %}" + LOOP + "{% set n.x = n.x ~ n.x %}{% endfor %}",
    "zfill": "{{u.zfill(10**9)}}",
    "squared": "{% set n=namespace(x=3) %}" + LOOP + "{% set n.x = n.x * n.x %}{% endfor %}",
    "even": "{{'%999999999d' is even}}",
    "replace": "{% set a='x'*60000 %}{{a|replace('', a)}}",
    "width": "{{'x'|center(999999999)}}",
    "power": "{{2 ** (2 ** 99) ~ ''}}",
    "round": "{{1|round(999999999, 'ceil')}}",
    "format": "{{'%.*f' % (999999999, 1)}}",
    "digits": "{{u[0]}}{{" + "9" * 60000 + "}}",
    "indent": "{{('\n' * 60000)|indent(60000)}}",
    "arguments": LOOP + "{{u|format(*range(100000))}}{% endfor %}",
    "range": "{{range(10**30)|list}}",
}


@pytest.mark.slow
def test_attacks_are_refused_in_little_time_and_memory() -> None:
    """Each as a document of a process of its own would be, but in one: the peak is that of the worst."""
    code = "import json, sys, time; from nczarr import CompileError, refs; from nczarr.refs import Limits; worst = 0\n"
    code += "for name, url in json.load(sys.stdin).items():\n"
    code += "    refs_ = {'a': ['{{u}}' + url]}; began = time.process_time()\n"
    code += "    document = {'version': 1, 'templates': {'u': 'abc'}, 'refs': refs_}\n"
    code += "    try: found = len(refs.expand(document, limits=Limits(jinja=True))['a'][0])\n"
    code += "    except CompileError as error: assert '`a`' in str(error); found = 0\n"
    code += "    took = time.process_time() - began; print(name, found, took, sep='\\t')\n"
    code += "print(next(line.split()[1] for line in open('/proc/self/status') if line.startswith('VmHWM')))"
    done = subprocess.run(
        [sys.executable, "-c", code], input=json.dumps(ATTACKS), text=True, cwd=ROOT, capture_output=True
    )
    *lines, peak = done.stdout.splitlines()
    assert len(lines) == len(ATTACKS), done.stderr
    for line in lines:
        name, length, seconds = line.split("\t")
        assert (int(length) > 0) == (name == "long"), line
        assert float(seconds) < 5, line  # the longest takes 0.7 s on an idle machine
    assert int(peak) * 1024 < 200e6


@pytest.mark.slow
def test_all_texts_together_are_bounded() -> None:
    many = {f"a{n}": [f"{{{{u[0]}}}}{n}{'x' * 60000}"] for n in range(20)}
    with pytest.raises(CompileError, match="characters in all"):
        refs.expand({"version": 1, "templates": TEMPLATES, "refs": many}, limits=BEYOND)
    item: dict[str, Any] = {"key": "{{i}}/{{j}}", "url": "{{u[0]}}{% for k in range(90000) %}{% endfor %}{{i + j}}"}
    item["dimensions"] = {"i": {"stop": 1000}, "j": {"stop": 1000}}
    with pytest.raises(CompileError, match="steps in all"):
        refs.expand({"version": 1, "templates": TEMPLATES, "gen": [item]}, limits=BEYOND)


def test_without_jinja2_it_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jinja, "find_spec", lambda name: None)
    with pytest.raises(CompileError, match="missing-library"):
        text("{{u.upper()}}")


@pytest.mark.parametrize("verb", ["expand", "compact"])
def test_command(verb: str, nczarr_command: Callable[..., Ran]) -> None:
    document = {"version": 1, "templates": {"u": "x"}, "refs": {"a": ["{{u.upper()}}", 0, 1]}}
    ran = nczarr_command("refs", verb, "-", stdin=json.dumps(document).encode())
    assert (ran.status, "`a`" in ran.err) == (1, True)
    ran = nczarr_command("refs", verb, "-", "--jinja", stdin=json.dumps(document).encode())
    assert refs.expand(ran.out) == {"a": ["X", 0, 1]}
