# SPDX-License-Identifier: Apache-2.0
#
# For find_package(gpushare): the target gpushare::client.
include(CMakeFindDependencyMacro)
find_dependency(Threads)
include("${CMAKE_CURRENT_LIST_DIR}/gpushareTargets.cmake")
