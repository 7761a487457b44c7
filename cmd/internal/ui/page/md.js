// Markdown is drawn from elements and text nodes; nothing of it is ever read as markup. Links are
// not followed: where they lead is shown when they are pointed at.

const far = 2000; // how far the end of something is looked for, so that hostile text costs no more

// inline puts the words of a line or a paragraph into an element.
function inline(box, text, depth = 0) {
  let from = 0;
  const put = (to) => {
    if (to > from) box.append(text.slice(from, to));
  };
  const within = (mark, at) => {
    const end = text.slice(at, at + far).indexOf(mark);
    return end <= 0 ? -1 : at + end;
  };
  for (let i = 0; i < text.length; i++) {
    const c = text[i];
    let e = null, end = -1;
    if (c === "\\" && /[\\`*_{}\[\]()#+.!|~-]/.test(text[i + 1] || "")) {
      put(i);
      from = ++i;
      continue;
    }
    if (c === "`") {
      const ticks = text.slice(i).match(/^`{1,8}/)[0];
      end = within(ticks, i + ticks.length);
      if (end < 0) {
        i += ticks.length - 1;
        continue;
      }
      e = element("code", "", text.slice(i + ticks.length, end).replace(/^ (.*) $/s, "$1"));
      end += ticks.length;
    } else if ((c === "*" || c === "_" || c === "~") && depth < 4) {
      const twice = text[i + 1] === c, mark = twice ? c + c : c;
      const before = text[i - 1] || " ", after = text[i + mark.length] || " ";
      if (/\s/.test(after) || (c === "_" && /\w/.test(before)) || (c === "~" && !twice)) continue;
      end = within(mark, i + mark.length);
      if (end < 0 || /\s/.test(text[end - 1]) || (c === "_" && /\w/.test(text[end + mark.length] || " "))) continue;
      e = element(c === "~" ? "del" : twice ? "strong" : "em");
      inline(e, text.slice(i + mark.length, end), depth + 1);
      end += mark.length;
    } else if (c === "[" || (c === "!" && text[i + 1] === "[")) {
      const open = c === "!" ? i + 2 : i + 1, close = within("](", open), stop = close < 0 ? -1 : within(")", close + 2);
      if (stop < 0 || text.slice(open, close).includes("\n")) continue;
      e = element("span", "link");
      e.dataset.tip = text.slice(close + 2, stop).slice(0, 300);
      if (depth < 4) inline(e, text.slice(open, close), depth + 1);
      end = stop + 1;
    }
    if (!e) continue;
    put(i);
    box.append(e);
    from = end;
    i = end - 1;
  }
  put(text.length);
}

// markdown puts a text into an element, block by block.
function markdown(box, text) {
  const lines = text.split("\n");
  let para = [];
  const flush = () => {
    if (!para.length) return;
    const p = element("p");
    inline(p, para.join("\n"));
    box.append(p);
    para = [];
  };
  for (let i = 0; i < lines.length; i++) {
    const line = lines[i];
    const fence = line.match(/^ {0,3}(`{3,}|~{3,})\s*([\w+#.-]*)/);
    if (fence) {
      flush();
      let end = i + 1;
      while (end < lines.length && !lines[end].trimStart().startsWith(fence[1])) end++;
      const code = lines.slice(i + 1, end).join("\n");
      box.append(fence[2] === "diff" || fence[2] === "patch" ? diffBlock(patchLines(code), "") : codeBlock(code, tongueOf(fence[2]), fence[2]));
      i = end;
      continue;
    }
    const head = line.match(/^ {0,3}(#{1,6})\s+(.*?)\s*#*$/);
    if (head) {
      flush();
      const h = element("p", "md-h md-h" + head[1].length);
      inline(h, head[2]);
      box.append(h);
    } else if (/^ {0,3}([-*_])( *\1){2,} *$/.test(line)) {
      flush();
      box.append(element("hr"));
    } else if (/^\s{0,3}>/.test(line)) {
      flush();
      let end = i;
      while (end < lines.length && /^\s{0,3}>/.test(lines[end])) end++;
      const quote = element("blockquote");
      inline(quote, lines.slice(i, end).map((l) => l.replace(/^\s{0,3}> ?/, "")).join("\n"));
      box.append(quote);
      i = end - 1;
    } else if (/^\s*([-*+]|\d{1,9}[.)])\s+\S/.test(line)) {
      flush();
      i = makeItems(box, lines, i);
    } else if (line.includes("|") && /^\s*\|?\s*:?-{2,}:?\s*(\|\s*:?-{2,}:?\s*)*\|?\s*$/.test(lines[i + 1] || "")) {
      flush();
      i = makeCells(box, lines, i);
    } else if (line.trim() === "") flush();
    else para.push(line);
  }
  flush();
}

// makeItems draws the items of a list, each as deep as it is indented, and returns its last line.
function makeItems(box, lines, i) {
  const list = element("ul", "md-list");
  for (; i < lines.length; i++) {
    const item = lines[i].match(/^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/);
    if (!item) {
      // A line that is indented goes on with the item.
      if (/^\s{2,}\S/.test(lines[i]) && list.lastChild && !/^\s*(`{3,}|~{3,})/.test(lines[i])) {
        list.lastChild.lastChild.append("\n");
        inline(list.lastChild.lastChild, lines[i].trim());
        continue;
      }
      break;
    }
    const li = element("li", "md-item md-in" + Math.min(4, Math.floor(item[1].replace(/\t/g, "  ").length / 2)));
    const words = element("span", "md-words"), task = item[3].match(/^\[([ xX])\] (.*)$/);
    li.append(element("span", "md-dot", task ? (task[1] === " " ? "☐" : "☑") : /\d/.test(item[2]) ? item[2] : "•"), words);
    inline(words, task ? task[2] : item[3]);
    list.append(li);
  }
  box.append(list);
  return i - 1;
}

// makeCells draws a table, and returns its last line.
function makeCells(box, lines, i) {
  const cells = (line) => line.trim().replace(/^\||\|$/g, "").split("|").slice(0, 40);
  const table = element("table", "md-table"), row = (line, tag) => {
    const tr = element("tr");
    for (const text of cells(line)) {
      const cell = element(tag);
      inline(cell, text.trim());
      tr.append(cell);
    }
    table.append(tr);
  };
  row(lines[i], "th");
  for (i += 2; i < lines.length && lines[i].includes("|"); i++) row(lines[i], "td");
  const wide = element("div", "md-wide");
  wide.append(table);
  box.append(wide);
  return i - 1;
}
