// What the states of a run are called, and which of them are alike.

import { ended } from "./text.js";

export const SHORT = {
  starting: "starting",
  searching: "searching",
  finishing: "searching",
  pausing: "pausing",
  stopping: "stopping",
  paused: "paused",
  stopped: "stopped",
  finished: "finished",
  died: "died",
  damaged: "damaged",
};

const SENTENCES = {
  starting: "Starting the search.",
  searching: "Searching.",
  finishing: "Making the last numbers neat.",
  pausing: "Pausing: what is under way is being finished and written.",
  stopping: "Stopping: what is under way is being finished and written.",
  paused: "Paused. Everything found so far is kept.",
  stopped: "Stopped. Everything found so far is kept.",
};

/** Whether a search is at work. */
export function isBusy(status) {
  return ["starting", "searching", "finishing", "pausing", "stopping"].includes(status);
}

/** The state of a run in one sentence, or two. */
export function statusSentence({ status, why, error }) {
  if (status === "finished") return because("Finished", why);
  if (status === "died") return `${because("The search died", why)} Resume it to continue.`;
  if (status === "damaged") return because("This run cannot be read", error ?? why);
  return SENTENCES[status] ?? status;
}

function because(what, why) {
  return ended(why ? `${what}: ${why}` : what);
}
