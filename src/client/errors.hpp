// SPDX-License-Identifier: Apache-2.0
// Errors that the server sends, as exceptions.
#pragma once

#include <exception>
#include <nlohmann/json_fwd.hpp>

namespace gpushare::client {

using Json = nlohmann::json;

/// The exception for a message of python/gpushare/daemon/errors.py. One that is not valid gives a ProtocolError.
std::exception_ptr told_error(const Json& message);

}  // namespace gpushare::client
