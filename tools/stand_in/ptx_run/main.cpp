// SPDX-License-Identifier: Apache-2.0
// Runs the launch in a folder on the PTX interpreter and writes its arrays back:
//
//   gpushare_ptx_run FOLDER
//
// launch_file.hpp says what is in the folder. Prints what was run. Where the kernel faults, hangs, or its workers lose
// a task, says so on the standard error stream and ends with 1; the arrays stay as they were.
#include <iostream>

#include "core/model/errors.hpp"
#include "ptx_run/launch_file.hpp"
#include "ptx_run/worker_run.hpp"

namespace gpushare::interpreter {
namespace {

constexpr std::uint64_t most_instructions = 20'000'000'000;

/// A launch whose arrays can be read after it.
class ArraysOf {
 public:
  explicit ArraysOf(const LaunchFile& launch) : launch_(launch) {}

  std::vector<Argument> set_up(GlobalMemory& memory) {
    std::vector<Argument> values;
    for (const LaunchFile::Parameter& each : launch_.parameters) {
      if (each.array.empty()) {
        values.push_back(each.value);
        continue;
      }
      const std::vector<std::byte> bytes = read_bytes(each.array);
      arrays_.push_back({each.array, memory.allocate(bytes, each.array.stem().string()), bytes.size()});
      values.push_back(arguments(arrays_.back().address).front());
    }
    return values;
  }

  void write_back(const GlobalMemory& memory) const {
    for (const auto& [path, address, bytes] : arrays_) write_bytes(path, memory.read<std::byte>(address, bytes));
  }

 private:
  struct Array {
    std::filesystem::path path;
    std::uint64_t address = 0;
    std::size_t bytes = 0;
  };
  const LaunchFile& launch_;
  std::vector<Array> arrays_;
};

void run_as_it_is(const LaunchFile& file, const Kernel& kernel, ArraysOf& arrays, Scheduler& scheduler) {
  Machine on = machine;
  on.most_instructions = most_instructions;
  GlobalMemory memory;
  const std::vector<Argument> values = arrays.set_up(memory);
  const Finished done = run(kernel.program, file.entry, values, file.grid, memory, scheduler, on);
  arrays.write_back(memory);
  std::cout << "instructions " << done.instructions << "\n";
}

void run_by_workers(const LaunchFile& file, const Kernel& kernel, ArraysOf& arrays, Scheduler& scheduler) {
  Machine on = machine;
  on.most_instructions = most_instructions;
  std::mt19937_64 random(file.seed);
  WorkerPlan plan{.workers = file.workers, .chunk = file.chunk, .guide = file.guide};
  if (file.random_quotas) plan.at_look = resized_at_random(random);
  const KernelLaunch launch{file.entry, file.grid, [&](GlobalMemory& memory) { return arrays.set_up(memory); }};
  Outcome outcome;
  run_workers(launch, kernel, plan, scheduler, outcome, on);
  require(outcome.tasks_done() == tasks(file.grid),
          std::to_string(outcome.tasks_done()) + " tasks done of " + std::to_string(tasks(file.grid)));
  require(outcome.places_kept() == 0, "workers have not given back their places on SMs");
  arrays.write_back(outcome.memory);
  std::cout << "launches " << outcome.launches << "\nlooks " << outcome.looks << "\n";
}

void run_launch(const std::filesystem::path& folder) {
  const LaunchFile file = read_launch(folder);
  const std::vector<std::byte> text = read_bytes(file.ptx);
  const Kernel kernel(std::string(reinterpret_cast<const char*>(text.data()), text.size()));
  ArraysOf arrays(file);
  Scheduler scheduler(file.seed);
  (file.by_workers ? run_by_workers : run_as_it_is)(file, kernel, arrays, scheduler);
}

}  // namespace
}  // namespace gpushare::interpreter

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: gpushare_ptx_run FOLDER\n";
    return 2;
  }
  try {
    gpushare::interpreter::run_launch(argv[1]);
  } catch (const std::exception& error) {
    std::cerr << error.what() << "\n";
    return 1;
  }
  return 0;
}
