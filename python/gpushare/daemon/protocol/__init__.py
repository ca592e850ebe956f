# SPDX-License-Identifier: Apache-2.0
"""What client, supervisor and worker agree on: messages, limits, shared memory."""
