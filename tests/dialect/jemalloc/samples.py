"""samples.py FILE: what samples.c printed; log.json is beside it. Sizes and shape of both, so that the original passes too."""
import json
import os
import sys


def check(what, is_so):
    if not is_so:
        sys.exit(f"expected {what}")


folder = os.path.dirname(sys.argv[1])
recent = json.load(open(sys.argv[1]))
check("the keys of a dump", list(recent) == ["sample_interval", "recent_alloc_max", "recent_alloc"])
check("all is sampled, three are kept", recent["sample_interval"] == 1 and recent["recent_alloc_max"] == 3)
check("the last three", [a["size"] for a in recent["recent_alloc"]] == [1000, 2000, 3000])
check("one that was freed", [a["released"] for a in recent["recent_alloc"]] == [False, True, False])
BORN, DIED = ["alloc_thread_uid", "alloc_time", "alloc_trace"], ["dalloc_thread_uid", "dalloc_time", "dalloc_trace"]
for a in recent["recent_alloc"]:
    check("its keys", list(a) == ["size", "usize", "released"] + BORN + (DIED if a["released"] else []))
    check("a block that holds it", a["size"] <= a["usize"] <= a["size"] * 1.3)
    check("a stack", len(a["alloc_trace"]) >= 3 and all(pc.startswith("0x") for pc in a["alloc_trace"]))

log = json.load(open(os.path.join(folder, "log.json")))
check("the keys of a log", list(log) == ["info", "threads", "stack_traces", "allocations"])
check("the keys of its info", list(log["info"]) == ["duration", "version", "lg_sample_rate", "prof_time_resolution", "pid"])
check("the rate", log["info"]["lg_sample_rate"] == 0)
check("one thread", len(log["threads"]) == 1 and list(log["threads"][0]) == ["thr_uid", "thr_name"])
check("those that were freed", [a["usize"] for a in log["allocations"]] == sorted(a["usize"] for a in log["allocations"]) and len(log["allocations"]) == 2)
for a in log["allocations"]:
    check("its keys", list(a) == ["alloc_thread", "free_thread", "alloc_trace", "free_trace", "alloc_timestamp", "free_timestamp", "usize"])
    check("a thread that is told", a["alloc_thread"] == a["free_thread"] == 0)
    check("two stacks that are told", a["alloc_trace"] != a["free_trace"] and max(a["alloc_trace"], a["free_trace"]) < len(log["stack_traces"]))
    check("a death after the birth", a["free_timestamp"] >= a["alloc_timestamp"])
