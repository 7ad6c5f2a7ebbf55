"""Objects, strings, lists and dicts that come and go. Run it with PYTHONMALLOC=malloc: python's own
allocator of small blocks would hide nearly all of it.   python3 objects.py ROUNDS"""
import sys


class Order:
    def __init__(self, number, items):
        self.number = number
        self.name = "order-%d" % number
        self.items = items


def make_orders(first, n):
    return [Order(i, [(i, j, str(i * j)) for j in range(i % 7)]) for i in range(first, first + n)]


def index_by_name(orders):
    return {order.name: {"items": order.items, "total": sum(item[1] for item in order.items)}
            for order in orders}


def main(rounds):
    kept, total = [], 0
    for round_number in range(rounds):
        index = index_by_name(make_orders(round_number * 1000, 4000))
        text = ",".join(sorted(index))
        total += len(text) + sum(entry["total"] for entry in index.values())
        words = [word.upper() for word in text.split(",")]
        kept.append(words[round_number % len(words)::17])
        if len(kept) > 20:
            kept.pop(round_number % 20)
    print(total, sum(len(words) for words in kept))


main(int(sys.argv[1]))
