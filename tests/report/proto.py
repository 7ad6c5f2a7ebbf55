"""proto.py - profile.proto written by hand, for tests that need a profile with given labels: no reader or writer of ours."""
import gzip


def varint(n):
    n &= (1 << 64) - 1
    out = b""
    while True:
        out += bytes([n & 127 | (128 if n > 127 else 0)])
        n >>= 7
        if not n:
            return out


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


class Profile:
    """samples: [(["leaf", ..., "root"], {type: value}, {key: text, or (number, unit)})]"""

    def __init__(self, types, samples):
        self.strings, self.functions, body = [""], [], b""
        for name, unit in types:
            body += field(1, field(1, self.string(name)) + field(2, self.string(unit)))
        for stack, values, labels in samples:
            s = field(1, b"".join(varint(self.function(name)) for name in stack))
            s += field(2, b"".join(varint(values.get(name, 0)) for name, _ in types))
            for key, value in labels.items():
                label = field(1, self.string(key))
                if isinstance(value, str):
                    label += field(2, self.string(value))
                else:
                    label += field(3, value[0]) + (field(4, self.string(value[1])) if value[1] else b"")
                s += field(3, label)
            body += field(2, s)
        for i, name in enumerate(self.functions):
            body += field(4, field(1, i + 1) + field(4, field(1, i + 1) + field(2, 10 + i)))
            body += field(5, field(1, i + 1) + field(2, self.string(name)) + field(4, self.string(f"/src/{name}.c")))
        for text in self.strings:
            body += field(6, text.encode())
        self.bytes = body

    def string(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return self.strings.index(text)

    def function(self, name):
        if name not in self.functions:
            self.functions.append(name)
        return self.functions.index(name) + 1

    def write(self, path):
        with gzip.open(path, "wb") as f:
            f.write(self.bytes)
        return path
