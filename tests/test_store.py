"""The store: each run once, nothing finished ever lost, and a file of another kind refused."""

from __future__ import annotations

import hashlib
import json
import math
import os
import pickle
import platform
import shutil
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from fake_experiments import some_specs, steady
from refusals import refused
from symseek import InputError
from symseek.jobs import database
from symseek.jobs.owner import STALE, Owner, start_of
from symseek.jobs.perform import failure
from symseek.lab import Counts, Record, Spec, Store, StoreError
from symseek.lab.__main__ import main as show

SPECS = some_specs(6)


def ended_owner() -> Owner:
    """A process of this machine that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as child:
        pid = child.pid
    return replace(Owner.this_process(), pid=pid, started="1")


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def store(path: Path) -> Iterator[Store]:
    with Store(path) as opened:
        yield opened


# --- specs and records


def test_a_key_is_the_same_in_every_process() -> None:
    spec = Spec("dsr", "Nguyen-5", 3, {"b": [1, {"z": None, "a": 0.1}], "a": "é"})
    code = (
        "from symseek.lab import Spec;"
        "print(Spec('dsr', 'Nguyen-5', 3, {'a': 'é', 'b': (1, {'a': 0.1, 'z': None})}).key)"
    )
    printed = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == spec.key
    text = (
        b'{"method":"dsr","problem":"Nguyen-5","seed":3,'
        b'"settings":{"a":"\\u00e9","b":[1,{"a":0.1,"z":null}]}}'
    )
    assert spec.key == hashlib.sha256(text).hexdigest()


@pytest.mark.parametrize(
    "other",
    [
        Spec("dsr", "Nguyen-5", 4),
        Spec("dsr", "Nguyen-4", 3),
        Spec("pqt", "Nguyen-5", 3),
        Spec("dsr", "Nguyen-5", 3, {"a": 1}),
        Spec("dsr", "Nguyen-5", 3, {"a": 1.0}),
        Spec("dsr", "Nguyen-5", 3, {"a": True}),
        Spec("dsr", "Nguyen-5", 3, {"a": "1"}),
    ],
)
def test_other_runs_have_other_keys(other: Spec) -> None:
    others = [Spec("dsr", "Nguyen-5", 3), Spec("dsr", "Nguyen-5", 3, {"a": [1]})]
    assert other not in others
    assert other == pickle.loads(pickle.dumps(other))
    assert other == Spec.from_dict(json.loads(json.dumps(other.to_dict())))


def test_a_spec_cannot_be_changed_from_outside() -> None:
    given = {"a": [1, 2]}
    spec = Spec("dsr", "Nguyen-5", 3, given)
    key = spec.key
    given["a"].append(3)
    assert Spec("dsr", "Nguyen-5", 3, spec.settings).key == key
    with pytest.raises(TypeError):
        spec.settings["b"] = 1  # type: ignore[index]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("", "P", 0), "the method of a run is ''"),
        (("m", 3, 0), "the problem of a run is 3"),
        (("m", "P", -1), "seed of a run is -1"),
        (("m", "P", 2**64), "seed of a run is"),
        (("m", "P", True), "seed of a run is True"),
        (("m", "P", 0, {1: 2}), "settings has the key 1"),
        (("m", "P", 0, {"a": [math.nan]}), r"settings\['a'\]\[0\] is nan"),
        (("m", "P", 0, {"a": -math.inf}), r"settings\['a'\] is -inf"),
        (("m", "P", 0, {"a": np.int64(3)}), "which JSON cannot hold"),
        (("m", "P", 0, [1]), "give a mapping"),
    ],
)
def test_bad_specs_are_refused(arguments: tuple[object, ...], message: str) -> None:
    with pytest.raises(InputError, match=message):
        Spec(*arguments)  # type: ignore[arg-type]


def test_unknown_and_missing_fields_are_refused_by_name() -> None:
    data = Record(SPECS[0]).to_dict()
    with refused("field of the record", value="colour"):
        Record.from_dict(data | {"colour": "red"})
    data["spec"].pop("seed")
    with pytest.raises(InputError, match="no field 'seed'"):
        Record.from_dict(data)
    with pytest.raises(InputError, match="done or failed"):
        Record(SPECS[0], "running")  # type: ignore[arg-type]
    with refused("recovered", "perhaps", "one of yes, no, undecided"):
        Record(SPECS[0], recovered="perhaps")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a complex, which JSON cannot hold"):
        Record(SPECS[0], curve={"a": [1j]})


numbers = st.floats() | st.integers() | st.floats(width=32).map(np.float32)


@given(
    reward=st.floats(),
    curve=st.dictionaries(st.text(), st.lists(numbers) | st.lists(st.floats()).map(np.array)),
    front=st.lists(st.tuples(st.integers(), st.floats(), st.text())),
    error=st.text(),
)
def test_records_come_back_from_json(
    reward: float, curve: dict[str, list[float]], front: list[tuple[object, ...]], error: str
) -> None:
    record = Record(SPECS[0], reward=reward, curve=curve, front=front, error=error)
    text = json.dumps(record.to_dict(), allow_nan=False)
    assert Record.from_dict(json.loads(text)) == record
    assert pickle.loads(pickle.dumps(record)) == record


# --- runs come and go


def test_runs_are_claimed_in_order_and_once(store: Store, path: Path) -> None:
    with Store(path) as other:
        claimed = [each.claim(SPECS) for each in (store, other, store)]
        assert claimed == SPECS[:3]
        assert store.counts(SPECS) == Counts(running=3, missing=3)
    assert store.counts(SPECS) == Counts(running=2, missing=4)
    assert store.claim(SPECS) == SPECS[1]  # the other gave it back
    assert [store.claim(SPECS) for _ in range(4)] == [*SPECS[3:], None]


def test_what_is_finished_stays_and_is_not_claimed_again(store: Store, path: Path) -> None:
    record = steady(SPECS[0])
    store.finish(record, failure(SPECS[1], "Traceback\nOops: x"))
    store.close()
    with Store(path, read_only=True) as again:
        assert again.records(SPECS[:1]) == [record]
        assert again.missing(SPECS) == SPECS[2:]
        assert again.counts() == Counts(done=1, failed=1)
        assert again.counts(SPECS) == Counts(done=1, failed=1, missing=4)
        assert [each.last_line for each in again.records(status="failed")] == ["Oops: x"]
        assert again.record(record.spec.short) == record


def test_records_are_filtered_and_in_order(store: Store) -> None:
    store.finish(*(steady(spec) for spec in reversed(SPECS)))
    found = [each.spec for each in store.records()]
    assert found == sorted(SPECS, key=lambda spec: (spec.problem, spec.method, spec.seed))
    assert {each.spec.method for each in store.records(method="m1")} == {"m1"}
    assert {each.spec.problem for each in store.records(problem="P-2")} == {"P-2"}
    assert store.records(status="failed") == store.records([]) == []


def test_times_are_those_of_the_runs_asked_for_that_are_done(store: Store) -> None:
    full = [Spec("m0", "P-0", seed, {"max_expressions": 2000}) for seed in range(1200)]
    quick = [Spec("m0", "P-0", seed, {"max_expressions": 20}) for seed in range(1200)]
    store.finish(*(Record(spec, wall=50.0) for spec in full[:1100]))
    store.finish(*(Record(spec, wall=0.5) for spec in quick))
    store.finish(Record(full[1100], "failed", error="Oops", wall=7.0))
    assert store.times([*full, *full[:600]]) == [("m0", "P-0", 50.0)] * 1100
    assert store.times([]) == store.times(full[1100:]) == []


def test_the_first_to_be_done_counts(store: Store) -> None:
    first = Record(SPECS[0], expression="first")
    store.finish(Record(SPECS[0], "failed", error="at first"))
    store.finish(first)
    store.finish(Record(SPECS[0], expression="second"))
    store.finish(Record(SPECS[0], "failed", error="late"))
    assert store.records() == [first]


def test_a_failed_run_is_tried_again_only_when_asked(store: Store, path: Path) -> None:
    failed = Record(SPECS[0], "failed", error="first")
    store.finish(failed)
    later = time.time() + 1
    assert store.claim(SPECS[:1]) is None
    assert store.missing(SPECS[:1], failed_before=later) == SPECS[:1]
    assert store.claim(SPECS[:1], failed_before=later) == SPECS[0]
    assert store.counts(SPECS[:1]) == Counts(running=1)
    assert store.records() == [failed]  # until it is finished again
    store.release()
    assert store.counts(SPECS[:1]) == Counts(failed=1)
    assert store.claim(SPECS[:1], failed_before=0.0) is None  # it failed after that


def test_the_runs_of_another_store_are_copied(store: Store, path: Path) -> None:
    done, failed = (lambda spec: Record(spec, reward=0.5)), (lambda spec: failure(spec, "KeyError"))
    store.finish(done(SPECS[0]), failed(SPECS[1]), failed(SPECS[2]))
    mine = store.records()
    with Store(path.with_name("other.db")) as other:
        other.finish(
            Record(SPECS[0], reward=0.9),  # stays as it is here
            done(SPECS[1]),  # takes the place of a failure
            failed(SPECS[2]),  # is known to fail
            done(SPECS[3]),
            failed(SPECS[4]),
        )
        assert store.take(other.records()) == 3
        assert store.take(other.records()) == 0
    assert store.records(SPECS[:1]) + store.records(SPECS[2:3]) == [mine[0], mine[2]]
    assert store.counts(SPECS) == Counts(done=3, failed=2, missing=1)


def test_release_gives_back_ones_own_claims_only(store: Store, path: Path) -> None:
    with Store(path) as other:
        assert [other.claim(SPECS) for _ in range(2)] == SPECS[:2]
        assert [store.claim(SPECS) for _ in range(2)] == SPECS[2:4]
        store.release()
        assert other.claim(SPECS) == SPECS[2]
        store.release()  # there is nothing left, and that is fine
        store.heartbeat()
        assert store.counts(SPECS) == Counts(running=3, missing=3)


def test_seeds_may_be_as_large_as_they_come(store: Store) -> None:
    spec = Spec("m", "P", 2**64 - 1)
    assert store.claim([spec]) == spec
    store.finish(Record(spec))
    assert store.records()[0].spec == spec


def test_many_runs_are_found(store: Store) -> None:
    specs = some_specs(2_000)
    store.finish(*(Record(spec) for spec in specs[:-1]))
    assert store.claim(specs) == specs[-1]
    assert store.counts(specs) == Counts(done=1_999, running=1)


# --- which processes have ended


def test_a_process_is_known_by_its_number_and_start() -> None:
    me = Owner.this_process()
    assert me.alive(10 * STALE)
    assert not replace(me, started="1").alive(0.0)
    assert not ended_owner().alive(0.0)
    far = replace(me, host="elsewhere", pid=1)
    assert far.alive(STALE - 1)
    assert not far.alive(STALE + 1)


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="reads Linux's /proc")
def test_a_process_that_nobody_waited_for_has_ended() -> None:
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE) as child:
        owner = replace(Owner.this_process(), pid=child.pid, started=start_of(child.pid) or "")
        assert owner.alive(0.0)
        child.kill()
        while Path(f"/proc/{child.pid}/stat").read_text().split()[2] != "Z":
            time.sleep(0.01)
        assert not owner.alive(0.0)


def test_the_claims_of_ended_processes_are_free(store: Store, path: Path) -> None:
    store.finish(Record(SPECS[1], "failed", error="before"))
    ended = Store(path, owner=ended_owner())
    assert ended.claim(SPECS) == SPECS[0]
    assert ended.claim(SPECS[1:2], failed_before=time.time() + 1) == SPECS[1]
    assert store.counts(SPECS) == Counts(failed=1, missing=5)
    assert store.claim(SPECS) == SPECS[0]
    assert store.counts(SPECS) == Counts(failed=1, running=1, missing=4)
    ended.finish(Record(SPECS[0], expression="late"))  # it had not ended after all
    store.finish(Record(SPECS[0], expression="again"))
    assert [each.expression for each in store.records(status="done")] == ["late"]
    ended.close()


def test_a_machine_elsewhere_is_judged_by_its_heartbeat(store: Store, path: Path) -> None:
    far = replace(Owner.this_process(), token="far", host="elsewhere")
    with Store(path, owner=far) as other:
        assert other.claim(SPECS) == SPECS[0]
        _set_beat(path, time.time() - STALE + 60)
        assert store.claim(SPECS) == SPECS[1]
        _set_beat(path, time.time() - STALE - 60)
        other.heartbeat()
        assert store.claim(SPECS) == SPECS[2]
        _set_beat(path, time.time() - STALE - 60)
        assert store.claim(SPECS) == SPECS[0]


def _set_beat(path: Path, beat: float) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE owners SET beat = ? WHERE token = 'far'", (beat,))
    db.close()


# --- any order of events


def claims(store: Store) -> dict[str, str]:
    """The owner of each claimed run, by its key; those that have ended own nothing."""
    query = "SELECT key, owner FROM runs WHERE owner IS NOT NULL"
    return {key: owner for key, owner in store._db.execute(query) if owner in store._living()}


class Model(RuleBasedStateMachine):
    """Three processes, any of which may end, against a dictionary that says what should be."""

    folder = Path()
    examples = 0

    @initialize()
    def open(self) -> None:
        Model.examples += 1
        self.path = self.folder / f"{Model.examples}.db"
        self.stores = [self.opened() for _ in range(3)]
        self.holder: dict[Spec, Store] = {}
        self.kept: dict[Spec, Record] = {}
        self.number = 0

    def opened(self) -> Store:
        return Store(self.path, owner=replace(Owner.this_process(), host="elsewhere"))

    @rule(who=st.integers(0, 2), retry=st.booleans())
    def claim(self, who: int, retry: bool) -> None:
        free = [
            spec
            for spec in SPECS[:4]
            if spec not in self.holder
            and (spec not in self.kept or (retry and self.kept[spec].status == "failed"))
        ]
        before = time.time() + 1 if retry else None
        claimed = self.stores[who].claim(SPECS[:4], failed_before=before)
        assert claimed == (free[0] if free else None)
        if claimed:
            self.holder[claimed] = self.stores[who]

    @rule(which=st.integers(0, 3), status=st.sampled_from(["done", "failed"]))
    def finish(self, which: int, status: str) -> None:
        spec = SPECS[which]
        if spec in self.holder:
            self.number += 1
            record = Record(spec, status, reason=str(self.number))  # type: ignore[arg-type]
            self.holder.pop(spec).finish(record)
            self.kept[spec] = record

    @rule(who=st.integers(0, 2))
    def release(self, who: int) -> None:
        store = self.stores[who]
        store.release()
        self.holder = {spec: each for spec, each in self.holder.items() if each is not store}

    @rule(who=st.integers(0, 2), clean=st.booleans())
    def end(self, who: int, clean: bool) -> None:
        store = self.stores[who]
        if clean:
            store.close()
        else:  # as after a kill: nothing is given back, and there is no heartbeat
            store._db.execute("UPDATE owners SET beat = 0 WHERE token = ?", (store.owner.token,))
            store._db.close()
        self.holder = {spec: each for spec, each in self.holder.items() if each is not store}
        self.stores[who] = self.opened()

    @invariant()
    def agrees(self) -> None:
        if not hasattr(self, "stores"):
            return
        for store in self.stores[:1]:
            assert {each.spec: each for each in store.records()} == self.kept
            assert claims(store) == {
                spec.key: each.owner.token for spec, each in self.holder.items()
            }
            counts = store.counts(SPECS[:4])
            assert counts.running == len(self.holder)
            statuses = [r.status for spec, r in self.kept.items() if spec not in self.holder]
            assert (counts.done, counts.failed) == tuple(map(statuses.count, ("done", "failed")))

    def teardown(self) -> None:
        for store in getattr(self, "stores", []):
            store.close()


def test_any_order_of_events_keeps_the_store_right(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Model, "folder", tmp_path)
    run_state_machine_as_test(
        Model, settings=settings(max_examples=25, stateful_step_count=20, deadline=None)
    )


# --- files that are not stores, and stores in trouble


def test_a_file_of_another_kind_is_refused(path: Path) -> None:
    path.write_text("method,problem,seed\n" * 100)
    with pytest.raises(StoreError, match="is not a store of runs but a file of another kind"):
        Store(path)
    assert path.read_text().startswith("method,problem")


@pytest.mark.parametrize("table", ["CREATE TABLE t (a)", "CREATE TABLE about (name, value)"])
def test_a_database_of_something_else_is_refused(path: Path, table: str) -> None:
    with sqlite3.connect(path) as db:
        db.execute(table)
    db.close()
    with pytest.raises(StoreError, match="is not a store of runs but a database of something"):
        Store(path)


def test_a_store_of_another_format_is_refused(path: Path) -> None:
    Store(path).close()
    with sqlite3.connect(path) as db:
        db.execute("UPDATE about SET value = '99' WHERE name = 'format'")
    db.close()
    with pytest.raises(StoreError, match=r"has format 99, by symseek .*, and this version reads"):
        Store(path)


def test_a_path_that_cannot_hold_a_store_is_refused(path: Path) -> None:
    with pytest.raises(StoreError, match="is a folder"):
        Store(path.parent)
    with pytest.raises(StoreError, match="there is no folder"):
        Store(path / "runs.db")
    with pytest.raises(StoreError, match="there is no store"):
        Store(path, read_only=True)
    assert not path.exists()


def filled(path: Path) -> None:
    with Store(path) as store:
        store.finish(*(replace(steady(spec), reason="x" * 500) for spec in some_specs(200)))


@pytest.mark.parametrize("damage", ["cut", "zeros", "noise"])
def test_a_damaged_store_is_refused(path: Path, damage: str) -> None:
    filled(path)
    whole = path.read_bytes()
    middle = len(whole) // 2
    hurt = {
        "cut": whole[:middle],
        "zeros": whole[:middle] + bytes(20_000) + whole[middle + 20_000 :],
        "noise": whole[:8192] + np.random.default_rng(1).bytes(8192) + whole[16384:],
    }
    path.write_bytes(hurt[damage])
    with pytest.raises(StoreError, match=r"is damaged .*; put a copy in its place"):
        Store(path)


def test_a_record_that_cannot_be_read_is_damage(store: Store) -> None:
    store.finish(Record(SPECS[0]))
    store._db.execute("UPDATE runs SET record = '{\"spec\": 3}'")
    with pytest.raises(StoreError, match="is damaged"):
        store.records()


def test_a_full_disk_is_reported_and_costs_nothing(store: Store) -> None:
    store.finish(Record(SPECS[0]))
    ((pages,),) = store._db.execute("PRAGMA page_count").fetchall()
    store._db.execute(f"PRAGMA max_page_count = {pages}")
    large = Record(SPECS[1], reason="x" * 1_000_000)
    with pytest.raises(StoreError, match=r"disk is full: .* what it holds is safe") as caught:
        store.finish(large, Record(SPECS[2]))
    assert caught.value.temporary
    assert [each.spec for each in store.records()] == SPECS[:1]
    store._db.execute("PRAGMA max_page_count = 1000000")
    store.finish(large)
    assert store.counts() == Counts(done=2)


def test_a_locked_store_is_reported(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "PATIENCE", 0.05)
    with Store(path) as store:
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreError, match="locked by another program") as caught:
            store.claim(SPECS)
        assert caught.value.temporary
        other.rollback()
        other.close()
        assert store.claim(SPECS) == SPECS[0]


def test_an_interrupted_transaction_is_undone(store: Store) -> None:
    store._db.execute("BEGIN IMMEDIATE")  # and Ctrl-C right after it
    store._db.execute("INSERT INTO about VALUES ('half', 'done')")
    store.finish(Record(SPECS[0]))
    assert store.counts() == Counts(done=1)
    assert store._db.execute("SELECT * FROM about WHERE name = 'half'").fetchall() == []


def test_a_store_that_an_older_version_wrote_is_read(path: Path) -> None:
    """It had a write-ahead log, and an owner's place was its machine, boot and container."""
    with Store(path) as store:
        store.finish(Record(SPECS[0], expression="old"))
    with sqlite3.connect(path) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute(
            "INSERT INTO owners VALUES ('old', ?, 'here 0-1-2 pid:[7]', ?, '1', ?)",
            (platform.node(), os.getpid(), time.time()),
        )
        db.execute(
            "INSERT INTO runs (key, method, problem, seed, owner) VALUES (?, 'm', 'P', '1', 'old')",
            (SPECS[1].key,),
        )
    db.close()
    with Store(path) as store:
        assert [each.expression for each in store.records()] == ["old"]
        assert store.claim(SPECS) == SPECS[1]  # its process has ended: this one began later
        assert store._db.execute("PRAGMA journal_mode").fetchall() == [("delete",)]
    assert sorted(each.name for each in path.parent.iterdir()) == ["runs.db"]


def test_a_transaction_that_was_cut_off_is_undone_for_readers_too(path: Path) -> None:
    filled(path)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("PRAGMA cache_size = 1")  # so that pages reach the file before the end
    other.execute("BEGIN IMMEDIATE")
    other.execute("UPDATE runs SET record = ?, status = 'failed'", ("x" * 5000,))
    cut = path.with_name("cut.db")
    for end in ("", "-journal"):
        shutil.copy(f"{path}{end}", f"{cut}{end}")
    other.close()
    assert cut.read_bytes() != path.read_bytes()
    for read_only in (True, False):
        with Store(cut, read_only=read_only) as store:
            assert store.counts() == Counts(done=200)


def test_a_store_in_memory_keeps_runs_as_a_file_does() -> None:
    with Store() as store:
        assert store.claim(SPECS) == SPECS[0]
        store.finish(steady(SPECS[0]), failure(SPECS[1], "Oops"))
        assert store.counts(SPECS) == Counts(done=1, failed=1, missing=4)
        assert store.records(status="done") == [steady(SPECS[0])]
    with Store() as other:  # each has its own
        assert other.counts() == Counts()


# --- python -m symseek.lab


def test_failed_runs_are_shown_with_their_errors(
    store: Store, path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bad = Record(SPECS[3], "failed", error="Traceback (most recent call last)\nKeyError: 'a'\n")
    store.finish(Record(SPECS[0]), bad)
    assert show([str(path)]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("1 runs done, 1 failed, 0 running\n")
    assert f"{bad.spec.short}  m1 on P-0, seed 3: KeyError: 'a'" in printed
    assert show([str(path), bad.spec.short]) == 0
    printed = capsys.readouterr().out
    assert '"seed": 3' in printed
    assert printed.endswith("\n\nTraceback (most recent call last)\nKeyError: 'a'\n\n")
    for words, message in (([str(path), "zz"], "none of its"), ([f"{path}x"], "there is no store")):
        assert show(words) == 2
        assert message in capsys.readouterr().err
