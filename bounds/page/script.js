"use strict";
const all = (selector, inside = document) => [...inside.querySelectorAll(selector)];
const by = (id) => document.getElementById(id);

/* Search and filters ------------------------------------------------------------- */
const entries = all(".entry");
const sections = all("section.entries");
const texts = new Map();
const textOf = (entry) => {
  if (!texts.has(entry)) {
    texts.set(entry, `${entry.id} ${entry.textContent}`.toLowerCase());
  }
  return texts.get(entry);
};
const chosen = (name) => all(`#tools input[name=${name}]:checked`).map((i) => i.value);

function filter() {
  const words = by("search").value.toLowerCase().split(/\s+/).filter(Boolean);
  const status = chosen("status"), severity = chosen("severity");
  const section = by("section").value;
  let shown = 0;
  for (const entry of entries) {
    const data = entry.dataset;
    const fits = (!status.length || status.includes(data.status))
      && (!severity.length || severity.includes(data.severity))
      && data.section.startsWith(section)
      && (!section || section.endsWith(":") || data.section === section)
      && words.every((word) => textOf(entry).includes(word));
    entry.hidden = !fits;
    shown += fits;
  }
  for (const one of sections) one.hidden = !one.querySelector(".entry:not([hidden])");
  const whole = shown === entries.length;
  by("count").value = `${whole ? "" : `${shown} of `}${entries.length} entries`;
  return shown;
}
let waiting = 0;
const soon = () => { clearTimeout(waiting); waiting = setTimeout(filter, 120); };
by("tools").addEventListener("input", soon);
by("tools").addEventListener("submit", (event) => {
  event.preventDefault();
  filter();
  const first = entries.find((entry) => !entry.hidden);
  if (first) first.scrollIntoView();
});

/* Folding and links ---------------------------------------------------------------- */
by("fold").addEventListener("click", () => {
  const open = entries.filter((entry) => entry.open);
  for (const entry of open) entry.open = false;
});
function follow() {
  const target = by(decodeURIComponent(location.hash.slice(1)));
  if (!target) return;
  if (target.closest("[hidden]")) {
    by("tools").reset();
    filter();
  }
  for (let one = target; one; one = one.parentElement) {
    if (one.localName === "details") one.open = true;
  }
  target.scrollIntoView();
}
addEventListener("hashchange", follow);
/* What is scrolled to stands below the tools, on however many lines they are. */
const below = () => root.style.setProperty("--tools", `${by("tools").offsetHeight}px`);
addEventListener("resize", below);

/* Light or dark --------------------------------------------------------------------- */
const root = document.documentElement;
const remember = (theme) => { try { localStorage.theme = theme; } catch { /* none */ } };
try { if (localStorage.theme) root.dataset.theme = localStorage.theme; } catch { /* none */ }
by("theme").addEventListener("click", () => {
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  remember(root.dataset.theme);
});

/* The graph ------------------------------------------------------------------------- */
for (const graph of all(".graph")) {
  const nodes = new Map(all(".node", graph).map((node) => [node.dataset.n, node]));
  const edges = all(".edge", graph);
  const walk = (from, a, b, mark) => {
    const seen = new Set([from]), left = [from];
    while (left.length) {
      const at = left.pop();
      for (const edge of edges) {
        if (edge.dataset[a] !== at) continue;
        edge.classList.add("on", mark);
        const next = edge.dataset[b];
        if (!seen.has(next)) { seen.add(next); left.push(next); }
      }
    }
    for (const one of seen) nodes.get(one).classList.add("on");
  };
  const clear = () => {
    graph.classList.remove("lit");
    for (const one of all(".on", graph)) one.classList.remove("on", "up", "down");
  };
  const light = (event) => {
    const node = event.target.closest(".node");
    if (!node) return;
    clear();
    graph.classList.add("lit");
    walk(node.dataset.n, "a", "b", "up");
    walk(node.dataset.n, "b", "a", "down");
  };
  graph.addEventListener("pointerover", light);
  graph.addEventListener("focusin", light);
  graph.addEventListener("pointerleave", clear);
  graph.addEventListener("focusout", clear);
}

/* Proofs: unpacked once, written when a reader unfolds them -------------------------- */
let book = null;
const DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
  + "!#$%&()*+-;,=>?@^_`{|}~";
function bare(text) {  /* four bytes of five digits; last how many bytes are filling */
  const digit = new Map([...DIGITS].map((one, value) => [one.charCodeAt(0), value]));
  const groups = (text.length - 1) / 5, bytes = new DataView(new ArrayBuffer(4 * groups));
  for (let k = 0; k < groups; k++) {
    let value = 0;
    for (let i = 5 * k; i < 5 * k + 5; i++) value = 85 * value + digit.get(text.charCodeAt(i));
    bytes.setUint32(4 * k, value);
  }
  return bytes.buffer.slice(0, 4 * groups - Number(text.at(-1)));
}
function unpacked() {
  book ??= (async () => {
    const stream = new Blob([bare(by("book").textContent)]).stream();
    const plain = stream.pipeThrough(new DecompressionStream("deflate-raw"));
    const bytes = await new Response(plain).arrayBuffer();
    return JSON.parse(new TextDecoder("x-user-defined").decode(bytes));
  })();
  return book;
}
const written = (pages, text) =>
  text.replace(/[\uf780-\uf7ff]/g, (one) => pages[2][one.charCodeAt(0) - 0xf780]);
function lettered(told) {
  const names = {};
  for (const one of told.split(",")) {
    const [, level, name] = /^([ci]\d+)(.*)$/.exec(one);
    names[level] = name;
  }
  return names;
}
function filled(pages, place, names) {
  return written(pages, pages[0][place]).replace(/@(\d+);|#([ci]\d+);/g, (_, inner, level) =>
    inner === undefined ? `<mi>${names[level] ?? level}</mi>` : filled(pages, inner, names));
}
function term(pages, one) {
  const [place, names] = Array.isArray(one) ? [one[0], lettered(written(pages, pages[0][one[1]]))] : [one, {}];
  return filled(pages, place, names);
}
const math = (inside) => `<math displaystyle="true">${inside}</math>`;
function side(pages, terms) {
  if (!terms.length) return math("<mn>0</mn>");
  return terms.map((one, k) => {
    const text = term(pages, one);
    const minus = /^(<mrow>)?<mo>\u2212<\/mo>/.test(text);
    return math(k && !minus ? `<mo form="infix">+</mo>${text}` : text);
  }).join(" ");
}
function ordered(pages, start) {
  const numbers = new Map(), left = [start];
  while (left.length) {
    const at = left[left.length - 1];
    const missing = pages[1][at][4].map((use) => use[0]).filter((one) => !numbers.has(one));
    if (missing.length) left.push(...missing);
    else { left.pop(); if (!numbers.has(at)) numbers.set(at, numbers.size + 1); }
  }
  return numbers;
}
function step(pages, at, numbers) {
  const [rule, equal, low, high, uses, squares, given, assumed] = pages[1][at];
  const see = (one) => `<button type="button" data-step="${numbers.get(one)}">`
    + `(${numbers.get(one)})</button>`;
  const times = (factor) => {
    const text = term(pages, factor);
    return text === "<mn>1</mn>" ? "" : `${math(text)} \u00d7 `;
  };
  const told = uses.filter((use) => use[1] !== -1)
    .map(([one, factor]) => (factor === 0 ? "" : times(factor)) + see(one));
  told.push(...squares.map(([weight, square]) => times(weight) + math(term(pages, square))));
  const how = [told.join(" + ")];
  const formula = (one) => (typeof one === "string" ? written(pages, one) : math(term(pages, one)));
  how.push(given.map(([name, value]) =>
    `${formula(name)} = ${formula(value)}`).join(", "));
  const signs = uses.filter((use) => use[1] === -1).map((use) => see(use[0]));
  if (signs.length) how.push(`signs by ${signs.join(", ")}`);
  if (assumed.length) how.push(`assuming ${assumed.map(formula).join("; ")}`);
  const because = how.filter(Boolean).join("; ");
  return `<li><span class="number">(${numbers.get(at)})</span>${side(pages, low)} `
    + `<math><mo form="infix">${equal ? "=" : "\u2264"}</mo></math> ${side(pages, high)}`
    + `<span class="how"><a href="#rule:${rule}">${rule}</a>${because && ": "}${because}`
    + "</span></li>";
}
async function write(steps, start) {
  const pages = await unpacked();
  const numbers = ordered(pages, start);
  const list = document.createElement("ol");
  list.innerHTML = [...numbers.keys()].map((at) => step(pages, at, numbers)).join("");
  steps.append(list);
}
addEventListener("click", (event) => {
  const number = event.target.closest?.("button[data-step]")?.dataset.step;
  if (!number) return;
  const list = event.target.closest("ol");
  for (const one of all(".told", list)) one.classList.remove("told");
  const line = list.children[number - 1];
  line.classList.add("told");
  line.scrollIntoView({ block: "nearest" });
});
async function fill(place) {
  const gaps = all("[data-f]", place);
  if (!gaps.length) return;
  const pages = await unpacked();
  for (const gap of gaps) {
    if (!("f" in gap.dataset)) continue;
    gap.innerHTML = filled(pages, gap.dataset.f, {});
    delete gap.dataset.f;
  }
}
for (const entry of entries) {
  fill(entry.firstElementChild);
  entry.addEventListener("toggle", () => { if (entry.open) fill(entry); });
  if (entry.open) fill(entry);
}
for (const place of all("[data-root]")) {
  const steps = document.createElement("details");
  steps.className = "steps";
  steps.innerHTML = "<summary>every step of the kernel, with multipliers and squares</summary>";
  steps.addEventListener("toggle", () => {
    if (steps.open && steps.childElementCount === 1) write(steps, Number(place.dataset.root));
  });
  place.append(steps);
}

if (matchMedia("(max-width: 60rem)").matches) document.querySelector(".menu").open = false;
below();
filter();
follow();
