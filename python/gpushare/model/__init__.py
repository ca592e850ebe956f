# SPDX-License-Identifier: Apache-2.0
"""What is to be run, and on what: workloads, launches, kernels as models, devices, and their files."""

from gpushare.providers import provide

provide(
    {
        "read_device": "gpushare.model.device_file:read_device",
        "read_workload": "gpushare.model.workload_file:read_workload",
        "workload_to_dict": "gpushare.model.workload_dict:workload_to_dict",
        "write_workload": "gpushare.model.workload_text:write_workload",
        "workload_from_dict": "gpushare.model.workload_file:workload_from_dict",
    }
)
