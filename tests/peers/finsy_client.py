# SPDX-License-Identifier: Apache-2.0
"""tare-switch as finsy sees it: two controllers, batches, ternary priorities, registers."""
import asyncio
import sys

from finsy import Action, Match, P4ClientError, P4RegisterEntry, P4TableEntry, Switch, SwitchOptions

from tare_switch import PROGRAMS, check, switch


def options(program, **more):
    return SwitchOptions(p4info=PROGRAMS / f"{program}.p4info.txtpb", p4blob=PROGRAMS / f"{program}.json", **more)


def route(i):
    return P4TableEntry("routes", match=Match({"hdr.ipv4.destination": f"10.{i // 256}.{i % 256}.0/24"}),
                        action=Action("next_hop", mac=0x020000000000 + i, port=i % 8))


def rule(i):
    return P4TableEntry("acl", match=Match({"hdr.ports.destination_port": f"{i}/&0xffff"}), priority=1 + i,
                        action=Action("drop"))


async def count(sw, table):
    return len([entry async for entry in sw.read(P4TableEntry(table))])


async def entries(address):
    async with Switch("one", address, options("l3_lpm_acl")) as sw:
        await sw.write([+route(i) for i in range(500)])
        await sw.write([+rule(i) for i in range(16)])
        check(await count(sw, "routes") == 500, "500 routes in one batch")
        check(await count(sw, "acl") == 16, "16 rules with priorities")
        try:
            await sw.write([+route(500), +route(1), +route(501)])
            check(False, "a batch with a duplicate fails")
        except P4ClientError as error:
            check("ALREADY_EXISTS" in str(error), "a batch with a duplicate says which, and why")
        check(await count(sw, "routes") == 502, "the others of the batch are in")
        await sw.delete_all()
        check(await count(sw, "routes") == 0, "everything deleted")


async def masters(address):
    async with Switch("first", address, options("l3_lpm_acl")) as first:
        check(first.is_primary, "the first controller is primary")
        async with Switch("second", address, options("l3_lpm_acl", initial_election_id=20)) as second:
            check(second.is_primary, "one with a higher election id takes over")
            await second.write([+route(1)])


async def registers(address):
    async with Switch("int", address, options("l3_lpm_int", p4force=True)) as sw:
        await sw.write([~P4RegisterEntry("switch_id", index=0, data=7)])
        async for entry in sw.read(P4RegisterEntry("switch_id", index=0)):
            check(entry.data == 7, "a register is written and read")


async def run(address):
    await entries(address)
    await masters(address)
    await registers(address)


def main():
    with switch(sys.argv[1]) as address:
        asyncio.run(run(address))


if __name__ == "__main__":
    main()
