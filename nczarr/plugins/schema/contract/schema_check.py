"""Row of `check --schema`."""

from __future__ import annotations

from nczarr.pipeline.check_request import SchemaCheck
from nczarr.sdk import TARGET, Checked, Option, Options, Report, Source, phases

OPTIONS = (
    Option(
        "schema",
        section=TARGET,
        flags="--schema",
        takes="text",
        metavar="SRC",
        help="report deviations from this schema: CDL, notation or any dataset; its comments `// nczarr: RULE` may "
        "allow some (see `nczarr explain bad-rule`)",
        common=True,
    ),
)


def read(path: str, report: Report, options: Options) -> Checked | None:
    """Return the schema at a path or URL; `-` is standard input. None after an error. Raises OSError."""
    from nczarr.cli.options import standard_input
    from nczarr.pipeline.endpoints import open_source
    from nczarr.plugins.schema.contract.reading import fill_placeholders

    source = standard_input() if path == "-" else open_source(path, report, options)
    if source is None:
        return None
    return phases.read(fill_placeholders(source) if isinstance(source, Source) else source, report, options)


def judge(checked: Checked, schema: Checked, report: Report, *, values: bool) -> None:
    """Report deviations of a dataset from a schema. Raises OSError. `values`: judge those of variables as well."""
    from nczarr.plugins.schema.contract.judge import judge as judge_contract

    judge_contract(checked, schema, report, values=values)


def check_rules(schema: Checked, report: Report) -> None:
    """Report bad-rule for the rules in the comments of a schema."""
    from nczarr.plugins.schema.contract.reading import read_contract

    read_contract(schema, report)


CHECK = SchemaCheck(OPTIONS, read, judge, check_rules)
