# SPDX-License-Identifier: Apache-2.0
"""Programs that know nothing of being recorded; each prints the seconds of its rounds as a JSON list."""
