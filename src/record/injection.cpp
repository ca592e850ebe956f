// SPDX-License-Identifier: Apache-2.0
// The library that `gpushare record` puts into a program. CUDA's driver opens it at its start (CUDA_INJECTION64_PATH)
// and calls InitializeInjection. It is preloaded as well (LD_PRELOAD), for _exit alone: processes that leave by it, as
// those of Python's multiprocessing do, call no exit handlers. Handlers of signals call _exit as well, at any point of
// the thread that they interrupt, so the calling thread only makes a request and waits.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "record/recorder.hpp"

namespace {

using gpushare::recording::Recorder;

/// Never destroyed: CUPTI's threads may call it until the process is gone.
std::atomic<Recorder*> recorder = nullptr;

/// A program may end while it holds a lock that the last flush needs, which then never ends. This should not happen on
/// returns from main or calls of exit, but is likely in handlers of signals.
constexpr std::chrono::seconds patience_at_exit(60);
constexpr std::chrono::seconds patience_at_once(3);

void finish(std::chrono::milliseconds patience) {
  if (Recorder* const found = recorder.load()) found->finish(patience);
}

[[noreturn]] void leave(int status) {
  finish(patience_at_once);
  while (true) syscall(SYS_exit_group, status);
}

}  // namespace

#define GPUSHARE_VISIBLE extern "C" __attribute__((visibility("default")))

/// Called by CUDA's driver, once. The program runs on in any case.
GPUSHARE_VISIBLE int InitializeInjection() {
  const char* folder = std::getenv("GPUSHARE_RECORD_FOLDER");
  const char* cupti = std::getenv("GPUSHARE_RECORD_CUPTI");
  if (folder == nullptr || cupti == nullptr || recorder.load() != nullptr) return 1;
  try {
    auto* const made = new Recorder(folder);
    recorder.store(made);
    made->start(cupti);
    std::atexit([] { finish(patience_at_exit); });
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpushare record: %s: this process is not recorded\n", error.what());
  }
  return 1;
}

GPUSHARE_VISIBLE [[noreturn]] void _exit(int status) { leave(status); }
GPUSHARE_VISIBLE [[noreturn]] void _Exit(int status) { leave(status); }
