// SPDX-License-Identifier: Apache-2.0
// The scheduler's side of a program's page, for tests: makes one, says where it is, and obeys lines of its standard
// input, each with a line of its own.
//
//   lease STATE LIMIT_US          page FIELD NUMBER (longest_hold_ns, memory_limit_bytes, keeper_pid, version, magic,
//                                 makes_workers)
//   dump                          all that is in use of the page, as JSON
//   toggle COUNT SEED             holds the program and lets it go, so often, at random moments
//   predict NANOSECONDS NAME [BLOCKS THREADS SHARED_BYTES]     for the kernel of this name; without them 1, 1, 0
//   collectives PROCESS NUMBER    that this process, counted from 0, has launched
//   order TO_DEVICE TO_HOST       copies and launches wait at gates; copies go in pieces of so many bytes, 0: whole
//   unorder                       nobody orders them any more
//   go NUMBER                     opens the gates of the first process up to this one
//   open                          from now on, each as soon as the phase before it has ended and its task is complete
//   idle MILLISECONDS             clears is_known_busy and waits until it is set, or so long; says whether it was
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <climits>
#include <cstdio>
#include <functional>
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

void dump(std::ostringstream& out, const ProcessSlot& slot) {
  out << "{\"pid\": " << slot.pid << ", \"launches\": " << slot.launches << ", \"held_ns\": " << slot.held_ns
      << ", \"limited_ns\": " << slot.limited_ns << ", \"let_go\": " << slot.let_go << ", \"waiting\": " << slot.waiting
      << ", \"collectives\": " << slot.collectives << ", \"worker_launches\": " << slot.worker_launches
      << ", \"evictions\": " << slot.evictions << ", \"memory_bytes\": " << slot.memory_bytes
      << ", \"last_launch_ns\": " << slot.last_launch_ns << ", \"streams\": [";
  for (std::uint32_t index = 0; index < slot.streams; ++index) {
    const StreamProgress& words = slot.progress[index];
    out << (index > 0 ? ", " : "") << "[" << words.launched << ", " << words.ended << "]";
  }
  out << "], \"stopped\": [";
  for (std::uint32_t index = 0; index < slot.streams; ++index) {
    out << (index > 0 ? ", " : "") << slot.progress[index].stopped;
  }
  out << "], \"owner\": " << slot.line.owner << ", \"go\": " << slot.line.go << ", \"complete\": " << slot.line.complete
      << ", \"phases\": [";
  for (std::uint64_t number = 1; number <= slot.line.begun; ++number) {
    const Phase& phase = slot.line.at(number);
    if (phase.number != number) continue;
    out << (out.str().back() == '[' ? "" : ", ") << "{\"kind\": " << static_cast<std::uint32_t>(phase.kind.load())
        << ", \"bytes\": " << phase.bytes << ", \"calls\": " << phase.calls << ", \"unknown\": " << phase.unknown
        << ", \"predicted_ns\": " << phase.predicted_ns << ", \"ended\": " << phase.ended << "}";
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
  out << "{\"lease\": " << page.lease << ", \"is_known_busy\": " << page.is_known_busy
      << ", \"ordering\": " << static_cast<std::uint32_t>(page.ordering.load()) << ", \"processes\": [";
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

bool has_ended(const Phase& phase) { return phase.ended >= phase.calls || phase.marked < phase.calls; }

/// As a scheduler with one program would. What a program that waits in the driver has issued counts as complete.
void open_gates(ProgramPage& page) {
  while (true) {
    for (ProcessSlot& slot : page.processes) {
      PhaseLine& line = slot.line;
      const std::uint64_t go = line.go;
      if (go != 0 && go < go_always && !has_ended(line.at(go))) continue;
      line.noticed = go;
      if (go < line.begun) raise(line.go, go + 1);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(300));
  }
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
  if (command == "collectives") {
    std::size_t process = 0;
    std::uint64_t number = 0;
    words >> process >> number;
    page.processes[process].collectives = number;
    return "ok";
  }
  if (command == "order") {
    std::uint64_t to_device = 0;
    std::uint64_t to_host = 0;
    words >> to_device >> to_host;
    page.piece_to_device_bytes = to_device;
    page.piece_to_host_bytes = to_host;
    page.ordering = Ordered::Yes;
    return "ok";
  }
  if (command == "unorder") {
    page.ordering = Ordered::No;
    return "ok";
  }
  if (command == "go") {
    std::uint64_t number = 0;
    words >> number;
    raise(page.processes[0].line.go, number);
    return "ok";
  }
  if (command == "open") {
    std::thread(open_gates, std::ref(page)).detach();
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
