"""The page around a report: its style, and what it may load.

A page is one file that opens anywhere. Pictures are in it, there is no script unless the page asks
for one of its own, and its policy lets the browser load nothing from the network and run nothing
else, whatever the page contains.
"""

from __future__ import annotations

import base64
import hashlib

from symseek.notation.mathml import escaped

__all__ = ["document"]

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"

STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --muted: #59636e; --paper: #fff;
  --card: #f6f8fa; --line: #d1d9e0; --mark: #d55e00; --picked: #fdf1e8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e6e6; --muted: #9da7b1; --paper: #14171a; --card: #1e2226; --line: #3a4148;
    --mark: #ff8a3d; --picked: #33261c; }
}
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: var(--paper);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 2rem 1.25rem 4rem; }
h1 { font-size: 1.8rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.3rem; margin: 2.75rem 0 .75rem; }
h3 { font-size: 1.05rem; margin: 2rem 0 .5rem; }
h1, h2, h3, td, code { overflow-wrap: anywhere; }
.muted, figcaption, footer { color: var(--muted); }
.formula { background: var(--card); border-left: 4px solid var(--mark); border-radius: 4px;
  padding: 1.1rem 1.25rem; margin: 1.25rem 0; }
.formula .typeset { font-size: 1.7rem; overflow-x: auto; overflow-y: hidden; padding: .2rem 0; }
math { font-weight: inherit; }
mfrac > :first-child { padding-bottom: .12em; }
mfrac > :last-child { padding-top: .12em; }
code { font: .85em ui-monospace, SFMono-Regular, Consolas, "Liberation Mono", monospace; }
.copy { user-select: all; }
pre { background: var(--card); border-radius: 4px; padding: .75rem 1rem; white-space: pre-wrap; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; }
th, td { padding: .35rem .8rem; border-bottom: 1px solid var(--line); text-align: left;
  vertical-align: top; }
th { font-weight: 600; }
.front { width: 100%; }
.front .number { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.front .text { min-width: 22rem; }
.front td:first-child { padding: .35rem .2rem; }
.front .text code { display: block; color: var(--muted); font-weight: normal; margin-top: .45rem; }
.front .picked { background: var(--picked); font-weight: 600; }
.figures { display: grid; gap: 1.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(30rem, 100%), 1fr)); }
figure { margin: 0; }
figure > svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--ink); font-family: inherit; }
svg .grid { stroke: var(--line); stroke-width: .7; fill: none; }
svg .frame { stroke: var(--muted); stroke-width: .9; fill: none; }
figcaption { font-size: .9rem; margin-top: .4rem; }
footer { margin-top: 3rem; font-size: .9rem; }
@media print { figure, .formula, tr { break-inside: avoid; } }
"""


def document(title: str, body: str, style: str = "", script: str = "") -> str:
    """The text of an HTML document; the title is plain text and the body is markup.

    A script, where there is one, is the only one that the page's policy lets run.
    """
    policy = POLICY
    if script:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy += f"; script-src 'sha256-{digest}'"
    scripted = f"<script>{script}</script>\n" if script else ""
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<title>{escaped(title)}</title>
<style>{STYLE}{style}</style>
</head>
<body>
<main>
{body}
</main>
{scripted}</body>
</html>
"""
