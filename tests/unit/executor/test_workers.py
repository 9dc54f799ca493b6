"""Threads for calls: as many as jobs at once, used again, and none left idle once closed."""

from __future__ import annotations

import threading

from nodusctl.executor.workers import Workers


def test_jobs_after_each_other_share_a_thread_and_jobs_at_once_do_not() -> None:
    workers, names, is_done = Workers(), [], threading.Semaphore(0)

    def note() -> None:
        names.append(threading.get_ident())
        is_done.release()

    for _ in range(5):
        workers.run(note)
        assert is_done.acquire(timeout=10)
        while len(workers._idle) < 1:
            threading.Event().wait(0.001)
    assert len(set(names)) == 1
    both = threading.Barrier(2)
    workers.run(lambda: both.wait(10) and None)
    workers.run(lambda: both.wait(10) and None)
    while len(workers._idle) < 2:
        threading.Event().wait(0.001)
    workers.close()
    assert workers._idle == set()


def test_a_job_that_hangs_stands_in_nobodys_way() -> None:
    workers, is_free, is_done = Workers(), threading.Event(), threading.Event()
    workers.run(lambda: is_free.wait(30) and None)
    workers.run(is_done.set)
    assert is_done.wait(10)
    workers.close()
    is_free.set()
