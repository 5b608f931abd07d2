# Names in lower case: nczarr compile ocean.cdl --plugin "jq -f names.jq" -o report
{
  files: [{name: "names.txt", text: ([.nodes[].path] | join("\n") + "\n")}],
  diagnostics: [
    .nodes[] | select(.node == "Variable") | select(.path | test("[A-Z]"))
    | {severity: "error", message: "\(.path) is not in lower case", node: .path, help: "rename it"}
  ]
}
