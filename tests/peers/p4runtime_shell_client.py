#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tare-switch against p4runtime-shell. Exit 77: the package is missing.

usage: p4runtime_shell_client.py TARE_SWITCH
"""
import pathlib
import socket
import subprocess
import sys
import time

try:
    import google.rpc.code_pb2 as codes
    import p4runtime_sh.shell as sh
    from p4runtime_sh.p4runtime import P4RuntimeWriteException
except ImportError:
    print("SKIP: no p4runtime-shell here")
    sys.exit(77)


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def wait_for(port, process):
    until = time.monotonic() + 10
    while time.monotonic() < until:
        assert process.poll() is None, "tare-switch has ended"
        with socket.socket() as s:
            if s.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    raise TimeoutError("tare-switch does not listen")


def refused(code, update):
    try:
        update()
    except P4RuntimeWriteException as e:
        got = [error.canonical_code for _, error in e.errors]
        assert got == [code], f"refused with {got}, not {code}"
        return
    raise AssertionError("not refused")


def entries_of_tables():
    host = sh.TableEntry("In.hosts")(action="In.counted")
    host.match["hdr.ethernet.destination"] = "00:00:00:00:00:0a"
    host.action["port"] = "3"
    host.insert()
    refused(codes.ALREADY_EXISTS, host.insert)
    host.action["port"] = "4"
    host.modify()
    found = list(sh.TableEntry("In.hosts").read())
    assert len(found) == 1 and found[0].action["port"].value == b"\x04", found
    counter = sh.DirectCounterEntry("In.hits")
    counter.table_entry.match["hdr.ethernet.destination"] = "00:00:00:00:00:0a"
    counter.packet_count = 5
    counter.modify()
    counted = list(sh.DirectCounterEntry("In.hits").read())
    assert [c.packet_count for c in counted] == [5], counted
    host.delete()
    refused(codes.NOT_FOUND, host.delete)

    for i in range(1, 200):
        route = sh.TableEntry("In.routes")(action="In.send")
        route.match["hdr.ipv6.destination"] = f"fe80:{i:x}::/32"
        route.action["port"] = "1"
        route.action["mac"] = "00:11:22:33:44:55"
        route.insert()
    assert len(list(sh.TableEntry("In.routes").read())) == 199

    rule = sh.TableEntry("In.acl")(action="In.metered")
    match = {"hdr.ethernet.source": "00:00:00:00:00:10&&&ff:ff:ff:ff:ff:f0", "hdr.ethernet.type": "0x800..0x806",
             "hdr.ipv6.source": "::1"}
    for name, value in match.items():
        rule.match[name] = value
    rule.action["port"] = "1"
    refused(codes.INVALID_ARGUMENT, rule.insert)  # no priority
    rule.priority = 7
    rule.meter_config.cir, rule.meter_config.cburst = 10, 20
    rule.meter_config.pir, rule.meter_config.pburst = 30, 40
    rule.insert()
    back = next(sh.TableEntry("In.acl").read())
    assert back.priority == 7 and back.match["hdr.ethernet.type"].range.high == b"\x08\x06", back
    meter = sh.DirectMeterEntry("In.pace")
    meter.table_entry.priority = 7
    for name, value in match.items():
        meter.table_entry.match[name] = value
    assert next(meter.read()).pir == 30

    default = sh.TableEntry("In.routes")(action="In.forward", is_default=True)
    default.action["port"] = "2"
    default.modify()


def action_profiles():
    for i in (1, 2):
        member = sh.ActionProfileMember("In.paths")(member_id=i, action="In.forward")
        member.action["port"] = str(i)
        member.insert()
    group = sh.ActionProfileGroup("In.paths")(group_id=1)
    group.add(1, 1)
    group.add(2, 3)
    group.insert()
    assert len(list(sh.ActionProfileMember("In.paths").read())) == 2
    assert [m.weight for m in next(sh.ActionProfileGroup("In.paths").read()).members] == [1, 3]
    entry = sh.TableEntry("In.balance")(group_id=1)
    entry.match["hdr.ethernet.type"] = "0x800"
    entry.insert()
    entry.delete()
    group.delete()
    shot = sh.TableEntry("In.balance")
    shot.match["hdr.ethernet.type"] = "0x801"
    action = sh.Action("In.forward")
    action["port"] = "9"
    shot.oneshot.add(action, weight=2)
    shot.insert()
    assert next(sh.TableEntry("In.balance").read()).oneshot.actions[0].weight == 2
    shot.delete()


def arrays_and_replication():
    counter = sh.CounterEntry("In.ports")(index=3)
    counter.byte_count = 11
    counter.modify()
    assert [c.byte_count for c in sh.CounterEntry("In.ports").read()][3] == 11
    meter = sh.MeterEntry("In.rates")(index=1)
    meter.cir, meter.cburst, meter.pir, meter.pburst = 1, 2, 3, 4
    meter.modify()
    assert next(sh.MeterEntry("In.rates")(index=1).read()).pburst == 4
    group = sh.MulticastGroupEntry(5).add(1, 1).add(2, 1)
    group.insert()
    refused(codes.ALREADY_EXISTS, group.insert)
    group.read(lambda g: None)
    session = sh.CloneSessionEntry(100).add(1, 1)
    session.packet_length_bytes = 64
    session.insert()
    session.delete()
    refused(codes.NOT_FOUND, session.delete)
    sh.DigestEntry("seen_t").insert()


def packets():
    packet = sh.PacketOut(b"\x00" * 60, egress_port="510", pad="0")
    # out by the CPU port: it comes back as a packet-in, behind the header that egress adds
    seen = []
    incoming = sh.PacketIn()
    packet.send()
    incoming.sniff(lambda p: seen.append(p), timeout=2)
    assert len(seen) == 1, seen
    assert seen[0].packet.payload == b"\x00" * 60, seen[0]


def main():
    folder = pathlib.Path(__file__).resolve().parent.parent / "p4"
    port = free_port()
    process = subprocess.Popen([sys.argv[1], "--no-p4", "--device-id", "1", "--", "--grpc-server-addr", f"127.0.0.1:{port}",
                                "--cpu-port", "510"])
    try:
        wait_for(port, process)
        sh.setup(device_id=1, grpc_addr=f"127.0.0.1:{port}", election_id=(0, 1), verbose=False,
                 config=sh.FwdPipeConfig(str(folder / "control.p4info.txtpb"), str(folder / "control.json")))
        assert sh.APIVersion() in (None, "1.4.0")
        entries_of_tables()
        action_profiles()
        arrays_and_replication()
        packets()
        sh.teardown()
        assert process.poll() is None, "tare-switch has ended"
    finally:
        process.terminate()
        process.wait(10)
    print("p4runtime-shell: all as expected")


if __name__ == "__main__":
    main()
