"""Write the man pages of the commands and topics, from their parsers and Markdown files.

`python tools/man.py FOLDER` writes nczarr.1, nczarr-convert.1, nczarr-refs-combine.1 … The pages carry no date, so
that equal sources make equal pages.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from nczarr import __version__  # noqa: E402
from nczarr.cli import help as topics  # noqa: E402
from nczarr.cli import list_commands, parser_of  # noqa: E402
from nczarr.cli.parser import Command  # noqa: E402

SUMMARY = "convert between netCDF, Zarr, kerchunk references and CDL"


def escaped(text: str) -> str:
    """Return a text without characters that roff would interpret."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("…", "...")
    return "\n".join(f"\\&{line}" if line[:1] in (".", "'") else line for line in text.split("\n"))


def prose(text: str) -> str:
    """Return a text with words between backticks in bold."""
    return re.sub(r"`([^`]+)`", r"\\fB\1\\fR", escaped(text))


def heading(page: str, line: str) -> Iterator[str]:
    """Yield the head of a page."""
    yield f'.TH "{escaped(page.upper())}" 1 "" "nczarr {__version__}" "nczarr"\n'
    yield ".nh\n.ad l\n"
    yield f".SH NAME\n{escaped(page)} \\- {prose(line)}\n"


def command_page(name: str) -> str:
    """Return the page of a command."""
    made = parser_of(name)
    lines = [*heading(page_of(name), list_commands()[name].line)]
    lines.append(f".SH SYNOPSIS\n.B nczarr {name}\n{escaped(usage(made, name))}\n")
    lines.append(f".SH DESCRIPTION\n{prose(made.description or '')}\n")
    lines.append(".SH OPTIONS\n")
    for title, actions in made.sections():
        lines.append(f".SS {title.capitalize()}\n")
        lines += [f".TP\n{flags(action)}\n{prose(action.help or '')}\n" for action in actions]
    lines.append(".SH EXAMPLES\n")
    for text, call in made.examples:
        lines.append(f".PP\n{prose(text[:1].upper() + text[1:])}:\n.PP\n.nf\n.RS\nnczarr {escaped(call)}\n.RE\n.fi\n")
    lines.append(".SH EXIT STATUS\n" + prose("See `nczarr help exit-status`.") + "\n")
    others = [each for each in list_commands() if each.split()[0] == name.split()[0] and each != name]
    lines.append(see_also(["nczarr", *map(page_of, others)]))
    return "".join(lines)


def usage(made: Command, name: str) -> str:
    """Return the arguments of a command in one line."""
    return (made.usage or "").removeprefix(f"nczarr {name} ")


def flags(action: argparse.Action) -> str:
    """Return the flags of an option in bold, and its value in italics."""
    choices = "|".join(map(str, action.choices or ()))
    value = escaped(str(action.metavar or choices))
    if not action.option_strings:
        return f"\\fI{value}\\fR"
    named = "" if action.nargs == 0 or not value else f" \\fI{value}\\fR"
    return ", ".join(f"\\fB{escaped(flag)}\\fR{named}" for flag in action.option_strings)


def overview() -> str:
    """Return the page of the program: commands and topics."""
    lines = [*heading("nczarr", SUMMARY)]
    lines.append(f".SH SYNOPSIS\n.B nczarr\n{escaped('COMMAND [OPTION]…')}\n")
    lines.append(".SH COMMANDS\n")
    task = ""
    for name, row in list_commands().items():
        lines += [f".SS {row.task.capitalize()}\n"] if row.task != task else []
        lines.append(f".TP\n.B nczarr {name}\n{prose(row.line)}\n")
        task = row.task
    for name in topics.topics():
        title, *paragraphs = (topics.TOPICS / f"{name}.md").read_text(encoding="utf-8").rstrip("\n").split("\n\n")
        lines.append(f'.SH "{escaped(title.removeprefix("# ").upper())}"\n')
        lines += map(paragraph, paragraphs)
    lines.append(see_also([page_of(name) for name in list_commands()]))
    return "".join(lines)


def paragraph(text: str) -> str:
    """Return a paragraph, list or literal block of a topic."""
    if text.startswith("    "):
        block = "\n".join(line[4:] for line in text.split("\n"))
        return f".PP\n.nf\n.RS\n{escaped(block)}\n.RE\n.fi\n"
    if text.startswith("- "):
        items = re.split(r"^- ", text, flags=re.MULTILINE)[1:]
        return "".join(f".IP \\(bu 2\n{prose(' '.join(item.split()))}\n" for item in items)
    return f".PP\n{prose(text)}\n"


def see_also(pages: list[str]) -> str:
    """Return the last section of a page."""
    return ".SH SEE ALSO\n" + ",\n".join(f".BR {escaped(page)} (1)" for page in pages).replace(",\n", " ,\n") + "\n"


def page_of(name: str) -> str:
    """Return the name of a command's page: `nczarr-refs-combine`."""
    return f"nczarr-{name.replace(' ', '-')}"


def pages() -> Iterator[tuple[str, str]]:
    """Yield the name of each page and its text."""
    yield "nczarr.1", overview()
    for name in list_commands():
        yield f"{page_of(name)}.1", command_page(name)


def main() -> int:
    """Write the pages into the folder."""
    if len(sys.argv) != 2:
        sys.stderr.write("usage: python tools/man.py FOLDER\n")
        return 2
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages():
        (folder / name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
