# SPDX-License-Identifier: Apache-2.0
"""Programs to be recorded; each prints the seconds of its rounds as a JSON list."""
