# SPDX-License-Identifier: Apache-2.0
"""Many simulated runs that go on where they stopped: each result is kept in a folder as it comes."""
