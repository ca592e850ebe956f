// SPDX-License-Identifier: Apache-2.0
// A library that is no driver, but for the one function that tells a version.
extern "C" int cuDriverGetVersion(int* version) { return *version = 13000, 0; }
