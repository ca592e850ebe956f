# SPDX-License-Identifier: Apache-2.0
"""compare(executor=): the same result from anywhere, and what is done stays when the executor does not."""

import multiprocessing
import pickle
import threading
from concurrent.futures import Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor

import pytest
import travelling_policies as policies
from messages import raises_naming

import gpushare as gs
from gpushare.backends.cuda.backend import CudaBackend
from gpushare.backends.simulator import executed

PROCESSES = multiprocessing.get_context("spawn")  # a fork of a process with threads is a warning in newer Pythons


@pytest.fixture(scope="module")
def processes():
    with ProcessPoolExecutor(2, mp_context=PROCESSES) as pool:
        yield pool


class AtOnce(Executor):
    """Runs at most some tasks, as it is given them, by way of a pickle; the others wait for ever."""

    def __init__(self, most=1000):
        self.most = most
        self.futures = []
        self.tasks = []

    def submit(self, function, /, *args):
        future = Future()
        self.tasks += args
        if len(self.futures) < self.most:
            function, args = pickle.loads(pickle.dumps((function, args)))
            future.set_result(pickle.loads(pickle.dumps(function(*args))))
        self.futures.append(future)
        return future


def saved(result, path):
    return result.save(path).read_bytes()


def test_processes_give_the_same_bytes(pair, ercbench_pair, processes, tmp_path):
    chosen = ["fifo", "srtf", policies.Fails(), policies.Shuffled()]
    arguments = {"repeats": 3, "seed": 5}
    here = gs.compare([pair, ercbench_pair], chosen, **arguments)
    there = gs.compare([pair, ercbench_pair], chosen, **arguments, executor=processes)
    assert saved(there, tmp_path / "there") == saved(here, tmp_path / "here")
    assert there.errors == here.errors
    assert there.run("Shuffled").trace == here.run("Shuffled").trace


def test_random_choices_of_a_policy_follow_from_the_runs_seed():
    kernel = gs.KernelModel("k", threads=1024, latency_ns=1000)
    equals = gs.Workload("equals", [gs.Application(name, [gs.Launch(kernel, 1000)]) for name in "abcd"])
    here, there = (
        gs.compare(equals, [policies.Shuffled()], repeats=5, executor=executor) for executor in (None, AtOnce())
    )
    assert len({tuple(run.record.ends) for run in here.runs}) > 1
    assert [run.record.ends for run in there.runs] == [run.record.ends for run in here.runs]


def test_traces_come_along_for_one_workload(pair, processes):
    run = gs.compare(pair, [policies.Shuffled()], executor=processes).run()
    assert run.record.trace == gs.run(pair, policies.Shuffled()).trace


def test_cuda_code_goes_as_its_models(tmp_path):
    suite_pair = gs.bundled_workload("suite_pair")
    executor = AtOnce()
    there = gs.compare(suite_pair, ["fifo", "srtf"], device="h100", executor=executor)
    here = gs.compare(suite_pair, ["fifo", "srtf"], device="h100")
    assert saved(there, tmp_path / "there") == saved(here, tmp_path / "here")
    assert executor.tasks
    assert not any(b"gpushare.kernels" in packed.data for task in executor.tasks for packed in task.objects)


def test_threads_are_an_executor(pair, tmp_path):
    with ThreadPoolExecutor(2) as threads:
        there = gs.compare(pair, ["fifo", "srtf"], executor=threads)
    assert saved(there, tmp_path / "there") == saved(gs.compare(pair, ["fifo", "srtf"]), tmp_path / "here")


def test_many_runs_share_tasks_and_keep_their_order(pair, ercbench_pair):
    executor = AtOnce()
    result = gs.compare([pair, ercbench_pair], ["fifo", "srtf"], repeats=100, executor=executor)
    assert len(executor.futures) == 67  # of 6 runs
    assert [(run.workload.name, run.policy, run.seed) for run in result.runs] == [
        (workload, policy, seed)
        for workload in ("pair", "SAD+JPEG-d")
        for policy in ("fifo", "srtf")
        for seed in range(100)
    ]


def test_the_progress_bar_counts_runs(pair, capsys):
    gs.compare(pair, ["fifo", "srtf"], repeats=5, executor=AtOnce(), progress=True)
    assert "/10" in capsys.readouterr().err


@pytest.mark.parametrize(("value", "named"), [(lambda: 0, "lambda"), (threading.Lock(), "lock")])
def test_a_policy_that_cannot_be_pickled_is_named(pair, value, named):
    executor = AtOnce()
    with raises_naming(gs.InvalidInput, "Holds", named):
        gs.compare(pair, ["fifo", policies.Holds(value)], executor=executor)
    assert not executor.futures


def test_a_policy_that_cannot_be_imported_there_is_named(pair):
    with raises_naming(gs.InvalidInput, "OnlyHere", "ValueError"):
        gs.compare(pair, ["fifo", policies.OnlyHere()], executor=AtOnce())


def test_another_version_there_is_refused(pair, monkeypatch):
    run_task = executed.run_task
    monkeypatch.setattr(executed, "run_task", lambda task: run_task(task._replace(version="0.0.1")))
    with ThreadPoolExecutor(1) as threads, raises_naming(gs.InvalidInput, "0.0.1", gs.__version__):
        gs.compare(pair, ["fifo"], executor=threads)


def test_what_is_no_executor_is_refused(pair):
    with raises_naming(gs.InvalidInput, "executor"):
        gs.compare(pair, ["fifo"], executor="processes")


def test_a_process_that_ends_leaves_what_was_done(pair):
    with ProcessPoolExecutor(1, mp_context=PROCESSES) as pool, pytest.raises(gs.ExecutorLostError) as lost:
        gs.compare(pair, ["fifo", "srtf", policies.EndsItsProcess()], executor=pool)
    assert type(lost.value.__cause__).__name__ == "BrokenProcessPool"
    done = lost.value.result
    assert done.policies == ["fifo", "srtf"]
    assert done.run("srtf").metrics() == gs.run(pair, "srtf").metrics()
    assert pickle.loads(pickle.dumps(lost.value)).result.policies == done.policies


def test_an_executor_that_was_shut_down_is_an_error(pair):
    pool = ThreadPoolExecutor(1)
    pool.shutdown()
    with raises_naming(gs.ExecutorLostError, "ThreadPoolExecutor", "0 of 1"):
        gs.compare(pair, ["fifo"], executor=pool)


def test_an_executor_that_is_shut_down_meanwhile_leaves_what_was_done(pair):
    class ShutDown(AtOnce):
        def submit(self, function, /, *args):
            if len(self.futures) == 3:
                raise RuntimeError("cannot schedule new futures after shutdown")
            return super().submit(function, *args)

    with pytest.raises(gs.ExecutorLostError) as lost:
        gs.compare(pair, ["fifo"], repeats=10, executor=ShutDown())
    assert [run.seed for run in lost.value.result.runs] == [0, 1, 2]


def test_an_interrupt_cancels_what_has_not_begun(pair, monkeypatch):
    def interrupted(futures):
        yield futures[0]
        raise KeyboardInterrupt

    executor = AtOnce(most=2)
    monkeypatch.setattr(executed, "as_completed", interrupted)
    with pytest.raises(KeyboardInterrupt):
        gs.compare(pair, ["fifo"], repeats=10, executor=executor)
    assert [future.cancelled() for future in executor.futures] == 2 * [False] + 8 * [True]


def test_an_interrupt_while_tasks_are_handed_out_cancels_them(pair):
    class Interrupted(AtOnce):
        def submit(self, function, /, *args):
            if len(self.futures) == 5:
                raise KeyboardInterrupt
            return super().submit(function, *args)

    executor = Interrupted(most=2)
    with pytest.raises(KeyboardInterrupt):
        gs.compare(pair, ["fifo"], repeats=10, executor=executor)
    assert [future.cancelled() for future in executor.futures] == 2 * [False] + 3 * [True]


def test_a_gpu_takes_no_executor():
    with raises_naming(gs.InvalidInput, "executor"):
        CudaBackend("cuda:0").run_on(AtOnce(), [], keep_traces=False)
