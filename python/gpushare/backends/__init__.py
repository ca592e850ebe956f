# SPDX-License-Identifier: Apache-2.0
"""Where workloads run and sessions are opened: a GPU of this machine, or a simulated device (``base.Backend``)."""
