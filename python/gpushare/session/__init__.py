# SPDX-License-Identifier: Apache-2.0
"""Sessions: applications of one process submit launches to a shared GPU."""
