"""Codes of reference documents."""

from __future__ import annotations

from nczarr.diagnostics.codes.code import ERROR, WARNING, Code

CODES = (
    Code(
        "bad-reference-document",
        ERROR,
        "A text is no reference document: no JSON object, of a version that is not known, or with members of the wrong "
        "kind.",
        '$ nczarr refs expand -\n{"version": 2, "refs": {}}\n',
        "Version 1 has `templates`, `gen` and `refs`; a document without `version` maps keys to values.",
    ),
    Code(
        "bad-reference",
        ERROR,
        "The value of a key is no text, object or reference, or its range of bytes is none.",
        '$ nczarr refs expand -\n{"a": ["s3://b/a.nc", 100]}\n',
        "Write `[url]` for a whole target, `[url, offset, length]` for a part of it.",
    ),
    Code(
        "bad-generator",
        ERROR,
        "An item of `gen` lacks a member, has one of the wrong kind, or makes an offset or length that is no integer.",
        '$ nczarr refs expand -\n{"version": 1, "gen": [{"key": "k{{i}}", "url": "u", "dimensions": {"i": {}}}]}\n',
        "An item has `key`, `url`, `dimensions`, and `offset` and `length` or neither; a dimension is a list, "
        "or has `stop`.",
    ),
    Code(
        "bad-expression",
        ERROR,
        "Something between `{{` and `}}` is no expression of the grammar, or has no value: division by zero, a "
        "template without arguments, text where a number is needed.",
        '$ nczarr refs expand -\n{"version": 1, "templates": {"u": "x"}, "refs": {"a": ["{{u.y}}", 0, 1]}}\n',
        "The grammar has names, integers, texts, `+ - * / // % **`, comparisons, `a if c else b`, templates with named "
        "arguments, and the filters format, upper, lower, string and int. `--jinja` has jinja2 render "
        "what is beyond it.",
    ),
    Code(
        "undefined-name",
        WARNING,
        "An expression of a reference document uses a name that nothing defines; it stands for an empty text.",
        '$ nczarr refs expand -\n{"version": 1, "templates": {"u": "x"}, "refs": {"a": ["{{v}}", 0, 1]}}\n',
        "Define it as a template, or with `--set NAME=TEXT`. A template sees its arguments alone.",
    ),
    Code(
        "oversized-expansion",
        ERROR,
        "A reference document asks for more than the limits allow: too many entries, too long a text, too large "
        "a number.",
        '$ nczarr refs expand - --max-entries 10\n{"version": 1, "gen": '
        '[{"key": "k{{i}}", "url": "u", "dimensions": {"i": {"stop": 11}}}]}\n',
        "If the document is to be trusted, raise the limit: `--max-entries`, `--max-text`, `--max-document`, "
        "`--max-output`.",
    ),
    Code(
        "forbidden-target",
        ERROR,
        "A reference names something that it may not: a file of this machine in a document that comes from elsewhere, "
        "what lies outside the folder of the document by a relative URL, a protocol that nobody keeps data behind.",
        '$ nczarr check -\n{".zgroup": "{\\"zarr_format\\": 2}", "v/0": ["../../a.nc", 0, 4]}\n',
        "If the document is to be trusted, say what it may name: `--source-root /data`, `--source-root s3://bucket`.",
    ),
    Code(
        "unsafe-key",
        WARNING,
        "A key of a reference document is none that a store could have: absolute, with an empty segment, `.` or `..`. "
        "It is passed over, and written nowhere.",
        '$ nczarr check -\n{".zgroup": {"zarr_format": 2}, "../../etc/passwd": "x"}\n',
        "Find out who made the document: no program that makes references of data writes such keys.",
    ),
    Code(
        "short-target",
        ERROR,
        "A reference leads behind the end of its target: that was changed, or cut, or is another file.",
        "$ nczarr refs expand - -o a.json\n$ nczarr dump -\n"
        '{".zgroup": {"zarr_format": 2}, "v/.zattrs": {"_ARRAY_DIMENSIONS": ["x"]}, "v/.zarray": '
        '{"zarr_format": 2, "shape": [1], "chunks": [1], "dtype": "<i4", "fill_value": 0, "order": "C", '
        '"compressor": null, "filters": null}, "v/0": ["a.json", 100000, 4]}\n',
        "Make the references again. `nczarr refs verify` finds all targets that are not what they were.",
    ),
    Code(
        "unnamed-target",
        ERROR,
        "A document cannot name what its references would lead to: the URL has a secret in it, or the path is "
        "no UTF-8.",
        "",
        "`--base URL` says where targets lie for those who read the document.",
    ),
    Code(
        "unstorable-reference",
        ERROR,
        "Parquet references cannot hold a key: a document that is none of Zarr 2, a chunk without an array or of "
        "the root, keys with another separator than a dot, an empty range at the begin of a target. Nothing was "
        "written.",
        "$ nczarr compile - -o t.parq --metadata zarr3\nnetcdf t {\nvariables:\n  int v ;\n}\n",
        "Write JSON, or `--metadata zarr2` or `nczarr`.",
    ),
)
