"""The AST as JSON, member by member, with a published JSON Schema (`docs/reference/ast.schema.json`)."""

from nczarr.registry import Capabilities, Display, Format, ReadingTraits

FORMAT = Format(
    name="ast",
    title="AST as JSON",
    suffixes=(".ast.json",),
    spec="docs/reference/ast.schema.json",
    capabilities=Capabilities(data=False, json_attributes="any"),
    detects=r'\s*\{\s*"ast"\s*:',
    read="nczarr.formats.ast_json.frontend:read",
    write="nczarr.formats.ast_json.backend:write",
    reading=ReadingTraits(resident=2, only_reader=True),
    display=Display(dumped=True, string_escapes="unicode"),
)
