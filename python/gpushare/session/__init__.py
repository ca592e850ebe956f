# SPDX-License-Identifier: Apache-2.0
"""Sessions: applications of one process share a GPU, launch by launch as they come."""
