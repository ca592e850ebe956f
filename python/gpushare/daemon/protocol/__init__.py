# SPDX-License-Identifier: Apache-2.0
"""The protocol of client, supervisor and worker: messages, limits, shared memory."""
