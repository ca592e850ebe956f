# SPDX-License-Identifier: Apache-2.0
"""The worker process, which holds one device and serves the clients that the supervisor passes to it."""
