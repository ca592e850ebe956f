// SPDX-License-Identifier: Apache-2.0
#include <sys/wait.h>
#include <unistd.h>

#include "served.hpp"

namespace {

class Errors : public Served {
 protected:
  gs::Application application = session.application("alice");
};

TEST_F(Errors, ASourceThatDoesNotCompileComesWithTheLog) {
  gs::Kernel broken = session.kernel("__global__ void broken() { undeclared = 1; }", "broken");
  expect_error_naming<gs::CompileError>({"undeclared"}, [&] { broken.load(); });
  expect_error_naming<gs::InvalidInput>({"undeclared"}, [&] { application.launch(broken, {}, {}); });
}

TEST_F(Errors, GridsAndBlocksAreChecked) {
  const gs::Kernel increment = kernel("increment");
  const gs::Memory value = session.allocate(4);
  const auto launch = [&](const gs::Geometry& geometry) { application.launch(increment, geometry, {value}); };
  expect_error_naming<gs::InvalidInput>({"increment", "grid", "0 x 1 x 1"}, [&] { launch({.grid = 0}); });
  expect_error_naming<gs::InvalidInput>({"grid", "1 x 70000 x 1"}, [&] { launch({.grid = {1, 70'000}}); });
  expect_error_naming<gs::InvalidInput>({"grid", "65536 x 65535 x 1"}, [&] { launch({.grid = {65'536, 65'535}}); });
  expect_error_naming<gs::InvalidInput>({"block", "1025 x 1 x 1"}, [&] { launch({.block = 1025}); });
  expect_error_naming<gs::InvalidInput>({"block", "512 x 4 x 1", "1024"}, [&] { launch({.block = {512, 4}}); });
  expect_error_naming<gs::InvalidInput>({"shared"}, [&] { launch({.shared_bytes = 1UL << 40}); });
}

TEST_F(Errors, ArgumentsAreChecked) {
  const gs::Kernel types = kernel("types");
  const gs::Memory out = session.allocate(72);
  gs::Session second;
  const gs::Memory foreign = second.allocate(72);
  gs::Memory freed = session.allocate(72);
  freed.free();
  const auto refused = [&](std::size_t place, const gs::Argument& wrong, std::initializer_list<const char*> named) {
    const Pair pair{};
    std::vector<gs::Argument> arguments{out, 0, 0, false, 0, 0, 0, gs::Argument::bytes_of(pair), nullptr};
    arguments.at(place - 1) = wrong;
    expect_error_naming<gs::InvalidInput>({"types", ("argument " + std::to_string(place)).c_str()},
                                          [&] { application.launch(types, {}, arguments); });
    expect_error_naming<gs::InvalidInput>(named, [&] { application.launch(types, {}, arguments); });
  };
  refused(1, 1, {"double*"});
  refused(1, gs::Argument::bytes_of(&out), {"double*"});
  refused(1, foreign, {"another session"});
  refused(1, freed, {"freed", "72"});
  refused(1, gs::Argument(out, 73), {"73", "72"});
  refused(2, 128, {"char", "128", "-128", "127"});
  refused(2, -129, {"-129"});
  refused(2, 1.5, {"char"});
  refused(2, out, {"char"});
  refused(3, -1, {"unsigned short", "-1", "65535"});
  refused(4, 2, {"bool", "2"});
  refused(5, 1UL << 63, {"long long", "9223372036854775808"});
  refused(6, 1e300, {"float"});
  refused(6, gs::Argument::bytes_of(1.0), {"float", "4", "8"});
  refused(8, 1, {"16", "bytes_of"});
  expect_error_naming<gs::InvalidInput>({"types", "9", "double*, char", "2"},
                                        [&] { application.launch(types, {}, {out, 1}); });
}

TEST_F(Errors, ObjectsOfAnotherSessionAreRefused) {
  gs::Session second;
  const gs::Kernel foreign = second.kernel(served_source, "increment");
  const gs::Memory value = session.allocate(4);
  expect_error_naming<gs::InvalidInput>({"increment", "alice"}, [&] { application.launch(foreign, {}, {value}); });
}

TEST_F(Errors, MovedObjectsAreRefused) {
  gs::Memory value = session.allocate(4);
  gs::PinnedMemory pinned = session.pin(4);
  gs::PendingCopy copy = value.begin_write(pinned, 4);
  gs::Kernel increment = kernel("increment");
  gs::Job job = application.launch(increment, {}, {value});
  gs::PendingCopy(std::move(copy)).wait();
  gs::Job(std::move(job)).wait();
  const gs::Kernel moved = std::move(increment);
  expect_error_naming<gs::InvalidInput>({"copy", "moved"}, [&] { copy.wait(); });
  expect_error_naming<gs::InvalidInput>({"job", "moved"}, [&] { job.wait(); });
  expect_error_naming<gs::InvalidInput>({"kernel", "moved"}, [&] { increment.load(); });
  expect_error_naming<gs::InvalidInput>({"kernel", "moved"}, [&] { increment.name(); });
  expect_error_naming<gs::InvalidInput>({"kernel", "moved"}, [&] { application.launch(increment, {}, {value}); });
}

TEST_F(Errors, NamesAreTakenOnce) {
  expect_error_naming<gs::InvalidInput>({"alice"}, [&] { session.application("alice"); });
  expect_error_naming<gs::InvalidInput>({"name"}, [&] { session.application(""); });
}

TEST_F(Errors, WhatTheServerDoesNotPermitIsRefused) {
  expect_error_naming<gs::RefusedError>({"bob", "7"}, [&] { session.application("bob", {.priority = 7}); });
}

TEST_F(Errors, AForkedChildHasToConnectAnew) {
  const gs::Kernel increment = kernel("increment");
  gs::Memory value = session.allocate(sizeof(std::uint32_t));
  const gs::PinnedMemory pinned = session.pin(sizeof(std::uint32_t));
  gs::PendingCopy copy = value.begin_write(pinned, sizeof(std::uint32_t));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);
    expect_error_naming<gs::InvalidInput>({"forked"}, [&] { session.allocate(4); });
    expect_error_naming<gs::InvalidInput>({"forked"}, [&] { copy.wait(); });
    expect_error_naming<gs::InvalidInput>({"forked"}, [&] { application.launch(increment, {}, {value}); });
    {
      const gs::Memory of_parent = std::move(value);  // is not freed here
      gs::Session own;
      gs::Memory memory = own.allocate(sizeof(std::uint32_t));
      own.application("child").launch(own.kernel(served_source, "increment"), {}, {memory}).wait();
      EXPECT_EQ(downloaded<std::uint32_t>(memory), std::vector<std::uint32_t>{1});
    }
    ::_exit(HasFailure() ? 1 : 0);
  }
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  copy.wait();
  application.launch(increment, {}, {value}).wait();
  EXPECT_EQ(downloaded<std::uint32_t>(value), std::vector<std::uint32_t>{1});
}

}  // namespace
