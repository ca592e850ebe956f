// SPDX-License-Identifier: Apache-2.0
// Every policy, one line each: the name users type, what it does, the paper and section that it implements, whether it
// is an oracle, and the function that makes it. The conformance suite, the CLI and the documentation read this table.
#include "core/policies/registry.hpp"

#include <algorithm>
#include <array>

#include "core/model/errors.hpp"
#include "core/policy_support/options.hpp"
#include "core/policy_support/whole_up_to.hpp"

// clang-format off
#define GPUSHARE_POLICIES(entry)                                                                                        \
  entry("fifo", "order of arrival, as the hardware does it", "SRTF 5.2.1", online, make_fifo)                           \
  entry("mpmax", "order of arrival, with a block's room reserved for others", "SRTF 5.2.2", online, make_mpmax)         \
  entry("even", "an equal part of the SMs for each", "CD-search 3.1", online, make_even)                                \
  entry("cd-search", "fewer SMs for the memory-bound: as many as keep their rate", "CD-search 4", online, make_cd_search) \
  entry("round-robin", "the whole GPU to one application after the other", "Slate V.A", online, make_round_robin)       \
  entry("slate", "complementary launches on dedicated SMs, else one by one", "Slate III", online, make_slate)           \
  entry("srtf", "shortest predicted remaining time first, sampled on one SM", "SRTF 5.1.1", online, make_srtf)          \
  entry("srtf-adaptive", "srtf, sharing SMs where it would be unfair", "SRTF 5.1.2", online, make_srtf_adaptive)        \
  entry("effisha-static", "the highest priority alone, preempting others", "EffiSha 7", online, make_effisha_static)    \
  entry("effisha-dynamic", "slices by priority, which waiting raises", "EffiSha 7", online, make_effisha_dynamic)       \
  entry("pkm", "kernels in slices of K blocks, by priority at their ends", "EffiSha 2", online, make_pkm)               \
  entry("srtf-zero-sampling", "srtf with known runtimes (oracle)", "SRTF 6.2.2", oracle, make_srtf_zero_sampling)       \
  entry("sjf", "shortest job first (oracle, upper bound)", "SRTF 2", oracle, make_shortest_job_first)                   \
  entry("ljf", "longest job first (oracle, lower bound)", "SRTF 2", oracle, make_longest_job_first)                      \
  entry("mix", "blocks of each on every SM, in the numbers that get most done", "SMK, Warped-Slicer", online, make_mix)                     \
  entry("auto", "a mix, a partition or one at a time, whichever promises most", "SMK, SRTF 5.1.1", online, make_auto)               \
  entry("fair", "SMs by weight; an application that got less gets more later", "weighted fair sharing", online, make_fair)             \
  entry("edf", "earliest deadline first, with an admission test", "Liu and Layland", online, make_edf)
// clang-format on

namespace gpushare {

#define GPUSHARE_DECLARE(name, summary, source, is_oracle, make) std::unique_ptr<Policy> make(const PolicyOptions&);
GPUSHARE_POLICIES(GPUSHARE_DECLARE)

namespace {

constexpr bool online = false;
constexpr bool oracle = true;

constexpr Duration as_the_policy_has_it{-1};

#define GPUSHARE_ROW(name, summary, source, is_oracle, make) PolicyEntry{name, summary, source, is_oracle, make},
constexpr std::array table{GPUSHARE_POLICIES(GPUSHARE_ROW)};

std::string known_names() {
  std::string names;
  for (const PolicyEntry& each : table) names += (names.empty() ? "" : ", ") + std::string(each.name);
  return names;
}

}  // namespace

std::span<const PolicyEntry> policies() { return table; }

void require_open_policy(std::string_view text) {
  const std::string name = PolicyOptions(text).policy();
  const auto entry = std::ranges::find(table, name, &PolicyEntry::name);
  require(entry == table.end() || !entry->is_oracle,
          "policy '" + name +
              "' has to be told what launches take alone, which a session cannot know of future work: take srtf, which "
              "predicts it, or compare workloads that are known beforehand");
}

namespace {

std::unique_ptr<Policy> made(const PolicyOptions& options) {
  const auto entry = std::ranges::find(table, options.policy(), &PolicyEntry::name);
  require(entry != table.end(), "no policy '" + options.policy() + "'; known: " + known_names());
  std::unique_ptr<Policy> policy = entry->make(options);
  const Duration longest = whole_up_to(options, as_the_policy_has_it);
  options.require_all_known();
  if (longest == as_the_policy_has_it) return policy;
  return std::make_unique<WholeUpTo>(std::move(policy), longest);
}

}  // namespace

std::unique_ptr<Policy> make_policy(std::string_view text) { return made(PolicyOptions(text)); }

std::vector<OptionEntry> policy_options(std::string_view name) {
  const PolicyOptions options(name);
  made(options);
  return options.described();
}

}  // namespace gpushare
