"""The guard of the studio: what must not pass is refused, and the studio continues answering."""

from __future__ import annotations

import random
import socket
from collections import Counter
from collections.abc import Iterator

import httpx
import pytest

from run_helpers import write_table
from studio_helpers import Served, serving, wait_for
from symseek.studio import guard

HEADERS = {
    "content-security-policy": guard.POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One studio for all of these: whatever it is sent, it continues."""
    folder = tmp_path_factory.mktemp("guarded")
    write_table(folder / "data.csv")
    with serving(folder) as served:
        yield served
        assert still_answers(served)


def answered(served: Served, path: str, method: str = "GET", **headers: str) -> httpx.Response:
    """The answer to a request with just these headers."""
    return httpx.request(method, f"{served.origin}/{path}", headers=headers)


def still_answers(served: Served) -> bool:
    return bool(served.get("api/state")["tables"] == ["data.csv"])


def test_the_address_with_the_token_answers_and_nothing_else_does(studio: Served) -> None:
    token = studio.server.token
    assert answered(studio, f"{token}/api/state").status_code == 200
    wrong = ["", "api/state", "x/api/state", f"{token}x/api/state", f"{token[:-1]}/api/state"]
    wrong += [f"{token.swapcase()}/", f"x/../{token[1:]}/", "%00/", "é/api/state", f"/{token}/"]
    for path in wrong:
        refused = answered(studio, path)
        assert refused.status_code == 403, path
        assert refused.json() == {
            "error": "open the address that `symseek studio` printed, all of it"
        }


def test_the_address_without_its_last_stroke_leads_to_the_page(studio: Served) -> None:
    refused = answered(studio, studio.server.token)
    assert (refused.status_code, refused.headers["location"]) == (307, f"/{studio.server.token}/")


@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1", "localhost:1", "127.0.0.1.evil:80"])
def test_another_host_is_refused(studio: Served, host: str) -> None:
    refused = answered(studio, f"{studio.server.token}/api/state", Host=host)
    assert refused.status_code == 403
    assert "printed" in refused.json()["error"]


def test_localhost_is_this_machine_too(studio: Served) -> None:
    host = f"localhost:{studio.server.port}"
    assert answered(studio, f"{studio.server.token}/api/state", Host=host).status_code == 200


@pytest.mark.parametrize("method", ["GET", "POST"])
@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "https://127.0.0.1:1"},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_site_is_refused(studio: Served, method: str, headers: dict[str, str]) -> None:
    refused = answered(studio, f"{studio.server.token}/api/state", method, **headers)
    assert refused.status_code == 403
    assert refused.json() == {"error": "another site may not talk to this server"}


OPENING = {"Sec-Fetch-Mode": "navigate", "Sec-Fetch-Dest": "document"}


def test_a_browser_may_come_from_elsewhere_to_the_page_alone(studio: Served) -> None:
    """As from the file that the command opens; it must know the token, and shows what it gets."""
    come = {**OPENING, "Sec-Fetch-Site": "cross-site"}
    token = studio.server.token
    assert answered(studio, f"{token}/", **come).status_code == 200
    assert answered(studio, f"{'x' * 32}/", **come).status_code == 403
    assert answered(studio, f"{token}/", **{**come, "Origin": "null"}).status_code == 403
    assert answered(studio, f"{token}/", **{**come, "Sec-Fetch-Mode": "cors"}).status_code == 403
    assert answered(studio, f"{token}/", **{**come, "Sec-Fetch-Dest": "iframe"}).status_code == 403
    assert answered(studio, f"{token}/", "POST", **come).status_code == 403
    for path in ("api/state", "api/events", "app.js"):
        assert answered(studio, f"{token}/{path}", **come).status_code == 403


def test_to_change_something_the_page_must_say_that_it_is_ours(studio: Served) -> None:
    path = f"{studio.server.token}/api/question"
    assert answered(studio, path, "POST").status_code == 403
    assert answered(studio, path, "POST", **{"Sec-Fetch-Site": "none"}).status_code == 403
    assert answered(studio, path, "POST", **{"Sec-Fetch-Site": "same-origin"}).status_code == 400
    assert answered(studio, path, "POST", Origin=studio.origin).status_code == 400


def test_two_hosts_are_none(studio: Served) -> None:
    text = f"GET /{studio.server.token}/api/state HTTP/1.1\r\n"
    text += f"Host: 127.0.0.1:{studio.server.port}\r\nHost: evil.example\r\n\r\n"
    with socket.create_connection(("127.0.0.1", studio.server.port), 10) as raw:
        raw.sendall(text.encode())
        assert b" 40" in raw.recv(100)  # by us, or by who reads the protocol before us


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "HEAD"])
def test_only_two_methods_are_used(studio: Served, method: str) -> None:
    refused = answered(studio, f"{studio.server.token}/api/state", method)
    assert refused.status_code == 405


def test_every_answer_has_the_headers(studio: Served) -> None:
    for path in ("api/state", "nothing", "api/runs/none", "api/events"):
        with studio.client.stream("GET", path) as answer:
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    refused = answered(studio, "wrong/")
    assert {name: refused.headers[name] for name in HEADERS} == HEADERS


def climbing() -> Iterator[str]:
    """Ways out of a folder, as addresses."""
    outside = ["../secret.csv", "..", ".", "/etc/passwd", "..\\secret.csv", "data.csv\0", "a/b.csv"]
    for name in outside:
        quoted = "".join(f"%{byte:02X}" for byte in name.encode())
        yield from (f"api/tables/{quoted}", f"api/runs/{quoted}", f"api/files/{quoted}", quoted)
        yield from (f"api/runs/{quoted}/report", f"charts/{quoted}", f"api/events?run={quoted}")


def test_no_name_leads_out_of_the_folder(studio: Served) -> None:
    (studio.folder.parent / "secret.csv").write_text("a,b\n1,2\n")
    (studio.folder / "link.csv").symlink_to(studio.folder.parent / "secret.csv")
    (studio.folder / "linked-run-1").symlink_to(studio.folder.parent)
    paths = [*climbing(), "api/tables/link.csv", "api/runs/linked-run-1"]
    statuses = Counter(studio.client.get(path).status_code for path in paths)
    assert statuses == {404: len(paths)}
    state = studio.get("api/state")
    assert (state["tables"], state["runs"]) == (["data.csv"], [])
    for name in ("link.csv", "linked-run-1"):
        (studio.folder / name).unlink()


def test_a_table_that_is_too_large_is_refused_while_it_is_read(
    studio: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("symseek.studio.app.MOST_TABLE", 1 << 20)
    whole = b"x" * ((1 << 20) + 1)
    sentence = "the table is larger than 1 MiB, which is the most that is taken here"
    assert studio.refused("api/tables?name=big.csv", whole) == (413, sentence)
    pieces = (b"x" * 10_000 for _ in range(150))  # without a word about how many there are
    answer = studio.client.post("api/tables?name=big.csv", content=pieces)
    assert (answer.status_code, answer.json()) == (413, {"error": sentence})
    assert studio.refused("api/question", b"[" * ((1 << 20) + 1))[0] == 413
    assert [each.name for each in studio.folder.iterdir()] == ["data.csv"]


def test_a_body_without_end_is_cut_off(studio: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("symseek.studio.app.MOST_TABLE", 1 << 16)
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while sent < 1 << 30:
            sent += 1 << 16
            yield b"x" * (1 << 16)

    try:
        answer = studio.client.post("api/tables?name=big.csv", content=endless())
        assert answer.status_code == 413
    except httpx.TransportError:  # the connection was closed before all was sent
        pass
    assert sent < 1 << 28
    assert still_answers(studio)


def junk(draw: random.Random, served: Served) -> httpx.Request:
    """A request that has no business here."""
    token, text = served.server.token, lambda: bytes(draw.choices(range(33, 127), k=20)).decode()
    path = draw.choice(
        [
            text(),
            f"{text()}/api/state",
            f"{token}/api/tables/{text()}",
            f"{token}/api/runs/{text()}/{draw.choice(['pause', 'fit', 'report', text()])}",
            f"{token}/{text()}.js",
            f"{token}/api/question",
            f"{token}/api/runs?{text()}",
        ]
    )
    headers = draw.choice([{}, {"Origin": served.origin}, {"Origin": text()}, {"Host": text()}])
    body = bytes(draw.choices(range(256), k=draw.randrange(200)))
    url = httpx.URL(served.origin).copy_with(raw_path=("/" + path.replace("#", "")).encode())
    return httpx.Request(draw.choice(["POST", "PUT", "GET"]), url, headers=headers, content=body)


def test_a_thousand_junk_requests_are_refused(studio: Served) -> None:
    draw, statuses = random.Random(1), Counter[int]()
    with httpx.Client(timeout=30) as client:
        for _ in range(1000):
            statuses[client.send(junk(draw, studio)).status_code] += 1
    assert statuses.total() == 1000
    assert set(statuses) <= {400, 403, 404, 405}
    assert statuses[403] > 300  # most did not get past the guard
    assert still_answers(studio)
    assert [each.name for each in studio.folder.iterdir()] == ["data.csv"]


def test_what_is_not_http_is_refused(studio: Served) -> None:
    draw = random.Random(2)
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", studio.server.port), 10) as raw:
            raw.sendall(bytes(draw.choices(range(256), k=300)) + b"\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.1 400")
    assert still_answers(studio)


def test_a_tab_that_is_closed_while_it_sends_leaves_no_trace(
    studio: Served, caplog: pytest.LogCaptureFixture
) -> None:
    path = f"/{studio.server.token}/api/tables?name=half.csv"
    host = f"127.0.0.1:{studio.server.port}"
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}"
    server = studio.server.server
    with socket.create_connection(("127.0.0.1", studio.server.port), 60) as tab:
        tab.sendall(f"{head}\r\nContent-Length: 1000\r\n\r\nx,y\n".encode())
        wait_for(lambda: len(server.server_state.tasks), lambda tasks: tasks == 1)
    wait_for(lambda: len(server.server_state.tasks), lambda tasks: tasks == 0)
    assert still_answers(studio)
    assert [each.getMessage() for each in caplog.records] == []
