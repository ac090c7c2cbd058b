// Numbers, counts and times as people read them.

const SUPERSCRIPTS = "⁰¹²³⁴⁵⁶⁷⁸⁹";

/** A number in few digits: 0.0123, 1.23×10⁷, – for none; padded, zeros at its end stay. */
export function brief(value, digits = 3, padded = false) {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (value === 0) return "0";
  const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
  const power = Number(exponent);
  const cut = (text) => minus(padded ? text : String(Number(text)));
  if (power < -4 || power >= Math.max(6, digits)) return `${cut(mantissa)}×10${raised(power)}`;
  const rounded = value.toPrecision(digits);
  return power < digits ? cut(rounded) : minus(String(Number(rounded)));
}

function raised(power) {
  return [...String(power)].map((c) => (c === "-" ? "⁻" : SUPERSCRIPTS[Number(c)])).join("");
}

function minus(text) {
  return text.replace("-", "−");
}

/** R² in four digits, never rounded up to 1. */
export function r2Text(r2) {
  if (r2 === null || r2 === undefined) return "–";
  if (r2 > 0.9999 && r2 < 1 - 1e-15) return "> 0.9999";
  const rounded = Number(r2.toFixed(4)) || 0; // what rounds to 0 has no sign
  return Math.abs(r2) < 100 ? minus(rounded.toFixed(4)) : brief(r2);
}

/** 12,000 */
export function whole(number) {
  return number.toLocaleString("en-US", { maximumFractionDigits: 0 });
}

/** 1 row, 12,000 rows */
export function counted(number, noun) {
  return `${whole(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A duration: 4.2 s, 1:15 min, 1:06:40 h. */
export function duration(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const all = Math.round(seconds);
  const [hours, minutes, rest] = [Math.floor(all / 3600), Math.floor(all / 60) % 60, all % 60];
  const two = (n) => String(n).padStart(2, "0");
  return hours ? `${hours}:${two(minutes)}:${two(rest)} h` : `${minutes}:${two(rest)} min`;
}

/** At most so many characters: of a longer text, its beginning and its end. */
export function shortened(text, most) {
  const letters = [...text];
  if (letters.length <= most) return text;
  const tail = Math.floor((most - 1) / 2);
  const ends = [letters.slice(0, most - 1 - tail), letters.slice(letters.length - tail)];
  return ends.map((each) => each.join("")).join("…");
}

/** What a new best error is, beside the best before it. */
export function improvement(before, now) {
  if (before === null || before === undefined) return "the first formula";
  if (!now || now < 1e-12) return "no error is left";
  const times = before / now;
  if (times < 1.9) return `error ${Math.round(100 * (1 - now / before))} % smaller`;
  return times < 2.5 ? "error halved" : `error ${brief(times, 2)} times smaller`;
}

/** A sentence: a full stop at its end, and its first letter large unless it begins with a name. */
export function sentence(text) {
  const word = text.slice(0, Math.max(text.indexOf(" "), 0));
  const plain = word !== "" && [...word].every((each) => each >= "a" && each <= "z");
  return ended(plain ? text.charAt(0).toUpperCase() + text.slice(1) : text);
}

/** With a full stop at the end, unless there is another sign. */
export function ended(text) {
  return [".", "!", "?"].includes(text.slice(-1)) ? text : `${text}.`;
}
