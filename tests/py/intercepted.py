# SPDX-License-Identifier: Apache-2.0
"""Programs that run under src/intercept, over the driver of tools/stand_in, and the scheduler's side of their page."""

import json
import os
import pathlib
import subprocess

import pytest
import stand_in_gpu

KERNEL, COOPERATIVE, CLUSTER, GRAPH = 1, 2, 3, 4
FREE, LIMITED, HELD = 0, 1, 2
OUT_OF_MEMORY = "says 2"


def build_folder():
    """Where the stand-in was built, and beside it what these tests need; None where that is not there."""
    library = stand_in_gpu.library()
    if library is None or not (library.parent / "gpushare_intercepted_program").exists():
        return None
    return library.parent


def real_driver():
    """The driver of a GPU, on which these tests run instead; None for the stand-in."""
    named = os.environ.get("GPUSHARE_INTERCEPTED_DRIVER")
    return pathlib.Path(named) if named else None


def require_built():
    """Skips the test where the programs were not built, or fails where all tests have to run."""
    if build_folder() is None:
        if os.environ.get("GPUSHARE_REQUIRE_PTX_RUN") == "1":
            pytest.fail("gpushare_intercepted_program was not built", pytrace=False)
        pytest.skip("gpushare_intercepted_program was not built")


def value_after(launches):
    """What the kernel `step` has made of 0."""
    value = 0
    for _ in range(launches):
        value = (3 * value + 1) % 2**32
    return value


class Lines:
    """A process that answers each line of its input with a line."""

    def __init__(self, command, environment=None):
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            bufsize=1,
            env=environment,
        )

    def send(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def read(self):
        return self.process.stdout.readline().strip()

    def ask(self, line):
        self.send(line)
        return self.read()

    def end(self):
        """Lets it come to its end; what it wrote to stderr."""
        _, errors = self.process.communicate(timeout=60)
        return errors

    def kill(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            stream.close()


class Page(Lines):
    """A page, and the process that keeps it."""

    def __init__(self):
        super().__init__([str(build_folder() / "gpushare_intercepted_page_keeper")])
        self.path = self.read()

    def tell(self, line):
        assert self.ask(line) == "ok"

    def lease(self, state, limit_us=0):
        self.tell(f"lease {state} {limit_us}")

    def dump(self):
        return json.loads(self.ask("dump"))

    def kernels(self):
        """Launches by name, kind and grid."""
        return {
            (k["name"], k["kind"], tuple(k["grid"])): k["launches"] for k in self.dump()["kernels"] if k["launches"]
        }

    def process_slot(self, index=0):
        return self.dump()["processes"][index]


class Machine:
    """A folder with the library in the driver's place, and what was started in it."""

    def __init__(self, folder: pathlib.Path):
        built = build_folder()
        self.driver_log = folder / "driver.log"
        self.libraries = folder / "libraries"
        self.libraries.mkdir()
        (self.libraries / "libcuda.so.1").symlink_to(built / "intercept" / "libcuda.so.1")
        (self.libraries / "libgpushare_images.so").symlink_to(built / "intercept" / "libgpushare_images.so")
        (self.libraries / "libcuda-real.so").symlink_to(real_driver() or stand_in_gpu.library())
        self.started = []

    def environment(self, page, **more):
        own = {"LD_LIBRARY_PATH": str(self.libraries), "GPUSHARE_STAND_IN_LOG": str(self.driver_log)}
        if page is not None:
            own["GPUSHARE_PROGRAM"] = getattr(page, "path", page)
        return {name: value for name, value in os.environ.items() if not name.startswith("GPUSHARE_")} | own | more

    def page(self):
        self.started.append(Page())
        return self.started[-1]

    def program(self, page, init=True, name="gpushare_intercepted_program", **more):
        """``page``: a Page, the path of something else, or None. ``more``: variables of its environment."""
        program = Lines([str(build_folder() / name)], self.environment(page, **more))
        self.started.append(program)
        if init:
            assert program.ask("init") == "ok"
        return program

    def misuse(self):
        """What was asked of the driver that no correct program asks."""
        return self.driver_log.read_text() if self.driver_log.exists() else ""

    def close(self):
        for each in self.started:
            each.kill()
