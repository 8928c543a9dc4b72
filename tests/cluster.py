"""A Dask cluster on loopback: its scheduler in this process, its workers in processes of their own, which can be killed.

Worker processes are forked from one that has imported what they need, so that a second one costs next to nothing.
"""

import asyncio
import json
import multiprocessing

IMPORTED = ["distributed", "scipy.stats", "tellapart.bandits", "tellapart.estimators.posterior", "tellapart.search.amortized"]
PROCESSES = multiprocessing.get_context("forkserver")


def work(address):
    """Be a worker with one thread, until the scheduler has none for it or it is killed."""
    from distributed import Worker

    async def serve():
        async with Worker(address, nthreads=1, host="127.0.0.1", dashboard=False) as worker:
            await worker.finished()

    asyncio.run(serve())


class Cluster:
    """A scheduler and worker processes.

    Arguments:
        folder: Where the scheduler file is written.
        workers: How many there are to begin with.
    """

    def __init__(self, folder, workers):
        from distributed import LocalCluster

        self._scheduler = LocalCluster(n_workers=0, host="127.0.0.1", dashboard_address=None)
        self.file = folder / "scheduler.json"
        self.file.write_text(json.dumps(self._scheduler.scheduler.identity()))
        PROCESSES.set_forkserver_preload(IMPORTED)
        self.workers = [self.add() for _ in range(workers)]

    def add(self):
        process = PROCESSES.Process(target=work, args=(self._scheduler.scheduler_address,), daemon=True)
        process.start()
        return process

    def wait(self, client):
        client.wait_for_workers(len(self.workers), timeout=60)

    def stop(self):
        for process in self.workers:
            process.kill()
            process.join()
        self._scheduler.close()
