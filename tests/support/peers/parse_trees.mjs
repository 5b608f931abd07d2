// Parse texts with the JavaScript parsers that ANTLR generates, in the folder of this program.
//
// A line of standard input is GRAMMAR, RULE and PATH with tabs between them. The answer is a line: the parse tree, or
// `refused` and the first error.

import { readFileSync } from "node:fs";
import { createInterface } from "node:readline";
import antlr4 from "antlr4";

class FirstError extends antlr4.error.ErrorListener {
  syntaxError(recognizer, symbol, line, column, message) {
    this.message ??= `${line}:${column} ${message}`;
  }
}

const spelt = (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
const quoted = (text) => `"${text.replace(/[\\"\n\r]/g, spelt)}"`;

function shown(tree, parser) {
  const token = tree.symbol;
  if (token) return token.type < 0 ? "EOF" : parser.symbolicNames[token.type] + quoted(token.text);
  const children = (tree.children ?? []).map((child) => shown(child, parser));
  return `(${[parser.ruleNames[tree.ruleIndex], ...children].join(" ")})`;
}

async function parsed(grammar, rule, path) {
  let text;
  try {
    text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch {
    return "refused text that is not UTF-8";
  }
  const { default: Lexer } = await import(`./${grammar}Lexer.js`);
  const { default: Parser } = await import(`./${grammar}Parser.js`);
  const errors = new FirstError();
  const lexer = new Lexer(new antlr4.CharStream(text, true));
  const parser = new Parser(new antlr4.CommonTokenStream(lexer));
  for (const each of [lexer, parser]) {
    each.removeErrorListeners();
    each.addErrorListener(errors);
  }
  let tree;
  try {
    tree = parser[rule]();
  } catch (error) {
    if (error instanceof RangeError) return "refused text that exceeds the stack";
    throw error;
  }
  return errors.message ? `refused ${quoted(errors.message)}` : shown(tree, parser);
}

for await (const line of createInterface({ input: process.stdin })) {
  process.stdout.write((await parsed(...line.split("\t"))) + "\n");
}
