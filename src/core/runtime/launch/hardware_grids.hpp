// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace gpushare {

/// The grids of one launch that have been handed to the hardware and whose ends have not been collected.
class HardwareGrids {
 public:
  virtual ~HardwareGrids() = default;

  virtual bool empty() const = 0;
  /// Has any grid been handed over so far?
  virtual bool had_any() const = 0;
  /// Has every grid ended, collected or not?
  virtual bool have_ended() const = 0;
  /// The most urgent level in use (stream_level.hpp). Requires that there are grids.
  virtual int level() const = 0;
};

}  // namespace gpushare
