"""What a process group does when the vendor's collective library breaks off: only the simulated one can be made to."""

from __future__ import annotations

import re
import signal
from pathlib import Path

from .packages import Package

PROGRAM = """
import os, sys, time, torch, torch.distributed as dist

def work(rank, store):
    device = torch.device("mlu", rank)
    torch.mlu.set_device(device)
    dist.init_process_group("cncl", init_method="file://" + store, rank=rank, world_size=2)
    value = torch.ones(3, device=device)
    dist.all_reduce(value)
    assert value.tolist() == [2, 2, 2]
    if rank == 1:
        time.sleep(6)  # and does not come to the next one, for which the library waits a shorter time
        os._exit(0)
    dist.all_reduce(value)
    torch.mlu.synchronize()
    try:
        dist.all_reduce(value)
    except RuntimeError as error:
        print("told:", str(error).splitlines()[0])
    os._exit(0)

if __name__ == "__main__":
    torch.multiprocessing.spawn(work, sys.argv[1:], nprocs=2)
"""


def test_no_collective_is_built_upon_one_that_broke_off(mlu: Package, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM, encoding="utf-8")
    result = mlu.run(program, tmp_path / "store", cwd=tmp_path, timeout=120, FL_SIM_CCL_TIMEOUT_MS="2000")
    assert result.returncode == 0, result.stdout + result.stderr
    assert "told: an earlier collective failed: CNCL_RET_ASYNC_ERROR (code 22), device mlu:0" in result.stdout


ENDING = """
import os, sys, time, torch, torch.distributed as dist
from datetime import timedelta

def work(rank, store, limit, count):
    device = torch.device("mlu", rank)
    torch.mlu.set_device(device)
    limit = timedelta(seconds=int(limit))
    dist.init_process_group("cncl", init_method="file://" + store, rank=rank, world_size=2, timeout=limit)
    value = torch.ones(3, device=device)
    dist.all_reduce(value)
    torch.mlu.synchronize()
    if rank == 1:
        time.sleep(60)  # and does not come to the next one
    for _ in range(int(count)):
        dist.all_reduce(value)
    torch.mlu.synchronize()
    print("went on", flush=True)
    time.sleep(4)  # the watchdog looks every 100 ms, on a machine that may be busy

if __name__ == "__main__":
    children = [torch.multiprocessing.Process(target=work, args=(rank, *sys.argv[1:])) for rank in range(2)]
    for child in children:
        child.start()
    children[0].join(50)
    print("rank 0 ended with", children[0].exitcode)
    children[1].kill()
"""


BROKEN = "an earlier collective failed: CNCL_RET_ASYNC_ERROR (code 22), device mlu:0"


def ending(mlu: Package, folder: Path, limit: int, count: int, **variables: str) -> tuple[str, str]:
    """What both ranks print, and what they say on the error stream."""
    program = folder / "program.py"
    program.write_text(ENDING, encoding="utf-8")
    result = mlu.run(program, folder / "store", str(limit), str(count), cwd=folder, timeout=120, **variables)
    return result.stdout, result.stderr


def test_a_process_that_waits_too_long_ends_and_says_why(mlu: Package, tmp_path: Path) -> None:
    printed, told = ending(mlu, tmp_path, 10, 1)
    assert printed == f"rank 0 ended with -{signal.SIGABRT.value}\n", told
    assert (
        "torch_mlu: cncl:all_reduce number 2 of rank 0 has not finished within 10000 ms: does every rank take part? "
        "The limit is the timeout of torch.distributed.init_process_group.\n"
    ) in told


def test_a_process_that_waits_behind_what_broke_off_ends_and_says_why(mlu: Package, tmp_path: Path) -> None:
    slow = {"FL_SIM_DELAY_US": "1000000", "FL_SIM_CCL_TIMEOUT_MS": "5000"}  # so that there is a time to wait in
    printed, told = ending(mlu, tmp_path, 600, 4, **slow)
    assert printed == f"rank 0 ended with -{signal.SIGABRT.value}\n", told
    assert re.search(rf"^torch_mlu: cncl:all_reduce number [2-5] of rank 0 cannot go on: {re.escape(BROKEN)}", told, re.M)


def test_that_the_last_collective_broke_off_is_told(mlu: Package, tmp_path: Path) -> None:
    """Nothing comes after it that could throw."""
    printed, told = ending(mlu, tmp_path, 600, 1, FL_SIM_CCL_TIMEOUT_MS="5000")
    assert printed == "went on\nrank 0 ended with 0\n", told
    assert f"cncl:all_reduce number 2 of rank 0 may have left wrong values behind: {BROKEN}" in told
