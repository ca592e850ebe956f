// SPDX-License-Identifier: Apache-2.0
// A program of the tests that "uses CUDA": at `cuda` it does what CUDA's driver does at its start, and then has the
// fake CUPTI know what its arguments say. Times in ns. One argument, one thing to do:
//   cuda                                   use CUDA from here on
//   device SMS                             a GPU with so many SMs
//   kernel NAME START END STREAM ID GRID BLOCK REGISTERS SHARED
//   copy h2d|d2h|d2d START END BYTES STREAM ID async|sync [pageable]
//   memset START END BYTES STREAM ID
//   wait stream|context|event|stream-event START END STREAM ID
//   call START END ID                      of the runtime
//   take TIME ADDRESS BYTES, give TIME ADDRESS
//   unknown                                a record that nobody asked for
//   end-context, sleep MS, exit N, _exit N, kill
//   hold                                   CUPTI's lock, for ever
//   terminate N                            a SIGTERM, whose handler leaves by _exit(N)
//   fork                                   the child does what follows, up to `join`
#include <dlfcn.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cupti_activity.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <thread>

namespace {

/// What is left of an argument; the next word is of the type that it is given to. CUPTI's structures are packed, so
/// that no reference can be had of their fields.
struct Words {
  template <typename Value>
  operator Value() {
    Value value{};
    text >> value;
    return value;
  }

  std::istringstream text;
};

void* fake() { return dlopen(std::getenv("GPUSHARE_RECORD_CUPTI"), RTLD_NOW); }

template <typename Record>
void add(const Record& record) {
  using Add = void (*)(const CUpti_Activity*);
  if (void* library = fake()) {
    reinterpret_cast<Add>(dlsym(library, "fake_add"))(reinterpret_cast<const CUpti_Activity*>(&record));
  }
}

void use_cuda() {
  const char* path = std::getenv("CUDA_INJECTION64_PATH");
  if (path == nullptr) return;
  void* library = dlopen(path, RTLD_NOW);
  if (library == nullptr) std::exit(99);
  reinterpret_cast<int (*)()>(dlsym(library, "InitializeInjection"))();
}

void add_device(Words& words) {
  CUpti_ActivityDevice5 device{};
  device.kind = CUPTI_ACTIVITY_KIND_DEVICE;
  device.numMultiprocessors = words;
  device.maxWarpsPerMultiprocessor = 64;
  device.maxBlocksPerMultiprocessor = 32;
  device.maxRegistersPerMultiprocessor = 65536;
  device.maxSharedMemoryPerMultiprocessor = 233472;
  device.numThreadsPerWarp = 32;
  device.coreClockRate = 1'980'000;
  device.computeCapabilityMajor = 9;
  device.globalMemorySize = 80'000'000'000;
  device.globalMemoryBandwidth = 3'350'000'000;
  device.name = "NVIDIA Fake";
  add(device);
}

void add_kernel(Words& words) {
  CUpti_ActivityKernel10 kernel{};
  kernel.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  const std::string name = words;
  kernel.name = strdup(name.c_str());
  kernel.start = words;
  kernel.end = words;
  kernel.streamId = words;
  kernel.correlationId = words;
  kernel.gridX = words;
  kernel.blockX = words;
  kernel.registersPerThread = words;
  kernel.dynamicSharedMemory = words;
  kernel.gridY = kernel.gridZ = kernel.blockY = kernel.blockZ = 1;
  add(kernel);
}

void add_copy(Words& words) {
  CUpti_ActivityMemcpy6 copy{};
  copy.kind = CUPTI_ACTIVITY_KIND_MEMCPY;
  const std::string direction = words;
  copy.start = words;
  copy.end = words;
  copy.bytes = words;
  copy.streamId = words;
  copy.correlationId = words;
  const std::string how = words;
  const std::string memory = words;
  copy.copyKind = static_cast<std::uint8_t>(direction == "h2d" ? 1 : direction == "d2h" ? 2 : 8);
  const std::uint8_t host =
      memory == "pageable" ? CUPTI_ACTIVITY_MEMORY_KIND_PAGEABLE : CUPTI_ACTIVITY_MEMORY_KIND_PINNED;
  copy.srcKind = direction == "h2d" ? host : static_cast<std::uint8_t>(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  copy.dstKind = direction == "d2h" ? host : static_cast<std::uint8_t>(CUPTI_ACTIVITY_MEMORY_KIND_DEVICE);
  if (how == "async") copy.flags = CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC;
  add(copy);
}

void add_memset(Words& words) {
  CUpti_ActivityMemset4 memset{};
  memset.kind = CUPTI_ACTIVITY_KIND_MEMSET;
  memset.start = words;
  memset.end = words;
  memset.bytes = words;
  memset.streamId = words;
  memset.correlationId = words;
  add(memset);
}

void add_wait(Words& words) {
  static const std::map<std::string, CUpti_ActivitySynchronizationType> kinds{
      {"event", CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_EVENT_SYNCHRONIZE},
      {"stream-event", CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_WAIT_EVENT},
      {"stream", CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_STREAM_SYNCHRONIZE},
      {"context", CUPTI_ACTIVITY_SYNCHRONIZATION_TYPE_CONTEXT_SYNCHRONIZE}};
  CUpti_ActivitySynchronization2 wait{};
  wait.kind = CUPTI_ACTIVITY_KIND_SYNCHRONIZATION;
  wait.type = kinds.at(words);
  wait.start = words;
  wait.end = words;
  wait.streamId = words;
  wait.correlationId = words;
  add(wait);
}

void add_call(Words& words) {
  CUpti_ActivityAPI call{};
  call.kind = CUPTI_ACTIVITY_KIND_RUNTIME;
  call.start = words;
  call.end = words;
  call.correlationId = words;
  call.cbid = 211;
  add(call);
}

void add_memory(Words& words, CUpti_ActivityMemoryOperationType what) {
  CUpti_ActivityMemory4 memory{};
  memory.kind = CUPTI_ACTIVITY_KIND_MEMORY2;
  memory.memoryOperationType = what;
  memory.memoryKind = CUPTI_ACTIVITY_MEMORY_KIND_DEVICE;
  memory.timestamp = words;
  memory.address = words;
  if (what == CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION) memory.bytes = words;
  add(memory);
}

void add_unknown(Words&) {
  CUpti_ActivityName name{};
  name.kind = CUPTI_ACTIVITY_KIND_NAME;
  add(name);
}

void end_context(Words&) {
  if (void* library = fake()) reinterpret_cast<void (*)()>(dlsym(library, "fake_end_context"))();
}

void hold(Words&) {
  if (void* library = fake()) reinterpret_cast<void (*)()>(dlsym(library, "fake_hold"))();
}

void await_flush(Words&) {
  if (void* library = fake()) reinterpret_cast<void (*)()>(dlsym(library, "fake_await_flush"))();
}

/// What the handlers leave with.
int exit_code = 0;

void terminate(Words& words) {
  exit_code = words;
  signal(SIGTERM, [](int) { _exit(exit_code); });
  raise(SIGTERM);
}

const std::map<std::string, void (*)(Words&)> verbs{
    {"cuda", [](Words&) { use_cuda(); }},
    {"device", add_device},
    {"kernel", add_kernel},
    {"copy", add_copy},
    {"memset", add_memset},
    {"wait", add_wait},
    {"call", add_call},
    {"take", [](Words& words) { add_memory(words, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_ALLOCATION); }},
    {"give", [](Words& words) { add_memory(words, CUPTI_ACTIVITY_MEMORY_OPERATION_TYPE_RELEASE); }},
    {"unknown", add_unknown},
    {"end-context", end_context},
    {"sleep", [](Words& words) { std::this_thread::sleep_for(std::chrono::milliseconds(static_cast<int>(words))); }},
    {"exit", [](Words& words) { std::exit(words); }},
    {"_exit", [](Words& words) { _exit(words); }},
    {"kill", [](Words&) { raise(SIGKILL); }},
    {"hold", hold},
    {"await-flush", await_flush},
    {"terminate", terminate},
};

}  // namespace

int main(int count, char** arguments) {
  pid_t child = -1;
  for (int i = 1; i < count; ++i) {
    Words words{std::istringstream(arguments[i])};
    const std::string verb = words;
    if (verb == "fork") {
      child = fork();
    } else if (verb == "join") {
      if (child == 0) _exit(0);
      waitpid(child, nullptr, 0);
      child = -1;
    } else if (child <= 0) {  // the child, or nobody has forked
      verbs.at(verb)(words);
    }
  }
  return 0;
}
