# SPDX-License-Identifier: Apache-2.0
"""Notices another project's distribution whose module is also called gpushare.

It is on the public index as ``gpushare``. Installed into the same environment, both write their files into one folder,
and the later one replaces what has the same name.
"""

from __future__ import annotations

import warnings
from pathlib import Path

OWN = "gpushare-scheduler"
"""The name of this project's distribution."""
OTHER = "gpushare"
REPAIR = f"pip uninstall {OTHER} && pip install --force-reinstall --no-deps {OWN}"


def warn_of_clash(beside: Path = Path(__file__).parents[1]) -> None:
    """Warns if the other distribution is installed in the folder of this package.

    Only names are looked at: with every import, importlib.metadata would take longer.

    Args:
        beside: the folder that has the package.
    """
    found = [path.name for kind in ("dist-info", "egg-info") for path in beside.glob(f"{OTHER}-*.{kind}")]
    if found:
        warnings.warn(
            f"{found[0]} in {beside} is another project's package, whose module has the same name: its files and those "
            f"of {OWN} replace each other. {REPAIR}",
            RuntimeWarning,
            stacklevel=3,
        )
