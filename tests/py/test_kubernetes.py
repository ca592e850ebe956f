# SPDX-License-Identifier: Apache-2.0
"""The manifests of packaging/kubernetes start what gpushare has, at one socket."""

import pathlib

import click
import pytest

from gpushare.cli import main
from gpushare.daemon.settings import Settings
from gpushare.files.schema import checked

yaml = pytest.importorskip("yaml")

FOLDER = pathlib.Path(__file__).parents[2] / "packaging" / "kubernetes"


def documents():
    return [each for path in sorted(FOLDER.glob("*.yaml")) for each in yaml.safe_load_all(path.read_text())]


def of_kind(kind, name):
    (found,) = [each for each in documents() if (each["kind"], each["metadata"]["name"]) == (kind, name)]
    return found


def container_of(pod):
    (container,) = pod["containers"]
    return container


@pytest.fixture
def server():
    return of_kind("DaemonSet", "gpushare-server")["spec"]["template"]["spec"]


@pytest.fixture
def program():
    return of_kind("Pod", "training")["spec"]


def options_of(command):
    """The options by which gpushare is called; fails for those that it does not have."""
    assert command[0] == "gpushare"
    called = main.get_command(click.Context(main), command[1])
    return called.make_context(command[1], command[2:], resilient_parsing=False).params


def test_the_commands_are_understood(server, program, tmp_path):
    assert options_of(container_of(program)["command"])["memory"] == "20GB"
    command = container_of(server)["command"]
    settings = tmp_path / "gpushare.toml"
    settings.write_text(of_kind("ConfigMap", "gpushare-server")["data"]["gpushare.toml"])
    place = command.index("--config") + 1
    options = options_of([*command[:place], str(settings), *command[place + 1 :]])
    assert (options["devices"], options["policy"]) == (("programs",), "auto")


def test_the_programs_priority_is_permitted(program):
    import tomllib

    written = tomllib.loads(of_kind("ConfigMap", "gpushare-server")["data"]["gpushare.toml"])
    settings = checked(written, Settings)
    assert options_of(container_of(program)["command"])["priority"] <= settings.highest_priority


def test_server_and_program_meet_at_one_socket(server, program):
    command = container_of(server)["command"]
    socket = command[command.index("--socket") + 1]
    (variable,) = container_of(program)["env"]
    assert variable == {"name": "GPUSHARE_SOCKET", "value": socket}
    for pod in (server, program):
        paths = {each["name"]: each["hostPath"]["path"] for each in pod["volumes"] if "hostPath" in each}
        mounts = {each["name"]: each["mountPath"] for each in container_of(pod)["volumeMounts"]}
        assert paths["socket"] == mounts["socket"] == str(pathlib.Path(socket).parent)
