// Starts `dmaverify lsp` for plan files, Rust kernels, PTO text, iDMA job files and C drivers of iDMA, and restarts it when asked.
"use strict";

const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

/** The documents that the server is asked about; it leaves those alone that are none of these. */
const DOCUMENTS = [
  { scheme: "file", language: "toml" },
  { scheme: "file", language: "rust" },
  { scheme: "file", language: "mlir" },
  { scheme: "file", language: "c" },
  { scheme: "file", pattern: "**/*.{pto,mlir,job}" },
];

/** What a document may rest on beside its own text: told to the server whenever it changes on the disk. */
const FILES = "**/*.{toml,smt2,rs,pto,mlir,c,h,job}";

let client;
let watcher;

async function start() {
  const settings = vscode.workspace.getConfiguration("dmaverify");
  const server = { command: settings.get("command"), args: settings.get("arguments") };
  client = new LanguageClient("dmaverify", "dmaverify", server, {
    documentSelector: DOCUMENTS,
    synchronize: { fileEvents: watcher },
  });
  try {
    await client.start();
  } catch (error) {
    vscode.window.showErrorMessage(
      `dmaverify: \`${server.command} ${server.args.join(" ")}\` did not start (${error.message}). ` +
        'pip install "dmaverify[lsp]", or set dmaverify.command.'
    );
  }
}

async function stop() {
  const running = client;
  client = undefined;
  if (running && running.needsStop()) {
    await running.stop();
  }
}

async function activate(context) {
  watcher = vscode.workspace.createFileSystemWatcher(FILES);
  context.subscriptions.push(
    watcher,
    vscode.commands.registerCommand("dmaverify.restart", async () => {
      await stop();
      await start();
    })
  );
  await start();
}

module.exports = { activate, deactivate: stop };
