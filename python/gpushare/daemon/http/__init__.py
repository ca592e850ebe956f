# SPDX-License-Identifier: Apache-2.0
"""The server's HTTP side: a live page and metrics, by a client of the server in threads of the supervisor."""
