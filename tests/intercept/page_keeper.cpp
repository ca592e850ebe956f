// SPDX-License-Identifier: Apache-2.0
// The scheduler's side of a program's page, for tests: makes one, says where it is, and obeys lines of its standard
// input, each with a line of its own.
//
//   lease STATE LIMIT_US          page FIELD NUMBER (longest_hold_ns, memory_limit_bytes, keeper_pid, version, magic,
//                                 makes_workers)
//   dump                          all that is in use of the page, as JSON
//   toggle COUNT SEED             holds the program and lets it go, so often, at random moments
//   predict NANOSECONDS NAME [BLOCKS THREADS SHARED_BYTES]     for the kernel of this name; without them 1, 1, 0
//   idle MILLISECONDS             clears is_known_busy and waits until it is set, or so long; says whether it was
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <iostream>
#include <new>
#include <random>
#include <sstream>
#include <string>
#include <thread>

#include "programs/kernel_records.hpp"
#include "programs/worker_words.hpp"

namespace gpushare::programs {
namespace {

void set_lease(ProgramPage& page, Lease lease) {
  if (lease.state != LeaseState::Held) let_workers_go(page.workers);
  page.lease = lease.word();
  if (lease.state == LeaseState::Held) hold_workers(page.workers);
  syscall(SYS_futex, &page.lease, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

std::string set_field(ProgramPage& page, const std::string& field, std::uint64_t value) {
  if (field == "longest_hold_ns") {
    page.longest_hold_ns = value;
  } else if (field == "memory_limit_bytes") {
    page.memory_limit_bytes = value;
  } else if (field == "makes_workers") {
    page.makes_workers = static_cast<std::uint32_t>(value);
  } else if (field == "keeper_pid") {
    page.keeper_pid = static_cast<std::int32_t>(value);
  } else if (field == "version") {
    page.version = static_cast<std::uint32_t>(value);
  } else if (field == "magic") {
    page.magic = value;
  } else {
    return "no such field";
  }
  return "ok";
}

void dump(std::ostream& out, const ProcessSlot& slot) {
  out << "{\"pid\": " << slot.pid << ", \"launches\": " << slot.launches << ", \"held_ns\": " << slot.held_ns
      << ", \"limited_ns\": " << slot.limited_ns << ", \"let_go\": " << slot.let_go
      << ", \"worker_launches\": " << slot.worker_launches << ", \"evictions\": " << slot.evictions
      << ", \"memory_bytes\": " << slot.memory_bytes << ", \"last_launch_ns\": " << slot.last_launch_ns
      << ", \"streams\": [";
  for (std::uint32_t index = 0; index < slot.streams; ++index) {
    const StreamProgress& words = slot.progress[index];
    out << (index > 0 ? ", " : "") << "[" << words.launched << ", " << words.ended << "]";
  }
  out << "], \"stopped\": [";
  for (std::uint32_t index = 0; index < slot.streams; ++index) {
    out << (index > 0 ? ", " : "") << slot.progress[index].stopped;
  }
  out << "]}";
}

template <class Sizes>
void dump_sizes(std::ostream& out, const Sizes& sizes) {
  out << "[" << sizes[0] << ", " << sizes[1] << ", " << sizes[2] << "]";
}

void dump(std::ostream& out, const ProgramPage& page, const KernelRecord& record) {
  out << "{\"key\": " << record.key << ", \"name\": \"" << record.name.data()
      << "\", \"kind\": " << static_cast<std::uint32_t>(record.kind) << ", \"grid\": ";
  dump_sizes(out, record.grid);
  out << ", \"block\": ";
  dump_sizes(out, record.block);
  out << ", \"shared_bytes\": " << record.shared_bytes << ", \"library\": \""
      << page.libraries[record.library].name.data() << "\", \"launches\": " << record.launches
      << ", \"samples\": " << record.samples << ", \"predicted_ns\": " << record.predicted_ns << "}";
}

std::string dump(const ProgramPage& page) {
  std::ostringstream out;
  out << "{\"lease\": " << page.lease << ", \"is_known_busy\": " << page.is_known_busy << ", \"processes\": [";
  const char* between = "";
  for (const ProcessSlot& slot : page.processes) {
    if (slot.pid == 0 && slot.launches == 0) continue;
    out << between;
    dump(out, slot);
    between = ", ";
  }
  out << "], \"kernels\": [";
  between = "";
  for (const KernelRecord& record : page.kernels) {
    if (record.is_named == 0) continue;
    out << between;
    dump(out, page, record);
    between = ", ";
  }
  out << "], \"remarks\": {";
  between = "";
  for (const Remark& remark : page.remarks) {
    if (remark.count == 0) continue;
    out << between << "\"" << remark.text.data() << "\": " << remark.count;
    between = ", ";
  }
  out << "}}";
  return out.str();
}

void toggle(ProgramPage& page, int count, unsigned seed) {
  std::mt19937 random(seed);
  for (int turn = 0; turn < count; ++turn) {
    const bool is_held = turn % 2 == 0;
    const auto limit_us = random() % 2 == 0 ? 0 : 20 + static_cast<std::uint32_t>(random() % 200);
    set_lease(page, is_held ? Lease{LeaseState::Held} : Lease{LeaseState::Limited, limit_us});
    std::this_thread::sleep_for(std::chrono::microseconds(random() % 300));
  }
  set_lease(page, {});
}

std::string wait_until_busy(ProgramPage& page, int milliseconds) {
  page.is_known_busy = 0;
  const timespec limit{milliseconds / 1000, milliseconds % 1000 * 1'000'000};
  if (page.is_known_busy == 0) syscall(SYS_futex, &page.is_known_busy, FUTEX_WAIT, 0, &limit, nullptr, 0);
  return page.is_known_busy != 0 ? "busy" : "idle";
}

std::string answer(ProgramPage& page, std::istringstream words) {
  std::string command;
  words >> command;
  if (command == "dump") return dump(page);
  if (command == "lease") {
    std::uint32_t state = 0;
    std::uint32_t limit = 0;
    words >> state >> limit;
    set_lease(page, {static_cast<LeaseState>(state), limit});
    return "ok";
  }
  if (command == "page") {
    std::string field;
    std::uint64_t value = 0;
    words >> field >> value;
    return set_field(page, field, value);
  }
  if (command == "toggle") {
    int count = 0;
    unsigned seed = 0;
    words >> count >> seed;
    toggle(page, count, seed);
    return "ok";
  }
  if (command == "predict") {
    std::uint64_t ns = 0;
    std::string name;
    words >> ns >> name;
    LaunchShape shape{{1, 1, 1}, {1, 1, 1}, 0};
    if (std::uint32_t blocks = 0; words >> blocks) {
      shape.grid[0] = blocks;
      words >> shape.block[0] >> shape.shared_bytes;
    }
    const auto index = record_of(page, name, LaunchKind::Kernel, shape, 0);
    page.kernels[index.value()].predicted_ns = ns;
    page.kernels[index.value()].samples = 5;
    page.kernels[index.value()].sampled_ns = 5 * ns;
    return "ok";
  }
  if (command == "idle") {
    int milliseconds = 0;
    words >> milliseconds;
    return wait_until_busy(page, milliseconds);
  }
  return "no such command";
}

int keep() {
  const int file = memfd_create("gpushare-program", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(ProgramPage)) != 0) return 1;
  void* memory = mmap(nullptr, sizeof(ProgramPage), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  if (memory == MAP_FAILED) return 1;
  auto& page = *static_cast<ProgramPage*>(memory);  // zeros are what it begins with
  page.magic = page_magic;
  page.version = page_version;
  page.keeper_pid = getpid();
  page.longest_hold_ns = 60'000'000'000;
  let_workers_go(page.workers);
  std::cout << "/proc/" << getpid() << "/fd/" << file << std::endl;
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answer(page, std::istringstream(line)) << std::endl;
  }
  return 0;
}

}  // namespace
}  // namespace gpushare::programs

int main() { return gpushare::programs::keep(); }
