// SPDX-License-Identifier: Apache-2.0
// Kernels whose blocks wait for the block before them end as workers, too, however those are resized. Where that is
// seen they claim one task at a time: of a chunk all but the first would have to wait for those before them.
#include <gtest/gtest.h>

#include <random>
#include <string>

#include "ptx_run/worker_run.hpp"

namespace gpushare::interpreter {
namespace {

constexpr std::uint32_t chain_length = 40;

/// Each block waits until the one before has said how many there are up to it, and says it of itself.
/// `read`: loads into %r3 what that one has said, 0 before, from [%rd4-4].
std::string chain(const std::string& read, const std::string& function = "") {
  return ".version 7.0\n.target sm_70\n.address_size 64\n" + function + R"(
.visible .entry chain(.param .u64 said, .param .u64 out)
{
	.reg .pred %p<5>;
	.reg .b32 %r<9>;
	.reg .b64 %rd<9>;
	.shared .align 4 .b32 found;
	ld.param.u64 %rd1, [said];
	ld.param.u64 %rd2, [out];
	mov.u32 %r1, %ctaid.x;
	mul.wide.u32 %rd3, %r1, 4;
	add.s64 %rd4, %rd1, %rd3;
	add.s64 %rd5, %rd2, %rd3;
	mov.u32 %r2, %tid.x;
	setp.eq.u32 %p1, %r2, 0;
	setp.eq.u32 %p2, %r1, 0;
	mov.u32 %r3, 0;
	@%p2 bra $say;
$wait:
)" + read +
         R"(
	setp.eq.u32 %p3, %r3, 0;
	@%p3 bra $wait;
$say:
	add.u32 %r3, %r3, 1;
	bar.sync 0;
	@%p1 st.global.u32 [%rd5], %r3;
	membar.gl;
	@%p1 atom.global.exch.b32 %r4, [%rd4], %r3;
	ret;
}
)";
}

struct Waiter {
  const char* name;
  std::string ptx;
  bool is_seen_to_wait = true;
};

/// A function that reads with this statement.
std::string peek(const std::string& read) {
  return R"(
.func (.param .b32 result) peek(.param .b64 place)
{
	.reg .b32 %r<2>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [place];
	)" +
         read +
         R"(
	st.param.b32 [result+0], %r1;
	ret;
})";
}

const std::string call_peek = R"(	{
	.param .b64 place;
	.param .b32 result;
	add.s64 %rd6, %rd4, -4;
	st.param.b64 [place+0], %rd6;
	call.uni (result), peek, (place);
	ld.param.b32 %r3, [result+0];
	})";
const std::string by_leader = R"(	@%p1 atom.global.or.b32 %r5, [%rd4+-4], 0;
	@%p1 st.shared.u32 [found], %r5;
	bar.sync 0;
	ld.shared.u32 %r3, [found];
	bar.sync 0;)";

std::vector<Waiter> waiters() {
  return {{"Atomic", chain("\tatom.global.add.u32 %r3, [%rd4+-4], 0;")},
          {"CompareAndSwap", chain("\tatom.global.cas.b32 %r3, [%rd4+-4], 0, 0;")},
          {"Volatile", chain("\tld.volatile.global.u32 %r3, [%rd4+-4];")},
          {"NotCached", chain("\tld.global.cv.u32 %r3, [%rd4+-4];")},
          {"FromL2", chain("\tld.global.cg.u32 %r3, [%rd4+-4];")},
          {"Plain", chain("\tld.global.u32 %r3, [%rd4+-4];"), false},
          {"PlainFenced", chain("\tmembar.gl;\n\tld.global.u32 %r3, [%rd4+-4];")},
          {"Called", chain(call_peek, peek("atom.add.u32 %r1, [%rd1], 0;"))},
          {"CalledFenced", chain(call_peek, peek("membar.gl;\n\tld.global.u32 %r1, [%rd1];"))},
          {"CalledPlain", chain(call_peek, peek("ld.global.u32 %r1, [%rd1];")), false},
          {"ByLeader", chain(by_leader)}};
}

class EveryWaiter : public testing::TestWithParam<Waiter> {};

INSTANTIATE_TEST_SUITE_P(Waiters, EveryWaiter, testing::ValuesIn(waiters()),
                         [](const auto& info) { return std::string(info.param.name); });

TEST_P(EveryWaiter, EndsHoweverItsWorkersAreResized) {
  const KernelLaunch launch{"chain", {.blocks = {chain_length}, .threads = {32}}, [](GlobalMemory& memory) {
                              const auto said = memory.allocate(std::vector<std::uint32_t>(chain_length), "said");
                              return arguments(said, memory.allocate(std::vector<std::uint32_t>(chain_length), "out"));
                            }};
  const Kernel original(GetParam().ptx);
  const Kernel worker(ptx::make_preemptible(GetParam().ptx).ptx);
  for (std::uint64_t seed = 0; seed < 6; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    std::mt19937_64 random(seed);
    Scheduler scheduler(seed);
    Outcome by_workers, as_it_is;
    const WorkerPlan plan{.workers = 6, .chunk = 2, .at_look = resized_at_random(random)};
    ASSERT_NO_THROW(run_workers(launch, worker, plan, scheduler, by_workers,
                                {.sms = sms, .blocks_per_sm = blocks_per_sm, .most_instructions = 5'000'000}));
    run_original(launch, original, by_workers, scheduler, as_it_is);
    ASSERT_EQ(GlobalMemory::difference(as_it_is.memory, by_workers.memory), "");
    ASSERT_EQ(by_workers.tasks_done(), chain_length);
    ASSERT_EQ(by_workers.chunks_done() == chain_length, GetParam().is_seen_to_wait);
  }
}

}  // namespace
}  // namespace gpushare::interpreter
