// Where the page is: #/new, #/new/TABLE or #/run/RUN, and what it remembers across a reload.

/** The place that the address names. */
export function place() {
  const [, kind, ...rest] = location.hash.split("/");
  const name = decoded(rest.join("/")) || null;
  if (kind === "run" && name) return { kind, name };
  return { kind: "new", name: kind === "new" ? name : null };
}

function decoded(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

export const newAddress = (table) => (table ? `#/new/${encodeURIComponent(table)}` : "#/new");
export const runAddress = (run) => `#/run/${encodeURIComponent(run)}`;

/** Keep something with this entry of the browser's history; a reload finds it again. */
export function remember(key, value) {
  history.replaceState({ ...history.state, [key]: value }, "");
}

export function remembered(key) {
  return history.state?.[key] ?? null;
}
