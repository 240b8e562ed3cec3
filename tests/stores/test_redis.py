"""Redis goes away and comes back under load: operations wait or fail, none is lost or doubled."""

from __future__ import annotations

import contextlib
import random
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.stores.servers import RedisServer
from tests.stores.stream import Model, open_window, step
from windrow import Max, aggregator
from windrow.stores import CorruptValue, RedisStore, StoreError, StoreUnavailable, WindowInUse

every_algorithm = pytest.mark.parametrize("algorithm", ["amta", "log_mta"])


@pytest.fixture
def server(tmp_path: Path) -> Iterator[RedisServer]:
    made = RedisServer(tmp_path)
    made.start()
    yield made
    made.stop()


def check_reopened(server: RedisServer, algorithm: str, model: Model) -> None:
    with RedisStore(server.url) as store:
        swag = open_window(store, algorithm)
        model.check(swag)
        swag.close()


@pytest.mark.faults
@every_algorithm
def test_operations_wait_for_a_server_that_comes_back(
    server: RedisServer, algorithm: str, record_property: Callable[[str, object], None]
) -> None:
    """The Redis server is stopped or killed, and started again, while a window is written."""
    restarts, chance = 4, random.Random(algorithm)
    over = threading.Event()

    def restart() -> None:
        for turn in range(restarts):
            time.sleep(0.1 + 0.3 * chance.random())
            server.kill() if turn % 2 else server.stop()
            time.sleep(0.3 * chance.random())
            server.start()
        over.set()

    model = Model()
    with RedisStore(server.url) as store:
        swag = open_window(store, algorithm)
        disturber = threading.Thread(target=restart)
        disturber.start()
        while not over.is_set():
            step(swag, model.done)
            model.step()
            if model.done % 50 == 0:
                swag.flush()
            if model.done % 20 == 0:
                assert swag.query() == model.answer()
        disturber.join()
        swag.close()
    assert model.done > 100
    check_reopened(server, algorithm, model)
    record_property("restarts", restarts)
    record_property("operations done meanwhile", model.done)
    record_property("operations lost or done twice", 0)  # else it has failed


@every_algorithm
def test_operations_fail_when_it_stays_away_and_go_on_after(
    server: RedisServer, algorithm: str
) -> None:
    model = Model()
    with RedisStore(server.url, patience=0.2) as store:
        swag = open_window(store, algorithm)
        for turn in range(3):
            for _ in range(300):
                step(swag, model.done)
                model.step()
            swag.flush()
            server.kill() if turn % 2 else server.stop()
            failures = 0
            for _ in range(200):
                try:
                    step(swag, model.done)
                except StoreUnavailable:
                    failures += 1
                    if failures == 3:
                        break
                else:
                    model.step()
            with pytest.raises(StoreUnavailable, match=r"did not answer for 0\.2 s"):
                swag.flush()
            server.start()
        swag.close()
    check_reopened(server, algorithm, model)


def test_no_server_is_an_error_at_once(tmp_path: Path) -> None:
    nobody = RedisServer(tmp_path)
    with pytest.raises(StoreUnavailable, match=r"RedisStore.* did not answer for 0\.1 s"):
        RedisStore(nobody.url, patience=0.1)


@contextlib.contextmanager
def false_server(answer: bytes, every: float) -> Iterator[str]:
    """The address of what is no Redis: it sends `answer` to all who come, again and again."""
    over = threading.Event()

    def serve(line: socket.socket) -> None:
        with line, contextlib.suppress(OSError):
            while not over.wait(every):
                line.sendall(answer)

    def accept() -> None:
        with contextlib.suppress(OSError):
            while True:
                threads.append(threading.Thread(target=serve, args=(gate.accept()[0],)))
                threads[-1].start()

    with socket.create_server(("127.0.0.1", 0)) as gate:
        threads = [threading.Thread(target=accept)]
        threads[0].start()
        yield f"redis://127.0.0.1:{gate.getsockname()[1]}/0"
        over.set()
        gate.shutdown(socket.SHUT_RDWR)
    for thread in threads:
        thread.join()


@pytest.mark.parametrize(
    ("answer", "every"), [(b"", 0.1), (b"a", 0.1), (b"+a", 0.4)], ids=["mute", "dribbling", "slow"]
)
@pytest.mark.parametrize("patience", [0.5, pytest.param(1.5, marks=pytest.mark.slow)])
def test_patience_is_the_longest_wait(answer: bytes, every: float, patience: float) -> None:
    with false_server(answer, every) as url:
        begin = time.monotonic()
        with pytest.raises(StoreUnavailable, match=f"did not answer for {patience:g} s"):
            RedisStore(url, patience=patience)
        assert time.monotonic() - begin < patience + 1


@pytest.mark.parametrize("answer", [b"*x\r\n", b"*1\r\n" * 5000], ids=["no number", "deep"])
def test_what_is_no_redis_is_told(answer: bytes) -> None:
    with false_server(answer, 0.1) as url:  # noqa: SIM117
        with pytest.raises(StoreError, match="does not answer as Redis does"):
            RedisStore(url, patience=5)


def test_a_wrong_password_is_told_at_once(server: RedisServer) -> None:
    with RedisStore(server.url) as store:
        store._client.config_set("requirepass", "secret")
    address = server.url.removeprefix("redis://")
    begin = time.monotonic()
    for user in ("", ":wrong@", "nobody:secret@"):
        with pytest.raises(StoreError, match="refused the user or the password") as told:
            RedisStore(f"redis://{user}{address}")
        assert not isinstance(told.value, StoreUnavailable)
        assert "wrong" not in str(told.value).replace("wrong number", "")
    assert time.monotonic() - begin < 5
    with RedisStore(f"redis://:secret@{address}") as store:
        store.put(b"a", b"1")
        assert store.get(b"a") == b"1"


def test_a_server_that_lost_everything_is_noticed(tmp_path: Path) -> None:
    server = RedisServer(tmp_path)
    server.start()
    try:
        with RedisStore(server.url) as store:
            swag = aggregator(Max(), "amta", store=store)
            swag.insert(3)
            swag.flush()
            store._client.flushall()
            swag.insert(4)
            with pytest.raises(WindowInUse, match=r"lease is lost.* or the server lost its data"):
                swag.flush()
    finally:
        server.stop()


@every_algorithm
def test_a_server_that_went_back_to_older_data_is_noticed(tmp_path: Path, algorithm: str) -> None:
    folder, older = tmp_path / "now", tmp_path / "older"
    folder.mkdir()
    server, model = RedisServer(folder), Model()
    server.start()
    try:
        with RedisStore(server.url) as store:
            swag = open_window(store, algorithm)

            def run(steps: int) -> None:
                for _ in range(steps):
                    step(swag, model.done)
                    model.step()
                swag.flush()

            def insert_and_flush() -> None:
                swag.insert(1)
                swag.flush()

            run(300)
            shutil.copytree(folder, older)
            before = model.head, model.end
            run(300)
            server.kill()
            shutil.rmtree(folder)
            shutil.copytree(older, folder)
            server.start()
            # An insert of Log MTA may read before anything is written, and miss what it reads.
            told = "gone back to older data" if algorithm == "amta" else "older data|is missing"
            with pytest.raises(CorruptValue, match=told):
                insert_and_flush()
        with RedisStore(server.url) as store:
            swag = open_window(store, algorithm)
            assert (swag._head, swag._end) == before, "nothing was written on top of it"
            older_model = Model()
            while (older_model.head, older_model.end) != before:
                older_model.step()
            older_model.check(swag)
            swag.close()
    finally:
        server.stop()
