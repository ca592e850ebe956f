// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <unistd.h>

#include <memory>

#include "programs/futex.hpp"
#include "programs/page_keeper.hpp"
#include "programs/program.hpp"

namespace gpushare::programs {

/// A program that is none: it writes into its page what the library in a real one would.
class WrittenProgram {
 public:
  WrittenProgram() : keeper_(0, 1'000'000'000), memory_(mapped()), program(in_gang({})) {
    page().processes[0].pid = ::getpid();
    page().processes[0].streams = 1;
    line().owner = ::getpid();
  }

  /// For the scheduler of another one of its GPUs.
  std::shared_ptr<Program> in_gang(GangMember gang) const {
    return std::make_shared<Program>(mapped(), std::move(gang));
  }

  std::shared_ptr<Program> with_application(std::shared_ptr<const daemon::SessionApplication> application) const {
    return std::make_shared<Program>(mapped(), GangMember{}, std::move(application));
  }

  void launch(Duration work) {
    page().processes[0].progress[0].launched += static_cast<std::uint64_t>(work.count());
    page().is_known_busy = 1;
  }
  void end(Duration work) { page().processes[0].progress[0].ended += static_cast<std::uint64_t>(work.count()); }
  Lease lease() { return Lease::of(page().lease); }
  PageKeeper& keeper() { return keeper_; }
  ProgramPage& page() { return *reinterpret_cast<ProgramPage*>(memory_.bytes().data()); }

  PhaseLine& line() { return page().processes[0].line; }
  /// A phase of one call, with a mark behind it unless it is said that there is none.
  std::uint64_t begin_phase(PhaseKind kind, std::uint64_t bytes, Duration predicted = {}, bool has_mark = true) {
    const std::uint64_t number = line().begun + 1;
    Phase& phase = line().at(number);
    phase.kind = kind;
    phase.bytes = bytes;
    phase.predicted_ns = static_cast<std::uint64_t>(predicted.count());
    phase.unknown = predicted == Duration{} ? 1 : 0;
    phase.calls = 1;
    phase.marked = has_mark ? 1 : 0;
    phase.ended = 0;
    phase.number = number;
    line().changed_ns = ~0ull >> 1;  // it grows for ever, until it is said to be complete
    line().begun = number;
    return number;
  }
  /// Copies to the device, kernels, and copies to the host.
  void begin_task(std::uint64_t bytes_in, Duration kernels, std::uint64_t bytes_out) {
    if (bytes_in > 0) begin_phase(PhaseKind::ToDevice, bytes_in);
    begin_phase(PhaseKind::Kernels, 0, kernels);
    if (bytes_out > 0) begin_phase(PhaseKind::ToHost, bytes_out);
    complete();
  }
  void complete() {
    line().complete = line().begun.load();
    ++page().task_news;
    wake_all(page().task_news);
  }
  void end_phase(std::uint64_t number) { line().at(number).ended = line().at(number).calls.load(); }

 private:
  daemon::SharedMemory mapped() const {
    return daemon::SharedMemory::map(daemon::FileDescriptor::duplicate(keeper_.descriptor()), sizeof(ProgramPage));
  }

  PageKeeper keeper_;
  daemon::SharedMemory memory_;

 public:
  std::shared_ptr<Program> program;
};

}  // namespace gpushare::programs
