"""The guard in front of everything: only the page that this server gave out may talk to it.

A page of any other site runs in the same browser and can reach this machine, so every request must
name this server as its host, come from its own page, and lie below the random token in the address.
What does not is refused in one sentence, before anything else looks at it. A browser may come to
the page itself from elsewhere, as from the file that `symseek studio` opens in it, if it knows the
token; where it came from learns nothing of the answer.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterable

from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from symseek.studio.answers import Answer, Refused

MOST_TABLE = 64 << 20  # bytes of a table
MOST_JSON = 1 << 20  # bytes of anything else

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
    " connect-src 'self'; font-src 'self'; form-action 'none'; base-uri 'none';"
    " frame-ancestors 'none'"
)
REPORT_POLICY = (  # a report has its style inside, and no script
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; form-action 'none';"
    " base-uri 'none'; frame-ancestors 'none'; sandbox"
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Guard:
    """An ASGI layer that lets through only what may pass, without the token in its path."""

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self.app = app
        self.token = token.encode()
        hosts = [f"127.0.0.1:{port}", f"localhost:{port}"]
        self.hosts = frozenset([*hosts, *(["127.0.0.1", "localhost"] if port == 80 else [])])
        self.origins = frozenset(f"http://{host}" for host in self.hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or hand it on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            answer = self._checked(scope)
        except Refused as refused:
            answer = Answer({"error": str(refused)}, refused.status)
        if answer is not None:
            await answer(scope, receive, send_with_headers)
        else:
            await self.app(scope, receive, send_with_headers)

    def _checked(self, scope: Scope) -> Response | None:
        """Take the token off the path; a refusal is raised, and a redirection given back."""
        method = scope["method"]
        if _values(scope, b"host") not in [[host] for host in self.hosts]:
            raise Refused(403, "this server answers only under the address that it printed")
        origins, sites = _values(scope, b"origin"), _values(scope, b"sec-fetch-site")
        first, slash, rest = scope["path"].removeprefix("/").partition("/")
        own = _OWN_SITES.issuperset(sites) or (not rest and _opens_page(scope))
        if not self.origins.issuperset(origins) or not own:
            raise Refused(403, "another site may not talk to this server")
        if not secrets.compare_digest(first.encode(errors="replace"), self.token):
            raise Refused(403, "open the address that `symseek studio` printed, all of it")
        if method not in ("GET", "POST"):
            raise Refused(405, f"{method} is not used here")
        if method == "POST" and not origins and sites != ["same-origin"]:
            raise Refused(403, "such a request must say which page it comes from")
        if not slash:
            return RedirectResponse(f"/{first}/")
        scope["path"], scope["raw_path"] = f"/{rest}", f"/{rest}".encode()
        return None


_OWN_SITES = frozenset(["same-origin", "none"])


def _opens_page(scope: Scope) -> bool:
    """Whether a browser shows the answer in a tab, and no page gets it."""
    kind = [_values(scope, name) for name in (b"sec-fetch-mode", b"sec-fetch-dest")]
    return scope["method"] == "GET" and kind == [["navigate"], ["document"]]


def _values(scope: Scope, name: bytes) -> list[str]:
    """Every value that a header is given, of which there should be one at most."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return [value.decode("latin-1") for key, value in headers if key.lower() == name]


async def read_body(request: Request, most: int, what: str) -> bytes:
    """The body of a request; one that is too large is refused while it is read.

    What follows is read and dropped for a while: a browser that is cut off in the middle of sending
    does not look at the answer.
    """
    sizes = [each for each in _values(request.scope, b"content-length") if each.isdecimal()]
    large = any(len(each) > 15 or int(each) > most for each in sizes)
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        large = large or size > most
        if large:
            parts.clear()
            if size > 2 * most:
                break
        else:
            parts.append(part)
    if large:
        limit = f"{most >> 20} MiB"
        raise Refused(413, f"{what} is larger than {limit}, which is the most that is taken here")
    return b"".join(parts)
