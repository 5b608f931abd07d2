"""`Emission`: one compilation whose phases are shown instead of written (`compile --emit`)."""

from collections.abc import Callable, Sequence

from nczarr.diagnostics.report import Report, Source
from nczarr.names.records import NamedTuple
from nczarr.options import Option, Options
from nczarr.pipeline import phases
from nczarr.pipeline.phases import ReadyConversion
from nczarr.plan.plans import Plan
from nczarr.semantics.checked import Checked


class Emission(NamedTuple):
    """A request for a phase of a compilation. Each method returns None after a reported error."""

    open_text: Callable[[], Source | None]
    """Open the text of the schema."""
    prepare: Callable[[], ReadyConversion | None]
    """Read the schema, and settle the format of the target."""
    report: Report
    options: Options

    def read(self) -> Checked | None:
        """Return the checked dataset, after the passes of the run."""
        ready = self.prepare()
        return None if ready is None else ready.checked

    def plan(self) -> Plan | None:
        """Return the plan of the target; its losses are reported."""
        ready = self.prepare()
        return None if ready is None else phases.plan(ready.checked, ready.form, self.report, ready.options)


class CompileProduct(NamedTuple):
    """Files that a plugin makes from a compilation, instead of a target."""

    options: tuple[Option, ...]
    """Rows of its options: first the one that asks for it."""
    make: Callable[..., None]
    """Function `(Emission, values of the options, folder, overwrite=bool)`. Raises OSError."""


class SchemaReader(NamedTuple):
    """Reader of several schemas as one, and its options."""

    options: tuple[Option, ...]
    """Rows of its options; the first one takes the definitions."""
    read: Callable[[Sequence[str], Sequence[str], Report, Options], Checked | None]
    """Returns the dataset of paths and definitions; None after a reported error. Raises OSError."""
