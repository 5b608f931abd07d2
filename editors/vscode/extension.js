// Client of the language server `nczarr lsp`. Colours come from the grammars in `syntaxes/`, also without the server.
const { commands, window, workspace } = require("vscode");
const { LanguageClient, TransportKind } = require("vscode-languageclient/node");

let client;

async function start() {
  const settings = workspace.getConfiguration("nczarr");
  const [command, ...args] = settings.get("command");
  if (!settings.get("server") || !command) {
    return;
  }
  const server = { command, args, transport: TransportKind.stdio };
  const selector = ["cdl", "ncz"].map((language) => ({ language }));
  client = new LanguageClient("nczarr", "NCZarr", server, { documentSelector: selector });
  try {
    await client.start();
  } catch (error) {
    client = undefined;
    window.showWarningMessage(
      `The language server \`${[command, ...args].join(" ")}\` does not start (${error.message}). ` +
        "Run `pip install nczarr`, or change the setting `nczarr.command`.",
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  await running?.stop();
}

async function activate(context) {
  context.subscriptions.push(
    commands.registerCommand("nczarr.restart", async () => {
      await stop();
      await start();
    }),
  );
  await start();
}

module.exports = { activate, deactivate: stop };
