#!/usr/bin/env python3
"""rows_run.py - every row of the bench that needs no program of the system runs, and answers the same under each library.

    rows_run.py BIN LIBRARY...

BIN is where the bench programs are. Each row does a hundredth of its work, without a library and with each. What sleeps is left out.

Exit 0 fine, 1 a row failed or the answers differ, 2 usage."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench"))
import measure  # noqa: E402
import rows  # noqa: E402

rows.QUICK_DIVISOR = 100


def failures(bench, row, allocators):
    """What is wrong with a row, one line each."""
    wrong, answers = [], {}
    for allocator in allocators:
        seen = bench.run(row, allocator)
        if "error" in seen:
            wrong.append(f"{row.name}: {allocator.name}: expected a result, seen: {seen['error']}. {seen['stderr']}")
        else:
            answers[allocator.name] = seen["answer"]
    if row.compare_output and len(set(answers.values())) > 1:
        wrong.append(f"{row.name}: expected one answer, seen {answers}")
    return wrong


def main():
    if len(sys.argv) < 3:
        sys.exit(2)
    allocators = [measure.Allocator("glibc", "", "peer")]
    allocators += [measure.Allocator(os.path.basename(path), os.path.abspath(path), "ours") for path in sys.argv[2:]]
    bench, wrong, n_run = measure.Bench(sys.argv[1], True), [], 0
    try:
        for row in rows.ROWS + rows.EXACT:
            program = bench.command(row)[0]
            has_no_cxx = os.path.basename(program) == "containers" and not os.path.exists(program)
            if row.group == "real" or row.slow or has_no_cxx:
                print(f"{row.name}: left out")
                continue
            wrong += failures(bench, row, allocators)
            n_run += 1
    finally:
        bench.close()
    print(f"{n_run} rows, {len(allocators)} libraries each")
    for line in wrong:
        print(line)
    sys.exit(1 if wrong else 0)


main()
