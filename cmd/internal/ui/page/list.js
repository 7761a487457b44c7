// A List draws only those of many rows that can be seen. Rows are as high as they
// turn out to be: heights are guessed until a row has been drawn, and kept in a tree
// of sums (Fenwick), so that places are found in a few steps among any number.

class Sums {
  constructor(values) {
    this.values = values;
    this.tree = new Float64Array(values.length + 1);
    for (let i = 1; i <= values.length; i++) {
      this.tree[i] += values[i - 1];
      const up = i + (i & -i);
      if (up <= values.length) this.tree[up] += this.tree[i];
    }
  }
  set(i, value) {
    const by = value - this.values[i];
    this.values[i] = value;
    for (let j = i + 1; j < this.tree.length; j += j & -j) this.tree[j] += by;
  }
  // before sums up the first i values.
  before(i) {
    let sum = 0;
    for (let j = i; j > 0; j -= j & -j) sum += this.tree[j];
    return sum;
  }
  // at finds the value in which the sum reaches y.
  at(y) {
    let i = 0;
    for (let step = 1 << Math.floor(Math.log2(this.tree.length)); step > 0; step >>= 1) {
      if (i + step < this.tree.length && this.tree[i + step] <= y) {
        i += step;
        y -= this.tree[i];
      }
    }
    return Math.min(i, this.values.length - 1);
  }
}

class List {
  // box is as high as all rows, list holds those that are drawn. make draws a row,
  // guess tells how high one may be, drawn is called after each change.
  constructor(box, list, { make, guess, drawn }) {
    Object.assign(this, { box, list, make, guess, drawn });
    this.rows = new Map();
    this.items = [];
    this.sums = new Sums([]);
    this.seen = { first: 0, last: -1 }; // the rows in sight
    this.pinned = -1; // a row that is kept even if it cannot be seen: it has the focus
    this.sizes = new ResizeObserver((entries) => this.resized(entries));
    addEventListener("scroll", () => this.soon(), { passive: true });
    addEventListener("resize", () => this.soon());
  }

  soon() {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      const { stale } = this;
      this.stale = false;
      this.draw(stale);
    });
  }

  // show replaces all rows; pinned is one that is kept drawn, or -1.
  show(items, pinned) {
    for (const row of this.rows.values()) this.remove(row);
    this.rows.clear();
    this.items = items;
    this.sums = new Sums(Float64Array.from(items, this.guess));
    this.pinned = items.length ? pinned : -1;
    this.draw(true);
  }

  // top is where on the document the first row begins.
  top() { return this.box.getBoundingClientRect().top + scrollY; }

  // covered is how much of the window's top is hidden by what sticks to it.
  covered() {
    const bar = document.querySelector(".stick");
    return getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
  }

  // view is the range of the rows' heights that can be seen.
  view() {
    const from = scrollY - this.top();
    return { from: from + this.covered(), to: from + innerHeight };
  }

  // draw brings the rows in line with what can be seen. Rows above that turn out
  // higher or lower than guessed must not move what is looked at. The layout is asked
  // once for where things are and once for the heights of new rows; all else is sums.
  draw(force) {
    const top = this.top(), covered = this.covered();
    const start = scrollY - top;
    let y = start, changed = force, first = 0, last = -1;
    for (let round = 0; round < 4 && this.items.length > 0; round++) {
      const from = Math.max(0, y + covered);
      first = this.sums.at(from);
      last = this.sums.at(Math.max(0, y + innerHeight));
      const off = y + covered - this.sums.before(first);
      const fresh = this.fill(Math.max(0, first - 4), Math.min(this.items.length - 1, last + 4));
      if (fresh.length === 0) break;
      changed = true;
      const grown = this.measure(fresh);
      if (from > 0 && !this.aiming) y = this.sums.before(first) + off - covered;
      if (!grown) break;
    }
    this.seen = { first, last };
    const height = this.sums.before(this.items.length);
    if (height !== this.height) this.box.style.height = (this.height = height) + "px";
    this.position();
    if (Math.abs(y - start) >= 1) scrollTo({ top: y + top, behavior: "instant" });
    this.drawn(changed);
  }

  // fill draws the rows of a range, takes away the others, and returns the new ones.
  fill(from, to) {
    for (const [i, row] of this.rows) {
      if ((i < from || i > to) && i !== this.pinned) {
        this.remove(row);
        this.rows.delete(i);
      }
    }
    const fresh = [];
    for (let i = from; i <= to; i++) if (!this.rows.has(i)) fresh.push(this.add(i));
    if (this.pinned >= 0 && !this.rows.has(this.pinned)) fresh.push(this.add(this.pinned));
    return fresh;
  }

  add(i) {
    const row = this.make(this.items[i], i);
    row.index = i;
    // In the order of the messages, so that reading order is the visual one.
    let next = null;
    for (const [j, other] of this.rows) if (j > i && (!next || j < next.index)) next = other;
    this.list.insertBefore(row, next);
    this.rows.set(i, row);
    this.sizes.observe(row);
    return row;
  }

  remove(row) {
    this.sizes.unobserve(row);
    row.remove();
  }

  // measure takes the true heights and reports whether one differs.
  measure(rows) {
    let grown = false;
    for (const row of rows) {
      const h = row.offsetHeight;
      row.ports = null;
      if (h !== this.sums.values[row.index]) {
        this.sums.set(row.index, h);
        grown = true;
      }
    }
    return grown;
  }

  position() {
    for (const [i, row] of this.rows) {
      const y = this.sums.before(i);
      if (row.y !== y) row.style.transform = "translateY(" + (row.y = y) + "px)";
    }
  }

  resized(entries) {
    if (this.measure(entries.map((e) => e.target).filter((row) => this.rows.get(row.index) === row))) {
      this.stale = true;
      this.soon();
    }
  }

  // redraw makes one row anew, or all that are drawn.
  redraw(i) {
    for (const [j, row] of this.rows) {
      if (i !== undefined && j !== i) continue;
      const had = row.contains(document.activeElement);
      const next = this.make(this.items[j], j);
      next.index = j;
      this.sizes.unobserve(row);
      row.replaceWith(next);
      this.rows.set(j, next);
      this.sizes.observe(next);
      this.measure([next]);
      if (had) next.focus({ preventScroll: true });
    }
    this.draw(true);
  }

  // reveal scrolls so that a row can be seen; what is in sight already stays.
  reveal(i, always) {
    this.aiming = true;
    for (let round = 0; round < 5; round++) {
      const { from, to } = this.view();
      const y = this.sums.before(i), h = this.sums.values[i];
      const room = to - from;
      let by = 0;
      if (always) by = y - from - Math.max(0, Math.min(room / 4, room - h));
      else if (y < from || h > room) by = y - from - 8;
      else if (y + h > to) by = y + h - to + 8;
      const was = scrollY;
      scrollBy({ top: by, behavior: "instant" });
      this.draw();
      if (Math.abs(by) < 1 || (was === scrollY && round > 0)) break;
    }
    this.aiming = false;
  }
}
