// SPDX-License-Identifier: Apache-2.0
// Wakes the process at the other end, if it has said that it sleeps (ring.hpp), and tells when that process has ended.
//
// A pair of sockets rather than an eventfd. Whether an eventfd blocks is a flag of the file, which the other process
// could clear; then it could fill the counter and hold up whoever rings. A socket is told with every call. Its end
// also closes with the process that holds it. It costs 0.65 us to ring and to hear, an eventfd 0.32 (measured on the
// two cores of benchmarks/daemon.cpp), and a busy peer is not rung at all.
#pragma once

#include <utility>

#include "core/model/units.hpp"
#include "daemon/channel/file_descriptor.hpp"

namespace gpushare::daemon {

class Doorbell {
 public:
  explicit Doorbell(FileDescriptor end) : end_(std::move(end)) {}
  /// This side's end and the other's.
  static std::pair<Doorbell, FileDescriptor> make();

  /// Never blocks. A bell that has been rung too often already is heard anyway.
  void ring() const noexcept;
  /// Takes what has been rung; false once the other side is gone.
  bool hear() const noexcept;
  /// Without taking what has been rung.
  bool is_hung_up() const noexcept;
  /// Whoever waits here, or at the other end, learns that this is over.
  void hang_up() const noexcept;

  int descriptor() const { return end_.number(); }

 private:
  FileDescriptor end_;
};

}  // namespace gpushare::daemon
