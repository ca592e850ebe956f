// SPDX-License-Identifier: Apache-2.0
// The C++ client's side of benchmarks/daemon_clients.py: `launch_times SOURCE NAME COUNT` prints how long one launch
// at a time takes from before launch() until wait() has returned, in nanoseconds, one per line. GPUSHARE_SOCKET names
// the server. Launches before these warm up.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <gpushare/client.hpp>
#include <iterator>
#include <vector>

namespace gs = gpushare::client;

namespace {

std::string content_of(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int count, char** arguments) {
  using Clock = std::chrono::steady_clock;
  if (count != 5) {
    std::fprintf(stderr, "launch_times SOURCE NAME BLOCK COUNT\n");
    return 2;
  }
  gs::Session session;
  gs::Application application = session.application("C++");
  const gs::Kernel kernel = session.kernel(content_of(arguments[1]), arguments[2]);
  gs::Memory values = session.allocate(32 * sizeof(float));
  const gs::Extent block(static_cast<std::uint32_t>(std::strtoul(arguments[3], nullptr, 10)));
  const auto launch = [&] { return application.launch(kernel, {.grid = 1, .block = block}, {values, 1.0F, 32}); };
  for (int warm_up = 0; warm_up < 100; ++warm_up) launch().wait();
  std::vector<Clock::duration> times(std::strtoul(arguments[4], nullptr, 10));
  for (auto& each : times) {
    const auto began = Clock::now();
    launch().wait();
    each = Clock::now() - began;
  }
  for (const auto& each : times) std::printf("%lld\n", static_cast<long long>(each.count()));
}
