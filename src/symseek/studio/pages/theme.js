// Light or dark: as the system has it, until the button says otherwise.

const KEY = "symseek-theme";
const dark = matchMedia("(prefers-color-scheme: dark)");

function stored() {
  try {
    return localStorage.getItem(KEY);
  } catch {
    return null; // storage may be switched off
  }
}

function store(theme) {
  try {
    localStorage.setItem(KEY, theme);
  } catch {
    // then it lasts until the page is closed
  }
}

function current() {
  return document.documentElement.dataset.theme ?? (dark.matches ? "dark" : "light");
}

if (["light", "dark"].includes(stored())) document.documentElement.dataset.theme = stored();

/** Let a button change between light and dark; its words are what it changes to. */
export function bindTheme(button) {
  const label = () => {
    button.textContent = current() === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `${button.textContent} colours`);
  };
  button.addEventListener("click", () => {
    const theme = current() === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = theme;
    store(theme);
    label();
  });
  dark.addEventListener("change", label);
  label();
}
