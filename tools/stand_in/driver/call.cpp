// SPDX-License-Identifier: Apache-2.0
#include "driver/call.hpp"

#include <unistd.h>

#include <memory>

namespace gpushare::stand_in {
namespace {

std::atomic<pid_t> process = 0;

}  // namespace

// Its thread ends before the process does. In a forked process that thread is missing, so the copy of the machine there
// is not taken down.
Machine& machine() {
  const auto destroy = [](Machine* machine) {
    if (is_initialised()) delete machine;
  };
  static const std::unique_ptr<Machine, decltype(destroy)> only(new Machine, destroy);
  return *only;
}

void initialise() {
  pid_t none = 0;
  process.compare_exchange_strong(none, getpid());
}

/// As with CUDA, a forked process cannot use what its parent has initialised.
bool is_initialised() { return process == getpid(); }

CUresult refused(const char* name, const Refusal& refusal) {
  const bool is_misuse = dynamic_cast<const Denial*>(&refusal) == nullptr;
  if (is_misuse) write_log(std::string("misuse: ") + name + ": " + refusal.what());
  return refusal.result;
}

}  // namespace gpushare::stand_in
