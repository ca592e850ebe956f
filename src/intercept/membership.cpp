// SPDX-License-Identifier: Apache-2.0
#include "intercept/membership.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "intercept/forks.hpp"
#include "intercept/waiting.hpp"
#include "programs/process_state.hpp"

namespace gpushare::intercept {
namespace {

using programs::ProcessSlot;
using programs::ProgramPage;

enum class Joining { NotTried, Impossible, HasLeft };

std::atomic<Joining> joining = Joining::NotTried;
Lock joining_lock;
Membership own;

[[gnu::format(printf, 2, 3)]] ProgramPage* no_page(const char* path, const char* format, ...) {
  char why[256];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(why, sizeof why, format, arguments);
  va_end(arguments);
  say("GPUSHARE_PROGRAM=%s %s; process %d runs unscheduled", path, why, static_cast<int>(getpid()));
  return nullptr;
}

ProgramPage* mapped_page(const char* path) {
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return no_page(path, "cannot be opened: %s", strerror(errno));
  struct stat status{};
  const bool is_large_enough = fstat(file, &status) == 0 && status.st_size >= off_t{sizeof(ProgramPage)};
  void* memory = MAP_FAILED;
  if (is_large_enough) memory = mmap(nullptr, sizeof(ProgramPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  const int mapping_error = errno;
  close(file);
  if (!is_large_enough) {
    return no_page(path, "has %lld bytes; a program's page has %zu", static_cast<long long>(status.st_size),
                   sizeof(ProgramPage));
  }
  if (memory == MAP_FAILED) return no_page(path, "cannot be mapped: %s", strerror(mapping_error));
  auto* page = static_cast<ProgramPage*>(memory);
  if (page->magic == programs::page_magic && page->version == programs::page_version) return page;
  const bool is_page = page->magic == programs::page_magic;
  const std::uint32_t version = page->version;
  munmap(memory, sizeof(ProgramPage));
  if (!is_page) return no_page(path, "is no program's page");
  return no_page(path, "has version %u, this library %u: install the same gpushare in both places", version,
                 programs::page_version);
}

/// Free slots, those of dead processes, and the slot that this process had before an exec.
bool take(ProcessSlot& slot) {
  const std::int32_t self = getpid();
  std::int32_t holder = slot.pid.load();
  if (holder != 0 && holder != self && !programs::is_dead(holder)) return false;
  return slot.pid.compare_exchange_strong(holder, self);
}

void clear(ProcessSlot& slot) {
  slot.memory_bytes = 0;
  slot.streams = 0;
  slot.waiting = 0;
  slot.collectives = 0;
  slot.last_launch_ns = 0;
  for (programs::StreamProgress& words : slot.progress) {
    words.launched = 0;
    words.ended = 0;
    words.stopped = 0;
  }
  programs::PhaseLine& line = slot.line;
  line.owner = 0;
  line.begun = 0;
  line.complete = 0;
  line.noticed = 0;
  line.go = 0;
  line.changed_ns = 0;
  for (programs::Phase& phase : line.phases) phase.number = 0;
  line.owner = getpid();
}

ProcessSlot* taken_slot(ProgramPage& page) {
  for (ProcessSlot& slot : page.processes) {
    if (!take(slot)) continue;
    clear(slot);
    return &slot;
  }
  return nullptr;
}

/// Late writes of the GPU for a process that leaves do no harm: they report work that has ended.
[[gnu::destructor]] void leave() {
  const Membership* left = membership.exchange(nullptr);
  joining = Joining::HasLeft;
  // A process that was made without fork() has a copy of its parent's membership.
  if (left == nullptr || left->slot->pid.load() != getpid()) return;
  programs::raise(left->slot->line.go, programs::go_always);
  left->slot->line.owner = 0;  // or the scheduler would wait for phases whose marks never come
  left->slot->memory_bytes = 0;
  left->slot->streams = 0;  // or the next process with the slot would be credited with this process's work
  left->slot->waiting = 0;
  left->slot->collectives = 0;
  left->slot->pid = 0;
}

/// The page is not touched: a parent that has pinned its slot may have excluded it from its children's memory.
void forget_parent() {
  membership = nullptr;
  joining = Joining::NotTried;
  joining_lock.unlock();
  forget_parents_work();
}

}  // namespace

std::atomic<const Membership*> membership = nullptr;

const Membership* join() {
  if (joining.load(std::memory_order_relaxed) != Joining::NotTried) return nullptr;
  const std::lock_guard lock(joining_lock);
  if (joining != Joining::NotTried) return nullptr;
  if (const Membership* joined = membership) return joined;
  const char* path = std::getenv("GPUSHARE_PROGRAM");
  ProgramPage* page = path != nullptr ? mapped_page(path) : nullptr;
  ProcessSlot* slot = page != nullptr ? taken_slot(*page) : nullptr;
  if (slot == nullptr) {
    joining = Joining::Impossible;
    if (page != nullptr) no_page(path, "has no place for more than %zu processes", programs::most_processes);
    return nullptr;
  }
  static std::atomic<bool> is_told_of_forks = false;
  if (!is_told_of_forks.exchange(true)) pthread_atfork(nullptr, nullptr, forget_parent);
  own = {page, slot, page->makes_workers != 0};
  membership.store(&own, std::memory_order_release);
  return &own;
}

bool is_verbose() { return std::getenv("GPUSHARE_PROGRAM_VERBOSE") != nullptr; }

void say(const char* format, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  dprintf(STDERR_FILENO, "gpushare run: %s\n", text);
}

void release_dead_slots(ProgramPage& page) {
  for (ProcessSlot& slot : page.processes) {
    std::int32_t holder = slot.pid.load();
    if (holder == 0 || !programs::is_dead(holder)) continue;
    // This process's pid in between, so that no other process takes the slot before its memory is 0.
    if (!slot.pid.compare_exchange_strong(holder, getpid())) continue;
    slot.line.owner = 0;
    slot.memory_bytes = 0;
    slot.streams = 0;
    slot.waiting = 0;
    slot.pid = 0;
  }
}

}  // namespace gpushare::intercept
