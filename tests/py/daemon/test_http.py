# SPDX-License-Identifier: Apache-2.0
"""The live page over TCP: what it shows, what needs the token, and what hostile or broken clients cannot do."""

import contextlib
import http.client
import json
import os
import re
import socket
import stat
import sys
import time

import pytest
from messages import assert_names, raises_naming

import gpushare as gs
from gpushare.daemon.http import http_server
from gpushare.daemon.http.address import Address, address_in
from gpushare.daemon.http.http_server import MOST_BODY_BYTES, MOST_CONNECTIONS, HttpServer, _Handler
from gpushare.daemon.http.site import PAGE
from gpushare.daemon.http.timeline import COLUMNS, timeline
from gpushare.plots.palette import COLOURS

LOCAL = Address("127.0.0.1", 0)


class Client:
    """Sends one request per connection."""

    def __init__(self, page, path):
        self.page, self.port, self.socket = page, page.address.port, path
        self.token_file = path.with_name(f"{path.name}.token")

    def ask(self, path, method="GET", body=None, token=False, **headers):
        """Status, headers and body of the answer."""
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if token:
            given["Authorization"] = f"Bearer {self.token_file.read_text().strip() if token is True else token}"
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request(method, path, body, given)
            answer = connection.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()
        finally:
            connection.close()

    def json(self, path, expected=200, **options):
        status, _, body = self.ask(path, **options)
        assert status == expected, body
        return json.loads(body)

    def change(self, path, values, expected=200, token=True, **headers):
        content = {"Content_Type": "application/json"} | headers
        return self.json(path, expected, method="POST", body=json.dumps(values), token=token, **content)

    def raw(self, data):
        """All that the server answers to these bytes."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as connection:
            connection.sendall(data)
            return read_all(connection)


def read_all(connection):
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:  # it was closed before all that was sent had been read
        pass
    return b"".join(parts)


@contextlib.contextmanager
def started(path):
    """The page of the server at this socket, as a client sees it."""
    page = HttpServer(LOCAL, path, ["sim:h100"])
    page.start()
    yield Client(page, path)
    page.close()


@pytest.fixture(scope="module")
def client(server):
    """A page that the tests of this file share."""
    with started(server) as client:
        yield client


@pytest.fixture
def supervisor(serve):
    return serve()


@pytest.fixture
def own(supervisor, folder):
    """A page of the test's own, whose server it may end."""
    with started(folder / "socket") as client:
        yield client


@contextlib.contextmanager
def working(path, run):
    """The name of an application that has ended a job and runs another."""
    with gs.connect(path) as session:
        application = session.application("alice")
        run(application, "sleep", 0.01).result(30)
        run(application, "sleep", 60)
        yield next(each["name"] for each in session.status()["applications"])


@pytest.fixture
def alice(server, run, client, eventually):
    with working(server, run) as name:
        yield name
    eventually(lambda: not client.json("/api/status")["status"]["applications"])


@pytest.fixture
def own_alice(supervisor, folder, run):
    with working(folder / "socket", run) as name:
        yield name


def application_of(found):
    (application,) = found["status"]["applications"]
    return application


# ---- what it shows


def test_the_page_loads_nothing_from_elsewhere_and_has_no_code_in_its_text(client):
    status, headers, html = client.ask("/")
    assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert set(re.findall(rb'(?:src|href)="([^"]*)"', html)) == {b"page.js", b"page.css", b"data:,"}
    assert not re.search(rb"<style|<script>|\sstyle=|\son\w+=", html)
    for name in ("page.js", "page.css"):
        status, _, body = client.ask(f"/{name}")
        assert status == 200
        assert body == PAGE.joinpath(name).read_bytes()
        assert not re.search(rb"https?://|@import", body)


def test_its_colours_are_those_of_plots():
    script = PAGE.joinpath("page.js").read_text()
    assert re.findall(r'"(#[0-9A-F]{6})"', script) == COLOURS


def test_the_status_is_that_of_the_command(client, alice, eventually):
    eventually(lambda: application_of(client.json("/api/status"))["state"] == "running")
    found = client.json("/api/status")
    with gs.connect(client.socket) as session:
        known = next(iter(session.status()["applications"]))
    assert (found["device"], found["devices"], found["error"]) == ("sim:h100", ["sim:h100"], None)
    assert found["status"]["sms"] == 132
    assert application_of(found).keys() == known.keys()
    assert (application_of(found)["name"], application_of(found)["ended_jobs"]) == (alice, 1)
    assert found["age_s"] < 5


def test_many_pages_cost_the_worker_two_requests_per_second(client, alice, monkeypatch):
    asked = []
    status = gs.daemon.client.session.DaemonSession.status
    monkeypatch.setattr(
        gs.daemon.client.session.DaemonSession, "status", lambda self: asked.append(time.monotonic()) or status(self)
    )
    began = time.monotonic()
    for _ in range(30):
        client.json("/api/status")
    assert len(asked) <= 2 * (time.monotonic() - began) + 2


def test_metrics(client, alice, eventually):
    pytest.importorskip("prometheus_client")
    status, headers, body = client.ask("/metrics")
    assert (status, headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    lines = body.decode().splitlines()
    assert 'gpushare_up{device="sim:h100"} 1.0' in lines
    assert any(line.startswith('gpushare_unfinished_jobs{application="alice",device="sim:h100"') for line in lines)


def test_metrics_without_prometheus_client_say_what_to_install(client, monkeypatch):
    monkeypatch.setitem(sys.modules, "prometheus_client.core", None)
    assert_names(client.json("/metrics", 400)["error"], "prometheus_client", "gpushare-scheduler[daemon]")


def test_the_timeline_has_what_ran(own, own_alice):
    found = own.json("/api/timeline?device=sim:h100&seconds=5", token=True)
    assert [each["name"] for each in found["applications"]] == [own_alice]
    assert len(found["applications"][0]["held"]) == COLUMNS
    assert 0 < max(found["applications"][0]["held"]) <= 1
    assert [kernel for _, kernel, _, _ in found["jobs"]] == ["sleep", "sleep"]
    assert all(0 <= begin <= end <= 5.1 for _, _, begin, end in found["jobs"])


class Past:
    """In the last second: a holds four SMs for a quarter of it, b all."""

    now_ns = 2_000_000_000

    def holds(self):
        return {"application": ["a", "a", "b"], "sms": [4, 0, 132], "time_ns": [1_250_000_000, 1_500_000_000, 0]}

    def operations(self):
        columns = [("a", "k", 1_250_000_000, 1_500_000_000), ("a", "old", 5, 10), ("a", "waits", None, 2_000_000_000)]
        return dict(zip(("application", "kernel", "began_ns", "end_ns"), zip(*columns, strict=True), strict=True))

    def quotas(self):
        columns = [("b", "8 on 0-65", 0, 1_500_000_000), ("a", "2", 0, 900_000_000)]
        return dict(zip(("application", "quota", "begin_ns", "end_ns"), zip(*columns, strict=True), strict=True))


def test_a_timeline_is_the_mean_of_each_interval():
    found = timeline(Past(), 1.0)
    a, b = found["applications"]
    quarter = COLUMNS // 4
    assert a["held"] == [0] * quarter + [4] * quarter + [0] * (2 * quarter)
    assert b["held"] == [132] * COLUMNS
    assert found["jobs"] == [[0, "k", 0.25, 0.5]]
    assert found["quotas"] == [[1, "8 on 0-65", 0, 0.5]]
    assert found["left_out"] == 0


# ---- what is permitted


def test_reading_needs_no_token_and_the_page_learns_whether_it_may_change(client):
    assert not client.json("/api/status")["may_change"]
    assert not client.json("/api/status", token="wrong")["may_change"]
    assert not client.json("/api/status", token="ü")["may_change"]
    assert client.json("/api/status", token=True)["may_change"]


@pytest.mark.parametrize("token", [False, "wrong", ""])
@pytest.mark.parametrize("path", ["/api/policy", "/api/priority"])
def test_changes_need_the_token(client, alice, path, token):
    values = {"device": "sim:h100", "policy": "fifo", "application": alice, "priority": 3}
    assert_names(client.change(path, values, 403, token)["error"], client.token_file)
    with gs.connect(client.socket) as session:
        assert session.policy == "srtf"


def test_the_timeline_needs_the_token(client):
    client.json("/api/timeline?device=sim:h100&seconds=5", 403)


def test_policy_and_priority_are_set(own, own_alice, folder):
    assert own.change("/api/policy", {"device": "sim:h100", "policy": "fifo"}) == {"policy": "fifo"}
    changed = own.change("/api/priority", {"device": "sim:h100", "application": "alice", "priority": 3})
    assert changed == {"application": own_alice, "priority": 3}
    with gs.connect(folder / "socket") as session:
        assert session.policy == "fifo"
        assert session.status().applications[0].priority == 3


@pytest.mark.parametrize("host", ["127.0.0.1:9400", "localhost", "localhost:1", "[::1]:9400", "10.0.0.7", "LOCALHOST"])
def test_addresses_may_call_it(client, host):
    client.json("/api/status", Host=host)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:9400", "localhost.evil.example", "", "[::1", "a:b:c", "[]"]
)
def test_a_name_of_another_site_may_not(client, host):
    """A browser that has been told that evil.example is 127.0.0.1 sends it."""
    client.json("/api/status", 421, Host=host)
    client.change("/api/policy", {"device": "sim:h100", "policy": "fifo"}, 421, Host=host)


def test_without_a_host_nothing_is_told(client):
    assert b" 421 " in client.raw(b"GET /api/status HTTP/1.0\r\n\r\n")


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:1", "http://["])
def test_other_sites_pages_cannot_change_even_with_the_token(client, origin):
    client.change("/api/policy", {"device": "sim:h100", "policy": "fifo"}, 403, Origin=origin)


def test_its_own_page_is_of_its_origin(client):
    own = f"127.0.0.1:{client.port}"
    client.change("/api/policy", {"device": "sim:h100", "policy": "srtf"}, Origin=f"http://{own}", Host=own)


def test_no_other_site_may_read(client):
    _, headers, _ = client.ask("/api/status", Origin=f"http://127.0.0.1:{client.port}")
    assert not [name for name in headers if name.lower().startswith("access-control")]
    assert headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_the_token_is_in_a_file_that_only_the_user_reads(own):
    file = own.token_file
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_text().strip()) >= 32
    own.page.close()
    assert not file.exists()


def test_a_file_in_the_tokens_place_is_not_written_through(serve, folder):
    serve()
    (folder / "victim").write_text("mine")
    (folder / "socket.token").symlink_to(folder / "victim")
    page = HttpServer(LOCAL, folder / "socket", ["sim:h100"])
    assert (folder / "victim").read_text() == "mine"
    page.close()


def test_a_token_that_cannot_be_written_is_an_error(folder):
    (folder / "socket.token").mkdir()
    with raises_naming(gs.InvalidInput, folder / "socket.token"):
        HttpServer(LOCAL, folder / "socket", ["sim:h100"])


# ---- bad input


@pytest.mark.parametrize(
    ("path", "values", "named"),
    [
        ("/api/policy", {"device": "sim:h100", "policy": "fifi"}, ("fifi", "fifo")),
        ("/api/policy", {"device": "sim:k20", "policy": "fifo"}, ("sim:k20", "sim:h100")),
        ("/api/policy", {"device": "sim:h100"}, ("policy",)),
        ("/api/policy", {"device": "sim:h100", "policy": "fifo", "more": 1}, ("more",)),
        ("/api/policy", ["fifo"], ()),
        ("/api/priority", {"device": "sim:h100", "application": "none", "priority": 3}, ("none",)),
        ("/api/priority", {"device": "sim:h100", "application": "a", "priority": "high"}, ("priority",)),
        ("/api/priority", {"device": "sim:h100", "application": "a", "priority": 10**12}, ("priority",)),
    ],
)
def test_changes_that_are_wrong_are_explained(client, path, values, named):
    assert_names(client.change(path, values, 400)["error"], *named)


@pytest.mark.parametrize("body", [b"{", b"\xff", b"[" * 4000])
def test_a_body_that_is_no_json(client, body):
    client.json("/api/policy", 400, method="POST", body=body, token=True, Content_Type="application/json")


def test_a_form_of_another_site_is_refused(client):
    client.change("/api/policy", {"device": "sim:h100", "policy": "fifo"}, 415, Content_Type="text/plain")


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("device=sim:k20&seconds=5", 400),
        ("device=sim:h100&seconds=x", 400),
        ("device=sim:h100&seconds=nan", 400),
        ("device=sim:h100&seconds=1e9", 400),
        ("seconds=5", 400),
        ("&".join(f"a{number}=1" for number in range(99)), 400),
    ],
)
def test_queries_that_are_wrong(client, query, status):
    client.json(f"/api/timeline?{query}", status, token=True)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/none", 404),
        ("GET", "/../socket.token", 404),
        ("GET", "/page/index.html", 404),
        ("GET", "//evil.example/", 404),
        ("GET", "/api/policy", 405),
        ("POST", "/", 405),
        ("PUT", "/", 501),
        ("OPTIONS", "/api/policy", 501),
    ],
)
def test_paths_and_methods_that_are_not_there(client, method, path, status):
    assert client.ask(path, method)[0] == status


def test_head_has_no_body(client):
    status, headers, body = client.ask("/", "HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) == len(PAGE.joinpath("index.html").read_bytes())


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"POST /api/policy HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\n\r\n" % (MOST_BODY_BYTES + 1), 413),
        (b"POST /api/policy HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999999999999\r\n\r\n", 413),
        (b"POST /api/policy HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n", 411),
        (b"POST /api/policy HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n", 414),
        (b"GET / HTTP/1.1\r\nHost: localhost\r\n" + b"A: b\r\n" * 200 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\nHost: " + b"a" * 70_000 + b"\r\n\r\n", 431),
        (b"\x16\x03\x01 nonsense\r\n\r\n", 400),
    ],
)
def test_requests_that_are_too_large_or_no_http(client, request_bytes, status):
    assert b"%d" % status in client.raw(request_bytes).split(b"\r\n")[0]
    client.json("/api/status")


def test_a_silent_client_is_dropped(client, monkeypatch):
    monkeypatch.setattr(_Handler, "timeout", 0.2)
    assert client.raw(b"GET / HT") == b""


def test_a_client_that_sends_byte_by_byte_is_dropped(client, monkeypatch):
    monkeypatch.setattr(http_server, "LONGEST_CONNECTION_S", 0.5)
    began = time.monotonic()
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as connection:

        def send_slowly():
            while time.monotonic() - began < 30:
                connection.sendall(b"a")
                time.sleep(0.05)

        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            send_slowly()
    assert time.monotonic() - began < 20


def test_a_client_that_does_not_read_delays_no_other(client):
    with socket.create_connection(("127.0.0.1", client.port)) as lazy:
        lazy.sendall(b"GET /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n")
        client.json("/api/status")


def test_connections_are_limited_and_places_return(client, eventually):
    idle = [socket.create_connection(("127.0.0.1", client.port), timeout=30) for _ in range(MOST_CONNECTIONS)]
    with socket.create_connection(("127.0.0.1", client.port), timeout=30) as further:
        assert read_all(further) == b""
    for each in idle:
        each.close()

    def is_served():
        try:
            return client.ask("/")[0] == 200
        except OSError:
            return False

    eventually(is_served)


@pytest.mark.parametrize(
    "text", ["", "x", "70000", ":9400", "host:", "a b:1", "::1:9400", "[zz]:1", "1:2:3", "http://a:1"]
)
def test_addresses_that_are_none(text):
    with pytest.raises(gs.InvalidInput):
        address_in(text)


def test_a_port_in_use_is_an_error(folder):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with raises_naming(gs.InvalidInput, port, "Address already in use"):
            HttpServer(Address("127.0.0.1", port), folder / "socket", ["sim:h100"])
    assert not (folder / "socket.token").exists()


def test_a_host_that_is_not_here(folder):
    with raises_naming(gs.InvalidInput, "203.0.113.1:9400"):
        HttpServer(Address("203.0.113.1", 9400), folder / "socket", ["sim:h100"])


def test_the_command_refuses_it_before_a_worker_starts(call, folder):
    assert_names(call("serve", "--socket", str(folder / "socket"), "--http", "x", code=2).stderr, "http", "x")


# ---- ends


def test_after_the_servers_end_the_last_state_is_shown_with_its_age(own, own_alice, supervisor):
    own.json("/api/status")
    supervisor.close()

    def found():
        return own.json("/api/status")

    deadline = time.monotonic() + 30
    while found()["error"] is None:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    last = found()
    assert application_of(last)["name"] == own_alice
    assert last["age_s"] > 0
    own.change("/api/policy", {"device": "sim:h100", "policy": "fifo"}, 503)


def test_metrics_of_a_server_that_has_ended(own, supervisor):
    pytest.importorskip("prometheus_client")
    supervisor.close()
    assert b'gpushare_up{device="sim:h100"} 0.0' in own.ask("/metrics")[2]


def test_another_worker_is_shown_as_the_last_one_was(own, supervisor, eventually):
    before = own.json("/api/status")["status"]["started_s"]
    os.kill(supervisor.workers["sim:h100"].pid, 9)
    eventually(lambda: own.json("/api/status")["status"]["started_s"] != before)


def test_an_unwatched_page_is_no_client(own, folder):
    with gs.connect(folder / "socket") as session:
        assert len(session.status()["clients"]) == 1


# ---- in a browser


def test_in_a_browser(browser, own, own_alice):
    """Light and dark, wide and narrow; by keyboard; and the page says that the server has ended."""
    said = []
    for width, scheme in ((1280, "light"), (375, "dark")):
        tab = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme).new_page()
        tab.on("console", lambda message: said.append(message.text))
        tab.on("pageerror", lambda error: said.append(str(error)))
        tab.goto(f"http://127.0.0.1:{own.port}/")
        tab.wait_for_selector(f"#applications tbody th:has-text('{own_alice}')")
        assert tab.evaluate("document.documentElement.scrollWidth") <= width
        assert tab.inner_text("#connection") == "live"
    assert said == []
    tab.focus("#token")
    tab.keyboard.type(own.token_file.read_text().strip())
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#new-policy")
    tab.focus("#new-policy")
    tab.keyboard.type("fifo")
    tab.keyboard.press("Enter")
    tab.wait_for_selector("#policy:has-text('fifo')")
    tab.wait_for_selector("#timeline")
    assert said == []
    own.page.close()
    tab.wait_for_selector("#problem:has-text('has ended')")
    assert tab.inner_text("#connection") == "not connected"
