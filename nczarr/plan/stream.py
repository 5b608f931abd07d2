"""Storage of single files that are streams: what a run asks for, as far as the format has it.

Comes in: a checked dataset and the options. Goes out: the storage of the variables whose values are encoded, and what
of the wishes is not kept, as annotation losses. A source's own storage asks for nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.ast import ATOMIC, Codec, Storage
from nczarr.ast.types import EnumType
from nczarr.capabilities import Format
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.plan.planned import Loss
from nczarr.plan.requested_storage import wishes_of


def plan_single(
    checked: Checked, form: Format, options: Options, report: Report
) -> tuple[dict[str, Storage], list[Loss]]:
    """The storage that is asked for and kept, by FQN, and what is not kept. Reports what no variable can have."""
    asked = (options.chunks, options.codecs, options.shards, options.order, options.separator)
    if not any(asked):
        return {}, []
    wishes = wishes_of(checked, form.name, None, options, report)
    kept, lost = {}, list(_lengths(options))
    for path, variable in checked.variables.items():
        chain = wishes.codecs.get(path, wishes.codecs.get("", ()))
        declared = checked.types.get(variable.type)
        number = declared.base if isinstance(declared, EnumType) else variable.type
        numbers = number in ATOMIC and number != "string"
        if chain and numbers and _has(form, chain):
            kept[path] = Storage(codecs=chain)
        elif chain and (path in wishes.codecs or numbers):
            lost.append(Loss("storage", "annotation", path, f"variable `{path}`, its codecs", variable.span))
    return kept, lost


def _has(form: Format, chain: tuple[Codec, ...]) -> bool:
    """Whether a format encodes values by a chain: it has one step at most."""
    return len(chain) == 1 and chain[0].id in form.capabilities.codecs


def _lengths(options: Options) -> Iterator[Loss]:
    """Wishes that only chunked formats have a place for."""
    if options.chunks:
        yield Loss("storage", "annotation", "/", "lengths of chunks")
