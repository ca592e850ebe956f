// SPDX-License-Identifier: Apache-2.0
// Does one thing with a server, and prints how it went: `probe WHAT SOCKET [KERNEL]`. The kernels are those of
// tests/py/daemon/standin.py, whose sources do not matter.
#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <gpushare/client.hpp>
#include <vector>

namespace gs = gpushare::client;
using namespace std::chrono_literals;

namespace {

/// The most derived kinds first.
const char* kind_of(const gs::Error* error) {
  if (dynamic_cast<const gs::WorkerLostError*>(error) != nullptr) return "WorkerLostError";
  if (dynamic_cast<const gs::DeviceLostError*>(error) != nullptr) return "DeviceLostError";
  if (dynamic_cast<const gs::DaemonGoneError*>(error) != nullptr) return "DaemonGoneError";
  if (dynamic_cast<const gs::CudaError*>(error) != nullptr) return "CudaError";
  if (dynamic_cast<const gs::DeviceError*>(error) != nullptr) return "DeviceError";
  if (dynamic_cast<const gs::InvalidInput*>(error) != nullptr) return "InvalidInput";
  if (dynamic_cast<const gs::RefusedError*>(error) != nullptr) return "RefusedError";
  if (dynamic_cast<const gs::TimeoutError*>(error) != nullptr) return "TimeoutError";
  if (dynamic_cast<const gs::ProtocolError*>(error) != nullptr) return "ProtocolError";
  return "Error";
}

void say(const std::string& line) {
  std::puts(line.c_str());
  std::fflush(stdout);
}

template <typename Call>
void print_end(const char* subject, Call call) {
  try {
    call();
    say(std::string(subject) + ": ok");
  } catch (const gs::Error& error) {
    say(std::string(subject) + ": " + kind_of(&error) + ": " + error.what());
  }
}

gs::Kernel standin_kernel(gs::Session& session, const char* name) {
  return session.kernel("__global__ void k() {}", name);
}

void connect(const char* socket) {
  print_end("connect", [&] { gs::Session({.socket = socket, .patience = 2s}); });
}

void add_once(const char* socket) {
  gs::Session session({.socket = socket});
  const gs::Kernel add = standin_kernel(session, "add_to");
  std::array<unsigned char, 3> values{1, 2, 3};
  gs::Memory from = session.allocate(values.size());
  gs::Memory to = session.allocate(values.size());
  from.write(values.data(), values.size());
  session.application("again").launch(add, {}, {from, to}).wait();
  to.read(values.data(), values.size());
  if (values != std::array<unsigned char, 3>{1, 2, 3}) throw gs::Error("the result is wrong");
}

/// The one that ends may still take a connection.
void add_on_the_next_worker(const char* socket) {
  for (;;) {
    try {
      return add_once(socket);
    } catch (const gs::WorkerLostError&) {
    }
  }
}

/// A job that takes the worker along, beside one that waits for its end.
void fail(const char* socket, const char* kernel) {
  gs::Session session({.socket = socket});
  const gs::Kernel sleep = standin_kernel(session, "sleep");
  const gs::Kernel failing = standin_kernel(session, kernel);
  gs::Memory memory = session.allocate(100);
  gs::Job bystander = session.application("bystander").launch(sleep, {}, {60.0});
  gs::Job culprit = session.application("culprit").launch(failing, {}, {});
  print_end("culprit", [&] { culprit.wait(); });
  print_end("bystander", [&] { bystander.wait(); });
  print_end("bystander", [&] { bystander.wait(); });
  print_end("memory", [&] { memory.read(std::vector<std::byte>(100).data(), 100); });
  print_end("synchronize", [&] { session.synchronize(); });
  print_end("again", [&] { add_on_the_next_worker(socket); });
}

/// Does all there is to do until an error, or until it is killed.
void loop(const char* socket) {
  print_end("loop", [&] {
    gs::Session session({.socket = socket});
    gs::Application application = session.application("victim");
    const gs::Kernel add = standin_kernel(session, "add_to");
    const gs::Kernel sleep = standin_kernel(session, "sleep");
    const std::vector<std::byte> values(200'000);
    for (int round = 0;; ++round) {
      gs::Memory memory = session.allocate(values.size());
      gs::PinnedMemory pinned = session.pin(1000);
      gs::PendingCopy copy = memory.begin_write(pinned, 1000);
      memory.write(values.data(), memory.size());
      std::vector<gs::Job> jobs;
      for (int launch = 0; launch < 3; ++launch) jobs.push_back(application.launch(add, {}, {memory, memory}));
      jobs.push_back(application.launch(sleep, {}, {0.01}));
      if (round == 0) say("works");
      if (round % 2 == 0) jobs.back().wait();
      copy.wait();
    }
  });
}

/// Uses the connection now and then until an error; on any device.
void hold(const char* socket) {
  print_end("hold", [&] {
    gs::Session session({.socket = socket});
    gs::Memory memory = session.allocate(1000);
    say("works");
    for (;;) {
      memory.write(std::vector<std::byte>(1000).data(), 1000);
      session.synchronize();
    }
  });
}

}  // namespace

int main(int count, char** arguments) {
  const std::string what = count > 2 ? arguments[1] : "";
  if (what == "connect") {
    connect(arguments[2]);
  } else if (what == "connect-to-default") {
    connect("");
  } else if (what == "fail" && count > 3) {
    fail(arguments[2], arguments[3]);
  } else if (what == "loop") {
    loop(arguments[2]);
  } else if (what == "hold") {
    hold(arguments[2]);
  } else {
    std::fprintf(stderr, "probe connect|connect-to-default|loop|hold SOCKET, or probe fail SOCKET KERNEL\n");
    return 2;
  }
  return 0;
}
