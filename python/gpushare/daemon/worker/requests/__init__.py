# SPDX-License-Identifier: Apache-2.0
"""What a worker does about the requests of its clients; ``handlers`` has them by verb."""
