// SPDX-License-Identifier: Apache-2.0
#include "record/recorder.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <utility>

#include "record/trivial_calls.hpp"

namespace gpushare::recording {
namespace {

constexpr std::size_t buffer_bytes = std::size_t{1} << 20;
constexpr std::size_t buffer_alignment = 8;

/// A recording without some of these is still useful; one without kernels is not.
constexpr std::pair<CUpti_ActivityKind, const char*> besides_kernels[] = {
    {CUPTI_ACTIVITY_KIND_DEVICE, "GPUs"},
    {CUPTI_ACTIVITY_KIND_MEMCPY, "copies"},
    {CUPTI_ACTIVITY_KIND_MEMSET, "memsets"},
    {CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, "waits"},
    {CUPTI_ACTIVITY_KIND_DRIVER, "calls of the driver"},
    {CUPTI_ACTIVITY_KIND_RUNTIME, "calls of the runtime"},
    {CUPTI_ACTIVITY_KIND_MEMORY2, "allocations"},
};

/// A killed process loses the records of at most one such period.
constexpr std::chrono::milliseconds flush_period(100);

/// CUPTI's callbacks have no argument for their recorder.
Recorder* the_recorder = nullptr;

void buffer_requested(std::uint8_t** buffer, std::size_t* size, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(buffer_alignment, buffer_bytes));
  *size = *buffer != nullptr ? buffer_bytes : 0;
  *most_records = 0;  // as many as fit
}

void buffer_completed(CUcontext, std::uint32_t, std::uint8_t* buffer, std::size_t, std::size_t bytes) {
  the_recorder->took(buffer, bytes);
  std::free(buffer);
}

/// The records of a context are written before it is destroyed.
void context_ends(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) { the_recorder->flush(0); }

std::string command_line() {
  std::string text;
  const int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  if (file < 0) return text;
  char piece[4096];
  for (ssize_t count; (count = read(file, piece, sizeof(piece))) > 0;)
    text.append(piece, static_cast<std::size_t>(count));
  close(file);
  return text.substr(0, 1 << 16);
}

}  // namespace

Recorder::Recorder(const std::string& folder)
    : process_(getpid()), file_(TraceFile::create(folder, static_cast<std::uint32_t>(process_))) {
  the_recorder = this;
}

void Recorder::start(const std::string& cupti_path) noexcept {
  try {
    cupti_ = new CuptiActivity(cupti_path);  // Never freed: threads of CUPTI's may be in it until the end.
    write_process();
    enable();
  } catch (const std::exception& error) {
    if (cupti_ == nullptr) write_process();
    write_problem(error.what());
  }
  start_flusher();
}

void Recorder::start_flusher() noexcept {
  try {
    flusher_.start(flush_period, [this] { flush(0); }, [this] { write_end(); });
  } catch (const std::exception& error) {
    write_problem(std::string("records are missing: ") + error.what());
  }
}

void Recorder::enable() {
  cupti_->check(cupti_->cuptiActivityRegisterCallbacks(&buffer_requested, &buffer_completed),
                "cuptiActivityRegisterCallbacks");
  cupti_->check(cupti_->cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "cuptiActivityEnable");
  is_enabled_ = true;
  for (const auto& [kind, what] : besides_kernels) {
    const CUptiResult result = cupti_->cuptiActivityEnable(kind);
    if (result == CUPTI_SUCCESS) continue;
    try {
      cupti_->check(result, "cuptiActivityEnable");
    } catch (const CuptiError& error) {
      write_problem(std::string(what) + " are not recorded: " + error.what());
    }
  }
  leave_out_trivial_calls(*cupti_);
  CUpti_SubscriberHandle subscriber = nullptr;
  // Only one tool may subscribe to a process: beside another one, flushing now and then has to do.
  if (cupti_->cuptiSubscribe(&subscriber, &context_ends, nullptr) != CUPTI_SUCCESS) return;
  static_cast<void>(cupti_->cuptiEnableCallback(1, subscriber, CUPTI_CB_DOMAIN_RESOURCE,
                                                CUPTI_CBID_RESOURCE_CONTEXT_DESTROY_STARTING));
}

void Recorder::took(const std::uint8_t* buffer, std::size_t bytes) noexcept {
  try {
    RecordBatch batch;
    CUpti_Activity* activity = nullptr;
    // Not const in CUPTI's interface, which reads it only.
    auto* records = const_cast<std::uint8_t*>(buffer);
    while (bytes > 0 && cupti_->cuptiActivityGetNextRecord(records, bytes, &activity) == CUPTI_SUCCESS) {
      add_activity(*activity, names_, batch);
    }
    std::size_t lost = 0;
    if (cupti_->cuptiActivityGetNumDroppedRecords(nullptr, 0, &lost) == CUPTI_SUCCESS && lost > 0) {
      batch.add(LostRecord{.records = lost});
    }
    file_.write(batch);
  } catch (const std::exception& error) {
    write_problem(std::string("records are missing: ") + error.what());
  }
}

void Recorder::flush(std::uint32_t flags) noexcept {
  if (is_enabled_) static_cast<void>(cupti_->cuptiActivityFlushAll(flags));
}

void Recorder::finish(std::chrono::milliseconds patience) noexcept {
  if (getpid() == process_) flusher_.finish(patience);
}

void Recorder::write_end() noexcept {
  flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  try {
    RecordBatch batch;
    batch.add(EndRecord{.time = now()});
    file_.write(batch);
  } catch (const std::exception& error) {
    write_problem(error.what());
  }
}

void Recorder::write_process() {
  RecordBatch batch;
  batch.add(ProcessRecord{.process = static_cast<std::uint32_t>(process_),
                          .parent = static_cast<std::uint32_t>(getppid()),
                          .time = now()},
            command_line());
  file_.write(batch);
}

void Recorder::write_problem(const std::string& sentence) noexcept {
  try {
    RecordBatch batch;
    batch.add(ProblemRecord{}, sentence);
    file_.write(batch);
  } catch (const std::exception&) {
    // Without memory for a sentence nothing more can be reported.
  }
}

std::uint64_t Recorder::now() const {
  std::uint64_t time = 0;
  if (cupti_ != nullptr) static_cast<void>(cupti_->cuptiGetTimestamp(&time));
  return time;
}

}  // namespace gpushare::recording
