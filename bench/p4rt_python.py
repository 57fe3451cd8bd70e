# SPDX-License-Identifier: Apache-2.0
"""LPM inserts by a Python grpcio client, the baseline of bench_p4rt.

usage: p4rt_python.py sync|async COUNT JSON P4INFO ADDRESS...

Sends the program to each switch (device 1), then COUNT routes to each: sync, one RPC in flight at all; async, one a
switch, all switches at once (grpc.aio). Prints the seconds of the inserts and the client's CPU time. Exits 77 where
grpcio or P4Runtime's modules are not installed.
"""
import asyncio
import queue
import sys
import time

try:
    import grpc
    from google.protobuf import text_format
    from p4.config.v1 import p4info_pb2
    from p4.v1 import p4runtime_pb2, p4runtime_pb2_grpc
except ImportError as missing:
    print(f"p4rt_python: {missing}", file=sys.stderr)
    sys.exit(77)

DEVICE, ELECTION = 1, 1


def route(info, i):
    """Route i as a WriteRequest: 10.0.0.0 and above, each of 32 bits."""
    table = next(t for t in info.tables if t.preamble.alias == "routes")
    action = next(a for a in info.actions if a.preamble.alias == "next_hop")
    request = p4runtime_pb2.WriteRequest(device_id=DEVICE)
    request.election_id.low = ELECTION
    update = request.updates.add(type=p4runtime_pb2.Update.INSERT)
    entry = update.entity.table_entry
    entry.table_id = table.preamble.id
    entry.match.add(field_id=1).lpm.CopyFrom(
        p4runtime_pb2.FieldMatch.LPM(value=(0x0A000000 + i).to_bytes(4, "big"), prefix_len=32))
    entry.action.action.action_id = action.preamble.id
    entry.action.action.params.add(param_id=1, value=(0x020000000000 + i).to_bytes(6, "big"))
    entry.action.action.params.add(param_id=2, value=(i % 511 + 1).to_bytes(2, "big").lstrip(b"\0"))
    return request


class Primary:
    """Mastership of a switch, held by a thread of grpcio for as long as this lives; and the program sent."""

    def __init__(self, address, info, json_bytes):
        self.channel = grpc.insecure_channel(address)
        grpc.channel_ready_future(self.channel).result(timeout=20)
        self.stub = p4runtime_pb2_grpc.P4RuntimeStub(self.channel)
        self.requests = queue.Queue()
        self.answers = self.stub.StreamChannel(iter(self.requests.get, None))
        first = p4runtime_pb2.StreamMessageRequest()
        first.arbitration.device_id = DEVICE
        first.arbitration.election_id.low = ELECTION
        self.requests.put(first)
        next(self.answers)
        config = p4runtime_pb2.SetForwardingPipelineConfigRequest(
            device_id=DEVICE, action=p4runtime_pb2.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT)
        config.election_id.low = ELECTION
        config.config.p4info.CopyFrom(info)
        config.config.p4_device_config = json_bytes
        self.stub.SetForwardingPipelineConfig(config)

    def close(self):
        self.requests.put(None)
        self.channel.close()


async def insert_all(addresses, info, count):
    async def one(address):
        async with grpc.aio.insecure_channel(address) as channel:
            stub = p4runtime_pb2_grpc.P4RuntimeStub(channel)
            await channel.channel_ready()
            begun = time.perf_counter()
            for i in range(count):
                await stub.Write(route(info, i))
            return begun, time.perf_counter()

    times = await asyncio.gather(*(one(a) for a in addresses))
    return max(t[1] for t in times) - min(t[0] for t in times)


def main():
    mode, count, addresses = sys.argv[1], int(sys.argv[2]), sys.argv[5:]
    with open(sys.argv[3], "rb") as f:
        json_bytes = f.read()
    with open(sys.argv[4], encoding="utf-8") as f:
        info = text_format.Parse(f.read(), p4info_pb2.P4Info(), allow_unknown_field=True)
    switches = [Primary(a, info, json_bytes) for a in addresses]
    cpu = time.process_time()
    if mode == "sync":
        begun = time.perf_counter()
        for switch in switches:
            for i in range(count):
                switch.stub.Write(route(info, i))
        seconds = time.perf_counter() - begun
    else:
        seconds = asyncio.run(insert_all(addresses, info, count))
    cpu = time.process_time() - cpu
    for switch in switches:
        switch.close()
    print(f"{seconds:.6f} {cpu:.6f}", flush=True)


if __name__ == "__main__":
    main()
