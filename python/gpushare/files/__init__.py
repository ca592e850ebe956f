# SPDX-License-Identifier: Apache-2.0
"""Files: TOML that is read against a schema, and files that appear as a whole or not at all."""
