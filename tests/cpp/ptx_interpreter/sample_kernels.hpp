// SPDX-License-Identifier: Apache-2.0
// What the tests run: kernels of tests/data/ptx, and snippets with registers and pointers around them.
#pragma once

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/transform/ptx/ptx_module.hpp"
#include "ptx_interpreter/kernel.hpp"
#include "ptx_interpreter/run.hpp"

namespace gpushare::interpreter::test {

inline std::string ptx_file(const std::string& name) {
  const std::string path = std::string(GPUSHARE_SOURCE_DIR) + "/tests/data/ptx/" + name + ".ptx";
  std::ifstream file(path);
  if (!file) throw std::runtime_error("cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string module_text(const std::string& content) {
  return ".version 9.0\n.target sm_90\n.address_size 64\n" + content;
}

/// Entry `test` with pointers %out and %in, %tid.x in %t, and registers %r, %u, %q, %f, %d, %h, %p. %o points to this
/// thread's 64-bit word of the output, %i to its word of the input.
inline std::string snippet(const std::string& body, const std::string& module_scope = "") {
  return module_text(module_scope + R"(
.visible .entry test(.param .u64 out, .param .u64 in)
{
  .reg .b16 %h<16>; .reg .b32 %r<32>; .reg .b32 %t; .reg .b64 %q<32>; .reg .b64 %out, %in, %o, %i;
  .reg .f32 %f<16>; .reg .f64 %d<16>; .reg .pred %p<16>;
  ld.param.u64 %out, [out];
  ld.param.u64 %in, [in];
  mov.u32 %t, %tid.x;
  mad.lo.u32 %r31, %ctaid.x, %ntid.x, %t;
  mad.wide.u32 %o, %r31, 8, %out;
  mad.wide.u32 %i, %r31, 8, %in;
)" + body + "\n  ret;\n}\n");
}

/// What snippets end with that leave their result in %q0.
inline const std::string store_q0 = " st.global.u64 [%o], %q0;";

/// One 64-bit word a thread out of a snippet.
inline std::vector<std::uint64_t> words_of(const std::string& text, const std::vector<std::uint64_t>& input,
                                           const Grid& grid, std::uint64_t seed = 1) {
  const Kernel kernel(text);
  GlobalMemory memory;
  const std::size_t count = grid.blocks.count() * grid.threads.count();
  const auto out = memory.allocate(std::vector<std::uint64_t>(count), "out");
  const auto in = memory.allocate(input.empty() ? std::vector<std::uint64_t>(1) : input, "in");
  Scheduler scheduler(seed);
  run(kernel.program, "test", arguments(out, in), grid, memory, scheduler,
      {.sms = 2, .blocks_per_sm = 2, .most_instructions = 10'000'000});
  return memory.read<std::uint64_t>(out, count);
}

/// The word a single thread leaves.
inline std::uint64_t word_of(const std::string& body, const std::vector<std::uint64_t>& input = {}) {
  return words_of(snippet(body), input, {.threads = {1}}).front();
}

}  // namespace gpushare::interpreter::test
