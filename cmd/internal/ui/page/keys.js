// Everything can be done by keys. Letters work wherever nothing is typed; arrows only
// where they would not scroll something else.

const keys = [
  ["j / ↓", "next message", ["j"], () => step(1)],
  ["k / ↑", "previous message", ["k"], () => step(-1)],
  ["g / Home", "first message", ["g"], () => go(0)],
  ["G / End", "last message", ["G"], () => go(state.list.items.length - 1)],
  ["n", "next fault", ["n"], () => jump(faulty, 1, "fault")],
  ["p", "previous fault", ["p"], () => jump(faulty, -1, "fault")],
  ["c", "next change", ["c"], () => jump(changed, 1, "change")],
  ["C", "previous change", ["C"], () => jump(changed, -1, "change")],
  ["u", "next turn of the user", ["u"], () => jump((m) => m.begins, 1, "turn")],
  ["U", "previous turn", ["U"], () => jump((m) => m.begins, -1, "turn")],
  ["o", "open or close all messages", ["o"], () => openAll()],
  ["m", "to the other half of the pair", ["m"], () => goMate()],
  ["Enter", "open or close the message", [], null],
  ["/", "search", ["/"], () => $("find").select()],
  ["] / [", "next or previous match", ["]"], () => stepHit(1)],
  ["", "", ["["], () => stepHit(-1)],
  ["b", "before or after the plan", ["b"], () => state.doc.after && showSide(state.side.name === "before" ? "after" : "before")],
  ["t", "light or dark", ["t"], () => nextTheme()],
  ["Esc", "close, clear the search, then the filters", [], null],
  ["?", "these keys", ["?"], () => $("help").showModal()],
];

function listenToKeys() {
  for (const [name, does] of keys) {
    if (!name) continue;
    const dt = element("dt");
    for (const [i, k] of name.split(" / ").entries()) dt.append(i ? " " : "", element("kbd", "", k));
    $("keys").append(dt, element("dd", "", does));
  }
  document.addEventListener("keydown", (e) => {
    if (e.ctrlKey || e.metaKey || e.altKey || e.isComposing || $("help").open) return;
    const typing = e.target.matches("input[type=search], select, textarea");
    if (e.key === "Escape") return escape(e);
    if (typing) return;
    const inList = e.target.closest("#list") || e.target === document.body || e.target.id === "timeline";
    const moves = { ArrowDown: () => step(1), ArrowUp: () => step(-1), Home: () => go(0), End: () => go(state.list.items.length - 1) };
    if (inList && moves[e.key] && !e.shiftKey) {
      e.preventDefault();
      return moves[e.key]();
    }
    if (e.key === "Enter" && e.target.matches(".message")) {
      e.preventDefault();
      return openRow(Number(e.target.dataset.message));
    }
    for (const [, , letters, act] of keys) {
      if (act && letters.includes(e.key)) {
        e.preventDefault();
        return act();
      }
    }
  });
  $("find").addEventListener("keydown", (e) => {
    if (e.key !== "Enter") return;
    e.preventDefault();
    search($("find").value);
    stepHit(e.shiftKey ? -1 : 1);
    $("find").focus();
  });
}

// escape takes back one thing at a time.
function escape(e) {
  hideTip();
  const now = state.list.items[state.at];
  if ($("find").value) {
    e.preventDefault();
    $("find").value = "";
    search("");
    focusRow();
  } else if (e.target.id === "find") focusRow();
  else if (now && isOpen(now.n) && !state.all) openRow(now.n);
  else if (state.list.items.length < state.side.messages.length) clearFilters();
}
