// SPDX-License-Identifier: Apache-2.0
// The library that `gpushare record` puts into a program. CUDA's driver opens it at its start (CUDA_INJECTION64_PATH)
// and calls InitializeInjection. It is preloaded as well (LD_PRELOAD), for _exit alone: processes that leave by it, as
// those of Python's multiprocessing do, call no exit handlers.
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "record/recorder.hpp"

namespace {

using gpushare::record::Recorder;

/// Never destroyed: CUPTI's threads may call it until the process is gone.
std::atomic<Recorder*> recorder = nullptr;

void finish() {
  if (Recorder* const found = recorder.load()) found->finish();
}

[[noreturn]] void leave(int status) {
  finish();
  while (true) syscall(SYS_exit_group, status);
}

}  // namespace

#define GPUSHARE_VISIBLE extern "C" __attribute__((visibility("default")))

/// Called by CUDA's driver, once. Whatever happens, the program goes on.
GPUSHARE_VISIBLE int InitializeInjection() {
  const char* folder = std::getenv("GPUSHARE_RECORD_FOLDER");
  const char* cupti = std::getenv("GPUSHARE_RECORD_CUPTI");
  if (folder == nullptr || cupti == nullptr || recorder.load() != nullptr) return 1;
  try {
    auto* const made = new Recorder(folder);
    recorder.store(made);
    made->start(cupti);
    std::atexit(&finish);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpushare record: %s: this process is not recorded\n", error.what());
  }
  return 1;
}

GPUSHARE_VISIBLE [[noreturn]] void _exit(int status) { leave(status); }
GPUSHARE_VISIBLE [[noreturn]] void _Exit(int status) { leave(status); }
