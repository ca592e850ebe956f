# SPDX-License-Identifier: Apache-2.0
"""Energy of a board, from the counter that NVML reads."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpushare import _core
from gpushare.backends.cuda.device import CudaDevice

UPDATE_NS = 100_000_000
"""NVIDIA does not document the counter's update interval; this is an upper bound."""
LEAST_RUN_NS = 10 * UPDATE_NS
"""Each of the two readings may lack an update: a tenth of the shortest run that is reported. For shorter runs the error
is too large."""


class EnergyMeter:
    """Energy that a board has used since its driver was loaded."""

    def __init__(self, device: CudaDevice) -> None:
        self._nvml = _nvml()
        try:
            self._nvml.nvmlInit()
            self._board = self._nvml.nvmlDeviceGetHandleByPciBusId(_core.pci_bus_id(device.core).encode())
        except self._nvml.NVMLError as error:
            raise EnergyUnknownError(f"NVML says: {error}") from error
        if self._is_divided():
            raise EnergyUnknownError("the board is divided (MIG), and its counter is of all its parts")
        self.millijoules()

    def millijoules(self) -> int:
        """Energy as of the board's last update, in millijoules.

        Raises:
            EnergyUnknownError: the board does not report it, or not any more.
        """
        try:
            return int(self._nvml.nvmlDeviceGetTotalEnergyConsumption(self._board))
        except self._nvml.NVMLError as error:
            raise EnergyUnknownError(f"NVML says: {error}") from error

    def _is_divided(self) -> bool:
        try:
            mode, _ = self._nvml.nvmlDeviceGetMigMode(self._board)
        except self._nvml.NVMLError:  # this board does not support it
            return False
        return bool(mode == self._nvml.NVML_DEVICE_MIG_ENABLE)


class EnergyUnknownError(Exception):
    """The reason why the energy is not known."""


def meter_of(device: CudaDevice) -> EnergyMeter | None:
    """The board's meter; None where its energy cannot be read."""
    try:
        return EnergyMeter(device)
    except EnergyUnknownError:
        return None


def metered(meter: EnergyMeter | None, run: Callable[[], _core.RunRecord]) -> tuple[_core.RunRecord, float | None]:
    """The run and the board's energy in joules; None where it is not known or the run was too short."""
    before = _reading(meter)
    record = run()
    after = _reading(meter)
    if before is None or after is None or after <= before or record.makespan < LEAST_RUN_NS:
        return record, None
    return record, (after - before) / 1e3


def _reading(meter: EnergyMeter | None) -> int | None:
    try:
        return meter.millijoules() if meter is not None else None
    except EnergyUnknownError:
        return None


def _nvml() -> Any:
    try:
        import pynvml
    except ImportError as error:
        raise EnergyUnknownError('the package nvidia-ml-py is missing. Install: pip install "nvidia-ml-py"') from error
    return pynvml
