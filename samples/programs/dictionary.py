"""Data dictionary in Markdown: nczarr compile ocean.cdl --plugin "python3 dictionary.py" -o docs"""

import json
import sys

asked = json.load(sys.stdin)
lines = [f"# {asked['name']}", "", "| variable | type | shape | units |", "|---|---|---|---|"]
diagnostics = []
for node in asked["nodes"]:
    if node["node"] != "Variable":
        continue
    path = node["path"]
    units = next((each["value"]["text"] for each in asked["nodes"] if each["path"] == f"{path}@units"), "")
    if not units and "float" in node["type"]:
        diagnostics.append({"severity": "warning", "message": f"{path} has no units", "node": path})
    lines.append(f"| {path} | {node['type']} | {node.get('shape', [])} | {units} |")
files = [{"name": f"{asked['name']}.md", "text": "\n".join(lines) + "\n"}]
json.dump({"files": files, "diagnostics": diagnostics}, sys.stdout)
