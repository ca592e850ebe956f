// SPDX-License-Identifier: Apache-2.0
// How long the transformation takes, by lines of PTX: for text as compilers write it, and for long texts of one kind
// each, in which anything that looks at all the rest for each line would show as a higher time per line.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <string>

#include "core/transform/worker/preemptible.hpp"

namespace gpushare::benchmarks {
namespace {

const std::string header = ".version 9.0\n.target sm_90\n.address_size 64\n";

std::string kernel(const std::string& body, const std::string& name = "k") {
  return ".visible .entry " + name + "(.param .u64 p)\n{\n.reg .pred %p<3>;\n.reg .b32 %r<9>;\n.reg .b64 %rd<9>;\n" +
         "mov.u32 %r1, %tid.x;\nsetp.gt.u32 %p1, %r1, 7;\n" + body + "ret;\n}\n";
}

/// The lines that `line` gives for 0, 1, 2, ... until there are so many.
template <typename Line>
std::string repeated(std::int64_t lines, std::int64_t lines_each, Line line) {
  std::string text;
  for (std::int64_t number = 0; number < lines / lines_each; ++number) text += line(std::to_string(number));
  return text;
}

/// Loads, arithmetic and a bounds check now and then, as in an unrolled loop.
std::string ordinary(std::int64_t lines) {
  return header + kernel(repeated(lines, 8, [](const std::string& number) {
           return "\tmov.u32 \t%r2, %ctaid.x;\n\tmad.lo.s32 \t%r3, %r2, %r1, " + number + ";\n" +
                  "\tsetp.ge.s32 \t%p2, %r3, 1024;\n\t@%p2 bra \t$L__BB0_" + number + ";\n" +
                  "\tmul.wide.s32 \t%rd2, %r3, 4;\n\tld.global.nc.f32 \t%r4, [%rd2+" + number + "];\n" +
                  "\tst.global.f32 \t[%rd2], %r4;\n$L__BB0_" + number + ":\n";
         }));
}

std::string early_returns(std::int64_t lines) {
  return header + kernel(repeated(lines, 2, [](const std::string&) { return "@%p1 ret;\nbar.sync 0;\n"; }));
}

/// Each choice within the one before.
std::string nested(std::int64_t lines) {
  std::string ends;
  const std::string begins = repeated(lines, 2, [&](const std::string& number) {
    ends.insert(0, "$L" + number + ":\n");
    return "@%p1 bra $L" + number + ";\n";
  });
  return header + kernel(begins + ends);
}

std::string nested_loops(std::int64_t lines) {
  std::string ends;
  const std::string begins = repeated(lines, 2, [&](const std::string& number) {
    ends.insert(0, "@%p1 bra $L" + number + ";\n");
    return "$L" + number + ":\n";
  });
  return header + kernel(begins + ends);
}

/// A value that differs between threads arrives at one register after the other, against the order of the lines.
std::string long_taint(std::int64_t lines) {
  std::string text;
  repeated(lines, 1, [&](const std::string& number) {
    text.insert(0, "mov.u32 %q" + std::to_string(std::stol(number) + 1) + ", %q" + number + ";\n");
    return std::string();
  });
  return header + kernel(text + "mov.u32 %q0, %tid.x;\nret;\n");
}

std::string many_kernels(std::int64_t lines) {
  return header + repeated(lines, 10, [](const std::string& number) { return kernel("\n", "k" + number); });
}

std::string refused_kernels(std::int64_t lines) {
  return header + repeated(lines, 10,
                           [](const std::string& number) { return kernel("mov.u32 %r2, %envreg2;\n", "k" + number); });
}

/// Each calls the next.
std::string many_functions(std::int64_t lines) {
  return header +
         repeated(lines, 4,
                  [](const std::string& number) {
                    return ".func f" + number + "() {\n.reg .b32 %r<3>;\nmov.u32 %r1, %ctaid.x;\ncall f" +
                           std::to_string(std::stol(number) + 1) + ", ();\nret;\n}\n";
                  }) +
         kernel("@%p1 bra $L;\ncall f0, ();\n$L:\n");
}

std::string switches(std::int64_t lines) {
  return header + kernel(repeated(lines, 5, [](const std::string& number) {
           return "$t" + number + ": .branchtargets $A" + number + ", $B" + number + ";\nbrx.idx %r1, $t" + number +
                  ";\n$A" + number + ":\nmov.u32 %r2, %nctaid.x;\n$B" + number + ":\n";
         }));
}

/// Each a loop of its own, with an atomic that does not end it.
std::string atomic_loops(std::int64_t lines) {
  return header + kernel(repeated(lines, 3, [](const std::string& number) {
           return "$A" + number + ":\natom.global.add.u32 %r2, [%rd1], 1;\n@%p1 bra $A" + number + ";\n";
         }));
}

/// All in one loop, each decided by what lies in memory.
std::string looks_at_memory(std::int64_t lines) {
  return header + kernel("$L:\n" +
                         repeated(lines, 4,
                                  [](const std::string& number) {
                                    return "ld.global.u32 %x" + number + ", [%rd1];\nsetp.eq.u32 %y" + number + ", %x" +
                                           number + ", 0;\n@%y" + number + " bra $B" + number + ";\n$B" + number +
                                           ":\n";
                                  }) +
                         "@%p1 bra $L;\n");
}

/// Each initialized mbarrier is invalidated far behind.
std::string mbarriers(std::int64_t lines) {
  const auto all = [&](const std::string& what) {
    return repeated(lines, 2,
                    [&](const std::string& number) { return "mbarrier." + what + ".b64 [%m" + number + "];\n"; });
  };
  return header + kernel(all("init") + all("inval"));
}

void transform(benchmark::State& timing, std::string (*text_of)(std::int64_t)) {
  const std::string text = text_of(timing.range(0));
  for (auto _ : timing) benchmark::DoNotOptimize(ptx::make_preemptible(text));
  const auto lines = static_cast<double>(std::ranges::count(text, '\n'));
  timing.counters["per_1000_lines"] =
      benchmark::Counter(lines / 1000, benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  timing.SetBytesProcessed(timing.iterations() * static_cast<std::int64_t>(text.size()));
}

void sizes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgName("lines")->Arg(1000)->Arg(10'000)->Arg(100'000)->Unit(benchmark::kMillisecond);
}

BENCHMARK_CAPTURE(transform, ordinary, ordinary)->Apply(sizes);
BENCHMARK_CAPTURE(transform, early_returns, early_returns)->Apply(sizes);
BENCHMARK_CAPTURE(transform, nested, nested)->Apply(sizes);
BENCHMARK_CAPTURE(transform, nested_loops, nested_loops)->Apply(sizes);
BENCHMARK_CAPTURE(transform, long_taint, long_taint)->Apply(sizes);
BENCHMARK_CAPTURE(transform, many_kernels, many_kernels)->Apply(sizes);
BENCHMARK_CAPTURE(transform, refused_kernels, refused_kernels)->Apply(sizes);
BENCHMARK_CAPTURE(transform, many_functions, many_functions)->Apply(sizes);
BENCHMARK_CAPTURE(transform, switches, switches)->Apply(sizes);
BENCHMARK_CAPTURE(transform, atomic_loops, atomic_loops)->Apply(sizes);
BENCHMARK_CAPTURE(transform, looks_at_memory, looks_at_memory)->Apply(sizes);
BENCHMARK_CAPTURE(transform, mbarriers, mbarriers)->Apply(sizes);

}  // namespace
}  // namespace gpushare::benchmarks
