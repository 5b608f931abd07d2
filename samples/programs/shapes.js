// Shapes of all variables as a module: nczarr compile ocean.cdl --plugin "node shapes.js" -o site
const asked = JSON.parse(require("fs").readFileSync(0, "utf8"));
const shapes = {};
for (const node of asked.nodes)
  if (node.node === "Variable") shapes[node.path] = node.shape ?? [];
const text = `export default ${JSON.stringify(shapes, null, 2)};\n`;
process.stdout.write(JSON.stringify({ files: [{ name: "shapes.mjs", text }] }));
