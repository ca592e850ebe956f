# SPDX-License-Identifier: Apache-2.0
"""Workload files: what a key means, and what is said about a wrong one."""

import pytest
from messages import raises_naming

import gpushare as gs

PAIR = """\
name = "pair"
device = "k20"

[[kernel]]
name = "stencil"
threads = 256
latency_ns = 12_500
issue_ns = 2000

[[kernel]]
name = "sort"
threads = 128
mean_block_time_cycles = 1000.0

[[application]]
name = "a"
operations = [
  { copy = "to_device", bytes = 4096 },
  { launch = "stencil", blocks = 600 },
]

[[application]]
name = "b"
arrival_ns = 1500
priority = 2
weight = 0.5
operations = [{ launch = "sort", blocks = 50 }]
"""


@pytest.fixture
def read(tmp_path):
    """Reads the text as a workload file, with one part replaced."""

    def read_replaced(old="", new=""):
        assert old in PAIR
        path = tmp_path / "pair.toml"
        path.write_text(PAIR.replace(old, new, 1))
        return gs.Workload.from_toml(path)

    return read_replaced


def test_keys_become_fields(read):
    workload = read()
    first, second = workload.applications
    assert (workload.name, workload.device) == ("pair", "k20")
    assert first.operations[0] == gs.Copy("to_device", 4096)
    assert first.operations[1].kernel == gs.KernelModel("stencil", 256, latency_ns=12_500, issue_ns=2_000)
    assert (second.arrival_ns, second.priority, second.weight) == (1500, 2, 0.5)
    assert second.operations[0].kernel.mean_block_time_cycles == 1000
    assert (first.arrival_ns, first.priority, first.weight) == (0, 0, 1)


def test_what_an_application_asks_for(read):
    _, second = read("weight = 0.5", "min_speed = 0.3\nlatency_ns = 500_000\ndeadline_ns = 700_000").applications
    assert (second.min_speed, second.latency_ns, second.deadline_ns) == (0.3, 500_000, 700_000)
    first, _ = read().applications
    assert (first.min_speed, first.latency_ns, first.deadline_ns) == (None, None, None)


def test_a_file_runs(read):
    assert set(gs.run(read(), "even").blocks()["kernel"]) == {"stencil", "sort"}


def test_the_bundled_workload_is_the_papers():
    # Pai et al. 2014, Tables 2 and 3: blocks, and maximum residency on their GPU.
    gpu = gs.device("gtx480")
    found = {
        application.name: (launch.blocks, launch.kernel.max_residency(gpu))
        for application in gs.bundled_workload("ercbench").applications
        for launch in application.operations
    }
    assert found == {
        "AES-d": (1429, 6),
        "AES-e": (1429, 6),
        "ImageDenoising-nlm2": (4096, 8),
        "JPEG-d": (512, 8),
        "JPEG-e": (512, 8),
        "RayTracing": (2048, 5),
        "SAD": (1584, 8),
        "SHA1": (1539, 8),
    }


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ("threads = 256", "threds = 256", 6, "kernel.0.threds"),
        ("threads = 256", "threads = '256'", 6, "kernel.0.threads"),
        ("threads = 128", "threads = 1.5", 12, "kernel.1.threads"),
        ("threads = 128", "threads = true", 12, "kernel.1.threads"),
        ("latency_ns = 12_500", "latency_ns = nan", 7, "kernel.0.latency_ns"),
        ("latency_ns = 12_500", "latency_ns = inf", 7, "kernel.0.latency_ns"),
        ("threads = 128\n", "", 10, "kernel.1.threads"),
        ("weight = 0.5", "wieght = 0.5", 26, "application.1.wieght"),
        ("device = ", "devise = ", 2, "devise"),
        ("threads = 256", "threads = 0", 6, "kernel.0.threads"),
        ("latency_ns = 12_500", "latency_ns = -1000", 7, "kernel.0.latency_ns"),
        ("weight = 0.5", "weight = -0.5", 26, "application.1.weight"),
        ("weight = 0.5", "min_speed = 1.5", 26, "application.1.min_speed"),
        ("weight = 0.5", "latency_ns = 0", 26, "application.1.latency_ns"),
        ("bytes = 4096", "bites = 4096", 17, "application.0.operations.0.bites"),
    ],
)
def test_a_wrong_key_is_named_with_file_and_line(read, tmp_path, old, new, line, key):
    with pytest.raises(gs.InvalidInput) as caught:
        read(old, new)
    where = f"{tmp_path / 'pair.toml'}:{line}: "
    assert any(said.startswith(where) and key in said for said in str(caught.value).splitlines())


@pytest.mark.parametrize(
    ("old", "new", "line", "named"),
    [
        ('launch = "sort"', 'launch = "srot"', 27, ("b", 1, "srot")),
        ('name = "sort"', 'name = "stencil"', 11, "stencil"),
        ('name = "b"', 'name = "a"', None, "a"),
        (
            "blocks = 50",
            "bytes = 50",
            27,
            ("b", 1),
        ),
        ("to_device", "to_gpu", 17, ("direction", "to_device", "to_host", "to_gpu")),
        ("latency_ns = 12_500\n", "", 4, ("stencil", "latency_ns")),
        ('[{ launch = "sort", blocks = 50 }]', "[]", 22, "b"),
        ("blocks = 50", "grid = 50, block = 64", 27, "sort"),
        ("[[kernel]]", "[[kernel", None, ()),
        ("threads = 256", f"threads = {'9' * 5000}", None, ()),
    ],
)
def test_a_wrong_value_is_named_with_its_file(read, tmp_path, old, new, line, named):
    place = tmp_path / "pair.toml" if line is None else f"{tmp_path / 'pair.toml'}:{line}"
    with raises_naming(gs.InvalidInput, f"{place}: ", named):
        read(old, new)


def test_repeat_issues_an_operation_so_many_times(read):
    copies_and_launch = read("bytes = 4096", "bytes = 4096, repeat = 3").applications[0].operations
    assert [type(each).__name__ for each in copies_and_launch] == ["Copy", "Copy", "Copy", "Launch"]
    assert copies_and_launch[0] == copies_and_launch[2] == gs.Copy("to_device", 4096)
    for wrong in ("0", "100001", "1.5", "true"):
        with raises_naming(gs.InvalidInput, "pair.toml:27", "application.1.operations.0.repeat"):
            read("blocks = 50", f"blocks = 50, repeat = {wrong}")


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "latin.toml").write_bytes(b'name = "\xff"')
    (tmp_path / "empty.toml").write_text('name = "nothing"')
    for name, named in [
        ("absent.toml", "No such file"),
        ("latin.toml", ()),
        ("empty.toml", "nothing"),
    ]:
        with raises_naming(gs.InvalidInput, name, named):
            gs.Workload.from_toml(tmp_path / name)


def test_nanoseconds_come_back_as_they_were():
    for ns in [*range(1000, 3000), 10**9 + 1, 10**15 + 1]:
        kernel = gs.KernelModel("k", threads=128, latency_ns=ns % 10**9 + 1, issue_ns=ns % 10**3)
        launch = gs.Launch(kernel, 3, pace=gs.HostPace(host_ns=ns % 10**6))
        workload = gs.Workload("w", [gs.Application("a", [launch], arrival_ns=ns, deadline_ns=ns)])
        assert gs.Workload.from_dict(workload.to_dict()) == workload


def test_a_byte_order_mark_in_front_of_toml_is_skipped(tmp_path, read):
    marked = tmp_path / "marked.toml"
    marked.write_text(PAIR, encoding="utf-8-sig")
    assert marked.read_bytes().startswith(b"\xef\xbb\xbf")
    assert gs.Workload.from_toml(marked) == read()
    marked.write_text(PAIR.replace("threads = 256", "threads = 0"), encoding="utf-8-sig")
    with raises_naming(gs.InvalidInput, "marked.toml:6"):
        gs.Workload.from_toml(marked)
