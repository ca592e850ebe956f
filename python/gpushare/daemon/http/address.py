# SPDX-License-Identifier: Apache-2.0
"""The address of the live page, and the names by which browsers may call it."""

from __future__ import annotations

import ipaddress
import re
from dataclasses import dataclass

from gpushare.checks import require

FORM = re.compile(r"(?:(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^:\[\]/\s]+)):)?(?P<port>[0-9]{1,5})")
LOCAL = "localhost"


@dataclass(frozen=True)
class Address:
    """Where to listen.

    Attributes:
        host: a name, or an address of IPv4 or IPv6.
        port: 0: any free one.
    """

    host: str
    port: int

    @property
    def is_local(self) -> bool:
        """Whether only this machine can reach it."""
        return self.host == LOCAL or (_is_number(self.host) and ipaddress.ip_address(self.host).is_loopback)

    def is_named_by(self, host: str) -> bool:
        """Whether a header ``Host`` may name this address: by number, as ``localhost``, or as it was configured.

        A page of another site can make a browser call this one by a name of its own (DNS rebinding), but not by another
        name or number. The port may differ where a connection is forwarded.

        >>> Address("127.0.0.1", 9400).is_named_by("localhost:8000"), Address("127.0.0.1", 9400).is_named_by("evil.org")
        (True, False)
        """
        found = re.fullmatch(r"(?:\[([^\]]*)\]|([^:]*))(?::[0-9]*)?", host.strip())
        name = (found[1] or found[2] or "").lower() if found else ""
        return bool(name) and (name in (LOCAL, self.host.lower()) or _is_number(name))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def address_in(text: str) -> Address:
    """Reads ``[HOST:]PORT``; without a host, only this machine can reach it.

    Raises:
        InvalidInput: it has another form.

    >>> str(address_in("9400")), str(address_in("[::1]:9400"))
    ('127.0.0.1:9400', '[::1]:9400')
    """
    found = FORM.fullmatch(text)
    port = int(found["port"]) if found else -1
    require(0 <= port <= 65535, f"http: expected [HOST:]PORT with a port up to 65535, such as 9400, got {text!r}")
    assert found is not None
    if found["six"]:
        require(_is_number(found["six"]), f"http: {found['six']!r} is no address of IPv6")
    return Address(found["six"] or found["host"] or "127.0.0.1", port)


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
