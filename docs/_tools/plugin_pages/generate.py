"""Languages of `nczarr generate`: a table, and a part of what each makes of one small schema."""

from __future__ import annotations

import nczarr
from nczarr.plugins.generate.languages import LANGUAGES

PAGE, MARK = "docs/reference/generators.md", "generators"

SCHEMA = """netcdf ocean {
dimensions:
    time = UNLIMITED ;
    lat = 2 ;
variables:
    float temp(time, lat) ;
        temp:long_name = "temperature" ;
        temp:units = "K" ;
data:
    temp = 280.5, 281 ;
}
"""

SHOWN = {
    "c": ("ocean.h", "/* /temp", 3),
    "python-netcdf4": ("ocean.py", "    # temperature", 6),
    "python-zarr": ("ocean.py", "    # temperature", 16),
    "xarray": ("ocean.py", "    # temperature", 9),
    "json-schema": ("ocean.schema.json", '        "temp/zarr.json": {', 24),
    "pydantic": ("ocean_v3.py", "class TempAttributes", 15),
    "typescript": ("ocean.ts", "/** Attributes of /temp", 8),
    "ncml": ("ocean.ncml", "  <dimension", 6),
    "markdown": ("ocean.md", "| dimension", 8),
    "html": ("ocean.html", "<caption>Dimensions", 6),
    "fortran": ("ocean.f90", "    ! temperature", 4),
    "contract": ("ocean.contract.cdl", "variables:", 4),
    "java": ("Ocean.java", "        // temperature", 4),
}
"""File, beginning of the first line, and number of lines of the example of each language."""

WORDS = {"json-schema": "json", "ncml": "xml", "markdown": "md", "python-netcdf4": "text", "python-zarr": "text"}
WORDS |= {"xarray": "text", "pydantic": "text", "contract": "text"}
"""Languages of blocks; parts of programs in Python are texts, because they are no blocks that run."""


def text() -> str:
    """Return the table and the examples."""
    schema = nczarr.from_cdl(SCHEMA)
    lines = ["", "| language | makes | files | needs | refuses |", "|---|---|---|---|---|"]
    examples = []
    for name, language in LANGUAGES.items():
        files = nczarr.generate(name, schema)
        listed = ", ".join(f"`{one}`" for one in files)
        lines.append(f"| `{name}` | {language.title} | {listed} | {language.needs} | {language.refuses} |")
        file, start, count = SHOWN[name]
        found = files[file].split("\n")
        first = next(number for number, line in enumerate(found) if line.startswith(start))
        shown = "\n".join(found[first : first + count])
        fence = f"```{WORDS.get(name, name)}"
        examples.append(f"\n### {name}\n\nFrom `{file}`:\n\n{fence}\n{shown}\n```\n")
    source = f"\n## Examples\n\nParts of what each language makes of this schema:\n\n```text\n{SCHEMA}```\n"
    return "\n".join([*lines, source]) + "".join(examples)
