// SPDX-License-Identifier: Apache-2.0
// Stands for the driver's library when libcuda.so.1 is linked, so that this needs it by its name, libcuda-real.so.
extern "C" __attribute__((visibility("default"))) const int gpushare_stands_for_the_driver = 0;
