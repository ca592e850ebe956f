# SPDX-License-Identifier: Apache-2.0
"""Files: TOML with schemas, and atomic writing."""
