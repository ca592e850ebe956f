# SPDX-License-Identifier: Apache-2.0
"""The process that holds one GPU, and serves the clients that the supervisor hands over."""
