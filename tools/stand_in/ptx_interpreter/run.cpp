// SPDX-License-Identifier: Apache-2.0
#include "ptx_interpreter/run.hpp"

#include <memory>

#include "core/model/errors.hpp"

namespace gpushare::interpreter {
namespace {

std::vector<std::byte> packed(const FunctionCode& entry, const std::vector<Argument>& arguments) {
  require(arguments.size() == entry.parameters.size(), "kernel '" + entry.name + "' takes " +
                                                           std::to_string(entry.parameters.size()) +
                                                           " arguments, not " + std::to_string(arguments.size()));
  std::vector<std::byte> bytes(entry.parameter_bytes);
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const LocalBytes& parameter = entry.parameters[i];
    require(arguments[i].size() == parameter.bytes, "argument " + std::to_string(i) + " of kernel '" + entry.name +
                                                        "' has " + std::to_string(parameter.bytes) + " bytes, not " +
                                                        std::to_string(arguments[i].size()));
    std::memcpy(bytes.data() + parameter.offset, arguments[i].data(), parameter.bytes);
  }
  return bytes;
}

class Run {
 public:
  Run(Launch& launch, Scheduler& scheduler, const Machine& machine)
      : launch_(launch), scheduler_(scheduler), machine_(machine), blocks_(launch.grid.blocks.count()) {}

  Finished to_the_end() {
    const std::size_t places = static_cast<std::size_t>(machine_.sms) * machine_.blocks_per_sm;
    // As the hardware does it: one block on each SM, then the second one.
    for (std::size_t i = 0; i < places && started_ < blocks_; ++i) start(static_cast<std::uint32_t>(i % machine_.sms));
    while (!resident_.empty()) run_some();
    return {launch_.instructions, blocks_};
  }

 private:
  void start(std::uint32_t sm) {
    const std::size_t block = started_++;
    resident_.push_back(std::make_unique<Block>(launch_, block, scheduler_.pick_sm(block, sm), scheduler_.poison()));
  }

  void run_some() {
    const std::size_t place = scheduler_.pick_block(resident_.size());
    Block& block = *resident_[place];
    if (block.runnable.empty()) {
      throw Deadlock(block.describe() + ": no thread can run:" + block.describe_waiting());
    }
    Thread& thread = block.threads[block.runnable[scheduler_.pick_thread(block.runnable.size())]];
    launch_.instructions += run_thread(thread, scheduler_.pick_instructions());
    block.settle(thread);
    if (launch_.instructions > machine_.most_instructions) {
      throw Endless(block.describe() + ": no end after " + std::to_string(launch_.instructions) +
                    " instructions:" + block.describe_waiting());
    }
    if (block.exited == block.threads.size()) replace(place);
  }

  void replace(std::size_t place) {
    const std::uint32_t sm = resident_[place]->sm;
    resident_[place] = std::move(resident_.back());
    resident_.pop_back();
    if (started_ < blocks_) start(sm);
  }

  Launch& launch_;
  Scheduler& scheduler_;
  const Machine& machine_;
  std::size_t blocks_;
  std::size_t started_ = 0;
  std::vector<std::unique_ptr<Block>> resident_;
};

}  // namespace

Finished run(const Program& program, std::string_view kernel, const std::vector<Argument>& arguments, const Grid& grid,
             GlobalMemory& memory, Scheduler& scheduler, const Machine& machine) {
  const FunctionCode& entry = program.entry(kernel);
  require(grid.blocks.count() > 0 && grid.threads.count() > 0 && grid.threads.count() <= 1024,
          "a grid needs blocks, and blocks of 1 to 1024 threads");
  if (!memory.is_loaded(program)) memory.load(program);
  Launch launch{.program = program,
                .entry = entry,
                .grid = grid,
                .memory = memory,
                .parameters = packed(entry, arguments),
                .sms = machine.sms,
                .strict_barriers = machine.strict_barriers};
  return Run(launch, scheduler, machine).to_the_end();
}

}  // namespace gpushare::interpreter
