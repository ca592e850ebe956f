# SPDX-License-Identifier: Apache-2.0
"""Runs the command line: ``python -m gpushare`` is the command ``gpushare``."""

from gpushare.cli import main

if __name__ == "__main__":
    main()
