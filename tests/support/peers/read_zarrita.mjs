// Reads arrays over HTTP through zarrita. Standard input: JSON lines {"url": store, "version": 2 or 3, "paths": [...]}.
// Answer, a line each: {path: {"shape", "sha256" of the elements in C order, little-endian; texts joined by NUL}}, or
// {"error": why}. The first argument is the folder in which zarrita is installed.
import { createHash } from "node:crypto";
import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const home = join(process.argv[2], "node_modules", "zarrita");
const entry = JSON.parse(readFileSync(join(home, "package.json"), "utf8")).exports["."];
const zarr = await import(pathToFileURL(join(home, entry.import ?? entry.default ?? entry)).href);

process.on("unhandledRejection", () => {}); // an array with two codecs that it has not rejects twice

function bytesOf(data) {
  if (ArrayBuffer.isView(data)) return Buffer.from(data.buffer, data.byteOffset, data.byteLength);
  if (data._data) return Buffer.from(data._data.buffer, data._data.byteOffset, data._data.byteLength);
  return Buffer.from(Array.from(data).join("\0"), "utf8");
}

async function read(root, path, version) {
  try {
    const open = version === 2 ? zarr.open.v2 : zarr.open.v3;
    const array = await open(root.resolve(path), { kind: "array" });
    const got = array.shape.length ? await zarr.get(array) : { data: (await array.getChunk([])).data, shape: [] };
    return { shape: got.shape, sha256: createHash("sha256").update(bytesOf(got.data)).digest("hex") };
  } catch (error) {
    return { error: String(error && error.message) };
  }
}

for await (const line of createInterface({ input: process.stdin })) {
  const asked = JSON.parse(line);
  const root = zarr.root(new zarr.FetchStore(asked.url));
  const found = {};
  for (const path of asked.paths) found[path] = await read(root, "/" + path, asked.version);
  process.stdout.write(JSON.stringify(found) + "\n");
}
