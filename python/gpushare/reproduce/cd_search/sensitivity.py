# SPDX-License-Identifier: Apache-2.0
"""CD-search's sections 7.4.1 and 7.4.2: its gains with other bandwidths and numbers of SMs."""

from __future__ import annotations

from gpushare._core import Device
from gpushare.extras import pandas as pd
from gpushare.model.device_file import device_from_dict, device_to_dict
from gpushare.reproduce.cd_search.modes import PAPER, SimulatedMixes, mean, percent
from gpushare.reproduce.reproduction import Section


def sensitivity_section(baseline: SimulatedMixes) -> Section:
    """Figs. 13 and 14, with the baseline."""
    device, how = baseline.device, (baseline.progress, baseline.seeds)
    rows = {f"{device.sms} SMs, all bandwidth": _row(baseline, PAPER["baseline"])}
    for share, paper in PAPER["bandwidth"].items():
        rows[f"{float(share):.0%} of the bandwidth"] = _row(
            SimulatedMixes(_with_bandwidth(device, float(share)), *how), paper
        )
    for sms, paper in PAPER["sms"].items():
        rows[f"{sms} SMs"] = _row(SimulatedMixes(_with_sms(device, int(sms)), *how), paper)
    return Section("Figs. 13 and 14: memory bandwidth and number of SMs", pd.DataFrame(rows).T, NOTE)


def _row(mixes: SimulatedMixes, paper: dict[str, float]) -> dict[str, str]:
    return {
        "STP paper": percent(paper.get("stp")),
        "STP": percent(mean(mixes.mixed.stp)),
        "ANTT paper": percent(paper.get("antt")),
        "ANTT": percent(mean(mixes.mixed.antt)),
        "power paper": percent(paper.get("power")),
        "power": percent(mean(mixes.bound.power)),
        "STP in power mode, paper": percent(paper.get("power_stp")),
        "STP in power mode": percent(mean(mixes.bound.stp)),
    }


def _with_bandwidth(device: Device, share: float) -> Device:
    data = device_to_dict(device)
    data["off_sm"]["dram_gb_per_s"] *= share
    return device_from_dict(data)


def _with_sms(device: Device, sms: int) -> Device:
    return device_from_dict(device_to_dict(device) | {"sms": sms})


NOTE = (
    "Arithmetic means over the 49 mixes of both kinds (STP, ANTT) and over the 21 memory-bound ones (power). Cache and "
    "NoC stay as they are, so LAVAMD, GESUMMV and SC, which saturate the cache, do not see the memory's bandwidth."
)
