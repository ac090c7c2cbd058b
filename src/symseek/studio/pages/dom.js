// Elements made in one call. Text goes in as text nodes only, so that no name can become markup.

const SVG = "http://www.w3.org/2000/svg";
const MATH = "http://www.w3.org/1998/Math/MathML";

/** An HTML element. `on...` are listeners, true is an empty attribute, and null is left out. */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/** A button that does something when it is pressed. */
export function button(words, press, attributes = {}) {
  return el("button", { type: "button", onclick: press, ...attributes }, words);
}

/** A box of a class, with what is in it. */
export function box(kind, ...children) {
  return el("div", { class: kind }, children);
}

/** A box that can be scrolled by keys as well; `words` say what is in it. */
export function scrollBox(words, kind, ...children) {
  const attributes = { class: kind, tabindex: "0", role: "group", "aria-label": words };
  return el("div", attributes, children);
}

/** A sentence in the background. */
export function muted(words, attributes = {}) {
  return el("p", { class: "muted", ...attributes }, words);
}

/** The head of a table. */
export function headRow(names) {
  return el("thead", {}, el("tr", {}, names.map((name) => el("th", { scope: "col" }, name))));
}

/** The same for SVG. */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  append(node, children);
  return node;
}

function append(node, children) {
  for (const child of children.flat(Infinity)) {
    if (child !== null && child !== undefined && child !== false) node.append(child);
  }
}

/** Put these in place of what the element holds. */
export function fill(node, ...children) {
  node.replaceChildren();
  append(node, children);
  return node;
}

/** Change a text, and touch the page only if it is another one. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function setHidden(node, hidden) {
  if (node.hidden !== hidden) node.hidden = hidden;
}

/**
 * A typeset formula from the server's MathML, or its text where that is not plain MathML:
 * nothing but elements of MathML gets into the page, and none of their attributes runs anything.
 */
export function typeset(markup, text) {
  const parsed = new DOMParser().parseFromString(markup ?? "", "text/html").body.firstElementChild;
  const nodes = parsed ? [parsed, ...parsed.querySelectorAll("*")] : [];
  if (parsed?.localName !== "math" || !nodes.every(harmless)) return el("code", {}, text);
  const math = document.importNode(parsed, true);
  math.setAttribute("aria-label", text);
  return math;
}

function harmless(node) {
  const runs = (name) => /^(on.*|.*href|style|src)$/i.test(name);
  return node.namespaceURI === MATH && !node.getAttributeNames().some(runs);
}

/** Say a sentence to those who listen to the page. */
export function announce(sentence) {
  setText(document.getElementById("announcer"), sentence);
}

let made = 0;

/** An id that no other element has, to tie a label to its control. */
export function newId(word) {
  made += 1;
  return `${word}-${made}`;
}
