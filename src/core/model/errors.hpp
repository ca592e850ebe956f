// SPDX-License-Identifier: Apache-2.0
// The ways to fail: the caller gave something impossible, a policy broke its contract, a device failed, a job was
// cancelled, or gpushare has a bug.
#pragma once

#include <stdexcept>
#include <string>

namespace gpushare {

/// The user's input cannot be used. The message has the value, the expectation, and what to do.
struct InvalidInput : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// A policy returned an impossible plan, starved the work, or raised. Other policies are not affected.
struct PolicyError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A device failed, or its work did not end. Kinds of devices derive from this.
struct DeviceError : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A job will never end, because its application was cancelled.
struct Cancelled : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A promise inside gpushare does not hold: a bug to report.
struct BrokenInvariant : std::logic_error {
  using std::logic_error::logic_error;
};

inline void require(bool holds, const std::string& message) {
  if (!holds) throw InvalidInput(message);
}

/// With a message that is built only on failure: for checks of every launch.
template <typename Message>
void require_lazily(bool holds, Message message) {
  if (!holds) throw InvalidInput(message());
}

}  // namespace gpushare

#define GPUSHARE_EXPECT(condition, message)                                                                    \
  do {                                                                                                         \
    if (!(condition)) throw ::gpushare::BrokenInvariant(std::string("expected " #condition ": ") + (message)); \
  } while (false)
