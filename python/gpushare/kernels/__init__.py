# SPDX-License-Identifier: Apache-2.0
"""From a kernel's source to machine code that can be preempted, and from arguments to bytes."""
