"use strict";

const by = (id) => document.getElementById(id);
const example = {
  model: "claude-sonnet-4-5",
  max_tokens: 1024,
  messages: [
    { role: "user", content: "Run the tests." },
    { role: "assistant", content: [{ type: "text", text: "I will." }, { type: "tool_use", id: "toolu_01", name: "bash", input: { command: "make test" } }] },
    { role: "user", content: "Still there?" },
    { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_99", content: "ok" }] },
  ],
};
let fixed = "";

function repair() {
  const answer = globalThis.parePlay(by("body").value, Number(by("limit").value) || 0);
  by("page").hidden = by("copy").hidden = answer.error !== undefined;
  if (answer.error !== undefined) {
    by("says").textContent = answer.error;
    return;
  }
  fixed = answer.fixed;
  by("page").srcdoc = answer.html;
  const count = (n, what) => `${n} ${what}${n === 1 ? "" : "s"}`;
  by("says").textContent = `${answer.dialect}: ${count(answer.findings, "fault")}, ${count(answer.changes, "change")}` + (answer.left ? `, ${answer.left} not repaired` : answer.changes ? ", clean now" : "");
}

by("ask").addEventListener("submit", (event) => {
  event.preventDefault();
  repair();
});
by("example").addEventListener("click", () => {
  by("body").value = JSON.stringify(example, null, 2);
  repair();
});
by("copy").addEventListener("click", () => navigator.clipboard.writeText(fixed));

(async () => {
  const go = new Go();
  const { instance } = await WebAssembly.instantiate(await (await fetch("playground.wasm")).arrayBuffer(), go.importObject);
  go.run(instance);
  by("go").disabled = false;
  by("says").textContent = "";
  if (location.hash === "#example") by("example").click();
})().catch((problem) => {
  by("says").textContent = `The engine could not be loaded: ${problem.message}`;
});
