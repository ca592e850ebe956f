# SPDX-License-Identifier: Apache-2.0
"""What unmodified CUDA programs did, and how to replay it: gpushare record (docs/guide/record.md)."""
