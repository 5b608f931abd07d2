"""One way to pyramids: a new target, levels beside the arrays of a store, and levels of a store that has grown."""

from __future__ import annotations

from collections.abc import Callable

from nczarr.arrays.execution.counts import Watcher
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import show, word
from nczarr.pipeline import phases
from nczarr.pipeline.phases import ReadyConversion
from nczarr.plan.chunk_lengths import fill_whole
from nczarr.plugins.pyramid.build import PyramidBuilder
from nczarr.plugins.pyramid.spec import CODE, PyramidRequest, PyramidResult, find_record, plan_pyramid
from nczarr.semantics.checked import Checked
from nczarr.stores.local_paths import folder_of
from nczarr.stores.url import is_remote


def write_pyramid(
    request: PyramidRequest,
    report: Report,
    watch: Callable[[Checked], Watcher | None] | None = None,
    *,
    rehearsal: bool = False,
) -> PyramidResult | None:
    """Write a pyramid, whole or not at all; None after an error. Raises OSError, CompileError.

    `watch`: called with the pyramid, returns what is called with the bytes written. Reports unsuited-pyramid,
    unsuited-axes, and what `convert` and `append` report.
    """
    if request.in_place or request.update:
        from nczarr.plugins.pyramid.in_place import extend_pyramid

        return extend_pyramid(request, report, rehearsal=rehearsal)
    bare = request.options.change(chunks={}, shards={})  # lengths are those of the pyramid's dimensions
    ready = phases.prepare(request.source, request.subset, request.target, request.form, report, bare)
    if ready is None:
        return None
    if find_record(ready.checked) is not None:
        text = f"`{show(request.source.name)}` is a pyramid already"
        helps = [f"`nczarr pyramid {word(request.source.name)} --update` computes its levels again"]
        report.error(CODE, text, helps=helps)
        return None
    plan = plan_pyramid(ready.checked, request.spec, report)
    if plan is None:
        return None
    scratch = None if is_remote(request.target) else folder_of(request.target)
    builder = PyramidBuilder(ready.checked, plan, request.options.run.memory, nested=True, scratch=scratch)
    checked = builder.build(report)
    if checked is None or report.errors:
        return None
    layout = request.options.layout
    lengths = {name: fill_whole(getattr(layout, name), checked) for name in ("chunks", "shards")}
    part = f"{ready.options.target.part} {plan.record()}"  # a run is resumed with the same request alone
    options = ready.options.change(part=part, **lengths)
    conversion = ReadyConversion(checked, ready.target, ready.form, options)
    if rehearsal:
        steps = conversion.steps(report)
        return None if steps is None or report.errors else PyramidResult(steps=tuple(steps))
    done = conversion.write(report, None if watch is None else watch(checked))
    return None if done is None else PyramidResult(done)
