# SPDX-License-Identifier: Apache-2.0
"""The server's first process: it owns the socket and keeps one worker per device running."""
