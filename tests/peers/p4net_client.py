# SPDX-License-Identifier: Apache-2.0
"""tare-switch as p4net's client sees it: pipeline, entries, reads, errors."""
import sys

from p4net.control.client import P4RuntimeClient
from p4net.control.exceptions import DuplicateEntryError, EntryNotFoundError, P4RuntimeError

from tare_switch import PROGRAMS, check, switch

ROUTES, NEXT_HOP = "IngressPipe.routes", "IngressPipe.next_hop"


def match(i):
    return {"hdr.ipv4.destination": f"10.{i // 256}.{i % 256}.0/24"}


def params(i):
    return {"mac": f"02:00:00:00:{i // 256:02x}:{i % 256:02x}", "port": i % 8}


def refused(error, call):
    try:
        call()
    except error:
        return True
    except P4RuntimeError as other:
        print(f"raised {type(other).__name__}: {other}")
    return False


def main():
    with switch(sys.argv[1]) as address, P4RuntimeClient(address, 1) as client:
        client.set_pipeline_config(bmv2_json=PROGRAMS / "l3_lpm.json", p4info=PROGRAMS / "l3_lpm.p4info.txtpb")
        config, index = client.get_pipeline_config()
        check(config == (PROGRAMS / "l3_lpm.json").read_bytes(), "the pipeline comes back byte by byte")
        for i in range(300):
            client.insert_table_entry(ROUTES, match(i), NEXT_HOP, params(i))
        check(len(list(client.list_table_entries(ROUTES))) == 300, "300 entries inserted and read back")
        check(refused(DuplicateEntryError, lambda: client.insert_table_entry(ROUTES, match(1), NEXT_HOP, params(1))),
              "a duplicate is refused as one")
        client.modify_table_entry(ROUTES, match(1), NEXT_HOP, params(9))
        client.delete_table_entry(ROUTES, match(2))
        check(refused(EntryNotFoundError, lambda: client.delete_table_entry(ROUTES, match(2))),
              "deleting nothing is refused")
        check(len(list(client.list_table_entries(ROUTES))) == 299, "one is gone")
        check(client.clear_table(ROUTES) == 299 and not list(client.list_table_entries(ROUTES)), "the table is cleared")


if __name__ == "__main__":
    main()
