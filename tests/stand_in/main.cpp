// SPDX-License-Identifier: Apache-2.0
// The stand-in driver with two devices. It reads the variables when it is first asked for something.
#include <gtest/gtest.h>

#include <cstdlib>

int main(int count, char** arguments) {
  setenv("GPUSHARE_STAND_IN_DEVICES", "2", 1);
  testing::InitGoogleTest(&count, arguments);
  GTEST_FLAG_SET(death_test_style, "threadsafe");  // a forked process could not use the driver
  return RUN_ALL_TESTS();
}
