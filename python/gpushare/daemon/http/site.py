# SPDX-License-Identifier: Apache-2.0
"""What each path of the live page answers, and which requests need the token."""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pydantic import Field

from gpushare import _core
from gpushare._core import DeviceError, InvalidInput
from gpushare.checks import require
from gpushare.daemon.client.session import DaemonSession
from gpushare.daemon.errors import DaemonGoneError, RefusedError
from gpushare.daemon.http.address import Address
from gpushare.daemon.http.exposition import exposition
from gpushare.daemon.http.timeline import timeline
from gpushare.daemon.http.token_file import TokenFile
from gpushare.daemon.http.watched_device import ERRORS, WatchedDevice
from gpushare.daemon.protocol.messages import Name, Priority
from gpushare.files.schema import Schema, checked

LOG = logging.getLogger("gpushare.daemon.http")
PAGE = Path(__file__).with_name("page")
FILES = {
    "/": ("index.html", "text/html; charset=utf-8"),
    "/page.css": ("page.css", "text/css; charset=utf-8"),
    "/page.js": ("page.js", "text/javascript; charset=utf-8"),
}
JSON = "application/json; charset=utf-8"
METRICS = "text/plain; version=0.0.4; charset=utf-8"
MOST_WAITING = 8
"""Requests that wait for a worker, which may have to start first."""
MOST_FIELDS = 8
MOST_SECONDS = 30.0
"""Longest timeline, in seconds."""


class ChangePolicy(Schema):
    """The body of a change of the policy."""

    device: Name
    policy: Name


class ChangePriority(Schema):
    """The body of a change of an application's priority."""

    device: Name
    application: Name
    priority: Priority


class TimelineQuery(Schema):
    """The query of a timeline."""

    device: Name
    seconds: float = Field(gt=0, le=MOST_SECONDS)


@dataclass(frozen=True)
class Request:
    """A request, read completely.

    Attributes:
        target: path and query.
        headers: by names in lower case.
    """

    method: str
    target: str
    headers: Mapping[str, str]
    body: bytes = b""


@dataclass(frozen=True)
class Answer:
    """An answer."""

    status: HTTPStatus
    kind: str
    body: bytes


class HttpError(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: HTTPStatus, words: str) -> None:
        super().__init__(words)
        self.status = status


class Site:
    """The page and its data. What it shows, ``gpushare status`` shows every user; the rest needs the token.

    Args:
        socket: path of the server's socket.
        devices: names of its devices, the first one first.
        address: the names by which it may be called.
        token: permits changes and the timeline, which over the socket are for operators.
    """

    def __init__(self, socket: Path, devices: Sequence[str], address: Address, token: TokenFile) -> None:
        self._devices = {device: WatchedDevice(socket, device) for device in devices}
        self._address = address
        self._token = token
        self._files = {path: (PAGE.joinpath(name).read_bytes(), kind) for path, (name, kind) in FILES.items()}
        self._policies = [each.name for each in _core.policies() if not each.is_oracle]
        self._waiting = threading.BoundedSemaphore(MOST_WAITING)

    def close(self) -> None:
        """Ends the connections to the workers."""
        for device in self._devices.values():
            device.close()

    def answer(self, request: Request) -> Answer:
        """Answers a request, with an error where it is not valid or not permitted."""
        try:
            self._require_own_page(request)
            return self._answer(request)
        except HttpError as error:
            return _error(error.status, str(error))
        except InvalidInput as error:
            return _error(HTTPStatus.BAD_REQUEST, str(error))
        except RefusedError as error:
            return _error(HTTPStatus.FORBIDDEN, str(error))
        except (DaemonGoneError, DeviceError) as error:
            return _error(HTTPStatus.SERVICE_UNAVAILABLE, str(error))
        except Exception:
            LOG.exception("%s failed", request.target)
            return _error(HTTPStatus.INTERNAL_SERVER_ERROR, "this is a bug of the server, whose log has a traceback")

    def _require_own_page(self, request: Request) -> None:
        """Refuses requests that a page of another site has made a browser send."""
        host = request.headers.get("host", "")
        if not self._address.is_named_by(host):
            words = f"this page is called by an address, as localhost or as {self._address.host}, not as {host!r}"
            raise HttpError(HTTPStatus.MISDIRECTED_REQUEST, words)
        origin = request.headers.get("origin")
        if origin is not None and origin.partition("://")[2] != host:
            raise HttpError(HTTPStatus.FORBIDDEN, f"this is a request of another site, {origin!r}")

    def _answer(self, request: Request) -> Answer:
        path, query = urlsplit(request.target).path, urlsplit(request.target).query
        routes: dict[str, tuple[str, Callable[[], Answer]]] = {
            "/metrics": ("GET", self._metrics),
            "/api/status": ("GET", lambda: self._status(query, request)),
            "/api/timeline": ("GET", lambda: self._timeline(query, request)),
            "/api/policy": ("POST", lambda: self._set_policy(request)),
            "/api/priority": ("POST", lambda: self._set_priority(request)),
        } | {name: ("GET", lambda name=name: self._file(name)) for name in self._files}
        if path not in routes:
            raise HttpError(HTTPStatus.NOT_FOUND, f"nothing is at {path!r}; there are {', '.join(routes)}")
        method, answer = routes[path]
        if request.method != method and (request.method, method) != ("HEAD", "GET"):
            raise HttpError(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes {method}, not {request.method}")
        return answer()

    def _file(self, name: str) -> Answer:
        body, kind = self._files[name]
        return Answer(HTTPStatus.OK, kind, body)

    def _status(self, query: str, request: Request) -> Answer:
        device = _fields(query).get("device", next(iter(self._devices)))
        found = self._device(device).snapshot()
        return _json(
            {
                "device": device,
                "devices": list(self._devices),
                "policies": self._policies,
                "may_change": self._token.is_in(request.headers.get("authorization")),
                "status": found.status,
                "age_s": round(found.age_s, 3),
                "error": found.error,
            }
        )

    def _timeline(self, query: str, request: Request) -> Answer:
        self._require_token(request)
        fields = _fields(query)
        asked = checked(fields | {"seconds": _number(fields.get("seconds", "5"))}, TimelineQuery)
        with self._connection(asked.device) as session:
            return _json(timeline(session.history(asked.seconds, of_all=True), asked.seconds))

    def _set_policy(self, request: Request) -> Answer:
        change = checked(self._change(request), ChangePolicy)
        with self._connection(change.device) as session:
            session.set_policy(change.policy)
        LOG.info("%s: policy %s, set on the page", change.device, change.policy)
        return _json({"policy": change.policy})

    def _set_priority(self, request: Request) -> Answer:
        change = checked(self._change(request), ChangePriority)
        with self._connection(change.device) as session:
            name = session.set_priority(change.application, change.priority)
        LOG.info("%s: priority %d of %s, set on the page", change.device, change.priority, name)
        return _json({"application": name, "priority": change.priority})

    def _metrics(self) -> Answer:
        return Answer(HTTPStatus.OK, METRICS, exposition({name: self._counted(name) for name in self._devices}))

    def _counted(self, device: str) -> dict[str, Any] | None:
        try:
            with self._connection(device) as session:
                return session.metrics()
        except ERRORS as error:
            LOG.debug("no metrics of %s: %s", device, error)
            return None

    def _change(self, request: Request) -> Any:
        """The body of a request that changes something.

        Other sites' pages cannot send it: a form has neither this header nor this kind of content, and for a script a
        browser asks this server first, which permits nothing.
        """
        self._require_token(request)
        kind = request.headers.get("content-type", "").partition(";")[0].strip()
        if kind != "application/json":
            raise HttpError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, f"a change is application/json, not {kind!r}")
        try:
            return json.loads(request.body)
        except (ValueError, RecursionError) as error:
            raise InvalidInput(f"the body is not JSON: {error}") from None

    def _require_token(self, request: Request) -> None:
        if not self._token.is_in(request.headers.get("authorization")):
            raise HttpError(HTTPStatus.FORBIDDEN, f"this needs the token, which is in {self._token.path} on the server")

    def _device(self, name: str) -> WatchedDevice:
        require(name in self._devices, f"this server has no device {name!r}; it has: {', '.join(self._devices)}")
        return self._devices[name]

    @contextmanager
    def _connection(self, device: str) -> Iterator[DaemonSession]:
        """The connection to a worker, which may have to start first."""
        watched = self._device(device)
        if not self._waiting.acquire(blocking=False):
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, f"{MOST_WAITING} requests wait for the worker already")
        try:
            yield watched.session()
        finally:
            self._waiting.release()


def _fields(query: str) -> dict[str, str]:
    try:
        return dict(parse_qsl(query, max_num_fields=MOST_FIELDS))
    except ValueError:
        raise InvalidInput(f"a query has at most {MOST_FIELDS} fields") from None


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise InvalidInput(f"seconds: expected a number, got {text!r}") from None


def _json(document: dict[str, Any]) -> Answer:
    return Answer(HTTPStatus.OK, JSON, json.dumps(document, separators=(",", ":")).encode())


def _error(status: HTTPStatus, words: str) -> Answer:
    return Answer(status, JSON, json.dumps({"error": words}).encode())
