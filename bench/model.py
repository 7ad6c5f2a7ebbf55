#!/usr/bin/env python3
"""model.py - how throughput grows with cores, from counts.

Each lock and each shared line is a station of a closed queueing network that N threads go through; exact mean value analysis gives
the operations in a second. A visit takes the instructions under the lock, and on more than one core the transfer of the lines that
were last written elsewhere. Counts come from tests/cost/steady.py --where, times are estimates: docs/decisions/scale.md.

    bench/model.py        the tables of that page, as Markdown"""
from dataclasses import dataclass

CORES = (1, 2, 4, 8, 16, 64, 256)
TRANSFER_NS = {1: 0, 2: 60, 4: 60, 8: 60, 16: 60, 64: 100, 256: 150}    # of a line between two cores


@dataclass
class Station:
    name: str
    visits: float       # in 1,000 operations
    held_ns: float      # by one core alone
    lines: int          # that come from another core
    places: int = 1     # as many alike, visited at random


@dataclass
class Workload:
    name: str
    alone_ns: float     # an operation, without the stations
    stations: list
    measured: dict      # cores: million operations in a second


def times(station, cores):
    return station.visits / 1000 * (station.held_ns + station.lines * TRANSFER_NS[cores])


def throughput(work, cores):
    """Million operations in a second, and how busy each station is."""
    waiting, rate = [0.0] * len(work.stations), 0.0
    for n in range(1, cores + 1):
        spent = [times(s, cores) * (1 + waiting[k] / s.places) for k, s in enumerate(work.stations)]
        rate = n / (work.alone_ns + sum(spent))
        waiting = [rate * t for t in spent]
    return rate * 1000, [rate * times(s, cores) / s.places for s in work.stations]


def saturates_at(work, station):
    """Cores at which this station alone would be busy all the time."""
    for cores in (2, 4, 8, 16, 64, 256):
        every = work.alone_ns + sum(times(s, cores) for s in work.stations)
        n = every * station.places / times(station, cores)
        if n <= cores:
            return f"{max(n, 2):.0f}"
    return "more than 256"


def show(work):
    print(f"\n### {work.name}\n")
    print("| | visits in 1,000 | held, ns | lines | places | busy at 16 | saturates at |")
    print("|---|---|---|---|---|---|---|")
    _, busy = throughput(work, 16)
    for s, b in zip(work.stations, busy):
        print(f"| {s.name} | {s.visits:g} | {s.held_ns:g} | {s.lines} | {s.places} | {b:.2f} | {saturates_at(work, s)} |")
    print("\n| cores | " + " | ".join(str(c) for c in CORES) + " |\n|---" * 1 + "|---" * len(CORES) + "|")
    print("| model, million a second | " + " | ".join(f"{throughput(work, c)[0]:.1f}" for c in CORES) + " |")
    if work.measured:
        print("| measured | " + " | ".join(str(work.measured.get(c, "")) for c in CORES) + " |")


WORKLOADS = [
    Workload("Thread turnover, 8 B to 16 KB, version 0.1", 90, [
        Station("locks of medium classes", 934, 40, 3, 32),
        Station("lock of the slices", 60, 150, 3),
        Station("counters of slices", 124, 5, 1, 2),
        Station("lock of the samples", 66, 200, 4),
        Station("list of modules", 33, 20, 1)],
        {1: 6.5, 2: 7.4, 4: 11.7, 8: 19.7, 16: 29.5}),
    Workload("The same now", 18, [
        Station("locks of medium classes", 33, 60, 3, 32),
        Station("locks of sampled slabs", 22, 60, 3, 4),
        Station("lock of the samples", 24, 55, 3),
        Station("lock of the heaps", 6, 200, 3),
        Station("cells of the exchange", 4, 150, 6, 16),
        Station("lock of the slices", 4, 150, 3),
        Station("counters of slices", 5, 5, 1, 2)], {}),
    Workload("500 of 1 to 16 KB replaced, a thread each, now", 10, [
        Station("locks of medium classes", 1.6, 60, 3, 32),
        Station("sums of all samples", 1.6, 30, 3),
        Station("figure of what is in use", 2.4, 5, 1),
        Station("lock of the samples", 0.3, 120, 3),
        Station("lock of the slices", 0.2, 150, 3)], {}),
]

if __name__ == "__main__":
    for w in WORKLOADS:
        show(w)
