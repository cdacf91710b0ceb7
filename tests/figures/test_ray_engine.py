"""Protects sweeps on Ray: what nodes do, or fail to do, decides no bit of a result."""

from __future__ import annotations

import multiprocessing
import os
import socket
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from figures.engines import ray as engine
from figures.engines.engine import Event
from figures.engines.local import LocalEngine
from figures.engines.ray import LOSSES, RayEngine
from figures.grid import folder
from sfl_theory.command import CommandError
from sfl_train.deep.config import Config, resolve
from sfl_train.runs.folder import RunFolder
from sfl_train.runs.log import read_log

SMALL = {
    "model": "mlp",
    "width": 0.125,
    "clients": 4,
    "rounds": 2,
    "batch_size": 64,
    "checkpoint_every": 1,
    "momentum": 0.9,
    "lifetime": "run",
}


def config(**more) -> Config:
    return resolve("paper", SMALL, more)


def nothing(event: Event) -> None:
    pass


class TestAddress:
    def refused(self, address: str | None, root: Path) -> str:
        with pytest.raises(CommandError) as caught:
            RayEngine(address).run([config()], root, nothing)
        said = str(caught.value)
        assert "\n" not in said
        assert not list(root.iterdir())
        return said

    @pytest.mark.parametrize(
        "address", ["somewhere", "ray://127.0.0.1:10001", ":1", "a:b"]
    )
    def test_what_is_no_address_is_refused(self, address, tmp_path) -> None:
        assert f"got {address!r}" in self.refused(address, tmp_path)

    def test_nobody_there(self, tmp_path) -> None:
        with socket.create_server(("127.0.0.1", 0)) as server:
            address = f"127.0.0.1:{server.getsockname()[1]}"
        assert f"no Ray cluster answers at {address}" in self.refused(address, tmp_path)

    def test_the_environment_names_the_cluster_too(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setenv("RAY_ADDRESS", "nonsense")
        assert "got 'nonsense'" in self.refused(None, tmp_path)

    @pytest.mark.parametrize("answer", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"SSH"])
    def test_another_service_is_there(self, answer, tmp_path) -> None:
        """Ray itself would wait for minutes and end the process."""
        with socket.create_server(("127.0.0.1", 0)) as server:

            def serve() -> None:
                connection, _ = server.accept()
                with connection:
                    connection.recv(100)
                    connection.sendall(answer)

            thread = threading.Thread(target=serve)
            thread.start()
            said = self.refused(f"127.0.0.1:{server.getsockname()[1]}", tmp_path)
            thread.join()
        assert "no Ray cluster" in said

    def test_without_ray_the_extra_is_named(self, tmp_path, monkeypatch) -> None:
        monkeypatch.setitem(sys.modules, "ray", None)
        monkeypatch.delenv("RAY_ADDRESS", raising=False)
        assert "sfl-verify[cluster]" in self.refused(None, tmp_path)


def test_nothing_to_do_needs_no_cluster(tmp_path) -> None:
    assert RayEngine("nonsense").run([], tmp_path, nothing) == {}


class Desk:
    """Stands in for the actor's handle in a worker."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.tell = SimpleNamespace(remote=self.events.append)


def hold(path: Path, chosen: Config, held, seconds: float) -> None:
    with RunFolder(path, chosen):
        held.set()
        time.sleep(seconds)


class TestWorker:
    @pytest.fixture
    def mark(self, tmp_path) -> Path:
        (tmp_path / ".sweep").touch()
        return tmp_path / ".sweep"

    @pytest.fixture(autouse=True)
    def home(self, monkeypatch, tmp_path) -> Path:
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def test_another_version_of_the_toolkit_makes_no_run(self, mark, home) -> None:
        ended = engine._task(config(), "0" * 64, str(mark), str(home), Desk())
        assert ended.state == "failed"
        assert "another version" in ended.words

    def test_a_node_that_does_not_see_the_runs_makes_none(self, mark, home) -> None:
        """It would make them where nobody finds them."""
        mark.unlink()
        ended = engine._task(config(), config().hash, str(mark), str(home), Desk())
        assert ended.state == "failed"
        assert "all nodes share" in ended.words
        assert not list(home.iterdir())

    def test_a_node_without_the_working_directory_says_so(self, mark, home) -> None:
        gone = str(home / "gone")
        ended = engine._task(config(), config().hash, str(mark), gone, Desk())
        assert ended.state == "failed"
        assert gone in ended.words

    def test_it_waits_until_a_lost_worker_is_gone(self, mark, home) -> None:
        """The process on a lost node may live a little longer than the node."""
        chosen, desk = config(), Desk()
        context = multiprocessing.get_context("fork")
        held = context.Event()
        other = context.Process(
            target=hold, args=(folder(chosen, home), chosen, held, 1.0)
        )
        other.start()
        assert held.wait(10)
        ended = engine._task(chosen, chosen.hash, str(mark), str(home), desk)
        other.join()
        assert ended.state == "finished", ended.words
        assert desk.events[0] == Event(chosen.hash, 0, 2, "running")
        assert desk.events[-1] == Event(chosen.hash, 2, 2, "running")

    def test_it_leaves_a_run_alone_that_another_one_keeps(
        self, mark, home, monkeypatch
    ) -> None:
        monkeypatch.setattr(engine, "RELEASE", 0.3)
        chosen = config()
        with RunFolder(folder(chosen, home), chosen):
            ended = engine._task(chosen, chosen.hash, str(mark), str(home), Desk())
        assert ended.state == "failed"
        assert f"in use by process {os.getpid()}" in ended.words


class LostError(Exception):
    """Ray's error for a worker that is gone."""


class RaisedError(LostError):
    """Ray's error for a task that raised."""

    cause = ModuleNotFoundError("No module named 'figures'")


class Cluster:
    """Ray's interface, on which every task ends as a script says."""

    def __init__(self, script, resources=None) -> None:
        self.script, self.submitted = list(script), []
        self.resources = resources or [{"CPU": 1.0}]
        self.exceptions = SimpleNamespace(RayError=LostError, RayTaskError=RaisedError)
        self.reports: list[Event] = []
        near = SimpleNamespace(NodeAffinitySchedulingStrategy=lambda *a, **k: None)
        self.util = SimpleNamespace(scheduling_strategies=near)

    def get_runtime_context(self):
        return SimpleNamespace(get_node_id=lambda: "here")

    def nodes(self):
        return [{"Alive": True, "Resources": one} for one in self.resources]

    def remote(self, **options):
        def wrap(made):
            if made is engine._Desk:
                take = SimpleNamespace(remote=lambda: "reports")
                return SimpleNamespace(remote=lambda: SimpleNamespace(take=take))
            return SimpleNamespace(options=self.options)

        return wrap

    def options(self, **needs):
        def submit(*arguments):
            self.submitted.append(needs)
            return len(self.submitted)

        return SimpleNamespace(remote=submit)

    def wait(self, tasks, **rest):
        return tasks, []

    def get(self, what, timeout=None):
        if what == "reports":
            taken, self.reports = self.reports, []
            return taken
        end = self.script.pop(0)
        if callable(end):
            end = end(self)
        if isinstance(end, Exception):
            raise end
        return end


class TestLostWorkers:
    def sweep(self, cluster: Cluster, *configs: Config, told=nothing):
        return engine._Sweep(cluster, configs, Path("mark"), told).outcomes()

    def test_a_run_is_handed_out_again(self) -> None:
        events: list[Event] = []
        done = engine.Outcome("finished")
        cluster = Cluster([LostError("gone\nsee the logs"), done])
        ends = self.sweep(cluster, config(), told=events.append)
        assert ends == {config().hash: done}
        assert [event.state for event in events] == ["again", "finished"]

    def test_a_run_that_loses_every_worker_fails(self) -> None:
        """As one that always needs more memory than there is."""
        cluster = Cluster([LostError("out of memory\nsee the logs")] * 2 * LOSSES)
        ended = self.sweep(cluster, config())[config().hash]
        assert len(cluster.submitted) == LOSSES
        assert ended.state == "failed"
        assert ended.words.endswith("out of memory")

    def test_a_run_that_makes_rounds_may_lose_any_number(self) -> None:
        chosen = config(rounds=100)

        def later(cluster: Cluster) -> Exception:
            made = len(cluster.submitted)
            cluster.reports = [Event(chosen.hash, made, 100, "running")]
            return LostError("gone")

        cluster = Cluster([later] * 4 * LOSSES + [engine.Outcome("finished")])
        assert self.sweep(cluster, chosen)[chosen.hash].state == "finished"

    def test_a_task_that_cannot_begin_is_not_repeated(self) -> None:
        cluster = Cluster([RaisedError(), engine.Outcome("finished")])
        others = config(seed=1)
        ends = self.sweep(cluster, config(), others)
        assert "No module named 'figures'" in ends[config().hash].words
        assert ends[others.hash].state == "finished"

    def test_a_task_asks_for_what_its_run_needs(self) -> None:
        cluster = Cluster([engine.Outcome("finished")], ({"CPU": 4.0, "GPU": 1.0},))
        self.sweep(cluster, config(device="cuda:1", threads=3))
        needs = cluster.submitted[0]
        assert (needs["num_cpus"], needs["num_gpus"]) == (3, 1)

    @pytest.mark.parametrize("more", [{"threads": 2}, {"device": "cuda"}])
    def test_needs_that_no_node_has_are_an_error(self, more) -> None:
        """Ray itself would wait for such a node without end."""
        with pytest.raises(CommandError, match="1 of the runs need"):
            self.sweep(Cluster([]), config(**more))

    def test_needs_that_no_node_has_any_longer_are_an_error(self, monkeypatch) -> None:
        monkeypatch.setattr(engine, "CONNECT", 0.0)
        monkeypatch.setattr(engine, "RELEASE", 0.2)
        cluster = Cluster([])
        cluster.wait = lambda tasks, **rest: ([], tasks)
        sweep = engine._Sweep(cluster, [config()], Path("mark"), nothing)
        cluster.resources = ()
        with pytest.raises(CommandError, match=r"0 alive.*made so far are kept"):
            sweep.outcomes()


def parent(process: int) -> int:
    """Return the process that started another one: of a worker, its node's."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


@pytest.mark.long
class TestCluster:
    """Two nodes on this machine, of one processor each."""

    @pytest.fixture
    def cluster(self):
        pytest.importorskip("ray", reason="the extra 'cluster' is not installed")
        from ray.cluster_utils import Cluster

        node = {"num_cpus": 1}
        made = Cluster(initialize_head=True, head_node_args=node)
        made.second = made.add_node(**node)
        yield made
        made.shutdown()

    def content(self, root: Path, configs) -> list[tuple[bytes, ...]]:
        return [
            tuple(
                (folder(one, root) / name).read_bytes()
                for name in ("metrics.jsonl", "model.safetensors")
            )
            for one in configs
        ]

    def test_a_node_killed_in_a_sweep_changes_no_bit(self, cluster, tmp_path) -> None:
        rounds, mature = 150, 10
        configs = [config(rounds=rounds, seed=seed) for seed in range(4)]
        by_hash = {one.hash: one for one in configs}
        second = cluster.second.all_processes["raylet"][0].process.pid
        states: dict[str, list[str]] = {key: [] for key in by_hash}
        killed: list[Config] = []

        def told(event: Event) -> None:
            states[event.hash].append(event.state)
            midway = event.state == "running" and mature <= event.round < rounds // 2
            if midway and not killed:
                run = folder(by_hash[event.hash], tmp_path / "ray")
                if parent(int((run / "lock").read_text())) == second:
                    killed.append(by_hash[event.hash])
                    cluster.remove_node(cluster.second, allow_graceful=False)

        ends = RayEngine(cluster.address).run(configs, tmp_path / "ray", told)
        assert {end.state for end in ends.values()} == {"finished"}, ends
        (lost,) = killed
        for key, found in states.items():
            assert found[-1] == "finished"
            assert found.count("again") == (key == lost.hash), found
        made = len(read_log(folder(lost, tmp_path / "ray") / "speed.jsonl"))
        assert rounds <= made < rounds + mature, "it went on from its checkpoint"
        ended = LocalEngine(2).run(configs, tmp_path / "local", nothing)
        assert {end.state for end in ended.values()} == {"finished"}
        assert self.content(tmp_path / "ray", configs) == self.content(
            tmp_path / "local", configs
        )
        assert not list((tmp_path / "ray").glob(".sweep-*"))

    def test_a_run_that_fails_stops_no_other(self, cluster, tmp_path) -> None:
        wrong = config(partition="file:missing.json")
        configs = [wrong, config()]
        ends = RayEngine(cluster.address).run(configs, tmp_path, nothing)
        assert ends[wrong.hash].state == "failed"
        assert "missing.json" in ends[wrong.hash].words
        assert ends[config().hash].state == "finished"

    def test_an_interruption_leaves_no_worker_behind(self, cluster, tmp_path) -> None:
        chosen = config(rounds=100_000)

        def told(event: Event) -> None:
            if event.round >= 5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            RayEngine(cluster.address).run([chosen], tmp_path, told)
        engine._await_release(folder(chosen, tmp_path))
        with RunFolder(folder(chosen, tmp_path), chosen) as left:
            made = len(read_log(left.path / "metrics.jsonl"))
            assert made > 5
            time.sleep(1)
            assert len(read_log(left.path / "metrics.jsonl")) == made
        assert not list(tmp_path.glob(".sweep-*"))
