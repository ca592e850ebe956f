# SPDX-License-Identifier: Apache-2.0
"""Launches a kernel of the suite in a session, of this process or of the server."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

import gpushare as gs
from gpushare.arguments.launch_arguments import Zeros
from gpushare.daemon.client.session import DaemonSession
from gpushare.model.workload import Launch

Wait = Callable[[], object]
_numbers = itertools.count()


class SessionLauncher:
    """An application with the kernel's data.

    Attributes:
        arrays: the arrays among its arguments.
    """

    def __init__(self, session: gs.Session | DaemonSession, device: str, launch: Launch) -> None:
        self._session = session
        self._launch = launch
        self._application = session.application(f"benchmark {next(_numbers)}")
        session.load(launch.kernel)
        simulated = device.startswith("sim:")  # it does not read arguments
        self._arguments = [] if simulated else [self._on_device(each) for each in launch.build_arguments()]
        passed_on = (int, float, np.generic)
        self.arrays = [each for each in self._arguments if not isinstance(each, passed_on)]

    def _on_device(self, value: Any) -> Any:
        if isinstance(value, Zeros):
            return self._session.zeros(value.shape, value.dtype)
        return self._session.array(value) if isinstance(value, np.ndarray) else value

    def launch(self) -> Wait:
        """Submits a job; the returned function waits for its end."""
        launch = self._launch
        job = self._application.submit(
            launch.kernel,
            grid=launch.grid,
            block=launch.block,
            args=self._arguments,
            shared_bytes=launch.shared_bytes,
        )
        return job.result

    def close(self) -> None:
        """Ends the application and frees its arrays."""
        self._application.cancel()
        for array in self.arrays:
            array.free()
