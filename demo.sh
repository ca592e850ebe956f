#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Runs a demonstration from a bare clone: ./demo.sh [OPTIONS OF gpushare demo]
# The first run builds the package in .venv (some minutes); later runs start at once, unless sources changed.

invoked_from=$PWD
cd "$(dirname "${BASH_SOURCE[0]}")" || exit
source ./setup.sh

ensure_packages
[[ -f $venv/gpushare-installed ]] || echo "Building gpushare in .venv; this is done once." >&2
ensure_venv
ensure_installed analysis

cd "$invoked_from"
exec "$venv/bin/gpushare" demo "$@"
