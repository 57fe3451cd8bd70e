#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The same program, entries and packets through tare-switch's data plane and through a real BMv2; what comes out must be
the same, byte by byte, but for time stamps.

usage: against_bmv2.py STF JSON FILE.stf      the packets of a packet test
       against_bmv2.py STF JSON --random N [--seed S]    N frames for the programs of p4/v1model

STF is the packet test runner (tests/switch/stf). BMv2's simple_switch and simple_switch_CLI are taken from the PATH or
from $BMV2 (a folder). Status 77 where there is none.
"""
import argparse
import json
import os
import pathlib
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

WAIT_S = 3  # before BMv2 begins with the packets: time for the entries
GAP_US = 500
PORTS = range(0, 12)


def find(name):
    folder = os.environ.get("BMV2")
    return shutil.which(name, path=folder) if folder else shutil.which(name)


# --- entries: from STF to BMv2's command line ---

def end_match(names, name):
    for test in (lambda n: n == name, lambda n: n.endswith("." + name), lambda n: n.endswith(name)):
        found = [n for n in names if test(n)]
        if found:
            return found[0]
    raise ValueError(f"there is no '{name}'")


class Program:
    def __init__(self, path):
        self.json = json.load(open(path, encoding="utf-8"))
        self.tables = {t["name"]: t for p in self.json["pipelines"] for t in p["tables"]}
        self.actions = {a["id"]: a for a in self.json["actions"]}

    def call(self, table, text):
        name, args = re.fullmatch(r"([^\s(]+)\((.*)\)", text.strip()).groups()
        values = dict(a.split(":") for a in args.replace(" ", "").split(",") if a)
        by_name = {self.actions[i]["name"]: self.actions[i] for i in table["action_ids"]}
        action = by_name[end_match(by_name, name)]
        return action["name"], " ".join(values[p["name"]] for p in action["runtime_data"])

    def key(self, k, text):
        kind = k["match_type"]
        if text is None:
            return {"ternary": "0&&&0", "lpm": "0/0", "range": "0->0xffff", "optional": ""}.get(kind, "0")
        if kind == "ternary" and "&&&" not in text:
            if "*" not in text:
                return text + "&&&" + "0x" + "f" * (len(text) - 2 if text.startswith("0x") else 32)
            return text.replace("*", "0") + "&&&0x" + "".join("0" if c == "*" else "f" for c in text[2:])
        if kind == "range":
            return text.replace("..", "->")
        return text

    def add(self, line):
        words = re.match(r"add\s+(\S+)\s+((?:\d+\s)?)\s*((?:[^\s(:]+:[^\s(]+\s+)*)(.*)", line).groups()
        table = self.tables[end_match(self.tables, words[0])]
        given = dict(w.split(":", 1) for w in words[2].split())
        keys = []
        names = [k.get("name") or ".".join(k["target"]) for k in table["key"]]
        given = {end_match(names, n): v for n, v in given.items()}
        for k, name in zip(table["key"], names):
            if k["match_type"] == "optional":
                raise NotImplementedError("keys of kind optional: BMv2's command line has no form for them")
            keys.append(self.key(k, given.get(name)))
        action, params = self.call(table, words[3])
        priority = str(10000 - int(words[1])) if table["match_type"] in ("ternary", "range") else ""
        return f"table_add {table['name']} {action} {' '.join(keys)} => {params} {priority}"

    def default(self, line):
        _, name, call = line.split(None, 2)
        table = self.tables[end_match(self.tables, name)]
        return "table_set_default " + table["name"] + " " + " ".join(self.call(table, call))


PASSED_ON = ("mc_", "mirroring_add", "register_", "meter_", "counter_")


def read_stf(program, text):
    """Commands for BMv2, packets (port, bytes), and the text up to where more entries come: those packets are compared."""
    commands, packets, used = ["set_queue_depth 100000"], [], []
    for whole in text.splitlines():
        line = whole.split("#")[0].strip()
        word = line.split(" ")[0]
        if word == "packet":
            _, port, *digits = line.split()
            packets.append((int(port), bytes.fromhex("".join(digits))))
        elif word in ("", "expect", "wait") or word.startswith(("check_", "expect_")):
            continue
        elif packets:
            break
        elif word == "add":
            commands.append(program.add(line))
        elif word == "setdefault":
            commands.append(program.default(line))
        elif word.startswith(PASSED_ON):
            commands.append(line)
        else:
            raise NotImplementedError(line)
        used.append(whole)
    return commands, packets, "\n".join(used) + "\n"


# --- both switches ---

def write_pcap(path, packets):
    with open(path, "wb") as f:
        f.write(struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1))
        for at_us, data in packets:
            f.write(struct.pack("<IIII", at_us // 1000000, at_us % 1000000, len(data), len(data)) + data)


def read_pcap(path):
    data, out, at = path.read_bytes(), [], 24
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        out.append(data[at + 16:at + 16 + length])
        at += 16 + length
    return out


def run_bmv2(json_path, commands, packets):
    with tempfile.TemporaryDirectory() as folder:
        here = pathlib.Path(folder)
        for port in PORTS:
            write_pcap(here / f"p{port}_in.pcap",
                       [(1000000 + i * GAP_US, d) for i, (p, d) in enumerate(packets) if p == port])
        thrift = random.randint(20000, 50000)
        interfaces = [w for p in PORTS for w in ("-i", f"{p}@p{p}")]
        switch = subprocess.Popen(
            [find("simple_switch"), *interfaces, "--use-files", str(WAIT_S), "--thrift-port", str(thrift),
             "--log-level", "off", "--device-id", str(thrift), str(pathlib.Path(json_path).resolve())],
            cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            time.sleep(0.5)
            cli = subprocess.run([find("simple_switch_CLI"), "--thrift-port", str(thrift)],
                                 input="\n".join(commands) + "\n", text=True, capture_output=True, check=False)
            if "Error" in cli.stdout or "Invalid" in cli.stdout or cli.returncode:
                raise RuntimeError(cli.stdout + cli.stderr)
            deadline = time.time() + WAIT_S + len(packets) * GAP_US / 1e6 + 20
            before = -1
            while time.time() < deadline:  # until nothing more comes out
                time.sleep(1.0)
                now = sum(f.stat().st_size for f in here.glob("*_out.pcap"))
                if now == before and time.time() > deadline - 18:
                    break
                before = now
        finally:
            switch.send_signal(signal.SIGTERM)
            switch.wait()
        return {p: read_pcap(here / f"p{p}_out.pcap") for p in PORTS if (here / f"p{p}_out.pcap").exists()}


def run_ours(stf, json_path, text):
    with tempfile.NamedTemporaryFile("w", suffix=".stf") as f:
        f.write(text)
        f.flush()
        out = subprocess.run([stf, "--print", json_path, f.name], text=True, capture_output=True, check=True).stdout
    ports = {}
    for line in out.splitlines():
        port, _, digits = line.partition(" ")
        ports.setdefault(int(port), []).append(bytes.fromhex(digits))
    return ports


# --- random frames for the programs of p4/v1model ---

def checksum(data):
    total = sum(struct.unpack(f">{len(data) // 2}H", data))
    while total >> 16:
        total = (total & 0xFFFF) + (total >> 16)
    return ~total & 0xFFFF


def random_frame(rng):
    kind = rng.random()
    if kind < 0.05:
        return bytes(rng.randrange(256) for _ in range(rng.randrange(1, 40)))
    ethernet = rng.choice([b"\x02\0\0\0\0\1", b"\x02\0\0\0\0\2", bytes(rng.randrange(256) for _ in range(6))])
    ethernet += bytes(rng.randrange(256) for _ in range(6))
    if kind < 0.15:
        return ethernet + rng.choice([b"\x88\xb5", b"\x86\xdd"]) + bytes(rng.randrange(256) for _ in range(rng.randrange(50)))
    ip = bytearray(20)
    ip[0] = 0x45 if rng.random() < 0.95 else rng.randrange(256)
    ip[1:8] = bytes(rng.randrange(256) for _ in range(7))
    ip[8] = rng.choice([0, 1, 2, 64, 255])
    ip[9] = rng.choice([6, 17, 0xFD, 0xFD, rng.randrange(256)])
    ip[12:16] = bytes([10, rng.randrange(4), rng.randrange(4), rng.randrange(4)])
    ip[16:20] = bytes([rng.choice([10, 11]), rng.randrange(3), rng.randrange(3), rng.randrange(4)])
    struct.pack_into(">H", ip, 10, checksum(bytes(ip)) if rng.random() < 0.9 else rng.randrange(65536))
    payload = bytearray(rng.randrange(256) for _ in range(rng.choice([0, 3, 8, 30, 80, 200])))
    if ip[9] == 0xFD and len(payload) > 12:
        payload[12] = rng.randrange(10)  # hops
    if ip[9] in (6, 17) and len(payload) > 4:
        payload[0:4] = struct.pack(">HH", rng.randrange(4), rng.randrange(4))
    return ethernet + b"\x08\0" + bytes(ip) + bytes(payload)


def random_entries(program, rng):
    lines = []
    for name, table in program.tables.items():
        names = [(k.get("name") or ".".join(k["target"]), k["match_type"]) for k in table["key"]]
        if not names:
            continue
        for i in range(12):
            keys = []
            for key, kind in names:
                address = f"0x0{rng.choice('ab')}0{rng.randrange(3)}0{rng.randrange(3)}0{rng.randrange(4)}"
                if kind == "lpm":
                    keys.append(f"{key}:{address}/{rng.choice([8, 16, 24, 30, 32])}")
                elif kind == "ternary" and rng.random() < 0.5:
                    wide = "address" in key or key.endswith(("source", "destination")) and "ports" not in key
                    keys.append(f"{key}:{address}&&&0xffffff00" if wide else
                                f"{key}:{rng.choice([6, 17])}&&&0xff" if "protocol" in key else f"{key}:{rng.randrange(4)}&&&0xffff")
                elif kind == "exact":
                    keys.append(f"{key}:0x0200000000{i:02x}")
            call = rng.choice(table["actions"])
            action = next(program.actions[a] for a in table["action_ids"] if program.actions[a]["name"] == call)
            params = ", ".join(f"{p['name']}:{rng.randrange(1, 4) if p['bitwidth'] <= 9 else rng.getrandbits(40)}"
                               for p in action["runtime_data"])
            priority = f"{i + 1} " if any(k == "ternary" for _, k in names) else ""
            lines.append(f"add {name} {priority}{' '.join(keys)} {call}({params})")
    return lines


def unique(lines):
    """Without entries whose keys were there before."""
    seen, out = set(), []
    for line in lines:
        key = re.sub(r"\S+\(.*", "", line)
        masked = re.sub(r"0x([0-9a-f]+)/(\d+)", lambda m: f"{int(m[1], 16) >> (32 - int(m[2]))}/{m[2]}", key)
        if masked not in seen:
            seen.add(masked)
            out.append(line)
    return out


def without_stamps(frame):
    """Stamps of these programs: 12 bytes behind IPv4 of protocol 0xfd or behind EtherType 0x88b5, and in the hop added."""
    data = bytearray(frame)
    for ethertype, at in ((b"\x08\0", 34), (b"\x88\xb5", 14)):
        if data[12:14] != ethertype or (at == 34 and (len(data) < 34 or data[23] != 0xFD)):
            continue
        data[at:at + 12] = b"\0" * len(data[at:at + 12])
        data[at + 14:at + 26] = b"\0" * len(data[at + 14:at + 26])
    return bytes(data)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("stf")
    parser.add_argument("json")
    parser.add_argument("file", nargs="?")
    parser.add_argument("--random", type=int)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    if not find("simple_switch") or not find("simple_switch_CLI"):
        print("SKIP: no BMv2 here")
        return 77
    program = Program(args.json)
    if args.random:
        rng = random.Random(args.seed)
        lines = unique(random_entries(program, rng))
        lines += [f"packet {rng.randrange(1, 4)} {random_frame(rng).hex()}" for _ in range(args.random)]
        text = "\n".join(lines) + "\n"
    else:
        text = pathlib.Path(args.file).read_text(encoding="utf-8")
    try:
        commands, packets, text = read_stf(program, text)
    except NotImplementedError as e:
        print(f"not compared: {e}")
        return 0
    theirs, ours = run_bmv2(args.json, commands, packets), run_ours(args.stf, args.json, text)
    wrong = compared = 0
    for port in PORTS:
        a, b = theirs.get(port, []), ours.get(port, [])
        compared += len(a)
        if len(a) != len(b):
            print(f"port {port}: BMv2 sent {len(a)}, tare-switch {len(b)}")
            wrong += 1
        # sorted: in BMv2 a packet that goes around again is overtaken, more or less by the machine's mood
        a, b = sorted(map(without_stamps, a)), sorted(map(without_stamps, b))
        for i, (x, y) in enumerate(zip(a, b)):
            if x != y:
                print(f"port {port}, packet {i + 1} of the sorted:\n  BMv2        {x.hex()}\n  tare-switch {y.hex()}")
                wrong += 1
                if wrong > 10:
                    return 1
    print(f"{len(packets)} packets in, {compared} out, {wrong} differ")
    return 1 if wrong or not compared else 0


if __name__ == "__main__":
    sys.exit(main())
