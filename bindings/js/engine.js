// Loads the engine, which is WebAssembly: in Node, Bun and Deno from the file beside this one, in browsers
// and at the edge by fetch, or from what load is given.

import "./wasm_exec.js";

let started;

/** Loads the engine once. Source is a WebAssembly.Module, bytes, or a Response; without it, pare.wasm beside this file. */
export function load(source) {
  started ??= start(source);
  return started;
}

async function start(source) {
  const go = new globalThis.Go();
  const instance = await instantiate(await (source ?? own()), go.importObject);
  // Until the engine waits for calls, run is synchronous; what it leaves with its host is ours alone.
  go.run(instance);
  const call = globalThis.pareCall;
  delete globalThis.pareCall;
  return call;
}

async function own() {
  const url = new URL("./pare.wasm", import.meta.url);
  if (url.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return readFile(url);
  }
  return fetch(url);
}

async function instantiate(source, imports) {
  if (source instanceof WebAssembly.Module) return WebAssembly.instantiate(source, imports);
  if (typeof Response !== "undefined" && source instanceof Response) source = await source.arrayBuffer();
  return (await WebAssembly.instantiate(source, imports)).instance;
}
