// SPDX-License-Identifier: Apache-2.0
// A program that uses the GPU by the driver API, for tests: it obeys lines of its standard input, each with a line of
// its own. `failed ...` is the answer where the driver says no.
//
//   init                      launch HOW COUNT [ROUNDS]      value
//   sync, sync_context, query: wait for the stream                sync_event, query_event: for all but a last launch
//   capture HOW COUNT         graph COUNT                    spoil: asks for memory while it captures
//   capture_beside COUNT      captures 5 launches while another thread makes so many
//   launch_fault              a kernel that writes to no memory
//   put_beside VALUE          a copy that later ones of another stream overtake; says the values among its bytes
//   put HOW VALUE BYTES       get HOW BYTES             got: the values among the bytes of the last `get`
//   put_wrong HOW             where there is no memory  record, is_recorded: an event, and the driver's answer about it
//   call_back NAME            when the stream comes to it          called: the names so far
//   cross                     copies and launches of two streams that wait for one another; says the value
//   threads NUMBER COUNT      alloc HOW BYTES                free NUMBER        info
//   exit_by signal|thread     at SIGTERM: in its handler, or from another thread
//   fork LINE                 the child obeys this line and ends; says what the child answered
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <thread>
#include <vector>

#include "intercept/copies.hpp"
#include "intercept/forked.hpp"
#include "intercept/ways_to_launch.hpp"

namespace intercepted {
namespace {

class Program {
 public:
  std::string answer(const std::string& line) {
    std::istringstream words(line);
    std::string command;
    words >> command;
    try {
      const auto found = commands_.find(command);
      return found != commands_.end() ? found->second(words) : "no such command";
    } catch (const std::exception& error) {
      return std::string("failed ") + error.what();
    }
  }

 private:
  std::string init() {
    CHECK(cu(cuInit)(0));
    CUcontext context = nullptr;
    CHECK(cu(cuDevicePrimaryCtxRetain)(&context, 0));
    CHECK(cu(cuCtxSetCurrent)(context));
    kernels_ = std::make_unique<Kernels>();
    context_ = context;
    own_ = std::make_unique<Worker>();
    return "ok";
  }

  std::string launch(std::istringstream& words) {
    std::string how;
    int count = 0;
    unsigned rounds = 1;
    words >> how >> count >> rounds;
    const auto begin = std::chrono::steady_clock::now();
    kernels_->launch_often(how, *own_, count, words.fail() ? 1 : rounds);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
    return "took " + std::to_string(took.count());
  }

  std::string capture(std::istringstream& words) {
    std::string how;
    int count = 0;
    words >> how >> count;
    return captured([&] { kernels_->launch_often(how, *own_, count, 1); });
  }

  std::string capture_beside(std::istringstream& words) {
    int count = 0;
    words >> count;
    const Worker worker;
    return captured([&] {
      std::thread other([&] {
        CHECK(cu(cuCtxSetCurrent)(context_));
        kernels_->launch_often("kernel", worker, count, 1);
      });
      other.join();
      kernels_->launch_often("kernel", *own_, 5, 1);
    });
  }

  std::string spoil() {
    return captured([] {
      CUdeviceptr address = 0;
      cu(cuMemAlloc)(&address, 1000);
    });
  }

  std::string captured(const std::function<void()>& work) {
    CHECK(cu(cuStreamBeginCapture)(own_->stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    work();
    CUgraph graph = nullptr;
    CHECK(cu(cuStreamEndCapture)(own_->stream, &graph));
    if (graph_ != nullptr) CHECK(cu(cuGraphExecDestroy)(graph_));
    CHECK(cu(cuGraphInstantiate)(&graph_, graph, 0));
    std::size_t nodes = 0;
    CHECK(cu(cuGraphGetNodes)(graph, nullptr, &nodes));
    CHECK(cu(cuGraphDestroy)(graph));
    return "nodes " + std::to_string(nodes);
  }

  /// Launches once more behind it.
  std::string behind_event(CUresult (*wait)(CUevent)) {
    if (event_ == nullptr) CHECK(cu(cuEventCreate)(&event_, CU_EVENT_DISABLE_TIMING));
    CHECK(cu(cuEventRecord)(event_, own_->stream));
    kernels_->launch_often("kernel", *own_, 1, 1);
    CHECK(wait(event_));
    return "ok";
  }

  std::string launch_graph(std::istringstream& words) {
    int count = 0;
    words >> count;
    for (int turn = 0; turn < count; ++turn) CHECK(cu(cuGraphLaunch)(graph_, own_->stream));
    return "ok";
  }

  /// In all streams at once, and the values of all of them.
  std::string threads(std::istringstream& words) {
    int number = 0;
    int count = 0;
    words >> number >> count;
    std::vector<unsigned> values(static_cast<std::size_t>(number));
    std::vector<std::thread> running;
    for (unsigned& value : values) {
      running.emplace_back([this, &value, count] {
        CHECK(cu(cuCtxSetCurrent)(context_));
        const Worker worker;
        kernels_->launch_often("kernel", worker, count, 1);
        value = worker.value();
      });
    }
    for (std::thread& each : running) each.join();
    std::string all = "values";
    for (const unsigned value : values) all += " " + std::to_string(value);
    return all;
  }

  /// Made when it is first used.
  Copies& copies() {
    if (copies_ == nullptr) copies_ = std::make_unique<Copies>(own_->stream);
    return *copies_;
  }

  std::string put(std::istringstream& words) {
    std::string how;
    unsigned value = 0;
    std::size_t bytes = 0;
    words >> how >> value >> bytes;
    check(copies().put(how, static_cast<unsigned char>(value), bytes, copies().device()), "the copy");
    return "ok";
  }

  /// In the stream, held up by a word, while later copies in another stream begin and end.
  std::string put_beside(std::istringstream& words) {
    unsigned value = 0;
    words >> value;
    constexpr std::size_t bytes = 1'000'000;
    constexpr std::size_t bytes_beside = 4'000'000;
    void* word = nullptr;
    CUdeviceptr on_device = 0;
    CHECK(cu(cuMemHostAlloc)(&word, sizeof(unsigned), CU_MEMHOSTALLOC_DEVICEMAP));
    *static_cast<volatile unsigned*>(word) = 0;
    CHECK(cu(cuMemHostGetDevicePointer)(&on_device, word, 0));
    const Worker other;
    Copies beside(other.stream);
    CHECK(cu(cuStreamWaitValue32)(own_->stream, on_device, 1, CU_STREAM_WAIT_VALUE_GEQ));
    CHECK(copies().put("async", static_cast<unsigned char>(value), bytes, copies().device()));
    CHECK(beside.put("async", static_cast<unsigned char>(value + 1), bytes, beside.device()));
    for (int turn = 0; turn < 3; ++turn) {
      CHECK(beside.put("async", static_cast<unsigned char>(value + 1), bytes_beside, beside.device()));
      CHECK(cu(cuStreamSynchronize)(other.stream));
    }
    *static_cast<volatile unsigned*>(word) = 1;
    CHECK(copies().get("async", bytes, copies().device()));
    return copies().got();
  }

  std::string launch_fault() {
    kernels_->launch_often("kernel", Worker(own_->stream, 0), 1, 1);
    return "ok";
  }

  std::string put_wrong(std::istringstream& words) {
    std::string how;
    words >> how;
    return "says " + std::to_string(copies().put(how, 1, 1000, 0x1000));
  }

  std::string get(std::istringstream& words) {
    std::string how;
    std::size_t bytes = 0;
    words >> how >> bytes;
    check(copies().get(how, bytes, copies().device()), "the copy");
    return copies().got();
  }

  std::string record() {
    if (event_ == nullptr) CHECK(cu(cuEventCreate)(&event_, CU_EVENT_DISABLE_TIMING));
    CHECK(cu(cuEventRecord)(event_, own_->stream));
    return "ok";
  }

  std::string call_back(std::istringstream& words) {
    auto* name = new std::string;
    words >> *name;
    const auto note = [](void* given) {
      const std::unique_ptr<std::string> called(static_cast<std::string*>(given));
      const std::lock_guard lock(calls_lock);
      calls += " " + *called;
    };
    CHECK(cu(cuLaunchHostFunc)(own_->stream, note, name));
    return "ok";
  }

  static std::string called() {
    const std::lock_guard lock(calls_lock);
    return "called" + calls;
  }

  /// Each stream continues with what the other one has made of the value.
  std::string cross() {
    const Worker other;
    CUevent events[2];
    for (CUevent& event : events) CHECK(cu(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
    const unsigned begin = 5;
    CHECK(cu(cuMemcpyHtoDAsync)(own_->values, &begin, sizeof begin, own_->stream));
    for (int turn = 0; turn < 4; ++turn) {
      const Worker& at = turn % 2 == 0 ? *own_ : other;
      kernels_->launch_often("kernel", Worker(at.stream, own_->values), 1, 1);
      CHECK(cu(cuEventRecord)(events[turn % 2], at.stream));
      CHECK(cu(cuStreamWaitEvent)(turn % 2 == 0 ? other.stream : own_->stream, events[turn % 2], 0));
    }
    return "value " + std::to_string(own_->value());
  }

  std::string alloc(std::istringstream& words) {
    std::string how;
    std::size_t bytes = 0;
    words >> how >> bytes;
    CUdeviceptr address = 0;
    CUmemGenericAllocationHandle handle = 0;
    const CUmemAllocationProp properties{.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                         .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
                                         .location = {CU_MEM_LOCATION_TYPE_DEVICE, {0}}};
    std::function<CUresult()> free;
    if (how == "plain") {
      CHECK(cu(cuMemAlloc)(&address, bytes));
      free = [address] { return cu(cuMemFree)(address); };
    } else if (how == "async") {
      CHECK(cu(cuMemAllocAsync)(&address, bytes, own_->stream));
      free = [address, this] { return cu(cuMemFreeAsync)(address, own_->stream); };
    } else {
      CHECK(cu(cuMemCreate)(&handle, bytes, &properties, 0));
      free = [handle] { return cu(cuMemRelease)(handle); };
    }
    allocations_.push_back(free);
    return "number " + std::to_string(allocations_.size() - 1);
  }

  std::string free(std::istringstream& words) {
    std::size_t number = 0;
    words >> number;
    check(allocations_.at(number)(), "freeing");
    return "ok";
  }

  std::string info() {
    std::size_t free = 0;
    std::size_t total = 0;
    std::size_t of_device = 0;
    CHECK(cu(cuMemGetInfo)(&free, &total));
    CHECK(cu(cuDeviceTotalMem)(&of_device, 0));
    return "free " + std::to_string(free) + " total " + std::to_string(total) + " device " + std::to_string(of_device);
  }

  std::string fork_and_obey(std::istringstream& words) {
    const auto [said, status] = answered_by_child(words, [this](const std::string& line) { return answer(line); });
    return said + " status " + std::to_string(status);
  }

  static std::string exit_by(std::istringstream& words) {
    std::string what;
    words >> what;
    if (what == "signal") {
      std::signal(SIGTERM, [](int) { std::exit(7); });
    } else {
      static std::atomic<bool> is_to_exit = false;
      std::signal(SIGTERM, [](int) { is_to_exit = true; });
      std::thread([] {
        while (!is_to_exit) std::this_thread::sleep_for(std::chrono::milliseconds(1));
        std::exit(7);
      }).detach();
    }
    return "ok";
  }

  /// As a CUDA runtime of version 13 does for cudaDeviceSynchronize.
  static std::string sync_context_of_cuda_13() {
    const auto synchronize = found_function<CUresult (*)(CUcontext)>("cuCtxSynchronize", false);
    return CHECK(synchronize(nullptr)), std::string("ok");
  }

  const std::map<std::string, std::function<std::string(std::istringstream&)>> commands_ = {
      {"init", [this](auto&) { return init(); }},
      {"launch", [this](auto& words) { return launch(words); }},
      {"value", [this](auto&) { return "value " + std::to_string(own_->value()); }},
      {"launch_fault", [this](auto&) { return launch_fault(); }},
      {"sync", [this](auto&) { return CHECK(cu(cuStreamSynchronize)(own_->stream)), std::string("ok"); }},
      {"sync_context", [](auto&) { return CHECK(cu(cuCtxSynchronize)()), std::string("ok"); }},
      {"sync_context_13", [](auto&) { return sync_context_of_cuda_13(); }},
      {"query", [this](auto&) { return CHECK(cu(cuStreamQuery)(own_->stream)), std::string("ok"); }},
      {"sync_event", [this](auto&) { return behind_event(cu(cuEventSynchronize)); }},
      {"query_event", [this](auto&) { return behind_event(cu(cuEventQuery)); }},
      {"capture", [this](auto& words) { return capture(words); }},
      {"capture_beside", [this](auto& words) { return capture_beside(words); }},
      {"spoil", [this](auto&) { return spoil(); }},
      {"graph", [this](auto& words) { return launch_graph(words); }},
      {"threads", [this](auto& words) { return threads(words); }},
      {"alloc", [this](auto& words) { return alloc(words); }},
      {"free", [this](auto& words) { return free(words); }},
      {"info", [this](auto&) { return info(); }},
      {"exit_by", [](auto& words) { return exit_by(words); }},
      {"put", [this](auto& words) { return put(words); }},
      {"put_beside", [this](auto& words) { return put_beside(words); }},
      {"put_wrong", [this](auto& words) { return put_wrong(words); }},
      {"get", [this](auto& words) { return get(words); }},
      {"got", [this](auto&) { return copies().got(); }},
      {"record", [this](auto&) { return record(); }},
      {"is_recorded", [this](auto&) { return "says " + std::to_string(cu(cuEventQuery)(event_)); }},
      {"is_done", [this](auto&) { return "says " + std::to_string(cu(cuStreamQuery)(own_->stream)); }},
      {"call_back", [this](auto& words) { return call_back(words); }},
      {"called", [](auto&) { return called(); }},
      {"cross", [this](auto&) { return cross(); }},
      {"fork", [this](auto& words) { return fork_and_obey(words); }},
  };

  CUcontext context_ = nullptr;
  CUgraphExec graph_ = nullptr;
  CUevent event_ = nullptr;
  std::unique_ptr<Kernels> kernels_;
  std::unique_ptr<Worker> own_;
  std::unique_ptr<Copies> copies_;
  static inline std::mutex calls_lock;
  static inline std::string calls;  ///< names of callbacks
  std::vector<std::function<CUresult()>> allocations_;
};

}  // namespace
}  // namespace intercepted

int main() {
  intercepted::Program program;
  for (std::string line; std::getline(std::cin, line);) std::cout << program.answer(line) << std::endl;
}
