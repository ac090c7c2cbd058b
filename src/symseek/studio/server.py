"""The server: a socket of this machine alone, from the first request to the last search."""

from __future__ import annotations

import errno
import logging
import secrets
import socket
import sys
import time
from collections.abc import Callable
from types import FrameType

import uvicorn

from symseek.cli.options import shell_words
from symseek.errors import InputError, Setting
from symseek.studio.app import Studio

HOST = "127.0.0.1"
TOKEN = 24  # bytes of chance in the address
_GRACE = 1  # seconds for what is being answered at the end


class Server:
    """A studio that is served under an address of its own."""

    def __init__(self, studio: Studio, port: int = 0) -> None:
        self.studio = studio
        self.socket = _bound(port)
        self.port: int = self.socket.getsockname()[1]
        self.token = secrets.token_urlsafe(TOKEN)
        config = uvicorn.Config(
            studio.app(self.token, self.port),
            log_level="error",
            access_log=False,
            server_header=False,
            ws="none",
            timeout_graceful_shutdown=_GRACE,
        )
        self.server = _Uvicorn(config, studio.events.close)

    @property
    def address(self) -> str:
        """What to open in a browser."""
        return f"http://{HOST}:{self.port}/{self.token}/"

    def run(self) -> None:
        """Serve until Ctrl-C or SIGTERM."""
        self.server.run(sockets=[self.socket])

    def stop(self) -> None:
        """Serve no more; whoever runs the server continues."""
        self.server.handle_exit(0, None)

    def end_searches(self, say: Callable[[str], None]) -> None:
        """Pause the searches that were started here, wait for them, and say how each continues."""
        searches = self.studio.searches
        going = searches.end_all()
        if going:
            say(f"pausing {', '.join(going)}; what was found is kept")
        while searches.tick():
            time.sleep(0.05)
        for run in going:
            path = str(self.studio.workspace.folder / run)
            say(f"{run} is paused; continue: {shell_words(['symseek', 'resume', path])}")


class _Uvicorn(uvicorn.Server):
    """Ends the streams when it is to end; these would keep it waiting."""

    def __init__(self, config: uvicorn.Config, close: Callable[[], None]) -> None:
        super().__init__(config)
        self._close_streams = close

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Take a signal; unlike the parent, do not raise it again afterwards."""
        self.should_exit = True
        # That requests end with the server is no news to the user.
        logging.getLogger("uvicorn.error").setLevel(logging.CRITICAL)
        self._close_streams()


def _bound(port: int) -> socket.socket:
    # Only where the protocol is named does asyncio send small answers at once.
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    if sys.platform != "win32":  # there it would let two servers share a port
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((HOST, port))
        found.listen()  # who comes before the server is up waits a little
    except (OSError, OverflowError) as error:
        found.close()
        if getattr(error, "errno", None) == errno.EADDRINUSE:
            why = "is in use"
        else:
            why = f"cannot be used: {getattr(error, 'strerror', None) or error}"
        field = Setting("port")
        text = f"port {port} {why}; give another with "
        raise InputError(text, field, ", or none for a free one", field=field, value=port) from None
    return found
