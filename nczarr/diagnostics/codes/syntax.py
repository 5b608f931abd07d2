"""Codes of the grammar (cdl-language §6; the notation's grammar/NCZarr.g4)."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, Code

CODES = (
    Code(
        "empty-input",
        ERROR,
        "The input holds nothing but white space and comments.",
        "// nothing here\n",
        "A CDL text is `netcdf NAME { … }`, a text in the notation `dataset NAME VERSION { … }`.",
    ),
    Code(
        "expected-token",
        ERROR,
        "Something is missing: the place shown is where it should stand.",
        "netcdf t {\n  dimensions: x = 1\n}\n",
        "Insert what the message names, most often `;`, `=` or a closing brace.",
    ),
    Code(
        "expected-value",
        ERROR,
        "A list of values has a comma with no value before or after it.",
        "netcdf t {\n  :a = 1, , 2 ;\n}\n",
        "Give the value, or remove the comma. In `data:` a value that is missing is written `_`.",
    ),
    Code(
        "trailing-text",
        ERROR,
        "Text follows the end of the dataset. A file holds one dataset.",
        "netcdf t {\n}\nnetcdf u {\n}\n",
        "Remove the text, or move the second dataset to a file of its own.",
    ),
    Code(
        "section-order",
        ERROR,
        "A section, or an attribute, stands after something that must follow it. The order is `types:`, "
        "`dimensions:`, `variables:`, `data:`, then groups.",
        "netcdf t {\nvariables:\n  int v ;\ndimensions:\n  x = 1 ;\n}\n",
        "Move the section to its place.",
    ),
    Code(
        "duplicate-section",
        ERROR,
        "A section stands twice in one group.",
        "netcdf t {\ndimensions:\n  x = 1 ;\ndimensions:\n  y = 1 ;\n}\n",
        "Put all declarations into the first section.",
    ),
    Code(
        "keyword-case",
        ERROR,
        "A section keyword is written with capital letters.",
        "netcdf t {\nDIMENSIONS:\n  x = 1 ;\n}\n",
        "Write `types:`, `dimensions:`, `variables:`, `data:` and `group:` in lower case.",
    ),
    Code(
        "keyword-space",
        ERROR,
        "White space stands between a section keyword and its colon, which makes the word an ordinary name.",
        "netcdf t {\ndimensions :\n  x = 1 ;\n}\n",
        "Write the colon directly after the word: `dimensions:`.",
    ),
    Code(
        "reserved-word",
        ERROR,
        "A reserved word of CDL stands where a name is declared.",
        "netcdf t {\nvariables:\n  int float ;\n}\n",
        "Choose another name.",
    ),
    Code(
        "anonymous-dimension",
        ERROR,
        "A variable has a number or nothing for a dimension. In CDL dimensions have names.",
        "netcdf t {\nvariables:\n  int v(3) ;\n}\n",
        "Declare a dimension of this size under `dimensions:`; the notation has anonymous dimensions.",
    ),
    Code(
        "nesting",
        ERROR,
        "Braces stand in a value whose type has no inner lists.",
        "netcdf t {\ntypes:\n  int(*) row ;\nvariables:\n  row r ;\ndata:\n  r = {{1}} ;\n}\n",
        "Remove the inner braces: each brace encloses one value of a vlen or compound type, or one array field.",
    ),
    Code(
        "too-deep-nesting",
        ERROR,
        "Groups, types or braces are nested deeper than the limit. It keeps hostile input from exhausting the stack.",
        "netcdf t {\n" + "".join(f"group: g{level} {{\n" for level in range(65)) + "}\n" * 66,
        "Groups and types nest 64 deep; split the dataset.",
    ),
    Code(
        "bad-function",
        ERROR,
        "A word with parentheses stands among values and is not the one function there is, or its argument is no date.",
        'netcdf t {\n  :a = date("2000-01-01") ;\n}\n',
        'Write the value itself, or `time("2000-01-01")`, which is hours since 1970-01-01 as a double.',
    ),
    Code(
        "unknown-word",
        ERROR,
        "A word of the notation that names a codec, layout, byte order, quantisation or kind is none of those known.",
        "dataset t 2.0.0 {\n  dimension x 2\n  variable v int /x { endian middle }\n}\n",
        "Use one of the words that the message lists.",
    ),
    Code(
        "bad-ast",
        ERROR,
        "An AST document is not JSON, or does not follow docs/ast.schema.json; the pointer says where.",
        '{"ast": 1, "dataset": {"name": "t", "dimensions": [{"name": "x"}]}}\n',
        "Correct the document; `nczarr dump --as ast` shows how a dataset looks.",
    ),
)
