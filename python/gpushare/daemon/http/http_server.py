# SPDX-License-Identifier: Apache-2.0
"""Serves the live page over TCP, with limits on what a connection may take: time, bytes, and threads."""

from __future__ import annotations

import contextlib
import logging
import socket
import socketserver
import sys
import threading
import time
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from typing_extensions import override

from gpushare._core import InvalidInput
from gpushare.daemon.http.address import Address
from gpushare.daemon.http.site import Answer, Request, Site
from gpushare.daemon.http.token_file import TokenFile
from gpushare.daemon.priority import yield_processor

LOG = logging.getLogger("gpushare.daemon.http")
MOST_CONNECTIONS = 32
"""Connections at a time, each of which has a thread; further ones are closed."""
LONGEST_CONNECTION_S = 15.0
"""A connection is closed after this time, in seconds, however slowly its client sends or reads."""
SILENCE_S = 5.0
"""A connection is closed after this time without a byte, in seconds."""
MOST_BODY_BYTES = 4096
HEADERS: dict[str, str] = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class HttpServer:
    """The live page of a server.

    Args:
        address: where to listen.
        socket: path of the server's socket, whose lock the caller holds.
        devices: names of the server's devices, the first one first.

    Raises:
        InvalidInput: the address cannot be opened, or the token's file cannot be written.
    """

    def __init__(self, address: Address, socket: Path, devices: Sequence[str]) -> None:
        self._server = _listening(address)
        try:
            self._token = TokenFile(socket)
        except BaseException:
            self._server.server_close()
            raise
        self.address = Address(address.host, self._server.server_address[1])
        self._server.site = Site(socket, devices, self.address, self._token)
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Serves in threads until :meth:`close`."""
        self._thread = threading.Thread(target=self._serve, name="http", daemon=True)
        self._thread.start()
        LOG.info("live page: http://%s (changes need the token in %s)", self.address, self._token.path)
        if not self.address.is_local:
            LOG.warning("http://%s shows applications and users to every machine that can reach it", self.address)

    def close(self) -> None:
        """Stops listening, and removes the token."""
        if self._thread is not None:
            self._server.shutdown()  # would wait for ever if it had not been started
        self._server.server_close()
        self._server.site.close()
        self._token.remove()

    def _serve(self) -> None:
        yield_processor()
        self._server.serve_forever()


def _listening(address: Address) -> _Server:
    try:
        family = socket.getaddrinfo(address.host, address.port, type=socket.SOCK_STREAM)[0][0]
        return _Server(address, family)
    except (OSError, UnicodeError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else error
        raise InvalidInput(f"http: {address} cannot be opened: {why}") from error


class _Server(ThreadingHTTPServer):
    """Limits connections in number and in time."""

    daemon_threads = True
    site: Site

    def __init__(self, address: Address, family: socket.AddressFamily) -> None:
        self.address_family = family
        self._places = threading.BoundedSemaphore(MOST_CONNECTIONS)
        self._since_s: dict[Any, float] = {}
        super().__init__((address.host, address.port), _Handler)

    @override
    def server_bind(self) -> None:
        socketserver.TCPServer.server_bind(self)  # HTTPServer also asks DNS for the name of this machine

    @override
    def process_request(self, request: Any, client_address: Any) -> None:
        if not self._places.acquire(blocking=False):
            self.shutdown_request(request)
            return
        self._since_s[request] = time.monotonic()
        try:
            super().process_request(request, client_address)
        except BaseException:  # no further thread can be started
            self._ended(request)
            raise

    @override
    def process_request_thread(self, request: Any, client_address: Any) -> None:
        yield_processor()
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._ended(request)

    def _ended(self, request: Any) -> None:
        del self._since_s[request]
        self._places.release()

    @override
    def service_actions(self) -> None:
        """Called about twice per second: ends what has lasted too long."""
        before_s = time.monotonic() - LONGEST_CONNECTION_S
        for request, since_s in list(self._since_s.items()):
            if since_s < before_s:
                with contextlib.suppress(OSError):  # it has just ended
                    request.shutdown(socket.SHUT_RDWR)

    @override
    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if isinstance(error, OSError):  # the client has gone, or was too slow
            LOG.debug("a connection ended: %s", error)
        else:
            LOG.exception("a request failed")


class _Handler(BaseHTTPRequestHandler):
    """One request per connection."""

    timeout = SILENCE_S
    server_version, sys_version = "gpushare", ""
    error_content_type = "text/plain; charset=utf-8"
    error_message_format = "%(code)d %(message)s\n"
    server: _Server

    def do_GET(self) -> None:
        """Answers."""
        body = self._body()
        if body is None:
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._send(self.server.site.answer(Request(self.command, self.path, headers, body)))

    do_HEAD = do_POST = do_GET  # noqa: N815

    def _body(self) -> bytes | None:
        """The body; None if the request has been refused because of it."""
        length = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (length.isascii() and length.isdecimal()):
            self.send_error(HTTPStatus.LENGTH_REQUIRED, "a body has a Content-Length")
        elif len(length) > 9 or int(length) > MOST_BODY_BYTES:
            self.send_error(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body has at most {MOST_BODY_BYTES} bytes")
        else:
            return self.rfile.read(int(length))
        return None

    def _send(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("Content-Type", answer.kind)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(answer.body)

    @override
    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    @override
    def log_message(self, format: str, *args: Any) -> None:
        LOG.debug(format, *args)
