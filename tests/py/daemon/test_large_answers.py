# SPDX-License-Identifier: Apache-2.0
"""What would not fit into a message comes in a shared file, is cut, or is refused; nobody waits for it in vain."""

import json

import pytest

import gpushare as gs
from gpushare.daemon.errors import ProtocolError, as_message, from_message
from gpushare.daemon.protocol import limits
from gpushare.daemon.protocol.wire import packed
from gpushare.daemon.worker.served_client import ServedClient

WIDE = "\U0001f600"
"""Four bytes."""


def test_a_status_of_any_number_of_applications(serve, folder, call):
    serve(worker=None)  # a simulated device, for which applications are no threads
    names = {f"{number:04}{250 * WIDE}" for number in range(1000)}
    with gs.connect(folder / "socket") as session:
        link = session._connection.registered().link
        for reply in [link.begin("application", name=each) for each in names]:
            reply.result(30)
        status = session.status()
        assert {each["name"].partition("@")[0] for each in status["applications"]} == names
        assert len(packed(status)) > limits.MOST_MESSAGE_BYTES
        said = call("status", "--json", "--socket", str(folder / "socket")).stdout
        assert len(json.loads(said)["applications"]) == len(names)
        with pytest.raises(gs.InvalidInput):
            session.set_priority("nobody", 0)


def test_an_answer_that_does_not_fit_is_an_error():
    told = []

    class Channel:
        def send(self, message, _descriptors):
            if len(packed(message)) > limits.MOST_MESSAGE_BYTES:
                raise ProtocolError("a message of so many bytes")
            told.append(message)

    client = object.__new__(ServedClient)
    client.channel = Channel()
    client.reply(7, "x" * limits.MOST_MESSAGE_BYTES)
    ((number, error),) = [(each["id"], each["error"]) for each in told]
    assert (number, error["kind"]) == (7, "InvalidInput")
    assert error["message"] == "the answer is too large: a message of so many bytes"


@pytest.mark.parametrize(
    "error",
    [
        gs.CompileError(WIDE * 10**6, log=WIDE * 10**6, text="", options=[WIDE * 4000] * 256),
        gs.InvalidInput(WIDE * 10**6),
        KeyError(WIDE * 10**6),
    ],
)
def test_long_errors_are_cut(error):
    message = as_message(error)
    assert len(packed({"id": 2**62, "error": message})) <= limits.MOST_MESSAGE_BYTES
    found = from_message(message)
    assert "more characters]" in str(found)
    assert WIDE * 1000 in str(found)


def test_others_travel_whole():
    error = gs.CompileError("a\nb", log="c\n" * 50_000, text="", options=["-DA=\n", "-w"])
    found = from_message(as_message(error))
    assert (found.summary, found.log, found.options) == (error.summary, error.log, error.options)
