# SPDX-License-Identifier: Apache-2.0
"""Commands that install the NVIDIA driver."""

from __future__ import annotations

import os
import platform
from pathlib import Path

CONTAINER_MARKS = ("/.dockerenv", "/run/.containerenv")
WINDOWS = "install the driver on Windows: https://www.nvidia.com/drivers"
ELSEWHERE = "https://www.nvidia.com/drivers"
# NVIDIA's package repository, for distributions with no driver, or one older than 580.
REPOSITORY = "https://docs.nvidia.com/datacenter/tesla/driver-installation-guide"
COMMANDS = {
    "ubuntu": "sudo apt-get install nvidia-driver-580-open",
    "debian": f"sudo apt-get install nvidia-open   # from NVIDIA's repository: {REPOSITORY}",
    "fedora": f"sudo dnf install nvidia-open   # from NVIDIA's repository: {REPOSITORY}",
    "suse": f"sudo zypper install nvidia-open   # from NVIDIA's repository: {REPOSITORY}",
    "arch": "sudo pacman -S nvidia-open",
}
FAMILIES = {"rhel": "fedora", "centos": "fedora", "opensuse": "suse", "sles": "suse"}


def driver_command() -> str:
    """The command that installs a driver on this machine, or the address of one."""
    if "microsoft" in platform.release().lower():
        return WINDOWS
    if in_container():
        return "docker run --gpus all IMAGE   # the driver is the host's: a container gets it when it starts"
    try:
        return command_for(platform.freedesktop_os_release())
    except OSError:
        return ELSEWHERE


def in_container() -> bool:
    """Whether this is Docker or Podman."""
    return any(Path(mark).exists() for mark in CONTAINER_MARKS) or "KUBERNETES_SERVICE_HOST" in os.environ


def command_for(release: dict[str, str]) -> str:
    """The command on the distribution that /etc/os-release describes.

    >>> command_for({"ID": "linuxmint", "ID_LIKE": "ubuntu debian"})
    'sudo apt-get install nvidia-driver-580-open'
    """
    for name in [release.get("ID", ""), *release.get("ID_LIKE", "").split()]:
        known = FAMILIES.get(name.split("-")[0], name.split("-")[0])
        if known in COMMANDS:
            return COMMANDS[known]
    return ELSEWHERE
