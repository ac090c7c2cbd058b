// A question as it is being put together. It is kept with the page's history, so that a reload
// does not lose it.

import { remember, remembered } from "./routes.js";

export class Draft {
  constructor(record) {
    // table, target, features (a list), weights, group, delimiter, settings
    Object.assign(this, record);
  }

  /** What a reload finds for this table. */
  static kept(table) {
    const record = remembered("draft");
    return record?.table === table ? record : null;
  }

  /** The draft for a table: handed over, kept, or new. */
  static for(preview, app, delimiter) {
    const given = app.draft?.table === preview.name ? app.draft : null;
    app.draft = null;
    const initial = Draft.initial(preview);
    const settings = changedOnly(given?.settings, app.options);
    const record = given ? { ...initial, ...known(given), settings } : Draft.kept(preview.name);
    const draft = new Draft(record && fits(record, preview) ? record : initial);
    if (delimiter) draft.delimiter = delimiter;
    draft.columns = preview.columns.map((each) => each.name);
    draft.leftOut = preview.columns.filter((each) => each.left_out).map((each) => each.name);
    draft.suggested = preview.suggested_target;
    return draft;
  }

  /** Every quantity but the target is a feature. */
  static initial(preview) {
    const named = preview.columns.filter((each) => each.name !== "" && !each.left_out);
    const usable = named.filter((each) => ["number", "constant"].includes(each.kind));
    return {
      table: preview.name,
      target: preview.suggested_target,
      features: usable.map((each) => each.name),
      weights: null,
      group: null,
      delimiter: null,
      settings: {},
    };
  }

  keep() {
    remember("draft", { ...this });
  }

  /** Whether a column may be in the formula. */
  uses(name) {
    return this.role(name) === "" && this.features.includes(name);
  }

  /** What else a column is for, if anything. */
  role(name) {
    return ["target", "weights", "group"].find((role) => this[role] === name) ?? "";
  }

  use(name, used) {
    const kept = (each) => (each === name ? used : this.features.includes(each));
    this.features = this.columns.filter(kept);
  }

  /** Set a setting, or forget it where it is the usual one. */
  set(name, value, usual) {
    if (JSON.stringify(value) === JSON.stringify(usual)) delete this.settings[name];
    else this.settings[name] = value;
  }

  /** What the server is asked. */
  question() {
    const { table, target, weights, group, delimiter, settings } = this;
    const others = this.columns.filter((name) => this.role(name) === "");
    const features = others.filter((name) => this.features.includes(name));
    // What is left out unless asked for may depend on the target.
    const known = target === this.suggested || this.leftOut.length === 0;
    const usual = others.filter((name) => !this.leftOut.includes(name));
    const asUsual = known && usual.join("\n") === features.join("\n");
    const asked = { table, target, weights, group, delimiter, settings };
    return { ...asked, features: asUsual ? null : features };
  }
}

function known(given) {
  return Object.fromEntries(
    Object.entries(given).filter(([, value]) => value !== undefined && value !== null),
  );
}

function changedOnly(settings, options) {
  const usual = new Map(options.settings.map((each) => [each.name, JSON.stringify(each.default)]));
  const changed = Object.entries(settings ?? {}).filter(
    ([name, value]) => usual.has(name) && usual.get(name) !== JSON.stringify(value),
  );
  return Object.fromEntries(changed);
}

/** Whether the columns of a draft are still there. */
function fits(record, preview) {
  const names = preview.columns.map((each) => each.name);
  const wanted = [record.target, record.weights, record.group, ...record.features];
  return wanted.every((name) => (name ?? null) === null || names.includes(name));
}
