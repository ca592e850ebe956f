#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
#
# Builds the wheel as `pip install .` does, and fails if the build used a CUDA toolkit: the headers of an installed
# toolkit may be in a folder that compilers search by default, so that building succeeds although a requirement is
# missing. Needs no root and no GPU. Run by ./test.sh wheel; it also tests that nothing is compiled a second time.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
out=build/wheel

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

# Variables that point a compiler, a linker or CMake to a toolkit.
unset CPATH C_INCLUDE_PATH CPLUS_INCLUDE_PATH LIBRARY_PATH LD_LIBRARY_PATH
unset CMAKE_PREFIX_PATH CMAKE_INCLUDE_PATH CMAKE_LIBRARY_PATH CUDA_HOME CUDA_PATH CUDA_ROOT CUDAToolkit_ROOT

rm -rf "$out"
mkdir -p "$out"
touch "$out/begun"
python -m pip wheel --quiet --no-deps --wheel-dir "$out" .
wheels=("$out"/*.whl)
build=build/$(basename "${wheels[0]}" .whl | cut -d- -f3-)

# Headers by their names, since distributions put them into a common folder. Most include some of crt.
headers=$(ninja -C "$build" -t deps | grep -E '/(crt/[^/]+|(cuda|cupti|nv)[^/]*)\.h$' | sort -u || true)
grep -q 'kept_headers/.*/cuda\.h$' <<<"$headers" || fail "Nothing in $build is known to include cuda.h; delete it."
foreign=$(grep -v 'kept_headers/' <<<"$headers" || true)
[[ -z $foreign ]] || fail "Read from a toolkit, not from a wheel that pyproject.toml requires:" "$foreign" \
  "If it does by now: what was compiled before is still in $build; delete that folder, and try with CCACHE_DISABLE=1."

# Any change counts, also an added or removed header: the folder is newer then.
objects=$(find "$build" -name '*.o' -newer "$out/begun")
[[ -z $objects || -n $(find "$build/kept_headers" -newer "$out/begun") ]] ||
  fail "Compiled again, with the headers of before, since this environment is another one:" "$objects"

python -m zipfile -e "${wheels[0]}" "$out/unpacked"
linked=$(find "$out/unpacked" -name '*.so' -exec readelf -d {} + | grep -E 'NEEDED.*lib(cu|nv)' || true)
[[ -z $linked ]] || fail "Linked with libraries of CUDA:" "$linked"

env -i PATH=/usr/bin:/bin HOME="$HOME" PYTHONPATH="$out/unpacked" "$(command -v python)" - "$out/unpacked" <<'PYTHON'
import pathlib
import sys

import gpushare as gs

assert pathlib.Path(gs.__file__).resolve().is_relative_to(pathlib.Path(sys.argv[1]).resolve()), gs.__file__
print(gs.compare(gs.Workload.from_toml("docs/guide/pair.toml"), ["fifo", "srtf"], device="sim:gtx480").metrics())
PYTHON
