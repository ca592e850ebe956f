# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# Sourced by test.sh and demo.sh, from the root of the repository. Installs what they need and is
# missing: system packages, the virtual environment .venv, and gpushare in it.

set -euo pipefail
export PIP_DISABLE_PIP_VERSION_CHECK=1 PIP_ROOT_USER_ACTION=ignore
python=${PYTHON:-python3}
venv=$PWD/.venv
export PATH=$venv/bin:$PATH
# With ccache nothing is compiled twice, also across clones.
command -v ccache >/dev/null &&
  export CMAKE_CXX_COMPILER_LAUNCHER=${CMAKE_CXX_COMPILER_LAUNCHER-ccache} CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1

fail() {
  printf '%s\n' "$@" >&2
  exit 1
}

has_command() { command -v "$1" >/dev/null; }
has_header() { c++ -std=c++20 -E -x c++ -include "$1" /dev/null >/dev/null 2>&1; }
has_python_header() { [[ -f $("$python" -c 'import sysconfig; print(sysconfig.get_path("include"))')/Python.h ]]; }

# Prints the missing Debian packages. With "tests": also those that only the tests need.
missing_packages() {
  has_command c++ || echo g++
  has_command "$python" || { echo python3 python3-dev python3-venv && return; }
  "$python" -c 'import ensurepip, venv' 2>/dev/null || echo python3-venv
  has_python_header || echo python3-dev
  if [[ ${1:-} == tests ]]; then
    has_header gtest/gtest.h || echo libgtest-dev
    has_header gmock/gmock.h || echo libgmock-dev
    has_header benchmark/benchmark.h || echo libbenchmark-dev
    has_header nlohmann/json.hpp || echo nlohmann-json3-dev
  fi
}

# Installs missing packages if permitted; otherwise prints the command that does.
ensure_packages() {
  local missing sudo=()
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [[ -z $missing ]] && return
  if ((EUID != 0)); then
    sudo=(sudo -n)
  fi
  if ! has_command apt-get || { ((EUID != 0)) && ! sudo -n true 2>/dev/null; }; then
    fail "Missing (by the names of the Debian packages): $missing" "Install with: sudo apt-get install $missing"
  fi
  echo "Installing system packages: $missing" >&2
  # shellcheck disable=SC2086 # a list of names
  { "${sudo[@]}" apt-get -qq update &&
    "${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends $missing; } >&2 ||
    fail "apt-get could not install: $missing"
  missing=$(missing_packages "$@" | tr '\n' ' ')
  [[ -z $missing ]] || fail "Still missing after apt-get: $missing" "They do not seem to be for $(command -v "$python")."
}

# A virtual environment cannot be moved: its scripts contain its path. One from another folder is recreated.
ensure_venv() {
  "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' ||
    fail "gpushare needs Python 3.11 or later; $(command -v "$python") is $("$python" --version)." \
      "Name another with: PYTHON=python3.12 $0"
  if ! grep -qsF -- "$venv" "$venv/pyvenv.cfg" || ! "$venv/bin/python" -m pip --version >/dev/null 2>&1; then
    "$python" -m venv --clear "$venv"
  fi
}

# The requirements of [build-system] in pyproject.toml, and cmake and ninja if the system has none.
ensure_build_tools() {
  local tools
  mapfile -t tools < <("$venv/bin/python" -c '
import tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["build-system"]["requires"], sep="\n")')
  has_command cmake || tools+=(cmake)
  has_command ninja || tools+=(ninja)
  "$venv/bin/python" -m pip install --quiet "${tools[@]}"
}

# ensure_extra EXTRA: the packages of this extra of pyproject.toml, without gpushare itself.
ensure_extra() {
  local packages
  mapfile -t packages < <("$venv/bin/python" -c '
import sys, tomllib
print(*tomllib.load(open("pyproject.toml", "rb"))["project"]["optional-dependencies"][sys.argv[1]], sep="\n")' "$1")
  "$venv/bin/python" -m pip install --quiet "${packages[@]}"
}

# A fingerprint of everything that goes into the wheel.
wheel_fingerprint() {
  {
    "$venv/bin/python" --version
    find CMakeLists.txt cmake pyproject.toml src python -name __pycache__ -prune -o -type f ! -name '*.so' -print0 |
      LC_ALL=C sort -z | xargs -0 sha256sum
  } | sha256sum | cut -d' ' -f1
}

# ensure_installed EXTRA: installs gpushare with that extra in .venv, unless the same sources are installed with it, or with
# the extra test, which includes what demo.sh needs. Without pip's build isolation: creating that environment takes longer
# than an incremental build.
ensure_installed() {
  local stamp=$venv/gpushare-installed fingerprint installed='' extra_installed='' extra=$1
  fingerprint=$(wheel_fingerprint)
  [[ -f $stamp ]] && read -r installed extra_installed <"$stamp"
  [[ $extra_installed == test ]] && extra='test'
  [[ "$fingerprint $extra" == "$installed $extra_installed" ]] && return
  ensure_build_tools
  "$venv/bin/python" -m pip install --quiet --no-build-isolation ".[$extra]"
  echo "$fingerprint $extra" >"$stamp"
}
