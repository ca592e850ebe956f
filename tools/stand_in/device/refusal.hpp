// SPDX-License-Identifier: Apache-2.0
// How the stand-in says no. What a driver would refuse is refused here too; what no program should have asked for is
// also written to the file that GPUSHARE_STAND_IN_LOG names, because destructors swallow what they are told.
#pragma once

#include "device/cuda_header.hpp"

#include <stdexcept>
#include <string>

namespace gpushare::stand_in {

struct Refusal : std::runtime_error {
  Refusal(CUresult what_the_driver_says, const std::string& why)
      : std::runtime_error(why), result(what_the_driver_says) {}
  CUresult result;
};

/// Something that a correct program may ask for: memory that is not there, a function by a wrong name.
struct Denial : Refusal {
  using Refusal::Refusal;
};

inline void expect(bool holds, CUresult otherwise, const char* why) {
  if (!holds) throw Refusal(otherwise, why);
}

/// Appends a line to the log, if there is one.
void write_log(const std::string& line);

}  // namespace gpushare::stand_in
