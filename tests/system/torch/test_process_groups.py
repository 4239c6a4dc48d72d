"""What a process group does when the vendor's collective library breaks off: only the simulated one can be made to."""

from __future__ import annotations

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
