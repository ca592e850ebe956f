// SPDX-License-Identifier: Apache-2.0
#include "driver/call.hpp"

#include <unistd.h>

#include <memory>

namespace gpushare::stand_in {
namespace {

std::atomic<pid_t> process = 0;

}  // namespace

// Its thread ends before the process does.
// The copy that a forked process has of it goes on without the thread that ends with it.
Gpu& gpu() {
  const auto destroy = [](Gpu* gpu) {
    if (is_initialised()) delete gpu;
  };
  static const std::unique_ptr<Gpu, decltype(destroy)> only(new Gpu, destroy);
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
