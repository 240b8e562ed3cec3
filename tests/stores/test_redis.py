"""Redis goes away and comes back under load: operations wait or fail, none is lost or doubled."""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.stores.servers import RedisServer
from tests.stores.stream import Model, open_window, step
from windrow import Max, aggregator
from windrow.stores import CorruptValue, RedisStore, StoreUnavailable, WindowInUse

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


@every_algorithm
def test_operations_wait_for_a_server_that_comes_back(server: RedisServer, algorithm: str) -> None:
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
