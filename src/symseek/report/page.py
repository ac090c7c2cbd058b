"""The page around a report: its style, which is `page.css`, and what it may load.

A page is one file that opens anywhere. Pictures are in it, there is no script unless the page asks
for one of its own, and its policy lets the browser load nothing from the network and run nothing
else, whatever the page contains.
"""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path

from symseek.notation.mathml import escaped

_STYLE = Path(__file__).with_name("page.css")
POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'"


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
<style>
{_STYLE.read_text("utf-8")}{style}</style>
</head>
<body>
<main>
{body}
</main>
{scripted}</body>
</html>
"""
