// SPDX-License-Identifier: Apache-2.0
// src/cuda on the stand-in. A process opens the driver once, so it is named before the first test.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // tests that lose the GPU do so in processes of their own
  setenv("GPUSHARE_LIBCUDA", STAND_IN_GPU, 0);
  setenv("GPUSHARE_STAND_IN_DEVICES", "2", 0);
  return RUN_ALL_TESTS();
}
