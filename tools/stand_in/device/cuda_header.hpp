// SPDX-License-Identifier: Apache-2.0
// cuda.h, so that what it declares is exported: everything else of this library is hidden.
#pragma once

#pragma GCC visibility push(default)
#include <cuda.h>
#pragma GCC visibility pop
