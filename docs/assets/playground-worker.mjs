// The compiler, in a thread of the browser. A message {number, text, target, emission, language} is answered with the
// result of `compile_text` (docs/_tools/playground/compile_in_browser.py) as {number, result}; before the first one,
// {stage} says what is being loaded, and {failed} why it cannot run.

const folder = new URL("playground/", import.meta.url);

async function fetched(name) {
  const answer = await fetch(new URL(name, folder));
  if (!answer.ok) throw new Error(`${name}: ${answer.status}`);
  return answer;
}

async function load() {
  postMessage({ stage: "Loading Python" });
  const { loadPyodide } = await import(new URL("pyodide.mjs", folder).href);
  const [python, archive] = await Promise.all([
    loadPyodide({ indexURL: folder.href }),
    fetched("packages.zip").then(answer => answer.arrayBuffer()),
  ]);
  postMessage({ stage: "Loading the compiler" });
  const packages = python.runPython("import site; site.getsitepackages()[0]");
  python.unpackArchive(archive, "zip", { extractDir: packages });
  const compile = python.runPython(
    "import json, compile_in_browser\nlambda *given: json.dumps(compile_in_browser.compile_text(*given))",
  );
  compile("netcdf first {\n}\n", "nczarr", "ast", "c"); // loads the modules, so that the first keystroke is answered soon
  postMessage({ stage: "" });
  return compile;
}

const ready = load().catch(error => {
  postMessage({ failed: String(error.message ?? error) });
});

onmessage = async ({ data: { number, text, target, emission, language } }) => {
  const compile = await ready;
  if (!compile) return;
  try {
    postMessage({ number, result: JSON.parse(compile(text, target, emission, language)) });
  } catch (error) {
    postMessage({ number, fault: String(error.message ?? error) });
  }
};
