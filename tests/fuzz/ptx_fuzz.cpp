// SPDX-License-Identifier: Apache-2.0
// What must hold for any text whatever: reading and transforming it ends, in time, with a result or with InvalidInput,
// and a transformed module can be read again and has the same kernels. Anything else leaves as an exception, at which
// libFuzzer stops; the ordinary tests replay the corpus and mutations of it through the same function.
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

#include "core/model/errors.hpp"
#include "core/transform/ptx/module_variables.hpp"
#include "core/transform/worker/preemptible.hpp"

namespace gpushare::ptx {
namespace {

void promise(bool holds, const char* what) {
  if (!holds) throw std::logic_error(what);
}

void check_tokens(std::string_view text) {
  std::size_t end = 0;
  for (const Token& token : tokenize(text)) {
    promise(!token.text.empty() && token.offset >= end && token.end() <= text.size(), "tokens stand one after another");
    end = token.end();
  }
}

void check_transform(const std::string& text) {
  const Transformed transformed = make_preemptible(text);
  const auto names = Module(text).entry_names();
  promise(transformed.kernels.size() == names.size(), "every kernel has a verdict");
  std::vector<std::string> expected;
  for (const KernelVerdict& verdict : transformed.kernels) {
    expected.push_back(verdict.name);
    if (verdict.preemptible()) expected.push_back(worker_name(verdict.name));
  }
  try {
    promise(Module(transformed.ptx).entry_names() == expected,
            "a transformed module has the kernels and their workers");
  } catch (const InvalidInput& error) {
    throw std::logic_error(std::string("a transformed module cannot be read: ") + error.what());
  }
}

void check_variables(const std::string& text) {
  const auto names = Module(text).entry_names();
  if (names.empty()) return;
  for (const ModuleVariable& each : module_variables(text, names.front())) {
    promise(!each.name.empty() && each.bytes > 0, "a variable has a name and a size");
  }
}

template <typename Check>
void unless_refused(Check check) {
  try {
    check();
  } catch (const InvalidInput&) {  // the answer to a text that is not PTX
  }
}

}  // namespace
}  // namespace gpushare::ptx

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace gpushare::ptx;
  const std::string text(data, data + size);
  unless_refused([&] { check_tokens(text); });
  unless_refused([&] { check_transform(text); });
  unless_refused([&] { check_variables(text); });
  return 0;
}
