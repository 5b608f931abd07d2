"""Request for a check, and the kinds of check that plugins add: of readers, of conventions, of several sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nczarr.options import Option, Options
from nczarr.pipeline.code_filter import CodeFilter

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report, Source
    from nczarr.pipeline.phases import Input
    from nczarr.pipeline.stored_dataset import StoredDataset
    from nczarr.registry import Format
    from nczarr.semantics.checked import Checked, Observer
    from nczarr.stores.base import Store


class ReaderCheck(Protocol):
    """A reader with known faults, or a convention or layout with demands on a source."""

    @property
    def name(self) -> str:
        """Name behind `--for`."""

    def select_release(self, release: str) -> ReaderCheck:
        """Return the check for a release of the reader. Raises ValueError for an unknown one."""

    def suits(self, source: Source | Store) -> bool:
        """Return whether the source can be asked as it is stored; else `check_tree` is. Raises OSError."""

    def check(self, source: Source | Store, report: Report, opened: StoredDataset | None = None) -> int:
        """Report what is wrong with a source, and return how often. Raises OSError.

        `opened`: the source, if it was opened before.
        """

    def check_tree(self, checked: Checked, request: CheckRequest, report: Report) -> int:
        """Report what is wrong with a dataset whose source does not suit, and return how often. Raises OSError."""


class Convention(NamedTuple):
    """A convention with versions, whose rules `check` knows."""

    name: str
    """Name of the option and of the setting."""
    version: str
    """Pattern of its versions; another word behind the option is the first source."""
    help: str
    """Line of the help."""
    parse: Callable[[str], str]
    """Returns a version as it is shown. Raises ValueError for an unknown one."""
    check: Callable[[Checked, str, CheckRequest, Report], None]
    """Reports what breaks the rules of a version; empty: the version that the dataset declares. Raises OSError."""
    once: tuple[str, ...] = ()
    """Codes that a run reports once, whatever number of sources it has."""


class SourceComparison(NamedTuple):
    """A comparison of all sources with each other, which `check --NAME` makes instead of checks of each."""

    options: tuple[Option, ...]
    """Rows of its options: first the flag that asks for it, then those that belong to it."""
    compare: Callable[[Sequence[Input], Mapping[str, Any], Report, Callable[[int], None] | None], str | None]
    """Reports what is wrong, and returns a sentence for the case that nothing is; None without one. Raises OSError.

    The mapping has the values of the options; the last argument is called after each source.
    """


class SchemaCheck(NamedTuple):
    """The check of a dataset against a schema: `check --schema`."""

    options: tuple[Option, ...]
    """Rows of its options: the schema, and whether values are judged."""
    read: Callable[[str, Report, Options], Checked | None]
    """Returns the schema at a path or URL; None after a reported error. Raises OSError."""
    judge: Callable[..., None]
    """Reports deviations, `(dataset, schema, Report, values=bool)`. Raises OSError."""
    check_rules: Callable[[Checked, Report], object]
    """Reports bad rules in the comments of a text."""


class CheckRequest(NamedTuple):
    """Request for a check."""

    path: str
    """Path or URL of the dataset; empty for a dataset in memory that is not stored."""
    content: Source | None = None
    """Content of the dataset; None: that of the path."""
    form: str | None = None
    """Name of its format; None: found by its content."""
    judges: tuple[ReaderCheck | Format, ...] = ()
    """Other readers and conventions, whose faults are reported, and target formats, whose losses are."""
    schema: Callable[[Report], Checked | None] | None = None
    """Reader of the schema from which deviations are reported."""
    values: bool = False
    """Judge the values of variables by the rules of the schema; without one, read all data and report damage."""
    options: Options = Options()
    """Options of the run; `kind` is a kind of netCDF file whose limits are checked."""
    conventions: Mapping[str, str] = MappingProxyType({})
    """Versions of conventions whose rules are checked, by name; empty: the one that the dataset declares."""
    codes: CodeFilter = CodeFilter()
    """Diagnostics that are reported."""
    observe: Observer | None = None
    """Callback after each pass over `content`, with its name and the tree."""
    dataset: Checked | None = None
    """The dataset, if it is open already or in memory."""
