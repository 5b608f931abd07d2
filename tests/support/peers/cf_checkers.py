"""Findings of cf-checker and compliance-checker, by the interpreter that NCZARR_CF names: one line of JSON a file.

Arguments: the tables of standard names, area types and regions. Each line of standard input is a version of CF and the
path of a file, separated by a blank.
"""

from __future__ import annotations

import contextlib
import io
import json
import re
import sys
import warnings

SECTION = re.compile(r"\(?([0-9]+(?:\.[0-9]+)*)\)?:? ?(.*)", re.DOTALL)


def by_cfchecker(path: str, version: str, tables: list[str]) -> list[list[str]]:
    """Severity, section, variable and text of each finding of cf-checker."""
    from cfchecker.cfchecks import CFChecker, CFVersion, FatalCheckerError

    names, areas, regions = tables
    known = CFVersion(version if int(version.split(".")[1]) <= 8 else "1.8")
    checker = CFChecker(
        cfStandardNamesXML=names, cfAreaTypesXML=areas, cfRegionNamesXML=regions, version=known, silent=True
    )
    with contextlib.suppress(FatalCheckerError):
        checker.checker(path)
    found = []
    for results in checker.all_results.values():
        places = [("", results["global"]), *results["variables"].items()]
        for variable, by_category in places:
            for category in ("FATAL", "ERROR", "WARN", "INFO"):
                texts = by_category.get(category, ())
                matches = [(SECTION.fullmatch(text), text) for text in texts]
                found += [[category, *(match.groups() if match else ("", text)), variable] for match, text in matches]
    return found


def by_compliance_checker(path: str, version: str) -> list[list[str]]:
    """Priority, section and text of each finding of compliance-checker."""
    from compliance_checker.suite import CheckSuite

    CheckSuite.load_all_available_checkers()
    newest = f"cf:1.{min(int(version.split('.')[1]), 11)}"
    suite = CheckSuite()
    dataset = suite.load_dataset(path)
    found = []
    for results, errors in suite.run_all(dataset, [newest], None, None).values():
        for result in results:
            section = re.match(r"§?([0-9.]+)?", str(result.name if isinstance(result.name, str) else result.name[0]))
            number = (section[1] or "") if section else ""
            found += [[str(result.weight), number, str(text)] for text in result.msgs or ()]
        found += [["0", "", f"{name}: {error}"] for name, error in errors.items()]
    dataset.close()
    return found


def attempt(call, *arguments):
    """Result of a checker, or what it raised; both print a lot."""
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return call(*arguments)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:200]


def main() -> None:
    """Answer each line."""
    warnings.simplefilter("ignore")
    for line in sys.stdin:
        version, path = line.rstrip("\n").split(" ", 1)
        answer = {
            "path": path,
            "cfchecker": attempt(by_cfchecker, path, version, sys.argv[1:4]),
            "compliance-checker": attempt(by_compliance_checker, path, version),
        }
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
